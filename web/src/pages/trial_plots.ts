/** The plots of the chosen trials. */
import type { Detail, PlotData, TrialHead } from "../data";
import { color, dash, SERIES } from "../core/colors";
import { h } from "../core/dom";
import { axisBytes, axisDuration, bytes, duration, percent, quantileName, rate, si, significant, thousands } from "../core/format";
import { segments, select } from "../parts/controls";
import { figure, legend, type LegendEntry, type TableData } from "../parts/figure";
import { coreCells, cores } from "../plots/cores";
import { curves } from "../plots/curve";
import { distribution } from "../plots/distribution";
import { heat, heatCells } from "../plots/heat";
import { type Line, time, type TimeOptions } from "../plots/time";
import { monitor } from "./monitor_plots";
import type { Context } from "./page";

export interface Chosen {
  head: TrialHead;
  detail: Detail;
  name: string;
  color: string;
  dash: string;
}

export type WithPlotData = Chosen & { picture: PlotData };

/** Colours of the parts and percentiles of one trial: the palette's, in an order that reads as "worse". */
const PART = ["var(--c0)", "var(--c2)", "var(--c1)", "var(--c5)"] as const;

export function plots(context: Context, chosen: Chosen[]): (HTMLElement | null)[] {
  const some = chosen.flatMap((c) => (c.detail.picture ? [{ ...c, picture: c.detail.picture }] : []));
  if (some.length === 0) return [h("p", { class: "nothing" }, "The histograms of these trials cannot be read, so there are no plots.")];
  const end = Math.max(...some.map((c) => s(c.detail.trial.window.duration_ns)));
  return [byPercentile(context, some), overTime(context, some, end), monitor(context, some, end), heatMap(context, some), counted(some)];
}

export function legendOf(lines: { name: string; color: string; dash?: string }[]): LegendEntry[] {
  return lines.map(({ name, color, dash }) => ({ name, color, ...(dash ? { dash } : {}) }));
}

type Part = "response_ns" | "service_ns" | "client_delay_ns";
const PARTS: [Part, string][] = [["response_ns", "Response"], ["service_ns", "Service"], ["client_delay_ns", "Client delay"]];

function byPercentile({ data, state }: Context, chosen: WithPlotData[]): HTMLElement {
  const single = chosen.length === 1;
  const asked = state.get("part") ?? (single ? "all" : "response_ns");
  const all = asked === "all";
  const lines = all
    ? chosen.flatMap((c, k) => PARTS.map(([part, name], p) => ({ name: single ? name : `${c.name}, ${name.toLowerCase()}`, color: single ? PART[p] ?? c.color : c.color, dash: single ? "" : ["", "6 3", "2 3"][p] ?? "", values: c.picture[part], k })))
    : chosen.map((c) => ({ name: c.name, color: c.color, dash: c.dash, values: c.picture[asked as Part] }));
  const drawn = lines.filter((l) => l.values.length > 1);
  const log = state.get("ylog") !== "no";
  return figure({
    id: "plot-percentiles",
    title: all ? "Latency by percentile" : `${PARTS.find(([p]) => p === asked)?.[1] ?? ""} by percentile`,
    caption: "Each nine has the same room (the HDR scale). A curve ends where fewer than ten requests are beyond, or where those without a response begin. Client delay is Prony's own and not the server's.",
    legend: legendOf(drawn),
    controls: [
      segments("Part", [{ value: "all", name: "All" }, ...PARTS.map(([value, name]) => ({ value, name }))], asked, (part) => state.set({ part })),
      segments("Scale", [{ value: "yes", name: "Log" }, { value: "no", name: "Linear" }], log ? "yes" : "no", (v) => state.set({ ylog: v === "yes" ? null : v })),
    ],
    draw: (width) => curves(drawn, data.quantiles, log, width),
    table: () => ({ head: ["Percentile", ...drawn.map((l) => `${l.name} (ns)`)], rows: data.quantiles.map((q, i) => [quantileName(q), ...drawn.map((l) => l.values[i] ?? null)] as (string | number | null)[]).filter((row) => row.slice(1).some((v) => v !== null)) }),
  });
}

const s = (ns: number): number => ns / 1e9;
/** A last part of under half a second is mostly chance. */
const LENGTH_MIN_NS = 5e8;

/** A column of a trial's series as a line's points, at the middle of each span, or at its end what is counted there. */
export function seriesPoints(p: PlotData["series"], column: (number | null)[], place = 0.5): [number, number | null][] {
  return p.at_ns.flatMap((at, i) => {
    const length = p.length_ns[i] ?? 0;
    if (length < LENGTH_MIN_NS && p.at_ns.length > 1) return [];
    return [[s(at + length * place), column[i] ?? null] as [number, number | null]];
  });
}

/** The percentiles of a series, the tail last. */
const KEPT = [["p50_ns", "p50"], ["p90_ns", "p90"], ["p99_ns", "p99"], ["max_ns", "max"]] as const;
export type Kept = (typeof KEPT)[number][0];

/** Those that any of the trials has in any second, and the one that several are compared by: p99 where it is known. */
export function percentilesOf(chosen: { picture: PlotData }[], asked: string | null): { known: Kept[]; current: Kept } {
  const known = KEPT.map(([key]) => key).filter((key) => chosen.some((c) => c.picture.series[key].some((v) => v !== null)));
  return { known, current: known.find((key) => key === asked) ?? known.find((key) => key === "p99_ns") ?? known.at(-1) ?? "p99_ns" };
}

export interface Panel {
  id: string;
  title: string;
  lines: Line[];
  format: (v: number) => string;
  value: (v: number) => string;
  log?: boolean;
  least?: number;
  controls?: HTMLElement[];
}

/** Panels over one time axis, of one trial or of several overlaid. */
export function panels({ state }: Context, chosen: WithPlotData[]): Panel[] {
  const single = chosen.length === 1;
  const each = (points: (c: WithPlotData) => [number, number | null][]): Line[] => chosen.map((c) => ({ name: c.name, color: c.color, dash: c.dash, points: points(c), area: single }));
  const one = chosen[0] as WithPlotData;
  const { known, current } = percentilesOf(chosen, state.get("tq"));
  const nameOf = (key: Kept): string => KEPT.find(([k]) => k === key)?.[1] ?? "";
  const percentiles: Line[] = single
    ? KEPT.map(([key, name], k) => ({ name, color: PART[k] ?? one.color, points: seriesPoints(one.picture.series, one.picture.series[key]), thin: name === "max" }))
    : each((c) => seriesPoints(c.picture.series, c.picture.series[current])).map((l) => ({ ...l, area: false }));
  const found: Panel[] = [
    { id: "throughput", title: "Requests per second", lines: each((c) => seriesPoints(c.picture.series, c.picture.series.completed_per_s)), format: si, value: (v) => `${rate(v)}/s` },
    { id: "latency", title: single ? "Response: p50, p90, p99, max" : `Response: ${nameOf(current)}`, lines: percentiles, format: axisDuration, value: duration, log: true,
      ...(single || known.length < 2 ? {} : { controls: [segments("Percentile", known.map((value) => ({ value, name: nameOf(value) })), current, (tq) => state.set({ tq }))] }) },
    { id: "failed", title: "Failed per second", lines: each((c) => seriesPoints(c.picture.series, c.picture.series.failed_per_s)), format: si, value: (v) => `${rate(v)}/s`, least: 1 },
    { id: "connections", title: "Connections open", lines: each((c) => seriesPoints(c.picture.series, c.picture.series.connections, 1)), format: si, value: thousands },
  ];
  if (chosen.some((c) => c.picture.server.at_ns.length > 0)) {
    const server = (column: (c: WithPlotData) => number[]): Line[] => each((c) => c.picture.server.at_ns.flatMap((at, i) => (at >= 0 ? [[s(at), column(c)[i] ?? null] as [number, number | null]] : [])));
    found.push(
      { id: "cpu", title: "Server CPU, cores in use", lines: server((c) => c.picture.server.cores), format: si, value: (v) => `${significant(v, 3)} cores` },
      { id: "memory", title: "Server memory", lines: memory(chosen, server((c) => c.picture.server.memory_bytes)), format: axisBytes, value: bytes });
  }
  found.push(...clientPanels(chosen), ...corePanel(chosen));
  return found;
}

/** Of one trial also by proportional shares, which count once what processes share. */
function memory(chosen: WithPlotData[], resident: Line[]): Line[] {
  const [one] = chosen;
  const shares = one && chosen.length === 1 ? within(one.picture.server.pss_at_ns, one.picture.server.pss_bytes) : [];
  if (shares.length < 2) return resident;
  return [...resident.map((l) => ({ ...l, name: "resident" })), { name: "proportional shares", color: PART[2], points: shares }];
}

/** The points of a column that lie within the window. */
function within(at_ns: number[], column: number[]): [number, number | null][] {
  return at_ns.flatMap((at, i) => (at >= 0 ? [[s(at), column[i] ?? null] as [number, number | null]] : []));
}

/** What Prony itself cost; empty of trials whose client was not sampled. */
function clientPanels(chosen: WithPlotData[]): Panel[] {
  const sampled = chosen.filter((c) => c.picture.client.at_ns.length > 0);
  if (sampled.length === 0) return [];
  const single = chosen.length === 1;
  const line = (c: WithPlotData, name: string, column: number[], color: string): Line => ({ name, color, dash: c.dash, points: within(c.picture.client.at_ns, column), area: single });
  const cpu = single
    ? sampled.flatMap((c) => [line(c, "whole process", c.picture.client.cores, PART[0]), { ...line(c, "busiest worker", c.picture.client.busiest_worker, PART[2]), area: false }])
    : sampled.map((c) => line(c, c.name, c.picture.client.cores, c.color));
  return [
    { id: "client-cpu", title: "Client CPU, cores in use", lines: cpu, format: si, value: (v) => `${significant(v, 3)} cores`, least: 0.1 },
    { id: "client-memory", title: "Client memory", lines: sampled.map((c) => line(c, c.name, c.picture.client.memory_bytes, c.color)), format: axisBytes, value: bytes },
  ];
}

/** Beyond so many lines nobody tells one from another: they become a map. */
export const CORE_LINES_MAX = 8;

/** What a CPU is called: `CPU 1 (server)`. */
export function coreName(core: { cpu: number; of: string }): string {
  return `CPU ${core.cpu}${core.of === "" ? "" : ` (${core.of === "both" ? "server and client" : core.of})`}`;
}

/** Each CPU as a line, where they are few. */
function corePanel(chosen: WithPlotData[]): Panel[] {
  const single = chosen.length === 1;
  const most = Math.max(...chosen.map((c) => c.picture.cores.cpus.length));
  if (most === 0 || most > CORE_LINES_MAX) return [];
  const lines = chosen.flatMap((c) => c.picture.cores.cpus.map((core, k): Line => ({
    name: single ? coreName(core) : `${c.name}, ${coreName(core)}`,
    color: single ? color(k) : c.color,
    dash: single ? "" : dash(k * SERIES),
    points: within(c.picture.cores.at_ns, core.busy),
  })));
  return [{ id: "cores", title: "CPUs, share of the time busy", lines, format: percent, value: percent, least: 1 }];
}

export function timeFigure(panel: Panel, seconds: [number, number], withLegend: boolean): HTMLElement {
  const options: TimeOptions = { lines: panel.lines, seconds, format: panel.format, value: panel.value, ...(panel.log ? { log: true } : {}), ...(panel.least !== undefined ? { least: panel.least } : {}) };
  return figure({
    id: `plot-${panel.id}`,
    title: panel.title,
    ...(panel.controls ? { controls: panel.controls } : {}),
    ...(withLegend ? { legend: legendOf(panel.lines) } : panel.lines.length > 1 ? { key: legendOf(panel.lines) } : {}),
    draw: (width) => time(options, width),
    table: () => linesTable(panel),
  });
}

function linesTable(panel: Panel): TableData {
  const at = [...new Set(panel.lines.flatMap((l) => l.points.map(([x]) => x)))].sort((a, b) => a - b);
  const columns = panel.lines.map((l) => new Map(l.points));
  return { head: ["Seconds", ...panel.lines.map((l) => l.name)], rows: at.map((x) => [Number(x.toFixed(2)), ...columns.map((c) => c.get(x) ?? null)]) };
}

/** Many CPUs of one trial, a row each. */
function coreMap({ state }: Context, chosen: WithPlotData[], end: number): HTMLElement | null {
  const many = chosen.filter((c) => c.picture.cores.cpus.length > CORE_LINES_MAX);
  const which = many.find((c) => String(c.head.index) === state.get("cpus")) ?? many[0];
  if (!which) return null;
  const { at_ns, cpus } = which.picture.cores;
  const cells = coreCells(which.picture.cores);
  return figure({
    id: "plot-cores",
    title: `CPUs, share of the time busy${many.length > 1 ? `: ${which.name}` : ""}`,
    caption: "One row per CPU, whichever program used it; the stronger the colour, the busier.",
    controls: many.length > 1 ? [select("Trial", many.map((c) => ({ value: String(c.head.index), name: c.name })), String(which.head.index), (v) => state.set({ cpus: v }))] : [],
    draw: (width) => cores(cells, cpus.map(coreName), [0, end], width),
    table: () => ({ head: ["Seconds", ...cpus.map(coreName)], rows: at_ns.map((at, i) => [Number(s(at).toFixed(2)), ...cpus.map((c) => c.busy[i] ?? null)]) }),
  });
}

function overTime(context: Context, chosen: WithPlotData[], end: number): HTMLElement {
  const single = chosen.length === 1;
  const client = chosen.map((c) => `${c.name}: ${percent(c.detail.trial.client.cpu_ns / c.detail.trial.window.duration_ns)} of one core by ${c.detail.trial.client.threads} ${c.detail.trial.client.threads === 1 ? "thread" : "threads"}, busiest ${percent(c.detail.trial.client.busiest_worker)}, ${bytes(c.detail.trial.client.max_rss_bytes)} at most`);
  return h("section", null, h("h2", null, "Over the window"),
    single ? null : legend(legendOf(chosen)),
    h("div", { class: "panes" }, panels(context, chosen).map((panel) => timeFigure(panel, [0, end], panel.id === "cores" || (single && panel.lines.length > 1)))),
    coreMap(context, chosen, end),
    h("p", { class: "note" }, h("b", null, "The client over the whole window. "), client.join(" · "), "."));
}

function heatMap({ state }: Context, chosen: WithPlotData[]): HTMLElement {
  const which = chosen.find((c) => String(c.head.index) === state.get("heat")) ?? chosen[0] as WithPlotData;
  return figure({
    id: "plot-heat",
    title: chosen.length > 1 ? `Response over time: ${which.name}` : "Response over time",
    caption: "Each cell is a span of time and a range of responses; the stronger its colour, the more requests (logarithmic, by the bar above).",
    controls: chosen.length > 1 ? [select("Trial", chosen.map((c) => ({ value: String(c.head.index), name: c.name })), String(which.head.index), (v) => state.set({ heat: v }))] : [],
    draw: (width) => heat(which.picture, width),
    table: () => ({ head: ["From s", "To s", "From ns", "To ns", "Requests"], rows: heatCells(which.picture.heat).map((c) => [c.x1, c.x2, Math.round(c.y1), Math.round(c.y2), c.count]) }),
  });
}

function counted(chosen: WithPlotData[]): HTMLElement {
  return figure({
    id: "plot-distribution",
    title: "Distribution of responses",
    caption: "Requests by response time; each bar is a tenth longer than the one before.",
    ...(chosen.length > 1 ? { legend: legendOf(chosen.map((c) => ({ name: c.name, color: c.color }))) } : {}),
    draw: (width) => distribution(chosen.map((c) => ({ name: c.name, color: c.color, data: c.picture.distribution })), width),
    table: () => ({ head: ["Trial", "From ns", "To ns", "Requests"], rows: chosen.flatMap((c) => c.picture.distribution.count.map((n, i) => {
      const bar = c.picture.distribution.bar[i] ?? 0;
      const per = c.picture.distribution.bars_a_decade;
      return [c.name, Math.round(10 ** (bar / per)), Math.round(10 ** ((bar + 1) / per)), n];
    })) }),
  });
}
