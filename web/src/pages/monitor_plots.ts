/** What the machines of a trial did: CPUs, memory, network. */
import type { CpuShares, MonitorSeries } from "../data";
import { color } from "../core/colors";
import { h } from "../core/dom";
import { axisBytes, bytes, percent } from "../core/format";
import { segments, select } from "../parts/controls";
import { figure } from "../parts/figure";
import { type Layer, stack, type StackOptions } from "../plots/stack";
import type { Context } from "./page";
import { legendOf, timeFigure, type WithPlotData } from "./trial_plots";

const CLASSES = ["user", "system", "iowait", "irq", "softirq", "steal", "idle"] as const;
/** Idle is left blank. */
const FILLED = 6;

const cpuName = (cpu: CpuShares): string => (cpu.cpu === null ? "total" : String(cpu.cpu));

/** One machine of one trial, which the controls choose; nothing for trials that have none. */
export function monitor({ state }: Context, chosen: WithPlotData[], end: number): HTMLElement | null {
  const seen = chosen.filter((c) => c.picture.monitor.length > 0);
  const trial = seen.find((c) => String(c.head.index) === state.get("machine-of")) ?? seen[0];
  const machine = trial?.picture.monitor.find((m) => m.machine === state.get("machine")) ?? trial?.picture.monitor[0];
  const cpu = machine?.cpus.find((c) => cpuName(c) === state.get("cpu")) ?? machine?.cpus[0];
  if (!trial || !machine || !cpu || machine.at_ns.length === 0) return null;
  const machines = trial.picture.monitor.map((m) => ({ value: m.machine, name: `${m.machine}'s` }));
  const controls = [
    seen.length > 1 ? select("Trial", seen.map((c) => ({ value: String(c.head.index), name: c.name })), String(trial.head.index), (v) => state.set({ "machine-of": v })) : null,
    machines.length > 1 ? segments("Machine", machines, machine.machine, (v) => state.set({ machine: v })) : null,
    machine.cpus.length > 2 ? select("CPU", machine.cpus.map((c) => ({ value: cpuName(c), name: cpuName(c) })), cpuName(cpu), (v) => state.set({ cpu: v })) : null,
  ].filter((c) => c !== null);
  const at = machine.at_ns.map((ns) => ns / 1e9);
  const frame = { at, seconds: [0, end] as [number, number] };
  const classes = CLASSES.map((name, k): Layer => ({ name, color: color(k), values: cpu[name] }));
  const memory = memoryLayers(machine);
  const installed = Math.max(...at.map((_, i) => memory.reduce((sum, layer) => sum + (layer.values[i] ?? 0), 0)), 1);
  const network = ([["received", machine.received_per_s, 0], ["sent", machine.sent_per_s, 1], ["loopback", machine.loopback_per_s, 2]] as const)
    .map(([name, values, k]) => ({ name, color: color(k), points: at.flatMap((x, i): [number, number | null][] => (x > 0 ? [[x, values[i] ?? null]] : [])) }));
  const whose = machine.machine === "" ? "The machine" : `The ${machine.machine}'s machine`;
  return h("section", null, h("h2", null, `${whose}${seen.length > 1 ? `: ${trial.name}` : ""}`), h("div", { class: "figure-tools" }, controls),
    h("div", { class: "panes" },
      parts("monitor-cpu", cpu.cpu === null ? "All CPUs, share of the time" : `CPU ${cpu.cpu}, share of the time`, { ...frame, layers: classes.slice(0, FILLED), most: 1, format: percent, value: percent }, classes),
      machine.used_bytes.length > 0 ? parts("monitor-memory", "Memory of the machine", { ...frame, layers: memory.slice(0, 3), most: installed, format: axisBytes, value: bytes }, memory) : null,
      machine.received_per_s.length > 0 ? timeFigure({ id: "monitor-network", title: "Network, bytes per second", lines: network, format: axisBytes, value: (v) => `${bytes(v)}/s` }, [0, end], true) : null));
}

function memoryLayers(machine: MonitorSeries): Layer[] {
  const all = [["used", machine.used_bytes], ["cached", machine.cached_bytes], ["buffers", machine.buffers_bytes], ["free", machine.free_bytes]] as const;
  return all.map(([name, values], k) => ({ name, color: color(k), values }));
}

/** The layers that are drawn, of all that the table has. */
function parts(id: string, title: string, options: StackOptions, all: Layer[]): HTMLElement {
  const drawn = options.layers.filter((layer) => layer.values.some((v) => v > 0));
  return figure({
    id: `plot-${id}`,
    title,
    legend: legendOf(drawn),
    draw: (width) => stack({ ...options, layers: drawn }, width),
    table: () => ({ head: ["Seconds", ...all.map((layer) => layer.name)], rows: options.at.map((x, i) => [Number(x.toFixed(2)), ...all.map((layer) => layer.values[i] ?? 0)]) }),
  });
}
