/** The list of run logs that `prony serve` shows. */
import type { RunEntry } from "../data";
import { h } from "../core/dom";
import { when } from "../core/format";

export function runs(entries: RunEntry[], history: string | null, root: HTMLElement): void {
  root.append(h("header", { class: "hero" }, h("h1", null, entries.length === 1 ? "One run" : `${entries.length} runs`), h("p", { class: "lede" }, "Run logs that this prony serves, the newest first."), history ? h("p", null, h("a", { href: history, class: "go" }, "History: a figure over time and commits")) : null),
    h("ul", { class: "runs" }, entries.map((run) => h("li", { class: "card" },
      run.failure ? [h("h2", null, run.file), h("p", { class: "bad" }, run.failure)]
        : [h("h2", null, h("a", { href: run.href }, run.title)), run.headline ? h("p", { class: "answer" }, run.headline) : null, h("p", { class: "note" }, [run.trials, when(run.created_at), run.file].filter(Boolean).join(" · "))]))));
}
