/** A plot with its title, its legend, its buttons and its table. */
import { h, replace } from "../core/dom";
import type { KeyEntry } from "../core/head";
import { csv, download, fileName, savePng, saveSvg } from "../core/save";

export interface TableData {
  head: string[];
  rows: (string | number | null)[][];
}

export type LegendEntry = KeyEntry;

export interface FigureOptions {
  id: string;
  title: string;
  /** How to read it. */
  caption?: string;
  legend?: LegendEntry[];
  /** The legend of a saved file, where the page has it elsewhere. */
  key?: LegendEntry[];
  /** Buttons of its own, left of "SVG". */
  controls?: HTMLElement[];
  /** The drawing at a width in pixels; null when there is nothing to draw. */
  draw: (width: number) => SVGSVGElement | HTMLElement | null;
  /** The same in numbers, for who cannot see it or wants to go on with it. */
  table: () => TableData;
  /** Told after each drawing. */
  drawn?: (svg: SVGSVGElement) => void;
}

const ROWS_MAX = 400;

export function figure(options: FigureOptions): HTMLElement {
  const plot = h("div", { class: "plot" });
  const svgOf = (): SVGSVGElement | null => plot.querySelector("svg");
  const key = options.legend ?? options.key ?? [];
  const save = (kind: string, act: (svg: SVGSVGElement) => void): HTMLElement =>
    h("button", { type: "button", class: "quiet", "aria-label": `Save ${options.title} as ${kind}`, onclick: () => {
      const svg = svgOf();
      if (svg) act(svg);
    } }, kind);
  const details = h("details", { class: "behind" }, h("summary", null, "Data"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.appendChild(plainTable(options));
  });
  const box = h("figure", { id: options.id },
    h("div", { class: "figure-head" },
      h("h3", null, options.title),
      h("div", { class: "figure-tools" }, ...(options.controls ?? []),
        save("SVG", (svg) => saveSvg(svg, options.title, key)),
        save("PNG", (svg) => void savePng(svg, options.title, key)))),
    options.legend && options.legend.length > 0 ? legend(options.legend) : null,
    plot,
    options.caption ? h("figcaption", null, options.caption) : null,
    details,
  );
  let last = 0;
  const draw = (): void => {
    const width = Math.floor(plot.clientWidth);
    if (width < 40 || width === last) return;
    last = width;
    const drawing = options.draw(width);
    if (!drawing) {
      replace(plot, h("p", { class: "nothing" }, "There is nothing to draw here: no figure is known."));
      return;
    }
    replace(plot, drawing);
    const svg = svgOf();
    if (!svg) return;
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${options.title}. The same as a table: Data, below.`);
    options.drawn?.(svg);
  };
  new ResizeObserver(draw).observe(plot);
  return box;
}

export function legend(entries: LegendEntry[]): HTMLElement {
  return h("ul", { class: "legend" }, entries.map((entry) => {
    const ns = "http://www.w3.org/2000/svg";
    const swatch = document.createElementNS(ns, "svg");
    swatch.setAttribute("viewBox", "0 0 22 8");
    swatch.setAttribute("class", "swatch");
    swatch.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(ns, "path");
    line.setAttribute("d", "M1 4H21");
    line.style.stroke = entry.color;
    if (entry.dash) line.style.strokeDasharray = entry.dash;
    swatch.appendChild(line);
    return h("li", null, swatch, entry.name);
  }));
}

function plainTable(options: FigureOptions): HTMLElement {
  const data = options.table();
  const shown = data.rows.slice(0, ROWS_MAX);
  const numeric = data.head.map((_, i) => shown.some((row) => typeof row[i] === "number"));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${options.title}: data` },
    h("button", { type: "button", class: "quiet", onclick: () =>
      download(fileName(options.title, "csv"), "text/csv", csv([data.head, ...data.rows])) }, "CSV"),
    h("table", { class: "data" },
      h("caption", { class: "visually-hidden" }, options.title),
      h("thead", null, h("tr", null, data.head.map((c, i) => h("th", { scope: "col", class: numeric[i] && "num" }, c)))),
      h("tbody", null, shown.map((row) =>
        h("tr", null, row.map((c, i) => h("td", { class: numeric[i] && "num" }, c ?? "–")))))),
    data.rows.length > shown.length
      ? h("p", { class: "nothing" }, `The first ${shown.length} of ${data.rows.length} rows; the CSV has all.`) : null);
}
