/** A table that is sorted by a click, and copied or taken along as CSV or JSON. */
import type { Estimate } from "../data";
import { h, replace } from "../core/dom";
import { copy, csv, download, fileName } from "../core/save";

export interface Column<Row> {
  id: string;
  name: string;
  /** Under the name: its unit. */
  unit?: string;
  /** What the cell shows. */
  cell: (row: Row) => Node | string | null | (Node | string | null)[];
  /** What it is sorted by, and what files have. */
  value: (row: Row) => number | string | null;
  /** What the cell says besides, for files: columns behind all others, so that these keep their places. */
  files?: { name: string; value: (row: Row) => number | string | null }[];
  numeric?: boolean;
  /** Marked, as the one that is plotted. */
  current?: boolean;
  header?: boolean;
}

export interface TableOptions<Row> {
  title: string;
  columns: Column<Row>[];
  rows: Row[];
  /** Column id, `-` before it: descending. */
  sort: string | null;
  onSort: (sort: string | null) => void;
  rowClass?: (row: Row) => string;
  /** Rows beyond this are behind a button. */
  most?: number;
  json?: () => unknown;
}

export function compare(a: number | string | null, b: number | string | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Sorted without moving what is equal; what has no figure comes last either way. */
export function sorted<Row>(rows: Row[], columns: Column<Row>[], sort: string | null): Row[] {
  const down = sort?.startsWith("-") ?? false;
  const column = columns.find((c) => c.id === (down ? sort?.slice(1) : sort));
  if (!column) return rows;
  return [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    if (x === null || y === null) return compare(x, y);
    return down ? compare(y, x) : compare(x, y);
  });
}

/** A table as files have it: what is shown, and behind it what cells say in other ways. */
export function flat<Row>(columns: Column<Row>[], rows: Row[]): (string | number | null)[][] {
  const behind = columns.flatMap((c) => c.files ?? []);
  return [
    [...columns.map((c) => (c.unit ? `${c.name} (${c.unit})` : c.name)), ...behind.map((f) => f.name)],
    ...rows.map((row) => [...columns.map((c) => c.value(row)), ...behind.map((f) => f.value(row))]),
  ];
}

/** What files have beside a figure: its interval's ends, its bound, what it is longer than, and its mark. */
export function estimateFiles<Row>(name: string, of: (row: Row) => { estimate: Estimate | null; lower_bound?: boolean; beyond?: number | undefined; mark?: string } | null | undefined): NonNullable<Column<Row>["files"]> {
  return [
    { name: `${name}: 95 % low`, value: (row) => of(row)?.estimate?.ci_low ?? null },
    { name: `${name}: 95 % high`, value: (row) => of(row)?.estimate?.ci_high ?? null },
    { name: `${name}: bound`, value: (row) => { const found = of(row); return found?.beyond !== undefined ? ">" : found?.lower_bound ? "≥" : ""; } },
    { name: `${name}: longer than`, value: (row) => of(row)?.beyond ?? null },
    { name: `${name}: mark`, value: (row) => of(row)?.mark ?? "" },
  ];
}

export function table<Row>(options: TableOptions<Row>): HTMLElement {
  const { columns } = options;
  const rows = sorted(options.rows, columns, options.sort);
  const next = (id: string): string | null =>
    options.sort === id ? `-${id}` : options.sort === `-${id}` ? null : id;
  const body = h("tbody");
  const most = options.most ?? Infinity;
  const show = (count: number): void => replace(body, rows.slice(0, count).map((row) =>
    h("tr", { class: options.rowClass?.(row) ?? null }, columns.map((c) => {
      const content = c.cell(row);
      return h(c.header ? "th" : "td", { scope: c.header ? "row" : null, class: [c.numeric && "num", c.current && "current"].filter(Boolean).join(" ") || null },
        ...(Array.isArray(content) ? content : [content]));
    }))));
  show(most);
  const taken = (): (string | number | null)[][] => flat(columns, rows);
  const more = rows.length > most
    ? h("button", { type: "button", class: "quiet", onclick: (e: Event) => { show(rows.length); (e.target as HTMLElement).remove(); } },
      `Show all ${rows.length}`) : null;
  return h("div", { class: "table-box" },
    h("div", { class: "table-tools" },
      h("button", { type: "button", class: "quiet", onclick: () => void copy(taken().map((r) => r.join("\t")).join("\n"), "Table") }, "Copy"),
      h("button", { type: "button", class: "quiet", onclick: () => download(fileName(options.title, "csv"), "text/csv", csv(taken())) }, "CSV"),
      options.json ? h("button", { type: "button", class: "quiet", onclick: () =>
        download(fileName(options.title, "json"), "application/json", JSON.stringify(options.json?.(), null, 1)) }, "JSON") : null),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.title },
      h("table", { class: "main-table" },
        h("caption", { class: "visually-hidden" }, options.title),
        h("thead", null, h("tr", null, columns.map((c) => h("th", {
          scope: "col",
          class: [c.numeric && "num", c.current && "current"].filter(Boolean).join(" ") || null,
          "aria-sort": options.sort === c.id ? "ascending" : options.sort === `-${c.id}` ? "descending" : "none",
        }, h("button", { type: "button", "data-sort": c.id, onclick: () => options.onSort(next(c.id)) },
          c.name, c.unit ? h("small", null, c.unit) : null))))),
        body)),
    more);
}
