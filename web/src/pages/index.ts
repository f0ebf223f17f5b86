import { about } from "./about";
import { capacity } from "./capacity";
import { experiment } from "./experiment";
import type { Page } from "./page";
import { ramp } from "./ramp";
import { sweep } from "./sweep";
import { trials } from "./trials";

/** In the order of the navigation. */
export const PAGES: Page[] = [experiment, sweep, capacity, trials, ramp, about];
