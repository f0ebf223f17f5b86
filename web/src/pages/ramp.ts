/** A load that changes by plan: throughput, response, failures and connections on one time axis. */
import type { RunData, TrialHead } from "../data";
import { color, dash } from "../core/colors";
import { detail } from "../core/chunks";
import { h, replace } from "../core/dom";
import { rate, si, thousands, UNITS } from "../core/format";
import { select } from "../parts/controls";
import { figure, legend } from "../parts/figure";
import { sweep, type SweepPoint } from "../plots/sweep";
import type { Line } from "../plots/time";
import type { Page } from "./page";
import { legendOf, panels, timeFigure } from "./trial_plots";
import { OVERLAID_MAX, said, trialName } from "./trials";

/** What the stages ask for, second by second; the window begins after the warm-up. */
export function asked(t: TrialHead, warmupS: number, end: number): [number, number | null][] {
  const points: [number, number | null][] = [];
  let at = 0 - warmupS;
  let level = 0;
  for (const stage of t.stages ?? []) {
    const to = stage.to_rate_per_s ?? stage.to_connections ?? 0;
    points.push([at, level]);
    at += stage.duration_ns / 1e9;
    points.push([at, to]);
    level = to;
  }
  return points.filter(([x]) => x >= 0 && x <= end + 1);
}

/** The staged trials of a block under a plan: one a candidate. Of `prony load` each trial is a block of its own. */
export function together(data: RunData, plan: number, block: number): TrialHead[] {
  return data.trials.filter((t) => (t.stages?.length ?? 0) > 0 && !t.failure && t.plan === plan && t.block === block);
}

export const ramp: Page = {
  id: "ramp",
  title: "Ramp",
  has: (data) => data.trials.some((t) => (t.stages?.length ?? 0) > 0 && !t.failure),
  render({ data, state }, root) {
    const staged = data.trials.filter((t) => (t.stages?.length ?? 0) > 0 && !t.failure);
    const plans = [...new Set(staged.map((t) => t.plan))];
    const plan = plans.find((p) => String(p) === state.get("rp")) ?? plans[0] ?? 0;
    const blocks = [...new Set(staged.filter((t) => t.plan === plan).map((t) => t.block))].sort((a, b) => a - b);
    const block = blocks.find((b) => String(b) === state.get("rb")) ?? blocks[0] ?? 0;
    const all = together(data, plan, block);
    const hidden = state.list("rh").map(Number);
    const heads = all.filter((t) => !hidden.includes(t.candidate)).slice(0, OVERLAID_MAX);
    const body = h("div");
    root.append(h("section", { class: "controls", "aria-label": "What is shown" }, h("div", { class: "control-row" },
      plans.length > 1 ? select("Plan", plans.map((p) => ({ value: String(p), name: data.plans[p]?.name ?? "" })), String(plan), (rp) => state.set({ rp, rb: null })) : null,
      blocks.length > 1 ? select(data.experiment ? "Block" : "Trial", blocks.map((b) => ({ value: String(b), name: String(b + 1) })), String(block), (rb) => state.set({ rb })) : null,
      all.length > 1 ? h("div", { class: "filter", role: "group", "aria-label": "Candidates" }, all.map((t) => h("button", {
        type: "button", class: "pill", "aria-pressed": String(heads.includes(t)), "data-candidate": t.candidate,
        onclick: () => state.set({ rh: (hidden.includes(t.candidate) ? hidden.filter((c) => c !== t.candidate) : [...hidden, t.candidate]).join(",") }),
      }, h("span", { class: "chip", style: `background:${color(t.candidate)}`, "aria-hidden": "true" }), data.candidates[t.candidate]?.label ?? ""))) : null)), body);
    void Promise.all(heads.map((t) => detail(t.index))).then((details) => {
      const chosen = heads.flatMap((head, k) => {
        const d = details[k];
        return d?.picture ? [{ head, detail: d, picture: d.picture, name: heads.length > 1 ? data.candidates[head.candidate]?.label ?? "" : trialName(data, head), color: heads.length > 1 ? color(head.candidate) : "var(--c0)", dash: heads.length > 1 ? dash(head.candidate) : "" }] : [];
      });
      const first = chosen[0];
      if (!first) { replace(body, h("p", { class: "nothing" }, heads.length === 0 ? "No candidate is chosen." : "Nothing to draw of this trial.")); return; }
      const end = Math.max(...chosen.map((c) => c.detail.trial.window.duration_ns / 1e9));
      const ofRate = first.head.stages?.[0]?.to_rate_per_s != null;
      const single = chosen.length === 1;
      const line: Line = { name: "asked for", color: "var(--ink-3)", dash: "4 3", points: asked(first.head, first.detail.trial.window.warmup_ns / 1e9, end) };
      const panes = panels({ data, state }, chosen).map((p) => p.id === (ofRate ? "throughput" : "connections")
        ? { ...p, lines: [...p.lines.map((l) => (single ? { ...l, name: "carried" } : l)), line] } : p);
      const points = (column: (c: (typeof chosen)[number]) => (number | null)[]): SweepPoint[] => chosen.flatMap((c) => {
        const series = c.picture.series;
        return series.at_ns.flatMap((at, i): SweepPoint[] => {
          const y = column(c)[i] ?? null;
          // A last part of under half a second is mostly chance.
          if (y === null || (series.length_ns[i] ?? 0) < 5e8) return [];
          const failed = series.failed_per_s[i] ?? 0;
          return [{ x: series.connections[i] ?? 0, y, low: null, high: null, name: `${single ? "" : `${c.name}, `}second ${Math.round(at / 1e9) + 1}`, color: c.color, hollow: failed > 0, note: failed > 0 ? `${rate(failed)}/s failed` : "" }];
        });
      });
      const scatter = (id: string, title: string, found: SweepPoint[], unit: "requests_per_s" | "ns"): HTMLElement => figure({
        id, title, caption: "A point a second; hollow where requests failed.", key: single ? [] : legendOf(chosen),
        draw: (width) => sweep({ points: found, xLabel: "connections open", xFormat: si, yFormat: UNITS[unit].axis, value: UNITS[unit].value, logX: false, logY: false, diagonal: false, connect: false }, width),
        table: () => ({ head: ["What", "Connections", title], rows: found.map((p) => [p.name, p.x, p.y]) }),
      });
      replace(body, first.detail.plan_line === data.head.title ? null : h("p", { class: "answer" }, first.detail.plan_line),
        single ? null : legend(legendOf([...chosen, line])),
        h("div", { class: "stack" }, panes.map((panel) => timeFigure(panel, [0, end], single && panel.lines.length > 1))),
        ofRate ? null : h("div", { class: "panes" }, scatter("plot-ramp-throughput", "Throughput against connections", points((c) => c.picture.series.completed_per_s), "requests_per_s"), scatter("plot-ramp-response", "p99 against connections", points((c) => c.picture.series.p99_ns), "ns")),
        h("ul", { class: "reasons" }, chosen.map((c) => h("li", null, single ? "" : h("b", null, `${c.name}: `), `${thousands(c.head.completed)} completed, ${thousands(c.head.failed)} failed, p99 ${said(data, c.head, data.figures.findIndex((f) => f.id === "p99"))} over the whole ramp.`))));
    });
  },
};
