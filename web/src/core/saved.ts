/** The names that figures, plans and runs have in files that are taken along. */
import type { Cell, Estimate, Head, PlanHead, RunData } from "../data";

/** A figure with its interval. */
export function short(e: Estimate | null | undefined): { point: number; low: number | null; high: number | null; n: number; why?: string } | null {
  return e ? { point: e.point, low: e.ci_low, high: e.ci_high, n: e.n, ...(e.no_interval === undefined ? {} : { why: e.no_interval }) } : null;
}

export function runOf({ head, baseline }: RunData): Record<string, unknown> {
  const { name, title, headline, created_at, shape, conditions, seed, version, trials, interrupted, interval_method, reproduce, server_cpus, client_cpus, host, server_host }: Head = head;
  return { name, title, headline, created_at, shape, conditions, seed, version, counts: trials, interrupted, method: interval_method, reproduce, baseline, server_cpus, client_cpus, host, server_host };
}

export function planOf(plan: PlanHead | undefined): Record<string, unknown> | undefined {
  if (!plan) return undefined;
  const { name, describe, said, asked } = plan;
  const share = asked?.share;
  return {
    name, describe, said, connections: asked?.plan.connections ?? null, rate_per_s: share ? null : asked?.plan.rate_per_s ?? null,
    arrivals: asked?.plan.arrivals ?? null, capacity: asked?.capacity ?? null, ...(share ? { share: [share.share, `${share.of.candidate} ${share.of.plan}`] } : {}),
  };
}

/** What is said of a candidate under a plan. */
export function cellFile(cell: Cell | null): Record<string, unknown> | null {
  if (!cell) return null;
  const { plan, candidate, verdict, trials, counted, failed, completed, remarks } = cell;
  const reasons = cell.reasons.map(({ code, trials: of, detail, advice }) => ({ code, trials: of, detail, advice }));
  return { plan, candidate, verdict, trials, counted, failed, completed, remarks, reasons };
}
