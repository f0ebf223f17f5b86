/** Both candidates of a duet beside each other: what the seconds that both had say. */
import type { DuetRow, Estimate, RunData } from "../data";
import { color } from "../core/colors";
import { h } from "../core/dom";
import { interval, ratio, significant, UNITS, WITHHELD } from "../core/format";
import { runOf, short } from "../core/saved";
import { command } from "../parts/facts";
import { type Column, estimateFiles, table } from "../parts/table";
import { badge, wordOf } from "../parts/verdict";
import type { Context } from "./page";

export function duet({ data, state }: Context): HTMLElement | null {
  const { duet: both } = data;
  const compared = data.head.duet;
  if (!both || !compared) return null;
  const name = (index: number): string => data.candidates[index]?.label ?? "";
  const headOf = (row: DuetRow): RunData["figures"][number] | undefined => data.figures.find((f) => f.id === row.found.figure);
  const figure = (row: DuetRow): string => headOf(row)?.title ?? "";
  const side = (id: "a" | "b"): Column<DuetRow> => ({
    id: `duet-${id}`, name: name(both[id]), numeric: true, value: (row) => row.found[id]?.point ?? null,
    files: estimateFiles<DuetRow>(name(both[id]), (row) => ({ estimate: row.found[id], lower_bound: row.found[id]?.at_least === true })),
    cell: (row) => sideCell(row, row.found[id]),
  });
  const unitOf = (row: DuetRow): keyof typeof UNITS => headOf(row)?.unit ?? "requests_per_s";
  function sideCell(row: DuetRow, estimate: Estimate | null): (Node | string)[] {
    if (!estimate) return [WITHHELD];
    const known = estimate.ci_low !== null && estimate.ci_high !== null;
    return [(estimate.at_least ? "≥ " : "") + UNITS[unitOf(row)].value(estimate.point), h("small", null, known ? interval(estimate, unitOf(row)) : "")];
  }
  const columns: Column<DuetRow>[] = [
    { id: "duet-figure", name: "Figure", header: true, cell: figure, value: figure },
    ...(both.amounts.length > 1 ? [{ id: "duet-plan", name: "Plan", cell: (row: DuetRow) => data.plans[row.plan]?.name ?? "", value: (row: DuetRow) => data.plans[row.plan]?.name ?? "" }] : []),
    { id: "duet-finding", name: "Finding", value: (row) => row.verdict, cell: (row) => badge(row.found.finding ?? "none", row.found.why ? [{ title: "", detail: row.found.why, advice: "" }] : [], row.verdict) },
    { id: "duet-ratio", name: "Ratio", unit: `${name(both.b)} over ${name(both.a)}`, numeric: true, value: (row) => row.found.ratio?.point ?? null, files: estimateFiles<DuetRow>("Ratio", (row) => ({ estimate: row.found.ratio })).slice(0, 2), cell: (row) => [row.found.ratio ? `${ratio(row.found.ratio)} (${row.change})` : WITHHELD, h("small", null, ends(row))] },
    { id: "duet-noise", name: "A/A", numeric: true, value: (row) => row.noise, cell: (row) => row.noise },
    side("a"), side("b"),
  ];
  const chip = (index: number): HTMLElement => h("span", { class: "chip", style: `background:${color(index)}`, "aria-hidden": "true" });
  const why = both.rows.filter((row) => row.found.why);
  const notes = [...compared.not_comparable.map((reason) => `Not comparable: ${reason}`), ...compared.notes];
  const sideFile = (e: Estimate | null): unknown => e && { estimate: short(e), at_least: e.at_least === true };
  const saved = ({ plan, found, change, noise, verdict }: DuetRow): Record<string, unknown> => ({
    plan: data.plans[plan]?.name, figure: found.figure, a: sideFile(found.a), b: sideFile(found.b), ratio: short(found.ratio), change, noise, finding: found.finding ? wordOf(found.finding) : "none", verdict, ...(found.why ? { why: found.why } : {}),
  });
  return h("section", { class: "duet", id: "duet" },
    h("h2", null, chip(both.b), name(both.b), " beside ", chip(both.a), name(both.a)),
    h("p", { class: "note" }, both.amounts.map(([plan, amount]) => both.amounts.length > 1 ? `${data.plans[plan]?.name ?? ""}: ${amount}` : amount).join("; "), `. ${compared.method}.`),
    table({
      title: `${name(both.b)} over ${name(both.a)}`, columns, rows: both.rows, sort: state.get("dsort"), onSort: (sort) => state.set({ dsort: sort }),
      json: () => ({ run: runOf(data), a: name(both.a), b: name(both.b), rows: both.rows.map(saved) }),
    }),
    why.length > 0 || notes.length > 0 ? h("ul", { class: "reasons" }, why.map((row) => h("li", null, h("b", null, figure(row)), `: ${row.found.why ?? ""}`)), notes.map((note) => h("li", null, note))) : null,
    h("p", { class: "note" }, both.legend, " The ranking below shows each by itself."),
    compared.next ? h("div", null, h("p", { class: "note" }, "To decide it:"), command(compared.next)) : null);
}

/** `0.946 – 0.954`, or why there is none. */
function ends(row: DuetRow): string {
  const found = row.found.ratio;
  if (!found) return "";
  if (found.ci_low === null || found.ci_high === null) return found.no_interval ?? "no interval";
  return `${significant(found.ci_low, 3)} – ${significant(found.ci_high, 3)}`;
}
