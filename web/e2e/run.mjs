// The report from its file and the live page during a run, in a real browser.
// node e2e/run.mjs PRONY FOLDER: FOLDER has experiment.html, loads.html, ramp.html, knees.html, duet.html, many.html and history/, made by `cargo xtask web`.
import { spawn } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { axe, browser, drawn, open, picture, settle, until, WATCHDOG_MS } from "./browser.mjs";
import { legendsAreTaken, plotsAreSaved, tableIsTaken } from "./files.mjs";
import * as pages from "./pages.mjs";
import * as views from "./views.mjs";

const [prony, folder] = process.argv.slice(2);
const pictures = join(folder, "../screenshots");
mkdirSync(pictures, { recursive: true });
let failed = 0;

async function check(name, run) {
  const begun = performance.now();
  const took = () => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
  try {
    const said = await run();
    console.log(`ok      ${name}: ${said ? `${said}; ` : ""}${took()}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}, ${took()}: ${error.message ?? error}`);
  }
}

function must(holds, sentence) {
  if (!holds) throw new Error(typeof sentence === "string" ? sentence : JSON.stringify(sentence));
}

const file = (name) => pathToFileURL(join(folder, name)).href;
const chromium = await browser();

/** Each page of a report at both widths: marks, no overflow, no problem, nothing serious from axe. */
async function look(name, pages) {
  for (const width of [1280, 390]) {
    for (const id of pages) {
      await check(`${name}, ${id}, ${width} px`, async () => {
        const scheme = id === "trials" && width === 1280 ? "dark" : "light";
        const { page, context, problems } = await open(chromium, file(`${name}.html`) + `#/${id}`, { width, scheme });
        await settle(page);
        must(await page.locator("main").getAttribute("data-page") === id, "the page is not there");
        await drawn(page);
        must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the screen");
        const plots = await page.locator("main figure").count();
        await picture(page, pictures, `${name}-${id}-${width}`);
        const serious = await axe(page);
        must(serious.length === 0, serious.join("\n        "));
        must(problems.length === 0, problems.join("; "));
        await context.close();
        return `${plots} plots`;
      });
    }
  }
}

await look("experiment", ["ranking", "sweep", "trials", "about"]);
await look("loads", ["sweep", "trials"]);
await look("ramp", ["ramp"]);
await look("knees", ["sweep", "capacity", "ramp"]);
await look("duet", ["ranking"]);

await check("clicks on the ranking", async () => {
  const { page, context, problems } = await open(chromium, file("experiment.html"));
  await settle(page);
  const title = () => page.locator("#plot-ranking h3").innerText();
  must((await title()).startsWith("Throughput"), await title());
  await page.getByRole("group", { name: "Figure" }).getByRole("button", { name: "p99", exact: true }).click();
  must((await title()).startsWith("p99"), "the figure was not switched");
  must(await page.evaluate(() => document.activeElement?.textContent) === "p99", "the focus was lost");
  const base = () => page.locator(".is-baseline").evaluate((e) => e.closest("tr").querySelector("th").innerText);
  const before = await base();
  const rows = page.locator("#plot-ranking .hit rect");
  const count = await rows.count();
  for (let i = 0; i < count && await base() === before; i++) await rows.nth(i).click({ force: true });
  must(await base() !== before, "no other baseline was chosen by clicks");
  await settle(page);
  const ratios = await page.locator("table.main-table tbody tr").evaluateAll((trs) => trs.map((tr) => [...tr.cells].map((c) => c.innerText).join(" ")).filter((t) => t.includes("×")).length);
  must(ratios >= 1, "there are no ratios to the chosen baseline");
  const names = () => page.locator("section > .table-box table.main-table tbody th").allInnerTexts();
  const head = page.locator("thead button", { hasText: "Candidate" }).first();
  await head.click();
  const up = await names();
  await page.locator("thead button", { hasText: "Candidate" }).first().click();
  must(JSON.stringify(await names()) === JSON.stringify([...up].reverse()), "sorting down is not sorting up reversed");
  for (const axis of ["Fit", "Log", "From 0"]) await page.getByRole("group", { name: "Scale" }).getByRole("button", { name: axis }).click();
  const pills = page.locator("[data-filter]");
  const filters = await pills.count();
  if (filters > 0) {
    const all = (await names()).length;
    await pills.first().click();
    must((await names()).length < all, "the filter left everything");
  }
  await page.locator("#plot-ranking details summary").click();
  await page.locator("#plot-ranking details table tbody tr").first().waitFor();
  must(problems.length === 0, problems.join("; "));
  await context.close();
  return `${count} candidates, ${filters} filters`;
});

await check("Chromium saves a plot", async () => {
  for (const kind of ["SVG", "PNG"]) {
    // A page may save one file unasked.
    const { page, context } = await open(chromium, file("experiment.html"));
    await settle(page);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: /^Save/ }).filter({ hasText: kind }).first().click()]);
    must(statSync(await download.path()).size > 2000, `the ${kind} is empty`);
    await context.close();
  }
});

await check("trials are overlaid by ticks, and the keyboard does it too", async () => {
  const { page, context, problems } = await open(chromium, file("experiment.html") + "#/trials?t=0");
  await settle(page);
  const curves = () => page.locator("#plot-percentiles .curve path").count();
  const one = await curves();
  await page.locator("[data-trial]").nth(1).focus();
  await page.keyboard.press("Space");
  await settle(page);
  must(await page.locator("[data-trial]:checked").count() === 2, "the second trial was not ticked");
  must(await page.locator("#plot-throughput .curve :is(path, circle)").count() === 2, "there are not two lines");
  must(problems.length === 0, problems.join("; "));
  await context.close();
  return `${one} curves of one, ${2} lines of two`;
});

await check("a thousand trials", async () => {
  const { page, context, problems } = await open(chromium, file("many.html"));
  await page.locator("main svg").first().waitFor();
  // A paint is entered some moments after it.
  await until(page, () => performance.getEntriesByName("first-contentful-paint").length > 0, () => "nothing was painted");
  const shown = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  const whole = await page.evaluate(() => performance.now());
  await page.evaluate(() => { location.hash = "#/trials?t=999,0"; });
  await settle(page);
  await drawn(page);
  must(problems.length === 0, problems.join("; "));
  await context.close();
  return `first view ${shown.toFixed(0)} ms (target 1000 on a quiet machine), first plot within ${whole.toFixed(0)} ms, file ${(statSync(join(folder, "many.html")).size / 1e6).toFixed(2)} MB`;
});

/** Starts prony and resolves with the address it prints, and with its end. */
function start(words, pattern) {
  const child = spawn(prony, words, { stdio: ["ignore", "pipe", "pipe"] });
  process.on("exit", () => child.kill("SIGTERM"));
  let said = "";
  const url = new Promise((resolve, reject) => {
    const hear = (text) => { said += text; const found = said.match(pattern); if (found) resolve(found[1]); };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", () => reject(new Error(`it ended and said: ${said}`)));
    setTimeout(() => reject(new Error(`no address within ${WATCHDOG_MS} ms; it said: ${said}`)), WATCHDOG_MS).unref();
  });
  const ended = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  return { child, url, ended };
}

/** What a server answers to bytes as they are. */
function raw(url, bytes) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on("data", (d) => { answer += d; });
    socket.on("close", () => resolve(answer));
    socket.on("error", () => resolve(answer));
    setTimeout(() => socket.destroy(), WATCHDOG_MS).unref();
  });
}

const world = { chromium, prony, folder, pictures, file, check, must, start };
await plotsAreSaved(world, [["experiment", "ranking"], ["experiment", "sweep"], ["experiment", "trials"], ["ramp", "ramp"], ["knees", "capacity"]]);
await legendsAreTaken(world);
await tableIsTaken(world);
await views.paper(world);
await views.axes(world);
await views.source(world);
await views.trial(world);
await views.doubts(world);
await pages.published(world);
await pages.overTime(world);
await pages.capacity(world);
await pages.duet(world);
await pages.tails(world);
await pages.planning(world);
await pages.history(world);

await check("the live page of a load, and then its report", async () => {
  // Far longer than it is looked at, and then ended as by Ctrl-C. At a rate, so that it leaves the browser some CPU.
  const run = start(["load", "-R", "2000", "-d", "1h", "--warmup", "1s", "-c", "20", "--web", "-q"], /Live page: (\S+)/);
  const url = await run.url;
  const own = (to) => [`${url}events`, `${url}report`].includes(to) || to.startsWith(`${url}assets/`);
  const { page, context, problems } = await open(chromium, url, { allowed: own });
  await drawn(page, 3);
  await picture(page, pictures, "live-1280");
  const serious = await axe(page);
  must(serious.length === 0, serious.join("; "));
  await page.setViewportSize({ width: 390, height: 844 });
  await settle(page);
  must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the live page is wider than a phone");
  await picture(page, pictures, "live-390");
  run.child.kill("SIGINT");
  await page.waitForURL(/report$/);
  await page.locator("#plot-percentiles .curve path").first().waitFor();
  must(await run.ended === 130, "prony did not end as interrupted");
  must(problems.length === 0, problems.join("; "));
  await context.close();
});

await check("the live page of an experiment fills its grid", async () => {
  const candidate = (name) => ["--candidate", `${name}=${prony} target --port {port}`];
  const run = start(["bench", ...candidate("one"), ...candidate("two"), "-d", "1s", "--warmup", "0", "--blocks", "100", "--web", "-q", "-o", join(folder, `live-${process.pid}.jsonl`)], /Live page: (\S+)/);
  const url = await run.url;
  const { page, context, problems } = await open(chromium, url, { allowed: (to) => to.startsWith(url) });
  await page.locator(".grid td.end").nth(1).waitFor();
  await page.locator("#live-rate .curve path").first().waitFor();
  await picture(page, pictures, "live-bench-1280");
  run.child.kill("SIGINT");
  await page.waitForURL(/report$/);
  await page.locator("#plot-ranking .mark circle").first().waitFor();
  must(await run.ended === 130, "prony did not end as interrupted");
  must(problems.length === 0, problems.join("; "));
  await context.close();
});

await check("prony serve lists runs, and refuses what is not a browser's", async () => {
  const run = start(["serve", join(folder, "experiment.jsonl"), join(folder, "loads.jsonl"), "--listen", "127.0.0.1:0"], /(http:\S+)/);
  const url = await run.url;
  try {
    const { page, context, problems } = await open(chromium, url, { allowed: (to) => /^(runs|assets)\//.test(to.slice(url.length)) });
    must(await page.locator(".runs a").count() === 2, "two runs are not listed");
    await picture(page, pictures, "runs-1280");
    const serious = await axe(page);
    must(serious.length === 0, serious.join("; "));
    await page.locator(".runs a").first().click();
    await page.locator("main svg").first().waitFor();
    must(problems.length === 0, problems.join("; "));
    await context.close();
    const { host } = new URL(url);
    const status = async (bytes) => (await raw(url, bytes)).split(" ")[1];
    must(await status(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`) === "200", "its own name is refused");
    must(await status("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n") === "403", "a foreign name is answered");
    must(await status(`POST / HTTP/1.1\r\nHost: ${host}\r\n\r\n`) === "405", "POST is taken");
    must(await status(`GET /../../etc/passwd HTTP/1.1\r\nHost: ${host}\r\n\r\n`) === "404", "a path leads out");
    must(await status(`GET / HTTP/1.1\r\nX: ${"a".repeat(20_000)}\r\n\r\n`) !== "200", "a head has no bound");
    const head = await raw(url, `HEAD / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    must(/content-security-policy: default-src 'none'/i.test(head), "there is no policy");
  } finally {
    run.child.kill("SIGTERM");
  }
  must(await run.ended === 0, "SIGTERM did not end it well");
});

await check("elsewhere than on loopback, pages need the token", async () => {
  const run = start(["serve", join(folder, "loads.jsonl"), "--listen", "0.0.0.0:0"], /(http:\S+)/);
  const url = new URL((await run.url).replace("0.0.0.0", "127.0.0.1"));
  try {
    must(/^\?token=[0-9a-f]{32}$/.test(url.search), `the address has no token: ${url}`);
    const ask = (path, cookie = "") => raw(url.origin, `GET ${path} HTTP/1.1\r\nHost: any.example\r\n${cookie}\r\n`);
    must((await ask("/")).startsWith("HTTP/1.1 403"), "it answers without the token");
    must((await ask("/?token=00000000000000000000000000000000")).startsWith("HTTP/1.1 403"), "it takes a wrong token");
    const welcome = await ask(`/${url.search}`);
    must(welcome.startsWith("HTTP/1.1 303") && /HttpOnly; SameSite=Strict/.test(welcome), "it gives no cookie");
    const cookie = welcome.match(/Set-Cookie: ([^;]+)/)[1];
    must((await ask("/", `Cookie: ${cookie}\r\n`)).startsWith("HTTP/1.1 200"), "it does not take its cookie");
    const { page, context, problems } = await open(chromium, url.href, { allowed: (to) => to.startsWith(url.origin) });
    must(await page.locator(".runs a").count() === 1, "the run is not listed");
    must(!page.url().includes("token"), "the token stays in the address");
    must(problems.length === 0, problems.join("; "));
    await context.close();
  } finally {
    run.child.kill("SIGTERM");
  }
});

await chromium.close();
console.log(failed === 0 ? `all well; pictures in ${pictures}` : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
