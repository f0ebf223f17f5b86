/** A folder of run logs: a figure over time and commits, and where its level changed. */
import type { HistoryChange, HistoryData, HistoryFigure, HistoryPoints, SeriesHead } from "../data";
import { history as unpacked } from "../core/chunks";
import { color, dash } from "../core/colors";
import { h, replace } from "../core/dom";
import { interval, percent, plusMinus, thousands, UNITS, when, WITHHELD } from "../core/format";
import { short } from "../core/saved";
import type { State } from "../core/state";
import { segments, select } from "../parts/controls";
import { figure as figureBox } from "../parts/figure";
import { type Column, estimateFiles, table } from "../parts/table";
import { historyPlot, type HistoryLine } from "../plots/history";

/** Lines that can be told apart. */
const OVERLAID_MAX = 8;
/** Series whose first are shown unless others are chosen. */
const FIRST = 4;
const LISTED = 60;
/** Digits of a commit. */
const COMMIT = 8;

/** Series of one experiment and plan: what may stand in one plot. */
export interface Group {
  name: string;
  series: number[];
}

export function groups(data: HistoryData): Group[] {
  const found = new Map<string, Group>();
  data.series.forEach((s, i) => {
    const name = `${s.experiment} · ${s.plan}`;
    const group = found.get(name) ?? { name, series: [] };
    group.series.push(i);
    found.set(name, group);
  });
  return [...found.values()];
}

/** The figures that any series has. */
export function present(data: HistoryData): { f: HistoryFigure; i: number }[] {
  return data.figures.map((f, i) => ({ f, i })).filter(({ i }) => data.series.some((s) => s.figures[i]?.now));
}

/** The group that is shown first: where something changed, for the worse if anywhere. */
export function usualGroup(data: HistoryData, all: Group[], figure: number): number {
  const has = (words: string[]) => (g: Group): boolean => g.series.some((i) => data.series[i]?.figures[figure]?.changes.some((c) => words.includes(c.word)));
  const worse = all.findIndex(has(["WORSE"]));
  const changed = worse >= 0 ? worse : all.findIndex(has(["better", "small"]));
  return Math.max(0, changed);
}

const day = (at: string): string => at.slice(0, 10);
const commitOf = (c: string | null): string => c?.slice(0, COMMIT) ?? "";

export function history(data: HistoryData, state: State, root: HTMLElement): void {
  const known = present(data);
  const current = known.find(({ f }) => f.id === (state.get("figure") ?? "")) ?? known[0];
  const all = groups(data);
  if (!current) {
    replace(root, hero(data, data.figures[0]), h("p", { class: "nothing" }, "Nothing was measured in these runs."), leftOut(data));
    return;
  }
  const group = all[state.number("group", usualGroup(data, all, current.i))] ?? all[0];
  if (!group) return;
  const wanted = state.get("s") === null ? group.series.slice(0, FIRST) : state.list("s").map(Number).filter((i) => group.series.includes(i));
  const chosen = wanted.slice(0, OVERLAID_MAX);
  const plot = h("div");
  const list = h("div");
  replace(root, hero(data, current.f), controls(data, state, known, current.f, all, group, chosen), plot, changes(data, state, current.i, all), list,
    h("p", { class: "note" }, current.f.method), leftOut(data));
  void Promise.all(chosen.map(unpacked)).then((points) => {
    const some = chosen.flatMap((i, k) => { const p = points[k]; const s = data.series[i]; return p && s ? [{ s, p, color: color(group.series.indexOf(i)), dash: dash(group.series.indexOf(i)) }] : []; });
    if (some.length === 0) {
      replace(plot, h("p", { class: "nothing" }, "No series is chosen."));
      replace(list);
      return;
    }
    replace(plot, drawing(state, group, current, some));
    replace(list, runsTable(state, current, some));
  });
}

interface Chosen {
  s: SeriesHead;
  p: HistoryPoints;
  color: string;
  dash: string;
}

function hero(data: HistoryData, figure: HistoryFigure | undefined): HTMLElement {
  const span = data.from && data.to ? (day(data.from) === day(data.to) ? day(data.from) : `${day(data.from)} to ${day(data.to)}`) : "";
  return h("header", { class: "hero" },
    h("p", { class: "eyebrow" }, ["History", data.folder, span].filter(Boolean).join(" · ")),
    h("h1", null, figure?.headline ?? "History"),
    figure ? h("p", { class: "note" }, `${figure.more_is_better ? "More" : "Less"} is better. A change matters from ${percent(figure.matters)} on.`) : null);
}

function controls(data: HistoryData, state: State, known: { f: HistoryFigure; i: number }[], current: HistoryFigure, all: Group[], group: Group, chosen: number[]): HTMLElement {
  return h("section", { class: "controls", "aria-label": "What is shown" },
    segments("Figure", known.map(({ f }) => ({ value: f.id, name: f.title })), current.id, (figure) => state.set({ figure })),
    h("div", { class: "control-row" },
      all.length > 1 ? select("Plan", all.map((g, i) => ({ value: String(i), name: g.name })), String(all.indexOf(group)), (v) => state.set({ group: v, s: null })) : null,
      segments("Along", [{ value: "time", name: "By time" }, { value: "run", name: "By run", title: "Even steps, named by their commits" }], state.get("along") ?? "time", (v) => state.set({ along: v === "time" ? null : v })),
      h("div", { class: "filter", role: "group", "aria-label": "Candidates" }, group.series.map((i) => h("button", {
        type: "button", class: "pill", "aria-pressed": String(chosen.includes(i)), "data-candidate": i,
        onclick: () => state.set({ s: (chosen.includes(i) ? chosen.filter((x) => x !== i) : [...chosen, i].slice(-OVERLAID_MAX)).join(",") || "none" }),
      }, h("span", { class: "chip", style: `background:${color(group.series.indexOf(i))}`, "aria-hidden": "true" }), data.series[i]?.candidate ?? "")))));
}

function drawing(state: State, group: Group, { f, i }: { f: HistoryFigure; i: number }, chosen: Chosen[]): HTMLElement {
  const unit = UNITS[f.unit];
  const byRun = state.get("along") === "run";
  // Runs of all chosen series in order of time: one step each.
  const runs = [...new Map(chosen.flatMap(({ p }) => p.runs.map((r) => [`${r.at} ${r.file}`, r] as const))).entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  const step = new Map(runs.map(([key], k) => [key, k]));
  const lines = chosen.map(({ s, p, color: c, dash: d }): HistoryLine => {
    const of = p.figures[i];
    const x = (k: number): number => byRun ? step.get(`${p.runs[k]?.at} ${p.runs[k]?.file}`) ?? 0 : Date.parse(p.runs[k]?.at ?? "");
    return {
      name: s.candidate, color: c, dash: d,
      points: (of?.estimates ?? []).flatMap((e, k) => { const r = p.runs[k]; return e && r ? [{
        x: x(k), y: e.point, low: e.ci_low, high: e.ci_high, hollow: of?.at_least[k] ?? false, color: c,
        said: [s.candidate, `${of?.at_least[k] ? "≥ " : ""}${unit.value(e.point)} ${plusMinus(e)}`.trim(), when(r.at), r.commit ? `commit ${commitOf(r.commit)}` : "", r.version ? `version ${r.version}` : "", r.file].filter(Boolean).join("\n"),
      }] : []; }),
      levels: (of?.levels ?? []).map((l) => ({ x1: x(l.first), x2: x(l.last), y: l.estimate.point, low: l.estimate.ci_low, high: l.estimate.ci_high })),
      changes: (s.figures[i]?.changes ?? []).map((change) => ({ x: x(change.index), text: `${change.size}${change.commit_after ? ` at ${commitOf(change.commit_after)}` : ""}`, whose: chosen.length > 1 ? ` (${s.candidate})` : "", color: TONES[change.word] })),
    };
  });
  const zero = state.get("axis") === "zero";
  const names = byRun ? runs.map(([, r]) => commitOf(r.commit) || day(r.at)) : null;
  return figureBox({
    id: "plot-history",
    title: `${f.title} over ${byRun ? "runs" : "time"}: ${group.name}`,
    caption: "A dot is a run: the mean of its trials that count, with its 95 % interval. The thick line is the level between changes, a dashed line a change, with its commit. A hollow dot is a lower bound and takes no part in the tests.",
    legend: lines.map((l) => ({ name: l.name, color: l.color, ...(l.dash ? { dash: l.dash } : {}) })),
    controls: [segments("Scale", [{ value: "fit", name: "Fit", title: "Only the range of the figures: differences enlarged" }, { value: "zero", name: "From 0" }], zero ? "zero" : "fit", (v) => state.set({ axis: v === "zero" ? v : null }))],
    draw: (width) => historyPlot({ lines, names, zero, format: unit.axis }, width),
    table: () => ({
      head: ["Candidate", "At", "Commit", f.title, "95 % low", "95 % high", "At least", "Trials", "Version", "Run log"],
      rows: chosen.flatMap(({ s, p }) => p.runs.map((r, k) => { const e = p.figures[i]?.estimates[k] ?? null; return [s.candidate, r.at, r.commit, e?.point ?? null, e?.ci_low ?? null, e?.ci_high ?? null, p.figures[i]?.at_least[k] ? "yes" : "no", r.trials, r.version, r.file]; })),
    }),
  });
}

const TONES: Record<HistoryChange["word"], string> = { WORSE: "var(--bad)", better: "var(--good)", small: "var(--ink-2)" };
const LOOKS: Record<HistoryChange["word"], [string, string]> = { WORSE: ["bad", "✗"], better: ["good", "✓"], small: ["info", "·"] };

/** Every change of the figure, of all series. */
function changes(data: HistoryData, state: State, figure: number, all: Group[]): HTMLElement {
  const rows = data.series.flatMap((s, i) => (s.figures[figure]?.changes ?? []).map((c) => ({ s, i, c })));
  if (rows.length === 0) {
    const few = data.series.every((s) => s.figures[figure]?.verdict === "too_few");
    return h("p", { class: "note" }, few ? data.series[0]?.figures[figure]?.said ?? "No verdict." : "No change was found in any series of this figure.");
  }
  type Row = (typeof rows)[number];
  const columns: Column<Row>[] = [
    { id: "hw", name: "Change", value: (r) => r.c.word, cell: (r) => h("span", { class: `badge ${LOOKS[r.c.word][0]}` }, h("span", { "aria-hidden": "true" }, LOOKS[r.c.word][1]), ` ${r.c.word.toLowerCase()}`) },
    { id: "hs", name: "Series", header: true, value: (r) => `${r.s.candidate} · ${r.s.plan} · ${r.s.experiment}`, cell: (r) => [h("span", { class: "name" }, r.s.candidate), h("small", null, `${r.s.plan} · ${r.s.experiment}`)] },
    { id: "hz", name: "Size", numeric: true, value: (r) => r.c.ratio.point, files: estimateFiles<Row>("Size", (r) => ({ estimate: r.c.ratio })).slice(0, 2), cell: (r) => [r.c.size, h("small", null, r.c.ratio.ci_low === null || r.c.ratio.ci_high === null ? r.c.ratio.no_interval ?? "" : `${r.c.ratio.ci_low.toPrecision(3)} – ${r.c.ratio.ci_high.toPrecision(3)} ×`)] },
    { id: "ha", name: "Since", value: (r) => r.c.at, cell: (r) => h("span", { class: "nowrap" }, when(r.c.at)) },
    { id: "hc", name: "Commits", value: (r) => `${commitOf(r.c.commit_before)}..${commitOf(r.c.commit_after)}`, cell: (r) => r.c.commit_after ? h("code", null, r.c.commit_before && r.c.commit_before !== r.c.commit_after ? `${commitOf(r.c.commit_before)}..${commitOf(r.c.commit_after)}` : commitOf(r.c.commit_after)) : WITHHELD },
    { id: "hb", name: "With it", value: (r) => r.c.also.join("; "), cell: (r) => r.c.also.length > 0 ? r.c.also.map((a) => h("small", null, a)) : WITHHELD },
    { id: "hl", name: "Plot", value: () => null, cell: (r) => h("button", { type: "button", class: "quiet", "aria-label": `Show ${r.s.candidate}, ${r.s.plan}`, onclick: () => state.set({ group: all.findIndex((g) => g.series.includes(r.i)), s: String(r.i) }) }, "show") },
  ];
  return h("section", { class: "card", id: "changes" }, h("h2", null, `${thousands(rows.length)} ${rows.length === 1 ? "change" : "changes"}`),
    table({ title: `Changes of ${data.figures[figure]?.title ?? ""}`, columns, rows, sort: state.get("hsort"), onSort: (hsort) => state.set({ hsort }), most: LISTED, json: () => rows.map((r) => ({ experiment: r.s.experiment, plan: r.s.plan, candidate: r.s.candidate, ...r.c, ratio: short(r.c.ratio) })) }));
}

/** The runs of the chosen series, the newest first, each with its report where there is one. */
function runsTable(state: State, { f, i }: { f: HistoryFigure; i: number }, chosen: Chosen[]): HTMLElement {
  const unit = UNITS[f.unit];
  const rows = chosen.flatMap((one) => one.p.runs.map((run, k) => ({ one, run, at: run.at, e: one.p.figures[i]?.estimates[k] ?? null, bound: one.p.figures[i]?.at_least[k] ?? false }))).sort((a, b) => (a.at < b.at ? 1 : -1));
  type Row = (typeof rows)[number];
  const columns: Column<Row>[] = [
    { id: "ra", name: "Run", header: true, value: (r) => r.at, cell: (r) => { const { href } = r.run; const text = h("span", { class: "nowrap" }, when(r.at)); return [href ? h("a", { href }, text) : text, h("small", null, r.run.file)]; } },
    { id: "rs", name: "Candidate", value: (r) => r.one.s.candidate, cell: (r) => h("span", { class: "name" }, h("span", { class: "chip", style: `background:${r.one.color}`, "aria-hidden": "true" }), r.one.s.candidate) },
    { id: "rf", name: f.title, numeric: true, value: (r) => r.e?.point ?? null, files: estimateFiles<Row>(f.title, (r) => ({ estimate: r.e, lower_bound: r.bound })), cell: (r) => r.e ? [`${r.bound ? "≥ " : ""}${unit.value(r.e.point)}`, h("small", { title: interval(r.e, f.unit) }, plusMinus(r.e) || r.e.no_interval || "")] : WITHHELD },
    { id: "rc", name: "Commit", value: (r) => r.run.commit, cell: (r) => r.run.commit ? h("code", { title: r.run.commit }, commitOf(r.run.commit)) : WITHHELD },
    { id: "rv", name: "Version", value: (r) => r.run.version, cell: (r) => r.run.version ?? WITHHELD },
    { id: "rp", name: "Prony", value: (r) => r.run.tool_version, cell: (r) => r.run.tool_version },
    { id: "rh", name: "Host", value: (r) => r.run.host, cell: (r) => h("small", null, r.run.host) },
    { id: "rt", name: "Trials", numeric: true, value: (r) => r.run.trials, cell: (r) => String(r.run.trials) },
  ];
  return h("section", { class: "card", id: "runs" }, h("h2", null, "Runs"), h("div", { class: "bounded" }, table({ title: "Runs", columns, rows, sort: state.get("rsort"), onSort: (rsort) => state.set({ rsort }), most: LISTED, json: () => rows.map((r) => ({ at: r.at, candidate: r.one.s.candidate, [f.id]: short(r.e), at_least: r.bound, commit: r.run.commit, version: r.run.version, file: r.run.file })) })));
}

function leftOut(data: HistoryData): HTMLElement | null {
  if (data.left_out.length === 0) return null;
  return h("details", { class: "remarks" }, h("summary", null, `Left out (${data.left_out.length})`), h("ul", { class: "reasons" }, data.left_out.map((l) => h("li", null, h("b", null, l.file), `: ${l.why}`))));
}
