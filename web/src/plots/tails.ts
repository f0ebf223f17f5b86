/** The tail of two: the ratio of their response times at each percentile, evenly spaced, with intervals and a line at 1. */
import * as Plot from "@observablehq/plot";
import type { TailRatio } from "../data";
import { quantileName, significant } from "../core/format";
import { asSvg, GRID, logAxisY, logTicks, NARROW, style, tip } from "./frame";

export function tails(ratios: TailRatio[], color: string, width: number): SVGSVGElement | null {
  const points = ratios.map(({ quantile, ratio: r }) => ({ name: quantileName(quantile), y: r.point, low: r.ci_low ?? r.point, high: r.ci_high ?? r.point }));
  if (points.length === 0) return null;
  // Intervals of few trials can span decades; the points and 1 are what is looked at, so the rest is cut off.
  const found = [1, ...points.map((p) => p.y)];
  const [least, most] = [Math.min(...found) / 3, Math.max(...found) * 3];
  const inside = (v: number): number => Math.min(Math.max(v, least), most);
  const ends = [...found, ...points.flatMap((p) => [inside(p.low), inside(p.high)])];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = Math.max((high / low) ** 0.06, 1.004);
  const range: [number, number] = [low / room, high * room];
  const format = (v: number): string => `${Number(significant(v, 4))} ×`;
  const plot = Plot.plot({
    width, height: width < NARROW ? 260 : 300, marginLeft: 60, marginRight: 20, marginTop: 14, marginBottom: 42, style: style(),
    x: { type: "point", domain: points.map((p) => p.name), label: "percentile of response times", labelArrow: "none", padding: 0.5 },
    y: { type: "log", domain: range, axis: null },
    marks: [
      logAxisY(range, 8, format),
      Plot.gridY({ ...GRID, ticks: logTicks(range, 8) }),
      Plot.ruleY([1], { stroke: "var(--ink-2)", strokeWidth: 1.5, className: "one" }),
      Plot.ruleX(points, { x: "name", y1: (p: typeof points[number]) => inside(p.low), y2: (p: typeof points[number]) => inside(p.high), stroke: color, strokeWidth: 2.5, className: "whisker" }),
      Plot.dot(points, { x: "name", y: "y", r: 4.5, fill: color, className: "mark" }),
      Plot.tip(points, Plot.pointerX({ x: "name", y: "y", title: (p: typeof points[number]) => `${p.name}: ${significant(p.y, 3)} ×\n${significant(p.low, 3)} – ${significant(p.high, 3)}`, ...tip() })),
    ],
  });
  return asSvg(plot);
}
