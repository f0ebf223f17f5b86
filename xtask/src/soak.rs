//! A soak: `prony load` for minutes in several modes at once, and whether its memory grows. Resident memory is read
//! every second; after the first minute it must not grow, by the Theil–Sen slope over means of a few seconds each.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use prony_stats::Interval;
use prony_stats::trend::{POINTS_MAX, theil_sen};

use crate::files;
use crate::page::{date, host, or_none, table, verbatim};
use crate::programs::{Running, line, target};

/// What comes before is warm-up: buffers grow to what they will be.
const SETTLED_AFTER_S: usize = 60;
/// A slope that is surely beyond this is growth.
const GROWTH_MAX_KIB_PER_MIN: f64 = 8.0;
const CONFIDENCE: f64 = 0.95;
/// Loads end by themselves; one that has not by then hangs.
const GRACE: Duration = Duration::from_secs(30);

struct Mode {
    name: &'static str,
    target: &'static [&'static str],
    load: &'static [&'static str],
}

const MODES: [Mode; 3] = [
    Mode { name: "closed, kept connections", target: &[], load: &["-c", "100"] },
    Mode { name: "a connection per request", target: &[], load: &["-c", "20", "--no-keepalive"] },
    Mode {
        name: "open, with timeouts in every stall",
        target: &["--stall", "200ms/2s"],
        load: &["-c", "50", "-R", "2000", "--timeout", "50ms"],
    },
];

struct Soaked {
    name: &'static str,
    line: String,
    completed: u64,
    failed: u64,
    rss_kib: Vec<u64>,
    slope: Option<Interval>,
    host: String,
}

#[derive(Parser)]
pub(crate) struct Asked {
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=24 * 60))]
    minutes: u64,
    /// Keep the results in docs/benchmarks/
    #[arg(long)]
    store: bool,
}

pub(crate) fn run(root: &Path, &Asked { minutes, store }: &Asked) -> Result<(), String> {
    println!("soak: {} modes at once, {minutes} min", MODES.len());
    let prony = if store { crate::own_prony(root) } else { crate::prony(root) };
    let soaked = soak(&prony?, &root.join("target"), minutes)?;
    let page = page(&soaked, minutes);
    println!("{page}");
    if store {
        crate::page::store(root, &format!("soak-{}", date()), &page, None)?;
    }
    let wrong: Vec<String> = soaked.iter().filter_map(complaint).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn soak(binary: &Path, folder: &Path, minutes: u64) -> Result<Vec<Soaked>, String> {
    // Loads are dropped, and so ended, before their targets.
    let mut targets = Vec::new();
    let mut loads = Vec::new();
    for (number, mode) in MODES.iter().enumerate() {
        let (target, url) = target(binary, mode.target)?;
        targets.push(target);
        let json = folder.join(format!("soak-{number}.json"));
        // Of an earlier soak.
        let _ = fs::remove_file(&json);
        let mut command = Command::new(binary);
        command.args(["load", &url, "-d", &format!("{minutes}m"), "-q", "--json"]).arg(&json).args(mode.load);
        let shown = line(&command).replace(&json.display().to_string(), "FILE");
        let shown = shown.replace(&binary.display().to_string(), "prony");
        let load = Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
        loads.push((load, mode, shown, json, Vec::new()));
    }
    let begun = Instant::now();
    let end = Duration::from_secs(minutes * 60) + GRACE;
    for second in 1.. {
        thread::sleep((begun + Duration::from_secs(second)).saturating_duration_since(Instant::now()));
        let mut alive = 0;
        for (child, .., samples) in &mut loads {
            if let (Ok(None), Some(kib)) = (child.0.try_wait(), rss_kib(child.pid())) {
                samples.push(kib);
                alive += 1;
            }
        }
        if alive == 0 {
            break;
        }
        if begun.elapsed() > end {
            return Err(format!("{alive} loads did not end within {} s of their time", GRACE.as_secs()));
        }
    }
    let ended = loads.into_iter().map(|(mut child, mode, line, json, rss_kib)| {
        let status = child.0.wait().map_err(|e| e.to_string())?;
        let result = files::read(&json).map_err(|why| format!("{line} ended with {status}: {why}"))?;
        let result: serde_json::Value = serde_json::from_str(&result).map_err(|e| e.to_string())?;
        let count = |name: &str| result["requests"][name].as_u64().unwrap_or(0);
        let (completed, failed) = (count("completed"), count("failed"));
        let slope = slope(&rss_kib);
        Ok(Soaked { name: mode.name, line, completed, failed, rss_kib, slope, host: host(&result["host"]) })
    });
    ended.collect()
}

fn rss_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    prony_host::memory_field(&status, "VmRSS").map(|bytes| bytes / 1024)
}

/// KiB per minute once settled (in a short soak: after its first half), over means of equal spans.
fn slope(rss_kib: &[u64]) -> Option<Interval> {
    let settled = rss_kib.get(SETTLED_AFTER_S.min(rss_kib.len() / 2)..)?;
    let span = settled.len().div_ceil(POINTS_MAX).max(1);
    let points: Vec<(f64, f64)> = settled
        .chunks_exact(span)
        .enumerate()
        .map(|(i, chunk)| ((i * span) as f64 / 60.0, chunk.iter().sum::<u64>() as f64 / span as f64))
        .collect();
    theil_sen(&points, CONFIDENCE)
}

fn complaint(soaked: &Soaked) -> Option<String> {
    let name = soaked.name;
    if soaked.completed == 0 {
        return Some(format!("{name}: nothing was completed"));
    }
    let Some(slope) = &soaked.slope else {
        return Some(format!("{name}: too few samples for a slope"));
    };
    let grows = slope.low > GROWTH_MAX_KIB_PER_MIN;
    grows.then(|| format!("{name}: memory grows by {:.0} KiB per minute", slope.point))
}

fn page(soaked: &[Soaked], minutes: u64) -> String {
    let head = format!(
        "# Soak: {minutes} minutes\n\n{}. {}. All modes at once on loopback, each against a `prony target` of its own; resident\n\
         memory (VmRSS) every second. The slope is Theil–Sen's over the time after the first minute, with its 95 %\n\
         interval; growth is an interval wholly beyond {GROWTH_MAX_KIB_PER_MIN} KiB/min.\n\n",
        date(),
        soaked.first().map_or("?", |one| &one.host)
    );
    let rows = soaked.iter().map(|one| {
        let settled = one.rss_kib.get(SETTLED_AFTER_S.min(one.rss_kib.len() / 2));
        let kib = |of: Option<&u64>| format!("{} KiB", of.copied().unwrap_or(0));
        let slope =
            or_none(one.slope.as_ref(), |s| format!("{:.1} ({:.1} to {:.1})", s.point, s.low, s.high));
        let verdict = if complaint(one).is_none() { "steady" } else { "**grows**" };
        let memory = [settled, one.rss_kib.last(), one.rss_kib.iter().max()].map(kib);
        let counts = [one.name.to_owned(), one.completed.to_string(), one.failed.to_string()];
        [&counts[..], &memory, &[slope, verdict.to_owned()]].concat()
    });
    let heads = "mode | completed | failed | RSS at 1 min | at the end | most | slope, KiB/min |";
    let table = table(heads, "---|---|---|---|---|---|---|---", rows);
    let lines: Vec<&str> = soaked.iter().map(|one| one.line.as_str()).collect();
    let series = |one: &Soaked| {
        let series: Vec<String> = one.rss_kib.iter().step_by(10).map(u64::to_string).collect();
        format!("{}: {}", one.name, series.join(" "))
    };
    let series: Vec<String> = soaked.iter().map(series).collect();
    let (lines, series) = (verbatim(&lines), verbatim(&series));
    format!("{head}{table}\n{lines}\nResident memory each 10 s, KiB:\n\n{series}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soaked(rss_kib: Vec<u64>) -> Soaked {
        let slope = slope(&rss_kib);
        Soaked {
            name: "a mode",
            line: "prony load".to_owned(),
            completed: 1,
            failed: 0,
            rss_kib,
            slope,
            host: "a machine".to_owned(),
        }
    }

    #[test]
    fn growth_is_found_and_steadiness_is_not() {
        // 10 minutes: 8 MiB in the first, then up and down by 40 KiB.
        let steady: Vec<u64> = (0..600).map(|s| 8192.min(s * 200) + s % 11 * 4).collect();
        assert_eq!(complaint(&soaked(steady.clone())), None);
        // And 100 KiB a minute on top of it.
        let grows: Vec<u64> = steady.iter().zip(0..).map(|(kib, s)| kib + s * 100 / 60).collect();
        assert!(complaint(&soaked(grows)).is_some_and(|why| why.contains("100 KiB")));
        // A single step is no slope.
        let step: Vec<u64> =
            steady.iter().zip(0..).map(|(kib, s)| kib + if s > 400 { 64 } else { 0 }).collect();
        assert!(
            soaked(step.clone()).slope.is_some_and(|s| s.low < GROWTH_MAX_KIB_PER_MIN),
            "{:?}",
            soaked(step).slope
        );
        assert!(complaint(&soaked(vec![1, 2])).is_some_and(|why| why.contains("too few")));
    }

    #[test]
    fn the_line_is_read() {
        let read = |line: &str| {
            Asked::try_parse_from(["soak"].into_iter().chain(line.split_whitespace()))
                .map(|asked| (asked.minutes, asked.store))
        };
        assert_eq!((read("").unwrap(), read("--store --minutes 1").unwrap()), ((10, false), (1, true)));
        for wrong in ["--minutes", "--minutes 0", "--minute 5"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_pages_table_has_a_row_each() {
        let page = page(&[soaked(vec![100; 120])], 2);
        assert!(
            page.contains("| a mode | 1 | 0 | 100 KiB | 100 KiB | 100 KiB | 0.0 (0.0 to 0.0) | steady |"),
            "{page}"
        );
    }
}
