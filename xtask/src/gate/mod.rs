//! `cargo xtask gate [--binaries BASE,HEAD] [--pairs N] [--only NAME,…] [--store]`: is the engine as cheap as it was?
//! Held against one commit for good, so that small steps do not add up unseen. Instructions per request of the
//! simulated worker are counted, by Callgrind: the same on a busy machine. CPU time per request and the memory of many
//! connections are measured, of the release binaries on loopback, in pairs; an interval of their ratio that has the
//! limit in it says nothing. `--binaries` measures the CPU time of two builds of one commit instead.

mod measure;
mod trees;

use std::path::{Path, PathBuf};

use clap::Parser;
use clap::builder::PossibleValuesParser;
use prony_host::Beside;

use measure::{COUNTED, Cost, LOADS};
use trees::{BASE, Tree};

use crate::files;
use crate::median::shown;
use crate::page::{date, host, table};
use crate::programs::commit;
use crate::truth::noise;

const PAIRS: usize = 40;
/// As few give a result that is kept of two builds of one commit, whose difference is one of the C library alone.
const BUILD_PAIRS_MIN: usize = 12;
/// What this tree may cost, as a multiple of the base.
const INSTRUCTIONS_MAX: f64 = 1.02;
const CPU_MAX: f64 = 1.04;
const MEMORY_MAX: f64 = 1.05;
/// Of CPU time, between two builds of one commit.
const BUILD_CPU_MAX: f64 = 1.02;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Within,
    Slower,
    TooNoisy,
    NotMeasured,
}

impl Verdict {
    /// Of a ratio that is surely from `low` to `high`.
    fn of(low: f64, high: f64, limit: f64) -> Verdict {
        if high <= limit {
            Verdict::Within
        } else if low > limit {
            Verdict::Slower
        } else {
            Verdict::TooNoisy
        }
    }

    fn word(self) -> &'static str {
        match self {
            Verdict::Within => "within",
            Verdict::Slower => "**slower**",
            Verdict::TooNoisy => "too noisy to tell",
            Verdict::NotMeasured => "not measured",
        }
    }
}

#[derive(Debug)]
struct Judged {
    name: String,
    /// In words: the base's figure, this tree's, their ratio, the limit.
    words: [String; 4],
    verdict: Verdict,
    note: String,
}

#[derive(Debug, Parser)]
pub(crate) struct Asked {
    #[arg(long, default_value_t = PAIRS)]
    pairs: usize,
    /// Keep the results in docs/benchmarks/
    #[arg(long, conflicts_with = "only")]
    store: bool,
    /// Two builds of one commit instead of two commits: BASE,HEAD
    #[arg(long, value_delimiter = ',')]
    binaries: Vec<PathBuf>,
    /// Only these: instructions, or a load
    #[arg(long, value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
}

impl Asked {
    fn check(&self) -> Result<(), String> {
        let pairs_min = if self.binaries.is_empty() { PAIRS } else { BUILD_PAIRS_MIN };
        match self.binaries.len() {
            0 | 2 if self.store && self.pairs < pairs_min => {
                Err(format!("a result that is kept is of {pairs_min} pairs or more"))
            }
            0 | 2 => Ok(()),
            _ => Err("--binaries takes two of them: BASE,HEAD".to_owned()),
        }
    }
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(["instructions"].into_iter().chain(LOADS.iter().map(|load| load.name)))
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    asked.check()?;
    let wanted = |name: &str| asked.only.is_empty() || asked.only.iter().any(|only| only == name);
    let commit = commit(root);
    let (trees, sides, kind, cpu_max) = match asked.binaries.as_slice() {
        [base, head] => {
            // Some of it is run in another folder.
            let tree = |path: &PathBuf| Tree::of_binary(path.canonicalize().unwrap_or(path.clone()));
            let sides = [base, head].map(|path| path.display().to_string());
            ([base, head].map(tree), sides, "gate-builds", BUILD_CPU_MAX)
        }
        _ => (trees::both(root)?, [BASE.to_owned(), commit.clone()], "gate", CPU_MAX),
    };
    let of_commits = asked.binaries.is_empty();
    let scratch = root.join("target/gate/run");
    files::make(&scratch)?;
    let mut all = Vec::new();
    for (load, test) in COUNTED.into_iter().filter(|_| wanted("instructions") && of_commits) {
        take(&mut all, counted(load, measure::instructions(&trees, test, &scratch)));
    }
    let of_builds = |load: &&measure::Load| of_commits || load.cost == Cost::CpuTime;
    for load in LOADS.iter().filter(|load| wanted(load.name)).filter(of_builds) {
        let begun = Beside::read();
        let found = measure::paired(&trees, load, asked.pairs, &scratch);
        let meanwhile = noise::since(&begun).join(", ");
        take(&mut all, timed(load, found, cpu_max, if meanwhile.is_empty() { "quiet" } else { &meanwhile }));
    }
    if asked.store {
        let doctor = noise::doctor(&trees[1].prony, &scratch, true)?;
        let page = page(&host(&doctor["host"]), &sides, &commit, &all);
        crate::page::store(root, &format!("{kind}-{}", date()), &page, None)?;
    }
    let wrong = all.iter().filter(|one| one.verdict != Verdict::Within);
    let wrong: Vec<String> = wrong.map(|one| format!("{}: {}", one.name, one.verdict.word())).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn take(all: &mut Vec<Judged>, one: Judged) {
    println!("| {} | {}", one.cells().join(" | "), one.note);
    all.push(one);
}

/// Counts of two runs differ by a ten-thousandth, by what the thread beside the worker does: no interval.
fn counted(load: &str, found: Result<[f64; 2], String>) -> Judged {
    let name = format!("{load}: instructions per request, simulated worker");
    let Ok([base, head]) = found else { return not_measured(name, found.err()) };
    let ratio = head / base;
    let words =
        [format!("{base:.1}"), format!("{head:.1}"), format!("{ratio:.4}"), format!("{INSTRUCTIONS_MAX}")];
    Judged { name, words, verdict: Verdict::of(ratio, ratio, INSTRUCTIONS_MAX), note: String::new() }
}

fn timed(
    load: &measure::Load,
    found: Result<(Vec<[f64; 2]>, prony_stats::Interval), String>,
    cpu_max: f64,
    meanwhile: &str,
) -> Judged {
    let (what, unit, per_unit, limit) = match load.cost {
        Cost::CpuTime => ("CPU time per request", "ns", 1.0, cpu_max),
        Cost::Memory => ("peak memory", "kB", 1e3, MEMORY_MAX),
    };
    let name = format!("{}: {what} (`prony load {}`)", load.name, load.flags);
    let Ok((pairs, ratio)) = found else { return not_measured(name, found.err()) };
    let [base, head] = [0, 1].map(|side| {
        let median = prony_stats::trend::median(&pairs.iter().map(|pair| pair[side]).collect::<Vec<_>>());
        format!("{:.0} {unit}", median.unwrap_or(f64::NAN) / per_unit)
    });
    let note = format!("{} pairs; the machine meanwhile: {meanwhile}", pairs.len());
    Judged {
        name,
        words: [base, head, shown(&ratio), format!("{limit}")],
        verdict: Verdict::of(ratio.low, ratio.high, limit),
        note,
    }
}

fn not_measured(name: String, why: Option<String>) -> Judged {
    let words = ["–", "–", "–", "–"].map(str::to_owned);
    Judged { name, words, verdict: Verdict::NotMeasured, note: why.unwrap_or_default().replace('\n', " ") }
}

impl Judged {
    fn cells(&self) -> [String; 6] {
        let [base, head, ratio, limit] = self.words.clone();
        [self.name.clone(), base, head, ratio, limit, self.verdict.word().to_owned()]
    }
}

fn page(host: &str, [base, head]: &[String; 2], commit: &str, all: &[Judged]) -> String {
    let counted = if all.iter().any(|one| one.name.contains("instructions")) {
        "Instructions are\ncounted by Callgrind, without those of the simulated world. "
    } else {
        ""
    };
    let about = format!(
        "# What a request costs the engine, {}\n\n{host}.\n\n`cargo xtask gate --store` at commit {commit}: {head} against {base}. \
         {counted}CPU times and memory are medians; their\nratio is the geometric mean over pairs of loads of 2 s, one of each \
         in turns on one CPU, with its interval at 95 %,\nwhose upper end is held to the limit.\n\n",
        date(),
    );
    let heads = format!("what | {base} | {head} | ratio | limit | verdict");
    let table = table(&heads, "---|---|---|---|---|---", all.iter().map(Judged::cells));
    let notes = all.iter().filter(|one| !one.note.is_empty());
    let notes: String =
        notes.map(|one| format!("- {}: {}.\n", one.name, one.note.trim_end_matches('.'))).collect();
    format!("{about}{table}\n{notes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_judged_by_the_ends_of_its_interval() {
        assert_eq!(Verdict::of(0.9, 1.04, 1.04), Verdict::Within);
        assert_eq!(Verdict::of(1.05, 1.2, 1.04), Verdict::Slower);
        assert_eq!(Verdict::of(1.04, 1.2, 1.04), Verdict::TooNoisy);
        let counts = |head| counted("closed", Ok([1000.0, head])).verdict;
        assert_eq!((counts(1020.0), counts(1021.0)), (Verdict::Within, Verdict::Slower));
        assert_eq!(counted("closed", Err("none".to_owned())).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn the_page_has_the_interval_and_what_else_ran() {
        let ratio = prony_stats::Interval { point: 1.01, low: 0.99, high: 1.05, n: 2 };
        let one = timed(
            &LOADS[0],
            Ok((vec![[1000.0, 1010.0]; 2], ratio)),
            CPU_MAX,
            "other programs 60 % of a core",
        );
        let page = page("A machine", &["abc", "def"].map(str::to_owned), "def", &[one]);
        assert!(
            page.contains("| 1000 ns | 1010 ns | 1.0100 (0.9900 to 1.0500) | 1.04 | too noisy to tell |"),
            "{page}"
        );
        assert!(page.contains("2 pairs; the machine meanwhile: other programs 60 % of a core."), "{page}");
    }

    #[test]
    fn the_command_line_is_read() {
        let read = |words: &str| {
            let asked = Asked::try_parse_from(["gate"].into_iter().chain(words.split_whitespace()));
            let asked = asked.map_err(|e| e.to_string())?;
            asked.check().map(|()| asked)
        };
        let asked = read("--pairs 4 --only closed,tls").unwrap();
        assert_eq!((asked.pairs, asked.only, asked.store), (4, vec!["closed".into(), "tls".into()], false));
        assert_eq!(read("--binaries a,b").unwrap().binaries, ["a", "b"].map(PathBuf::from));
        assert!(read("--store --binaries a,b --pairs 12").unwrap().store);
        for wrong in [
            "--only no",
            "--store --binaries a,b --pairs 11",
            "--binaries a",
            "--pairs",
            "--store --pairs 4",
            "--store --only tls",
            "x",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
