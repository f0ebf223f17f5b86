/** Everything that a source printed, row by row, with ours beside it where the same was measured. */
import type { PublishedRow, SourceColumn, SourceFigure, SourceRow } from "../data";
import { color } from "../core/colors";
import { h } from "../core/dom";
import { rate, significant, thousands, WITHHELD, words as spaced } from "../core/format";
import { short } from "../core/saved";
import { type Column, estimateFiles, table } from "../parts/table";
import type { Context } from "./page";

const LISTED = 40;

/** A figure as people read it, in the source's unit. */
function said(value: number, unit: string): string {
  return Number.isInteger(value) ? thousands(value) : unit === "req/s" ? rate(value) : significant(value, 3);
}

/** `100 connections at 5,000/s, 2 workers` */
export function loadOf(row: PublishedRow): string {
  const many = (n: number, one: string): string => `${thousands(n)} ${one}${n === 1 ? "" : "s"}`;
  return [
    [row.connections === null ? "" : many(row.connections, "connection"), row.rate_per_s === null ? "" : `at ${rate(row.rate_per_s)}/s`].filter(Boolean).join(" "),
    row.workers == null ? "" : many(row.workers, "worker"),
  ].filter(Boolean).join(", ");
}

/** Ours beside it: `8,123 ±2 %`, `≥ 8,123`, `> 2,000`. */
export function oursOf(figure: SourceFigure, unit: string): string {
  if (figure.ours_beyond !== undefined) return `> ${said(figure.ours_beyond, unit)}`;
  const { ours } = figure;
  if (!ours) return "";
  const ends = ours.ci_low === null || ours.ci_high === null ? "" : ` (${said(ours.ci_low, unit)} – ${said(ours.ci_high, unit)})`;
  return `${figure.at_least ? "≥ " : ""}${said(ours.point, unit)}${ends}`;
}

export function sourceTable({ data, state }: Context): HTMLElement | null {
  const source = data.source;
  const published = data.head.published;
  if (!source || !published || source.rows.length === 0) return null;
  const { rows } = source;
  const remarks = (row: SourceRow): [string, string][] => Object.entries(row.printed.remarks ?? {}).map(([key, text]) => [spaced(key), text]);
  const words = (row: SourceRow): string => [...remarks(row).map(([key, text]) => `${key}: ${text}`), row.printed.doubt ? `doubted: ${row.printed.doubt}` : ""].filter(Boolean).join("; ");
  const planOf = (row: SourceRow): string | null => (row.plan === null ? null : data.plans[row.plan]?.name ?? null);
  const figure = (column: SourceColumn, i: number): Column<SourceRow> => ({
    id: `s-${column.name}`, name: column.title, unit: column.unit, numeric: true,
    value: (row) => row.figures[i]?.value ?? null,
    files: rows.some((row) => row.figures[i]?.ours || row.figures[i]?.ours_beyond !== undefined) ? [
      { name: `${column.title} here`, value: (row) => row.figures[i]?.ours?.point ?? null },
      ...estimateFiles<SourceRow>(`${column.title} here`, (row) => { const f = row.figures[i]; return f && { estimate: f.ours ?? null, lower_bound: f.at_least ?? false, beyond: f.ours_beyond }; }).slice(0, 4),
    ] : [],
    cell: (row) => {
      const found = row.figures[i];
      if (!found) return WITHHELD;
      const ours = oursOf(found, column.unit);
      return [said(found.value, column.unit), ours ? h("small", null, `here ${ours}`) : null];
    },
  });
  const columns: Column<SourceRow>[] = [
    { id: "s-name", name: "Candidate", header: true, value: (row) => row.printed.candidate, files: [{ name: "The source's word", value: (row) => row.printed.name }], cell: (row) => [
      h("span", { class: "name" }, row.index === null ? null : h("span", { class: "chip", style: `background:${color(row.index)}`, "aria-hidden": "true" }), row.printed.candidate),
      row.printed.name === row.printed.candidate ? null : h("small", null, row.printed.name)] },
    { id: "s-load", name: "Its load", value: ({ printed }) => printed.rate_per_s ?? printed.connections, files: [
      { name: "Connections", value: (row) => row.printed.connections }, { name: "Rate per s", value: (row) => row.printed.rate_per_s }, { name: "Workers", value: (row) => row.printed.workers ?? null }], cell: (row) => loadOf(row.printed) || WITHHELD },
    { id: "s-plan", name: "Measured plan", value: planOf, cell: (row) => planOf(row) ?? h("small", null, row.index === null ? "not measured" : "no such plan") },
    ...source.columns.map(figure),
    ...(rows.some((row) => words(row) !== "") ? [{ id: "s-words", name: "In words", value: words, cell: (row: SourceRow) => h("small", { class: "words" }, words(row)) }] : []),
  ];
  return h("div", { id: "source" }, h("h3", null, "What the source printed"),
    h("p", { class: "note" }, "Its figures in its units; below each ours of the same load, where the same was measured: the mean over trials and its 95 % interval."),
    table({
      title: `What ${published.source} printed`, columns, rows, sort: state.get("ssort"), onSort: (ssort) => state.set({ ssort }), most: LISTED,
      json: () => ({ source: published.source, method: published.method, columns: source.columns, rows: rows.map((row) => ({ ...row.printed, index: row.index, remarks: remarks(row), plan: planOf(row), figures: Object.fromEntries(source.columns.map((c, i) => { const f = row.figures[i]; return [c.name, f ? { ...f, ...(f.ours ? { ours: short(f.ours) } : {}) } : null]; })) })) }),
    }));
}
