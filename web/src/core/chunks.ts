/** The parts of the data that are unpacked when they are looked at: JSON in zlib in base64. */
import type { Detail, HistoryPoints, Ratios, Searches } from "../data";

const unpacked = new Map<string, Promise<unknown>>();
/** Chunks that are kept unpacked: some 100 KB each. */
const KEPT_MAX = 32;
/** Trials whose details are in one chunk. */
const IN_A_CHUNK = 16;

async function unpack(text: string): Promise<unknown> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function chunk(name: string): Promise<unknown> {
  let known = unpacked.get(name);
  if (!known) {
    const element = document.getElementById(name);
    known = element ? unpack(element.textContent ?? "") : Promise.resolve(null);
    if (unpacked.size >= KEPT_MAX) {
      const oldest = unpacked.keys().next().value;
      if (oldest !== undefined) unpacked.delete(oldest);
    }
    unpacked.set(name, known);
  }
  return known;
}

/** Resolves when the rest of the file has been read: chunks stand behind the script. */
function fileRead(): Promise<void> {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("DOMContentLoaded", () => resolve(), { once: true }));
}

export async function detail(trial: number): Promise<Detail | null> {
  await fileRead();
  const details = (await chunk(`t${Math.floor(trial / IN_A_CHUNK)}`)) as Record<number, Detail> | null;
  return details?.[trial] ?? null;
}

export async function ratios(plan: number): Promise<Ratios | null> {
  await fileRead();
  return (await chunk(`r${plan}`)) as Ratios | null;
}

export async function searches(plan: number): Promise<Searches | null> {
  await fileRead();
  return (await chunk(`c${plan}`)) as Searches | null;
}

export async function history(series: number): Promise<HistoryPoints | null> {
  await fileRead();
  return (await chunk(`h${series}`)) as HistoryPoints | null;
}
