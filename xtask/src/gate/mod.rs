//! `cargo xtask gate [--binaries BASE,HEAD] [--pairs N] [--only NAME,…] [--store]`: is the engine as cheap as it was?
//!
//! Held against one commit for good, so that small steps do not add up unseen. Instructions per request of the simulated
//! worker are counted, by Callgrind, without those of the world around it: a count is the same on a busy machine. CPU time
//! per request and the memory of many connections are measured, of the release binaries on loopback, in pairs; what the machine does meanwhile widens the
//! interval of their ratio, and an interval that has the limit in it says nothing, which is said in place of a verdict.
//! `--binaries` measures the CPU time of two builds of one commit instead, the one of `make build` and the static one say;
//! nothing is counted.

mod measure;
mod trees;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use measure::{COUNTED, Cost, LOADS};
use trees::{BASE, Tree};

use crate::hammer::commit;
use crate::today::date;
use crate::truth::noise::{self, Reading};

const USAGE: &str = "usage: cargo xtask gate [--binaries BASE,HEAD] [--pairs N] [--only instructions,closed,pipelined,open,tls,bodies,memory] [--store]";
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

/// A row of the table.
#[derive(Debug)]
struct Judged {
    name: String,
    /// In words: the base's figure, this tree's, their ratio, the limit.
    words: [String; 4],
    verdict: Verdict,
    /// What else is to be said.
    note: String,
}

#[derive(Debug, PartialEq, Eq)]
struct Asked {
    pairs: usize,
    store: bool,
    /// Two builds instead of two commits.
    binaries: Option<[PathBuf; 2]>,
    /// Empty: all.
    only: Vec<String>,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let asked = read(arguments)?;
    let wanted = |name: &str| asked.only.is_empty() || asked.only.iter().any(|only| only == name);
    let commit = commit(root);
    let (trees, sides, kind) = match &asked.binaries {
        None => (trees::both(root)?, [BASE.to_owned(), commit.clone()], "gate"),
        Some(builds) => (
            // Some of it is run in another folder.
            builds.clone().map(|path| Tree::of_binary(path.canonicalize().unwrap_or(path))),
            builds.clone().map(|path| path.display().to_string()),
            "gate-builds",
        ),
    };
    let cpu_max = if asked.binaries.is_some() { BUILD_CPU_MAX } else { CPU_MAX };
    let scratch = root.join("target/gate/run");
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let mut all = Vec::new();
    for (load, test) in COUNTED.into_iter().filter(|_| wanted("instructions") && asked.binaries.is_none()) {
        take(&mut all, counted(load, measure::instructions(&trees, test, &scratch)));
    }
    let of_builds = |load: &&measure::Load| asked.binaries.is_none() || load.cost == Cost::CpuTime;
    for load in LOADS.iter().filter(|load| wanted(load.name)).filter(of_builds) {
        let begun = Reading::now();
        let found = measure::paired(&trees, load, asked.pairs, &scratch);
        let meanwhile = begun.until(&Reading::now()).join(", ");
        take(&mut all, timed(load, found, cpu_max, if meanwhile.is_empty() { "quiet" } else { &meanwhile }));
    }
    if asked.store {
        let doctor = noise::doctor(&trees[1].prony, &scratch, true)?;
        let page = page(&crate::soak::host(&doctor["host"]), &sides, &commit, &all);
        crate::stored::write(root, &format!("{kind}-{}", date()), &[("md", &page)])?;
    }
    let wrong = all.iter().filter(|one| one.verdict != Verdict::Within);
    let wrong: Vec<String> = wrong.map(|one| format!("{}: {}", one.name, one.verdict.word())).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn take(all: &mut Vec<Judged>, one: Judged) {
    println!("{} {}", row(&one), one.note);
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
    let shown = format!("{:.4} ({:.4} to {:.4})", ratio.point, ratio.low, ratio.high);
    let note = format!("{} pairs; the machine meanwhile: {meanwhile}", pairs.len());
    Judged {
        name,
        words: [base, head, shown, format!("{limit}")],
        verdict: Verdict::of(ratio.low, ratio.high, limit),
        note,
    }
}

fn not_measured(name: String, why: Option<String>) -> Judged {
    let words = ["–", "–", "–", "–"].map(str::to_owned);
    Judged { name, words, verdict: Verdict::NotMeasured, note: why.unwrap_or_default().replace('\n', " ") }
}

fn row(one: &Judged) -> String {
    format!("| {} | {} | {} |", one.name, one.words.join(" | "), one.verdict.word())
}

fn page(host: &str, [base, head]: &[String; 2], commit: &str, all: &[Judged]) -> String {
    let counted = if all.iter().any(|one| one.name.contains("instructions")) {
        "Instructions are\ncounted by Callgrind, without those of the simulated world. "
    } else {
        ""
    };
    let mut page = format!(
        "# What a request costs the engine, {}\n\n{host}.\n\n`cargo xtask gate --store` at commit {commit}: {head} against {base}. \
         {counted}CPU times and memory are medians; their\nratio is the geometric mean over pairs of loads of 2 s, one of each \
         in turns on one CPU, with its interval at 95 %,\nwhose upper end is held to the limit.\n\n\
         | what | {base} | {head} | ratio | limit | verdict |\n|---|---|---|---|---|---|\n",
        date(),
    );
    for one in all {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{}", row(one));
    }
    page.push('\n');
    for one in all.iter().filter(|one| !one.note.is_empty()) {
        let _ = writeln!(page, "- {}: {}.", one.name, one.note.trim_end_matches('.'));
    }
    page
}

fn read(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked { pairs: PAIRS, store: false, binaries: None, only: Vec::new() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--store" => asked.store = true,
            "--pairs" => asked.pairs = rest.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?,
            "--binaries" => {
                let (base, head) = rest.next().and_then(|both| both.split_once(',')).ok_or(USAGE)?;
                asked.binaries = Some([base, head].map(PathBuf::from));
            }
            "--only" => asked.only.extend(rest.next().ok_or(USAGE)?.split(',').map(str::to_owned)),
            other => return Err(format!("{other:?}: {USAGE}")),
        }
    }
    let known = |name: &String| name == "instructions" || LOADS.iter().any(|load| load.name == name);
    if let Some(unknown) = asked.only.iter().find(|name| !known(name)) {
        return Err(format!("{unknown:?}: {USAGE}"));
    }
    let pairs = if asked.binaries.is_some() { BUILD_PAIRS_MIN } else { PAIRS };
    if asked.store && (asked.pairs < pairs || !asked.only.is_empty()) {
        return Err(format!(
            "a result that is kept is of everything, {pairs} pairs or more: leave --only out"
        ));
    }
    Ok(asked)
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
        let read = |words: &str| read(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let only = vec!["closed".to_owned(), "tls".to_owned()];
        let asked = Asked { pairs: 4, store: false, binaries: None, only };
        assert_eq!(read("--pairs 4 --only closed,tls").unwrap(), asked);
        assert_eq!(read("--binaries a,b").unwrap().binaries, Some(["a", "b"].map(PathBuf::from)));
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
