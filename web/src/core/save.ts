/** Plots as files, tables as CSV or JSON, text to the clipboard. Nothing leaves the page but by the reader's hand. */
import { announce } from "./dom";

/** Presentation that style sheets give, and that a file must carry itself. */
const CARRIED = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor",
  "dominant-baseline", "paint-order", "visibility", "display",
] as const;

/** The drawing as a document of its own, on the page's background. */
export function standalone(svg: SVGSVGElement, title: string): string {
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
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const ns = "http://www.w3.org/2000/svg";
  const background = document.createElementNS(ns, "rect");
  background.setAttribute("width", "100%");
  background.setAttribute("height", "100%");
  background.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  const name = document.createElementNS(ns, "title");
  name.textContent = title;
  copy.prepend(name, background);
  return new XMLSerializer().serializeToString(copy);
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

export function saveSvg(svg: SVGSVGElement, title: string): void {
  download(fileName(title, "svg"), "image/svg+xml", standalone(svg, title));
}

/** At twice the size, for screens and slides. */
export async function savePng(svg: SVGSVGElement, title: string): Promise<void> {
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg, title))}`;
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
