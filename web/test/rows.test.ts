import { describe, expect, it } from "vitest";
import type { Cell, HistoryData, Ratios, RunData } from "../src/data";
import { choices, passes, ratioTo, saidOf, shown } from "../src/core/rows";
import { csv } from "../src/core/save";
import { sorted, type Column } from "../src/parts/table";
import { begin, captionOf, hear } from "../src/pages/live";
import { asked, together } from "../src/pages/ramp";
import { groups, present, usualGroup } from "../src/pages/history";
import { axes, sweepPoints } from "../src/pages/sweep";
import { usual } from "../src/pages/trials";

const candidate = (label: string, language: string | null) => ({ label, title: label, server: label, settings: [], language, kind: "runtime", version: null, workers: 1, keepalive: true });
const short = (point: number) => ({ point, low: point * 0.9, high: point * 1.1, n: 3 });
const row = (c: number, point: number) => ({ candidate: c, estimate: short(point), lower_bound: false, rank: [1, 1] as [number, number], tie: 1, ratio: short(point / 10), mark: "", trials: [point] });
const plan = (name: string, rate: number | null, connections: number) => ({ name, describe: name, connections, rate_per_s: rate, arrivals: rate ? "constant" : "closed" });

const data = {
  experiment: true, head: { baseline: 1 }, candidates: [candidate("a", "PHP"), candidate("b", "Go")], plans: [plan("r1", 1000, 50), plan("r2", 2000, 50)],
  rankings: [{ plan: 0, figure: 0, rows: [row(0, 20), row(1, 10)] }], cells: [], trials: [],
} as unknown as RunData;
const ratios: Ratios = { candidates: [0, 1], ratios: [[[short(1), short(2)], [short(0.5), short(1)]]] };

describe("the ranking as shown", () => {
  it("filters, and takes ratios to the chosen baseline from what Rust computed", () => {
    const rows = shown(data, 0, 0, { languages: ["PHP"], kinds: [] }, 0, ratios);
    expect(rows.map((r) => [r.candidate.label, r.ratio?.point])).toEqual([["a", 1]]);
    expect(shown(data, 0, 0, { languages: [], kinds: [] }, 1, null).map((r) => r.ratio?.point)).toEqual([2, 1]);
    expect(ratioTo(ratios, 0, 1, 0)?.point).toBe(0.5);
    expect(ratioTo(ratios, 3, 1, 0)).toBeNull();
  });
  it("offers only filters that part something", () => {
    expect(choices(data, "language")).toEqual(["Go", "PHP"]);
    expect(choices(data, "kind")).toEqual([]);
    expect(passes(candidate("c", null), { languages: ["PHP"], kinds: [] })).toBe(false);
  });
  it("says each reason once", () => {
    const cell = { trials: 5, remarks: ["3 requests failed", "not steady in 2 of 5 trials: it drifted"], reasons: [{ code: "not_steady", trials: 2, detail: "it drifted", advice: "Wait." }] } as unknown as Cell;
    expect(saidOf(cell).map((s) => s.title || s.detail)).toEqual(["3 requests failed", "not steady in 2 of 5 trials"]);
  });
});

describe("tables", () => {
  const columns: Column<{ v: number | null }>[] = [{ id: "v", name: "v", cell: () => "", value: (r) => r.v }];
  it("sorts both ways with what is missing last", () => {
    const rows = [{ v: 2 }, { v: null }, { v: 10 }, { v: 1 }];
    expect(sorted(rows, columns, "v").map((r) => r.v)).toEqual([1, 2, 10, null]);
    expect(sorted(rows, columns, "-v").map((r) => r.v)).toEqual([10, 2, 1, null]);
    expect(sorted(rows, columns, null)).toBe(rows);
  });
  it("writes CSV that no spreadsheet runs", () => {
    expect(csv([["a,b", 1, null], ["=cmd()", -2, 'say "x"']])).toBe('"a,b",1,\r\n\'=cmd(),-2,"say ""x"""\r\n');
  });
});

describe("pages", () => {
  it("finds what a run sweeps", () => {
    const sweeps = [{ against: "rate" as const, title: "50 connections", capacity: false, points: [{ x: 1000, plan: 0 }, { x: 2000, plan: 1 }] }, { against: "connections" as const, title: "", capacity: false, points: [] }];
    const swept = { ...data, figures: [{ id: "throughput", title: "Throughput", unit: "per_s" as const, more_is_better: true, explain: "" }], sweeps };
    expect(axes(data)).toEqual([]);
    expect(axes(swept)).toEqual(["rate", "connections"]);
    // The second plan has no ranking in this fixture.
    expect(sweepPoints(swept, sweeps[0]!, 0).map((p) => [p.name, p.x, p.y])).toEqual([["a", 1000, 20], ["b", 1000, 10]]);
  });
  it("opens an experiment on its first block and loads on the first few", () => {
    const trials = [0, 1, 2, 3].map((i) => ({ index: i, block: i >> 1, plan: 0, candidate: i & 1 }));
    expect(usual({ ...data, trials } as unknown as RunData)).toEqual([0, 1]);
    expect(usual({ ...data, experiment: false, trials } as unknown as RunData)).toEqual([0, 1, 2, 3]);
  });
  it("draws a ramp's plan as its stages, from the window's start", () => {
    const stages = [{ duration_ns: 2e9, to_rate_per_s: 100, to_connections: null }, { duration_ns: 3e9, to_rate_per_s: 50, to_connections: null }];
    expect(asked({ stages } as never, 0, 5)).toEqual([[0, 0], [2, 100], [2, 100], [5, 50]]);
  });
  it("puts the ramps of a block side by side, and no trial that failed", () => {
    const stages = [{ duration_ns: 1e9, to_rate_per_s: null, to_connections: 5 }];
    const trial = (index: number, candidate: number, block: number, more: object) => ({ index, candidate, block, plan: 2, stages, ...more });
    const trials = [trial(0, 0, 0, {}), trial(1, 1, 0, {}), trial(2, 0, 1, {}), trial(3, 2, 0, { failure: "no" }), trial(4, 0, 0, { stages: [] }), trial(5, 0, 0, { plan: 0 })];
    expect(together({ ...data, trials } as unknown as RunData, 2, 0).map((t) => t.index)).toEqual([0, 1]);
  });
  it("adds live events up, and begins anew with each trial", () => {
    const point = { type: "point" as const, elapsed_ns: 1, in_window: true, completed: 1, per_s: 1, of: 1, in_flight: 1, failed: null, connections: null, p50_ns: null, p99_ns: null, max_ns: null };
    let state = begin({ command: "", title: "", describe: "", total_ns: 5, warmup_ns: 0, rate_per_s: null, order: [] });
    state = hear(hear(state, point), point);
    expect(state.points.length).toBe(2);
    state = hear(state, { type: "trial_begins", index: 1, total_ns: 9 });
    expect([state.points.length, state.trial, state.total_ns]).toEqual([0, 1, 9]);
    state = hear(hear(state, { ...point, of: 8 }), { ...point, type: "now", completed: 7 });
    expect([state.points.length, state.now?.completed]).toEqual([1, 7]);
    expect(captionOf(state)).toContain("stands for 2 seconds");
    expect(captionOf(hear(begin({ command: "", title: "", describe: "", total_ns: 5, warmup_ns: 0, rate_per_s: null, order: [] }), point))).toBe("");
    expect(hear(state, { type: "done", report: true, sentence: "" }).done).toEqual({ report: true, sentence: "" });
  });
});

describe("histories", () => {
  const of = (experiment: string, plan: string, candidate: string, word: string | null) => ({ experiment, plan, candidate, runs: 6, figures: [{ verdict: word ? "changed" : "no_change", said: "", now: short(1), changes: word ? [{ word }] : [] }, { verdict: "too_few", said: "", now: null, changes: [] }] });
  const history = { figures: [{ id: "throughput" }, { id: "p9999" }], series: [of("x", "c1", "a", null), of("x", "c1", "b", "better"), of("y", "c1", "a", "WORSE")] } as unknown as HistoryData;
  it("groups what may stand in one plot, and opens on what became worse", () => {
    const found = groups(history);
    expect(found.map((g) => [g.name, g.series])).toEqual([["x · c1", [0, 1]], ["y · c1", [2]]]);
    expect(usualGroup(history, found, 0)).toBe(1);
    expect(usualGroup({ ...history, series: history.series.slice(0, 1) }, found.slice(0, 1), 0)).toBe(0);
  });
  it("offers only figures that somebody has", () => {
    expect(present(history).map(({ f }) => f.id)).toEqual(["throughput"]);
  });
});
