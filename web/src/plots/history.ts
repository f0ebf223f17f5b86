/** A figure over many runs: a point a run, the level between changes, each change with its commit. */
import * as Plot from "@observablehq/plot";
import { asSvg, fit, GRID, NARROW, style, tip } from "./frame";

export interface HistoryPoint {
  /** Milliseconds of the clock, or the number of the run. */
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  hollow: boolean;
  color: string;
  /** What a pointer is told. */
  said: string;
}

export interface HistoryLine {
  name: string;
  color: string;
  dash: string;
  points: HistoryPoint[];
  levels: { x1: number; x2: number; y: number; low: number | null; high: number | null }[];
  /** `whose` is left out where there is no room for it. */
  changes: { x: number; text: string; whose: string; color: string }[];
}

export interface HistoryOptions {
  lines: HistoryLine[];
  /** Whether x is time; else it is a run's number, and this is what each is called. */
  names: string[] | null;
  zero: boolean;
  format: (v: number) => string;
}

const ROW = 14;
/** Rows of labels above the plot. */
const ROWS_MAX = 5;

export function historyPlot(options: HistoryOptions, width: number): SVGSVGElement | null {
  const points = options.lines.flatMap((line) => line.points);
  if (points.length === 0) return null;
  const narrow = width < NARROW;
  // Intervals of few trials can span decades; the levels are what is looked at, so the rest is cut off.
  const [least, most] = [Math.min(...points.map((p) => p.y)) / 2, Math.max(...points.map((p) => p.y)) * 1.6];
  const ys = points.flatMap((p) => [p.y, Math.max(p.low ?? p.y, least), Math.min(p.high ?? p.y, most)]);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const pad = (high - low || high || 1) * 0.08;
  const yd: [number, number] = options.zero ? [0, high * 1.05 || 1] : [Math.max(0, low - pad), high + pad];
  const xs = points.map((p) => p.x);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const room = (last - first || 1) * 0.03;
  const xd: [number, number] = [first - room, last + room];
  const changes = options.lines.flatMap((line) => line.changes).sort((a, b) => a.x - b.x).map((c, i) => ({ ...c, row: i % ROWS_MAX }));
  const rows = Math.min(ROWS_MAX, changes.length);
  const middle = (xd[0] + xd[1]) / 2;
  const left = changes.filter((c) => c.x > middle);
  const right = changes.filter((c) => c.x <= middle);
  const label = (some: typeof changes, anchor: "start" | "end"): Plot.Markish[] => some.map((c) =>
    Plot.text([c], { x: "x", frameAnchor: "top", dy: -ROW * (rows - c.row), dx: anchor === "start" ? 4 : -4, textAnchor: anchor, text: () => fit(narrow ? c.text : c.text + c.whose, width * 0.5 - 20), fill: c.color, fontWeight: 600 }));
  const names = options.names;
  const every = names ? Math.max(1, Math.ceil(names.length / (narrow ? 4 : Math.floor((width - 90) / 90)))) : 1;
  // Runs are of several candidates as a rule, and their whiskers would hide each other.
  const beside = (k: number): number => (k - (options.lines.length - 1) / 2) * (narrow ? 2 : 4);
  const plot = Plot.plot({
    width, height: (narrow ? 280 : 380) + rows * ROW, marginLeft: 64, marginRight: 20, marginTop: 14 + rows * ROW, marginBottom: 40, style: style(),
    x: names
      ? { domain: xd, label: "run", labelArrow: "none", ticks: names.map((_, i) => i).filter((i) => i % every === 0), tickFormat: (i: number) => names[i] ?? "" }
      : { type: "utc", domain: xd.map((v) => new Date(v)), label: "time (UTC)", labelArrow: "none", ticks: narrow ? 4 : 8 },
    y: { domain: yd, label: null, ticks: 6, tickFormat: options.format },
    marks: [
      Plot.gridY({ ...GRID, ticks: 6 }),
      ...changes.map((c) => Plot.ruleX([c], { x: "x", stroke: c.color, strokeDasharray: "4 3", strokeWidth: 1.25, insetTop: -ROW * (rows - c.row) + 8 })),
      ...label(right, "start"),
      ...label(left, "end"),
      ...options.lines.flatMap((line) => [
        Plot.rect(line.levels.filter((l) => l.low !== null && l.high !== null), { x1: "x1", x2: "x2", y1: (l: { low: number }) => Math.max(yd[0], l.low), y2: (l: { high: number }) => Math.min(yd[1], l.high), fill: line.color, fillOpacity: 0.1 }),
        Plot.line(line.points, { x: "x", y: "y", stroke: line.color, strokeWidth: 1, strokeOpacity: 0.4, strokeDasharray: line.dash }),
        Plot.ruleY(line.levels, { x1: "x1", x2: "x2", y: "y", stroke: line.color, strokeWidth: 2.5 }),
      ]),
      ...options.lines.map((line, k) => Plot.ruleX(line.points.filter((p) => p.low !== null && p.high !== null), { dx: beside(k), x: "x", y1: (p: HistoryPoint) => Math.max(yd[0], p.low ?? p.y), y2: (p: HistoryPoint) => Math.min(yd[1], p.high ?? p.y), stroke: "color", strokeWidth: 1.5, strokeOpacity: 0.6 })),
      ...options.lines.map((line, k) => Plot.dot(line.points, { dx: beside(k), x: "x", y: "y", r: 3.75, fill: (p: HistoryPoint) => (p.hollow ? "var(--card)" : p.color), stroke: "color", strokeWidth: 1.75, className: "mark" })),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: "said", ...tip() })),
    ],
  });
  return asSvg(plot);
}
