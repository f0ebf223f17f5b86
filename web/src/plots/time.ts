/** Lines over time; panels of one time axis are drawn at one width with one domain. */
import * as Plot from "@observablehq/plot";
import { asSvg, GRID, logAxisY, logTicks, NARROW, style, tip } from "./frame";

export interface Line {
  name: string;
  color: string;
  dash?: string;
  /** Seconds and value; null breaks the line. */
  points: [number, number | null][];
  area?: boolean;
  thin?: boolean;
}

export interface TimeOptions {
  lines: Line[];
  seconds: [number, number];
  format: (v: number) => string;
  value: (v: number) => string;
  log?: boolean;
  /** The y axis reaches at least to here. */
  least?: number;
  height?: number;
  /** The time axis is named below this panel. */
  axis?: boolean;
  /** Where the window opens, within what is shown. */
  opens?: number;
}

export function time(asked: TimeOptions, width: number): SVGSVGElement | null {
  // Samples are taken for a moment longer than the window.
  const within = ([x]: [number, number | null]): boolean => x <= asked.seconds[1] * 1.0001;
  const options = { ...asked, lines: asked.lines.map((line) => ({ ...line, points: line.points.filter(within) })) };
  const points = options.lines.flatMap((line) => line.points.map(([x, y]) => ({ x, y, name: line.name, color: line.color })));
  const known = points.filter((p): p is typeof p & { y: number } => p.y !== null);
  if (known.length === 0) return null;
  const narrow = width < NARROW;
  const values = known.map((p) => p.y);
  const positive = values.filter((v) => v > 0);
  const log = options.log === true && positive.length > 0;
  const range: [number, number] = log
    ? [Math.min(...positive) / 1.3, Math.max(...positive) * 1.3]
    : [0, Math.max(...values, options.least ?? 0) * 1.08 || 1];
  const ticks = log ? { ticks: logTicks(range, 6) } : { ticks: 4 };
  const plot = Plot.plot({
    width, height: options.height ?? (narrow ? 130 : 150), marginLeft: 60, marginRight: 18, marginTop: 10, marginBottom: options.axis === false ? 20 : 36, style: style(),
    x: { domain: options.seconds, label: options.axis === false ? null : "seconds", labelArrow: "none", ticks: narrow ? 5 : 10 },
    y: { type: log ? "log" : "linear", domain: range, label: null, ...(log ? { axis: null } : { ...ticks, tickFormat: options.format }) },
    marks: [
      log ? logAxisY(range, 6, options.format) : null,
      Plot.gridY({ ...GRID, ...ticks }),
      options.opens !== undefined && options.opens > options.seconds[0]
        ? Plot.rectX([0], { x1: options.seconds[0], x2: options.opens, fill: "var(--band)" }) : null,
      Plot.ruleY([range[0]], { stroke: "var(--line-strong)" }),
      ...options.lines.filter((line) => line.area).map((line) => Plot.areaY(line.points, { x: "0", y1: () => range[0], y2: "1", fill: line.color, fillOpacity: 0.12 })),
      ...options.lines.map((line) => line.points.filter((p) => p[1] !== null).length === 1
        ? Plot.dot(line.points, { x: "0", y: "1", fill: line.color, r: 3, className: "curve" })
        : Plot.line(line.points, { x: "0", y: "1", stroke: line.color, strokeWidth: line.thin ? 1 : 1.75, strokeDasharray: line.dash ?? "", curve: "linear", className: "curve" })),
      Plot.tip(known, Plot.pointerX({ x: "x", y: "y", title: (p: { name: string; x: number; y: number }) => `${p.name}\n${p.x.toFixed(1)} s   ${options.value(p.y)}`, ...tip() })),
      Plot.ruleX(known, Plot.pointerX({ x: "x", stroke: "var(--ink-3)" })),
    ],
  });
  return asSvg(plot);
}
