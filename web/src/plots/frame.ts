/** What all plots have in common. */
import * as Plot from "@observablehq/plot";

/** A phone's width: labels move, ticks thin out. */
export const NARROW = 520;

export function style(): Partial<CSSStyleDeclaration> & string {
  return { fontSize: "12px", fontFamily: "inherit", background: "none", overflow: "visible" } as unknown as
    Partial<CSSStyleDeclaration> & string;
}

export const GRID = { stroke: "var(--grid)", strokeOpacity: 1 };

export function tip(): Plot.TipOptions {
  return { fill: "var(--card)", stroke: "var(--line-strong)", fontSize: 12 } as Plot.TipOptions;
}

/** Powers of ten within a domain, with 2 and 5 between where there is room, and more where it is within a decade. */
export function logTicks([low, high]: [number, number], most: number): number[] {
  const make = (steps: number[]): number[] => {
    const ticks: number[] = [];
    for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.ceil(Math.log10(high)); e++) {
      for (const s of steps) {
        const t = Number((s * 10 ** e).toPrecision(3));
        if (t >= low * 0.999 && t <= high * 1.001) ticks.push(t);
      }
    }
    return ticks;
  };
  const fine = make([1, 2, 5]);
  if (fine.length <= most && fine.length > 2) return fine;
  if (fine.length > most) {
    const coarse = make([1]);
    return coarse.length > 1 ? coarse : fine;
  }
  // Within a decade: every digit, or even steps where that is too coarse, too.
  const finer = make([1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]);
  if (finer.length > 2) return finer.length <= most ? finer : make([1, 2, 3, 4, 6, 8]);
  const span = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(span));
  const step = ([1, 2, 5, 10].find((s) => s * unit >= span) ?? 10) * unit;
  const even: number[] = [];
  for (let t = Math.ceil(low / step) * step; t <= high; t += step) even.push(Number(t.toPrecision(6)));
  return even.length > 0 ? even : fine;
}

/** Text that fits so many pixels at 12 px, about. */
export function fit(text: string, pixels: number): string {
  const most = Math.max(4, Math.floor(pixels / 6.6));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The drawing. To those who cannot see it it is one picture with a name and a table, so its groups have no names. */
export function asSvg(plot: (SVGSVGElement | HTMLElement) & Plot.Plot): SVGSVGElement {
  const svg = (plot instanceof SVGSVGElement ? plot : plot.querySelector("svg")) as SVGSVGElement;
  for (const group of svg.querySelectorAll("[aria-label], [aria-description]")) {
    group.removeAttribute("aria-label");
    group.removeAttribute("aria-description");
  }
  return svg;
}

/** A logarithmic axis with all its texts: by itself it leaves out those of 5, 6 and 8 where they are many. */
export function logAxisY(range: [number, number], most: number, format: (v: number) => string): Plot.Markish {
  return Plot.axisY({ ticks: logTicks(range, most), label: null, tickFormat: null, text: (v: number) => format(v) } as Plot.AxisYOptions);
}

export function logAxisX(range: [number, number], most: number, format: (v: number) => string, anchor: "top" | "bottom" = "bottom"): Plot.Markish {
  return Plot.axisX({ ticks: logTicks(range, most), label: null, anchor, tickFormat: null, text: (v: number) => format(v) } as Plot.AxisXOptions);
}
