// A page in Debian's Chromium, watched: errors, requests, what axe-core says, and a picture of it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Ends what would never end; nothing slow takes as long. */
export const WATCHDOG_MS = 180_000;

export async function browser() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  // A test's own pages need no sandbox, which root may not have.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-background-networking"], timeout: WATCHDOG_MS });
}

/** Runs in every page before the page's own script: counts what is being unpacked, and keeps files instead of saving them where asked to. */
function watch() {
  window.unpacking = 0;
  const text = Response.prototype.text;
  Response.prototype.text = function () {
    window.unpacking += 1;
    return text.call(this).finally(() => { window.unpacking -= 1; });
  };
  window.kept = null;
  const blobs = new Map();
  const made = URL.createObjectURL;
  URL.createObjectURL = (blob) => { const url = made(blob); blobs.set(url, blob); return url; };
  const click = HTMLElement.prototype.click;
  HTMLAnchorElement.prototype.click = function () {
    if (window.kept) window.kept.push({ name: this.download, blob: blobs.get(this.href) });
    else click.call(this);
  };
}

/** A page that keeps what went wrong: `problems` must stay empty. */
export async function open(running, url, { width = 1280, scheme = "light", allowed = () => false } = {}) {
  // axe-core is brought in from outside the page, which the page's own policy would not let in.
  const context = await running.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: false });
  context.setDefaultTimeout(WATCHDOG_MS);
  await context.addInitScript(watch);
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => { if (message.type() === "error") problems.push(`console: ${message.text()}`); });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const to = request.url();
    if (to !== url.split("#")[0] && !/^(data|blob):/.test(to) && !allowed(to)) problems.push(`request: ${to}`);
  });
  await page.goto(url);
  return { page, context, problems };
}

/** Waits until something holds in the page. Playwright's own way evaluates text there, which the page's policy forbids. */
export async function until(page, holds, what) {
  const end = performance.now() + WATCHDOG_MS;
  while (!(await page.evaluate(holds))) {
    if (performance.now() > end) throw new Error(`${await what()} after ${WATCHDOG_MS} ms`);
    await page.waitForTimeout(20);
  }
}

/** Waits until there are so many plots and every one has something drawn in it. */
export async function drawn(page, least = 0) {
  const empty = `[...document.querySelectorAll("main figure")].filter((figure) => {
    const marks = figure.querySelectorAll(".plot svg :is(.mark, .curve, .cells, .bars) :is(path, circle, rect)");
    return marks.length === 0 || [...marks].every((m) => { const box = m.getBBox(); return box.width === 0 && box.height === 0 && m.tagName !== "path"; });
  }).map((figure) => figure.id)`;
  const holds = `document.querySelectorAll("main figure").length >= ${least} && ${empty}.length === 0`;
  await until(page, holds, async () => `plots without marks: ${await page.evaluate(empty)}`);
}

/** Serious and critical violations, each with the first element it is about. */
export async function axe(page) {
  // In a world of its own, past the page's policy: through the debugging protocol, as a browser's extension would.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
  await session.send("Runtime.evaluate", { expression: axeSource, contextId: executionContextId });
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, { resultTypes: ['violations'] }).then((r) => JSON.stringify(r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary ?? ''}`)))",
    contextId: executionContextId, awaitPromise: true, returnByValue: true,
  });
  await session.detach();
  if (exceptionDetails) return [`axe-core itself failed: ${exceptionDetails.text}`];
  return JSON.parse(result.value);
}

/** Until what was clicked is drawn: two frames for the event, all that is unpacked for it, and two frames in which ResizeObserver draws. */
export async function settle(page) {
  await page.evaluate(async () => {
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    do await frames(); while (window.unpacking > 0);
    await frames();
  });
}

export async function picture(page, folder, name) {
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
