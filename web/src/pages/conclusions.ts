/** Conclusions that somebody published, judged by ours. */
import type { RunData } from "../data";
import { h } from "../core/dom";

const TONE: Record<string, [string, string]> = { holds: ["HOLDS", "good"], fails: ["FAILS", "bad"], undecided: ["UNDECIDED", "info"] };

export function conclusions(data: RunData): HTMLElement | null {
  if (!data.conclusions?.length) return null;
  return h("section", { class: "card" }, h("h3", null, "What the source said, and what is here"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Conclusions" }, h("table", { class: "main-table" },
      h("thead", null, h("tr", null, ["The source said", "There", "Here", "Judged"].map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", null, data.conclusions.map((c) => {
        const [word, tone] = TONE[c.verdict] ?? [c.verdict, "info"];
        return h("tr", null, h("th", { scope: "row" }, c.claim, h("small", null, c.source)), h("td", null, c.there), h("td", null, c.here),
          h("td", null, h("span", { class: `badge ${tone}` }, word)));
      })))));
}
