/** A figure against what was asked: latency against offered rate, throughput against connections. */
import type { Against, RunData, Sweep } from "../data";
import { color, dash } from "../core/colors";
import { h } from "../core/dom";
import { duration, plusMinus, si, thousands, UNITS, words } from "../core/format";
import { cellOf, passes, ranking } from "../core/rows";
import { segments, select } from "../parts/controls";
import { figure as figureBox, type LegendEntry } from "../parts/figure";
import { byAxis, byNatureInLists, filtersOf } from "../parts/filters";
import { sweep as draw, type SweepPoint } from "../plots/sweep";
import type { Context, Page } from "./page";
import { has } from "./trials";

type Point = SweepPoint & { candidate: number };

const AGAINST: Record<Against, { name: string; x: string; against: string; caption: string }> = {
  rate: { name: "Against rate", x: "requests per second asked for", against: "offered rate", caption: "Each point is a constant rate; a server keeps its latency until it no longer carries what is asked." },
  share: { name: "Against share of the knee", x: "% of the measured knee", against: "share of the knee", caption: "Each point is a rate as a share of the highest that the named candidate sustained here." },
  connections: { name: "Against connections", x: "connections", against: "connections", caption: "Each point is a number of connections." },
};

/** What the run varies, in the order of the buttons. */
export function axes(data: RunData): Against[] {
  return [...new Set((data.sweeps ?? []).map((s) => s.against))];
}

/** The candidates' figures at a place of a sweep of plans. */
function ofPlan(data: RunData, plan: number, x: number, figure: number): Point[] {
  const unit = UNITS[data.figures[figure]?.unit ?? "ns"];
  return (ranking(data, plan, figure)?.rows ?? []).flatMap((row) => {
    const candidate = data.candidates[row.candidate];
    const y = row.estimate?.point ?? row.censored_at_ns ?? null;
    if (!candidate || y === null) return [];
    const cell = cellOf(data, plan, row.candidate);
    const doubtful = row.lower_bound || row.mark !== "" || row.estimate === null || cell?.verdict === "overloaded" || cell?.verdict === "broken";
    const note = [row.estimate ? plusMinus(row.estimate) : `longer than ${unit.value(y)}`, cell && cell.verdict !== "valid" ? words(cell.verdict) : ""].filter(Boolean).join(", ");
    return [{ x, y, low: row.estimate?.ci_low ?? null, high: row.estimate?.ci_high ?? null, name: candidate.label, color: color(row.candidate), dash: dash(row.candidate), hollow: doubtful, note, candidate: row.candidate }];
  });
}

/** A trial of `prony load` at its place. */
function ofTrial(data: RunData, index: number, x: number, figure: number): Point[] {
  const t = data.trials.find((one) => one.index === index);
  if (!t || t.failure) return [];
  const y = t.figures[figure] ?? null;
  if (y === null) return [];
  const e = data.figures[figure]?.id === "throughput" ? t.requests_per_s : null;
  const note = [`trial ${t.index + 1}`, t.validity === "valid" ? "" : t.validity, t.outcome === "carried" ? "" : t.outcome].filter(Boolean).join(", ");
  return [{ x, y, low: e?.ci_low ?? null, high: e?.ci_high ?? null, name: data.candidates[t.candidate]?.label ?? "", color: color(t.candidate), hollow: t.validity !== "valid" || t.outcome !== "carried" || t.at_least?.includes(figure) === true, note, candidate: t.candidate }];
}

/** The points of a sweep, of a figure by its index. */
export function sweepPoints(data: RunData, sweep: Sweep, figure: number): Point[] {
  return sweep.points.flatMap((p) => p.plan !== undefined ? ofPlan(data, p.plan, p.x, figure) : p.trial !== undefined ? ofTrial(data, p.trial, p.x, figure) : []);
}

export const sweep: Page = {
  id: "sweep",
  title: "Sweep",
  has: (data) => axes(data).length > 0,
  render({ data, state }, root) {
    const possible = axes(data);
    const against = possible.find((a) => a === state.get("against")) ?? possible[0] ?? "rate";
    const along = (data.sweeps ?? []).filter((s) => s.against === against);
    const chosen = along[state.number("sweep", 0)] ?? along[0];
    if (!chosen) return;
    const figures = data.figures.map((f, i) => ({ f: chosen.capacity && f.id === "throughput" ? { ...f, title: "Capacity" } : f, i })).filter(({ i }) => data.experiment || data.trials.some((t) => has(t, i)));
    const usual = against === "connections" ? "throughput" : "p99";
    const find = (id: string): (typeof figures)[number] | undefined => figures.find(({ f }) => f.id === id);
    // Short trials have no p99: one that is known at more places says more.
    const known = [usual, "p50", "throughput"].flatMap((id) => { const f = find(id); return f ? [{ ...f, points: sweepPoints(data, chosen, f.i).length }] : []; })
      .reduce<{ f: (typeof figures)[number]["f"]; i: number; points: number } | undefined>((best, f) => f.points > (best?.points ?? 0) ? f : best, undefined);
    const current = find(state.get("y") ?? "") ?? known ?? figures[0];
    if (!current) return;
    const filters = filtersOf({ data, state });
    const hidden = state.list("hide").map(Number);
    const all = sweepPoints(data, chosen, current.i)
      .filter((p) => { const c = data.candidates[p.candidate]; return c !== undefined && passes(c, filters); });
    const points = all.filter((p) => !hidden.includes(p.candidate));
    root.append(h("section", { class: "controls", "aria-label": "What is shown" },
      segments("Figure", figures.map(({ f }) => ({ value: f.id, name: f.title })), current.f.id, (y) => state.set({ y })),
      h("div", { class: "control-row" },
        possible.length > 1 ? segments("Against", possible.map((a) => ({ value: a, name: AGAINST[a].name })), against, (v) => state.set({ against: v, y: null, sweep: null })) : null,
        along.length > 1 ? select("Of", along.map((s, i) => ({ value: String(i), name: s.title })), String(along.indexOf(chosen)), (v) => state.set({ sweep: v })) : null,
        ...byNatureInLists({ data, state }), ...byAxis({ data, state }),
        candidates({ data, state }, [...new Set(all.map((p) => p.candidate))], hidden))));
    const unit = UNITS[current.f.unit];
    const time = current.f.unit === "ns";
    const logY = state.get("scale") === null ? time : state.get("scale") === "log";
    const xs = points.map((p) => p.x);
    const logX = against === "connections" || (against === "rate" && Math.max(...xs) / Math.min(...xs) >= 8);
    const { x: xLabel, against: whereTo, caption } = AGAINST[against];
    root.append(figureBox({
      id: "plot-sweep",
      title: `${current.f.title} against ${whereTo}${chosen.title ? `: ${chosen.title}` : ""}`,
      caption: `${caption}${chosen.capacity ? " Its rate is the capacity; other figures are of a load about it." : ""} Bars are 95 % intervals. A hollow point is doubtful, overloaded, censored or a lower bound.`,
      legend: keyOf([...points].sort((a, b) => a.candidate - b.candidate)),
      controls: [segments("Scale", [{ value: "linear", name: "Linear" }, { value: "log", name: "Log" }], logY ? "log" : "linear", (scale) => state.set({ scale }))],
      draw: (width) => draw({ points, xLabel, xFormat: si, yFormat: unit.axis, value: unit.value, logX, logY, diagonal: against === "rate" && current.f.id === "throughput" && !logX && !logY, connect: true }, width),
      table: () => ({ head: ["Candidate", xLabel, current.f.title, "95 % low", "95 % high", "Note"], rows: points.map((p) => [p.name, p.x, p.y, p.low, p.high, p.note]) }),
    }));
    const beside = points.filter((p) => p.note && p.hollow);
    if (beside.length > 0 && beside.length <= 60) {
      root.append(h("details", { class: "remarks" }, h("summary", null, `Doubtful points (${beside.length})`), h("ul", { class: "reasons" },
        beside.map((p) => h("li", null, h("b", null, p.name), ` at ${thousands(p.x)}: ${time ? duration(p.y) : unit.value(p.y)} (${p.note})`)))));
    }
  },
};

/** Who is drawn, each once. */
export function keyOf(points: SweepPoint[]): LegendEntry[] {
  const found = new Map(points.map((p) => [p.name, { name: p.name, color: p.color, ...(p.dash ? { dash: p.dash } : {}) }]));
  return [...found.values()];
}

/** A button a candidate: what it shows and hides is kept in the address. */
export function candidates({ data, state }: Context, present: number[], hidden: number[]): HTMLElement {
  return h("div", { class: "filter", role: "group", "aria-label": "Candidates" }, present.sort((a, b) => a - b).map((i) =>
    h("button", { type: "button", class: "pill", "aria-pressed": String(!hidden.includes(i)), "data-candidate": i, onclick: () =>
      state.set({ hide: (hidden.includes(i) ? hidden.filter((x) => x !== i) : [...hidden, i]).join(",") }) },
    h("span", { class: "chip", style: `background:${color(i)}`, "aria-hidden": "true" }), data.candidates[i]?.label ?? "")));
}
