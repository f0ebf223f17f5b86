/** Searches for the highest sustainable rate: latency against offered load, what was found, every probe. */
import type { Capacity, CapacityRow, Probe, RunData, Search } from "../data";
import { searches as unpacked } from "../core/chunks";
import { color } from "../core/colors";
import { h, replace } from "../core/dom";
import { interval, percent, plusMinus, rate, si, UNITS, WITHHELD } from "../core/format";
import { passes } from "../core/rows";
import { planOf, short } from "../core/saved";
import { segments, select } from "../parts/controls";
import { figure } from "../parts/figure";
import { byAxis, byNatureInLists, filtersOf } from "../parts/filters";
import { type Column, table } from "../parts/table";
import { sweep as draw, type Band, type SweepPoint } from "../plots/sweep";
import type { Context, Page } from "./page";
import { candidates, keyOf } from "./sweep";

interface Shown {
  id: string;
  name: string;
  title: string;
  of: (p: Probe) => number | null;
  value: (v: number) => string;
  axis: (v: number) => string;
  log: boolean;
}

/** What the probes can be looked at by. */
const FIGURES: Shown[] = [
  { id: "p99", name: "p99", title: "Response p99", of: (p) => p.p99_ns, value: UNITS.ns.value, axis: UNITS.ns.axis, log: true },
  { id: "p50", name: "p50", title: "Response p50", of: (p) => p.p50_ns, value: UNITS.ns.value, axis: UNITS.ns.axis, log: true },
  { id: "carried", name: "Carried", title: "Carried", of: (p) => p.completed_per_s, value: UNITS.requests_per_s.value, axis: UNITS.requests_per_s.axis, log: false },
  { id: "failed", name: "Failed", title: "Failed", of: (p) => p.failed_share, value: percent, axis: percent, log: false },
];

/** What decided it, and what it leaves open. */
function whyOf(p: Probe): string {
  return p.undecided ? `${p.why}; ${p.undecided}` : p.why;
}

/** Said of a rate with a question mark. */
const UPHELD = "without an interval";

export const capacity: Page = {
  id: "capacity",
  title: "Capacity",
  has: (data) => (data.capacities?.length ?? 0) > 0,
  render(context, root) {
    const { data, state } = context;
    const all = data.capacities ?? [];
    const chosen = all[state.number("cplan", 0)] ?? all[0];
    if (!chosen) return;
    const body = h("div");
    root.append(body);
    void unpacked(chosen.plan).then((found) => {
      const every = found?.searches ?? [];
      const filters = filtersOf(context);
      const visible = (i: number): boolean => { const c = data.candidates[i]; return c !== undefined && passes(c, filters); };
      const hidden = state.list("hide").map(Number);
      const of = every.filter((s) => visible(s.candidate) && !hidden.includes(s.candidate));
      const rows = chosen.rows.filter((r) => visible(r.candidate));
      // Short probes have no p99.
      const known = FIGURES.find((f) => f.id === (state.get("cy") ?? "")) ?? FIGURES.find((f) => of.some((s) => s.found.probes.some((p) => f.of(p) !== null))) ?? FIGURES[2] as Shown;
      replace(body, controls(context, all, chosen, rows, hidden, known), plot(context, chosen, of, rows.filter((r) => !hidden.includes(r.candidate)), known), answers(context, chosen, rows), givenUp(data, every.filter((s) => visible(s.candidate))));
    });
  },
};

function controls({ data, state }: Context, all: Capacity[], chosen: Capacity, rows: CapacityRow[], hidden: number[], shown: Shown): HTMLElement {
  return h("section", { class: "controls", "aria-label": "What is shown" },
    segments("Figure", FIGURES.map((f) => ({ value: f.id, name: f.name })), shown.id, (cy) => state.set({ cy })),
    h("div", { class: "control-row" },
      all.length > 1 ? select("Plan", all.map((c, i) => ({ value: String(i), name: planName(data, c) })), String(all.indexOf(chosen)), (v) => state.set({ cplan: v })) : null,
      ...byNatureInLists({ data, state }), ...byAxis({ data, state }),
      rows.length > 1 ? candidates({ data, state }, rows.map((r) => r.candidate), hidden) : null));
}

function planName(data: RunData, c: Capacity): string {
  const plan = data.plans[c.plan];
  return plan ? `${plan.name}: ${c.slo}` : c.slo;
}

function plot({ data, state }: Context, chosen: Capacity, searches: Search[], rows: CapacityRow[], shown: Shown): HTMLElement {
  const name = (i: number): string => data.candidates[i]?.label ?? "";
  const points = searches.flatMap((s) => s.found.probes.flatMap((p): SweepPoint[] => {
    const y = shown.of(p);
    if (y === null) return [];
    return [{ x: p.rate_per_s, y, low: null, high: null, name: name(s.candidate), color: color(s.candidate), hollow: !p.sustained, crossed: !p.sustained, note: `${p.sustained ? "sustained" : "not sustained"}, ${p.phase}: ${whyOf(p)}` }];
  }));
  const bands = rows.flatMap((r): Band[] => r.estimate ? [{ at: r.estimate.point, from: r.estimate.ci_low, to: r.estimate.ci_high, color: color(r.candidate), text: `${r.lower_bound ? "≥ " : ""}${si(r.estimate.point)}/s${r.unconfirmed > 0 ? " ?" : ""}` }] : []);
  const order = (p: SweepPoint): number => data.candidates.findIndex((c) => c.label === p.name);
  const log = state.get("cscale") === null ? shown.log : state.get("cscale") === "log";
  const xs = points.map((p) => p.x);
  const logX = Math.max(...xs) / Math.min(...xs) >= 8;
  return figure({
    id: "plot-capacity",
    title: `${shown.title} against offered load`,
    legend: keyOf([...points].sort((a, b) => order(a) - order(b))),
    caption: `Each mark is a probe: a dot was sustained (${chosen.slo}), a cross was not.${rows.some((r) => r.unconfirmed > 0) ? " ? marks a rate without an interval of its own." : ""} The line is the rate that was found, the band its 95 % interval: of one search within one start, of several over searches.`,
    controls: [segments("Scale", [{ value: "linear", name: "Linear" }, { value: "log", name: "Log" }], log ? "log" : "linear", (cscale) => state.set({ cscale }))],
    draw: (width) => draw({ points, bands, xLabel: "requests per second offered", xFormat: si, yFormat: shown.axis, value: shown.value, logX, logY: log, diagonal: shown.id === "carried" && !logX && !log, connect: false }, width),
    table: () => ({
      head: ["Candidate", "Block", "Phase", "Offered per s", "Carried per s", "Sustained", "Why", "p50 ns", "p99 ns", "Failed share", "Seconds"],
      rows: searches.flatMap((s) => s.found.probes.map((p) => [name(s.candidate), s.block + 1, p.phase, p.rate_per_s, p.completed_per_s, p.sustained ? "yes" : "no", whyOf(p), p.p50_ns, p.p99_ns, p.failed_share, Number((p.duration_ns / 1e9).toFixed(2))])),
    }),
  });
}

function answers({ data, state }: Context, chosen: Capacity, rows: CapacityRow[]): HTMLElement {
  const label = (r: CapacityRow): string => data.candidates[r.candidate]?.label ?? "";
  const doubt = (r: CapacityRow): HTMLElement | null => r.unconfirmed === 0 ? null
    : h("small", { class: "wrap" }, r.searches === 1 ? UPHELD : `in ${r.unconfirmed} of ${r.found} searches ${UPHELD}`);
  const columns: Column<CapacityRow>[] = [
    { id: "cc", name: "Candidate", header: true, value: label, cell: (r) => h("span", { class: "name" }, h("span", { class: "chip", style: `background:${color(r.candidate)}`, "aria-hidden": "true" }), label(r)) },
    { id: "cr", name: "Sustained", unit: "req/s", numeric: true, value: (r) => r.estimate?.point ?? null, cell: (r) => r.estimate ? [`${r.lower_bound ? "≥ " : ""}${rate(r.estimate.point)}${r.unconfirmed > 0 ? " ?" : ""}`, h("small", null, plusMinus(r.estimate)), doubt(r)] : WITHHELD,
      files: [{ name: "Sustained: bound", value: (r) => (r.estimate && r.lower_bound ? "≥" : "") }, { name: "Searches without an interval", value: (r) => r.unconfirmed }] },
    { id: "cl", name: "From", unit: "req/s", numeric: true, value: (r) => r.estimate?.ci_low ?? null, cell: (r) => r.estimate?.ci_low == null ? WITHHELD : rate(r.estimate.ci_low) },
    { id: "ch", name: "To", unit: "req/s", numeric: true, value: (r) => r.estimate?.ci_high ?? null, cell: (r) => r.estimate?.ci_high == null ? WITHHELD : rate(r.estimate.ci_high) },
    { id: "ci", name: "The interval", value: (r) => r.edge ? "95 % within one start" : "95 % over searches", cell: (r) => r.estimate === null ? "not even the lowest rate was sustained" : r.lower_bound ? "the client was the limit" : r.estimate.ci_low === null ? interval(r.estimate, "requests_per_s") : r.edge ? "95 % within one start" : "95 % over searches" },
    { id: "cn", name: "Searches", numeric: true, value: (r) => r.searches, cell: (r) => r.found === r.searches ? String(r.searches) : `${r.found} of ${r.searches}` },
    { id: "cs", name: "After an overload", value: (r) => r.slow_to_recover, cell: (r) => r.slow_to_recover > 0 ? `recovers slowly (${r.slow_to_recover} of ${r.tried_again})` : r.tried_again > 0 ? "recovers at once" : "not tried" },
  ];
  return h("section", null, h("h3", { class: "visually-hidden" }, "What was found"), table({
    title: `Capacity ${data.plans[chosen.plan]?.name ?? ""}`, columns, rows, sort: state.get("csort"), onSort: (csort) => state.set({ csort }),
    json: () => ({ slo: chosen.slo, plan: planOf(data.plans[chosen.plan]), rows: rows.map((r) => ({ label: label(r), ...r, estimate: short(r.estimate) })) }),
  }));
}


/** Searches without an answer, and why. */
function givenUp(data: RunData, searches: Search[]): HTMLElement | null {
  const some = searches.filter((s) => s.found.void);
  if (some.length === 0) return null;
  return h("section", { class: "card" }, h("h3", null, "Given up"), h("ul", { class: "reasons" }, some.map((s) => h("li", null, h("b", null, data.candidates[s.candidate]?.label ?? ""), ` in block ${s.block + 1}: ${s.found.void ?? ""}`))));
}
