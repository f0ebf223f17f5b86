// What a reader switches and what is printed: paper, filters by axis, a source's tables, a trial's facts, what is doubted.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateSync, inflateSync } from "node:zlib";
import { axe, open, picture, settle, until } from "./browser.mjs";

/** Lightness of a colour as browsers write it, 0 to 1. */
const LIGHTNESS = `(color) => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number); return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255; }`;

export async function paper({ chromium, file, check, must, pictures }) {
  await check("paper is light, has its keys, and what was folded away", async () => {
    for (const [name, id] of [["experiment", "ranking"], ["experiment", "sweep"], ["experiment", "trials"], ["knees", "capacity"]]) {
      const { page, context, problems } = await open(chromium, `${file(`${name}.html`)}#/${id}`, { scheme: "dark" });
      await settle(page);
      await page.evaluate(() => { document.documentElement.dataset.theme = "dark"; });
      const lights = () => page.evaluate(`(() => { const l = ${LIGHTNESS}; const of = (s, p) => [...document.querySelectorAll(s)].map((e) => l(getComputedStyle(e)[p])); return { ink: Math.max(...of("h1, main h2, main h3, main figcaption, main td, main .plot svg text", "color")), paper: Math.min(...of("body", "backgroundColor")) }; })()`);
      must((await lights()).paper < 0.3, "the dark theme is not dark");
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      const { ink, paper: sheet } = await lights();
      must(ink < 0.45 && sheet > 0.95, `${name}, ${id}: ink ${ink} on paper ${sheet}`);
      if (id === "sweep" || id === "capacity") must(await page.locator("figure .legend li").first().isVisible(), `${name}, ${id} is printed without a legend`);
      must(!(await page.locator(".top").isVisible()), "the bar is printed");
      const shut = () => page.locator("details:not([open]):not(.behind):not(.trial-list)").count();
      const before = await shut();
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      must(await shut() === 0, `${name}, ${id}: ${await shut()} of ${before} stay folded away`);
      await picture(page, pictures, `paper-${name}-${id}`);
      await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
      must(await shut() === before, `${name}, ${id}: they are not folded again`);
      must(problems.length === 0, problems.join("; "));
      await context.close();
    }
  });
}

export async function axes({ chromium, file, check, must }) {
  await check("the switch of an axis, on the ranking and on the sweep", async () => {
    const { page, context, problems } = await open(chromium, file("experiment.html"));
    await settle(page);
    const names = () => page.locator("section > .table-box .main-table tbody th .name").allInnerTexts();
    const pill = (value) => page.getByRole("group", { name: "Filter by mode" }).getByRole("button", { name: value, exact: true });
    must((await names()).length === 3, await names());
    // The keyboard does it, and says that it did.
    await pill("full").focus();
    await page.keyboard.press("Enter");
    await settle(page);
    must(JSON.stringify(await names()) === '["second"]' && await pill("full").getAttribute("aria-pressed") === "true", await names());
    must(await page.evaluate(() => document.activeElement?.textContent) === "full", "the focus was lost");
    await pill("servers without mode").click();
    must((await names()).sort().join() === "second,third", await names());
    await page.evaluate(() => { location.hash = `#/sweep?${location.hash.split("?")[1]}`; });
    await settle(page);
    must((await page.locator("#plot-sweep .legend li").allInnerTexts()).sort().join() === "second,third", "the sweep forgot the filter");
    await pill("full").click();
    await pill("servers without mode").click();
    await settle(page);
    must((await page.locator("#plot-sweep .legend li").count()) === 3, "without filters not all are there");
    const serious = await axe(page);
    must(serious.length === 0, serious.join("\n        "));
    must(problems.length === 0, problems.join("; "));
    await context.close();
  });
}

export async function source({ chromium, file, check, must, pictures }) {
  await check("a source's tables, and its ratios to the baseline that was clicked", async () => {
    const { page, context, problems } = await open(chromium, file("experiment.html"));
    await settle(page);
    const rows = await page.locator("#source tbody tr").allInnerTexts();
    must(rows.length === 4, rows);
    must(/10,000\s+here/.test(rows[0]) && rows[0].includes("4 connections"), rows[0]);
    must(rows[3].includes("not measured") && rows[2].includes("its own samples differ"), rows);
    const theirs = async (name) => page.locator("section > .table-box tbody tr", { has: page.locator("th", { hasText: name }) }).evaluate((tr) => {
      const at = [...tr.closest("table").querySelectorAll("thead th")].findIndex((th) => th.innerText.startsWith("Published"));
      return [tr.cells[at].innerText, tr.cells[at].querySelector("[title]")?.title ?? ""];
    });
    must((await theirs("second"))[0].includes("1.50 ×"), await theirs("second"));
    await page.getByLabel("Baseline", { exact: true }).selectOption("second");
    await settle(page);
    must((await theirs("first"))[0].includes("0.667 ×") && (await theirs("second"))[0].includes("1.00 ×"), [await theirs("first"), await theirs("second")]);
    await page.getByLabel("Baseline", { exact: true }).selectOption("third");
    await settle(page);
    const blank = await theirs("first");
    must(!blank[0].includes("×") && blank[1].includes("third is doubted"), blank);
    await page.setViewportSize({ width: 390, height: 844 });
    await settle(page);
    must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a phone");
    await picture(page, pictures, "source-390");
    must(problems.length === 0, problems.join("; "));
    await context.close();
  });
}

export async function trial({ chromium, file, check, must }) {
  await check("a trial says its plan and its server; several are compared by any percentile", async () => {
    const { page, context, problems } = await open(chromium, `${file("experiment.html")}#/trials?t=0,1`);
    await settle(page);
    const terms = await page.locator(".sheet").first().locator("dt").allInnerTexts();
    for (const term of ["Method", "URL", "Connections", "Arrivals", "Duration", "Warm-up", "Timeout", "Seed", "Pipeline", "Threads", "Keep-alive", "Expected", "Candidate"]) must(terms.includes(term), `there is no ${term}: ${terms}`);
    must(await page.locator("#plot-heat .scale text").count() >= 2, "the heat map has no scale");
    must((await page.locator("#plot-latency h3").innerText()).startsWith("Response: "), "no percentile is named");
    await page.getByRole("group", { name: "Percentile" }).getByRole("button", { name: "p50" }).click();
    await settle(page);
    must(await page.locator("#plot-latency h3").innerText() === "Response: p50", "the percentile was not switched");
    must(await page.locator("#plot-latency .curve :is(path, circle)").count() === 2, "there are not two lines");
    // The machine may have given other trials reasons of their own.
    const reasons = page.locator(".trial-list tr", { has: page.locator('[data-trial="0"]') }).locator("td .why");
    must(await reasons.count() === 1, "the suspect trial has no reason");
    await reasons.locator("button").focus();
    await until(page, () => document.querySelector(".trial-list td .why:focus-within")?.textContent.includes("host noisy: the hypervisor gave 9.00 %"), () => "no reason is shown");
    must(problems.length === 0, problems.join("; "));
    await context.close();
    return `${terms.length} facts`;
  });
}

export async function doubts({ chromium, check, must, folder }) {
  /** A report with a word of its data changed. */
  const changed = (name, to, from, into) => {
    const text = readFileSync(join(folder, `${name}.html`), "utf8");
    const path = join(folder, `${to}.html`);
    const [script, type, data] = text.match(/<script type="([^"]+)" id="data">([^<]*)/) ?? [];
    must(script !== undefined, `${name} has no data`);
    const packed = type === "text/plain";
    const before = packed ? inflateSync(Buffer.from(data, "base64")).toString() : data;
    const after = before.replace(from, into);
    must(after !== before, `${name} has no ${from}`);
    const written = packed ? deflateSync(after).toString("base64") : after;
    writeFileSync(path, text.replace(script, () => script.slice(0, script.length - data.length) + written));
    return pathToFileURL(path).href;
  };
  await check("without a baseline the list of baselines says none", async () => {
    const { page, context, problems } = await open(chromium, changed("experiment", "no-baseline", /"baseline":\d+/, '"baseline":null'));
    await settle(page);
    const list = page.getByLabel("Baseline", { exact: true });
    const said = () => list.evaluate((e) => e.selectedOptions[0].textContent);
    must(await said() === "none" && await page.locator(".is-baseline").count() === 0, await said());
    await list.selectOption("second");
    await settle(page);
    must(await said() === "second" && await page.locator(".is-baseline").count() === 1, await said());
    await list.selectOption("none");
    must(await said() === "none", await said());
    must(problems.length === 0, problems.join("; "));
    await context.close();
  });
  await check("a rate that a search gave no interval for is marked", async () => {
    const { page, context, problems } = await open(chromium, `${changed("knees", "unconfirmed", /"unconfirmed":0/g, '"unconfirmed":1')}#/capacity`);
    await settle(page);
    const row = await page.locator("section > .table-box tbody tr").first().innerText();
    must(/\d \?/.test(row) && row.includes("without an interval"), row);
    must((await page.locator("#plot-capacity .plot svg").textContent()).includes("/s ?"), "the plot has no mark");
    must(problems.length === 0, problems.join("; "));
    await context.close();
  });
}
