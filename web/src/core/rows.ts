/** The ranking as it is shown: filtered, with ratios to the chosen baseline. Pure. */
import type { Candidate, Cell, Estimate, Published, Ranking, RankingRow, Ratios, RunData } from "../data";
import type { Said } from "../parts/verdict";
import { words } from "./format";

export interface Filters {
  languages: string[];
  kinds: string[];
  /** By axis: `{ opt: ["jit", "opcache"] }`. */
  axes: Record<string, string[]>;
}

/** Among an axis' values: the candidates whose server has no such axis. */
export const WITHOUT = "without";

export interface Shown {
  row: RankingRow;
  candidate: Candidate;
  index: number;
  cell: Cell | null;
  ratio: Estimate | null;
  published: Published | null;
}

export function cellOf(data: RunData, plan: number, candidate: number): Cell | null {
  return data.cells.find((c) => c.plan === plan && c.candidate === candidate) ?? null;
}

/** The values of candidates that can be filtered by, where there are at least two. */
export function choices(data: RunData, of: "language" | "kind"): string[] {
  const found = [...new Set(data.candidates.map((c) => c[of]).filter((v): v is string => v !== null))].sort();
  return found.length > 1 ? found : [];
}

/** A candidate's value on an axis. */
function valueOn(candidate: Candidate, axis: string): string {
  return candidate.axes?.find((a) => a.axis === axis)?.value ?? WITHOUT;
}

/** The axes that candidates differ in, each with its values in the order of the candidates, those without it last. */
export function axesOf(data: RunData): { axis: string; values: string[] }[] {
  const names = [...new Set(data.candidates.flatMap((c) => (c.axes ?? []).map((a) => a.axis)))];
  return names.map((axis) => {
    const found = new Set(data.candidates.map((c) => valueOn(c, axis)));
    const without = found.delete(WITHOUT);
    return { axis, values: [...found], without };
  }).filter(({ values }) => values.length > 1).map(({ axis, values, without }) => ({ axis, values: without ? [...values, WITHOUT] : values }));
}

export function passes(candidate: Candidate, filters: Filters): boolean {
  const { languages, kinds, axes } = filters;
  return (languages.length === 0 || languages.includes(candidate.language ?? ""))
    && (kinds.length === 0 || kinds.includes(candidate.kind ?? ""))
    && Object.entries(axes).every(([axis, values]) => values.length === 0 || values.includes(valueOn(candidate, axis)));
}

export function ranking(data: RunData, plan: number, figure: number): Ranking | undefined {
  return data.rankings.find((r) => r.plan === plan && r.figure === figure);
}

/** The ratio of a candidate to a baseline, as Rust computed it. */
export function ratioTo(all: Ratios | null, figure: number, candidate: number, baseline: number): Estimate | null {
  if (!all) return null;
  const [row, column] = [all.candidates.indexOf(candidate), all.candidates.indexOf(baseline)];
  return all.ratios[figure]?.[row]?.[column] ?? null;
}

/** A source's ratio to its own figure of the baseline, and where there is none, why. */
export interface PublishedRatio {
  ratio: number | null;
  why: string;
}

export function publishedRatio(data: RunData, theirs: Published, baseline: number | null): PublishedRatio {
  const none = (why: string): PublishedRatio => ({ ratio: null, why });
  if (baseline === null) return none("no baseline is chosen");
  const name = data.candidates[baseline]?.label ?? "the baseline";
  const base = data.published?.find((p) => p.plan === theirs.plan && p.figure === theirs.figure && p.candidate === baseline);
  if (theirs.doubt) return none(`doubted: ${theirs.doubt}`);
  if (!base) return none(`the source has no such figure of ${name}`);
  if (base.doubt) return none(`the source's figure of ${name} is doubted: ${base.doubt}`);
  if (!(base.value > 0) || !(theirs.value > 0)) return none("a figure of 0 has no ratio");
  return { ratio: theirs.value / base.value, why: "" };
}

export function shown(
  data: RunData, plan: number, figure: number, filters: Filters, baseline: number | null, all: Ratios | null,
): Shown[] {
  const rows = ranking(data, plan, figure)?.rows ?? [];
  return rows.flatMap((row) => {
    const candidate = data.candidates[row.candidate];
    if (!candidate || !passes(candidate, filters)) return [];
    const own = baseline === data.baseline ? row.ratio : null;
    return [{
      row,
      candidate,
      index: row.candidate,
      cell: cellOf(data, plan, row.candidate),
      ratio: own ?? (baseline === null ? null : ratioTo(all, figure, row.candidate, baseline)),
      published: data.published?.find((p) => p.plan === plan && p.figure === figure && p.candidate === row.candidate) ?? null,
    }];
  });
}

/** Everything that is said of a cell. */
export function saidOf(cell: Cell | null): Said[] {
  if (!cell) return [];
  const reasons = cell.reasons.map((r) => ({
    title: `${words(r.code)} in ${r.trials} of ${cell.trials} ${cell.trials === 1 ? "trial" : "trials"}`,
    detail: r.detail,
    advice: r.advice,
  }));
  return [...cell.remarks.map((detail) => ({ title: "", detail, advice: "" })), ...reasons];
}
