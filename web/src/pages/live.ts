/** The page while a run goes on: told by the server's events, four a second; then the report. */
import type { LiveAgent, LiveEnd, LiveEvent, LiveHead, LivePoint } from "../data";
import { h, replace } from "../core/dom";
import { axisDuration, duration, rate, seconds, si, thousands, words, WITHHELD } from "../core/format";
import { figure } from "../parts/figure";
import { type Line, time } from "../plots/time";

/** What the events so far add up to. Pure: events in, state out. */
export interface LiveState {
  points: LivePoint[];
  now: LivePoint | null;
  total_ns: number | null;
  trial: number | null;
  ended: Map<number, LiveEnd>;
  agents: LiveAgent[];
  left_ns: number | null;
  done: { report: boolean; sentence: string } | null;
}

export function begin(head: LiveHead): LiveState {
  return { points: [], now: null, total_ns: head.total_ns, trial: null, ended: new Map(), agents: [], left_ns: null, done: null };
}

export function hear(state: LiveState, event: LiveEvent): LiveState {
  switch (event.type) {
    case "point":
      // The server keeps them at as many as a plot has pixels, and tells all anew where it put some together.
      return { ...state, points: [...state.points, event], now: event };
    case "now":
      return { ...state, now: event };
    case "agents":
      return { ...state, agents: event.agents };
    case "trial_begins":
      return { ...state, points: [], now: null, trial: event.index, total_ns: event.total_ns };
    case "trial_ends":
      return { ...state, ended: new Map(state.ended).set(event.index, event), left_ns: event.left_ns };
    case "done":
      return { ...state, done: { report: event.report, sentence: event.sentence } };
  }
}

export function live(head: LiveHead, root: HTMLElement): void {
  let state = begin(head);
  const status = h("div", { class: "live-status", role: "status" });
  const tiles = h("div", { class: "tiles" });
  const progress = h("progress", { max: "1", value: "0", "aria-label": "Progress" });
  const plots = h("div", { class: "stack" });
  const grid = h("div");
  const fleet = h("div");
  root.append(h("header", { class: "hero" }, h("h1", null, head.title), h("p", { class: "lede" }, head.describe), progress, status),
    tiles, fleet, ...(head.order.length > 0 ? [grid, plots] : [plots]), h("section", { class: "card" }, h("h2", null, "The command"), h("pre", { tabindex: "0" }, h("code", null, head.command))));
  let drawn = 0;
  const draw = (): void => {
    const now = state.now;
    const share = now && state.total_ns ? Math.min(1, now.elapsed_ns / state.total_ns) : 0;
    const whole = head.order.length > 0 ? (state.ended.size + (state.ended.has(state.trial ?? -1) ? 0 : share)) / head.order.length : share;
    progress.value = state.done ? 1 : whole;
    replace(status, statusLine(head, state));
    replace(tiles, ...tilesOf(state));
    if (state.agents.length > 0) replace(fleet, agentsOf(state.agents));
    if (head.order.length > 0) replace(grid, gridOf(head, state));
    // A plot is drawn anew twice a second: the eye asks for no more.
    if (now && (performance.now() - drawn > 450 || state.done)) {
      drawn = performance.now();
      drawPlots(plots, head, state);
    }
  };
  const source = new EventSource("events");
  source.onmessage = (message: MessageEvent<string>) => {
    const told = JSON.parse(message.data) as LiveEvent | LiveEvent[];
    const events = Array.isArray(told) ? told : [told];
    // A list is everything so far: after a break in the connection it begins anew.
    if (Array.isArray(told)) state = begin(head);
    for (const event of events) state = hear(state, event);
    draw();
    if (state.done) {
      source.close();
      if (state.done.report) location.replace("report");
    }
  };
  source.onerror = () => { if (!state.done) replace(status, "The connection to prony broke; trying again…"); };
  draw();
}

function statusLine(head: LiveHead, state: LiveState): string {
  if (state.done) return state.done.report ? "Done; the report opens." : state.done.sentence;
  const now = state.now;
  const trial = head.order.find((t) => t.index === state.trial);
  const who = trial ? `${trial.candidate} · ${trial.plan} · block ${trial.block + 1} — ` : "";
  if (!now) return `${who}starting…`;
  const of = state.total_ns ? ` of ${seconds(state.total_ns)}` : "";
  const left = state.left_ns ? `, about ${Math.round(state.left_ns / 1e9)} s left` : "";
  return `${who}${now.in_window ? "measuring" : "warm-up"}, ${seconds(now.elapsed_ns)}${of}${left}`;
}

function tilesOf(state: LiveState): HTMLElement[] {
  const now = state.now;
  const tile = (name: string, value: string, tone = ""): HTMLElement => h("div", { class: `tile ${tone}` }, h("span", { class: "tile-name" }, name), h("span", { class: "tile-value" }, value));
  const ns = (v: number | null | undefined): string => (v === null || v === undefined ? WITHHELD : duration(v));
  return [
    tile("requests per second", now ? rate(now.per_s) : WITHHELD),
    tile("completed", now ? thousands(now.completed) : WITHHELD),
    tile("p50, last second", ns(now?.p50_ns)),
    tile("p99, last second", ns(now?.p99_ns)),
    tile("failed, last second", now?.failed === null || now?.failed === undefined ? WITHHELD : thousands(now.failed), now?.failed ? "bad" : ""),
    tile("in flight", now ? thousands(now.in_flight) : WITHHELD),
  ];
}

function agentsOf(agents: LiveAgent[]): HTMLElement {
  return h("section", { class: "card" }, h("h2", null, "Agents"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Agents" }, h("table", { class: "data" },
    h("thead", null, h("tr", null, ["Agent", "Sent", "Completed", "Failed"].map((c, i) => h("th", { scope: "col", class: i > 0 && "num" }, c)))),
    h("tbody", null, agents.map((agent) => h("tr", null, h("th", { scope: "row" }, agent.name), [agent.sent, agent.completed, agent.failed].map((n) => h("td", { class: "num" }, thousands(n)))))))));
}

function drawPlots(root: HTMLElement, head: LiveHead, state: LiveState): void {
  const end = Math.max((state.total_ns ?? 0) / 1e9, (state.now?.elapsed_ns ?? 0) / 1e9, 1);
  const first = state.points.findIndex((p) => p.in_window);
  // Where the first point counts already, there was no warm-up.
  const warmup = first === 0 ? 0 : state.points[first]?.elapsed_ns ?? state.now?.elapsed_ns ?? 0;
  const line = (name: string, color: string, of: (p: LivePoint) => number | null, area = false): Line =>
    ({ name, color, area, points: state.points.map((p) => [p.elapsed_ns / 1e9, of(p)]) });
  const asked: Line[] = head.rate_per_s ? [{ name: "asked for", color: "var(--ink-3)", dash: "4 3", points: [[0, head.rate_per_s], [end, head.rate_per_s]] }] : [];
  const all: { id: string; title: string; lines: Line[]; format: (v: number) => string; value: (v: number) => string; log?: boolean; least?: number }[] = [
    { id: "live-rate", title: "Requests per second", lines: [line("completed", "var(--c0)", (p) => p.per_s, true), ...asked], format: si, value: (v) => `${rate(v)}/s` },
    { id: "live-latency", title: "Response: p50, p99, max of each second", lines: [line("p50", "var(--c0)", (p) => p.p50_ns), line("p99", "var(--c1)", (p) => p.p99_ns), line("max", "var(--c5)", (p) => p.max_ns)], format: axisDuration, value: duration, log: true },
    { id: "live-flight", title: "In flight, and failed in each second", lines: [line("in flight", "var(--c2)", (p) => p.in_flight, true), line("failed", "var(--c5)", (p) => p.failed)], format: si, value: thousands, least: 1 },
  ];
  // The figures stay, with their open tables and their buttons; only the drawings are new.
  const caption = captionOf(state);
  const which = `${state.trial} ${caption}`;
  if (root.childElementCount !== all.length || root.dataset["which"] !== which) {
    root.dataset["which"] = which;
    replace(root, ...all.map((plot) => figure({
      id: plot.id, title: plot.title, caption,
      legend: plot.lines.map((l) => ({ name: l.name, color: l.color, ...(l.dash ? { dash: l.dash } : {}) })),
      draw: (width) => time({ ...plot, seconds: [0, end], opens: warmup / 1e9 }, width) ?? empty(),
      table: () => ({ head: ["Seconds", ...plot.lines.map((l) => l.name)], rows: (plot.lines[0]?.points ?? []).map(([x], i) => [Number(x.toFixed(2)), ...plot.lines.map((l) => l.points[i]?.[1] ?? null)]) }),
    })));
    return;
  }
  all.forEach((plot, i) => {
    const box = root.children[i]?.querySelector<HTMLElement>(".plot");
    const svg = box && box.clientWidth > 40 ? time({ ...plot, seconds: [0, end], opens: warmup / 1e9 }, Math.floor(box.clientWidth)) : null;
    if (!box || !svg) return;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", plot.title);
    replace(box, svg);
  });
}

/** What a point is, where a long load has more seconds than the plot has pixels. */
export function captionOf(state: LiveState): string {
  const each = (state.points[0]?.of ?? 1) / 4;
  return each < 1 ? "" : `Each point stands for ${each === 1 ? "a second" : `${thousands(each)} seconds`}: the rate is their mean, all else the highest of them.`;
}

function empty(): HTMLElement {
  return h("p", { class: "nothing" }, "Known after the first second of the window.");
}

/** The plan of an experiment as a grid that fills: a row a candidate, a column a plan and block. */
function gridOf(head: LiveHead, state: LiveState): HTMLElement {
  const candidates = [...new Set(head.order.map((t) => t.candidate))];
  const plans = [...new Set(head.order.map((t) => t.plan))];
  const blocks = [...new Set(head.order.map((t) => t.block))].sort((a, b) => a - b);
  const cell = (candidate: string, plan: string, block: number): HTMLElement => {
    const trial = head.order.find((t) => t.candidate === candidate && t.plan === plan && t.block === block);
    if (!trial) return h("td");
    const end = state.ended.get(trial.index);
    if (!end) return h("td", { class: trial.index === state.trial ? "now" : "todo" }, trial.index === state.trial ? "…" : "");
    const text = end.requests_per_s === null ? "✗" : si(end.requests_per_s);
    return h("td", { class: `end ${end.validity}`, title: `${words(end.validity)}${end.p99_ns === null ? "" : `, p99 ${duration(end.p99_ns)}`}` }, text + (end.validity === "suspect" ? "?" : end.validity === "invalid" ? "✗" : ""));
  };
  return h("section", { class: "card" }, h("h2", null, `Trials: ${state.ended.size} of ${head.order.length}`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Trials" }, h("table", { class: "grid" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "req/s"), plans.flatMap((p) => blocks.map((b) => h("th", { scope: "col" }, b === blocks[0] ? p : "", h("small", null, `block ${b + 1}`)))))),
      h("tbody", null, candidates.map((c) => h("tr", null, h("th", { scope: "row" }, c), plans.flatMap((p) => blocks.map((b) => cell(c, p, b)))))))));
}
