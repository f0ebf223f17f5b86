/** How to read it, what happened, the machine, and the line that makes it again. */
import { h } from "../core/dom";
import { duration, when } from "../core/format";
import { command, facts, host } from "../parts/facts";
import type { Page } from "./page";

const READING = [
  "A rank is an interval: 2–4 may be second, third or fourth; equal intervals are ties.",
  "≥ is a lower bound: the client was the limit. – is withheld, as too few samples would make it chance. > 2 s is beyond what was waited for. ? marks a figure that a verdict doubts.",
  "Response is what a user of the server waits: lateness and waiting for a connection, connecting, and service. Client delay is not the server's.",
];

export const about: Page = {
  id: "about",
  title: "How and where",
  has: () => true,
  render({ data }, root) {
    const { head } = data;
    const cpus = (list: number[]): string => (list.length === 0 ? "not pinned" : list.join(", "));
    root.append(
      h("section", { class: "card" }, h("h2", null, "Do it again"), command(head.reproduce),
        facts([["Measured", when(head.created_at)], ["Conditions", head.conditions], ["Trials", head.shape], ["Measured by", `prony ${head.version}`], ["Shown by", `prony ${data.tool.version}`], ["Seed", head.seed], ["Server's CPUs", cpus(head.server_cpus)], ["Client's CPUs", cpus(head.client_cpus)]])),
      h("section", { class: "card" }, h("h2", null, head.server_host ? "The client's host" : "Host"), host(head.host)),
      ...(head.server_host ? [h("section", { class: "card" }, h("h2", null, "The servers' host"),
        facts([["Address", head.server_host.address], ["Interface", head.server_host.interface], ["Shortest round trip over ssh", duration(head.server_host.control_rtt_ns)]]), host(head.server_host.host))] : []),
      h("section", { class: "card" }, h("h2", null, "How to read it"), h("ul", { class: "reasons" }, [...(data.experiment ? [head.interval_method] : []), ...READING].map((t) => h("li", null, t)))),
    );
    if (data.experiment) {
      root.append(h("section", { class: "card" }, h("h2", null, "Candidates"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Candidates" }, h("table", { class: "data" },
        h("thead", null, h("tr", null, ["Candidate", "Title", "Language", "Kind", "Settings", "Cores", "Workers", "Version"].map((c) => h("th", { scope: "col" }, c)))),
        h("tbody", null, data.candidates.map((c) => h("tr", null, h("th", { scope: "row" }, c.label), [c.title, c.language, c.kind, c.axes?.map(({ axis, value }) => `${axis}: ${value}`).join(", ") || c.settings.join(", ") || "defaults", head.server_cpus.length || null, c.workers, c.version].map((v) => h("td", null, v ?? "–")))))))));
    }
    const { notes } = head;
    if (notes.length > 0) root.append(h("section", { class: "card" }, h("h2", null, "Notes of the run"), h("ul", { class: "reasons" }, notes.map((n) => h("li", null, n)))));
  },
};
