// Pages whose data are made to be known (xtask/src/web_data.rs): a source beside ours, CPUs over time, searches for a capacity, and a history with one change.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { axe, drawn, open, picture, settle } from "./browser.mjs";

/** Marks, no overflow, a picture, nothing serious from axe: at both widths, in both schemes. */
async function lookAt({ chromium, must, pictures }, url, name, allowed) {
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
    const { page, context, problems } = await open(chromium, url, { width, scheme, allowed });
    await page.locator("main svg").first().waitFor();
    await settle(page);
    await drawn(page);
    must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the screen");
    await picture(page, pictures, `${name}-${width}${scheme === "dark" ? "-dark" : ""}`);
    const serious = await axe(page);
    must(serious.length === 0, serious.join("\n        "));
    must(problems.length === 0, problems.join("; "));
    await context.close();
  }
}

export async function published({ chromium, file, check, must }) {
  await check("a source stands beside ours, and its conclusions are judged", async () => {
    const { page, context, problems } = await open(chromium, file("experiment.html"));
    await settle(page);
    const rows = await page.locator("#published table.conclusions tbody tr").allInnerTexts();
    const verdicts = rows.map((row) => /HOLDS|FAILS|UNDECIDED/.exec(row.split("\n").join(" ").replace(/under \d+ plans.*/, ""))?.[0]);
    must(verdicts.join() === "HOLDS,FAILS,UNDECIDED", rows);
    const text = await page.locator("#published").innerText();
    must(text.includes("its own samples differ by half") && text.includes("fourth"), text);
    const heads = await page.locator("section > .table-box thead th").allInnerTexts();
    must(heads.some((h) => h.startsWith("Published")), heads);
    const theirs = await page.locator("section > .table-box tbody tr").allInnerTexts();
    must(theirs.some((row) => row.includes("15,000/s") && row.includes("1.50 ×")) && theirs.some((row) => row.includes("doubted")), theirs);
    must((await page.locator("#plot-ranking figcaption").innerText()).includes("diamond"), "the plot says nothing of published figures");
    must(problems.length === 0, problems.join("; "));
    await context.close();
    return verdicts.join(", ");
  });
}

/** The plots of what the machine did. */
const MACHINE = ["monitor-cpu", "monitor-memory", "monitor-network"];

export async function overTime({ chromium, file, check, must }) {
  await check("CPUs, server and client are plotted over a trial's time", async () => {
    for (const [name, wanted] of [["experiment", ["cpu", "memory", "client-cpu", "client-memory", "cores", ...MACHINE]], ["loads", ["client-cpu", "client-memory", "cores", ...MACHINE]]]) {
      const { page, context, problems } = await open(chromium, `${file(`${name}.html`)}#/trials?t=0`);
      await settle(page);
      for (const id of wanted) {
        const lines = page.locator(`#plot-${id} :is(.curve, .cells) :is(path, circle, rect)`);
        must(await lines.count() > 0, `${name}: #plot-${id} has no line`);
        await page.locator(`#plot-${id} details.behind > summary`).click();
        await page.locator(`#plot-${id} details.behind tbody tr`).first().waitFor();
        must(await page.locator(`#plot-${id} details.behind tbody tr`).count() >= 2, `${name}: #plot-${id} has no table`);
      }
      const names = await page.locator("#plot-cores :is(.legend li, text)").allInnerTexts();
      must(names.some((n) => /CPU \d+/.test(n)), names);
      await page.getByLabel("CPU", { exact: true }).selectOption("1");
      must((await page.locator("#plot-monitor-cpu h3").innerText()).startsWith("CPU 1,"), `${name}: the CPU was not chosen`);
      must(problems.length === 0, problems.join("; "));
      await context.close();
    }
  });
}

/** What `prony report --format json` says of a run log. */
function analysed({ prony, folder, must }, log) {
  const done = spawnSync(prony, ["report", log, "--format", "json"], { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
  must(done.status === 0, done.stderr);
  return JSON.parse(done.stdout);
}

export async function duet(world) {
  const { chromium, file, check, must } = world;
  await check("a duet's comparison stands above its ranking, and says what the analysis says", async () => {
    const { page, context, problems } = await open(chromium, file("duet.html"));
    await settle(page);
    const { headline, duet: { plans: [{ figures }] } } = analysed(world, "duet.jsonl");
    const trs = await page.locator("#duet tbody tr").evaluateAll((trs) => trs.map((tr) => [...tr.cells].map((c) => c.innerText)));
    must(trs.length === figures.length, trs);
    // Of what a server costs the page says more and less.
    const words = { faster: ["faster", "less"], slower: ["slower", "more"] };
    figures.forEach(({ finding, ratio }, i) => {
      const said = trs[i][1].toLowerCase();
      must((words[finding] ?? [finding ?? "no verdict"]).some((word) => said.includes(word)), [trs[i], finding]);
      const shown = Number.parseFloat(trs[i][2]);
      must(ratio === null ? Number.isNaN(shown) : Math.abs(shown / ratio.point - 1) < 0.005, [trs[i], ratio]);
    });
    // By construction, a fifth less in every block.
    must(/throughput/i.test(trs[0][0]) && trs[0][1].includes("SLOWER") && /0\.800 .*\s0\.800 – 0\.800/.test(trs[0][2]), trs[0]);
    const title = await page.locator("h1").innerText();
    must(title.replaceAll("\u00a0", " ") === headline && title.includes("head is slower than base"), [title, headline]);
    await page.locator("#duet thead button", { hasText: "Ratio" }).click();
    const order = (await page.locator("#duet tbody tr").evaluateAll((trs) => trs.map((tr) => Number.parseFloat(tr.cells[2].innerText)))).filter((r) => !Number.isNaN(r));
    must(order.every((r, i) => i === 0 || order[i - 1] <= r), order);
    must(problems.length === 0, problems.join("; "));
    await context.close();
    return `throughput ${trs[0][2].split("\n").join(" ")}`;
  });
}

export async function tails(world) {
  const { chromium, file, check, must, pictures } = world;
  await check("the tail of two is a plot with a line at 1 and a table", async () => {
    for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
      const { page, context, problems } = await open(chromium, file("duet.html"), { width, scheme });
      await settle(page);
      const box = page.locator("#plot-tails");
      const { points, one, ticks } = await box.evaluate((box) => ({
        points: box.querySelectorAll(".mark circle").length,
        one: box.querySelectorAll(".one line").length,
        ticks: [...box.querySelectorAll("svg text")].map((text) => text.textContent),
      }));
      must(points >= 3 && points <= 5 && one === 1, [points, one]);
      must(ticks.includes("p50") && ticks.includes("p99") && ticks.some((tick) => tick.includes("×")), ticks);
      await box.locator("details.behind > summary").click();
      await box.locator("details.behind tbody tr").first().waitFor();
      const rows = await box.locator("details.behind tbody tr").allInnerTexts();
      must(rows.length === points && rows[0].startsWith("p50"), rows);
      await box.scrollIntoViewIfNeeded();
      await picture(page, pictures, `tails-${width}${scheme === "dark" ? "-dark" : ""}`);
      must(problems.length === 0, problems.join("; "));
      await context.close();
    }
  });
}

/** What a plan's blocks find stands below its ranking. */
export async function planning(world) {
  const { chromium, file, check, must } = world;
  await check("what a plan's blocks find stands below its ranking", async () => {
    const { page, context, problems } = await open(chromium, file("experiment.html"));
    await settle(page);
    must(await page.locator("#said").count() === 1, "nothing is said");
    must((await page.locator("#said").innerText()).includes("4 of 5 runs"), "planning is not said");
    must(problems.length === 0, problems.join("; "));
    await context.close();
  });
}

/** The least and the most that searches for one candidate's capacity found, requests per second, by the run log. */
function searched(log, plan, candidate) {
  const lines = readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  const found = lines.filter((l) => l.type === "result" && l.plan === plan && l.candidate === candidate).map((l) => l.capacity.capacity_per_s.point);
  return [Math.min(...found), Math.max(...found)];
}

export async function capacity(world) {
  const { chromium, file, check, must, start, prony, folder } = world;
  await check("searches for a capacity: probes, what was found, and shares of it", async () => {
    await lookAt(world, `${file("knees.html")}#/capacity`, "knees-capacity");
    const { page, context, problems } = await open(chromium, `${file("knees.html")}#/capacity`);
    await settle(page);
    // Two searches each of two servers, of eight probes, of which four failed.
    const [failed, all] = [await page.locator("#plot-capacity .mark path").count(), await page.locator("#plot-capacity .mark :is(circle, path)").count()];
    must(failed === 16 && all === 32, `${failed} of ${all} probes failed`);
    const rows = page.locator("section > .table-box tbody tr");
    const found = Object.fromEntries((await rows.evaluateAll((trs) => trs.map((tr) => [tr.querySelector(".name").textContent, Number(tr.cells[1].childNodes[0].textContent.replace(/[^0-9.]/g, ""))]))));
    for (const name of ["slow", "quick"]) {
      const [low, high] = searched(join(folder, "knees.jsonl"), "knee-c8", name);
      must(found[name] >= 0.995 * low && found[name] <= 1.005 * high, `${name}: ${found[name]}/s on the page, ${low} to ${high} in the run log`);
    }
    must((await rows.first().innerText()).includes("95 % over searches"), "the interval is not over searches");
    await page.getByRole("group", { name: "Figure" }).getByRole("button", { name: "Carried" }).click();
    await settle(page);
    await drawn(page);
    await page.getByLabel("Plan", { exact: true }).selectOption({ index: 1 });
    await settle(page);
    await drawn(page);
    await page.evaluate(() => { location.hash = "#/sweep?against=share"; });
    await settle(page);
    must((await page.locator("#plot-sweep h3").innerText()).includes("share of the knee"), "there is no sweep over shares");
    must(await page.locator("#plot-sweep .mark circle").count() >= 3, "the sweep over shares has no points");
    must(problems.length === 0, problems.join("; "));
    await context.close();
    return `slow ${found.slow}/s, quick ${found.quick}/s`;
  });
  await check("a search of prony capacity on the page, from its JSON and from a run log", async () => {
    const target = start(["target", "--port", "0", "--capacity", "2000/s"], /(http:\S+)/);
    const url = await target.url;
    const [json, log] = ["search.json", "search.jsonl"].map((f) => join(folder, f.replace("search", `search-${process.pid}`)));
    const run = (words, ...ends) => { const done = spawnSync(prony, words, { encoding: "utf8" }); must([0, ...ends].includes(done.status), `${words}: ${done.stderr}`); return done.stdout; };
    try {
      // It ends with 3 where not even the lowest rate was sustained: what is found is the machine's, and the page must only say it.
      run(["capacity", url, "-d", "200ms", "-c", "20", "--resolution", "20%", "-q", "--json", json, "-o", log], 3);
    } finally {
      target.child.kill("SIGTERM");
    }
    must(run(["report", log]).includes("probes"), "the terminal does not show the search");
    const { probes, capacity_per_s: found } = JSON.parse(readFileSync(json, "utf8"));
    for (const of of [json, log]) {
      const html = `${of}.html`;
      run(["report", of, "--format", "html", "-o", html]);
      const { page, context, problems } = await open(chromium, `file://${html}#/capacity`);
      await page.locator("#plot-capacity .mark :is(circle, path)").first().waitFor();
      await page.getByRole("group", { name: "Figure" }).getByRole("button", { name: "Carried" }).click();
      await settle(page);
      must(await page.locator("#plot-capacity .mark :is(circle, path)").count() === probes.length, "not every probe is there");
      const title = await page.locator("h1").innerText();
      must(found ? /^(about|≥) [\d,]+ req\/s/.test(title) : title.startsWith("No rate that was tried is sustained"), title);
      must(await page.locator("section > .table-box tbody tr").count() === 1, "there is not one answer");
      must(problems.length === 0, problems.join("; "));
      await context.close();
    }
    return `${probes.length} probes`;
  });
}

export async function history(world) {
  const { chromium, check, must, start, prony, folder } = world;
  await check("a folder of runs has a history with its one change, and every run its report", async () => {
    const run = start(["serve", join(folder, "history"), "--listen", "127.0.0.1:0"], /(http:\S+)/);
    const url = await run.url;
    const own = (to) => to.startsWith(url);
    try {
      await lookAt(world, `${url}history`, "history", own);
      const { page, context, problems } = await open(chromium, url, { allowed: own });
      must(await page.locator(".runs a").count() === 12, "twelve runs are not listed");
      await page.getByRole("link", { name: /^History/ }).click();
      await page.locator("#plot-history .mark circle").first().waitFor();
      must((await page.locator("h1").innerText()).includes("for the worse"), "the change is not in the headline");
      const changes = await page.locator("#changes tbody tr").allInnerTexts();
      must(changes.length > 0 && changes.every((row) => row.includes("second") && row.includes("00000006..00000007") && /−2\d %/.test(row) && row.includes("worse")), changes);
      must((await page.locator("#plot-history .plot svg").textContent()).includes("at 00000007"), "the plot does not name the commit");
      const dots = () => page.locator("#plot-history .mark circle").count();
      const before = await dots();
      await page.locator("[data-candidate]").first().click();
      await settle(page);
      must(await dots() === before - 12, "a candidate was not taken off");
      await page.getByRole("button", { name: "By run" }).click();
      await settle(page);
      must((await page.locator("#plot-history .plot svg").textContent()).includes("00000000"), "runs are not named by their commits");
      await page.getByRole("group", { name: "Figure" }).getByRole("button", { name: "Peak memory" }).click();
      await settle(page);
      must((await page.locator("#plot-history h3").innerText()).startsWith("Peak memory"), "the figure was not switched");
      must(await dots() > 0, "the other figure has no points");
      await page.locator("#runs tbody a").first().click();
      await page.locator("#plot-ranking .mark circle").first().waitFor();
      must(/runs\/.+/.test(page.url()), page.url());
      await page.getByRole("link", { name: "← Runs" }).click();
      await page.locator(".runs a").first().waitFor();
      must(problems.length === 0, problems.join("; "));
      await context.close();
      return `${changes.length} changes of one candidate under ${changes.length} plans`;
    } finally {
      run.child.kill("SIGTERM");
    }
  });
  await check("the history as one file", async () => {
    const html = join(folder, "history.html");
    const done = spawnSync(prony, ["history", join(folder, "history"), "--format", "html", "-o", html], { encoding: "utf8" });
    must(done.status === 0, done.stderr);
    const { page, context, problems } = await open(chromium, `file://${html}`);
    await page.locator("#plot-history .mark circle").first().waitFor();
    must(await page.locator("#runs a").count() === 0, "a file has no reports to link to");
    must(problems.length === 0, problems.join("; "));
    await context.close();
  });
}
