/** Parts of a whole over time, one above the other. */
import * as Plot from "@observablehq/plot";
import { asSvg, GRID, NARROW, style, tip } from "./frame";

export interface Layer {
  name: string;
  color: string;
  values: number[];
}

export interface StackOptions {
  /** The end of each span; the first began at the start of the axis, or before it. */
  at: number[];
  layers: Layer[];
  seconds: [number, number];
  /** The whole. */
  most: number;
  format: (v: number) => string;
  value: (v: number) => string;
}

export function stack({ at, layers, seconds, most, format, value }: StackOptions, width: number): SVGSVGElement | null {
  const shown = at.flatMap((x, i) => (x > 0 ? [i] : []));
  if (shown.length === 0 || layers.length === 0) return null;
  const narrow = width < NARROW;
  // A span is as wide as it was long: nothing is known of what lies between two of them.
  const bars = layers.flatMap((layer, k) => shown.map((i) => {
    const below = layers.slice(0, k).reduce((sum, l) => sum + (l.values[i] ?? 0), 0);
    return { x1: Math.max(0, i > 0 ? at[i - 1] ?? 0 : 0), x2: Math.min(at[i] ?? 0, seconds[1]), y1: below, y2: below + (layer.values[i] ?? 0), color: layer.color };
  })).filter((bar) => bar.y2 > bar.y1 && bar.x2 > bar.x1);
  const spans = shown.map((i) => ({ x: at[i] ?? 0, title: [`until ${(at[i] ?? 0).toFixed(1)} s`, ...layers.map((l) => `${l.name} ${value(l.values[i] ?? 0)}`)].join("\n") })).filter((s) => s.x <= seconds[1] * 1.0001);
  const plot = Plot.plot({
    width, height: narrow ? 130 : 150, marginLeft: 60, marginRight: 18, marginTop: 10, marginBottom: 36, style: style(),
    x: { domain: seconds, label: "seconds", labelArrow: "none", ticks: narrow ? 5 : 10 },
    y: { domain: [0, most], label: null, ticks: 4, tickFormat: format },
    marks: [
      Plot.gridY({ ...GRID, ticks: 4 }),
      Plot.rect(bars, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "color", className: "cells" }),
      Plot.ruleY([0], { stroke: "var(--line-strong)" }),
      Plot.tip(spans, Plot.pointerX({ x: "x", y: () => most, title: "title", ...tip() })),
    ],
  });
  return asSvg(plot);
}
