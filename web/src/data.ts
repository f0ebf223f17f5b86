// Generated from the types in crates/report/src/page by `PRONY_PIN=1 cargo test -p prony-report typescript`; not edited by hand.
// Durations are in nanoseconds, sizes in bytes, rates per second.

export const SCHEMA = "prony.page/1";

/** Along what a sweep goes. */
export type Against = "rate" | "share" | "connections";

/** What one agent did of a load. */
export interface AgentRecord {
  /** The largest share of the window that one of its workers was outside `epoll_wait`, in millionths. */
  busiest_worker_ppm: number;
  /** Its clock was compared with the controller's to within so much, at worst. */
  clock_bound_ns: number;
  /** How much its clock moved against the controller's from before the load to after it; `None` where it gave no end. */
  clock_moved_ns?: number;
  /** How far the controller's clock was ahead of its own, as far as can be known, within `clock_bound_ns`. */
  clock_offset_ns?: number;
  /** Requests of the window that completed. */
  completed: number;
  /** CPU time of its workers in the window. */
  cpu_ns: number;
  /** Requests of the window that failed. */
  failed: number;
  /** The machine that it ran on, as it says; `None` in records from before that was kept. */
  host?: Host;
  /** Median of how late its requests were sent by its own doing; `None` without any. */
  lateness_p50_ns: number | null;
  /** 99th percentile of that; `None` of fewer than 100 requests. */
  lateness_p99_ns: number | null;
  /** The most memory that its process had; 0 where it gave no end. */
  max_rss_bytes: number;
  /** What it is called: `local-1`, or its host. */
  name: string;
  /** CPU time of its whole process in the window. */
  process_cpu_ns: number;
  /** Requests that it wrote over the whole run. */
  run_sent: number;
  /** 99th percentile of its send lag; `None` of fewer than 100 requests. */
  send_lag_p99_ns: number | null;
  /** Its worker threads. */
  threads: number;
  /** How long its control group's CPU quota kept it from running, from before the load to after it; `None` without a quota. */
  throttled_ns?: number;
}

/** When requests are due. */
export type ArrivalKind = "closed" | "constant" | "poisson" | "stages";

/** Whether a throughput is the server's, or only what the client managed. */
export type Bound = "exact" | "lower";

/** A candidate. */
export interface Candidate {
  /** Each axis with its value, defaults too. Of an older log, which names no axes, all settings are one. */
  axes?: Setting[];
  /** Whether its connections serve more than one request. */
  keepalive: boolean;
  /** `web-server`, `event-loop`, …, where known. */
  kind: string | null;
  /** `amphp:jit+ev`. */
  label: string;
  /** The language it is written for, where known. */
  language: string | null;
  /** The server: the label before its settings. */
  server: string;
  /** The settings that are not the defaults. */
  settings: string[];
  /** The server's title. */
  title: string;
  /** The server's own word for its version. */
  version: string | null;
  /** Worker processes or threads it was told to use; `None` where it cannot be told. */
  workers: number | null;
}

/** A plan that searches for the highest sustainable rate. */
export interface Capacity {
  /** Index of the plan. */
  plan: number;
  /** What was found, by candidate. */
  rows: CapacityRow[];
  /** What had to be kept. */
  slo: string;
}

/** What the searches of a candidate found. */
export interface CapacityRow {
  /** Index of the candidate. */
  candidate: number;
  /** Whether the interval is that of a single search. */
  edge: boolean;
  /** The rate: over several searches the geometric mean with its interval; of one, the highest rate that was sustained, up to the lowest that was not. None where not even the lowest was. */
  estimate: Short | null;
  /** Searches that found a rate. */
  found: number;
  /** The client was the limit: print `≥`. */
  lower_bound: boolean;
  /** Searches made. */
  searches: number;
  /** Searches after whose overload the rate was not sustained at once. */
  slow_to_recover: number;
  /** Searches in which it was tried again after an overload. */
  tried_again: number;
  /** Searches that found a rate without an interval. */
  unconfirmed: number;
}

/** A candidate under a plan: what is not a figure. */
export interface Cell {
  /** Index of the candidate. */
  candidate: number;
  /** Completed requests over all counted trials. */
  completed: number;
  /** Trials that count. */
  counted: number;
  /** Failed requests over all counted trials. */
  failed: number;
  /** Index of the plan. */
  plan: number;
  /** Each verdict's code seen, with words. */
  reasons: CellReason[];
  /** What became of its trials, one sentence each; what verdicts say is in `reasons`. */
  remarks: string[];
  /** Trials with a result. */
  trials: number;
  /** The word beside the row. */
  verdict: CellVerdict;
}

/** A verdict's code in a cell. */
export interface CellReason {
  /** What to do. */
  advice: string;
  /** The code. */
  code: string;
  /** The first one's detail. */
  detail: string;
  /** Trials that had it. */
  trials: number;
}

/** The worst that is to be said of a candidate under a plan. */
export type CellVerdict = "valid" | "lower_bound" | "suspect" | "overloaded" | "broken" | "void";

/** A change in a word. */
export type ChangeWord = "WORSE" | "better" | "small";

/** What the client itself cost in the window. */
export interface Client {
  /** The largest share of the window that a worker spent outside `epoll_wait`, 0 to 1. */
  busiest_worker: number;
  /** Its cost over time; `None` where nobody sampled it. */
  columns?: ClientColumns;
  /** CPU time of the worker threads. */
  cpu_ns: number;
  /** `cpu_ns` over requests completed and failed. */
  cpu_per_request_ns: number | null;
  /** Peak resident memory of the process. */
  max_rss_bytes: number;
  /** CPU time of the whole process. */
  process_cpu_ns: number;
  /** Reads without a plausible kernel stamp, for which the user clock stood in. */
  stamps_rejected: number;
  /** Worker threads. */
  threads: number;
  /** Requests of open arrivals that waited for a connection of their own worker while another worker had a free one. */
  waited_beside_free: number;
  /** For how long, together. */
  waited_beside_free_ns: number;
  /** What ended the workers' waits in time: `epoll_pwait2`, or `timerfd` where that is refused. */
  waits: string;
}

/** Samples of Prony's own process by column, and of the CPUs where the server's samples do not have them already. At most 300 of them, whatever the load's length: a longer load has them further apart. */
export interface ClientColumns {
  /** From the window's start; samples of the warm-up are negative. */
  at_ns: number[];
  /** A column for each of `cores`: its busy time since the first sample, whoever used it, in steps of 10 ms. */
  core_busy_ns?: number[][];
  /** The CPUs of `core_busy_ns`. */
  cores?: number[];
  /** CPU time of the whole process since the first sample. */
  process_cpu_ns: number[];
  /** Resident memory of the process: the most since the sample before. */
  rss_bytes: number[];
  /** A column for each worker thread, 16 at most: its CPU time since the first sample. */
  worker_cpu_ns: number[][];
}

/** What the client cost over time. */
export interface ClientSeries {
  /** The end of each span, from the window's start; the warm-up is negative. */
  at_ns: number[];
  /** The share of it that its busiest worker ran, 0 to 1. */
  busiest_worker: number[];
  /** Cores that the whole process used in it. */
  cores: number[];
  /** The most memory in it. */
  memory_bytes: number[];
}

/** A conclusion about what somebody published, judged. */
export interface Conclusion {
  /** Whose it is, as a title: those of one stand together. */
  by: string;
  /** What it says. */
  claim: string;
  /** Ours, in words. */
  here: string;
  /** The 95 % interval of ours, in words. */
  interval?: string;
  /** Plan by plan, where it is about several. */
  plans?: ConclusionUnder[];
  /** What it was judged by: a claim on figures; empty where it is not judged. */
  rule: string;
  /** Where it was published. */
  source: string;
  /** Its figure, in words. */
  there: string;
  /** `holds`, `fails`, `undecided` or `unjudged`. */
  verdict: string;
  /** What the figures do not say: why it is undecided, where plans differ. */
  why?: string;
}

/** A conclusion under one plan. */
export interface ConclusionUnder {
  /** Ours, in words. */
  here: string;
  /** The plan's name. */
  plan: string;
  /** `holds`, `fails` or `undecided`. */
  verdict: string;
  /** Why it is undecided. */
  why?: string;
}

/** One CPU over time. */
export interface CoreLine {
  /** The share of each span that it was busy, 0 to 1. */
  busy: number[];
  /** Its number. */
  cpu: number;
  /** Whose it is by pinning: `server`, `client`, `both`, or nothing. */
  of: string;
}

/** How busy the used CPUs were over time, whoever used them. */
export interface CoreSeries {
  /** The end of each span, from the window's start; the warm-up is negative. */
  at_ns: number[];
  /** One CPU each. */
  cpus: CoreLine[];
}

/** Everything about a trial that its place in the list does not say: in the chunk `t` + a sixteenth of its number. */
export interface Detail {
  address: string;
  /** What each agent of a fleet did; empty without one. */
  agents?: AgentRecord[];
  client: Client;
  duration_ns: number;
  errors: [string, number, string][];
  host: Host;
  http2: Http2Use | null;
  picture?: PlotData;
  /** The load as it was, defaults filled in. */
  plan: PlanRecord;
  /** `GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up`. */
  plan_line: string;
  read_bytes_per_s: number;
  reasons: Reason[];
  /** The `prony load` that applies the same load. */
  reproduce: string;
  requests: RequestCounts;
  run_total: RunTotal;
  sent_bytes_per_s: number;
  server: Server | null;
  started_at: string;
  status: [string, number][];
  summaries: SummaryRow[];
  /** What each request of a list got; empty without a list. */
  targets?: TargetRow[];
  tls: TlsRecord | null;
  /** What every tail of it leaves open. */
  unseen_stalls: string | null;
  url: string;
  version: string;
  warmup_ns: number;
}

/** Counts by response. Bar `k` holds responses from `10^(k/24)` to `10^((k+1)/24)` ns. */
export interface Distribution {
  /** Of each bar that has a count: its number. */
  bar: number[];
  /** Bars in a decade. */
  bars_a_decade: number;
  /** Its requests. */
  count: number[];
}

/** Two that ran at once, in places that they changed. */
export interface Duet {
  /** Index of the candidate that is compared with. */
  a: number;
  /** Index of a plan, and what was measured of it: `6 blocks of one run, both at once, …`. */
  amounts: [number, string][];
  /** Index of the one that is compared. */
  b: number;
  /** What the table's words mean. */
  legend: string;
  /** How the intervals were obtained. */
  method: string;
  /** The command that would tell more. */
  next?: string;
  /** What a reader should know besides. */
  notes: string[];
  /** Every figure under every plan. */
  rows: DuetRow[];
}

/** A figure of both under a plan. */
export interface DuetRow {
  /** A's. */
  a: DuetSide | null;
  /** B's. */
  b: DuetSide | null;
  /** The same as a change: `−5.0 %`. */
  change: string;
  /** Index of the figure. */
  figure: number;
  /** `better`, `worse`, `equivalent`, `inconclusive`, or `none` where there is nothing to say it from. */
  finding: string;
  /** What two equals would show: `±0.9 %`. */
  noise: string;
  /** Index of the plan. */
  plan: number;
  /** B over A. */
  ratio: Short | null;
  /** The finding in words: `FASTER`, `inconclusive: about 12 more blocks`. */
  verdict: string;
  /** Why there is no finding, or no better one. */
  why?: string;
}

/** A side's figure. */
export interface DuetSide {
  /** Print `≥`: the client was the limit. */
  at_least: boolean;
  /** Over its trials. */
  estimate: Short;
}

/** What a reason does to the figures it affects. */
export type Effect = "note" | "withheld" | "lower_bound" | "suspect" | "invalid";

/** A figure that can be ranked by. */
export interface FigureHead {
  /** What it is, in a sentence. */
  explain: string;
  /** Its name in JSON. */
  id: string;
  /** Whether more is better. */
  more_is_better: boolean;
  /** For people. */
  title: string;
  /** What it is counted in. */
  unit: Unit;
}

export interface FigurePoints {
  /** Whether the truth may be more. */
  at_least: boolean[];
  estimates: (Short | null)[];
  levels: LevelRow[];
}

/** What was asked, and how. */
export interface Head {
  /** The candidate that ratios are to, unless another is chosen. */
  baseline: number | null;
  /** CPUs of the client; empty: not pinned. */
  client_cpus: number[];
  /** `3 min 42 s · seed 1 · server on CPU 1, client on CPU 0`. */
  conditions: string;
  /** Trials by what became of them. */
  counts: TrialCounts;
  /** RFC 3339, UTC. */
  created_at: string;
  /** The answer in a sentence. */
  headline: string;
  /** The machine. */
  host: Host;
  /** Whether the run was ended early. */
  interrupted: boolean;
  /** How intervals and ranks were obtained. */
  method: string;
  /** The experiment's name. */
  name: string;
  /** The command that reproduces it. */
  reproduce: string;
  /** The seed of the order. */
  seed: number;
  /** CPUs of the servers; empty: not pinned. */
  server_cpus: number[];
  /** The machine of the servers, where it is another. */
  server_host?: ServerHost;
  /** `9 candidates × 1 plan × 5 blocks = 45 trials`. */
  shape: string;
  /** Its question. */
  title: string;
  /** The version that measured. */
  version: string;
}

/** Counts by time and response. Row `k` holds responses from `10^(k/12)` to `10^((k+1)/12)` ns. */
export interface Heat {
  /** Each column's start. */
  at_ns: number[];
  /** Of each cell that has a count: its column. */
  column: number[];
  /** Its requests. */
  count: number[];
  /** Each column's length. */
  length_ns: number[];
  /** Its row. */
  row: number[];
  /** Rows in a decade. */
  rows_a_decade: number;
}

export interface HistoryChange {
  /** What else differs between the points beside it. */
  also: string[];
  at: string;
  commit_after: string | null;
  commit_before: string | null;
  /** The first point after it. */
  index: number;
  p: number;
  ratio: Short;
  /** With its interval and the commits. */
  said: string;
  /** `−20 %`. */
  size: string;
  word: ChangeWord;
}

/** A folder of run logs. */
export interface HistoryData {
  figures: HistoryFigure[];
  folder: string;
  from: string | null;
  home?: string;
  left_out: LeftOut[];
  /** Run logs read. */
  runs: number;
  /** By experiment, plan and candidate; their points are in the chunk `h` + index. */
  series: SeriesHead[];
  to: string | null;
}

/** A figure that can be looked at. */
export interface HistoryFigure {
  /** The answer in a sentence that begins with the title. */
  headline: string;
  id: string;
  /** The smallest change that matters, as a share. */
  matters: number;
  method: string;
  more_is_better: boolean;
  title: string;
  unit: Unit;
}

/** A series' points by column: the chunk `h` + index. */
export interface HistoryPoints {
  at: string[];
  commit: (string | null)[];
  /** By figure, in their order. */
  figures: FigurePoints[];
  file: string[];
  host: string[];
  href: (string | null)[];
  tool_version: string[];
  trials: number[];
  version: (string | null)[];
}

/** What can be said of a series. */
export type HistoryVerdict = "changed" | "no_change" | "too_few";

/** The host. Its name is not among the fields on purpose. */
export interface Host {
  /** The kernel's boot id, by which two runs are known to be of one boot. */
  boot_id: string;
  /** Whether Prony ran in a container with a network of the container's own: what it sent passed a bridge or a proxy. */
  container_network?: boolean;
  /** The processor's model name. */
  cpu_model: string;
  /** CPUs this process may use. */
  cpus_allowed: number[];
  /** Logical CPUs online. */
  cpus_online: number;
  /** The last ephemeral port. */
  ephemeral_port_high: number;
  /** The first ephemeral port. */
  ephemeral_port_low: number;
  /** The frequency governor of CPU 0, where there is one. */
  governor: string | null;
  /** `Linux 6.1.0-18-amd64`. */
  kernel: string;
  /** A salted hash of /etc/machine-id, 16 hexadecimal digits, by which two machines of one kind are told apart; the id itself, which is confidential, is not kept. `None` where there is none, and in records from before it was. */
  machine?: string;
  /** Installed memory. */
  memory_bytes: number;
  /** The hard limit of open files. */
  open_files_hard: number;
  /** The soft and hard limits of open files. */
  open_files_soft: number;
  /** `Debian GNU/Linux 12 (bookworm)`. */
  os: string;
  /** `net.core.somaxconn`: the longest accept queue. */
  somaxconn: number;
  /** `kvm`, `docker`, … where it could be told. */
  virtualisation: string | null;
}

/** What a client's SETTINGS and its first WINDOW_UPDATE say. */
export interface Http2Settings {
  /** The longest frame, in bytes (SETTINGS_MAX_FRAME_SIZE). */
  frame_bytes: number;
  /** The longest list of header fields, in bytes (SETTINGS_MAX_HEADER_LIST_SIZE). */
  header_list_bytes: number;
  /** The table of header fields that the server may use, in bytes (SETTINGS_HEADER_TABLE_SIZE). */
  header_table_bytes: number;
  /** The window of each stream and of the connection, in bytes. */
  window_bytes: number;
}

/** What HTTP/2 came to. */
export interface Http2Use {
  /** The time that requests waited for the server's windows to send more of their bodies, of all of them together. It is part of their service times. */
  held_ns: number;
  /** Requests of the window that a server surely did not process (GOAWAY) and that were sent again, each time. */
  moved: number;
  /** At a rate, those that ended with no connection standing: one was still to be opened, or opened again. */
  no_connection: WaitTotal;
  /** At a rate, waits of the window's requests that ended when a stream became free on a connection that stood. */
  no_stream: WaitTotal;
  /** The client's own settings; 0 where the log does not say them. */
  own: Http2Settings;
  /** The fewest streams that a connection was let carry at once, over the whole run: the plan's number, or less where the server's SETTINGS_MAX_CONCURRENT_STREAMS is lower. */
  streams: number;
}

/** A file that could not be used. */
export interface LeftOut {
  /** The file. */
  file: string;
  /** A sentence. */
  why: string;
}

export interface LevelRow {
  estimate: Short;
  first: number;
  last: number;
}

/** How an agent of a fleet stands while the load runs, up to the last second that all agents have given. */
export interface LiveAgent {
  /** Requests of those that succeeded. */
  completed: number;
  /** Requests of the window that failed. */
  failed: number;
  /** What it is called. */
  name: string;
  /** Requests that it wrote. */
  sent: number;
}

/** A trial in one line. */
export interface LiveEnd {
  /** Which. */
  index: number;
  /** Estimated time left. */
  left_ns: number | null;
  /** 99th percentile of response. */
  p99_ns: number | null;
  /** Completed requests per second; none where nothing was measured. */
  requests_per_s: number | null;
  /** `valid`, `suspect`, `invalid`, or `failed` where nothing was measured. */
  validity: string;
}

/** What the page is told. */
export type LiveEvent = { type: "point" } & LivePoint | { type: "now" } & LivePoint | { agents: LiveAgent[]; type: "agents" } | { index: number; total_ns: number; type: "trial_begins" } | { type: "trial_ends" } & LiveEnd | { report: boolean; sentence: string; type: "done" };

/** What a run that goes on is about, known before it begins. */
export interface LiveHead {
  /** The command line. */
  command: string;
  /** How, in a line. */
  describe: string;
  /** The trials of an experiment in their order: candidate, plan, block; empty for a single load. */
  order: LiveTrial[];
  /** Requests per second asked for. */
  rate_per_s: number | null;
  /** What is loaded, or the experiment's question. */
  title: string;
  /** Warm-up and window of one load; none where only a count ends it. */
  total_ns: number | null;
  /** Its warm-up. */
  warmup_ns: number;
}

/** A quarter of a second of a load; of a long one as many of them together as `LivePoint::of` says. */
export interface LivePoint {
  /** Requests completed so far. */
  completed: number;
  /** Connections open at its end. */
  connections: number | null;
  /** Since the load's start, warm-up included. */
  elapsed_ns: number;
  /** Requests failed in the last whole second of the window. */
  failed: number | null;
  /** Requests on a connection now. */
  in_flight: number;
  /** Whether it counts. */
  in_window: boolean;
  /** The longest. */
  max_ns: number | null;
  /** Quarters of a second that it stands for. Of several the rate is their mean, and everything below the highest of theirs, so that no second's trouble is lost. */
  of: number;
  /** Median response in it. */
  p50_ns: number | null;
  /** 99th percentile, given 100 samples. */
  p99_ns: number | null;
  /** Completed per second since the point before. */
  per_s: number;
}

/** A planned trial. */
export interface LiveTrial {
  /** Its block, from 0. */
  block: number;
  /** The candidate's label. */
  candidate: string;
  /** Its number in the run. */
  index: number;
  /** The plan's name. */
  plan: string;
}

/** In which order a list's lines are taken. */
export type Order = "in_turn" | "shuffled";

/** What became of the load: a finding, not an error. */
export type Outcome = "carried" | "overloaded" | "broken";

/** What is in a page's file. */
export type PageData = { schema: string } & ({ kind: "run" } & RunData | { kind: "live"; live: LiveHead } | { history?: string; kind: "runs"; runs: RunEntry[] } | { history: HistoryData; kind: "history"; tool: Tool });

/** A percentile: its value, or why there is none. */
export interface Percentile {
  censored_at_ns?: number;
  ci95: [number, number | null] | null;
  name: string;
  needs_duration_ns?: number;
  value_ns: number | null;
}

/** A plan. */
export interface PlanHead {
  /** When requests are due, where the plan is known. */
  arrivals: ArrivalKind | null;
  /** What is kept by the rate that it searches for: `p99<50ms`; none where it is no search. */
  capacity?: string;
  /** Connections, where the plan is known. */
  connections: number | null;
  /** One line for people. */
  describe: string;
  /** Its name. */
  name: string;
  /** Requests per second asked for; none in closed arrivals and stages. */
  rate_per_s: number | null;
  /** What stands below its ranking: its control, what its blocks find, whether one of them decides. */
  said?: string[];
  /** Its rate as a share of a measured knee, and whose: `rate_per_s` is none then. */
  share?: [number, string];
}

/** A plan, as JSON has it. */
export interface PlanRecord {
  /** When requests are due. */
  arrivals: ArrivalKind;
  /** The request body's length. */
  body_bytes: number;
  /** Of the request body's bytes, so that two of one length can be told apart: FNV-1a (64 bits) folded to 32, 8 hexadecimal digits. `None` without a body, and in records from before it was kept. */
  body_fingerprint?: string;
  /** Connections over all workers. */
  connections: number;
  /** CPUs the workers are pinned to. */
  cpus: number[];
  /** The window's length; `None` where only a count ends the load. */
  duration_ns: number | null;
  /** Whether every response's body is compared. */
  expect_body: boolean;
  /** The status expected; `None`: any 2xx or 3xx. */
  expect_status: number | null;
  /** Headers as given; of a secret `@env:NAME` or `[redacted]`. */
  headers: [string, string][];
  /** Whether connections serve more than one request. */
  keepalive: boolean;
  /** The request's method. */
  method: string;
  /** Requests that a connection may carry at once. */
  pipeline: number;
  /** `h2` where HTTP/2 is spoken over TLS, `h2c` without; `None`: HTTP/1.1. */
  protocol?: string;
  /** Requests per second asked for; `None` in closed arrivals and stages. */
  rate_per_s: number | null;
  /** Requests scheduled in all; `None` where only a duration ends the load. */
  requests: number | null;
  /** The seed. */
  seed: number;
  /** Local addresses that connections come from; empty: the kernel's choice. */
  sources?: string[];
  /** Whether workers stay awake before a request is due. */
  spin: boolean;
  /** The stages, where there are any. */
  stages?: StageRecord[];
  /** The list of requests, where there is one; `url` is then the server's, and `method` that of lines without one. */
  targets?: TargetsRecord;
  /** Worker threads. */
  threads: number;
  /** A request's and a connect's timeout. */
  timeout_ns: number;
  /** How TLS is spoken; `None` with an `http://` URL. */
  tls?: TlsPlanRecord;
  /** The URL without userinfo. */
  url: string;
  /** Whether arrivals are timed when they are read, though the kernel would stamp them. */
  user_clock?: boolean;
  /** Traffic before the window. */
  warmup_ns: number;
}

/** What the plots of a trial show. */
export interface PlotData {
  /** What the client cost over time; empty where it was not sampled. */
  client: ClientSeries;
  /** Client delay, likewise; empty where the clock is the user's. */
  client_delay_ns: number[];
  /** How busy the CPUs were over time; empty where they were not sampled. */
  cores: CoreSeries;
  /** Response, counted by range. */
  distribution: Distribution;
  /** Response by time. */
  heat: Heat;
  /** Response at each of `quantiles`, as far as it is known. */
  response_ns: number[];
  /** Over time. */
  series: Series;
  /** What the server cost over time; empty where it was not the lab's. */
  server: ServerSeries;
  /** Service, likewise. */
  service_ns: number[];
}

/** A probe, to the digits that a plot can show. */
export interface ProbePoint {
  completed_per_s: number;
  duration_ns: number;
  failed_share: number;
  p50_ns: number | null;
  p99_ns: number | null;
  phase: string;
  rate_per_s: number;
  sustained: boolean;
  why: string;
}

/** A plan over HTTP/2 beside the same over HTTP/1.1. */
export interface ProtocolTable {
  /** The heads of its columns; the first is the server's. */
  head: string[];
  /** A server each, as many cells as there are heads. */
  rows: string[][];
  /** What is compared, in a sentence. */
  title: string;
}

/** Somebody's figure beside ours. */
export interface Published {
  /** Index of the candidate. */
  candidate: number;
  /** Why it is doubted, if it is. */
  doubt: string | null;
  /** Index of the figure. */
  figure: number;
  /** Index of the plan. */
  plan: number;
  /** Where it was published. */
  source: string;
  /** Their figure. */
  value: number;
}

/** A figure under a plan. */
export interface Ranking {
  /** Index of the figure. */
  figure: number;
  /** Index of the plan. */
  plan: number;
  /** Best first; those without a figure last. */
  rows: RankingRow[];
}

/** A candidate's figure under a plan. */
export interface RankingRow {
  /** Index of the candidate. */
  candidate: number;
  /** It is longer than this. */
  censored_at_ns?: number;
  /** The figure; `None`: see `censored_at_ns`, or it is withheld. */
  estimate: Short | null;
  /** Print `≥`: the client was the limit. */
  lower_bound: boolean;
  /** The worst that a verdict does to this figure: ``, `?` (suspect) or `✗` (invalid). */
  mark: string;
  /** Best and worst place. */
  rank: [number, number] | null;
  /** To the experiment's baseline; to the others in the chunk `r` + plan. */
  ratio: Short | null;
  /** Group of ties, from 1. */
  tie: number | null;
  /** Each counted trial's figure. */
  trials: number[];
}

/** A plan's ratios, the chunk `r` + plan: per figure, per row, over each baseline. `null` where there is none. */
export interface Ratios {
  /** Indices of the candidates, in the order of rows and columns. */
  candidates: number[];
  /** `[figure][row][baseline]`. */
  ratios: (Short | null)[][][];
}

/** One reason of a verdict. */
export interface Reason {
  /** What to do about it. */
  advice: string;
  /** The figures it touches. */
  affects: string[];
  /** Its name, `client_saturated`. */
  code: string;
  /** What was seen, with the figure and the threshold. */
  detail: string;
  /** What it does to them. */
  effect: Effect;
  /** The figures of `detail` by name, the unit at its end (`_ns`, `_share` from 0 to 1, `_bytes_per_s`; none: a count): views and programs take them from here, and nobody reads them out of a sentence. */
  values?: Record<string, number>;
}

/** Requests of the window by fate: `carried_in + scheduled = completed + failed + in_flight + never_sent`. */
export interface RequestCounts {
  /** Due before the window and unresolved when it opened. */
  carried_in: number;
  /** Succeeded within the window. */
  completed: number;
  /** Failed within the window, whatever the kind. */
  failed: number;
  /** On a connection, or waiting for one's connect, when the window closed. */
  in_flight: number;
  /** Due, but without a connection when the window closed. */
  never_sent: number;
  /** Due within the window. */
  scheduled: number;
  /** Written to a connection within the window. */
  sent: number;
}

/** A run. */
export interface RunData {
  /** Who was measured, in the experiment's order. */
  candidates: Candidate[];
  /** Plans that search for the highest sustainable rate; their probes are in the chunk `c` + plan. */
  capacities?: Capacity[];
  /** Each candidate under each plan: what is not a figure. */
  cells: Cell[];
  /** Conclusions that somebody published, judged. */
  conclusions?: Conclusion[];
  /** Both candidates beside each other, where they ran at once. */
  duet?: Duet;
  /** Whether it is an experiment: else it is trials of `prony load`, and opens on the first. */
  experiment: boolean;
  /** What there is to rank by. */
  figures: FigureHead[];
  /** What was asked, and how. */
  head: Head;
  /** Where the list of runs is, where there is one. */
  home?: string;
  /** What a reader should know and no figure says. */
  notes: string[];
  /** Under what, in the experiment's order. */
  plans: PlanHead[];
  /** What HTTP/2 changes, where plans ask for the same over both. */
  protocols?: ProtocolTable[];
  /** Figures that somebody published, beside ours. */
  published?: Published[];
  /** Where the curves of details have points. */
  quantiles: number[];
  /** Each figure under each plan. */
  rankings: Ranking[];
  /** What did not run. */
  skipped: Skipped[];
  /** The source of `published` and `conclusions`, beside its figures. */
  source?: SourceTable;
  /** What the choice of a server is worth to an application that works itself: a sentence. */
  spread?: string;
  /** What the run varies: its plans, or its trials, along one thing each. */
  sweeps?: Sweep[];
  /** Response times of each candidate over the baseline's (without one, the first candidate's) along the tail. */
  tails?: Tail[];
  /** What wrote the page. */
  tool: Tool;
  /** Every trial; its details are in the chunk `t` + index. */
  trials: TrialHead[];
}

/** A run log in a list. */
export interface RunEntry {
  /** RFC 3339, UTC. */
  created_at: string;
  /** Why it cannot be shown. */
  failure: string | null;
  /** The file. */
  file: string;
  /** The answer. */
  headline: string;
  /** Where its report is. */
  href: string;
  /** Its title. */
  title: string;
  /** `45 trials: 42 valid, …`. */
  trials: string;
}

/** Counts over the whole run. */
export interface RunTotal {
  /** Requests that succeeded. */
  completed: number;
  /** Connections established. */
  connections: number;
  /** Requests written. */
  sent: number;
  /** Connections on which the server sent what no request asked for. */
  unasked?: number;
}

/** One search. */
export interface Search {
  block: number;
  /** Index of the candidate. */
  candidate: number;
  /** Whether its probes about the edge give it an interval; none of a lower bound, or in an older log. */
  confirmed?: boolean;
  /** The rate, with its interval where it has one. */
  found: Short | null;
  lower_bound: boolean;
  /** In the order they were made. */
  probes: ProbePoint[];
  recovers: boolean | null;
  /** Number of the trial: its last probe about the edge that was sustained. */
  trial: number;
  /** Why it was given up. */
  void?: string;
}

/** The searches of a plan: the chunk `c` + plan. */
export interface Searches {
  searches: Search[];
}

/** Seconds of the window, or groups of them; all columns have one length. */
export interface Series {
  /** From the window's start to the group's. */
  at_ns: number[];
  /** Completed requests per second. */
  completed_per_s: number[];
  /** Connections open at its end. */
  connections: number[];
  /** Failed requests per second. */
  failed_per_s: number[];
  /** Its length. */
  length_ns: number[];
  /** The longest. */
  max_ns: (number | null)[];
  /** Median response. */
  p50_ns: (number | null)[];
  /** 90th percentile. */
  p90_ns: (number | null)[];
  /** 99th percentile, given 100 samples. */
  p99_ns: (number | null)[];
}

/** What can be said of a series' figure. */
export interface SeriesFigure {
  changes: HistoryChange[];
  /** Its last level, else its last point. */
  now: Short | null;
  /** In words. */
  said: string;
  /** `changed`, `no_change` or `too_few`. */
  verdict: HistoryVerdict;
}

/** A series without its points. */
export interface SeriesHead {
  candidate: string;
  experiment: string;
  /** By figure, in their order. */
  figures: SeriesFigure[];
  plan: string;
  runs: number;
}

/** What the server cost, in single figures. */
export interface Server {
  cpu_method: string;
  cpus: number[];
  /** What its whole host did in the window, where that is another machine than the client's. */
  host?: ServerHostWindow;
  memory_method: string;
  peak_memory_bytes: number;
  processes: number;
  startup_ns: number;
  threads: number;
  window_cpu_ns: number;
}

/** That machine, and the way to it. */
export interface ServerHost {
  /** Its address, which servers listen on and the client connects to. */
  address: string;
  /** The shortest of the round trips by which the clocks were compared when the run began, over ssh. */
  control_rtt_ns: number;
  /** The machine. */
  host: Host;
  /** Its network interface that has the address, where that could be told. */
  interface?: string;
}

/** What that machine did over a trial's window, by its own clock. What could not be read is `None`. */
export interface ServerHostWindow {
  /** Within so much of it the window's edges are known on its clock: half of the shortest round trip, and what the clocks may drift. */
  clock_bound_ns: number;
  /** CPU time of hardware interrupts, of all its CPUs (`irq` of /proc/stat, in steps of 10 ms). */
  irq_ns: number | null;
  /** Connects that a listening socket dropped for any reason, overflows included. */
  listen_drops: number | null;
  /** Connects that found a listening socket's queue full. */
  listen_overflows: number | null;
  /** Packets that its interface dropped or could not keep, either way. */
  packets_dropped: number | null;
  /** Packets that its interface received. */
  packets_received: number | null;
  /** Packets that its interface sent. */
  packets_sent: number | null;
  /** CPU time of soft interrupts, of all its CPUs (`softirq` of /proc/stat, in steps of 10 ms): where the kernel receives packets. */
  softirq_ns: number | null;
  /** CPU time that its hypervisor gave to others, of all its CPUs. */
  steal_ns: number | null;
  /** TCP segments that it sent again. */
  tcp_retransmits: number | null;
}

/** What the server cost over time. */
export interface ServerSeries {
  /** From the window's start; the warm-up is negative. */
  at_ns: number[];
  /** Cores in use since the point before. */
  cores: number[];
  /** The most memory since the point before. */
  memory_bytes: number[];
  /** Instants of `pss_bytes`, which is read less often. */
  pss_at_ns: number[];
  /** The most memory by proportional shares since the point before; empty where it was not read. */
  pss_bytes: number[];
}

/** An axis of a server's recipe, and the value that a candidate has on it. */
export interface Setting {
  /** `opt`, `loop`, `close`, … */
  axis: string;
  /** `jit`, `ev`, `yes`, … */
  value: string;
}

/** A figure with its interval, short: all to six digits. */
export interface Short {
  /** Its upper end. */
  high: number | null;
  /** Its interval's lower end. */
  low: number | null;
  /** Independent pieces it rests on. */
  n: number;
  /** The figure. */
  point: number;
  /** Why there is no interval. */
  why?: string;
}

/** A candidate that does not run. */
export interface Skipped {
  /** Its label. */
  candidate: string;
  /** The command that mends it, if one does. */
  mend: string | null;
  /** Why, in a sentence. */
  reason: string;
}

/** A figure that a source printed. */
export interface SourceColumn {
  /** Its name in the source's file: `p99_ms`. */
  name: string;
  /** For people: `p99`. */
  title: string;
  /** Its unit; empty: a number of something, or a share. */
  unit: string;
}

/** A source's figure and ours, both in the source's unit. */
export interface SourceFigure {
  /** Ours is a lower bound: print `≥`. */
  at_least?: boolean;
  /** Ours, where the same was measured. */
  ours?: Short;
  /** Ours is longer than this. */
  ours_beyond?: number;
  /** Theirs. */
  value: number;
}

/** A row of a source's tables. */
export interface SourceRow {
  /** Our label of it. */
  candidate: string;
  /** Connections; none where the source does not say. */
  connections: number | null;
  /** Why it is doubted, if it is. */
  doubt: string | null;
  /** Its figures, in the order of the columns; none where it printed none. */
  figures: (SourceFigure | null)[];
  /** Index of the candidate, where it is of this run. */
  index: number | null;
  /** The source's word for the candidate. */
  name: string;
  /** Index of the plan that the row stands beside; none where no plan here is that load. */
  plan: number | null;
  /** Requests per second asked for; none in closed arrivals. */
  rate_per_s: number | null;
  /** What it says in words: key and text. */
  remarks: [string, string][];
  /** Workers; none where the source does not say. */
  workers: number | null;
}

/** Somebody's publication beside this run. */
export interface SourceTable {
  /** How far its order agrees with ours, a sentence a plan. */
  agreement: string[];
  /** The figures that any of its rows has, in the order of a table. */
  columns: SourceColumn[];
  /** What in its method makes its figures others than ours. */
  differences: string[];
  /** Rows of its that are doubted: candidate and reason. */
  doubts: [string, string][];
  /** What it says besides: key and text. */
  facts: [string, string][];
  /** How its figures were obtained. */
  method: string;
  /** What it is called. */
  name: string;
  /** Candidates of its tables without a figure here. */
  not_here: string[];
  /** What it printed, in its order; a row that stands beside several plans is there once for each. */
  rows: SourceRow[];
}

/** A stage: a linear change from the level before, 0 at first, to its own. */
export interface StageRecord {
  /** How long it takes; 0 is a jump. */
  duration_ns: number;
  /** Connections at its end; `None` in stages of a rate. */
  to_connections: number | null;
  /** Requests per second at its end; `None` in stages of connections. */
  to_rate_per_s: number | null;
}

/** A part of the requests' time. */
export interface SummaryRow {
  clock: string;
  count: number;
  max_ns: number | null;
  mean_ns: number | null;
  min_ns: number | null;
  name: string;
  percentiles: Percentile[];
  stdev_ns: number | null;
}

/** Plans, or trials of `prony load`, that differ in one thing only. */
export interface Sweep {
  /** What differs. */
  against: Against;
  /** Whether throughput is the rate that a search found. */
  capacity: boolean;
  /** In order of `x`. */
  points: SweepPoint[];
  /** What they have in common, where several sweeps differ in it: `500 connections`. */
  title: string;
}

/** A plan or a trial of a sweep. */
export interface SweepPoint {
  /** Index of the plan. */
  plan?: number;
  /** Number of the trial. */
  trial?: number;
  /** Requests per second, percent, or connections. */
  x: number;
}

/** Response times of B over A's under a plan. */
export interface Tail {
  /** A's index. */
  a: number;
  /** B's index. */
  b: number;
  /** The plan's index. */
  plan: number;
  /** By quantile, from the median to the last that the samples allow. */
  ratios: [number, Short][];
}

/** One request of a list. */
export interface TargetRow {
  completed: number;
  failed: number;
  lines: number;
  request: string;
  response: SummaryRow;
  waiting: number;
}

/** A list of requests, as it can be told from another. The requests themselves are the trial's `targets`. */
export interface TargetsRecord {
  /** Of the lines in their order, in hexadecimal: FNV-1a, 64 bits. */
  fingerprint: string;
  /** Lines with a request. */
  lines: number;
  /** In which order lines are taken. */
  order: Order;
  /** Different requests among them. */
  requests: number;
}

/** How TLS is spoken, as JSON. */
export interface TlsPlanRecord {
  /** The protocol offered by ALPN. */
  alpn: string;
  /** Whether the client has a certificate to show. */
  client_certificate: boolean;
  /** Whether sessions are resumed: `on` or `off`. */
  resumption: string;
  /** Against what the server's certificate is checked. */
  verify: VerifyKind;
}

/** What TLS was agreed on over the whole run, the connects before the clock included. */
export interface TlsRecord {
  /** The protocol that the server chose by ALPN. */
  alpn: string | null;
  /** The cipher suite by its name in IANA's registry. */
  cipher: string | null;
  /** Handshakes in which the server showed its certificate. */
  handshakes_full: number;
  /** Handshakes that resumed an earlier session. */
  handshakes_resumed: number;
  /** The group of the key exchange. */
  key_exchange: string | null;
  /** In the first handshake that succeeded: `TLSv1.2` or `TLSv1.3`; `None` where none did. */
  version: string | null;
}

/** The tool that wrote a record. */
export interface Tool {
  /** Always `prony`. */
  name: string;
  /** Its version. */
  version: string;
}

/** Trials by what became of them. `planned` = the others' sum. */
export interface TrialCounts {
  /** Valid, but throughput is a lower bound. */
  lower_bound: number;
  /** Not run, or without a result. */
  missing: number;
  /** In the order. */
  planned: number;
  /** Suspect. */
  suspect: number;
  /** Valid, and exact. */
  valid: number;
  /** Invalid, failed, or interrupted within: they count for nothing. */
  void: number;
}

/** A trial in a list. */
export interface TrialHead {
  /** Indices of those of which the truth may be more. */
  at_least?: number[];
  /** Its block, from 0. */
  block: number;
  /** Whose limit the throughput is. */
  bound: Bound;
  /** Index of the candidate. */
  candidate: number;
  /** Codes of its verdict. */
  codes: string[];
  /** Completed requests. */
  completed: number;
  /** Connections asked for, or the most of a ramp's. */
  connections: number;
  /** Failed requests. */
  failed: number;
  /** Why nothing was measured: all figures are 0 then. */
  failure?: string;
  /** Its figures, in the order of the run's. */
  figures: (number | null)[];
  /** Its number in the run, which its chunk is named by. */
  index: number;
  /** Whether it was ended early. */
  interrupted: boolean;
  /** Requests per second that were due; none in closed arrivals. */
  offered_per_s: number | null;
  /** What became of the load. */
  outcome: Outcome;
  /** Index of the plan. */
  plan: number;
  /** Completed requests per second. */
  requests_per_s: Short;
  /** The stages of its load, where it has any. */
  stages?: StageRecord[];
  /** How far its figures can be trusted. */
  validity: Validity;
}

/** What a figure is counted in. */
export type Unit = "requests_per_s" | "requests_per_cpu_s" | "ns" | "bytes" | "bytes_per_s" | "share" | "ratio" | "count";

/** The verdict in a word. */
export type Validity = "valid" | "suspect" | "invalid";

/** Against what a certificate is checked. */
export type VerifyKind = "system" | "cacert" | "none";

/** How many requests waited, and for how long together. */
export interface WaitTotal {
  /** Requests that waited. */
  count: number;
  /** The sum of their waits, in nanoseconds. */
  total_ns: number;
}
