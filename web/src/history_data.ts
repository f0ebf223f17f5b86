/** A history of runs, as `crates/report/src/page/history.rs` writes it. */

import type { Short, Unit } from "./data";

/** A figure of a history. */
export interface HistoryFigure {
  id: string;
  title: string;
  unit: Unit;
  more_is_better: boolean;
  /** The smallest change that matters, as a share. */
  matters: number;
  headline: string;
  method: string;
}

export interface HistoryChange {
  /** The first point after it. */
  index: number;
  at: string;
  commit_before: string | null;
  commit_after: string | null;
  word: "WORSE" | "better" | "small";
  size: string;
  said: string;
  ratio: Short;
  p: number;
  also: string[];
}

export interface HistorySeries {
  experiment: string;
  plan: string;
  candidate: string;
  runs: number;
  /** By figure. */
  figures: { verdict: "changed" | "no_change" | "too_few"; said: string; now: Short | null; changes: HistoryChange[] }[];
}

export interface HistoryData {
  folder: string;
  runs: number;
  from: string | null;
  to: string | null;
  figures: HistoryFigure[];
  series: HistorySeries[];
  left_out: { file: string; why: string }[];
  home?: string;
}

/** The chunk `h` + series. */
export interface HistoryPoints {
  at: string[];
  file: string[];
  href: (string | null)[];
  commit: (string | null)[];
  version: (string | null)[];
  tool_version: string[];
  host: string[];
  trials: number[];
  /** By figure. */
  figures: { estimates: (Short | null)[]; at_least: boolean[]; levels: { first: number; last: number; estimate: Short }[] }[];
}
