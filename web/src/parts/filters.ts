/** What narrows candidates down: by language, kind, and each axis that they differ in; kept in the address. */
import { h } from "../core/dom";
import { axesOf, choices, type Filters, WITHOUT } from "../core/rows";
import type { State } from "../core/state";
import type { Context } from "../pages/page";
import { select } from "./controls";

const key = (axis: string): string => `on-${axis}`;

export function filtersOf({ data, state }: Context): Filters {
  return {
    languages: state.list("language"),
    kinds: state.list("kind"),
    axes: Object.fromEntries(axesOf(data).map(({ axis }) => [axis, state.list(key(axis))])),
  };
}

/** A pill a value; several may be pressed, and none is all. */
function pills(state: State, name: string, label: string, values: { value: string; name: string; said?: string }[], head: string | null): HTMLElement {
  const active = state.list(name);
  const toggle = (value: string): void =>
    state.set({ [name]: (active.includes(value) ? active.filter((v) => v !== value) : [...active, value]).join(",") });
  return h("div", { class: "filter", role: "group", "aria-label": label },
    head === null ? null : h("span", { class: "filter-name", "aria-hidden": "true" }, head),
    values.map((v) => h("button", { type: "button", class: "pill", "aria-pressed": String(active.includes(v.value)), "data-filter": `${name}:${v.value}`, title: v.said ?? null, "aria-label": v.said ?? null, onclick: () => toggle(v.value) }, v.name)));
}

/** Languages and kinds as pills. */
export function byNature({ data, state }: Context): (HTMLElement | null)[] {
  return (["language", "kind"] as const).map((name) => {
    const found = choices(data, name);
    return found.length === 0 ? null : pills(state, name, `Filter by ${name}`, found.map((value) => ({ value, name: value })), null);
  });
}

/** The same as lists, where there is less room. */
export function byNatureInLists({ data, state }: Context): (HTMLElement | null)[] {
  return (["language", "kind"] as const).map((name) => {
    const found = choices(data, name);
    if (!data.experiment || found.length === 0) return null;
    return select(name === "language" ? "Language" : "Kind", [{ value: "", name: "all" }, ...found.map((v) => ({ value: v, name: v }))], state.get(name) ?? "", (v) => state.set({ [name]: v }));
  });
}

/** An axis of the recipes a group: `opt: none opcache jit`. */
export function byAxis({ data, state }: Context): HTMLElement[] {
  return axesOf(data).map(({ axis, values }) => pills(state, key(axis), `Filter by ${axis}`, values.map((value) =>
    value === WITHOUT ? { value, name: "–", said: `servers without ${axis}` } : { value, name: value }), `${axis}:`));
}
