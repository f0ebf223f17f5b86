/** `prony.page/1`, as `crates/report/src/page/data.rs` writes it. Durations are in nanoseconds. */

import type { HistoryData } from "./history_data";
import type { LiveHead, RunEntry } from "./live_data";

export * from "./history_data";
export * from "./live_data";

export interface Short {
  point: number;
  low: number | null;
  high: number | null;
  n: number;
  /** Why there is no interval. */
  why?: string;
}

export type Unit = "per_s" | "ns" | "bytes";

export interface Figure {
  id: string;
  title: string;
  unit: Unit;
  more_is_better: boolean;
  explain: string;
}

export interface Candidate {
  label: string;
  title: string;
  server: string;
  settings: string[];
  /** Every axis with its value, defaults too; of an older log all settings as one. */
  axes?: { axis: string; value: string }[];
  language: string | null;
  kind: string | null;
  version: string | null;
  workers: number | null;
  keepalive: boolean;
}

export interface Plan {
  name: string;
  describe: string;
  connections: number | null;
  rate_per_s: number | null;
  arrivals: string | null;
  /** What is kept by the rate that it searches for; none where it is no search. */
  capacity?: string;
  /** Its rate as a share of a measured knee, and whose. */
  share?: [number, string];
}

export interface RankingRow {
  candidate: number;
  estimate: Short | null;
  censored_at_ns?: number;
  lower_bound: boolean;
  rank: [number, number] | null;
  tie: number | null;
  ratio: Short | null;
  mark: string;
  trials: number[];
}

export interface Ranking {
  plan: number;
  figure: number;
  rows: RankingRow[];
}

export interface Reason {
  code: string;
  trials: number;
  detail: string;
  advice: string;
}

export type CellVerdict = "valid" | "lower_bound" | "suspect" | "overloaded" | "broken" | "void";

export interface Cell {
  plan: number;
  candidate: number;
  verdict: CellVerdict;
  trials: number;
  counted: number;
  failed: number;
  completed: number;
  remarks: string[];
  reasons: Reason[];
}

export interface Published {
  plan: number;
  candidate: number;
  figure: number;
  value: number;
  source: string;
  doubt: string | null;
}

export interface Conclusion {
  claim: string;
  there: string;
  here: string;
  verdict: string;
  source: string;
  /** The claim that it was judged by. */
  rule: string;
  interval?: string;
  why?: string;
  plans?: { plan: string; verdict: string; here: string; why?: string }[];
}

/** Somebody's publication beside this run. */
export interface Source {
  name: string;
  method: string;
  agreement: string[];
  /** Candidate and reason. */
  doubts: [string, string][];
  not_here: string[];
  columns: SourceColumn[];
  rows: SourceRow[];
  facts: [string, string][];
}

export interface SourceColumn {
  name: string;
  title: string;
  unit: string;
}

/** A row of a source's tables; one that stands beside several plans is there once for each. */
export interface SourceRow {
  name: string;
  candidate: string;
  /** The candidate of this run. */
  index: number | null;
  plan: number | null;
  connections: number | null;
  rate_per_s: number | null;
  workers: number | null;
  /** By column. */
  figures: (SourceFigure | null)[];
  remarks: [string, string][];
  doubt: string | null;
}

/** Both in the source's unit. */
export interface SourceFigure {
  value: number;
  ours?: Short;
  /** Ours is longer than this. */
  ours_beyond?: number;
  at_least?: boolean;
}

export type Finding = "better" | "worse" | "equivalent" | "inconclusive" | "none";

/** Two that ran at once, in places that they changed. */
export interface Duet {
  a: number;
  b: number;
  rows: DuetRow[];
  /** Plan, and what was measured of it. */
  amounts: [number, string][];
  method: string;
  legend: string;
  notes: string[];
  next?: string;
}

export interface DuetRow {
  plan: number;
  figure: number;
  a: DuetSide | null;
  b: DuetSide | null;
  /** B over A. */
  ratio: Short | null;
  change: string;
  noise: string;
  finding: Finding;
  verdict: string;
  why?: string;
}

export interface DuetSide {
  estimate: Short;
  at_least: boolean;
}

export type Against = "rate" | "share" | "connections";

/** Plans, or trials of `prony load`, that differ in one thing only. */
export interface Sweep {
  against: Against;
  /** What they have in common. */
  title: string;
  /** Whether throughput is the rate that a search found. */
  capacity: boolean;
  points: { x: number; plan?: number; trial?: number }[];
}

/** A plan that searches for the highest sustainable rate. */
export interface Capacity {
  plan: number;
  slo: string;
  rows: CapacityRow[];
}

export interface CapacityRow {
  candidate: number;
  estimate: Short | null;
  /** Whether the interval is that of a single search: sustained, up to not sustained. */
  edge: boolean;
  lower_bound: boolean;
  searches: number;
  found: number;
  /** Of those found, the ones that no confirmation upheld. */
  unconfirmed: number;
  slow_to_recover: number;
  tried_again: number;
}

/** The chunk `c` + plan. */
export interface Searches {
  searches: Search[];
}

export interface Search {
  trial: number;
  block: number;
  candidate: number;
  found: Short | null;
  lower_bound: boolean;
  confirmed?: boolean;
  recovers: boolean | null;
  probes: Probe[];
  /** Why it was given up. */
  void?: string;
}

export interface Probe {
  rate_per_s: number;
  completed_per_s: number;
  sustained: boolean;
  why: string;
  phase: string;
  duration_ns: number;
  p50_ns: number | null;
  p99_ns: number | null;
  failed_share: number;
}

export interface Stage {
  duration_ns: number;
  to_rate_per_s: number | null;
  to_connections: number | null;
}

export interface TrialHead {
  index: number;
  block: number;
  candidate: number;
  plan: number;
  validity: "valid" | "suspect" | "invalid";
  outcome: "carried" | "overloaded" | "broken";
  interrupted: boolean;
  bound: "exact" | "lower";
  requests_per_s: Short;
  offered_per_s: number | null;
  connections: number;
  p50_ns: number | null;
  p99_ns: number | null;
  p99_censored_at_ns?: number;
  completed: number;
  failed: number;
  codes: string[];
  stages?: Stage[];
  failure?: string;
}

export interface Host {
  kernel: string;
  os: string;
  cpu_model: string;
  cpus_online: number;
  governor: string | null;
  virtualisation: string | null;
  memory_bytes: number;
  open_files_soft: number;
  open_files_hard: number;
  ephemeral_port_low: number;
  ephemeral_port_high: number;
  somaxconn: number;
}

export interface Head {
  name: string;
  title: string;
  headline: string;
  created_at: string;
  shape: string;
  conditions: string;
  seed: number;
  version: string;
  counts: Record<"planned" | "valid" | "lower_bound" | "suspect" | "void" | "missing", number>;
  interrupted: boolean;
  method: string;
  reproduce: string;
  baseline: number | null;
  server_cpus: number[];
  client_cpus: number[];
  host: Host;
}

export interface RunData {
  schema: string;
  kind: "run";
  experiment: boolean;
  tool: { name: string; version: string };
  head: Head;
  candidates: Candidate[];
  plans: Plan[];
  figures: Figure[];
  rankings: Ranking[];
  cells: Cell[];
  published?: Published[];
  conclusions?: Conclusion[];
  trials: TrialHead[];
  quantiles: number[];
  skipped: { candidate: string; reason: string; mend: string | null }[];
  notes: string[];
  source?: Source;
  spread?: string;
  sweeps?: Sweep[];
  capacities?: Capacity[];
  duet?: Duet;
  /** Where the list of runs is. */
  home?: string;
}

/** The chunk `r` + plan. */
export interface Ratios {
  candidates: number[];
  /** `[figure][row][baseline]` */
  ratios: (Short | null)[][][];
}

export interface Percentile {
  name: string;
  value_ns: number | null;
  ci95: [number, number] | null;
  censored_at_ns?: number;
  needs_duration_ns?: number;
}

export interface Summary {
  name: string;
  clock: string;
  count: number;
  mean_ns: number | null;
  stdev_ns: number | null;
  min_ns: number | null;
  max_ns: number | null;
  percentiles: Percentile[];
}

export interface Series {
  at_ns: number[];
  length_ns: number[];
  completed_per_s: number[];
  failed_per_s: number[];
  connections: number[];
  p50_ns: (number | null)[];
  p90_ns: (number | null)[];
  p99_ns: (number | null)[];
  max_ns: (number | null)[];
}

export interface Picture {
  response_ns: number[];
  service_ns: number[];
  client_delay_ns: number[];
  series: Series;
  heat: {
    rows_a_decade: number;
    at_ns: number[];
    length_ns: number[];
    column: number[];
    row: number[];
    count: number[];
  };
  distribution: { bars_a_decade: number; bar: number[]; count: number[] };
  server: { at_ns: number[]; cores: number[]; memory_bytes: number[]; pss_at_ns: number[]; pss_bytes: number[] };
  client: { at_ns: number[]; cores: number[]; busiest_worker: number[]; memory_bytes: number[] };
  /** How busy each CPU was, whoever used it; `of`: whose it is by pinning. */
  cores: { at_ns: number[]; cpus: { cpu: number; of: "server" | "client" | "both" | ""; busy: number[] }[] };
}

/** A load as it was, defaults filled in. */
export interface PlanRecord {
  url: string;
  method: string;
  headers: [string, string][];
  body_bytes: number;
  connections: number;
  threads: number;
  arrivals: string;
  rate_per_s: number | null;
  duration_ns: number | null;
  requests: number | null;
  warmup_ns: number;
  timeout_ns: number;
  keepalive: boolean;
  expect_status: number | null;
  expect_body: boolean;
  cpus: number[];
  seed: number;
  pipeline: number;
  spin: boolean;
  user_clock?: boolean;
  stages?: Stage[];
  sources?: string[];
  tls?: { verify: string; resumption: string; alpn: string; client_certificate: boolean };
  targets?: { lines: number; requests: number; order: string; fingerprint: string };
}

/** The chunk `t` + trial. */
export interface Detail {
  plan_line: string;
  plan: PlanRecord;
  reproduce: string;
  url: string;
  address: string;
  started_at: string;
  version: string;
  warmup_ns: number;
  duration_ns: number;
  requests: Record<
    "carried_in" | "scheduled" | "sent" | "completed" | "failed" | "in_flight" | "never_sent",
    number
  >;
  run_total: { sent: number; completed: number; connections: number };
  read_bytes_per_s: number;
  summaries: Summary[];
  status: [string, number][];
  errors: [string, number, string][];
  client: {
    cpu_ns: number;
    process_cpu_ns: number;
    cpu_per_request_ns: number | null;
    threads: number;
    busiest_worker: number;
    max_rss_bytes: number;
    stamps_rejected: number;
  };
  server: {
    cpu_method: string;
    memory_method: string;
    cpus: number[];
    startup_ns: number;
    window_cpu_ns: number;
    peak_memory_bytes: number;
    processes: number;
    threads: number;
  } | null;
  host: Host;
  tls: { version: string | null; cipher: string | null; handshakes_full: number; handshakes_resumed: number } | null;
  reasons: { code: string; affects: string[]; effect: string; detail: string; advice: string }[];
  /** What each request of a list got. */
  targets?: { request: string; lines: number; completed: number; failed: number; waiting: number; response: Summary }[];
  picture?: Picture;
}

export type PageData =
  | RunData
  | { schema: string; kind: "live"; live: LiveHead }
  | { schema: string; kind: "runs"; runs: RunEntry[]; history?: string }
  | { schema: string; kind: "history"; tool: { name: string; version: string }; history: HistoryData };
