/**
 * Colours of data: Okabe and Ito's palette for colour-blind readers (2008), its yellow left out (too
 * pale on white) and two greys of different lightness added. Style sheets give them a value a theme.
 */
export const SERIES = 9;

/** The colour of the k-th thing, as CSS. Beyond nine they repeat, with another dash. */
export function color(k: number): string {
  return `var(--c${k % SERIES})`;
}

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

export function dash(k: number): string {
  return DASHES[Math.floor(k / SERIES) % DASHES.length] ?? "";
}
