/** Responses by time: each column a span, each row a range of time, darker where there are more. */
import * as Plot from "@observablehq/plot";
import type { PlotData } from "../data";
import { axisDuration, duration, si, thousands } from "../core/format";
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
export function heatCells(heat: PlotData["heat"]): CellOf[] {
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

/** Where counts stand on the colour scale, from 0 to 1, with room between their texts; the highest is always there. */
export function scaleTicks(most: number, apart: number): { count: number; at: number }[] {
  const at = (count: number): number => Math.log1p(count) / Math.log1p(most);
  const powers: number[] = [];
  for (let count = 1; count < most; count *= 10) powers.push(count);
  const ticks = powers.map((count) => ({ count, at: at(count) })).filter((tick) => 1 - tick.at >= apart);
  const kept: typeof ticks = [];
  for (const tick of ticks) if (tick.at - (kept.at(-1)?.at ?? -1) >= apart) kept.push(tick);
  return [...kept, { count: most, at: 1 }];
}

/** The strength of a cell by its share of the busiest. */
const opacity = (share: number): number => 0.06 + 0.94 * share ** 1.4;

const BAR = { width: 180, height: 9, top: 5, steps: 36 };

/** What the colours mean, drawn above the plot so that a file has it, too. */
function colourScale(svg: SVGSVGElement, most: number, right: number): void {
  const make = (tag: string, attributes: Record<string, string | number>, text = ""): SVGElement => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    made.textContent = text;
    return made;
  };
  const left = right - BAR.width;
  const step = BAR.width / BAR.steps;
  const group = make("g", { class: "scale", "font-size": 11 });
  for (let i = 0; i < BAR.steps; i++) group.append(make("rect", { x: left + i * step, y: BAR.top, width: step, height: BAR.height, fill: "var(--heat)", "fill-opacity": opacity((i + 0.5) / BAR.steps).toFixed(3) }));
  group.append(make("rect", { x: left, y: BAR.top, width: BAR.width, height: BAR.height, fill: "none", stroke: "var(--line-strong)" }),
    make("text", { x: left - 8, y: BAR.top + 9, "text-anchor": "end", fill: "var(--ink-2)" }, "requests in a cell"));
  for (const { count, at } of scaleTicks(most, 34 / BAR.width)) {
    group.append(make("text", { x: left + at * BAR.width, y: BAR.top + BAR.height + 12, "text-anchor": at === 1 ? "end" : "middle", fill: "var(--ink-2)" }, si(count)));
  }
  svg.append(group);
}

export function heat(picture: PlotData, width: number): SVGSVGElement | null {
  const cells = heatCells(picture.heat);
  if (cells.length === 0) return null;
  const narrow = width < NARROW;
  const range: [number, number] = [Math.min(...cells.map((c) => c.y1)), Math.max(...cells.map((c) => c.y2))];
  const plot = Plot.plot({
    width, height: narrow ? 288 : 348, marginLeft: 60, marginRight: 18, marginTop: 38, marginBottom: 36, style: style(),
    x: { domain: [0, Math.max(...cells.map((c) => c.x2))], label: "seconds", labelArrow: "none", ticks: narrow ? 5 : 10 },
    y: { type: "log", domain: range, axis: null },
    marks: [
      logAxisY(range, 9, axisDuration),
      Plot.rect(cells, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--heat)", fillOpacity: (c: CellOf) => opacity(c.share), inset: 0.25, className: "cells" }),
      Plot.tip(cells, Plot.pointer({ x: (c: CellOf) => (c.x1 + c.x2) / 2, y: (c: CellOf) => Math.sqrt(c.y1 * c.y2), title: (c: CellOf) => `${duration(c.y1)} – ${duration(c.y2)}\n${c.x1.toFixed(1)} – ${c.x2.toFixed(1)} s\n${thousands(c.count)} requests`, ...tip() })),
    ],
  });
  const svg = asSvg(plot);
  colourScale(svg, Math.max(...cells.map((c) => c.count)), width - 18);
  return svg;
}
