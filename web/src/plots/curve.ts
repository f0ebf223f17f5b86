/** Latency by percentile on the HDR scale: even steps of log 1/(1 − q), so that each nine has the same room. */
import * as Plot from "@observablehq/plot";
import { axisDuration, duration, quantileName } from "../core/format";
import { asSvg, GRID, logAxisY, logTicks, NARROW, style, tip } from "./frame";

export interface Curve {
  name: string;
  color: string;
  dash: string;
  values: number[];
}

/** Where a quantile stands: p0 at 0, p90 at 1, p99 at 2. */
export function nines(q: number): number {
  return -Math.log10(1 - q);
}

const MARKED = [0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const MARKED_NARROW = [0, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];

export function curves(all: Curve[], quantiles: number[], log: boolean, width: number): SVGSVGElement | null {
  const points = all.flatMap((curve) => curve.values.map((value, i) => ({ q: quantiles[i] ?? 0, x: nines(quantiles[i] ?? 0), y: value, curve: curve.name, color: curve.color, dash: curve.dash })));
  if (points.length < 2) return null;
  const narrow = width < NARROW;
  const last = Math.max(...points.map((p) => p.x));
  const values = points.map((p) => p.y).filter((v) => v > 0);
  const range: [number, number] = log ? [Math.min(...values) / 1.2, Math.max(...values) * 1.2] : [0, Math.max(...values) * 1.05];
  const height = narrow ? 280 : 360;
  const plot = Plot.plot({
    width, height, marginLeft: 60, marginRight: 18, marginBottom: 40, marginTop: 16, style: style(),
    x: { domain: [0, last * 1.01], label: narrow ? null : "percentile", labelArrow: "none", ticks: (narrow ? MARKED_NARROW : MARKED).map(nines).filter((v) => v <= last * 1.01), tickFormat: (v: number) => quantileName(Number((1 - 10 ** -v).toFixed(6))) },
    y: { type: log ? "log" : "linear", domain: range, label: null, ...(log ? { axis: null } : { ticks: 6, tickFormat: axisDuration }) },
    color: { type: "identity" },
    marks: [
      log ? logAxisY(range, 8, axisDuration) : null,
      Plot.gridY({ ...GRID, ...(log ? { ticks: logTicks(range, 8) } : { ticks: 6 }) }),
      Plot.gridX({ ...GRID, ticks: MARKED.map(nines).filter((v) => v <= last * 1.01) }),
      ...all.map((curve) => Plot.line(points.filter((p) => p.curve === curve.name), { x: "x", y: "y", stroke: curve.color, strokeWidth: 2, strokeDasharray: curve.dash, curve: "step-before", className: "curve" })),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: (p: { curve: string; q: number; y: number }) => `${p.curve}\n${quantileName(p.q)}   ${duration(p.y)}`, ...tip() })),
      Plot.dot(points, Plot.pointer({ x: "x", y: "y", fill: "color", r: 4 })),
    ],
  });
  return asSvg(plot);
}
