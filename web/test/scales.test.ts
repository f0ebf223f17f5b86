import { describe, expect, it } from "vitest";
import { coreCells } from "../src/plots/cores";
import { domain, type Dot } from "../src/plots/dots";
import { nines } from "../src/plots/curve";
import { logTicks } from "../src/plots/frame";
import { heatCells, scaleTicks } from "../src/plots/heat";
import { broken, headOf, type Measure } from "../src/core/head";

const dot = (point: number | null, low: number | null, high: number | null): Dot => ({
  key: "a", name: "a", rank: "1", tie: 1, color: "", point, low, high, trials: [], text: "", beside: "", hollow: false, lowerBound: false, baseline: false, tooltip: "",
});

describe("scales", () => {
  it("gives each nine the same room", () => {
    expect([0, 0.9, 0.99, 0.999].map((q) => Number(nines(q).toFixed(9)))).toEqual([0, 1, 2, 3]);
  });
  it("ticks logarithms at 1, 2 and 5 where there is room, at powers of ten where there is not", () => {
    expect(logTicks([1e6, 5e7], 9)).toEqual([1e6, 2e6, 5e6, 1e7, 2e7, 5e7]);
    expect(logTicks([1, 1e6], 9)).toEqual([1, 10, 100, 1e3, 1e4, 1e5, 1e6]);
    expect(logTicks([6e4, 1.9e5], 9)).toEqual([6e4, 7e4, 8e4, 9e4, 1e5, 1.5e5]);
    expect(logTicks([1.05e5, 1.3e5], 9)).toEqual([1.1e5, 1.2e5, 1.3e5]);
  });
  it("holds every interval, from zero, fitted or on a logarithm", () => {
    const dots = [dot(100, 90, 110), dot(50, null, null), dot(null, null, null)];
    expect(domain(dots, "zero")[0]).toBe(0);
    for (const axis of ["zero", "fit", "log"] as const) {
      const [low, high] = domain(dots, axis);
      expect(low).toBeLessThan(50);
      expect(high).toBeGreaterThan(110);
    }
    expect(domain([], "zero")).toEqual([0, 1]);
  });
  it("does not let an interval over decades hide the figures", () => {
    const dots = [dot(100, 0.1, 1e6), dot(50, 40, 60)];
    expect(domain(dots, "zero")).toEqual([0, 208]);
    expect(domain(dots, "log").map(Math.round)).toEqual([22, 230]);
    expect(domain(dots, "fit")[1]).toBeLessThan(220);
  });
  it("puts a heat map's cells where their counts are", () => {
    const cells = heatCells({ rows_a_decade: 12, at_ns: [0, 1e9], length_ns: [1e9, 1e9], column: [0, 1], row: [72, 84], count: [1, 10] });
    expect(cells.map((c) => [c.x1, c.x2, Math.round(c.y1)])).toEqual([[0, 1, 1e6], [1, 2, 1e7]]);
    expect(cells[1]?.share).toBe(1);
  });
  it("has counts on the colour scale, the highest always", () => {
    expect(scaleTicks(5000, 0.19).map((t) => t.count)).toEqual([1, 10, 100, 5000]);
    expect(scaleTicks(1, 0.19)).toEqual([{ count: 1, at: 1 }]);
    for (const most of [1, 7, 120, 98765]) {
      const at = scaleTicks(most, 0.19).map((t) => t.at);
      expect(at.at(-1)).toBe(1);
      at.slice(1).forEach((a, i) => expect(a - (at[i] ?? 0)).toBeGreaterThanOrEqual(0.19 - 1e-9));
    }
  });
  it("puts a CPU's spans where they were, from the window's start", () => {
    const cells = coreCells({ at_ns: [-5e8, 5e8, 1e9], cpus: [{ cpu: 3, of: "server", busy: [1, 0.5, 0.25] }] });
    expect(cells).toEqual([{ x1: 0, x2: 0.5, row: 0, busy: 0.5 }, { x1: 0.5, x2: 1, row: 0, busy: 0.25 }]);
  });
});

describe("what stands above a saved plot", () => {
  const measure: Measure = (text, px) => text.length * px * 0.6;
  const names = ["a", "php-fpm", "a-name-that-is-longer-than-any-plot-is-wide-".repeat(4), "two words", ...Array.from({ length: 20 }, (_, i) => `candidate-${i}`)];
  it("has every name whole and within the width, none over another", () => {
    for (const width of [320, 900]) {
      const head = headOf("Response p99 against offered rate: 500 connections", names.map((name) => ({ name, color: "red" })), width, measure);
      expect(head.entries.map((e) => e.lines.join(""))).toEqual(names);
      expect(head.title.lines.join("")).toBe("Response p99 against offered rate: 500 connections");
      for (const placed of [head.title, ...head.entries]) for (const line of placed.lines) expect(placed.x + measure(line.trimEnd(), placed === head.title ? 16 : 12, 400)).toBeLessThanOrEqual(width);
      const boxes = head.entries.map((e) => ({ x: e.x - 28, end: e.x + Math.max(...e.lines.map((l) => measure(l.trimEnd(), 12, 400))), top: e.y - 12, bottom: e.y + (e.lines.length - 1) * 17 }));
      boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => expect(a.end <= b.x || b.end <= a.x || a.bottom <= b.top || b.bottom <= a.top).toBe(true)));
      expect(Math.max(...boxes.map((b) => b.bottom))).toBeLessThan(head.height);
    }
  });
  it("breaks at spaces, and within words only where they must be", () => {
    expect(broken("one two three", 60, 12, 400, measure)).toEqual(["one two ", "three"]);
    expect(broken("", 60, 12, 400, measure)).toEqual([]);
    expect(broken("abcdefghijklmnop", 60, 12, 400, measure).join("")).toBe("abcdefghijklmnop");
  });
  it("is only a title where there is one line", () => {
    expect(headOf("t", [], 500, measure).entries).toEqual([]);
  });
});
