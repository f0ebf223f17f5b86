// What a reader takes along: every plot as SVG and PNG, every table as text, CSV and JSON; and that it is what is shown.
import { open, settle, until } from "./browser.mjs";

/** RFC 4180, read back. */
export function parseCsv(text) {
  const rows = [];
  let [row, cell, quoted] = [[], "", false];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') { cell += '"'; i++; } else if (c === '"') quoted = false; else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ",") { row.push(cell); cell = ""; } else if (c === "\n") { row.push(cell); rows.push(row); [row, cell] = [[], ""]; } else if (c !== "\r") cell += c;
  }
  return rows;
}

/** What a button would save. That Chromium does save it is looked at in run.mjs: of dozens in a row it refuses some. */
async function downloaded(page, button) {
  await page.evaluate(() => { window.kept = []; });
  await button.click();
  await until(page, () => window.kept.length > 0, () => "nothing is saved");
  return page.evaluate(async () => {
    const [{ name, blob }] = window.kept;
    window.kept = null;
    const text = blob.type === "image/png" ? "" : await blob.text();
    return { name, text, size: blob.size, head: [...new Uint8Array(await blob.slice(0, 24).arrayBuffer())] };
  });
}

/** A PNG's size, of its first chunk; null of what is none. */
function pngSize(bytes) {
  if (bytes.subarray(0, 8).toString("hex") !== "89504e470d0a1a0a") return null;
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

/** What was copied: a page from a file may not be let read it, but anybody may paste. */
async function clipboard(page) {
  const read = await page.evaluate(() => navigator.clipboard.readText().catch(() => null));
  if (read !== null) return read;
  await page.evaluate(() => { const area = document.createElement("textarea"); area.id = "paste"; document.body.append(area); area.focus(); });
  await page.keyboard.press("Control+V");
  return page.evaluate(() => document.getElementById("paste").value);
}

/** Each plot of these pages, saved both ways, and its table behind it. */
export async function plotsAreSaved({ chromium, file, check, must }, pages) {
  for (const [name, id] of pages) {
    await check(`every plot of ${name}, ${id} is saved, and has its table`, async () => {
      const { page, context, problems } = await open(chromium, `${file(`${name}.html`)}#/${id}`);
      await settle(page);
      const figures = page.locator("main figure");
      const count = await figures.count();
      must(count > 0, "there is no plot");
      for (let i = 0; i < count; i++) {
        const box = figures.nth(i);
        const title = await box.locator("h3").innerText();
        const svg = await downloaded(page, box.getByRole("button", { name: /as SVG$/ }));
        must(svg.name.endsWith(".svg"), `${title}: ${svg.name}`);
        const read = await page.evaluate((text) => {
          const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
          return { tag: root.tagName, marks: root.querySelectorAll("path, circle, rect, line").length, title: root.querySelector("title")?.textContent, texts: [...root.querySelectorAll("text")].map((t) => t.textContent), size: [root.getAttribute("width"), root.getAttribute("height")].map(Number) };
        }, svg.text);
        must(read.tag === "svg" && read.marks > 1 && read.title === title, `${title}: the SVG is ${JSON.stringify(read)}`);
        must(read.texts.includes(title), `${title}: the SVG does not show its title`);
        const names = await box.locator(".legend li").allTextContents();
        must(names.every((name) => read.texts.includes(name)), `${title}: of its legend ${names} the SVG has ${read.texts.slice(0, 20)}`);
        const png = await downloaded(page, box.getByRole("button", { name: /as PNG$/ }));
        const size = pngSize(Buffer.from(png.head));
        must(size !== null && size[0] === 2 * read.size[0] && size[1] === 2 * read.size[1] && png.size > 1500, `${title}: the PNG is ${size} of ${png.size} bytes, the SVG ${read.size}`);
        await box.locator("details.behind > summary").click();
        const rows = box.locator("details.behind table tbody tr");
        await rows.first().waitFor();
        const data = parseCsv((await downloaded(page, box.locator("details.behind").getByRole("button", { name: "CSV" }))).text);
        must(data.length > 1 && data.every((row) => row.length === data[0].length), `${title}: the CSV's rows differ in length`);
        must(data.length - 1 >= await rows.count(), `${title}: the CSV has fewer rows than the table`);
      }
      must(problems.length === 0, problems.join("; "));
      await context.close();
      return `${count} plots`;
    });
  }
}

/** Plots that show their legend once for all carry it each in its file; those chosen by buttons have one, too. */
export async function legendsAreTaken({ chromium, file, check, must }) {
  await check("a saved plot of several has its key", async () => {
    const { page, context, problems } = await open(chromium, `${file("experiment.html")}#/trials?t=0,1`);
    await settle(page);
    const names = await page.locator("section > .legend li").allTextContents();
    must(names.length === 2, `overlaid trials have the legend ${names}`);
    for (const id of ["throughput", "latency", "distribution"]) {
      const { text: svg } = await downloaded(page, page.locator(`#plot-${id}`).getByRole("button", { name: /as SVG$/ }));
      const texts = await page.evaluate((text) => [...new DOMParser().parseFromString(text, "image/svg+xml").querySelectorAll("text")].map((t) => t.textContent), svg);
      must(names.every((name) => texts.includes(name)), `${id}: of ${names} the SVG has ${texts.slice(0, 20)}`);
      must(!/var\(--/.test(svg.split("<svg")[1]), `${id}: its head has colours that only the page knows`);
    }
    for (const [name, id, plot] of [["experiment", "sweep", "sweep"], ["knees", "capacity", "capacity"]]) {
      await page.goto(`${file(`${name}.html`)}#/${id}`);
      await settle(page);
      must(await page.locator(`#plot-${plot} .legend li`).count() >= 2, `${name}, ${id} has no legend`);
    }
    must(problems.filter((p) => !p.startsWith("request: file:")).length === 0, problems.join("; "));
    await context.close();
  });
}

/** The ranking's table: filtered, sorted by each column, copied, saved. */
export async function tableIsTaken({ chromium, file, check, must }) {
  await check("the ranking is filtered by language and by kind", async () => {
    const { page, context, problems } = await open(chromium, file("experiment.html"));
    await settle(page);
    const names = () => page.locator("section > .table-box .main-table tbody th .name").allInnerTexts();
    const all = (await names()).length;
    for (const [group, value] of [["Filter by language", "Go"], ["Filter by kind", "runtime"]]) {
      const pill = page.getByRole("group", { name: group }).getByRole("button", { name: value, exact: true });
      await pill.click();
      await settle(page);
      const left = await page.locator("#plot-ranking .hit rect").count();
      const rows = await page.locator("section > .table-box .main-table tbody tr").allInnerTexts();
      must(left === rows.length && left > 0 && left < all, `${group}: ${left} of ${all} are left in the plot, ${rows.length} in the table`);
      must(rows.every((row) => row.includes(value)), `${group}: a row is no ${value}: ${rows}`);
      must(page.url().includes(value), "the filter is not in the address");
      const pages = page.getByRole("navigation", { name: "Pages" });
      await pages.getByRole("link", { name: "Trials" }).click();
      await settle(page);
      must(page.url().includes("#/trials?") && page.url().includes(value), `${group} is lost on the way to another page: ${page.url()}`);
      await pages.getByRole("link").first().click();
      await settle(page);
      must(await page.locator("#plot-ranking .hit rect").count() === left, `${group} is lost on the way back`);
      await pill.click();
      await settle(page);
    }
    must((await names()).length === all, "without filters not all are there");
    // The sweep and its candidates, too.
    await page.evaluate(() => { location.hash = "#/sweep"; });
    await settle(page);
    const dots = () => page.locator("#plot-sweep .mark circle").count();
    const before = await dots();
    for (const [label, value] of [["Language", "Go"], ["Kind", "runtime"]]) {
      await page.getByLabel(label, { exact: true }).selectOption(value);
      await settle(page);
      must(await dots() > 0 && await dots() < before, `${label} does not filter the sweep`);
      await page.getByLabel(label, { exact: true }).selectOption("");
      await settle(page);
    }
    must(problems.length === 0, problems.join("; "));
    await context.close();
    return `${all} candidates`;
  });
  await check("the ranking is sorted by every column, copied, and saved as CSV and JSON", async () => {
    const { page, context, problems } = await open(chromium, file("experiment.html"));
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await settle(page);
    const box = page.locator("section > .table-box").first();
    const heads = await box.locator("thead button").count();
    const csvOf = async () => parseCsv((await downloaded(page, box.getByRole("button", { name: "CSV" }))).text);
    for (let column = 0; column < heads; column++) {
      for (const order of ["ascending", "descending"]) {
        await box.locator("thead button").nth(column).click();
        await settle(page);
        must(await box.locator("thead th").nth(column).getAttribute("aria-sort") === order, `column ${column} is not ${order}`);
        const cells = (await csvOf()).slice(1).map((row) => row[column]);
        const known = cells.filter((c) => c !== "");
        must(cells.slice(known.length).every((c) => c === ""), "what is missing is not last");
        const sorted = [...known].sort((a, b) => (Number.isNaN(Number(a)) ? a.localeCompare(b, "en", { numeric: true }) : Number(a) - Number(b)));
        if (order === "descending") sorted.reverse();
        must(JSON.stringify(known) === JSON.stringify(sorted), `column ${column}, ${order}: ${known}`);
      }
    }
    const rows = await csvOf();
    const shown = await box.locator("tbody th .name").allInnerTexts();
    const at = rows[0].indexOf("Candidate");
    must(JSON.stringify(rows.slice(1).map((r) => r[at])) === JSON.stringify(shown), "the CSV has other candidates, or another order");
    for (const name of ["Throughput: 95 % low", "Throughput: 95 % high", "Throughput: bound", "p99: longer than", "p99: mark", "Rank: to", "Ratio: 95 % low"]) must(rows[0].includes(name), `the CSV has no ${name}: ${rows[0]}`);
    const low = rows[0].indexOf("Throughput: 95 % low");
    must(rows.slice(1).some((row) => Number(row[low]) > 0 && Number(row[low]) < Number(row[rows[0].indexOf("Throughput")])), "the CSV has no interval");
    const json = JSON.parse((await downloaded(page, box.getByRole("button", { name: "JSON" }))).text);
    must(json.rows.length === shown.length && json.rows.every((r) => r.figures.throughput.point > 0), "the JSON has no figures");
    const keysOf = (of) => Object.keys(of).sort().join();
    const cells = json.rows.map((r) => r.cell);
    must(cells.every((cell) => keysOf(cell) === "candidate,completed,counted,failed,plan,reasons,remarks,trials,verdict"), `what is said of a row: ${keysOf(cells[0])}`);
    const reasons = cells.flatMap((cell) => cell.reasons);
    must(reasons.length > 0 && reasons.every((reason) => keysOf(reason) === "advice,code,detail,trials"), `its reasons: ${JSON.stringify(reasons[0])}`);
    const wholeRow = ({ throughput: t }) => ["low", "high", "n", "lower_bound", "rank", "tie", "mark", "ratio", "trials"].every((key) => key in t);
    must(json.rows.every((r) => wholeRow(r.figures)) && !("ratios" in json), JSON.stringify(json.rows[0].figures.throughput));
    await box.getByRole("button", { name: "Copy" }).click();
    await page.locator("#announce", { hasText: "copied" }).waitFor({ state: "attached" });
    const copied = await clipboard(page);
    must(copied.split("\n").length === rows.length && copied.split("\n")[1].split("\t")[at] === shown[0], `copied: ${copied.slice(0, 200)}`);
    must(problems.length === 0, problems.join("; "));
    await context.close();
    return `${heads} columns, ${shown.length} rows`;
  });
}
