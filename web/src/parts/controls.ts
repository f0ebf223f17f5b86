/** Choices: a row of buttons for a few, a list for many. */
import { h } from "../core/dom";

export interface Choice {
  value: string;
  name: string;
  title?: string;
}

export function segments(label: string, choices: Choice[], chosen: string, choose: (value: string) => void): HTMLElement {
  return h("div", { class: "segments", role: "group", "aria-label": label },
    choices.map((choice) => h("button", {
      type: "button",
      "aria-pressed": String(choice.value === chosen),
      "data-value": choice.value,
      title: choice.title ?? null,
      onclick: () => choose(choice.value),
    }, choice.name)));
}

let nextId = 0;

export function select(label: string, choices: Choice[], chosen: string, choose: (value: string) => void): HTMLElement {
  const id = `select-${nextId++}`;
  const list = h("select", { id, onchange: (event: Event) => choose((event.target as HTMLSelectElement).value) },
    choices.map((choice) => h("option", { value: choice.value, selected: choice.value === chosen }, choice.name)));
  return h("div", { class: "choice" }, h("label", { for: id }, label), list);
}
