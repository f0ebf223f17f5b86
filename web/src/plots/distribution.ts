/** How often each range of response times occurred; ranges grow by a constant factor. */
import * as Plot from "@observablehq/plot";
import type { PlotData } from "../data";
import { axisDuration, duration, si, thousands } from "../core/format";
import { asSvg, GRID, logAxisX, NARROW, style, tip } from "./frame";

export interface Distribution {
  name: string;
  color: string;
  data: PlotData["distribution"];
}

export function distribution(all: Distribution[], width: number): SVGSVGElement | null {
  const bars = all.flatMap((one) => one.data.count.map((count, i) => {
    const bar = one.data.bar[i] ?? 0;
    return { x1: 10 ** (bar / one.data.bars_a_decade), x2: 10 ** ((bar + 1) / one.data.bars_a_decade), count, name: one.name, color: one.color };
  }));
  if (bars.length === 0) return null;
  const narrow = width < NARROW;
  const range: [number, number] = [Math.min(...bars.map((b) => b.x1)) / 1.1, Math.max(...bars.map((b) => b.x2)) * 1.1];
  const single = all.length === 1;
  const plot = Plot.plot({
    width, height: narrow ? 220 : 260, marginLeft: 60, marginRight: 18, marginTop: 10, marginBottom: 36, style: style(),
    x: { type: "log", domain: range, axis: null },
    y: { label: null, ticks: 5, tickFormat: si, domain: [0, Math.max(...bars.map((b) => b.count)) * 1.05] },
    marks: [
      logAxisX(range, narrow ? 4 : 9, axisDuration),
      Plot.gridY({ ...GRID, ticks: 5 }),
      Plot.rect(bars, { x1: "x1", x2: "x2", y1: 0, y2: "count", fill: "color", fillOpacity: single ? 0.75 : 0.32, inset: 0.5, className: "bars" }),
      Plot.ruleY([0], { stroke: "var(--line-strong)" }),
      Plot.tip(bars, Plot.pointerX({ x: (b: { x1: number; x2: number }) => Math.sqrt(b.x1 * b.x2), y: "count", title: (b: { name: string; x1: number; x2: number; count: number }) => `${b.name}\n${duration(b.x1)} – ${duration(b.x2)}\n${thousands(b.count)} requests`, ...tip() })),
    ],
  });
  return asSvg(plot);
}
