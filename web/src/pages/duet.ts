/** Both candidates of a duet beside each other: what the seconds that both had say. */
import type { DuetRow, DuetSide } from "../data";
import { color } from "../core/colors";
import { h } from "../core/dom";
import { interval, ratio, significant, UNITS, WITHHELD } from "../core/format";
import { command } from "../parts/facts";
import { type Column, estimateFiles, table } from "../parts/table";
import { badge } from "../parts/verdict";
import type { Context } from "./page";

export function duet({ data, state }: Context): HTMLElement | null {
  const { duet: both } = data;
  if (!both) return null;
  const name = (index: number): string => data.candidates[index]?.label ?? "";
  const figure = (row: DuetRow): string => data.figures[row.figure]?.title ?? "";
  const side = (id: "a" | "b"): Column<DuetRow> => ({
    id: `duet-${id}`, name: name(both[id]), numeric: true, value: (row) => row[id]?.estimate.point ?? null,
    files: estimateFiles<DuetRow>(name(both[id]), (row) => row[id] && { estimate: row[id].estimate, lower_bound: row[id].at_least }),
    cell: (row) => sideCell(row, row[id]),
  });
  const unitOf = (row: DuetRow): keyof typeof UNITS => data.figures[row.figure]?.unit ?? "requests_per_s";
  function sideCell(row: DuetRow, found: DuetSide | null): (Node | string)[] {
    if (!found) return [WITHHELD];
    const { estimate } = found;
    const known = estimate.low !== null && estimate.high !== null;
    return [(found.at_least ? "≥ " : "") + UNITS[unitOf(row)].value(estimate.point), h("small", null, known ? interval(estimate, unitOf(row)) : "")];
  }
  const columns: Column<DuetRow>[] = [
    { id: "duet-figure", name: "Figure", header: true, cell: figure, value: figure },
    ...(both.amounts.length > 1 ? [{ id: "duet-plan", name: "Plan", cell: (row: DuetRow) => data.plans[row.plan]?.name ?? "", value: (row: DuetRow) => data.plans[row.plan]?.name ?? "" }] : []),
    { id: "duet-finding", name: "Finding", value: (row) => row.verdict, cell: (row) => badge(row.finding, row.why ? [{ title: "", detail: row.why, advice: "" }] : [], row.verdict) },
    { id: "duet-ratio", name: "Ratio", unit: `${name(both.b)} over ${name(both.a)}`, numeric: true, value: (row) => row.ratio?.point ?? null, files: estimateFiles<DuetRow>("Ratio", (row) => ({ estimate: row.ratio })).slice(0, 2), cell: (row) => [row.ratio ? `${ratio(row.ratio)} (${row.change})` : WITHHELD, h("small", null, ends(row))] },
    { id: "duet-noise", name: "A/A", numeric: true, value: (row) => row.noise, cell: (row) => row.noise },
    side("a"), side("b"),
  ];
  const chip = (index: number): HTMLElement => h("span", { class: "chip", style: `background:${color(index)}`, "aria-hidden": "true" });
  const why = both.rows.filter((row) => row.why);
  return h("section", { class: "duet", id: "duet" },
    h("h2", null, chip(both.b), name(both.b), " beside ", chip(both.a), name(both.a)),
    h("p", { class: "note" }, both.amounts.map(([plan, amount]) => both.amounts.length > 1 ? `${data.plans[plan]?.name ?? ""}: ${amount}` : amount).join("; "), `. ${both.method}.`),
    table({
      title: `${name(both.b)} over ${name(both.a)}`, columns, rows: both.rows, sort: state.get("dsort"), onSort: (sort) => state.set({ dsort: sort }),
      json: () => ({ run: data.head, a: name(both.a), b: name(both.b), rows: both.rows.map((row) => ({ ...row, plan: data.plans[row.plan]?.name, figure: data.figures[row.figure]?.id })) }),
    }),
    why.length > 0 || both.notes.length > 0 ? h("ul", { class: "reasons" }, why.map((row) => h("li", null, h("b", null, figure(row)), `: ${row.why}`)), both.notes.map((note) => h("li", null, note))) : null,
    h("p", { class: "note" }, both.legend, " The ranking below shows each by itself."),
    both.next ? h("div", null, h("p", { class: "note" }, "To decide it:"), command(both.next)) : null);
}

/** `0.946 – 0.954`, or why there is none. */
function ends(row: DuetRow): string {
  const found = row.ratio;
  if (!found) return "";
  if (found.low === null || found.high === null) return found.why ?? "no interval";
  return `${significant(found.low, 3)} – ${significant(found.high, 3)}`;
}
