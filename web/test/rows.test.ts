import { describe, expect, it } from "vitest";
import type { AgentRecord, Cell, HistoryData, Host, Ratios, RunData } from "../src/data";
import { axesOf, choices, passes, publishedRatio, ratioTo, saidOf, shown, WITHOUT } from "../src/core/rows";
import { csv } from "../src/core/save";
import { cellFile, planOf, short as saved } from "../src/core/saved";
import { estimateFiles, flat, sorted, type Column } from "../src/parts/table";
import { begin, captionOf, hear } from "../src/pages/live";
import { asked, together } from "../src/pages/ramp";
import { groups, present, usualGroup } from "../src/pages/history";
import { loadOf, oursOf } from "../src/pages/source";
import { axes, keyOf, sweepPoints } from "../src/pages/sweep";
import { percentilesOf } from "../src/pages/trial_plots";
import { agentRows, candidateFacts, planFacts, serverHostFacts } from "../src/pages/trial_sheet";
import { usual } from "../src/pages/trials";

const candidate = (label: string, language: string | null) => ({ label, title: label, server: label, settings: [], language, kind: "runtime", version: null, workers: 1, keepalive: true });
const short = (point: number) => ({ point, ci_low: point * 0.9, ci_high: point * 1.1, n: 3 });
const row = (c: number, point: number) => ({ candidate: c, estimate: short(point), lower_bound: false, rank: [1, 1] as [number, number], tie: 1, ratio: short(point / 10), mark: "", trials: [point] });
const plan = (name: string, rate: number | null, connections: number) => ({ name, describe: name, asked: { plan: { connections, rate_per_s: rate, arrivals: rate ? "constant" as const : "closed" as const } } });

const data = {
  experiment: true, baseline: 1, candidates: [candidate("a", "PHP"), candidate("b", "Go")], plans: [plan("r1", 1000, 50), plan("r2", 2000, 50)],
  rankings: [{ plan: 0, figure: 0, rows: [row(0, 20), row(1, 10)] }], cells: [], trials: [],
} as unknown as RunData;
const ratios: Ratios = { candidates: [0, 1], ratios: [[[short(1), short(2)], [short(0.5), short(1)]]] };

describe("the ranking as shown", () => {
  it("filters, and takes ratios to the chosen baseline from what Rust computed", () => {
    const rows = shown(data, 0, 0, { languages: ["PHP"], kinds: [], axes: {} }, 0, ratios);
    expect(rows.map((r) => [r.candidate.label, r.ratio?.point])).toEqual([["a", 1]]);
    expect(shown(data, 0, 0, { languages: [], kinds: [], axes: {} }, 1, null).map((r) => r.ratio?.point)).toEqual([2, 1]);
    expect(ratioTo(ratios, 0, 1, 0)?.point).toBe(0.5);
    expect(ratioTo(ratios, 3, 1, 0)).toBeNull();
  });
  it("offers only filters that part something", () => {
    expect(choices(data, "language")).toEqual(["Go", "PHP"]);
    expect(choices(data, "kind")).toEqual([]);
    expect(passes(candidate("c", null), { languages: ["PHP"], kinds: [], axes: {} })).toBe(false);
  });
  it("parts candidates by the axes that they differ in, those without the axis apart", () => {
    const on = (label: string, ...axes: [string, string][]) => ({ ...candidate(label, "PHP"), axes: axes.map(([axis, value]) => ({ axis, value })) });
    const all = [on("amphp", ["opt", "none"], ["loop", "native"]), on("amphp:jit", ["opt", "jit"], ["loop", "native"]), candidate("node", "JavaScript")];
    const found = axesOf({ ...data, candidates: all });
    expect(found).toEqual([{ axis: "opt", values: ["none", "jit", WITHOUT] }]);
    const left = (values: string[]) => all.filter((c) => passes(c, { languages: [], kinds: [], axes: { opt: values } })).map((c) => c.label);
    expect([left([]), left(["jit"]), left(["jit", WITHOUT])]).toEqual([["amphp", "amphp:jit", "node"], ["amphp:jit"], ["amphp:jit", "node"]]);
    expect(axesOf(data)).toEqual([]);
  });
  it("takes a source's ratio to its own figure of the chosen baseline, and says why there is none", () => {
    const theirs = (c: number, value: number, doubt: string | null = null) => ({ plan: 0, candidate: c, figure: 0, value, source: "s", doubt });
    const [a, b, c] = [theirs(0, 30), theirs(1, 10), theirs(2, 5, "odd")];
    const with3 = { ...data, candidates: [...data.candidates, candidate("c", null), candidate("d", null)], published: [a, b, c] };
    expect(publishedRatio(with3, a, 1)).toEqual({ ratio: 3, why: "" });
    expect(publishedRatio(with3, b, 0).ratio).toBeCloseTo(1 / 3);
    expect(publishedRatio(with3, c, 0).why).toBe("doubted: odd");
    expect(publishedRatio(with3, a, 2).why).toContain("c is doubted: odd");
    expect(publishedRatio(with3, a, 3)).toEqual({ ratio: null, why: "the source has no such figure of d" });
    expect(publishedRatio(with3, a, null).ratio).toBeNull();
  });
  it("says each reason once", () => {
    const cell = { trials: 5, remarks: ["3 requests failed"], reasons: [{ code: "not_steady", trials: 2, detail: "it drifted", advice: "Wait." }] } as unknown as Cell;
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
  it("has in files what cells say in signs: intervals, bounds, what is censored, marks", () => {
    type Of = { point: number | null; low: number | null; bound: boolean; beyond?: number; mark: string };
    const rows: Of[] = [{ point: 5, low: 4, bound: true, mark: "?" }, { point: null, low: null, bound: false, beyond: 2e9, mark: "" }];
    const columns: Column<Of>[] = [
      { id: "p", name: "p99", cell: () => "", value: (r) => r.point, files: estimateFiles<Of>("p99", (r) => ({ estimate: r.point === null ? null : { point: r.point, ci_low: r.low, ci_high: 6, n: 3 }, lower_bound: r.bound, beyond: r.beyond, mark: r.mark })) },
      { id: "q", name: "q", unit: "s", cell: () => "", value: () => 1 },
    ];
    expect(flat(columns, rows)).toEqual([
      ["p99", "q (s)", "p99: 95 % low", "p99: 95 % high", "p99: bound", "p99: longer than", "p99: mark"],
      [5, 1, 4, 6, "≥", null, "?"],
      [null, 1, null, null, ">", 2e9, ""],
    ]);
  });
  it("saves figures and plans by the names that files have", () => {
    expect(saved({ point: 7, ci_low: 6, ci_high: null, n: 3, no_interval: "no upper end" })).toEqual({ point: 7, low: 6, high: null, n: 3, why: "no upper end" });
    expect([saved(null), planOf(undefined)]).toEqual([null, undefined]);
    const of = { share: 0.5, of: { candidate: "a", plan: "knee" } };
    const asked = { plan: { connections: 50, rate_per_s: 1, arrivals: "constant" }, share: of } as never;
    expect(planOf({ name: "s", describe: "d", asked })).toMatchObject({ name: "s", connections: 50, rate_per_s: null, capacity: null, share: [0.5, "a knee"] });
  });
  it("saves what is said of a candidate by the names that files have, and no more", () => {
    const said = { plan: 0, candidate: 1, verdict: "suspect" as const, trials: 5, counted: 4, failed: 3, completed: 100, remarks: ["one died"] };
    const reason = { code: "not_steady", trials: 2, detail: "it drifted", advice: "Wait." };
    const cell = { ...said, more: 1, reasons: [{ ...reason, effect: "suspect" as const, values: { drift: [1, 2] as [number, number] } }] };
    expect(cellFile(cell)).toEqual({ ...said, reasons: [reason] });
    expect(cellFile(null)).toBeNull();
  });
  it("writes CSV that no spreadsheet runs", () => {
    expect(csv([["a,b", 1, null], ["=cmd()", -2, 'say "x"']])).toBe('"a,b",1,\r\n\'=cmd(),-2,"say ""x"""\r\n');
  });
});

describe("pages", () => {
  it("finds what a run sweeps", () => {
    const sweeps = [{ against: "rate" as const, title: "50 connections", capacity: false, points: [{ x: 1000, plan: 0 }, { x: 2000, plan: 1 }] }, { against: "connections" as const, title: "", capacity: false, points: [] }];
    const swept = { ...data, figures: [{ id: "throughput", title: "Throughput", unit: "requests_per_s" as const, more_is_better: true, explain: "" }], sweeps };
    expect(axes(data)).toEqual([]);
    expect(axes(swept)).toEqual(["rate", "connections"]);
    // The second plan has no ranking in this fixture.
    expect(sweepPoints(swept, sweeps[0]!, 0).map((p) => [p.name, p.x, p.y])).toEqual([["a", 1000, 20], ["b", 1000, 10]]);
  });
  it("has a legend of who is drawn, each once", () => {
    const point = (name: string, dash: string) => ({ x: 1, y: 1, low: null, high: null, name, color: "c", dash, hollow: false, note: "" });
    expect(keyOf([point("a", ""), point("b", "2 3"), point("a", "")])).toEqual([{ name: "a", color: "c" }, { name: "b", color: "c", dash: "2 3" }]);
  });
  it("shows a source's figures in its units, and ours below them", () => {
    const row = { connections: 1, rate_per_s: 5000, workers: 2 } as never;
    expect(loadOf(row)).toBe("1 connection at 5,000/s, 2 workers");
    const ours = { point: 7.1234, ci_low: 7, ci_high: 7.5, n: 3 };
    expect(oursOf({ value: 1, ours }, "ms")).toBe("7.12 (7 – 7.50)");
    expect(oursOf({ value: 1, ours: { ...ours, ci_low: null }, at_least: true }, "ms")).toBe("≥ 7.12");
    expect([oursOf({ value: 1, ours_beyond: 2000 }, "ms"), oursOf({ value: 1 }, "ms")]).toEqual(["> 2,000", ""]);
  });
  it("compares trials by a percentile that they have", () => {
    const series = (p99: (number | null)[]) => ({ picture: { series: { p50_ns: [1], p90_ns: [2], p99_ns: p99, max_ns: [3] } } }) as never;
    expect(percentilesOf([series([null]), series([5])], null)).toEqual({ known: ["p50_ns", "p90_ns", "p99_ns", "max_ns"], current: "p99_ns" });
    expect(percentilesOf([series([null])], "p99_ns").current).toBe("max_ns");
    expect(percentilesOf([series([5])], "p50_ns").current).toBe("p50_ns");
  });
  it("shows each agent of a fleet, its share of what all answered, and its machine", () => {
    const host = { cpu_model: "A processor", cpus_online: 4, kernel: "Linux 6.1.0" } as Host;
    const agent = (name: string, completed: number, more: Partial<AgentRecord>) => ({ name, completed, failed: 2, cpu_ns: 5e8, send_lag_p99_ns: null, clock_bound_ns: 62_000, ...more }) as AgentRecord;
    const rows = agentRows([agent("load1", 3_000, { send_lag_p99_ns: 41_000, clock_moved_ns: -1_800, host }), agent("<b>load2</b>", 1_000, {})], 1e9);
    expect(rows).toEqual([
      { name: "load1", figures: ["75 %", "3,000", "2", "50 %", "41.0 µs", "62.0 µs", "−1.80 µs"], host: "A processor, 4 CPUs, Linux 6.1.0" },
      { name: "<b>load2</b>", figures: ["25 %", "1,000", "2", "50 %", "–", "62.0 µs", "–"], host: "–" },
    ]);
    expect(agentRows([agent("load1", 0, {})], 1e9)[0]?.figures[0]).toBe("–");
  });
  it("says what the servers' host did, and what could not be read of it", () => {
    const host = { clock_bound_ns: 94_000, irq_ns: null, softirq_ns: 2.5e8, steal_ns: null, packets_received: 12_000, packets_sent: 6_000, packets_dropped: 0, tcp_retransmits: 3, listen_overflows: 0, listen_drops: 0 };
    expect(serverHostFacts(host).filter(([, said]) => said !== null).map(([, said]) => said)).toEqual(["– hard, 250 ms soft, of all its CPUs", "12,000 received, 6,000 sent, 0 dropped", "3", "known within 94.0 µs"]);
    expect(serverHostFacts({ ...host, listen_drops: 7 }).map(([, said]) => said)).toContain("7");
  });
  it("says a trial's plan and who was loaded as facts", () => {
    const plan = { url: "http://h/x", method: "GET", headers: [["A", "b"]], body_bytes: 0, connections: 5, threads: 2, arrivals: "constant", rate_per_s: 1000, duration_ns: 3e10, requests: null, warmup_ns: 1e9, timeout_ns: 1e10, keepalive: false, expect_status: 204, expect_body: true, cpus: [0], seed: 7, pipeline: 4, spin: false } as never;
    const facts = Object.fromEntries(planFacts(plan));
    expect([facts["URL"], facts["Rate"], facts["Timeout"], facts["Seed"], facts["Pipeline"], facts["Threads"], facts["Expected"]])
      .toEqual(["http://h/x", "1,000/s", "10.0 s", "7", "4 requests a connection", "2 on CPU 0", "status 204, its body, compared each time"]);
    expect(Object.keys(facts)).not.toContain("Stages");
    const more = { ...(plan as object), keepalive: true, requests_per_connection: 9, connect_to: ["127.0.0.1:1"], ip_version: "6", sni: "n", all_addresses: true, resolve_every_ns: 3e9, decode: true, chunked: true, body_file: true, body_bytes: 5, values: ["id=seq"], data: { columns: ["a", "b"], rows: 2, fingerprint: "" } } as never;
    expect(Object.fromEntries(planFacts(more))).toMatchObject({ "Keep-alive": "9 requests a connection", "Connects to": "127.0.0.1:1", "Version of IP": "6", "Name in TLS": "n", Addresses: "all of the name's", "Names resolved": "every 3.0 s", Responses: "decoded", Body: "5.00 B, from a file, in chunks", Values: "id=seq", "Table of values": "2 rows of a, b" });
    const known = Object.fromEntries(candidateFacts({ ...candidate("amphp:jit", "PHP"), title: "Amp", version: "8.2", axes: [{ axis: "opt", value: "jit" }] }));
    expect(known).toMatchObject({ Candidate: "amphp:jit: Amp", Version: "8.2", Workers: 1, Settings: "opt: jit" });
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
