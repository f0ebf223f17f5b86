/** The ranking: a dot a candidate, its interval as a whisker, its trials as faint dots, ties as bands. */
import * as Plot from "@observablehq/plot";
import { asSvg, fit, GRID, logAxisX, logTicks, NARROW, style } from "./frame";

export interface Dot {
  key: string;
  name: string;
  rank: string;
  tie: number | null;
  color: string;
  point: number | null;
  low: number | null;
  high: number | null;
  trials: number[];
  /** The figure at the right. */
  text: string;
  /** Fainter, after it. */
  beside: string;
  /** Somebody's figure beside ours. */
  published?: number;
  hollow: boolean;
  lowerBound: boolean;
  baseline: boolean;
  tooltip: string;
}

export type Axis = "zero" | "fit" | "log";

export interface DotsOptions {
  dots: Dot[];
  axis: Axis;
  axisLabel: string;
  format: (v: number) => string;
  moreIsBetter: boolean;
  /** A line at this value. */
  reference?: number | null;
  choose: (key: string) => void;
}

/** Intervals of few trials can span decades: further than so many times the figures they are cut off. */
const BEYOND = 2;

export function domain(dots: Dot[], axis: Axis): [number, number] {
  const known = (values: (number | null | undefined)[]): number[] =>
    values.filter((v): v is number => v !== null && v !== undefined && Number.isFinite(v) && (axis !== "log" || v > 0));
  const figures = known(dots.flatMap((d) => [d.point, d.published]));
  const [least, most] = [Math.min(...figures) / BEYOND, Math.max(...figures) * BEYOND];
  const values = [...figures, ...known(dots.flatMap((d) => [d.low, d.high])).map((v) => Math.min(Math.max(v, least), most))];
  if (values.length === 0) return axis === "log" ? [1, 10] : [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (axis === "zero") return [0, high * 1.04 || 1];
  if (axis === "log") return low === high ? [low / 2, high * 2] : [low / 1.15, high * 1.15];
  const pad = (high - low || high || 1) * 0.06;
  return [Math.max(0, low - pad), high + pad];
}

/** Around text that stands on lines. */
const HALO = { stroke: "var(--card)", strokeWidth: 4 };

export function dots(options: DotsOptions, width: number): SVGSVGElement | null {
  const { dots: all } = options;
  if (all.length === 0) return null;
  const narrow = width < NARROW;
  const rowHeight = narrow ? 40 : 32;
  const longest = Math.max(...all.map((d) => d.name.length));
  const left = narrow ? 14 : Math.min(230, Math.max(90, longest * 7 + 58));
  const right = narrow ? 14 : 176;
  const marginTop = 34;
  const height = marginTop + all.length * rowHeight + 12;
  const range = domain(all, options.axis);
  const known = all.filter((d) => d.point !== null);
  const clip = (v: number): number => Math.min(Math.max(v, range[0]), range[1]);
  const cloud = known.flatMap((d) => d.trials.filter((v) => v >= range[0] && v <= range[1]).map((value) => ({ key: d.key, value, color: d.color })));
  const whiskers = known.filter((d) => d.low !== null && d.high !== null);
  // What goes on beyond the axis has no end there.
  const ends = whiskers.flatMap((d) => [d.low, d.high].map((end) => ({ ...d, end }))).filter((d) => d.end !== null && d.end >= range[0] && d.end <= range[1]);
  const banded = all.filter((d) => d.tie !== null && d.tie % 2 === 0);
  const dy = narrow ? 8 : 0;
  const x = (v: number | null): number => clip(v ?? 0);
  const weights = [[all.filter((d) => d.baseline), 700], [all.filter((d) => !d.baseline), 500]] as const;
  const text = (d: Dot): string => `${d.text}${d.beside ? `  ${d.beside}` : ""}`;
  const plot = Plot.plot({
    width, height, marginLeft: left, marginRight: right, marginTop, marginBottom: 12, style: style(),
    x: {
      type: options.axis === "log" ? "log" : "linear", domain: range, label: null,
      ...(options.axis === "log" ? { axis: null } : { axis: "top" as const, ticks: narrow ? 4 : 7, tickFormat: options.format }),
    },
    y: { domain: all.map((d) => d.key), axis: null, padding: 0 },
    marks: [
      options.axis === "log" ? logAxisX(range, narrow ? 4 : 9, options.format, "top") : null,
      Plot.barX(banded, { y: "key", x1: range[0], x2: range[1], fill: "var(--band)", insetLeft: -left, insetRight: -right, ariaHidden: "true" }),
      Plot.gridX({ ...GRID, ...(options.axis === "log" ? { ticks: logTicks(range, narrow ? 4 : 9) } : { ticks: narrow ? 4 : 7 }) }),
      options.reference !== null && options.reference !== undefined && options.reference >= range[0] && options.reference <= range[1]
        ? Plot.ruleX([options.reference], { stroke: "var(--ink-3)", strokeDasharray: "3 3" }) : null,
      options.axis === "zero"
        ? Plot.ruleY(known, { y: "key", x1: 0, x2: (d: Dot) => x(d.point), stroke: "color", strokeWidth: 2, strokeOpacity: 0.22, dy }) : null,
      Plot.tickX(cloud, { x: "value", y: "key", stroke: "color", strokeOpacity: 0.5, strokeWidth: 1, insetTop: rowHeight / 2 - 8 + dy, insetBottom: rowHeight / 2 - 8 - dy }),
      Plot.ruleY(whiskers, { y: "key", x1: (d: Dot) => x(d.low), x2: (d: Dot) => x(d.high), stroke: "color", strokeWidth: 2, dy, className: "whisker" }),
      Plot.tickX(ends, { x: "end", y: "key", stroke: "color", strokeWidth: 2, insetTop: rowHeight / 2 - 5 + dy, insetBottom: rowHeight / 2 - 5 - dy }),
      Plot.dot(known.filter((d) => d.published !== undefined), { x: "published", y: "key", symbol: "diamond", r: 5, stroke: "var(--ink-2)", fill: "var(--card)", dy }),
      Plot.dot(known, { x: (d: Dot) => x(d.point), y: "key", r: 5.5, fill: (d: Dot) => (d.hollow ? "var(--card)" : d.color), stroke: "color", strokeWidth: 2, dy, className: "mark" }),
      Plot.text(known.filter((d) => d.lowerBound), { x: (d: Dot) => x(d.point), y: "key", text: () => "→", dx: 15, fill: "color", fontWeight: 700, dy }),
      ...(narrow
        ? [
          ...weights.map(([some, fontWeight]) => Plot.text(some, { y: "key", frameAnchor: "left", textAnchor: "start", dy: -9, text: (d: Dot) => `${d.rank}  ${fit(d.name, width * 0.42)}`, fill: "currentColor", fontWeight, ...HALO })),
          Plot.text(all, { y: "key", frameAnchor: "right", textAnchor: "end", dy: -9, text: (d: Dot) => fit(text(d), width * 0.52), fill: "var(--ink-2)", ...HALO }),
        ]
        : [
          Plot.text(all, { y: "key", frameAnchor: "left", textAnchor: "start", dx: -left + 6, text: "rank", fill: "var(--ink-2)" }),
          ...weights.map(([some, fontWeight]) => Plot.text(some, { y: "key", frameAnchor: "left", textAnchor: "end", dx: -12, text: (d: Dot) => fit(d.name, left - 58), fill: "currentColor", fontWeight })),
          Plot.text(all, { y: "key", frameAnchor: "right", textAnchor: "start", dx: 12, text: "text", fontWeight: 600, fill: "currentColor" }),
          Plot.text(all, { y: "key", frameAnchor: "right", textAnchor: "end", dx: right - 4, text: "beside", fill: "var(--ink-2)" }),
        ]),
      Plot.barX(all, { y: "key", x1: range[0], x2: range[1], fill: "transparent", insetLeft: -left, insetRight: -right, title: "tooltip", className: "hit" }),
    ],
  });
  const svg = asSvg(plot);
  svg.querySelectorAll<SVGElement>(".hit rect").forEach((rect, i) => {
    const dot = all[i];
    if (!dot) return;
    rect.style.cursor = "pointer";
    rect.dataset["key"] = dot.key;
    rect.addEventListener("click", () => options.choose(dot.key));
  });
  return svg;
}
