/** Reads the data in the file, and shows the page that its kind and the address ask for. */
import "./style.css";
import { type PageData, type RunData, SCHEMA } from "./data";
import { h, replace } from "./core/dom";
import { when } from "./core/format";
import { openForPrint } from "./core/print";
import { State } from "./core/state";
import { PAGES } from "./pages/index";
import { history } from "./pages/history";
import { live } from "./pages/live";
import { runs } from "./pages/runs";

function topBar(nav: HTMLElement | null): HTMLElement {
  const themes = ["auto", "light", "dark"];
  const button = h("button", { type: "button", class: "quiet theme" }, "Theme: auto");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset["theme"] ?? "auto") + 1) % themes.length] ?? "auto";
    document.documentElement.dataset["theme"] = next;
    button.textContent = `Theme: ${next}`;
  });
  return h("div", { class: "top" }, h("a", { class: "skip", href: "#main", onclick: (e: Event) => { e.preventDefault(); document.getElementById("main")?.focus(); } }, "To the content"),
    h("span", { class: "brand" }, brandMark(), "Prony"), nav, button);
}

function footer(tool: { version: string }): HTMLElement {
  const file = document.querySelector("script#program") ? " This file loads nothing from anywhere." : "";
  return h("footer", null, `Made by prony ${tool.version}.${file}`);
}

/** The brake: a drum and its lever. */
function brandMark(): SVGElement {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(ns, "path");
  path.setAttribute("d", "M2 6h20M5 6a7 7 0 1 0 10 0M10 13h.01M20 6v6");
  svg.appendChild(path);
  return svg;
}

function hero(data: RunData): HTMLElement {
  const { head } = data;
  const kinds = [["valid", "valid"], ["lower_bound", "lower bounds"], ["suspect", "suspect"], ["void", "not counted"], ["missing", "missing"]] as const;
  const some = kinds.filter(([k]) => head.trials[k] > 0);
  return h("header", { class: "hero" },
    h("p", { class: "eyebrow" }, `${head.name} · ${when(head.created_at)}`, head.interrupted ? h("strong", { class: "bad" }, " · INTERRUPTED") : null),
    // A figure and its sign stay on one line.
    h("h1", null, head.headline.replaceAll(" %", "\u00a0%")),
    head.title === head.headline ? null : h("p", { class: "lede" }, head.title),
    h("div", { class: "kinds" },
      h("div", { class: "kind-bar", "aria-hidden": "true" }, some.map(([k]) => h("span", { class: k, style: `flex-grow:${head.trials[k]}` }))),
      h("p", null, `${head.shape}: `, some.map(([k, name], i) => [i > 0 ? ", " : "", h("span", { class: `kind ${k}` }, `${head.trials[k]} ${head.trials[k] === 1 && k === "lower_bound" ? "lower bound" : name}`)]).flat())),
    h("p", { class: "note" }, `${head.conditions} · ${head.host.cpu_model}, ${head.host.kernel}`));
}

function showRun(data: RunData, root: HTMLElement): void {
  const state = new State(location.hash);
  const pages = PAGES.filter((page) => page.has(data));
  const nav = h("nav", { "aria-label": "Pages" });
  const main = h("main", { id: "main", tabindex: "-1" });
  const render = (): void => {
    const page = pages.find((p) => p.id === state.page) ?? pages[0];
    if (!page) return;
    const focused = describeFocus();
    replace(nav, data.home ? h("a", { href: data.home, class: "home" }, "← Runs") : null, pages.map((p) => h("a", { href: state.link(p.id), "aria-current": p === page ? "page" : null }, p.title)));
    main.dataset["page"] = page.id;
    // The page keeps its height while it is drawn anew, so that nothing jumps.
    main.style.minHeight = `${main.offsetHeight}px`;
    replace(main);
    page.render({ data, state }, main);
    window.setTimeout(() => { main.style.minHeight = ""; }, 300);
    restoreFocus(focused);
  };
  replace(root, topBar(nav), hero(data), main, footer(data.tool));
  state.onChange(render);
  render();
}

/** Which control had the focus, so that a keyboard does not lose its place when the page is drawn anew. */
function describeFocus(): string | null {
  const active = document.activeElement;
  if (!(active instanceof HTMLElement) || !active.closest("main")) return null;
  for (const name of ["value", "sort", "base", "filter", "trial", "candidate"]) {
    const value = active.dataset[name];
    if (value !== undefined) return `[data-${name}="${CSS.escape(value)}"]`;
  }
  const label = active instanceof HTMLSelectElement ? active.closest(".choice")?.querySelector("label")?.textContent : null;
  return label ? `select:${label}` : null;
}

function restoreFocus(described: string | null): void {
  if (!described) return;
  const found = described.startsWith("select:")
    ? [...document.querySelectorAll<HTMLElement>("main .choice")].find((c) => c.querySelector("label")?.textContent === described.slice(7))?.querySelector<HTMLElement>("select")
    : document.querySelector<HTMLElement>(`main ${described}`);
  found?.focus({ preventScroll: true });
}

function start(): void {
  const root = document.getElementById("app");
  if (!root) return;
  openForPrint();
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "null") as PageData | null;
  if (!data || data.schema !== SCHEMA) {
    replace(root, h("p", null, `This page shows ${SCHEMA}; its data are ${data?.schema ?? "missing"}.`));
    return;
  }
  if (data.kind === "run") {
    showRun(data, root);
    return;
  }
  const main = h("main", { id: "main", tabindex: "-1" });
  if (data.kind === "history") {
    const home = data.history.home;
    replace(root, topBar(home ? h("nav", { "aria-label": "Pages" }, h("a", { href: home, class: "home" }, "← Runs")) : null), main,
      footer(data.tool));
    const state = new State(location.hash);
    const draw = (): void => {
      const focused = describeFocus();
      history(data.history, state, main);
      restoreFocus(focused);
    };
    state.onChange(draw);
    draw();
    return;
  }
  replace(root, topBar(null), main);
  if (data.kind === "live") live(data.live, main);
  else runs(data.runs, data.history ?? null, main);
}

start();
