/** Terms and what is said of them; the machine; a line to copy. */
import type { Host } from "../data";
import { h } from "../core/dom";
import { bytes } from "../core/format";
import { copy } from "../core/save";

export function facts(entries: [string, Node | string | number | null | undefined][]): HTMLElement {
  return h("dl", { class: "facts" }, entries.filter(([, v]) => v !== null && v !== undefined && v !== "").map(([term, said]) =>
    h("div", null, h("dt", null, term), h("dd", null, said))));
}

export function host(machine: Host): HTMLElement {
  return facts([
    ["Processor", `${machine.cpu_model}, ${machine.cpus_online} ${machine.cpus_online === 1 ? "CPU" : "CPUs"}`],
    ["Memory", bytes(machine.memory_bytes)],
    ["System", machine.os],
    ["Kernel", machine.kernel],
    ["Virtualisation", machine.virtualisation],
    ["Governor", machine.governor],
    ["Open files", `${machine.open_files_soft} soft, ${machine.open_files_hard} hard`],
    ["Ephemeral ports", `${machine.ephemeral_port_low}–${machine.ephemeral_port_high}`],
    ["Accept queue", `${machine.somaxconn} at most`],
  ]);
}

export function command(line: string): HTMLElement {
  return h("div", { class: "command" }, h("pre", { tabindex: "0" }, h("code", null, line)),
    h("button", { type: "button", class: "quiet", onclick: () => void copy(line, "Command") }, "Copy"));
}
