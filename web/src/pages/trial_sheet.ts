/** A trial in numbers: times, requests by fate, errors, verdict, plan, host, and the line that makes it again. */
import type { Candidate, Clock, FleetRecord, Latencies, RecordedPlan, RunData, ServerHostWindow, RecordedStage, Summary, TargetFigures } from "../data";
import { h } from "../core/dom";
import { bytes, duration, percent, plusMinus, rate, seconds, thousands, when, WITHHELD, words } from "../core/format";
import { command, facts, host } from "../parts/facts";
import { badge, reasonList } from "../parts/verdict";
import type { Chosen } from "./trial_plots";
import { verdictOf } from "./trials";

export function sheets(data: RunData, chosen: Chosen[]): HTMLElement[] {
  return chosen.map((c, k) => sheet(data, c, chosen.length === 1 || k === 0));
}

/** What was asked of the client, defaults filled in. */
export function planFacts(plan: RecordedPlan): [string, string | number | null][] {
  const stage = (s: RecordedStage): string => `${s.to_rate_per_s === null ? `${thousands(s.to_connections ?? 0)} connections` : `${rate(s.to_rate_per_s)}/s`} in ${seconds(s.duration_ns)}`;
  const checked = [plan.expect_status === null ? "any 2xx or 3xx" : `status ${plan.expect_status}`, plan.expect_body && !plan.expect_json?.length ? "its body, compared each time" : "", ...(plan.expect_json ?? [])].filter(Boolean).join(", ");
  return [
    ["Method", plan.method],
    ["URL", plan.url],
    ["List of requests", plan.targets ? `${thousands(plan.targets.lines)} lines, ${thousands(plan.targets.requests)} requests, ${words(plan.targets.order)}` : null],
    ["Headers", plan.headers.map(([name, value]) => `${name}: ${value}`).join(", ")],
    ["Body", plan.body_bytes > 0 ? `${bytes(plan.body_bytes)}${plan.body_file ? ", from a file" : ""}${plan.chunked ? ", in chunks" : ""}` : plan.chunked ? "in chunks" : null],
    ["Values", plan.values?.join(", ")],
    ["Table of values", plan.data ? `${thousands(plan.data.rows)} rows of ${plan.data.columns.join(", ")}` : null],
    ["Connections", thousands(plan.connections)],
    ["Arrivals", plan.arrivals],
    ["Rate", plan.rate_per_s === null ? null : `${rate(plan.rate_per_s)}/s`],
    ["Stages", plan.stages?.map(stage).join(", then ")],
    ["Replay", plan.replay ? `of ${seconds(plan.replay.length_ns)} at ${plan.replay.speed}x${plan.replay.looped ? ", again and again" : ""}, ${plan.replay.methods.join(", ")}; left out: ${Object.entries(plan.replay.left_out).map(([reason, lines]) => `${words(reason)} ${thousands(lines)}`).join(", ") || "none"}` : null],
    ["Duration", plan.duration_ns === null ? null : seconds(plan.duration_ns)],
    ["Requests, at most", plan.requests === null ? null : thousands(plan.requests)],
    ["Warm-up", seconds(plan.warmup_ns)],
    ["Timeout", seconds(plan.timeout_ns)],
    ["Seed", String(plan.seed)],
    ["Protocol", plan.protocol ? "HTTP/2" : null],
    [plan.protocol ? "Streams" : "Pipeline", plan.pipeline === 1 ? "none" : `${plan.pipeline} requests a connection`],
    ["Threads", `${plan.threads}${plan.cpus.length > 0 ? ` on CPU ${plan.cpus.join(", ")}` : ""}`],
    ["Keep-alive", !plan.keepalive ? "no, a connection a request" : plan.requests_per_connection ? `${thousands(plan.requests_per_connection)} requests a connection` : "yes"],
    ["Connects to", plan.connect_to?.join(", ")],
    ["Addresses", plan.all_addresses ? "all of the name's" : null],
    ["Version of IP", plan.ip_version],
    ["Names resolved", plan.resolve_every_ns ? `every ${seconds(plan.resolve_every_ns)}` : null],
    ["Name in TLS", plan.sni],
    ["Expected", checked],
    ["Responses", plan.decode ? "decoded" : null],
    ["Clock of arrivals", plan.user_clock ? "the client's, as asked" : null],
    ["Stays awake before sends", plan.spin ? "yes" : null],
    ["Local addresses", plan.sources?.join(", ")],
    ["TLS asked for", plan.tls ? `checked against ${plan.tls.verify}, resumption ${plan.tls.resumption}, ALPN ${plan.tls.alpn}${plan.tls.client_certificate ? ", with a client's certificate" : ""}` : null],
  ].filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== undefined && entry[1] !== "");
}

/** Who was loaded; of a URL that somebody else runs little is known. */
export function candidateFacts(candidate: Candidate): [string, string | number | null][] {
  const settings = candidate.axes?.map(({ axis, value }) => `${axis}: ${value}`).join(", ") || candidate.settings.join(", ");
  const known = candidate.version !== null || candidate.workers !== null || candidate.language !== null || settings !== "";
  return [
    ["Candidate", candidate.title === candidate.label ? candidate.label : `${candidate.label}: ${candidate.title}`],
    ["Version", candidate.version],
    ["Workers", candidate.workers],
    ["Settings", settings || (known ? "defaults" : null)],
    ["Connections serve", candidate.keepalive ? null : "one request each"],
  ];
}

/** What the servers' whole machine did in the window, where that is another than the client's. */
export function serverHostFacts(host: ServerHostWindow): [string, string | null][] {
  const time = (ns: number | null): string => (ns === null ? WITHHELD : duration(ns));
  const count = (n: number | null): string => (n === null ? WITHHELD : thousands(n));
  return [
    ["Servers' host, interrupts", `${time(host.irq_ns)} hard, ${time(host.softirq_ns)} soft, of all its CPUs`],
    ["Servers' host, packets", `${count(host.packets_received)} received, ${count(host.packets_sent)} sent, ${count(host.packets_dropped)} dropped`],
    ["Servers' host, TCP segments sent again", count(host.tcp_retransmits)],
    ["Servers' host, connects turned away", host.listen_drops ? count(host.listen_drops) : null],
    ["Servers' host, its clock", `known within ${duration(host.clock_bound_ns)}`],
  ];
}

function sheet(data: RunData, c: Chosen, open: boolean): HTMLElement {
  const candidate = data.candidates[c.head.candidate];
  const { head, detail } = c;
  const d = detail.trial;
  const r = d.requests;
  const errors = Object.entries(d.errors);
  return h("details", { class: "card sheet", open }, h("summary", null, h("h2", null, h("span", { class: "chip", style: `background:${c.color}`, "aria-hidden": "true" }), c.name, " ", badge(verdictOf(head)))),
    h("p", { class: "answer" }, h("b", null, `${head.bound === "lower" ? "≥ " : ""}${rate(head.requests_per_s.point)} req/s`), ` ${plusMinus(head.requests_per_s)}`, ` · ${detail.plan_line}`),
    d.verdict.reasons.length > 0 ? reasonList(d.verdict.reasons.map((reason) => ({ title: `${words(reason.code)} (${words(reason.effect)}: ${reason.affects.join(", ")})`, detail: reason.detail, advice: reason.advice }))) : h("p", { class: "note" }, "No verdict touches a figure of this trial."),
    times(data, c.name, d.latency, detail.unseen_stalls),
    h("h3", null, "Requests"),
    facts([["Carried in", thousands(r.carried_in)], ["Due", thousands(r.scheduled)], ["Completed", thousands(r.completed)], ["Failed", thousands(r.failed)], ["In flight at the end", thousands(r.in_flight)], ["Never sent", thousands(r.never_sent)], ["By status", Object.entries(d.status).map(([code, n]) => `${code}: ${thousands(n)}`).join(", ")], ["Read", `${bytes(d.throughput.read_bytes_per_s)}/s`], ["Sent", `${bytes(d.throughput.sent_bytes_per_s)}/s`], ["Sent in all, warm-up included", thousands(d.run_total.sent)], ["Connections made", thousands(d.run_total.connections)]]),
    errors.length > 0 ? h("ul", { class: "reasons" }, errors.map(([kind, n]) => h("li", null, `${thousands(n)} × `, h("b", null, words(kind)), d.first_errors?.[kind] ? `: ${d.first_errors[kind]}` : ""))) : null,
    d.targets?.length ? targets(c.name, d.targets) : null,
    d.fleet?.agents.length ? agents(c.name, d.window.duration_ns, d.fleet.agents) : null,
    h("h3", null, "Server and client"),
    facts([
      ...(candidate ? candidateFacts(candidate) : []),
      ["Server CPU", d.server ? `${duration(d.server.window_cpu_ns)} in the window, ${head.completed > 0 ? `${duration(d.server.window_cpu_ns / head.completed)} a request` : ""} (${d.server.cpu_method})` : null],
      ["Server memory", d.server ? `${bytes(d.server.peak_memory_bytes)} at most (${d.server.memory_method})` : null],
      ["Server processes", d.server ? `${d.server.processes}, ${d.server.threads} threads${d.server.cpus.length > 0 ? ` on CPU ${d.server.cpus.join(", ")}` : ""}` : null],
      ["Start-up", d.server ? duration(d.server.startup_ns) : null],
      ...(d.server?.host ? serverHostFacts(d.server.host) : []),
      ["Client CPU", `${percent(d.client.cpu_ns / d.window.duration_ns)} of one core${d.client.cpu_per_request_ns === null ? "" : `, ${duration(d.client.cpu_per_request_ns)} a request`}`],
      ["Busiest worker", percent(d.client.busiest_worker)],
      ["Client memory", bytes(d.client.max_rss_bytes)],
      ["TLS", d.tls ? `${d.tls.version ?? "none"} ${d.tls.cipher ?? ""}, ${thousands(d.tls.handshakes_full)} full, ${thousands(d.tls.handshakes_resumed)} resumed` : null],
      ["HTTP/2", d.http2 ? `${thousands(d.http2.streams)} streams a connection at once, ${thousands(d.http2.moved)} requests moved to another` : null],
      ["Waits for a stream", d.http2?.no_stream.count ? `${thousands(d.http2.no_stream.count)}, ${duration(d.http2.no_stream.total_ns)} in all` : null],
      ["Waits for a connection", d.http2?.no_connection.count ? `${thousands(d.http2.no_connection.count)}, ${duration(d.http2.no_connection.total_ns)} in all` : null],
      ["Waits for the server's windows", d.http2?.held_ns ? `${duration(d.http2.held_ns)} in all` : null],
    ]),
    h("h3", null, "The load"), facts(planFacts(d.plan)),
    h("h3", null, "Do it again"), command(detail.reproduce),
    facts([["Target", d.target.url], ["Address", d.target.address], ["Started", when(d.started_at)], ["Window", `${seconds(d.window.duration_ns)} after ${seconds(d.window.warmup_ns)} of warm-up`], ["Measured by", `prony ${d.tool.version}`]]),
    h("h3", null, "Host"), host(d.host));
}

/** The parts of the requests' time. */
const PARTS: [keyof Latencies, string][] = [
  ["response", "response"], ["service", "service"], ["first_byte", "first byte"], ["send_lag", "send lag"], ["connect_wait", "connect wait"],
  ["connection_wait", "wait for a connection"], ["client_delay", "client delay"],
];
const CLOCKS: Record<Clock, string> = { kernel: "kernel clock", "kernel-upper": "kernel, upper", user: "user clock" };

function times(data: RunData, name: string, latency: Latencies, unseen: string | null): HTMLElement {
  const value = (ns: number | null): string => (ns === null ? WITHHELD : duration(ns));
  const rows = PARTS.flatMap(([part, title]) => {
    const summary = latency[part];
    // What nobody waited for is no line of a table.
    return summary && (part === "response" || (summary.max_ns ?? 0) > 0) ? [{ title, summary }] : [];
  });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Times of ${name}` }, h("table", { class: "data" },
    h("thead", null, h("tr", null, ["Time", "Clock", "Min", ...data.percentiles.map(([, title]) => title), "Max", "Mean"].map((c, i) => h("th", { scope: "col", class: i > 1 && "num" }, c)))),
    h("tbody", null, rows.map(({ title, summary }) => h("tr", null, h("th", { scope: "row" }, title), h("td", null, CLOCKS[summary.clock]), h("td", { class: "num" }, value(summary.min_ns)),
      data.percentiles.map(([field]) => h("td", { class: "num" }, ...percentile(summary, field))),
      h("td", { class: "num" }, value(summary.max_ns)), h("td", { class: "num" }, value(summary.mean_ns)))))),
    unseen ? h("p", { class: "note" }, unseen) : null);
}

/** What each request of a list got. */
function targets(name: string, rows: TargetFigures[]): HTMLElement {
  return h("section", null, h("h3", null, "By request"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Requests of ${name}` }, h("table", { class: "data" },
    h("thead", null, h("tr", null, ["Request", "Lines", "Completed", "Failed", "Waiting", "p50", "p99", "Max"].map((c, i) => h("th", { scope: "col", class: i > 0 && "num" }, c)))),
    h("tbody", null, rows.map((row) => h("tr", null, h("th", { scope: "row" }, row.request),
      [row.lines, row.completed, row.failed, row.waiting].map((n) => h("td", { class: "num" }, thousands(n))),
      ["p50_ns", "p99_ns"].map((field) => h("td", { class: "num" }, ...percentile(row.response, field))),
      h("td", { class: "num" }, row.response.max_ns === null ? WITHHELD : duration(row.response.max_ns))))))));
}

/** How much a clock moved against the controller's. */
function drift(ns?: number): string {
  return ns === undefined ? WITHHELD : `${ns < 0 ? "−" : "+"}${duration(Math.abs(ns))}`;
}

/** What each agent of a fleet did: its name, its figures, and the machine that it ran on. */
export function agentRows(rows: FleetRecord["agents"], window_ns: number): { name: string; figures: string[]; host: string }[] {
  const completed = rows.reduce((sum, row) => sum + row.completed, 0);
  const time = (ns: number | null): string => (ns === null ? WITHHELD : duration(ns));
  return rows.map((row) => ({
    name: row.name,
    figures: [completed > 0 ? percent(row.completed / completed) : WITHHELD, thousands(row.completed), thousands(row.failed), percent(row.cpu_ns / window_ns), time(row.send_lag_p99_ns), duration(row.clock_bound_ns), drift(row.clock_moved_ns)],
    host: row.host ? `${row.host.cpu_model}, ${row.host.cpus_online} CPUs, ${row.host.kernel}` : WITHHELD,
  }));
}

function agents(name: string, window_ns: number, rows: FleetRecord["agents"]): HTMLElement {
  return h("section", null, h("h3", null, "By agent"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Agents of ${name}` }, h("table", { class: "data" },
    h("thead", null, h("tr", null, ["Agent", "Share", "Completed", "Failed", "CPU", "Send lag p99", "Clock ±", "Drift", "Host"].map((c, i, all) => h("th", { scope: "col", class: i > 0 && i < all.length - 1 && "num" }, c)))),
    h("tbody", null, agentRows(rows, window_ns).map((row) => h("tr", null, h("th", { scope: "row" }, row.name), row.figures.map((cell) => h("td", { class: "num" }, cell)), h("td", null, row.host)))))));
}

function percentile(summary: Summary, field: string): (HTMLElement | string)[] {
  const value = summary[field as keyof Summary] as number | null | undefined;
  const [low, high] = summary.ci95[field] ?? [null, null];
  if (value != null) return [duration(value), ...(low === null ? [] : [h("small", null, high === null ? `≥ ${duration(low)}` : `${duration(low)} – ${duration(high)}`)])];
  const [beyond, needs] = [summary.censored_at_ns?.[field], summary.needs_duration_ns?.[field]];
  if (beyond !== undefined) return [`> ${duration(beyond)}`];
  return [WITHHELD, ...(needs !== undefined ? [h("small", null, `needs -d ${Math.ceil(needs / 1e9)}s`)] : [])];
}
