//! The table as Markdown and JSON.

use std::path::Path;

use serde::Serialize;

use super::counted::{Bar, Counted};
use super::seconds::{HabitRow, SecondsRow};
use super::{Table, beyond_claim};
use crate::page::{NONE, list, table};
use crate::programs;

const NAME: &str = "coverage-2026-11-27";

pub(crate) fn markdown(counted: &Table) -> String {
    let intervals = counted.intervals.iter().map(|row| {
        [
            marked(&row.process, row.seconds),
            format!("{} s", row.seconds),
            row.figure.to_owned(),
            format!("{} of {}", row.printed, row.runs),
            percent(row.covered),
            percent(row.half_width),
            format!("{:.2}", row.over_oracle),
            percent(row.decided),
        ]
    });
    let flags = counted.steady.iter().chain(&counted.drifting).map(|row| {
        let process = marked(&row.process, row.seconds);
        let (window, drift) = (format!("{} s", row.seconds), row.drift.to_owned());
        [process, window, drift, row.runs.to_string(), percent(row.flagged)]
    });
    let comparisons = counted.comparisons.iter().map(|row| {
        let outliers = if row.outliers { ", 1 in 20 30 % slower" } else { "" };
        let (difference, noise) =
            (format!("{:+.0} %", row.difference * 100.0), format!("{:.1} %{outliers}", row.noise * 100.0));
        let shares = [row.faster, row.slower, row.equivalent, row.inconclusive].map(percent);
        [&[difference, noise, row.blocks.clone(), row.runs.to_string()][..], &shares].concat()
    });
    let heads = "process | window | figure | printed | covered | median ± | × oracle | decided at the truth";
    let of_flags = "process | window | what drifts | runs | flagged `not_steady`";
    let of_comparisons =
        "true difference | noise of a trial | blocks | runs | faster | slower | equivalent | inconclusive";
    [
        table(heads, "---|--:|---|--:|--:|--:|--:|--:", intervals),
        table(of_flags, "---|--:|---|--:|--:", flags),
        table(of_comparisons, "--:|---|---|--:|--:|--:|--:|--:", comparisons),
    ]
    .join("\n")
}

pub(crate) fn seconds(rows: &[SecondsRow], habits: &[HabitRow]) -> String {
    let rows = rows.iter().map(|row| {
        let most = format!("over {}", super::seconds::BLOCKS_MAX);
        let (all, fewer) = match row.blocks {
            Some(_) => (format!("{:.0} s", row.all_s), format!("{:.1} ×", row.fewer)),
            None => (format!("over {:.0} s", row.all_s), NONE.to_owned()),
        };
        let blocks = row.blocks.map_or(most, |blocks| blocks.to_string());
        let window = format!("{} s", row.window_s);
        [row.machine.clone(), window, blocks, percent(row.found), percent(row.wrong), all, fewer]
    });
    let habits = habits.iter().map(|row| [row.machine.clone(), percent(row.right), percent(row.off)]);
    let heads = "machine | window | blocks for 80 % | found | winner between equals | in all | 300 s are";
    let of_habits = "machine | best of five: names the faster one | median error of the difference";
    [table(heads, "---|--:|--:|--:|--:|--:|--:", rows), table(of_habits, "---|--:|--:", habits)].join("\n")
}

pub(crate) fn write_seconds(root: &Path, tables: &str, rows: &impl Serialize) -> Result<(), String> {
    write_both(root, SECONDS_NAME, &format!("{SECONDS_HEAD}{tables}"), rows)
}

const SECONDS_NAME: &str = "seconds-2026-11-21";

const SECONDS_HEAD: &str = "# How long a true 3 % takes, 2026-11-21

Made by `cargo xtask coverage --seconds --write`, from fixed seeds. Simulated: B carries 3 % less than A, and a comparison by
blocks (`prony_analysis::compare`) is held against the habit of five loads of 30 s of each and their best: 300 s of load.
[statistics.md](../statistics.md#fewer-seconds) says what follows from it, and what was measured.

Noise, as standard deviations of the logarithm of throughput: between starts of a server, between seconds of a trial, and
between blocks (in both of a block alike; in all five of the habit's loads of one, which it makes one after the other):
quiet 0.5, 1 and 1 %; usual 1, 3 and 3 %; noisy 3, 5 and 8 %. Blocks: the fewest that say `slower` in 80 % of the runs,
found on other seeds than those that chose them. In all: windows, warm-ups of a tenth, and 0.8 s of start, check and stop a trial;
the habit's 300 s are windows alone. The best of five names a winner always, between equals too.

";

pub(crate) fn verdicts(rows: &[Counted]) -> String {
    let mut last = "";
    let rows = rows.iter().map(|row| {
        let promised = match row.bar {
            Bar::AtLeast(share) => format!("≥ {}", percent(share)),
            Bar::AtMost(0.0) => "never".to_owned(),
            Bar::AtMost(share) => format!("≤ {}", percent(share)),
            Bar::None => NONE.to_owned(),
        };
        let situation = if row.situation == last { "" } else { &row.situation };
        let missed = if row.is_missed() { "**missed**" } else { "" };
        last = &row.situation;
        let what = [situation, row.what].map(str::to_owned);
        [&what[..], &[row.runs.to_string(), percent(row.share()), promised, missed.to_owned()]].concat()
    });
    let heads = "situation | what is counted | of | happened | promised |";
    table(heads, "---|---|--:|--:|--:|---", rows)
}

pub(crate) fn write_verdicts(
    root: &Path,
    table: &str,
    rows: &[Counted],
    misses: &[String],
) -> Result<(), String> {
    let commit = programs::git(root, &["rev-parse", "--short=8", "HEAD"])?;
    let page = format!("{VERDICTS_HEAD}At {commit}. {}{table}{VERDICTS_FOOT}", bars(misses));
    write_both(root, VERDICTS_NAME, &page, &rows)
}

fn write_both(root: &Path, name: &str, page: &str, rows: &impl Serialize) -> Result<(), String> {
    let json = serde_json::to_string_pretty(rows).map_err(|e| e.to_string())? + "\n";
    crate::page::store(root, name, page, Some(&json))
}

const VERDICTS_NAME: &str = "verdicts-2026-11-27";

const VERDICTS_HEAD: &str = "# How often Prony's verdicts are right, 2026-11-27

Made by `cargo xtask coverage --verdicts --write`, from fixed seeds: the same code gives the same table on any machine.
Each run draws servers whose truth is known and gives what was measured of them to the functions that judge real run
logs: `compare_candidates`, `analyse`, `hold_run`, `history`, the search for a capacity. A row has a tenth of the runs
where one takes long, and fewer where it counts only some of them (those that print an interval, say).

A promise is missed where a count would be so far off in under 1 % of cases at exactly what is promised. Intervals of
windows are in [coverage-2026-11-27.md](coverage-2026-11-27.md); [statistics.md](../statistics.md) says what the rules are.

";

const VERDICTS_FOOT: &str = "
## How each was played

Unless a row says otherwise, a trial differs from the next by 3 % (standard deviation of the logarithm) and a block moves
all its candidates by 5 %; two are compared by throughput, of which 2 % matter, at the first look.

- **Poisson arrivals**: one server with exponential service at 2,000 requests a second, another arrival sequence in each
  block. The mean's interval is Student's over blocks; the p99 is that of all requests, its interval by the share of
  requests beyond it, start by start.
- **Stalls**: 1,000 requests a second, which wait while the server stops for 200 ms at random. Where fewer than ten stalls are
  to be expected in a window, only the lower end is promised: a window cannot know of stalls that it did not see.
- **p99 threshold**: 10,000 requests a start. Where starts are alike and exactly as many requests are late as may be, MET and
  MISSED are each wrong for what is just beyond: both are counted. Where some starts differ nothing is promised but the
  line's last words, how many starts may.
- **Ranks**: servers that are equal must not be ranked apart; ranks are by throughput, five blocks or fewer.
- **Forecasts**: of runs that six blocks left undecided; then so many more blocks as were forecast, and the second look.
- **Gate**: throughput, p50 and p99 under each plan, drawn without regard to each other, as 3 × plans hypotheses.
- **Two runs**: five blocks each, 1 % from trial to trial; A is the last of the five earlier runs.
- **History**: somebody looks after each run, from the eighth on.
- **Claims and duets**: a claim goes through a log's published conclusions. In a duet the machine swings by 30 % for both, one
  place is 10 % faster, and each server differs by 4 % a second and 1 % a start, over ten seconds and two halves a block.
- **Capacity**: the search of `prony capacity --slo 'p99<…'` with probes of 10 s, by its own functions, on a simulated queue that
  carries 2,000 a second. Half of the searches within ±4 % is a median of 4 %. The search of 697f7046 took 186 s on the
  same queue, in a simulation of its bisection.
- **Another program**: bursts of 10 s and more (15 s on average), a fifth of the time; trials of 11 s with 2 % between trials.
  A load first waits for an idle second; disturbed trials are repeated at their block's end. Half of the runs at most 1.25
  times as wide is a median of 1.25. **That is promised with a `--budget` that has time for repeats.** Without one, repeats may
  take 15 % of the time under load, and a fifth of the trials cannot be repeated in that: the intervals hold, and are wider
  where a disturbed trial is left.
";

/// Rows outside the claim are shown all the same.
fn marked(process: &str, seconds: u32) -> String {
    format!("{process}{}", if beyond_claim(process, seconds) { " †" } else { "" })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub(crate) fn write(root: &Path, tables: &str, raw: &Table, misses: &[String]) -> Result<(), String> {
    write_both(root, NAME, &format!("{HEAD}{}{tables}", bars(misses)), raw)
}

fn bars(misses: &[String]) -> String {
    match misses {
        [] => "All bars are met.\n\n".to_owned(),
        misses => format!("**Bars not met:**\n\n{}\n", list(misses.iter().cloned())),
    }
}

const HEAD: &str = "# Coverage of Prony's intervals and verdicts, 2026-11-27

Made by `cargo xtask coverage --write`, from fixed seeds: the same code gives the same table on any machine.
Simulated answers go into the bins and histograms that the engine keeps, and from there through the functions that
judge real trials (`prony_analysis::testing::within`, `prony_analysis::compare`). [statistics.md](../statistics.md) says how to read it.

Covered: of the runs that print an interval, those whose interval holds the truth; 93 % are asked. × oracle: the
median width over that of the middle 95 % of the points of all runs, which is the narrowest interval that somebody
who knew the process could give; 1.5 is allowed (Student's t of five parts makes 1.3 where they are independent). Decided at the truth: of all runs, with an interval or without, those in
which a threshold at the true value is met or missed; 7 % are allowed, as coverage allows them. Steady runs (what drifts: nothing) may be flagged in under 5 %,
drifting ones must be in 80 %. With a true difference of 0, faster and slower together stay under 5 %; the one of
5 % is to be found by 12 blocks in 80 %, at a smallest difference that matters of 2 %. A bar is missed where a count would be
so far off in under 1 % of cases at exactly the bar. Verdicts over starts are in
[verdicts-2026-11-27.md](verdicts-2026-11-27.md).

Windows of 100 s are for tails: a percentile has an interval where the window spends a second beyond it. Thresholds of
steadiness and the sizes of the drifts were chosen on other seeds (`--base 0` to `4`); the intervals have none that
were, and were first tried with another simulation (docs/decisions/0029).

† Beyond what is claimed of widths and steadiness: dependence whose 1/e time is over a fortieth of the window. What is
printed is held to the bar of coverage there as everywhere.
‡ Smaller drifts, to say what is missed, held to no bar.

";
