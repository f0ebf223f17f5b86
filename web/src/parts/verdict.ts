/** The verdict beside a figure: a word, a sign, and on hover, focus or tap the reasons. */
import { h, replace } from "../core/dom";
import { words } from "../core/format";

export interface Said {
  title: string;
  detail: string;
  advice: string;
}

/** Word, sign and tone of each verdict; the sign is for who cannot tell the colours. */
const LOOKS: Record<string, [string, string, string]> = {
  valid: ["valid", "✓", "good"],
  lower_bound: ["lower bound", "≥", "info"],
  suspect: ["suspect", "?", "warn"],
  overloaded: ["overloaded", "!", "warn"],
  broken: ["broken", "✗", "bad"],
  invalid: ["invalid", "✗", "bad"],
  void: ["not counted", "✗", "bad"],
  failed: ["failed", "✗", "bad"],
  interrupted: ["interrupted", "!", "warn"],
  faster: ["better", "✓", "good"],
  slower: ["worse", "✗", "bad"],
  equivalent: ["equivalent", "=", "info"],
  inconclusive: ["inconclusive", "?", "warn"],
  none: ["no verdict", "–", "warn"],
};

/** A verdict's word. */
export function wordOf(verdict: string): string {
  return LOOKS[verdict]?.[0] ?? words(verdict);
}

let nextId = 0;

/** `shown` stands in place of the verdict's own word; `later` says more when it is asked for, in place of `said`. */
export function badge(verdict: string, said: Said[] = [], shown?: string, later?: () => Promise<Said[]>): HTMLElement {
  const [own, sign, tone] = LOOKS[verdict] ?? [words(verdict), "·", "info"];
  const word = shown ?? own;
  const face = [h("span", { "aria-hidden": "true" }, sign), ` ${word}`];
  if (said.length === 0) return h("span", { class: `badge ${tone}` }, face);
  const id = `why-${nextId++}`;
  const tooltip = h("span", { class: "tooltip", role: "tooltip", id }, reasons(said));
  const leave = (e: KeyboardEvent): void => { if (e.key === "Escape") (e.target as HTMLElement).blur(); };
  const button = h("button", { type: "button", class: `badge ${tone}`, "aria-describedby": id, onkeydown: leave }, face);
  // Within the window wherever the table is scrolled to: below the badge, or above it where there is no room.
  const place = (): void => {
    const at = button.getBoundingClientRect();
    const width = Math.min(360, window.innerWidth - 24);
    tooltip.style.width = `${width}px`;
    tooltip.style.left = `${Math.max(12, Math.min(at.left, window.innerWidth - width - 12))}px`;
    const below = at.bottom + 4;
    const height = tooltip.offsetHeight;
    tooltip.style.top = `${below + height > window.innerHeight && at.top - height - 4 > 0 ? at.top - height - 4 : below}px`;
  };
  let asked = false;
  const look = (): void => {
    place();
    if (asked || !later) return;
    asked = true;
    void later().then((more) => {
      if (more.length === 0) return;
      replace(tooltip, reasons(more));
      place();
    });
  };
  return h("span", { class: "why", onmouseenter: look, onfocusin: look }, button, tooltip);
}

function reasons(said: Said[]): HTMLElement[] {
  return said.map((s) => h("span", { class: "reason" },
    s.title ? h("b", null, s.title) : null, s.title && s.detail ? ": " : "", s.detail, s.advice ? h("i", null, ` ${s.advice}`) : null));
}

export function reasonList(said: Said[]): HTMLElement {
  return h("ul", { class: "reasons" }, said.map((s) =>
    h("li", null, s.title ? h("b", null, s.title) : null, s.title && s.detail ? ": " : "", s.detail, s.advice ? h("i", null, ` ${s.advice}`) : null)));
}
