/** Single trials: the list, and the chosen ones overlaid. */
import type { Detail, RunData, TrialHead } from "../data";
import { detail } from "../core/chunks";
import { color, dash } from "../core/colors";
import { announce, h, replace } from "../core/dom";
import { plusMinus, rate, si, thousands, UNITS, WITHHELD, words } from "../core/format";
import { short } from "../core/saved";
import { select } from "../parts/controls";
import { type Column, estimateFiles, table } from "../parts/table";
import { badge, type Said } from "../parts/verdict";
import type { Context, Page } from "./page";
import { type Chosen, plots } from "./trial_plots";
import { sheets } from "./trial_sheet";

/** Curves that can be told apart. */
export const OVERLAID_MAX = 8;
const LISTED = 60;

/** What a trial is called: its candidate only where there are several, its plan likewise. */
export function trialName(data: RunData, t: TrialHead): string {
  const parts = [
    data.candidates.length > 1 ? data.candidates[t.candidate]?.label : null,
    data.plans.length > 1 ? data.plans[t.plan]?.name : null,
    data.experiment ? `block ${t.block + 1}` : `trial ${t.index + 1}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** What is shown before anybody chose: of an experiment the first block of its first plan, of loads the first few. */
export function usual(data: RunData): number[] {
  const measured = data.trials.filter((t) => !t.failure);
  const first = measured[0];
  if (!first) return [];
  if (!data.experiment) return measured.slice(0, 5).map((t) => t.index);
  return measured.filter((t) => t.plan === first.plan && t.block === first.block).slice(0, 5).map((t) => t.index);
}

export const trials: Page = {
  id: "trials",
  title: "Trials",
  has: (data) => data.trials.length > 0,
  render(context, root) {
    const { data, state } = context;
    const asked = state.get("t") === null ? usual(data) : state.list("t").map(Number);
    const heads = asked.map((i) => data.trials.find((t) => t.index === i)).filter((t): t is TrialHead => t !== undefined).slice(0, OVERLAID_MAX);
    const below = h("div", { class: "trial-views" });
    if (data.trials.length > 1) root.append(list(context, heads.map((t) => t.index)));
    root.append(below);
    void Promise.all(heads.map((t) => detail(t.index))).then((details) => {
      const chosen: Chosen[] = heads.flatMap((head, k) => {
        const found = details[k];
        return found ? [{ head, detail: found, name: trialName(data, head), color: color(k), dash: dash(k) }] : [];
      });
      if (chosen.length === 0) {
        replace(below, h("p", { class: "nothing" }, heads.length === 0 ? "No trial is chosen: tick one above." : `Nothing was measured: ${heads.map((t) => t.failure ?? "").join("; ")}`));
        return;
      }
      replace(below, ...plots(context, chosen), ...sheets(data, chosen));
    });
  },
};

/** Whether a figure, by its index, is known of a trial. */
export function has(t: TrialHead, figure: number): boolean {
  return (t.figures[figure] ?? null) !== null;
}

/** A trial's figure, by its index, with its unit. */
export function said(data: RunData, t: TrialHead, figure: number): string {
  const [v, head] = [t.figures[figure] ?? null, data.figures[figure]];
  return v === null || !head ? WITHHELD : `${bound(t, figure)} ${UNITS[head.unit].value(v)}`.trim();
}

/** `≥` before a figure of which the truth may be more. */
function bound(t: TrialHead, figure: number): string {
  return t.at_least?.includes(figure) ? "≥" : "";
}

function list(context: Context, chosen: number[]): HTMLElement {
  const { data, state } = context;
  const of = (name: string): number | null => { const v = state.get(name); return v === null ? null : Number(v); };
  const [candidate, plan, verdict] = [of("candidate"), of("tplan"), state.get("verdict")];
  const rows = data.trials.filter((t) => (candidate === null || t.candidate === candidate) && (plan === null || t.plan === plan) && (verdict === null || verdictOf(t) === verdict));
  // Unless sorted otherwise, those that are shown stand first, in the order of their colours.
  const place = (t: TrialHead): number => { const k = chosen.indexOf(t.index); return k < 0 ? OVERLAID_MAX : k; };
  if (state.get("tsort") === null) rows.sort((a, b) => place(a) - place(b));
  const toggle = (index: number): void => {
    const next = chosen.includes(index) ? chosen.filter((i) => i !== index) : [...chosen, index];
    if (next.length > OVERLAID_MAX) { announce(`At most ${OVERLAID_MAX} trials are overlaid`); state.set({ t: next.slice(-OVERLAID_MAX).join(",") }); return; }
    state.set({ t: next.join(",") || "none" });
  };
  const numbers: Column<TrialHead>[] = [
    { id: "tp", name: "Throughput", unit: "req/s", numeric: true, value: (t) => (t.failure ? null : t.requests_per_s.point), files: estimateFiles<TrialHead>("Throughput", (t) => t.failure ? null : { estimate: t.requests_per_s, lower_bound: t.bound === "lower" }).slice(0, 3), cell: (t) => t.failure ? WITHHELD : [`${t.bound === "lower" ? "≥ " : ""}${rate(t.requests_per_s.point)}`, h("small", null, plusMinus(t.requests_per_s))] },
    ...(data.trials.some((t) => t.offered_per_s !== null) ? [{ id: "due", name: "Due", unit: "req/s", numeric: true, value: (t: TrialHead) => t.offered_per_s, cell: (t: TrialHead) => (t.offered_per_s === null ? "closed" : rate(t.offered_per_s)) }] : []),
    { id: "tc", name: "Connections", numeric: true, value: (t) => t.connections, cell: (t) => thousands(t.connections) },
    ...data.figures.flatMap((f, i): Column<TrialHead>[] => f.id === "throughput" || !data.trials.some((t) => has(t, i)) ? [] : [{
      id: `t-${f.id}`, name: f.title, numeric: true, value: (t) => t.figures[i] ?? null,
      files: [{ name: `${f.title}: bound`, value: (t) => bound(t, i) }],
      cell: (t) => said(data, t, i),
    }]),
    { id: "tf", name: "Failed", numeric: true, value: (t) => t.failed, cell: (t) => thousands(t.failed) },
  ];
  const columns: Column<TrialHead>[] = [
    { id: "tn", name: "Trial", header: true, value: (t) => t.index + 1, cell: (t) => {
      const k = chosen.indexOf(t.index);
      return h("label", { class: "tick" }, h("input", { type: "checkbox", checked: k >= 0, disabled: t.failure !== undefined, "data-trial": t.index, onchange: () => toggle(t.index) }),
        h("span", { class: "chip", style: k >= 0 ? `background:${color(k)}` : "background:none", "aria-hidden": "true" }), `${t.index + 1} · ${trialName(data, t)}`);
    } },
    ...numbers,
    { id: "tv", name: "Verdict", value: verdictOf, files: [{ name: "Reasons", value: (t) => t.failure ?? t.codes.map(words).join(", ") }], cell: (t) =>
      t.failure ? badge("failed", [{ title: "", detail: t.failure, advice: "" }]) : badge(verdictOf(t), t.codes.map((c) => ({ title: words(c), detail: "", advice: "" })), undefined, () => why(t)) },
  ];
  const any = { value: "", name: "all" };
  const verdicts = [...new Set(data.trials.map(verdictOf))].sort();
  return h("details", { class: "trial-list card", open: state.get("list") !== "shut", ontoggle: (e: Event) => {
    const open = (e.target as HTMLDetailsElement).open;
    if (open === (state.get("list") === "shut")) state.set({ list: open ? null : "shut" });
  } },
  h("summary", null, h("h3", null, `${thousands(data.trials.length)} trials, ${chosen.length} shown`)),
  h("div", { class: "control-row" },
    data.candidates.length > 1 ? select("Candidate", [any, ...data.candidates.map((c, i) => ({ value: String(i), name: c.label }))], state.get("candidate") ?? "", (v) => state.set({ candidate: v })) : null,
    data.plans.length > 1 ? select("Plan", [any, ...data.plans.map((p, i) => ({ value: String(i), name: p.name }))], state.get("tplan") ?? "", (v) => state.set({ tplan: v })) : null,
    verdicts.length > 1 ? select("Verdict", [any, ...verdicts.map((v) => ({ value: v, name: words(v) }))], state.get("verdict") ?? "", (v) => state.set({ verdict: v })) : null,
    h("button", { type: "button", class: "quiet", onclick: () => state.set({ t: "none" }) }, "Untick all")),
  h("div", { class: "bounded" }, table({ title: "Trials", columns, rows, sort: state.get("tsort"), onSort: (tsort) => state.set({ tsort }), most: LISTED, rowClass: (t) => (chosen.includes(t.index) ? "base" : ""), json: () => rows.map((t) => ({ ...t, requests_per_s: short(t.requests_per_s) })) })));
}

/** The sentences of a trial's verdict, which are in its chunk. */
async function why(t: TrialHead): Promise<Said[]> {
  const found = await detail(t.index);
  return (found?.trial.verdict.reasons ?? []).map((r) => ({ title: words(r.code), detail: r.detail, advice: r.advice }));
}

export function verdictOf(t: TrialHead): string {
  if (t.failure) return "failed";
  if (t.validity === "invalid") return "invalid";
  if (t.outcome !== "carried") return t.outcome;
  if (t.interrupted) return "interrupted";
  return t.validity === "suspect" ? "suspect" : t.bound === "lower" ? "lower_bound" : "valid";
}

export type { Detail };
export { si };
