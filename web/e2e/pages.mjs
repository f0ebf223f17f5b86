// Pages whose truth is known: a source beside ours, CPUs over time, searches for a capacity, and a history with one change.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { axe, emptyPlots, open, picture, settle } from "./browser.mjs";

/** Marks, no overflow, a picture, nothing serious from axe: at both widths, in both schemes. */
async function lookAt({ chromium, must, pictures }, url, name, allowed) {
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
    const { page, context, problems } = await open(chromium, url, { width, scheme, allowed });
    await page.locator("main svg").first().waitFor();
    await settle(page);
    const empty = await emptyPlots(page);
    must(empty.length === 0, `plots without marks: ${empty}`);
    must(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the screen");
    await picture(page, pictures, `${name}-${width}${scheme === "dark" ? "-dark" : ""}`);
    const serious = await axe(page);
    must(serious.length === 0, serious.join("\n        "));
    must(problems.length === 0, problems.join("; "));
    await context.close();
  }
}

export async function published({ chromium, file, check, must, prony, folder }) {
  await check("a source stands beside ours, and its conclusions are judged", async () => {
    const { page, context, problems } = await open(chromium, file("experiment.html"));
    await settle(page);
    const rows = await page.locator("#published table.conclusions tbody tr").allInnerTexts();
    const verdicts = rows.map((row) => /HOLDS|FAILS|UNDECIDED/.exec(row.split("\n").join(" ").replace(/under \d+ plans.*/, ""))?.[0]);
    // HOLDS, FAILS, UNDECIDED, unless the machine was so busy that throughputs are lower bounds only: the page says what
    // the analysis says, whatever that is.
    const judged = spawnSync(prony, ["report", join(folder, "experiment.jsonl"), "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 28 });
    const analysed = JSON.parse(judged.stdout).published.conclusions.map((c) => c.judgement.toUpperCase());
    must(verdicts.length === 3 && verdicts[2] === "UNDECIDED" && JSON.stringify(verdicts) === JSON.stringify(analysed), [analysed, rows]);
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

export async function overTime({ chromium, file, check, must }) {
  await check("CPUs, server and client are plotted over a trial's time", async () => {
    for (const [name, wanted] of [["experiment", ["cpu", "memory", "client-cpu", "client-memory", "cores"]], ["loads", ["client-cpu", "client-memory", "cores"]]]) {
      const { page, context, problems } = await open(chromium, `${file(`${name}.html`)}#/trials?t=0`);
      await settle(page);
      for (const id of wanted) {
        const lines = page.locator(`#plot-${id} :is(.curve, .cells) :is(path, circle, rect)`);
        must(await lines.count() > 0, `${name}: #plot-${id} has no line`);
        await page.locator(`#plot-${id} details.behind > summary`).click();
        await page.locator(`#plot-${id} details.behind tbody tr`).first().waitFor({ timeout: 3000 });
        must(await page.locator(`#plot-${id} details.behind tbody tr`).count() >= 2, `${name}: #plot-${id} has no table`);
      }
      const names = await page.locator("#plot-cores :is(.legend li, text)").allInnerTexts();
      must(names.some((n) => /CPU \d+/.test(n)), names);
      must(problems.length === 0, problems.join("; "));
      await context.close();
    }
  });
}

export async function duet({ chromium, file, check, must }) {
  await check("a duet's comparison stands above its ranking", async () => {
    const { page, context, problems } = await open(chromium, file("duet.html"));
    await settle(page);
    const rows = Object.fromEntries(await page.locator("#duet tbody tr").evaluateAll((trs) => trs.map((tr) => [tr.cells[0].innerText, [...tr.cells].map((c) => c.innerText)])));
    // 2 ms against 20, at one rate; a busy machine adds some to both.
    const ratio = Number.parseFloat(rows.p50?.[2] ?? "");
    must(rows.p50?.[1].includes("SLOWER") && ratio > 1.5 && ratio < 15, rows);
    must(/\d\.?\d* – \d/.test(rows.p50[2]), "the ratio has no interval");
    must(!rows.Throughput?.[1].includes("SLOWER") && Number.parseFloat(rows.Throughput?.[2] ?? "") > 0.9, rows);
    const title = await page.locator("h1").innerText();
    must(title.includes("head is slower than base"), title);
    await page.locator("#duet thead button", { hasText: "Ratio" }).click();
    const order = await page.locator("#duet tbody th").allInnerTexts();
    must(order.indexOf("p50") > order.indexOf("Throughput"), order);
    must(problems.length === 0, problems.join("; "));
    await context.close();
    return `p50 ${rows.p50[2].split("\n").join(" ")}, throughput ${rows.Throughput[1].split("\n")[0]}`;
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
    must(await page.locator("#plot-capacity .mark path").count() > 0, "no probe failed");
    must(await page.locator("#plot-capacity .mark :is(circle, path)").count() > 8, "there are few probes");
    const rows = page.locator("section > .table-box tbody tr");
    const found = Object.fromEntries((await rows.evaluateAll((trs) => trs.map((tr) => [tr.querySelector(".name").textContent, Number(tr.cells[1].childNodes[0].textContent.replace(/[^0-9.]/g, ""))]))));
    // The page shows what was found, whatever that was: how well a search does is not the page's to prove.
    for (const name of ["slow", "quick"]) {
      const [low, high] = searched(join(folder, "knees.jsonl"), "knee-c8", name);
      must(found[name] >= 0.995 * low && found[name] <= 1.005 * high, `${name}: ${found[name]}/s on the page, ${low} to ${high} in the run log`);
    }
    must((await rows.first().innerText()).includes("95 % over searches"), "the interval is not over searches");
    await page.getByRole("group", { name: "Figure" }).getByRole("button", { name: "Carried" }).click();
    await settle(page);
    must((await emptyPlots(page)).length === 0, "Carried is empty");
    await page.getByLabel("Plan", { exact: true }).selectOption({ index: 1 });
    await settle(page);
    must((await emptyPlots(page)).length === 0, "the other plan's plot is empty");
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
    const run = (words) => { const done = spawnSync(prony, words, { encoding: "utf8" }); must(done.status === 0, `${words}: ${done.stderr}`); return done.stdout; };
    try {
      run(["capacity", url, "-d", "200ms", "-c", "20", "-q", "--json", json, "-o", log]);
    } finally {
      target.child.kill("SIGTERM");
    }
    must(run(["report", log]).includes("probes"), "the terminal does not show the search");
    for (const of of [json, log]) {
      const html = `${of}.html`;
      run(["report", of, "--format", "html", "-o", html]);
      const { page, context, problems } = await open(chromium, `file://${html}#/capacity`);
      await page.locator("#plot-capacity .mark :is(circle, path)").first().waitFor();
      must((await page.locator("h1").innerText()).includes("sustained"), "the headline does not say what was found");
      must(await page.locator("section > .table-box tbody tr").count() === 1, "there is not one answer");
      must(problems.length === 0, problems.join("; "));
      await context.close();
    }
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
      must(/runs\/\d+/.test(page.url()), page.url());
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
