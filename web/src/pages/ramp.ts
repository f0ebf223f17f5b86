/** A load that changes by plan: throughput, response, failures and connections on one time axis. */
import type { TrialHead } from "../data";
import { detail } from "../core/chunks";
import { h, replace } from "../core/dom";
import { duration, rate, si, thousands, UNITS } from "../core/format";
import { select } from "../parts/controls";
import { figure } from "../parts/figure";
import { sweep, type SweepPoint } from "../plots/sweep";
import type { Line } from "../plots/time";
import type { Page } from "./page";
import { panels, timeFigure } from "./trial_plots";
import { trialName } from "./trials";

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

export const ramp: Page = {
  id: "ramp",
  title: "Ramp",
  has: (data) => data.trials.some((t) => (t.stages?.length ?? 0) > 0 && !t.failure),
  render({ data, state }, root) {
    const staged = data.trials.filter((t) => (t.stages?.length ?? 0) > 0 && !t.failure);
    const head = staged.find((t) => String(t.index) === state.get("r")) ?? staged[0];
    if (!head) return;
    const body = h("div");
    root.append(
      staged.length > 1 ? h("section", { class: "controls" }, select("Trial", staged.map((t) => ({ value: String(t.index), name: `${t.index + 1} · ${trialName(data, t)}` })), String(head.index), (r) => state.set({ r }))) : "",
      body);
    void detail(head.index).then((d) => {
      if (!d?.picture) { replace(body, h("p", { class: "nothing" }, "Nothing to draw of this trial.")); return; }
      const chosen = { head, detail: d, picture: d.picture, name: trialName(data, head), color: "var(--c0)", dash: "" };
      const end = d.duration_ns / 1e9;
      const ofRate = head.stages?.[0]?.to_rate_per_s != null;
      const plan: Line = { name: "asked for", color: "var(--ink-3)", dash: "4 3", points: asked(head, d.warmup_ns / 1e9, end) };
      const all = panels([chosen]).map((p) => p.id === (ofRate ? "throughput" : "connections")
        ? { ...p, lines: [...p.lines.map((l) => ({ ...l, name: "carried" })), plan] } : p);
      const series = d.picture.series;
      const full = series.at_ns.map((_, i) => i).filter((i) => (series.length_ns[i] ?? 0) >= 5e8);
      const point = (i: number, y: number | null): SweepPoint[] => y === null ? [] : [{ x: series.connections[i] ?? 0, y, low: null, high: null, name: `second ${Math.round((series.at_ns[i] ?? 0) / 1e9) + 1}`, color: "var(--c0)", hollow: (series.failed_per_s[i] ?? 0) > 0, note: (series.failed_per_s[i] ?? 0) > 0 ? `${rate(series.failed_per_s[i] ?? 0)}/s failed` : "" }];
      const scatter = (id: string, title: string, column: (number | null)[], unit: "per_s" | "ns"): HTMLElement => {
        const points = full.flatMap((i) => point(i, column[i] ?? null));
        return figure({
          id, title, caption: "A point a second; hollow where requests failed.",
          draw: (width) => sweep({ points, xLabel: "connections open", xFormat: si, yFormat: UNITS[unit].axis, value: UNITS[unit].value, logX: false, logY: false, diagonal: false, connect: false }, width),
          table: () => ({ head: ["Connections", title], rows: points.map((p) => [p.x, p.y]) }),
        });
      };
      replace(body, h("p", { class: "answer" }, d.plan_line),
        h("div", { class: "stack" }, all.map((panel) => timeFigure(panel, [0, end], panel.lines.length > 1))),
        ofRate ? null : h("div", { class: "panes" }, scatter("plot-ramp-throughput", "Throughput against connections", series.completed_per_s, "per_s"), scatter("plot-ramp-response", "p99 against connections", series.p99_ns, "ns")),
        h("p", { class: "note" }, `${thousands(head.completed)} answered, ${thousands(head.failed)} failed, p99 ${head.p99_ns === null ? "–" : duration(head.p99_ns)} over the whole ramp.`));
    });
  },
};
