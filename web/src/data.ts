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

/** How far two orders agree. */
export interface Agreement {
  /** The figure that both order by: `requests_per_s` or `p99`. */
  figure: string;
  /** Rows of the plan left out for a doubt. */
  left_out: number;
  /** The plan. */
  plan: string;
  /** Kendall's tau-b: 1 is the same order, −1 its reverse. */
  tau_b: Estimate;
}

/** When requests are due. */
export type ArrivalKind = "closed" | "constant" | "poisson" | "stages" | "replay";

/** How many blocks find a difference, in four of five runs. */
export interface BlocksToFind {
  /** All blocks that it takes; `None`: more than a thousand. */
  blocks: number | null;
  /** The difference, as a share. */
  difference: number;
}

/** Whether a throughput is the server's, or only what the client managed. */
export type Bound = "exact" | "lower";

/** Whose a conclusion is, in the order in which they are shown, each below its title. */
export type By = "source" | "reading" | "question";

/** A candidate's trials under a plan by the source's statistic, and what that hides of them. */
export interface ByItsStatistic {
  /** The candidate's label. */
  candidate: string;
  /** `requests_per_s` or `p99_ns`. */
  figure: string;
  /** The highest of them. */
  highest: number;
  /** The lowest of all trials that count. */
  lowest: number;
  /** Trials that it is of, fewer than the source's where fewer count. */
  of: number;
  /** The plan. */
  plan: string;
  /** The source's: `{"best_of": 5}`, `{"median_of": 3}`, `"one_run"`. */
  statistic: Statistic;
  /** How many count. */
  trials: number;
  /** Of the first trials, as many as the source had. */
  value: number;
}

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

/** A measured capacity that rates are shares of. */
export interface CapacityOf {
  /** The candidate's label. */
  candidate: string;
  /** The name given to the plan that finds its capacity. */
  plan: string;
}

/** What a search found. */
export interface CapacityRecord {
  /** `Lower` where the client, not the server, was the limit: print `≥`. */
  bound: Bound;
  /** The highest sustainable rate, in requests per second; `None` where not even the lowest probe passed. */
  capacity_per_s: Estimate | null;
  /** Whether the probes about the edge give it an interval. `Some(false)`: they do not, and the rate is their middle; `None`: nothing or only a lower bound was found, or an older log, where a longer probe confirmed it. */
  confirmed?: boolean;
  /** Every probe in the order they were made. */
  probes: Probe[];
  /** Whether a rate a tenth lower was sustained at once after an overload; `None` where nothing was overloaded. */
  recovers: boolean | null;
  /** What had to be kept: `p99<50ms`, or the default in words. */
  slo: string;
  /** Why the search was given up: its server died, was started again or answered with something else. There is no capacity then. */
  void?: string;
}

/** What the searches of a candidate found. */
export interface CapacityRow {
  /** Index of the candidate. */
  candidate: number;
  /** Whether the interval is that of a single search. */
  edge: boolean;
  /** The rate: over several searches the geometric mean with its interval; of one, the highest rate that was sustained, up to the lowest that was not. None where not even the lowest was. */
  estimate: Estimate | null;
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
  reasons: RowReason[];
  /** What became of its trials, one sentence each; what verdicts say is in `reasons`. */
  remarks: string[];
  /** Trials with a result. */
  trials: number;
  /** The word beside the row. */
  verdict: CellVerdict;
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

/** By whose clock a response's bytes are stamped. */
export type Clock = "kernel" | "kernel-upper" | "user";

/** B beside A. */
export interface Comparison {
  /** What is compared with. */
  a: Side;
  /** What is compared. */
  b: Side;
  /** Whether both ran at once, in places that they changed. */
  duet: boolean;
  /** The chance of an error, of each finding by itself and of the first line in all. */
  error: number;
  /** The answer in one sentence. */
  headline: string;
  /** Figures, under all plans, that the first line may name: their findings are tested together. */
  hypotheses: number;
  /** Which look at the log this is, from 1: each spends a part of the error that verdicts may have. */
  look: number;
  /** How the intervals were obtained, in a sentence. */
  method: string;
  /** The command that would tell more, where something is undecided. */
  next: string | null;
  /** In what they are not comparable, where `--force` compared them all the same; sentences. */
  not_comparable: string[];
  /** Figures that a condition or a threshold names and that were not there to be judged, each with the reason. */
  not_judged?: string[];
  /** What a reader should know besides; sentences. */
  notes: string[];
  /** Whether both were measured in alternation, block by block of one run. */
  paired: boolean;
  /** One per plan that both have. */
  plans: PlanComparison[];
  /** Where CPU time per request grew, of a run that sampled it: by two trials that count for no other figure. */
  profile?: ProfileComparison;
  /** The schema's name: `prony.comparison/1`. */
  schema: string;
}

/** A conclusion about what somebody published, judged. */
export interface Conclusion {
  /** Whose it is, as a title: those of one stand together. */
  by: string;
  /** Ours, in words. */
  here: string;
  /** The 95 % interval of ours, in words. */
  interval?: string;
  judged: JudgedConclusion;
  /** Ours plan by plan, in words. */
  plans: string[];
  /** Its figure, in words. */
  there: string;
  /** What the figures do not say: why it is undecided, where plans differ. */
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

/** A CPU's ticks of 10 ms in each span, which add up to its length as exactly as the kernel counts. An empty column is all zeros. */
export interface CpuColumns {
  /** Its number; none: all CPUs of the machine together. */
  cpu?: number;
  /** Nothing. */
  idle?: number[];
  /** Nothing, while something waited for a disk. */
  iowait?: number[];
  /** Interrupts. */
  irq?: number[];
  /** What follows from them: packets, above all. */
  softirq?: number[];
  /** The hypervisor ran others. */
  steal?: number[];
  /** The kernel for them. */
  system?: number[];
  /** Programs, also those of low priority (`nice`). */
  user?: number[];
}

/** A quota of CPU time that holds for Prony's own process: of its control group, or of one above it. */
export interface CpuQuota {
  /** The group's folder. */
  group: string;
  /** … in each period of so long. */
  period_us: number;
  /** Periods in which something of the group ran. */
  periods: number;
  /** CPU time that all in the group may have … */
  quota_us: number;
  /** For how long its CPUs were stopped, all of them together. */
  throttled_ns: number;
  /** Periods in which it used its quota up, and was stopped until the next. */
  throttled_periods: number;
}

/** What a CPU did, as shares of each span, 0 to 1, which add up to 1. An empty column is all zeros. */
export interface CpuShares {
  /** Its number; none: all of the machine together. */
  cpu: number | null;
  /** Nothing. */
  idle: number[];
  /** Nothing, while something waited for a disk. */
  iowait: number[];
  /** Interrupts. */
  irq: number[];
  /** What follows from them. */
  softirq: number[];
  /** The hypervisor ran others. */
  steal: number[];
  /** The kernel for them. */
  system: number[];
  /** Programs. */
  user: number[];
}

/** A point of a latency-by-percentile curve. */
export interface CurvePoint {
  /** 0 to 1. */
  quantile: number;
  /** Nanoseconds. */
  value_ns: number;
}

/** Starts of a server that died under load. */
export interface Deaths {
  /** In so many, */
  died: number;
  /** of so many. */
  starts: number;
}

/** What became of a threshold. */
export type Decision = "met" | "undecided" | "missed";

/** Everything about a trial that its place in the list does not say: in the chunk `t` + a sixteenth of its number. */
export interface Detail {
  picture?: PlotData;
  /** `GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up`. */
  plan_line: string;
  /** The `prony load` that applies the same load. */
  reproduce: string;
  /** The trial with its server's costs; its series and histograms are in the picture. */
  trial: Trial;
  /** What every tail of it leaves open. */
  unseen_stalls: string | null;
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

/** A row of the source that is not to be trusted. */
export interface Doubt {
  /** The candidate's label. */
  candidate: string;
  /** Why. */
  reason: string;
}

/** The analysis' comparison of a duet, with what it is in words. */
export interface Duet {
  /** Index of the candidate that is compared with. */
  a: number;
  /** Index of a plan, and what was measured of it: `6 blocks of one run, both at once, …`. */
  amounts: [number, string][];
  /** Index of the one that is compared. */
  b: number;
  /** What the table's words mean. */
  legend: string;
  /** Every figure under every plan. */
  rows: DuetRow[];
}

/** A figure of both under a plan. */
export interface DuetRow {
  /** The ratio as a change: `−5.0 %`. */
  change: string;
  found: FigureComparison;
  /** What two equals would show: `±0.9 %`. */
  noise: string;
  /** Index of the plan. */
  plan: number;
  /** The finding in words: `FASTER`, `inconclusive: about 12 more blocks`. */
  verdict: string;
}

/** What a reason does to the figures it affects. */
export type Effect = "note" | "withheld" | "lower_bound" | "suspect" | "invalid";

/** A figure with its 95 % interval. */
export interface Estimate {
  /** Whether the figure is a lower bound, since the client was the limit: print `≥`. */
  at_least?: boolean;
  /** The interval's upper end; `None` where there is none, or no interval. */
  ci_high: number | null;
  /** The interval's lower end; `None` where there is no interval. */
  ci_low: number | null;
  /** How many independent pieces it rests on (trials, batches). */
  n: number;
  /** Why there is no interval, or none with an upper end. */
  no_interval?: string;
  /** The figure. */
  point: number;
}

/** One figure of both. */
export interface FigureComparison {
  /** A's, over its trials. */
  a: Estimate | null;
  /** B's. */
  b: Estimate | null;
  /** Of an inconclusive one: so many more blocks decide in four of five runs, whatever is true of `forecast`. `None`: no thousand would, or it is settled. */
  blocks_needed: number | null;
  /** `throughput`, `p50`, `p99`, `cpu`, `memory` or `startup`: in requests per second, nanoseconds, bytes. */
  figure: string;
  /** What that says; `None` where there is nothing to say it from. */
  finding: Finding | null;
  /** Of an inconclusive one: what it would take, for differences that may be true. */
  forecast?: Forecast[];
  /** What equals would show in as many blocks of this run. */
  noise: Noise | null;
  /** B over A. */
  ratio: Estimate | null;
  /** The smallest difference that matters, as a share. */
  smallest: number;
  /** Whether the finding stands among all that the first line may name; `false` where it holds by itself alone, and of figures that the first line does not name. */
  stands: boolean;
  /** Why there is no finding, or no better one. */
  why: string | null;
}

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
  estimates: (Estimate | null)[];
  levels: Level[];
}

/** B beside A. */
export type Finding = "faster" | "slower" | "equivalent" | "inconclusive";

/** A load that several agents applied. Sums are those of the measurement that it stands in. */
export interface FleetRecord {
  /** In their order: agent i has the workers from i · threads on. */
  agents: AgentRecord[];
  /** The flags that make the same fleet. */
  flags?: string[];
  /** Why the window ends before its plan does: an agent was lost, and what all had given until then counts. */
  lost?: LostAgent;
  /** The version of the nats-server that carried their messages, as it says. */
  nats_server?: string;
}

/** What it would take to decide. */
export interface Forecast {
  /** If this is the true difference, as a share, */
  difference: number;
  /** so many more blocks decide in four of five runs; `None`: more than a thousand. */
  more_blocks: number | null;
}

/** In which format a list is written. */
export type Format = "plain" | "vegeta" | "vegeta-json" | "curl" | "raw" | "jsonl";

/** A function, with what it calls. */
export interface FunctionGrowth {
  /** A's CPU time per request in it and in what it calls, in nanoseconds. */
  a_ns: number;
  /** B's. */
  b_ns: number;
  /** Its name. */
  function: string;
  /** B's less A's, with the interval of both counts of samples. */
  growth: Estimate;
  /** Whether A spends hardly any time in it. */
  new: boolean;
}

/** The analysis, and what it is in words. Its plans, protocols, conclusions and profile and its duet's plans are empty: they stand elsewhere in the data. */
export interface Head {
  /** The baseline's label, where it was measured. */
  baseline: string | null;
  /** Blocks asked for. */
  blocks_planned: number;
  /** CPUs of the client; empty: not pinned. */
  client_cpus: number[];
  /** `3 min 42 s · seed 1 · server on CPU 1, client on CPU 0`. */
  conditions: string;
  /** RFC 3339, UTC. */
  created_at: string;
  /** Both candidates of a duet beside each other, second by second. */
  duet?: Comparison;
  /** First trial's start to last trial's end, as far as the log tells. */
  elapsed_ns: number | null;
  /** The answer in one sentence. */
  headline: string;
  /** The machine. */
  host: Host;
  /** Whether the run was ended early and not resumed. */
  interrupted: boolean;
  /** How intervals were obtained, for the reader: one sentence. */
  interval_method: string;
  /** The experiment's name. */
  name: string;
  /** What a reader should know and no figure says (events, dropped line…). */
  notes: string[];
  /** One per plan, in the experiment's order. */
  plans: PlanAnalysis[];
  /** Where CPU time per request grew, where that was sampled: by two trials that count for no other figure. */
  profile?: ProfileComparison;
  /** Plans over HTTP/2 beside the same over HTTP/1.1; empty where there are none. */
  protocols?: ProtocolComparison[];
  /** A source's figures and conclusions beside ours. */
  published?: PublishedAnalysis;
  /** The command that reproduces the run. */
  reproduce: string;
  /** The schema's name: `prony.analysis/1`. */
  schema: string;
  /** The order's seed. */
  seed: number;
  /** CPUs of the servers; empty: not pinned. */
  server_cpus: number[];
  /** The machine of the servers, where it is another. */
  server_host?: ServerHost;
  /** `9 candidates × 1 plan × 5 blocks = 45 trials`. */
  shape: string;
  /** Candidates that did not run. */
  skipped: Skipped[];
  /** Its title. */
  title: string;
  /** Trials by what became of them. */
  trials: TrialCounts;
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

/** A change of level. */
export interface HistoryChange {
  /** What else differs between the points beside it: `version 1.24 → 1.25`. */
  also: string[];
  /** That point's time. */
  at: string;
  /** Whether it is for the better. */
  better: boolean;
  /** The commit of the first point after. */
  commit_after: string | null;
  /** The commit of the last point before. */
  commit_before: string | null;
  /** The first point after it, among the series' points. */
  index: number;
  /** Whether it is at least as large as `History::matters`. */
  matters: boolean;
  /** The p-value, for all cuts of the series together. */
  p: number;
  /** The level after over the level before. */
  ratio: Estimate;
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

/** A series' points: the chunk `h` + index. */
export interface HistoryPoints {
  /** By figure, in their order. */
  figures: FigurePoints[];
  /** Each run, with the first figure. */
  runs: HistoryRun[];
}

/** A run's figure. */
export interface HistoryRun {
  /** RFC 3339. */
  at: string;
  /** Whether the truth may be more: such a point is shown and takes no part in the tests. */
  at_least: boolean;
  /** The commit that was checked out where the run was begun. */
  commit: string | null;
  /** The figure; `None` where no trial that counts has it. */
  estimate: Estimate | null;
  /** The run log. */
  file: string;
  /** The machine: its CPU, how many, its kernel. */
  host: string;
  /** Where its report is. */
  href: string | null;
  /** Prony's version. */
  tool_version: string;
  /** Trials that count. */
  trials: number;
  /** The server's own word for its version. */
  version: string | null;
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

/** What the machine did over a trial's window beside the load, as far as it disturbs figures. What cannot be told is `None`. */
export interface HostWindow {
  /** Of the CPU quotas that hold for Prony, the one that stopped it longest; `None` without any. */
  cpu_quota: CpuQuota | null;
  /** Connects that a listening socket dropped for any reason, overflows included (`ListenDrops`). */
  listen_drops: number | null;
  /** Connects that found a listening socket's queue full (`ListenOverflows`), in this network namespace. */
  listen_overflows: number | null;
  /** Who listened at the target's address when the window was over; `None` where nobody did, or nobody could tell. */
  listening?: Listening;
  /** CPU time on the used CPUs of other programs, older than the load's server, over the load's time: 1 is a whole CPU. Of trials of a bench alone. */
  others?: number;
  /** The largest share of the window that a worker thread was ready to run and had no CPU (/proc/self/task/* /schedstat), 0 to 1. */
  run_queue_wait: number | null;
  /** The largest share of a used CPU's time that the hypervisor gave to others (`steal` of /proc/stat), 0 to 1. */
  steal: number | null;
  /** That time. */
  steal_ns: number | null;
  /** Whether the target's address is this machine's, so that its listening socket is among those counted. */
  target_is_local: boolean;
  /** TCP segments sent again (`RetransSegs`), in this network namespace. */
  tcp_retransmits: number | null;
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

export type IpVersion = "4" | "6";

/** A conclusion about the source's subject, judged. */
export interface JudgedConclusion {
  /** Whose: the source's own, our reading of its table, or our question. */
  by: By;
  /** The claim; empty where it is not judged. */
  claim: string;
  /** Where they are none: which figure they are, in its unit (`startup`, nanoseconds), or `rank`. */
  figure: string | null;
  /** The same here, under the plan that decides (see `plans`). */
  here: Estimate | null;
  /** Whether `published` and `here` are ratios. */
  is_ratio: boolean;
  /** Over all plans that it is about. */
  judgement: Judgement;
  /** Plan by plan. */
  plans: JudgedPlan[];
  /** The left side's figure over the right's in the source, where it printed both; its one figure where the claim has one; of a rank, its place among the rows that the source printed. Over several, it is over the largest or the smallest of them. */
  published: number | null;
  /** Whether the source says that `published` is at least so much. */
  published_at_least: boolean;
  /** Whether a row that `published` is from is in doubt. */
  published_doubted: boolean;
  /** In words. */
  text: string;
  /** Why it is undecided or not judged, where a reason is known; of an outcome, what the trials' were. */
  why: string | null;
}

/** A conclusion under one plan. */
export interface JudgedPlan {
  /** Left over right, or the left's figure. */
  here: Estimate | null;
  /** What became of the claim there. */
  judgement: Judgement;
  /** The plan's name. */
  plan: string;
  /** Why it is undecided. */
  why: string | null;
}

/** What became of a claim. */
export type Judgement = "holds" | "fails" | "undecided" | "unjudged";

/** The parts of a request's time. */
export interface Latencies {
  /** `None` with the clock `user`: it is inside service then. */
  client_delay: Summary | null;
  connect_wait: Summary;
  connection_wait: Summary;
  first_byte: Summary;
  response: Summary;
  send_lag: Summary;
  service: Summary;
}

/** A file that could not be used. */
export interface LeftOut {
  /** The file. */
  file: string;
  /** A sentence. */
  why: string;
}

/** What a series was between two changes. */
export interface Level {
  /** The geometric mean of those points, with its interval. */
  estimate: Estimate;
  /** The first of its points that took part in the tests, among the series' points. */
  first: number;
  /** The last of them. */
  last: number;
}

/** The sockets that listen at an address of this network namespace. */
export interface Listening {
  /** The most connections that may wait to be accepted, of the longest queue. */
  queue_max: number;
  /** How many: several share a port by SO_REUSEPORT, and the kernel divides connections between them. */
  sockets: number;
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

/** An agent that was lost during the load. */
export interface LostAgent {
  /** Its name. */
  agent: string;
  /** The window that was asked for; `None` where only a count ends the load. */
  planned_ns: number | null;
  /** Why, as the second half of a sentence. */
  why: string;
}

/** A machine in spans of a second, by column. A column that could not be read is empty. */
export interface Monitor {
  /** The end of each span, likewise. A load of over an hour, or on over 18 CPUs of some minutes, has spans of 2, 4 … s. */
  at_ms: number[];
  /** Each CPU, or one entry of all together where they are more than 256. */
  cpus: CpuColumns[];
  /** The start of the first span, from the window's start; the warm-up is negative. */
  from_ms: number;
  /** What passed over `lo`, counted once. */
  loopback_bytes?: number[];
  /** `Buffers` of /proc/meminfo. */
  memory_buffers_bytes?: number[];
  /** `Cached` and `SReclaimable`. */
  memory_cached_bytes?: number[];
  /** `MemFree`. */
  memory_free_bytes?: number[];
  /** Memory at each span's end that is none of the following three, which it adds up to `MemTotal` with. */
  memory_used_bytes?: number[];
  /** What all interfaces but `lo` received in each span, in this network namespace. */
  received_bytes?: number[];
  /** What they sent. */
  sent_bytes?: number[];
}

/** A machine over time. */
export interface MonitorSeries {
  /** The end of each span, from the window's start; the warm-up is negative. */
  at_ns: number[];
  /** The kernel's buffers of block devices. */
  buffers_bytes: number[];
  /** Pages of files and reclaimable caches of the kernel. */
  cached_bytes: number[];
  /** All CPUs together, then each, as many as there is room for. */
  cpus: CpuShares[];
  /** Unused. */
  free_bytes: number[];
  /** Bytes per second that passed over `lo`. */
  loopback_per_s: number[];
  /** `client` or `server`; empty where it is the only one. */
  machine: string;
  /** Bytes per second that all interfaces but `lo` received; empty where it could not be read. */
  received_per_s: number[];
  /** Bytes per second that they sent. */
  sent_per_s: number[];
  /** Memory at each span's end; empty where it could not be read. */
  used_bytes: number[];
}

/** A plan with its name within the experiment. */
export interface NamedPlan {
  /** The threshold whose highest sustainable rate is searched for, where it is a search: `p99<50ms`. */
  capacity?: string;
  /** One line for people: `100 connections, closed loop, GET /json`. */
  describe: string;
  /** The name given to the sweep that it is of. */
  group?: string;
  /** `c100`, `r20000`, or the name given. */
  name: string;
  /** The plan; its URL is a template without a port. */
  plan: RecordedPlan;
  /** Its rate as a share of a measured knee: each trial's plan has the rate. */
  share?: ShareOf;
  /** How many workers servers were told to use under it, where that is not the run's rule: a number, `server_cores`, or `source` (as many as the published source says, where it does). */
  workers?: string;
}

/** The A/A noise of one figure in one run. */
export interface Noise {
  /** Half the width of the interval that an A/A comparison of as many blocks of this run would have, as a share: differences under it are not seen here. */
  half_width: number;
  /** Blocks, or trials of the one that has fewer. */
  n: number;
  /** From one trial to the next of the same candidate: the standard deviation, as a share. */
  trial_to_trial: number;
}

/** In which order a list's lines are taken. */
export type Order = "in_turn" | "shuffled";

/** What became of the load: a finding, not an error. */
export type Outcome = "carried" | "overloaded" | "broken";

/** What is in a page's file. */
export type PageData = { schema: string } & ({ kind: "run" } & RunData | { kind: "live"; live: LiveHead } | { history?: string; kind: "runs"; runs: RunEntry[] } | { history: HistoryData; kind: "history"; tool: Tool });

/** One plan's ranking. */
export interface PlanAnalysis {
  /** `100 connections, closed loop, GET /, 3s after 1s warm-up`. */
  describe: string;
  /** The plan's name. */
  name: string;
  /** What these blocks, and others, find of differences in throughput; `None` below two blocks or ranked candidates, and where all carried what was due. */
  planning?: Planning;
  /** Which places by throughput would change without one of the blocks; `None` under eight blocks. */
  rank_changes?: RankChange[];
  /** Candidates, best throughput first; those without a figure last. */
  rows: Row[];
  /** How much more the fastest would carry than the slowest if each request took 20 ms of the servers' CPUs besides, as a share: what the choice is worth to an application that works. `None` at a rate, and below two candidates whose CPU time is known. */
  spread_at_20_ms: number | null;
  /** The control: what the run tells apart of a candidate and its twin. `None` without one. */
  twin?: Twin;
  /** What is left open of every tail, whatever it is here: a sentence. */
  unseen_stalls: string | null;
}

/** Both under one plan. */
export interface PlanComparison {
  /** Starts of A in which its server died: it is never called better, nor equivalent. */
  a_died?: Deaths;
  /** Trials of A that count. */
  a_trials: number;
  /** The same of B. */
  b_died?: Deaths;
  /** Trials of B that count. */
  b_trials: number;
  /** Blocks that have both; 0 where they are not paired. */
  blocks: number;
  /** `50 connections, closed loop, GET /`. */
  describe: string;
  /** Figures that at least one of both has. */
  figures: FigureComparison[];
  /** The plan's name. */
  name: string;
  /** Response times of B over A's at up to five percentiles; empty below two common blocks. */
  tails?: TailRatio[];
}

/** A plan. */
export interface PlanHead {
  /** What was asked, where the plan is known. */
  asked: NamedPlan | null;
  /** One line for people. */
  describe: string;
  /** Its name. */
  name: string;
  /** What stands below its ranking: its control, what its blocks find, whether one of them decides. */
  said?: string[];
}

/** What blocks find, in four of five runs, of a difference between two of the candidates. */
export interface Planning {
  /** So many blocks */
  blocks: number;
  /** find this difference, as a share, and larger ones; `None`: none that could be told. */
  finds: number | null;
  /** How many blocks find others. */
  to_find: BlocksToFind[];
}

/** A twin whose figures are shifted by a known difference, in analysis. */
export interface Planted {
  /** Whether the test tells them apart then. */
  apart: boolean | null;
  /** The chance that the ranks of a run with this one's noise find such a difference, 0 to 1. */
  chance: number | null;
  /** As a share. */
  difference: number;
  /** The ratio as it would be measured with it. */
  ratio: Estimate | null;
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
  /** What the machines did over time, the server's first where it is another; empty where nobody looked. */
  monitor: MonitorSeries[];
  /** Response at each of `quantiles`, as far as it is known. */
  response_ns: number[];
  /** Over time. */
  series: Series;
  /** What the server cost over time; empty where it was not the lab's. */
  server: ServerSeries;
  /** Service, likewise. */
  service_ns: number[];
}

/** One load of a search. */
export interface Probe {
  /** Requests beyond the first limit that is one on a share of them (a threshold's percentile or failures, else a thousandth that fails), over all; `None` in an older log. */
  beyond_share?: number;
  /** Completed requests per second. */
  completed_per_s: number;
  /** How long it was loaded, a clear failure being ended early. */
  duration_ns: number;
  /** Failed requests over those that ended. */
  failed_share: number;
  /** The thresholds of a sustained rate whose figure was withheld or missing. */
  not_judged?: string[];
  /** Median response. */
  p50_ns: number | null;
  /** 99th percentile of response. */
  p99_ns: number | null;
  /** `doubling`, `halving`, `bisection`, `up_down` or `descending`; `confirmation` in an older log. */
  phase: string;
  /** Requests per second offered. */
  rate_per_s: number;
  /** Whether the rate was sustained. */
  sustained: boolean;
  /** The thresholds of a sustained rate whose point holds and whose interval does not say. */
  undecided?: string;
  /** What decided it, in a few words. */
  why: string;
}

/** Where CPU time per request grew. */
export interface Profile {
  /** Heads of its columns. */
  head: string[];
  /** The flame graph, as an address that holds it. */
  image: string;
  /** What is to be known of it. */
  notes: string[];
  /** A function each. */
  rows: string[][];
  /** The answer in a sentence. */
  title: string;
}

/** Where CPU time per request grew from A to B. No other figure is made of these two trials. */
export interface ProfileComparison {
  /** What is compared with. */
  a: ProfileSide;
  /** What is compared. */
  b: ProfileSide;
  /** The functions that surely grew and grew most, at most ten, and not just by one that they call. */
  functions: FunctionGrowth[];
  /** B's CPU time per request less A's, as sampled, in nanoseconds. */
  growth: Estimate;
  /** Whether the kernel's part was sampled. */
  kernel: boolean;
  /** The plan's name. */
  plan: string;
}

/** One side's samples. */
export interface ProfileSide {
  /** The candidate's label. */
  candidate: string;
  /** CPU time per request that they stand for, in nanoseconds. */
  cpu_per_request_ns: number;
  /** Samples in a function whose name is known, as a share. */
  named: number;
  /** Samples. */
  samples: number;
}

/** A plan over HTTP/2 beside the same over HTTP/1.1. */
export interface ProtocolComparison {
  /** The plan over HTTP/1.1. */
  http1: string;
  /** The plan over HTTP/2, with as many requests in flight: connections times requests at once on each. */
  http2: string;
  /** The servers that were measured under both, in the order of the run. */
  rows: ProtocolRow[];
}

/** A protocol by its name in ALPN (RFC 7301), recipes and JSON. */
export type ProtocolId = "http/1.1" | "h2c" | "h2";

/** One server under both. */
export interface ProtocolRow {
  /** The candidate under the plan over HTTP/1.1. */
  http1: string;
  /** The candidate under the other: the same, or the same server with its setting for HTTP/2. */
  http2: string;
  /** By the figure's field: HTTP/2's over HTTP/1.1's, paired within blocks. A figure that a trial does not have is left out. */
  ratios: Record<string, Estimate>;
}

/** A plan over HTTP/2 beside the same over HTTP/1.1, or the services of a plan. */
export interface ProtocolTable {
  /** The heads of its columns; the first is the server's. */
  head: string[];
  /** A server each, or one of its services, as many cells as there are heads. */
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

/** A source beside this run. */
export interface PublishedAnalysis {
  /** How far its order agrees with ours, per plan that has at least four rows of both. */
  agreement: Agreement[];
  /** What its statistic is of our trials, where it says which it is; none of a plan of which it printed nothing. */
  by_its_statistic?: ByItsStatistic[];
  /** Its conclusions, judged. */
  conclusions: JudgedConclusion[];
  /** What in its method makes its figures others than ours. */
  differences?: string[];
  /** Its rows that are left out of agreement, with the reason; each candidate and reason once. */
  doubts: Doubt[];
  /** What it says besides. */
  facts: Record<string, string>;
  /** How its figures were obtained. */
  method: string;
  /** Candidates of its tables that have no figure here. */
  not_here: string[];
  /** What it is called. */
  source: string;
}

/** What a source printed for a row of ours. */
export interface PublishedFigures {
  /** Why the row is doubted. */
  doubt: string | null;
  /** Its figures, by name with their unit. */
  figures: Record<string, number>;
  /** The source's word for the candidate. */
  name: string;
  /** Its throughput over that of its row of our baseline; `None` where either is missing or doubted. */
  ratio: number | null;
}

/** One row of its tables: a candidate under one load. */
export interface PublishedRow {
  /** Ours: a label of the catalogue. */
  candidate: string;
  /** Connections; `None` where the source doesn't say. */
  connections: number | null;
  /** Why the row is left out of rank agreement. */
  doubt?: string;
  /** Its figures by name, in the units that the names end in: `requests_per_s`, `p99_ms`, … */
  figures: Record<string, number>;
  /** The source's word for it. */
  name: string;
  /** Requests per second asked for; `None`: closed arrivals. */
  rate_per_s: number | null;
  /** What it says in words, by key. */
  remarks?: Record<string, string>;
  /** How many workers the source gave it; `None` where it doesn't say. */
  workers?: number;
}

/** A candidate whose place would be another without one of the blocks. */
export interface RankChange {
  /** The block that is left out, from 0. */
  block: number;
  /** Whose. */
  candidate: string;
  /** The best and the worst place it may hold then. */
  rank: [number, number];
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
  /** For a percentile that is censored in a trial: it is longer than this. */
  censored_at_ns?: number;
  /** Over its trials that count; `None` where the figure is withheld or censored in one of them. */
  estimate: Estimate | null;
  /** Print `≥`: the client was the limit. */
  lower_bound: boolean;
  /** The worst that a verdict does to this figure: ``, `?` (suspect) or `✗` (invalid). */
  mark: string;
  /** The best and the worst place it may hold, of a figure that candidates are ranked by. */
  rank: [number, number] | null;
  /** To the experiment's baseline; to the others in the chunk `r` + plan. */
  ratio: Estimate | null;
  /** Its group of ties, from 1: the rank intervals of different groups do not overlap. */
  tie: number | null;
  /** Each counted trial's figure, in block order. */
  trials: number[];
}

/** The ratios of a plan, by figure, row and baseline: the chunk `r` + plan. */
export interface Ratios {
  /** Index of the candidate of each row, and of each baseline. */
  candidates: number[];
  /** By figure, then row, then baseline; a figure without any has empty rows. */
  ratios: (Estimate | null)[][][];
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

/** A table of values, as it can be told from another. */
export interface RecordedData {
  /** The columns' names. */
  columns: string[];
  /** Of all cells, in hexadecimal: a part of FNV-1a, as short as a body's. */
  fingerprint: string;
  /** Rows below them. */
  rows: number;
}

/** A list of requests, as it can be told from another. The requests themselves are the trial's `targets`. */
export interface RecordedList {
  /** Requests whose responses are held against an expectation of their own, not the plan's. */
  expecting?: number;
  /** Of the lines in their order, in hexadecimal: FNV-1a, 64 bits; folded to 32 where a line has more of its own than its method and URL. */
  fingerprint: string;
  /** In which format it was written. */
  format?: Format;
  /** Lines with a request. */
  lines: number;
  /** In which order lines are taken. */
  order: Order;
  /** Different requests among them; where it stays in its file, all. */
  requests: number;
  /** The URLs of all servers where lines name several; the plan's `url` is the first's. */
  servers?: string[];
}

/** A plan, as JSON has it. */
export interface RecordedPlan {
  /** Whether connections are spread over all addresses of a name. */
  all_addresses?: boolean;
  /** When requests are due. */
  arrivals: ArrivalKind;
  /** The request body's length. */
  body_bytes: number;
  /** Whether the body is read from its file while it is sent. */
  body_file?: boolean;
  /** Of the request body's bytes, so that two of one length can be told apart: FNV-1a (64 bits) folded to 32, 8 hexadecimal digits; of a file's both ends (1 MiB each) and its length. `None` without a body, and in records from before it was kept. */
  body_fingerprint?: string;
  /** Whether bodies are sent in chunks, without their length. */
  chunked?: boolean;
  /** Where connections go instead of the URL's host and port: `127.0.0.1:8080`, `a:80:b:81`. */
  connect_to?: string[];
  /** Connections over all workers. */
  connections: number;
  /** CPUs the workers are pinned to. */
  cpus: number[];
  /** The table of such values, where there is one. */
  data?: RecordedData;
  /** Whether bodies are decoded before they are compared. */
  decode?: boolean;
  /** The window's length; `None` where only a count ends the load. */
  duration_ns: number | null;
  /** Whether every response's body is compared. */
  expect_body: boolean;
  /** Values that every body must have as JSON, `/id=17`; of a secret one `@env:NAME` or `[redacted]`. */
  expect_json?: string[];
  /** The status expected; `None`: any 2xx or 3xx. */
  expect_status: number | null;
  /** Headers as given; of a secret `@env:NAME` or `[redacted]`. */
  headers: [string, string][];
  /** The only version of IP. */
  ip_version?: IpVersion;
  /** Whether connections serve more than one request. */
  keepalive: boolean;
  /** The request's method. */
  method: string;
  /** Requests that a connection may carry at once. */
  pipeline: number;
  /** `h2` where HTTP/2 is spoken over TLS, `h2c` without; left out of HTTP/1.1. */
  protocol?: ProtocolId;
  /** Requests per second asked for; `None` in closed arrivals and stages. */
  rate_per_s: number | null;
  /** The log whose requests are replayed, which are then the list. */
  replay?: RecordedReplay;
  /** Requests scheduled in all; `None` where only a duration ends the load. */
  requests: number | null;
  /** After how many requests a connection is closed, where it serves more than one; `None`: no limit. */
  requests_per_connection?: number;
  /** How often names are resolved anew; `None`: once. */
  resolve_every_ns?: number;
  /** The seed. */
  seed: number;
  /** The name that TLS asks for, where it is not the URL's. */
  sni?: string;
  /** Local addresses that connections come from; empty: the kernel's choice. */
  sources?: string[];
  /** Whether workers stay awake before a request is due. */
  spin: boolean;
  /** The stages, where there are any. */
  stages?: RecordedStage[];
  /** The list of requests, where there is one; `url` is then the (first) server's, and `method` that of lines without one. */
  targets?: RecordedList;
  /** Worker threads. */
  threads: number;
  /** A request's and a connect's timeout. */
  timeout_ns: number;
  /** How TLS is spoken; `None` with an `http://` URL. */
  tls?: RecordedTls;
  /** The URL without userinfo. */
  url: string;
  /** Whether arrivals are timed when they are read, though the kernel would stamp them. */
  user_clock?: boolean;
  /** Values that each request has anew, `id=int:1..1000`; of a secret choice `token=choice:[redacted]`. */
  values?: string[];
  /** Traffic before the window. */
  warmup_ns: number;
}

/** What is replayed of a log, and what is not. */
export interface RecordedReplay {
  /** Requests that are replayed, in each round. */
  entries: number;
  /** Of the log's bytes, in hexadecimal: FNV-1a (64 bits) folded to 32, as a log may hold secrets. */
  fingerprint: string;
  /** Lines that are not replayed, by method; `no_request` where they have none that can be sent. */
  left_out: Record<string, number>;
  /** From the first one to the last one, as they were logged. */
  length_ns: number;
  /** Whether the log begins again where it ends. */
  looped: boolean;
  /** The methods that are replayed. */
  methods: string[];
  /** Requests whose logged time was taken off their instant, which is then when they began. */
  request_times: number;
  /** How much faster they are replayed. */
  speed: number;
  /** Requests whose instant was logged in whole seconds: they are spread within theirs, by seed and line. */
  spread: number;
  /** The seed of that; blocks and repetitions have others for the rest, and replay the same instants. */
  spread_seed?: number;
}

/** A stage: a linear change from the level before, 0 at first, to its own. */
export interface RecordedStage {
  /** How long it takes; 0 is a jump. */
  duration_ns: number;
  /** Connections at its end; `None` in stages of a rate. */
  to_connections: number | null;
  /** Requests per second at its end; `None` in stages of connections. */
  to_rate_per_s: number | null;
}

/** How TLS is spoken, as JSON. */
export interface RecordedTls {
  /** The protocol offered by ALPN. */
  alpn: ProtocolId;
  /** Whether the client has a certificate to show. */
  client_certificate: boolean;
  /** Whether sessions are resumed: `on` or `off`. */
  resumption: string;
  /** Against what the server's certificate is checked. */
  verify: VerifyKind;
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

/** One candidate under one plan. */
export interface Row {
  /** Trials whose outcome was `broken`. */
  broken: number;
  /** The candidate's label. */
  candidate: string;
  /** Completed requests over all counted trials. */
  completed: number;
  /** Trials that count. */
  counted: number;
  /** CPU time of the server's processes per completed request. */
  cpu_per_request_ns: Estimate | null;
  /** Starts in which the server died: then it is not ranked. */
  died?: Deaths;
  /** Failed requests over all counted trials. */
  failed: number;
  /** Failed requests as a share of those that ended. */
  failed_share: Estimate | null;
  /** Median time from when a request was sent to its response's first byte; completed requests. */
  first_byte_p50_ns: Estimate | null;
  /** 99th percentile of the time from when a request was sent to its response's first byte; completed requests. */
  first_byte_p99_ns: Estimate | null;
  /** Completed requests per second of the window that meet every response time given with --slo. */
  goodput_per_s: Estimate | null;
  /** Interrupt and soft interrupt time of the server's whole host per completed request, where that is another machine: in no process's CPU time. */
  interrupts_per_request_ns: Estimate | null;
  /** Whether its connections serve more than one request. */
  keepalive: boolean;
  /** `web-server`, `event-loop`, …, where known. */
  kind: string | null;
  /** The language it is written for, where known. */
  language: string | null;
  /** Response time by percentile, trials merged for display (not for inference). */
  latency_curve: CurvePoint[];
  /** Whether any counted trial's throughput is a lower bound. */
  lower_bound: boolean;
  /** Mean response time. */
  mean_ns: Estimate | null;
  /** Slope of the server's memory over the window; below 0 it shrinks. */
  memory_growth_bytes_per_s: Estimate | null;
  /** Trials whose outcome was `overloaded`. */
  overloaded: number;
  /** When the percentile is censored: it is longer than this. */
  p50_censored_at_ns: number | null;
  /** Median response time, failed and waiting requests included. */
  p50_ns: Estimate | null;
  /** When the percentile is censored: it is longer than this. */
  p75_censored_at_ns: number | null;
  /** This percentile of response time, failed and waiting requests included. */
  p75_ns: Estimate | null;
  /** When the percentile is censored: it is longer than this. */
  p90_censored_at_ns: number | null;
  /** This percentile of response time, failed and waiting requests included. */
  p90_ns: Estimate | null;
  /** When the percentile is censored: it is longer than this. */
  p95_censored_at_ns: number | null;
  /** This percentile of response time, failed and waiting requests included. */
  p95_ns: Estimate | null;
  /** When the percentile is censored: it is longer than this. */
  p99999_censored_at_ns: number | null;
  /** This percentile of response time, failed and waiting requests included. */
  p99999_ns: Estimate | null;
  /** When the percentile is censored: it is longer than this. */
  p9999_censored_at_ns: number | null;
  /** This percentile of response time, failed and waiting requests included. */
  p9999_ns: Estimate | null;
  /** When the percentile is censored: it is longer than this. */
  p999_censored_at_ns: number | null;
  /** This percentile of response time, failed and waiting requests included. */
  p999_ns: Estimate | null;
  /** When the percentile is censored: it is longer than this. */
  p99_censored_at_ns: number | null;
  /** 99th percentile of response time, failed and waiting requests included. */
  p99_ns: Estimate | null;
  /** The most memory of the server's processes in any trial. */
  peak_memory_bytes: number | null;
  /** Each counted trial's requests per second, in block order: the raw replication. */
  per_trial_requests_per_s: number[];
  /** What the source printed for this candidate under this load. */
  published?: PublishedFigures;
  /** Best and worst place by throughput it may hold: `1 + surely better`, `k − surely worse`. */
  rank: [number, number] | null;
  /** Throughput over the baseline's, paired within blocks. */
  ratio: Estimate | null;
  /** Response bytes, heads included, that the client read per second of the window. */
  read_bytes_per_s: Estimate | null;
  /** Each verdict's code seen, with the number of trials and one detail. */
  reasons: RowReason[];
  /** What its starts together show besides: sentences. */
  remarks?: string[];
  /** Completed requests per second of the server's CPU time: the reciprocal of CPU per request. */
  requests_per_cpu_s: Estimate | null;
  /** Completed requests per second of the window. */
  requests_per_s: Estimate | null;
  /** Request bytes, heads included, that the client sent per second of the window. */
  sent_bytes_per_s: Estimate | null;
  /** Each trial over time. */
  series: TrialSeries[];
  /** What the services beside it cost. */
  services?: ServiceFigures[];
  /** From the start of the process to its first valid response. */
  startup_ns: Estimate | null;
  /** Standard deviation of response time. */
  stdev_ns: Estimate | null;
  /** The server's title. */
  title: string;
  /** Trials with a result. */
  trials: number;
  /** The server's own word for its version. */
  version: string | null;
  /** Worker processes or threads it was told to use; `None` where it cannot be told. */
  workers: number | null;
}

/** A verdict's code in a row. */
export interface RowReason {
  /** The advice. */
  advice: string;
  /** The code. */
  code: string;
  /** The first one's detail. */
  detail: string;
  /** The worst that it does to a figure. */
  effect: Effect;
  /** How many trials had it. */
  trials: number;
  /** The least and the greatest of each value of the reason among those trials, by name, with the unit at its end as in a trial's reason. */
  values: Record<string, [number, number]>;
}

/** A run. */
export interface RunData {
  /** The candidate that ratios are to, unless another is chosen. */
  baseline: number | null;
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
  /** What was asked, how, and what was found. */
  head: Head;
  /** Where the list of runs is, where there is one. */
  home?: string;
  /** Percentiles of times, each by its field and its title. */
  percentiles: [string, string][];
  /** Under what, in the experiment's order. */
  plans: PlanHead[];
  /** Where CPU time per request grew, where that was sampled. */
  profile?: Profile;
  /** What HTTP/2 changes, where plans ask for the same over both. */
  protocols?: ProtocolTable[];
  /** Figures that somebody published, beside ours. */
  published?: Published[];
  /** Where the curves of details have points. */
  quantiles: number[];
  /** Each figure under each plan. */
  rankings: Ranking[];
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
  /** Connections established, those before the schedule included, whose SYN the kernel had sent again, a second or more later. */
  retried?: number;
  /** Requests written. */
  sent: number;
  /** Connections on which the server sent what no request asked for. */
  unasked?: number;
}

/** Samples of a server by column. */
export interface SampleColumns {
  /** From the window's start; samples of the warm-up are negative. */
  at_ns: number[];
  /** A column for each of `cores`: its busy time since the first sample, whoever used it, in steps of 10 ms. */
  core_busy_ns?: number[][];
  /** The used CPUs, the client's among them. */
  cores?: number[];
  /** CPU time of the tree since its start. */
  cpu_ns: number[];
  /** Instants of `pss_bytes`, which is read once a second; of a length of their own. */
  pss_at_ns?: number[];
  /** Memory of the tree by proportional shares. */
  pss_bytes?: number[];
  /** Resident memory of the tree. */
  rss_bytes: number[];
  /** TCP sockets in TIME_WAIT in the network namespace: each holds a port. */
  time_wait?: number[];
}

/** One search. */
export interface Search {
  block: number;
  /** Index of the candidate. */
  candidate: number;
  found: CapacityRecord;
  /** Number of the trial: its last probe about the edge that was sustained. */
  trial: number;
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
  now: Estimate | null;
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

/** A part of the window: a second, or in a long one a power of two of seconds. */
export interface SeriesPoint {
  /** From the window's start. */
  at_ns: number;
  /** Requests completed in it. */
  completed: number;
  /** Connections open at its end. */
  connections: number;
  /** Requests failed in it. */
  failed: number;
  /** Its response times; in JSON the Base64 of the compressed V2 form of HdrHistogram. */
  hdr: string;
  /** Its length. */
  length_ns: number;
  /** The longest response. */
  max_ns: number | null;
  /** Median response of its completed requests. */
  p50_ns: number | null;
  /** 99th percentile, given 100 samples. */
  p99_ns: number | null;
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
  /** What it did second by second, by its own clock. */
  monitor?: Monitor;
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

/** A server process tree's costs over one trial. */
export interface ServerSamples {
  /** The samples, columnar: all columns have one length. */
  columns: SampleColumns;
  /** How CPU was read: `cgroup-v2`, `cgroup-v1` or `schedstat`. Figures of different methods are not compared. */
  cpu_method: string;
  /** CPUs the server was pinned to; empty: not pinned. */
  cpus: number[];
  /** What the server's host did over the window, where that is another machine than the client's; `None` on one machine. */
  host?: ServerHostWindow;
  /** How memory was read: `rss` (pages shared by processes count in each) or `pss` (each counts its share). */
  memory_method: string;
  /** The highest memory of the tree seen within the window. */
  peak_memory_bytes: number;
  /** The highest memory of the tree within the window by proportional shares: pages that processes share count once. `None` where it was not read. */
  peak_pss_bytes?: number;
  /** Processes in the tree at the window's end. */
  processes: number;
  /** What the services beside it cost, which is no part of its own figures. */
  services?: ServiceSamples[];
  /** From the start of the process to its first valid response; 0 of a server that somebody else started. */
  startup_ns: number;
  /** Threads in the tree at the window's end. */
  threads: number;
  /** CPU time of the whole tree within the window, interpolated between samples. */
  window_cpu_ns: number;
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

/** What a service (a database, a cache, an upstream) cost beside a candidate: no part of the candidate's own figures. */
export interface ServiceFigures {
  /** Its CPU time over the candidate's completed requests. */
  cpu_per_request_ns: Estimate | null;
  /** `db`. */
  name: string;
  /** The highest resident memory of any trial. */
  peak_memory_bytes: number;
}

/** What a service (a database, a cache, an upstream) cost over one trial. */
export interface ServiceSamples {
  /** As that of a server. */
  cpu_method: string;
  /** CPUs that it was pinned to; empty: not pinned. */
  cpus: number[];
  /** `db`. */
  name: string;
  /** The highest resident memory of its tree within the window. */
  peak_memory_bytes: number;
  /** Processes in its tree at the window's end. */
  processes: number;
  /** Whether these are the server's, too. */
  shares_cpus?: boolean;
  /** CPU time of its whole tree within the window. */
  window_cpu_ns: number;
}

/** An axis of a server's recipe, and the value that a candidate has on it. */
export interface Setting {
  /** `opt`, `loop`, `close`, … */
  axis: string;
  /** `jit`, `ev`, `yes`, … */
  value: string;
}

/** A rate as a share of a measured knee. */
export interface ShareOf {
  /** Whose knee. */
  of: CapacityOf;
  /** 1 is the knee itself. */
  share: number;
}

/** One side. */
export interface Side {
  /** The candidate's label. */
  candidate: string;
  /** The run's file. */
  run: string;
  /** Its title. */
  title: string;
  /** Its own word for its version. */
  version: string | null;
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

/** A threshold held against a trial. */
export interface SloRecord {
  /** What became of it. */
  decision: Decision;
  /** Undecided because the figure itself was withheld or is missing, in every trial: nothing was held to the limit. */
  not_judged?: boolean;
  /** What was seen, in a few words. */
  seen: string;
  /** As it was written: `p99<50ms`. */
  slo: string;
  /** What would decide it, where it is undecided. */
  to_decide?: string;
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
  ours?: Estimate;
  /** Ours is longer than this. */
  ours_beyond?: number;
  /** Theirs. */
  value: number;
}

/** A row of a source's tables. */
export interface SourceRow {
  /** Its figures, in the order of the columns; none where it printed none. */
  figures: (SourceFigure | null)[];
  /** Index of the candidate, where it is of this run. */
  index: number | null;
  /** Index of the plan that the row stands beside; none where no plan here is that load. */
  plan: number | null;
  printed: PublishedRow;
}

/** What a source printed, beside this run; what is said of it as a whole is in the analysis. */
export interface SourceTable {
  /** How far its order agrees with ours, a sentence a plan; then our trials by its statistic, likewise. */
  agreement: string[];
  /** The figures that any of its rows has, in the order of a table. */
  columns: SourceColumn[];
  /** What it printed, in its order; a row that stands beside several plans is there once for each. */
  rows: SourceRow[];
}

/** What a printed figure is of several runs of the same. */
export type Statistic = { best_of: number } | { median_of: number } | "one_run";

/** A distribution of durations, summarised. */
export interface Summary {
  /** For each censored percentile: it is longer than this. */
  censored_at_ns?: Record<string, number>;
  /** 95 % intervals of the percentiles, and of the mean of response, by field name; `null` for an upper end that there is none of. */
  ci95: Record<string, [number | null, number | null]>;
  /** Whose clock. */
  clock: Clock;
  /** Completed requests in it. */
  count: number;
  /** The completed requests; in JSON the Base64 of the compressed V2 form of HdrHistogram. */
  hdr: string;
  /** The longest among completed requests. */
  max_ns: number | null;
  /** Mean over completed requests; `None` when there are none. */
  mean_ns: number | null;
  /** The shortest. */
  min_ns: number | null;
  /** For each percentile that is withheld, or of response without an interval: the window that would give it one. */
  needs_duration_ns?: Record<string, number>;
  /** The median. A percentile is `None` when it is withheld (too few samples beyond it) or censored (its rank falls among requests without a response). */
  p50_ns: number | null;
  p75_ns: number | null;
  p90_ns: number | null;
  p95_ns: number | null;
  p99999_ns: number | null;
  p9999_ns: number | null;
  p999_ns: number | null;
  p99_ns: number | null;
  /** Standard deviation over completed requests. */
  stdev_ns: number | null;
  /** Why an interval has no upper end. */
  unbounded?: Record<string, string>;
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
  /** From the median to the last percentile that the samples allow. */
  ratios: TailRatio[];
}

/** B's percentile over A's. */
export interface TailRatio {
  /** What that says, of all of these together. */
  finding: Finding;
  /** Of response times: 0.99. */
  quantile: number;
  /** B over A, with an interval that is aimed to hold for all of these at once in 95 % of runs. */
  ratio: Estimate;
}

/** One request of a list, over all lines that say it. */
export interface TargetFigures {
  /** Succeeded within the window. */
  completed: number;
  /** Failed requests by kind. */
  errors: Record<string, number>;
  /** Failed within the window. */
  failed: number;
  /** Lines of the list that say it. */
  lines: number;
  /** Bytes read for it, heads included. */
  read_bytes: number;
  /** Method and path, `GET /a`; `other requests` for those without figures of their own. */
  request: string;
  /** Intended to last byte. */
  response: Summary;
  /** Sent over the whole run, warm-up included: what a server's own log is held against. */
  run_sent: number;
  /** Sent to last byte. */
  service: Summary;
  /** Responses by status. */
  status: Record<string, number>;
  /** Unresolved when the window closed. */
  waiting: number;
}

/** What was loaded. */
export interface TargetRecord {
  /** The address connected to. */
  address: string;
  /** URL without userinfo. */
  url: string;
}

/** How much was carried. */
export interface Throughput {
  /** Whose limit it is. */
  bound: Bound;
  /** Bytes of bodies per second once they were decoded; `None` where they were not. */
  decoded_bytes_per_s?: number;
  /** Requests per second that were due; `None` in closed arrivals. */
  offered_per_s: number | null;
  /** Bytes read per second, heads included. */
  read_bytes_per_s: number;
  /** Completed requests per second of the window. */
  requests_per_s: Estimate;
  /** Bytes of requests sent per second, heads included. */
  sent_bytes_per_s: number;
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

/** One candidate under one plan, once. */
export interface Trial {
  /** What the client itself cost. */
  client: Client;
  /** Failed requests by kind. */
  errors: Record<string, number>;
  /** The first message of each kind of failure. */
  first_errors?: Record<string, string>;
  /** What each agent did, where several machines applied the load. */
  fleet?: FleetRecord;
  /** Completed requests per second that meet every threshold on response times; `None` without one. */
  goodput_per_s?: number;
  /** The machine. */
  host: Host;
  /** What the machine did over the window beside the load. */
  host_window?: HostWindow;
  /** What HTTP/2 came to; `None` where it is not spoken. */
  http2?: Http2Use;
  /** Whether somebody ended it before its plan did. */
  interrupted: boolean;
  /** The version of Prony that judged it, where that is another than measured it. */
  judged_by?: string;
  /** How quickly it responded. */
  latency: Latencies;
  /** What this machine did second by second. */
  monitor?: Monitor;
  /** What became of the load. */
  outcome: Outcome;
  /** The effective plan. */
  plan: RecordedPlan;
  /** The window's requests by fate. */
  requests: RequestCounts;
  /** How much faster the second half of the window was than its first fifth, as a logarithm: throughput in closed arrivals, else the reciprocal of the mean response. */
  rise?: number;
  /** The whole run's counts. */
  run_total: RunTotal;
  /** `SCHEMA`. */
  schema: string;
  /** The window second by second, a long one in several seconds an entry. */
  series: SeriesPoint[];
  /** What a server cost that somebody else started (`--watch`); of one that Prony started it stands beside the trial. */
  server?: ServerSamples;
  /** Each threshold asked for, and what became of it. */
  slo?: SloRecord[];
  /** RFC 3339, UTC, when the first request could be sent. */
  started_at: string;
  /** Responses by status. */
  status: Record<string, number>;
  /** What was loaded. */
  target: TargetRecord;
  /** Each request of a list by itself, in the list's order; empty without one. */
  targets?: TargetFigures[];
  /** How much it carried. */
  throughput: Throughput;
  /** What TLS was agreed on; `None` where it is not spoken. */
  tls?: TlsRecord;
  /** What measured it. */
  tool: Tool;
  /** How far the figures can be trusted. */
  verdict: Verdict;
  /** The counted span. */
  window: Window;
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
  requests_per_s: Estimate;
  /** The stages of its load, where it has any. */
  stages?: RecordedStage[];
  /** How far its figures can be trusted. */
  validity: Validity;
}

/** A trial over time. */
export interface TrialSeries {
  /** From the window's start, per point. */
  at_ns: number[];
  /** Its block. */
  block: number;
  /** 99th percentile of response, per point, where it has one. */
  p99_ns: (number | null)[];
  /** Completed requests per second, per point. */
  requests_per_s: number[];
  /** Server CPU in cores in use, per server sample: (from window start in ns, cores). */
  server_cores: [number, number][];
  /** Server memory in bytes, per server sample. */
  server_memory_bytes: [number, number][];
  /** Its validity, as in JSON. */
  validity: string;
}

/** A candidate's twin under one plan. */
export interface Twin {
  /** Whether the test of ranks tells them apart; `None` where it cannot be made. */
  apart: boolean | null;
  /** What the two are compared by: throughput, at a rate p99. */
  figure: string;
  /** Whose it is. */
  of: string;
  /** The same with a difference that is known. */
  planted: Planted;
  /** The twin's figure over its candidate's, paired within blocks; `None` without a block in which both count. */
  ratio: Estimate | null;
  /** Its figures as they were measured, not ranked. */
  row: Row;
}

/** What a figure is counted in. */
export type Unit = "requests_per_s" | "requests_per_cpu_s" | "ns" | "bytes" | "bytes_per_s" | "share" | "ratio" | "count";

/** The verdict in a word. */
export type Validity = "valid" | "suspect" | "invalid";

/** How far a trial's figures can be trusted. */
export interface Verdict {
  /** Why. */
  reasons: Reason[];
  /** The worst effect of its reasons. */
  validity: Validity;
}

/** Against what a certificate is checked. */
export type VerifyKind = "system" | "cacert" | "none";

/** How many requests waited, and for how long together. */
export interface WaitTotal {
  /** Requests that waited. */
  count: number;
  /** The sum of their waits, in nanoseconds. */
  total_ns: number;
}

/** The counted span. */
export interface Window {
  /** Its length. */
  duration_ns: number;
  /** Traffic before it. */
  warmup_ns: number;
}
