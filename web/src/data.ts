/** `prony.page/1`, as `crates/report/src/page/data.rs` writes it. Durations are in nanoseconds. */

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
  ratio: number | null;
  source: string;
  doubt: string | null;
}

export interface Conclusion {
  claim: string;
  there: string;
  here: string;
  verdict: string;
  source: string;
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
  server: { at_ns: number[]; cores: number[]; memory_bytes: number[] };
}

/** The chunk `t` + trial. */
export interface Detail {
  plan_line: string;
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

export type PageData =
  | RunData
  | { schema: string; kind: "live"; live: LiveHead }
  | { schema: string; kind: "runs"; runs: RunEntry[] };
