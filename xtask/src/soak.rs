//! A soak: `prony load` for minutes in several modes, and whether its memory grows.
//!
//! The modes run at once, each against a `prony target` of its own on loopback,
//! since it is memory and not speed that is looked at. Every second the
//! resident memory of each load is read; after the first minute it is expected
//! not to grow: the Theil–Sen slope, with its interval, over means of a few
//! seconds each.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prony_stats::Interval;
use prony_stats::trend::{POINTS_MAX, theil_sen};

use crate::today::date;

/// How long a soak takes where nobody says.
const MINUTES: u64 = 10;
/// What comes before is warm-up: buffers grow to what they will be.
const SETTLED_AFTER_S: usize = 60;
/// A slope that is surely beyond this is growth.
const GROWTH_MAX_KIB_PER_MIN: f64 = 8.0;
const CONFIDENCE: f64 = 0.95;
/// Loads end by themselves; one that has not by then hangs.
const GRACE: Duration = Duration::from_secs(30);

/// A load and its target.
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

/// A process that ends with this value.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already, or ours to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a mode's load did, and its memory each second.
struct Soaked {
    name: &'static str,
    line: String,
    completed: u64,
    failed: u64,
    rss_kib: Vec<u64>,
    slope: Option<Interval>,
    /// The machine, in a line.
    host: String,
}

/// `cargo xtask soak [--minutes N] [--store]`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let (minutes, store) = read(arguments)?;
    let binary = root.join("target/release/prony");
    if !binary.exists() {
        return Err("target/release/prony is not built: make build".to_owned());
    }
    println!("soak: {} modes at once, {minutes} min", MODES.len());
    let soaked = soak(&binary, &root.join("target"), minutes)?;
    let page = page(&soaked, minutes);
    println!("{page}");
    if store {
        crate::stored::write(root, &format!("soak-{}", date()), &[("md", &page)])?;
    }
    let wrong: Vec<String> = soaked.iter().filter_map(complaint).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn read(arguments: &[String]) -> Result<(u64, bool), String> {
    let (mut minutes, mut store) = (MINUTES, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--minutes" => {
                let number = rest.next().and_then(|n| n.parse().ok());
                minutes = number.filter(|n| (1..=24 * 60).contains(n)).ok_or("--minutes wants 1 to 1440")?;
            }
            "--store" => store = true,
            other => return Err(format!("{other:?}: usage: cargo xtask soak [--minutes N] [--store]")),
        }
    }
    Ok((minutes, store))
}

fn soak(binary: &Path, folder: &Path, minutes: u64) -> Result<Vec<Soaked>, String> {
    // Loads are dropped, and so ended, before their targets.
    let mut targets = Vec::new();
    let mut loads = Vec::new();
    for (number, mode) in MODES.iter().enumerate() {
        let (target, url) = start_target(binary, mode.target)?;
        targets.push(target);
        let json = folder.join(format!("soak-{number}.json"));
        // Of an earlier soak.
        let _ = fs::remove_file(&json);
        let mut command = Command::new(binary);
        command.args(["load", &url, "-d", &format!("{minutes}m"), "-q", "--json"]).arg(&json).args(mode.load);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|e| format!("{}: {e}", binary.display()))?;
        let shown: Vec<String> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        let line = format!("prony {}", shown.join(" ").replace(&json.display().to_string(), "FILE"));
        loads.push((Running(child), mode, line, json, Vec::new()));
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
        let result = fs::read_to_string(&json).map_err(|e| format!("{line} ended with {status}: {e}"))?;
        let result: serde_json::Value = serde_json::from_str(&result).map_err(|e| e.to_string())?;
        let count = |name: &str| result["requests"][name].as_u64().unwrap_or(0);
        let (completed, failed) = (count("completed"), count("failed"));
        let slope = slope(&rss_kib);
        Ok(Soaked { name: mode.name, line, completed, failed, rss_kib, slope, host: host(&result["host"]) })
    });
    ended.collect()
}

/// The machine as a load recorded it.
pub(crate) fn host(recorded: &serde_json::Value) -> String {
    let word = |name: &str| recorded[name].as_str().unwrap_or("?").to_owned();
    let cpus = recorded["cpus_online"].as_u64().unwrap_or(0);
    format!("{}, {cpus} CPUs, {}, {}", word("cpu_model"), word("kernel"), word("os"))
}

/// A target on a free port, and its URL from the line that it says first.
pub(crate) fn start_target(binary: &Path, flags: &[&str]) -> Result<(Running, String), String> {
    let mut command = Command::new(binary);
    command.args(["target", "--port", "0", "--until-stdin-ends"]).args(flags);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut target = Running(child.map_err(|e| format!("{}: {e}", binary.display()))?);
    let stdout = target.0.stdout.take().ok_or("the target has no standard output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).map_err(|e| e.to_string())?;
    let url = line.split_whitespace().find(|word| word.starts_with("http://"));
    let url = url.ok_or_else(|| format!("the target said {line:?} and no URL"))?;
    Ok((target, url.trim_end_matches([',', ';', '.']).to_owned()))
}

/// A process's resident memory.
fn rss_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// KiB per minute once settled (in a short soak: after its first half), over means of equal spans.
fn slope(rss_kib: &[u64]) -> Option<Interval> {
    let settled = rss_kib.get(SETTLED_AFTER_S.min(rss_kib.len() / 2)..)?;
    let span = settled.len().div_ceil(POINTS_MAX).max(1);
    #[expect(clippy::cast_precision_loss, reason = "kibibytes and seconds, far below 2^52")]
    let points: Vec<(f64, f64)> = settled
        .chunks_exact(span)
        .enumerate()
        .map(|(i, chunk)| ((i * span) as f64 / 60.0, chunk.iter().sum::<u64>() as f64 / span as f64))
        .collect();
    theil_sen(&points, CONFIDENCE)
}

/// What is wrong with a soaked load, if anything.
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
    let mut page = format!(
        "# Soak: {minutes} minutes\n\n{}. {}. All modes at once on loopback, each against a `prony target` of its own; resident\n\
         memory (VmRSS) every second. The slope is Theil–Sen's over the time after the first minute, with its 95 %\n\
         interval; growth is an interval wholly beyond {GROWTH_MAX_KIB_PER_MIN} KiB/min.\n\n\
         | mode | completed | failed | RSS at 1 min | at the end | most | slope, KiB/min | |\n|---|---|---|---|---|---|---|---|\n",
        date(),
        soaked.first().map_or("?", |one| &one.host)
    );
    for one in soaked {
        let settled = one.rss_kib.get(SETTLED_AFTER_S.min(one.rss_kib.len() / 2)).copied().unwrap_or(0);
        let (last, most) = (one.rss_kib.last().copied().unwrap_or(0), one.rss_kib.iter().max().copied());
        let slope = one
            .slope
            .as_ref()
            .map_or("–".to_owned(), |s| format!("{:.1} ({:.1} to {:.1})", s.point, s.low, s.high));
        let verdict = if complaint(one).is_none() { "steady" } else { "**grows**" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {} | {settled} KiB | {last} KiB | {} KiB | {slope} | {verdict} |",
            one.name,
            one.completed,
            one.failed,
            most.unwrap_or(0)
        );
    }
    page.push_str("\n```text\n");
    for one in soaked {
        page.push_str(&format!("{}\n", one.line));
    }
    page.push_str("```\n\nResident memory each 10 s, KiB:\n\n```text\n");
    for one in soaked {
        let series: Vec<String> = one.rss_kib.iter().step_by(10).map(u64::to_string).collect();
        page.push_str(&format!("{}: {}\n", one.name, series.join(" ")));
    }
    page.push_str("```\n");
    page
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
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(read(&[]), Ok((10, false)));
        assert_eq!(read(&words("--store --minutes 1")), Ok((1, true)));
        for wrong in ["--minutes", "--minutes 0", "--minute 5"] {
            assert!(read(&words(wrong)).is_err(), "{wrong}");
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
