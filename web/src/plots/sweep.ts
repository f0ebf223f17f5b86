/** A figure against what was asked: a line a candidate, with intervals. */
import * as Plot from "@observablehq/plot";
import { asSvg, GRID, logAxisY, logTicks, NARROW, style, tip } from "./frame";

export interface SweepPoint {
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  name: string;
  color: string;
  dash?: string;
  /** Not to be trusted, overloaded, or a lower bound. */
  hollow: boolean;
  /** A cross instead of a dot. */
  crossed?: boolean;
  note: string;
}

/** A place on the x axis with its interval. */
export interface Band {
  at: number;
  from: number | null;
  to: number | null;
  color: string;
  text: string;
}

export interface SweepOptions {
  points: SweepPoint[];
  bands?: Band[];
  xLabel: string;
  xFormat: (v: number) => string;
  yFormat: (v: number) => string;
  value: (v: number) => string;
  logX: boolean;
  logY: boolean;
  /** The line on which a server carries all that is due. */
  diagonal: boolean;
  connect: boolean;
}

export function sweep(options: SweepOptions, width: number): SVGSVGElement | null {
  const points = options.points.filter((p) => (!options.logY || p.y > 0) && (!options.logX || p.x > 0));
  if (points.length === 0) return null;
  const narrow = width < NARROW;
  const bands = options.bands ?? [];
  const places = [...points.map((p) => p.x), ...bands.map((b) => b.at)];
  const furthest = Math.max(...places) * 1.5;
  const xs = [...places, ...bands.map((b) => Math.min(b.to ?? b.at, furthest))];
  const found = points.map((p) => p.y);
  // Intervals of few trials can span decades; the points are what is looked at, so the rest is cut off.
  const most = Math.max(...found) * (options.logY ? 4 : 1.6);
  const least = Math.min(...found) / 4;
  const ys = points.flatMap((p) => [p.y, Math.max(p.low ?? p.y, least), Math.min(p.high ?? p.y, most)]).filter((v) => !options.logY || v > 0);
  const span = (v: number[], log: boolean): [number, number] => log
    ? [Math.min(...v) / 1.2, Math.max(...v) * 1.2] : [0, Math.max(...v) * 1.06 || 1];
  const [xd, yd] = [span(xs, options.logX), span(ys, options.logY)];
  const tried = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
  // Probes crowd around an edge; only what was asked for on purpose names its places.
  const xt = options.connect && tried.length <= (narrow ? 6 : 12) && options.logX ? { ticks: tried } : options.logX ? { ticks: logTicks(xd, narrow ? 4 : 9) } : { ticks: narrow ? 4 : 8 };
  const yt = options.logY ? { ticks: logTicks(yd, 8) } : { ticks: 6 };
  const names = [...new Set(points.map((p) => p.name))];
  const whiskers = points.filter((p) => p.low !== null && p.high !== null);
  const inside = (v: number): number => Math.min(Math.max(v, xd[0]), xd[1]);
  const middle = options.logX ? Math.sqrt(xd[0] * xd[1]) : (xd[0] + xd[1]) / 2;
  const floor = (v: number): number => Math.min(Math.max(v, yd[0]), yd[1]);
  const plot = Plot.plot({
    width, height: (narrow ? 300 : 400) + 14 * bands.length, marginLeft: 60, marginRight: 20, marginTop: 14 + 14 * bands.length, marginBottom: 42, style: style(),
    x: { type: options.logX ? "log" : "linear", domain: xd, label: options.xLabel, axis: null },
    y: { type: options.logY ? "log" : "linear", domain: yd, label: null, ...(options.logY ? { axis: null } : { ...yt, tickFormat: options.yFormat }) },
    marks: [
      options.logY ? logAxisY(yd, 8, options.yFormat) : null,
      // The axis' texts are given: a logarithmic scale leaves out those of 6, 8 and 14.
      Plot.axisX({ ...xt, label: options.xLabel, labelArrow: "none", tickFormat: null, text: (v: number) => options.xFormat(v) }),
      Plot.gridY({ ...GRID, ...yt }),
      Plot.gridX({ ...GRID, ...xt }),
      ...bands.filter((b) => b.from !== null && b.to !== null).map((b) => Plot.rectX([b], { x1: inside(b.from ?? b.at), x2: inside(b.to ?? b.at), fill: b.color, fillOpacity: 0.14 })),
      ...bands.flatMap((b, k) => [
        Plot.ruleX([b], { x: "at", stroke: b.color, strokeWidth: 1.5, insetTop: -14 * (bands.length - k) + 8 }),
        Plot.text([b], { x: "at", frameAnchor: "top", dy: -14 * (bands.length - k), text: "text", fill: b.color, fontWeight: 600, textAnchor: b.at > middle ? "end" : "start", dx: b.at > middle ? -4 : 4 }),
      ]),
      options.diagonal ? Plot.line([[0, 0], [Math.min(xd[1], yd[1]), Math.min(xd[1], yd[1])]], { stroke: "var(--ink-3)", strokeDasharray: "3 3" }) : null,
      ...(options.connect ? names.map((name) => Plot.line(points.filter((p) => p.name === name).sort((a, b) => a.x - b.x), { x: "x", y: "y", stroke: points.find((p) => p.name === name)?.color ?? "currentColor", strokeWidth: 2, strokeDasharray: points.find((p) => p.name === name)?.dash ?? "", className: "curve" })) : []),
      Plot.ruleX(whiskers, { x: "x", y1: (p: SweepPoint) => floor(p.low ?? p.y), y2: (p: SweepPoint) => floor(p.high ?? p.y), stroke: "color", strokeWidth: 2, strokeOpacity: 0.6 }),
      Plot.dot(points.filter((p) => p.crossed), { x: "x", y: "y", r: 4.5, symbol: "times", stroke: "color", strokeWidth: 2, className: "mark" }),
      Plot.dot(points.filter((p) => !p.crossed), { x: "x", y: "y", r: 4, fill: (p: SweepPoint) => (p.hollow ? "var(--card)" : p.color), stroke: "color", strokeWidth: 2, className: "mark" }),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: (p: SweepPoint) => `${p.name}\n${options.xFormat(p.x)} ${options.xLabel}\n${options.value(p.y)}${p.note ? `\n${p.note}` : ""}`, ...tip() })),
    ],
  });
  return asSvg(plot);
}
