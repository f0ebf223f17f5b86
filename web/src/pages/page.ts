/** A page: one file, one line in `index.ts`. */
import type { RunData } from "../data";
import type { State } from "../core/state";

export interface Context {
  data: RunData;
  state: State;
}

export interface Page {
  id: string;
  title: string;
  /** Whether there is anything to show of this run. */
  has: (data: RunData) => boolean;
  render: (context: Context, root: HTMLElement) => void;
}
