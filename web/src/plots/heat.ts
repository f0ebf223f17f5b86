/** Responses by time: each column a span, each row a range of time, darker where there are more. */
import * as Plot from "@observablehq/plot";
import type { Picture } from "../data";
import { axisDuration, duration, thousands } from "../core/format";
import { asSvg, logAxisY, NARROW, style, tip } from "./frame";

interface CellOf {
  x1: number;
  x2: number;
  y1: number;
  y2: number;
  count: number;
  share: number;
}

/** The cells in seconds and nanoseconds; the share is of the busiest cell, for the colour only. */
export function heatCells(heat: Picture["heat"]): CellOf[] {
  const most = Math.max(1, ...heat.count);
  return heat.count.map((count, i) => {
    const column = heat.column[i] ?? 0;
    const row = heat.row[i] ?? 0;
    const at = heat.at_ns[column] ?? 0;
    return {
      x1: at / 1e9,
      x2: (at + (heat.length_ns[column] ?? 0)) / 1e9,
      y1: 10 ** (row / heat.rows_a_decade),
      y2: 10 ** ((row + 1) / heat.rows_a_decade),
      count,
      share: Math.log1p(count) / Math.log1p(most),
    };
  });
}

export function heat(picture: Picture, width: number): SVGSVGElement | null {
  const cells = heatCells(picture.heat);
  if (cells.length === 0) return null;
  const narrow = width < NARROW;
  const range: [number, number] = [Math.min(...cells.map((c) => c.y1)), Math.max(...cells.map((c) => c.y2))];
  const plot = Plot.plot({
    width, height: narrow ? 260 : 320, marginLeft: 60, marginRight: 18, marginTop: 10, marginBottom: 36, style: style(),
    x: { domain: [0, Math.max(...cells.map((c) => c.x2))], label: "seconds", labelArrow: "none", ticks: narrow ? 5 : 10 },
    y: { type: "log", domain: range, axis: null },
    marks: [
      logAxisY(range, 9, axisDuration),
      Plot.rect(cells, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--heat)", fillOpacity: (c: CellOf) => 0.06 + 0.94 * c.share ** 1.4, inset: 0.25, className: "cells" }),
      Plot.tip(cells, Plot.pointer({ x: (c: CellOf) => (c.x1 + c.x2) / 2, y: (c: CellOf) => Math.sqrt(c.y1 * c.y2), title: (c: CellOf) => `${duration(c.y1)} – ${duration(c.y2)}\n${c.x1.toFixed(1)} – ${c.x2.toFixed(1)} s\n${thousands(c.count)} requests`, ...tip() })),
    ],
  });
  return asSvg(plot);
}
