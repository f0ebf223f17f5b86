/** CPUs by time: a row a CPU, darker where it was busier. */
import * as Plot from "@observablehq/plot";
import type { PlotData } from "../data";
import { percent } from "../core/format";
import { asSvg, NARROW, style, tip } from "./frame";

interface CoreCell {
  x1: number;
  x2: number;
  row: number;
  busy: number;
}

/** The spans of each CPU within the window, in seconds. */
export function coreCells(cores: PlotData["cores"]): CoreCell[] {
  return cores.cpus.flatMap((core, row) => cores.at_ns.flatMap((at, i) => {
    const before = i > 0 ? cores.at_ns[i - 1] ?? 0 : 0;
    return at > 0 ? [{ x1: Math.max(0, before) / 1e9, x2: at / 1e9, row, busy: core.busy[i] ?? 0 }] : [];
  }));
}

export function cores(cells: CoreCell[], names: string[], seconds: [number, number], width: number): SVGSVGElement | null {
  if (cells.length === 0) return null;
  const narrow = width < NARROW;
  const rowHeight = names.length > 32 ? 10 : 16;
  // Texts need 12 pixels a row.
  const every = Math.ceil(13 / rowHeight);
  const plot = Plot.plot({
    width, height: names.length * rowHeight + 46, marginLeft: narrow ? 60 : 130, marginRight: 18, marginTop: 8, marginBottom: 36, style: style(),
    x: { domain: seconds, label: "seconds", labelArrow: "none", ticks: narrow ? 5 : 10 },
    y: { type: "band", domain: names.map((_, i) => i), label: null, ticks: names.map((_, i) => i).filter((i) => i % every === 0), tickFormat: (i: number) => (narrow ? (names[i] ?? "").split(" (")[0] : names[i]) ?? "" },
    marks: [
      Plot.barX(cells, { x1: "x1", x2: "x2", y: "row", fill: "var(--heat)", fillOpacity: (c: CoreCell) => 0.05 + 0.95 * c.busy, inset: 0.25, className: "cells" }),
      Plot.tip(cells, Plot.pointer({ x: (c: CoreCell) => (c.x1 + c.x2) / 2, y: "row", title: (c: CoreCell) => `${names[c.row]}\n${c.x1.toFixed(1)} – ${c.x2.toFixed(1)} s\n${percent(c.busy)} busy`, ...tip() })),
    ],
  });
  return asSvg(plot);
}
