/** What the live page is told, and the list of runs, as `crates/report/src/page/live.rs` writes them. Durations are in nanoseconds. */

export interface LiveTrial {
  index: number;
  candidate: string;
  plan: string;
  block: number;
}

export interface LiveHead {
  command: string;
  title: string;
  describe: string;
  total_ns: number | null;
  warmup_ns: number;
  rate_per_s: number | null;
  order: LiveTrial[];
}

export interface LivePoint {
  elapsed_ns: number;
  in_window: boolean;
  completed: number;
  per_s: number;
  /** Quarters of a second that it stands for: of several the rate is the mean, all below the highest. */
  of: number;
  in_flight: number;
  failed: number | null;
  connections: number | null;
  p50_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
}

export interface LiveEnd {
  index: number;
  requests_per_s: number | null;
  p99_ns: number | null;
  validity: string;
  left_ns: number | null;
}

export type LiveEvent =
  | ({ type: "point" } & LivePoint)
  /** How the load stands, between two points. */
  | ({ type: "now" } & LivePoint)
  | { type: "trial_begins"; index: number; total_ns: number }
  | ({ type: "trial_ends" } & LiveEnd)
  | { type: "done"; report: boolean; sentence: string };

export interface RunEntry {
  href: string;
  file: string;
  title: string;
  headline: string;
  created_at: string;
  trials: string;
  failure: string | null;
}
