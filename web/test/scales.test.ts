import { describe, expect, it } from "vitest";
import { coreCells } from "../src/plots/cores";
import { domain, type Dot } from "../src/plots/dots";
import { nines } from "../src/plots/curve";
import { logTicks } from "../src/plots/frame";
import { heatCells } from "../src/plots/heat";

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
  it("puts a CPU's spans where they were, from the window's start", () => {
    const cells = coreCells({ at_ns: [-5e8, 5e8, 1e9], cpus: [{ cpu: 3, of: "server", busy: [1, 0.5, 0.25] }] });
    expect(cells).toEqual([{ x1: 0, x2: 0.5, row: 0, busy: 0.5 }, { x1: 0.5, x2: 1, row: 0, busy: 0.25 }]);
  });
});
