/** The ranking of an experiment: plot, table, what was published, and what is said of each row. */
import type { Estimate, FigureHead, Ratios, RunData } from "../data";
import { ratios } from "../core/chunks";
import { color } from "../core/colors";
import { h, replace } from "../core/dom";
import { duration, interval, plusMinus, quantileName, rank, ratio, UNITS, WITHHELD } from "../core/format";
import { publishedRatio, type PublishedRatio, ranking, ratioTo, saidOf, type Filters, type Shown, shown } from "../core/rows";
import { cellFile, planOf, runOf, short } from "../core/saved";
import { segments, select } from "../parts/controls";
import { figure as figureBox } from "../parts/figure";
import { byAxis, byNature, filtersOf } from "../parts/filters";
import { type Column, estimateFiles, table } from "../parts/table";
import { badge, reasonList } from "../parts/verdict";
import { type Axis, type Dot, domain, dots } from "../plots/dots";
import { tails } from "../plots/tails";
import type { Context, Page } from "./page";
import { conclusions } from "./conclusions";
import { duet } from "./duet";
import { profile } from "./profile";

export const experiment: Page = {
  id: "ranking",
  title: "Ranking",
  has: (data) => data.experiment && data.rankings.length > 0,
  render(context, root) {
    const { data, state } = context;
    const plan = clamp(state.number("plan", 0), data.plans.length);
    const figure = Math.max(0, data.figures.findIndex((f) => f.id === (state.get("figure") ?? "throughput")));
    const chosen = data.candidates.findIndex((c) => c.label === state.get("base"));
    const baseline = chosen >= 0 ? chosen : data.baseline;
    const draw = (all: Ratios | null): void => {
      const filters = filtersOf(context);
      const rows = shown(data, plan, figure, filters, baseline, all);
      replace(root, duet(context), profile(context), controls(context, plan, figure, baseline),
        rankingFigure(context, rows, plan, figure, baseline),
        rankingTable(context, rows, plan, figure, baseline, all, filters),
        said(data, plan), tail(context, plan), remarks(rows), data.spread ? h("p", { class: "note" }, data.spread) : null, protocols(data), conclusions(context), skipped(data));
    };
    draw(null);
    // Ratios to another baseline than the experiment's, and of other figures in the table.
    void ratios(plan).then((all) => { if (all && baseline !== data.baseline) draw(all); });
  },
};

/** What HTTP/2 changes, a table for each pair of plans. */
function protocols(data: RunData): HTMLElement[] {
  return (data.protocols ?? []).map(({ title, head, rows }) => h("section", null,
    h("p", { class: "note" }, title),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, h("table", { class: "data" },
      h("thead", null, h("tr", null, head.map((cell) => h("th", { scope: "col" }, cell)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell)))))))));
}

function clamp(index: number, length: number): number {
  return index >= 0 && index < length ? index : 0;
}

function controls(context: Context, plan: number, figure: number, baseline: number | null): HTMLElement {
  const { data, state } = context;
  // Without one, a browser would show the first of the list as if it were chosen.
  const none = data.baseline === null ? [{ value: "", name: "none" }] : [];
  return h("section", { class: "controls", "aria-label": "What is shown" },
    segments("Figure", data.figures.map((f) => ({ value: f.id, name: f.title, title: f.explain })), data.figures[figure]?.id ?? "", (value) => state.set({ figure: value, sort: null })),
    h("div", { class: "control-row" },
      data.plans.length > 1 ? select("Plan", data.plans.map((p, i) => ({ value: String(i), name: p.name === p.describe ? p.name : `${p.name}: ${p.describe}` })), String(plan), (value) => state.set({ plan: value })) : null,
      select("Baseline", [...none, ...data.candidates.map((c) => ({ value: c.label, name: c.label }))], baseline === null ? "" : data.candidates[baseline]?.label ?? "", (value) => state.set({ base: value })),
      ...byNature(context), ...byAxis(context)));
}

function rankingFigure(context: Context, rows: Shown[], plan: number, index: number, baseline: number | null): HTMLElement {
  const { data, state } = context;
  const figure = data.figures[index] as FigureHead;
  const unit = UNITS[figure.unit];
  const axis = (state.get("axis") ?? "zero") as Axis;
  const base = rows.find((r) => r.index === baseline)?.row.estimate?.point ?? null;
  const list: Dot[] = rows.map(({ row, candidate, index: i, ratio: over, cell, published }) => ({
    key: candidate.label,
    name: candidate.label,
    rank: rank(row.rank),
    tie: row.tie,
    color: color(i),
    point: row.estimate?.point ?? null,
    low: row.estimate?.ci_low ?? null,
    high: row.estimate?.ci_high ?? null,
    trials: row.trials,
    text: figureText(figure, row) + row.mark,
    beside: over ? ratio(over) : "",
    ...(published ? { published: published.value } : {}),
    hollow: row.lower_bound || row.mark !== "" || row.estimate?.ci_low === null,
    lowerBound: row.lower_bound,
    baseline: i === baseline,
    tooltip: [
      `${candidate.label}: ${figureText(figure, row)} ${plusMinus(row.estimate)}`.trim(),
      row.estimate ? `95 %: ${interval(row.estimate, figure.unit)}` : "",
      over ? `${ratio(over)} ${data.candidates[baseline ?? 0]?.label ?? ""}` : "",
      ...saidOf(cell).map((s) => [s.title, s.detail].filter(Boolean).join(": ")),
      "Click: make it the baseline",
    ].filter(Boolean).join("\n"),
  }));
  const axes = segments("Scale", [
    { value: "zero", name: "From 0" }, { value: "fit", name: "Fit", title: "Only the range of the figures: differences and intervals enlarged" }, { value: "log", name: "Log" },
  ], axis, (value) => state.set({ axis: value === "zero" ? null : value }));
  const noted = rows.some((r) => r.published) ? " A diamond is the published figure." : "";
  const [from, to] = domain(list, axis);
  const cut = list.some((d) => (d.low !== null && d.low < from) || (d.high !== null && d.high > to)) ? " A whisker without an end goes on beyond the axis." : "";
  return figureBox({
    id: "plot-ranking",
    title: `${figure.title}: ${data.plans[plan]?.describe ?? ""}`,
    caption: `${figure.more_is_better ? "More" : "Less"} is better; best first. The whisker is the 95 % interval over trials, the faint ticks are the trials. Ranks written as 1–2 are ties, a shaded band is every other group of ties. A hollow dot is doubtful, without an interval, or (→) a lower bound.${noted}${cut} Click a row to compare with it.`,
    controls: [axes],
    draw: (width) => dots({ dots: list, axis, axisLabel: unit.label, format: unit.axis, moreIsBetter: figure.more_is_better, reference: base, choose: (key) => state.set({ base: key }) }, width),
    table: () => ({
      head: ["Rank", "Candidate", figure.title, "95 % low", "95 % high", "Bound", "Mark", "Trials", "Ratio", "Ratio low", "Ratio high", "Verdict"],
      rows: rows.map(({ row, candidate, ratio: over, cell }) => [rank(row.rank), candidate.label, row.estimate?.point ?? null, row.estimate?.ci_low ?? null, row.estimate?.ci_high ?? null, row.censored_at_ns !== undefined ? `> ${row.censored_at_ns} ns` : row.lower_bound ? "≥" : "", row.mark, row.estimate?.n ?? 0, over?.point ?? null, over?.ci_low ?? null, over?.ci_high ?? null, cell?.verdict ?? ""]),
    }),
  });
}

function figureText(figure: FigureHead, row: Shown["row"]): string {
  if (row.estimate) return `${row.lower_bound ? "≥ " : ""}${UNITS[figure.unit].value(row.estimate.point)}`;
  return row.censored_at_ns !== undefined ? `> ${duration(row.censored_at_ns)}` : WITHHELD;
}

function rankingTable(
  context: Context, rows: Shown[], plan: number, index: number, baseline: number | null, all: Ratios | null, filters: Filters,
): HTMLElement {
  const { data, state } = context;
  const baseName = data.candidates[baseline ?? -1]?.label ?? "";
  const of = (figure: number, candidate: number): Shown["row"] | undefined =>
    ranking(data, plan, figure)?.rows.find((r) => r.candidate === candidate);
  const figureColumns: Column<Shown>[] = data.figures
    .map((figure, f) => ({ figure, f }))
    .filter(({ f }) => f === index || (ranking(data, plan, f)?.rows.some((r) => r.estimate) ?? false))
    .map(({ figure, f }) => ({
      id: figure.id,
      name: figure.title,
      numeric: true,
      current: f === index,
      value: (r) => of(f, r.index)?.estimate?.point ?? null,
      files: estimateFiles<Shown>(figure.title, (r) => { const row = of(f, r.index); return row && { ...row, beyond: row.censored_at_ns }; }),
      cell: (r) => {
        const row = of(f, r.index);
        if (!row) return WITHHELD;
        return [figureText(figure, row) + row.mark, h("small", { title: interval(row.estimate, figure.unit) }, plusMinus(row.estimate) || (row.estimate?.no_interval ? "no interval" : ""))];
      },
    }));
  const columns: Column<Shown>[] = [
    { id: "place", name: "Rank", cell: (r) => rank(r.row.rank), value: (r) => r.row.rank?.[0] ?? null, files: [{ name: "Rank: to", value: (r) => r.row.rank?.[1] ?? null }, { name: "Rank: tie", value: (r) => r.row.tie }] },
    {
      id: "candidate", name: "Candidate", header: true, value: (r) => r.candidate.label,
      cell: (r) => [h("span", { class: "name" }, h("span", { class: "chip", style: `background:${color(r.index)}`, "aria-hidden": "true" }), r.candidate.label),
        h("small", { class: "version" }, [r.candidate.version, r.candidate.workers ? `${r.candidate.workers} ${r.candidate.workers === 1 ? "worker" : "workers"}` : null, r.candidate.keepalive ? null : "no keep-alive"].filter(Boolean).join(" · "))],
    },
    { id: "verdict", name: "Verdict", value: (r) => r.cell?.verdict ?? null, cell: (r) => badge(r.cell?.verdict ?? "void", saidOf(r.cell)) },
    ...figureColumns,
    {
      id: "ratio", name: `× ${baseName || "baseline"}`, unit: data.figures[index]?.title ?? "", numeric: true,
      value: (r) => r.ratio?.point ?? null,
      files: [{ name: "Ratio: 95 % low", value: (r) => r.ratio?.ci_low ?? null }, { name: "Ratio: 95 % high", value: (r) => r.ratio?.ci_high ?? null }],
      cell: (r) => r.index === baseline ? h("span", { class: "is-baseline" }, "baseline") : [
        ratio(r.ratio), h("small", null, r.ratio && r.ratio.ci_low !== null && r.ratio.ci_high !== null ? `${r.ratio.ci_low.toPrecision(3)} – ${r.ratio.ci_high.toPrecision(3)}` : r.ratio?.no_interval ?? ""),
        h("button", { type: "button", class: "quiet tiny", "data-base": r.candidate.label, "aria-label": `Compare with ${r.candidate.label}`, onclick: () => state.set({ base: r.candidate.label }) }, "compare")],
    },
    ...(rows.some((r) => r.published) ? [publishedColumn(data, index, baseline)] : []),
    ...(data.candidates.some((c) => c.language) ? [{ id: "language", name: "Language", value: (r: Shown) => r.candidate.language, cell: (r: Shown) => [r.candidate.language ?? WITHHELD, h("small", null, r.candidate.kind ?? "")] }] : []),
    ...(rows.some((r) => r.cell?.failed) ? [{ id: "failed", name: "Failed", numeric: true, value: (r: Shown) => r.cell?.failed ?? null, cell: (r: Shown) => (r.cell?.failed ?? 0).toLocaleString("en-US") }] : []),
  ];
  return h("section", null, h("h3", { class: "visually-hidden" }, "Table"), table({
    title: `${data.head.name} ${data.plans[plan]?.name ?? ""}`,
    columns, rows, sort: state.get("sort"), onSort: (sort) => state.set({ sort }),
    rowClass: (r) => (r.index === baseline ? "base" : ""),
    json: () => ({
      run: runOf(data), plan: planOf(data.plans[plan]), filters, baseline: baseName,
      rows: rows.map((r) => ({
        ...r.candidate,
        figures: Object.fromEntries(data.figures.map((f, i) => [f.id, whole(of(i, r.index), baseline === data.baseline ? of(i, r.index)?.ratio ?? null : baseline === null ? null : ratioTo(all, i, r.index, baseline))])),
        ratio: short(r.ratio), cell: cellFile(r.cell),
        published: r.published && { ...r.published, ratio: publishedRatio(data, r.published, baseline).ratio },
      })),
    }),
  }));
}

/** A figure with all that is known of it, flat. */
function whole(row: Shown["row"] | undefined, over: Estimate | null): Record<string, unknown> | null {
  if (!row) return null;
  const { candidate: _, estimate, ...rest } = row;
  return { ...(short(estimate) ?? { point: null, low: null, high: null, n: 0 }), ...rest, ratio: short(over) };
}

/** The source's figure, and its ratio to its own of the baseline. */
function publishedColumn(data: RunData, index: number, baseline: number | null): Column<Shown> {
  const unit = UNITS[data.figures[index]?.unit ?? "requests_per_s"];
  const over = (r: Shown): PublishedRatio => r.published ? publishedRatio(data, r.published, baseline) : { ratio: null, why: "" };
  return {
    id: "published", name: "Published", numeric: true,
    value: (r) => r.published?.value ?? null,
    files: [{ name: "Published: ratio", value: (r) => over(r).ratio }, { name: "Published: doubt", value: (r) => r.published?.doubt ?? null }],
    cell: (r) => {
      if (!r.published) return WITHHELD;
      const { ratio: theirs, why } = over(r);
      const said = r.published.doubt ? `doubted: ${r.published.doubt}` : theirs === null ? "" : `${theirs.toPrecision(3)} ×`;
      return h("span", { title: why || r.published.source }, unit.value(r.published.value), h("small", { class: "wrap" }, said || WITHHELD));
    },
  };
}

/** The plan's control, what its blocks find, and whether one of them decides. */
function said({ plans }: RunData, plan: number): HTMLElement | null {
  const all = plans[plan]?.said ?? [];
  return all.length === 0 ? null : h("ul", { class: "reasons", id: "said" }, all.map((text) => h("li", null, text)));
}

/** What a candidate does to response times along the tail, beside the run's baseline. */
function tail({ data, state }: Context, plan: number): HTMLElement | null {
  const name = (index: number): string => data.candidates[index]?.label ?? "";
  const all = (data.tails ?? []).filter((t) => t.plan === plan);
  const chosen = all.find((t) => name(t.b) === state.get("tail")) ?? all[0];
  if (!chosen) return null;
  const [a, b] = [name(chosen.a), name(chosen.b)];
  return figureBox({
    id: "plot-tails",
    title: `Tail: response times of ${b} over those of ${a}`,
    caption: `Above the line at 1, responses of ${b} take longer than those of ${a}; below it, they are shorter. Ratios are paired within blocks. The bars are intervals, aimed to hold for all of these percentiles together in 95 % of runs.`,
    controls: all.length > 1 ? [select("Candidate", all.map((t) => ({ value: name(t.b), name: name(t.b) })), b, (value) => state.set({ tail: value }))] : [],
    draw: (width) => tails(chosen.ratios, color(chosen.b), width),
    table: () => ({
      head: ["Percentile", `${b} over ${a}`, "Low", "High", "Blocks"],
      rows: chosen.ratios.map(({ quantile, ratio: r }) => [quantileName(quantile), r.point, r.ci_low, r.ci_high, r.n]),
    }),
  });
}

function remarks(rows: Shown[]): HTMLElement | null {
  const said = rows.map((r) => ({ r, said: saidOf(r.cell) })).filter((s) => s.said.length > 0);
  if (said.length === 0) return null;
  return h("details", { class: "remarks", open: said.length <= 4 }, h("summary", null, `What the verdicts say (${said.length} ${said.length === 1 ? "candidate" : "candidates"})`),
    h("dl", null, said.map(({ r, said: list }) => h("div", null, h("dt", null, h("span", { class: "chip", style: `background:${color(r.index)}`, "aria-hidden": "true" }), r.candidate.label), h("dd", null, reasonList(list))))));
}

function skipped(data: RunData): HTMLElement | null {
  if (data.head.skipped.length === 0) return null;
  return h("section", { class: "card" }, h("h3", null, "Skipped"), h("ul", { class: "reasons" },
    data.head.skipped.map((s) => h("li", null, h("b", null, s.candidate), ` ${s.reason} `, s.mend ? h("code", null, s.mend) : null))));
}
