// A page in Debian's Chromium, watched: errors, requests, what axe-core says, and a picture of it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function browser() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  // A test's own pages need no sandbox, which root may not have.
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-background-networking"] });
}

/** A page that keeps what went wrong: `problems` must stay empty. */
export async function open(running, url, { width = 1280, scheme = "light", allowed = () => false } = {}) {
  // axe-core is brought in from outside the page, which the page's own policy would not let in.
  const context = await running.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, bypassCSP: false });
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

/** Every plot has something drawn in it: figures without a mark, by name. */
export function emptyPlots(page) {
  return page.evaluate(() => [...document.querySelectorAll("main figure")].filter((figure) => {
    const marks = figure.querySelectorAll(".plot svg :is(.mark, .curve, .cells, .bars) :is(path, circle, rect)");
    return marks.length === 0 || [...marks].every((m) => { const box = m.getBBox(); return box.width === 0 && box.height === 0 && m.tagName !== "path"; });
  }).map((figure) => figure.id));
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

export async function settle(page) {
  // Two frames after the last chunk: ResizeObserver draws, then the picture is whole.
  await page.waitForTimeout(250);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export async function picture(page, folder, name) {
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
