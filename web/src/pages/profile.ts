/** Where CPU time per request grew: a flame graph, and the functions that grew most. */
import { h } from "../core/dom";
import type { Context } from "./page";

export function profile({ data }: Context): HTMLElement | null {
  const { profile: found } = data;
  if (!found) return null;
  return h("section", { id: "profile" },
    h("h3", null, "Which function"),
    h("p", { class: "note" }, `${found.title}.`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Flame graph" },
      h("img", { class: "flame", src: found.image, alt: `Flame graph. ${found.title}. The table below has the functions that grew most.` })),
    h("p", { class: "note" }, "A part is as wide as its CPU time per request; it stands on what calls it. Red parts grew, blue ones shrank."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Functions that grew most" }, h("table", { class: "data" },
      h("thead", null, h("tr", null, found.head.map((cell) => h("th", { scope: "col" }, cell)))),
      h("tbody", null, found.rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell))))))),
    h("ul", { class: "reasons" }, found.notes.map((note) => h("li", null, note))));
}
