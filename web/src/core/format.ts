/** Figures as people read them. The same rules as `crates/report/src/format.rs`. */
import type { Estimate, Unit } from "../data";

export const WITHHELD = "–";

/** `13,870` */
export function thousands(n: number): string {
  return Math.round(n).toLocaleString("en-US");
}

/** To so many significant digits, without an exponent: `6.98`, `0.0312`, `13,900`. */
export function significant(value: number, digits: number): string {
  if (value === 0 || !Number.isFinite(value)) return "0";
  const rounded = Number(value.toPrecision(digits));
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  return places === 0 ? thousands(rounded) : rounded.toFixed(Math.min(places, 12));
}

/** Requests per second: whole from a hundred. */
export function rate(perS: number): string {
  return Math.abs(perS) >= 99.95 ? thousands(perS) : significant(perS, 3);
}

/** On an axis: `0`, `950`, `13.9k`, `2M`. */
export function si(value: number): string {
  const size = Math.abs(value);
  for (const [unit, factor] of [["G", 1e9], ["M", 1e6], ["k", 1e3]] as const) {
    if (size >= factor * 0.9995) return trim(significant(value / factor, 3)) + unit;
  }
  return trim(significant(value, 3));
}

function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

const TIMES = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]] as const;

/** `6.98 ms`, `31.0 µs`, `2.00 s` */
export function duration(ns: number): string {
  const [unit, factor] = TIMES.find(([, f]) => Math.abs(ns) >= f * 0.9995) ?? TIMES[3];
  return `${significant(ns / factor, unit === "ns" && ns < 100 ? Math.max(1, String(Math.round(ns)).length) : 3)} ${unit}`;
}

/** On an axis: `10 ms`, `2 s`. */
export function axisDuration(ns: number): string {
  if (ns === 0) return "0";
  const [unit, factor] = TIMES.find(([, f]) => Math.abs(ns) >= f * 0.9995) ?? TIMES[3];
  return `${trim(significant(ns / factor, 3))} ${unit}`;
}

/** `58.1 MB` (decimal). */
export function bytes(n: number): string {
  const units = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]] as const;
  const [unit, factor] = units.find(([, f]) => n >= f * 0.9995) ?? ["B", 1];
  return `${significant(n / factor, 3)} ${unit}`;
}

export function axisBytes(n: number): string {
  const [figure, unit] = bytes(n).split(" ");
  return `${trim(figure ?? "0")} ${unit ?? "B"}`;
}

/** `0.4 %`, `12 %` */
export function percent(fraction: number): string {
  const p = fraction * 100;
  return `${Math.abs(p) >= 10 ? p.toFixed(0) : trim(significant(p, 2))} %`;
}

/** Seconds of a window: `30.0 s`. */
export function seconds(ns: number): string {
  return `${(ns / 1e9).toFixed(1)} s`;
}

/** `p50`, `p99.9`, and `max` at 1. */
export function quantileName(q: number): string {
  if (q >= 1) return "max";
  return `p${trim((q * 100).toFixed(4))}`;
}

export interface UnitFormat {
  /** With its unit. */
  value(v: number): string;
  /** On an axis. */
  axis(v: number): string;
  /** The unit of an axis' title. */
  label: string;
}

export const UNITS: Record<Unit, UnitFormat> = {
  requests_per_s: { value: (v) => `${rate(v)}/s`, axis: si, label: "requests per second" },
  requests_per_cpu_s: { value: (v) => `${rate(v)}/CPU s`, axis: si, label: "requests per second of CPU time" },
  ns: { value: duration, axis: axisDuration, label: "time" },
  bytes: { value: bytes, axis: axisBytes, label: "memory" },
  bytes_per_s: { value: (v) => `${bytes(v)}/s`, axis: (v) => `${axisBytes(v)}/s`, label: "bytes per second" },
  share: { value: percent, axis: percent, label: "share" },
  count: { value: si, axis: si, label: "count" },
  ratio: { value: (v) => `${significant(v, 4)} ×`, axis: (v) => significant(v, 3), label: "ratio" },
};

/** `±0.4 %`: half the interval over the point. Not a statistic: the interval, written otherwise. Of one that reaches down to 0 or below it is no share. */
export function plusMinus(e: Estimate | null): string {
  if (!e || e.ci_low === null || e.ci_high === null || e.ci_low <= 0) return "";
  return `±${percent((e.ci_high - e.ci_low) / 2 / e.point)}`;
}

/** `13,814 – 13,926` */
export function interval(e: Estimate | null, unit: Unit): string {
  if (!e) return "";
  const f = UNITS[unit];
  if (e.ci_low !== null && e.ci_high === null) return `≥ ${f.value(e.ci_low)}`;
  if (e.ci_low === null || e.ci_high === null) return e.no_interval ?? "no interval";
  return `${f.value(e.ci_low)} – ${f.value(e.ci_high)}`;
}

/** `1`, `1–2`, `–` */
export function rank(r: [number, number] | null): string {
  if (!r) return WITHHELD;
  return r[0] === r[1] ? String(r[0]) : `${r[0]}–${r[1]}`;
}

/** `3.10 ×`, and `1 ×` for the baseline itself. */
export function ratio(e: Estimate | null): string {
  if (!e) return WITHHELD;
  return `${e.point === 1 && e.ci_low === null ? "1" : significant(e.point, 3)} ×`;
}

/** `not_steady` for people. */
export function words(code: string): string {
  return code.replaceAll("_", " ");
}

/** `2026-03-01 10:00:00 UTC` */
export function when(rfc3339: string): string {
  return `${rfc3339.replace("T", " ").replace(/(\.\d+)?Z$/, "")} UTC`;
}
