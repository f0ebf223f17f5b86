/** Plots as files, tables as CSV or JSON, text to the clipboard. Nothing leaves the page but by the reader's hand. */
import { announce } from "./dom";
import { headOf, type KeyEntry, NAME, type Placed, SWATCH, TITLE } from "./head";

/** Presentation that style sheets give, and that a file must carry itself. */
const CARRIED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor",
  "dominant-baseline", "paint-order", "visibility", "display",
] as const;

const NS = "http://www.w3.org/2000/svg";

/** A drawing as a document of its own. */
export interface Standalone {
  text: string;
  width: number;
  height: number;
}

function carried(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const sources = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const targets = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  sources.forEach((source, i) => {
    const target = targets[i];
    if (!target || source.tagName === "style") return;
    const style = getComputedStyle(source);
    for (const name of CARRIED) {
      const value = style.getPropertyValue(name);
      if (value) target.style.setProperty(name, value);
    }
    target.removeAttribute("class");
  });
  copy.querySelectorAll("style").forEach((s) => s.remove());
  return copy;
}

/** A colour of the style sheet as a file must have it. */
function concrete(color: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  return name ? getComputedStyle(document.documentElement).getPropertyValue(name).trim() : color;
}

function element(name: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

function text(placed: Placed, face: { px: number; weight: number; line: number }, fill: string): SVGElement {
  return element("text", { x: placed.x, y: placed.y, "font-size": face.px, "font-weight": face.weight, fill },
    ...placed.lines.map((line, i) => element("tspan", i === 0 ? {} : { x: placed.x, dy: face.line }, line)));
}

/** The drawing below its title and its legend, on the page's background. */
export function standalone(svg: SVGSVGElement, title: string, key: KeyEntry[] = []): Standalone {
  const { width, height: drawn } = svg.viewBox.baseVal;
  const { fontFamily, color: ink } = getComputedStyle(svg);
  const context = document.createElement("canvas").getContext("2d");
  const head = headOf(title, key, width, (words, px, weight) => {
    if (!context) return words.length * px * 0.6;
    context.font = `${weight} ${px}px ${fontFamily}`;
    return context.measureText(words).width;
  });
  const height = drawn + head.height;
  const copy = carried(svg);
  for (const [name, value] of [["y", head.height], ["width", width], ["height", drawn]] as const) copy.setAttribute(name, String(value));
  const root = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": fontFamily },
    element("title", {}, title),
    element("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }),
    text(head.title, TITLE, ink),
    ...head.entries.flatMap(({ entry, ...placed }) => [
      element("path", { d: `M${placed.x - SWATCH - 6} ${placed.y - 4}h${SWATCH}`, fill: "none", stroke: concrete(entry.color), "stroke-width": 3, ...(entry.dash ? { "stroke-dasharray": entry.dash } : {}) }),
      text(placed, NAME, ink),
    ]),
    copy);
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

export function download(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function fileName(title: string, ending: string): string {
  const stem = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  return `${stem || "plot"}.${ending}`;
}

export function saveSvg(svg: SVGSVGElement, title: string, key: KeyEntry[]): void {
  download(fileName(title, "svg"), "image/svg+xml", standalone(svg, title, key).text);
}

/** At twice the size, for screens and slides. */
export async function savePng(svg: SVGSVGElement, title: string, key: KeyEntry[]): Promise<void> {
  const { text, width, height } = standalone(svg, title, key);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(2, 2);
  context.drawImage(image, 0, 0, width, height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob) download(fileName(title, "png"), "image/png", blob);
}

/** RFC 4180, and no cell that a spreadsheet would take for a formula. */
export function csv(rows: (string | number | null)[][]): string {
  const cell = (value: string | number | null): string => {
    if (value === null) return "";
    let text = String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // From a file, the clipboard's own interface may be closed.
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("aria-hidden", "true");
    document.body.appendChild(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  announce(`${what} copied`);
}
