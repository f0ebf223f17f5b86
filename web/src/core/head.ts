/** What stands above a plot in a file: its title, and its legend, which the page has outside the drawing. Pure. */

export interface KeyEntry {
  name: string;
  color: string;
  dash?: string;
}

/** A text at its baseline, in lines. */
export interface Placed {
  x: number;
  y: number;
  lines: string[];
}

export interface Head {
  height: number;
  title: Placed;
  /** `x` is of the text; its swatch stands left of it. */
  entries: (Placed & { entry: KeyEntry })[];
}

/** How wide a text is in pixels, at a size and weight. */
export type Measure = (text: string, px: number, weight: number) => number;

export const TITLE = { px: 16, weight: 600, line: 21 } as const;
export const NAME = { px: 12, weight: 400, line: 17 } as const;
export const SWATCH = 22;
const MARGIN = 14;
const GAP = 6;
const BETWEEN = 18;

/** Lines that fit, broken at spaces, and within words that alone are too long. Together they are the text. */
export function broken(text: string, width: number, px: number, weight: number, measure: Measure): string[] {
  const lines: string[] = [];
  let line = "";
  const put = (piece: string): void => {
    if (line !== "" && measure((line + piece).trimEnd(), px, weight) > width) {
      lines.push(line);
      line = "";
    }
    line += piece;
  };
  for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
    if (measure(word.trimEnd(), px, weight) <= width) put(word);
    else for (const character of word) put(character);
  }
  return line === "" ? lines : [...lines, line];
}

export function headOf(title: string, key: KeyEntry[], width: number, measure: Measure): Head {
  const room = Math.max(60, width - 2 * MARGIN);
  const lines = broken(title, room, TITLE.px, TITLE.weight, measure);
  let y = MARGIN + TITLE.px;
  const placed = { x: MARGIN, y, lines };
  y += (lines.length - 1) * TITLE.line;
  const entries: Head["entries"] = [];
  let [x, deepest] = [MARGIN, 0];
  for (const entry of key) {
    const of = broken(entry.name, room - SWATCH - GAP, NAME.px, NAME.weight, measure);
    const takes = SWATCH + GAP + Math.max(0, ...of.map((l) => measure(l.trimEnd(), NAME.px, NAME.weight)));
    if (entries.length === 0) y += TITLE.line;
    else if (x + takes > MARGIN + room) {
      x = MARGIN;
      y += deepest * NAME.line;
      deepest = 0;
    }
    entries.push({ x: x + SWATCH + GAP, y, lines: of, entry });
    deepest = Math.max(deepest, of.length);
    x += takes + BETWEEN;
  }
  return { height: Math.ceil(y + Math.max(0, deepest - 1) * NAME.line + 10), title: placed, entries };
}
