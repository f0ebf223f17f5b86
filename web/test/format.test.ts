import { describe, expect, it } from "vitest";
import * as f from "../src/core/format";

describe("figures as people read them", () => {
  it("keeps three digits across a rounding edge", () => {
    expect([0, 6.984, 0.03125, 9.999, 13870, 99.96].map((v) => f.significant(v, 3))).toEqual(["0", "6.98", "0.0313", "10.0", "13,900", "100"]);
  });
  it("gives rates whole from a hundred", () => {
    expect([13870.4, 99.94, 0.5, 100].map(f.rate)).toEqual(["13,870", "99.9", "0.500", "100"]);
  });
  it("chooses a duration's unit after rounding", () => {
    expect([0, 7, 412, 31_000, 999_600, 6_980_000, 2e9].map(f.duration)).toEqual(["0 ns", "7 ns", "412 ns", "31.0 µs", "1.00 ms", "6.98 ms", "2.00 s"]);
  });
  it("shortens axes", () => {
    expect([0, 950, 13_900, 2e6, 1000].map(f.si)).toEqual(["0", "950", "13.9k", "2M", "1k"]);
    expect([1e7, 5e5, 2e9].map(f.axisDuration)).toEqual(["10 ms", "500 µs", "2 s"]);
    expect([58_100_000, 999, 1e9].map(f.axisBytes)).toEqual(["58.1 MB", "999 B", "1 GB"]);
  });
  it("names quantiles", () => {
    expect([0, 0.5, 0.99, 0.999, 0.9999, 1].map(f.quantileName)).toEqual(["p0", "p50", "p99", "p99.9", "p99.99", "max"]);
  });
  it("writes intervals, ranks and ratios, and says why there is none", () => {
    const e = { point: 100, ci_low: 98, ci_high: 102, n: 5 };
    const bare = { point: 1, ci_low: null, ci_high: null, n: 1, no_interval: "one trial has no interval" };
    expect(f.plusMinus({ point: 10, ci_low: -5, ci_high: 25, n: 3 })).toBe("");
    expect([f.plusMinus(e), f.plusMinus(bare), f.plusMinus(null)]).toEqual(["±2 %", "", ""]);
    expect(f.interval(e, "requests_per_s")).toBe("98.0/s – 102/s");
    expect(f.interval(bare, "ns")).toBe("one trial has no interval");
    expect([f.rank([1, 1]), f.rank([1, 2]), f.rank(null)]).toEqual(["1", "1–2", "–"]);
    expect([f.ratio(e), f.ratio(bare), f.ratio(null)]).toEqual(["100 ×", "1 ×", "–"]);
  });
});
