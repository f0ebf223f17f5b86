/** What somebody published beside ours: conclusions judged, how far the orders agree, what is doubted. */
import type { Conclusion } from "../data";
import { h } from "../core/dom";
import { words } from "../core/format";
import { facts } from "../parts/facts";
import type { Context } from "./page";
import { sourceTable } from "./source";

const TONE: Record<string, [string, string, string]> = { holds: ["HOLDS", "✓", "good"], fails: ["FAILS", "✗", "bad"], undecided: ["UNDECIDED", "?", "info"], unjudged: ["UNJUDGED", "–", "info"] };

function judged(verdict: string): HTMLElement {
  const [word, sign, tone] = TONE[verdict] ?? [verdict, "·", "info"];
  return h("span", { class: `badge ${tone}` }, h("span", { "aria-hidden": "true" }, sign), ` ${word}`);
}

/** Judged plan by plan, where it is about several. */
function byPlan(c: Conclusion): HTMLElement | null {
  const { plans } = c.judged;
  if (plans.length < 2) return null;
  return h("details", null, h("summary", null, h("small", null, `under ${plans.length} plans`)),
    h("ul", { class: "reasons" }, plans.map((p, k) => h("li", null, h("b", null, p.plan), ` ${c.plans[k] ?? ""} `, judged(p.judgement), p.why ? h("small", null, p.why) : null))));
}

export function conclusions(context: Context): HTMLElement | null {
  const { data } = context;
  const source = data.head.published;
  const list = data.conclusions ?? [];
  if (!source && list.length === 0) return null;
  const counts = Object.keys(TONE).map((v) => [v, list.filter((c) => c.judged.judgement === v).length] as const).filter(([, n]) => n > 0);
  return h("section", { class: "card published", id: "published" }, h("h2", null, "What the source concludes, and what was measured"),
    source ? h("p", null, h("b", null, source.source), ` · ${source.method}`) : null,
    counts.length > 0 ? h("p", { class: "judged" }, counts.map(([v, n]) => [`${n} `, judged(v), "  "]).flat()) : null,
    [...new Set(list.map((c) => c.by))].map((by) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": by }, h("table", { class: "main-table conclusions" },
      h("caption", null, by),
      h("thead", null, h("tr", null, ["Conclusion", "Source", "Measured", "Judged"].map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", null, list.filter((c) => c.by === by).map((c) => h("tr", null,
        h("th", { scope: "row" }, c.judged.text, c.judged.claim ? h("small", null, h("code", null, c.judged.claim)) : null),
        h("td", null, c.there),
        h("td", null, c.here, c.interval ? h("small", null, c.interval) : null),
        h("td", null, judged(c.judged.judgement), c.why ? h("small", null, c.why) : null, byPlan(c)))))))),
    source?.differences?.length ? h("div", null, h("h3", null, "What in its method makes the difference"), h("ul", { class: "reasons" }, source.differences.map((said) => h("li", null, said)))) : null,
    data.source && data.source.agreement.length > 0 ? h("div", null, h("h3", null, "Do both orders agree?"), h("ul", { class: "reasons" }, data.source.agreement.map((said) => h("li", null, said)))) : null,
    source && source.doubts.length > 0 ? h("div", null, h("h3", null, "Figures of the source in doubt"), h("ul", { class: "reasons" }, source.doubts.map((doubt) => h("li", null, h("b", null, doubt.candidate), `: ${doubt.reason}`)))) : null,
    sourceTable(context),
    source ? facts([["In its tables, and not measured", source.not_here.join(", ")], ...Object.entries(source.facts).map(([key, text]): [string, string] => [words(key), text])]) : null);
}
