//! What a watched live page, or the terminal's view, costs the engine: `cargo xtask web --cost` and
//! `cargo xtask tui --cost [--pairs N] [--prony PATH]`. Loads with and without it alternate on one CPU; the page's listener
//! takes the events as a browser does, the view is on a pseudo terminal of script(1). Compared are neighbours, by CPU time
//! over requests, which other work moves less than throughput.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use clap::Parser;
use prony_stats::CONFIDENCE;
use prony_stats::interval::mean_interval;
use serde_json::Value;

use crate::median::{Estimate, pairs, ratio};
use crate::programs::{self, target};
use crate::{built, files, own_prony};

const SECONDS: u32 = 2;
/// What a page is told, at least; without it there was nothing to cost anything.
const EVENTS_PER_S: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Page,
    Terminal,
}

/// CPU nanoseconds over requests, of the workers and of the process beside them; and what was written to the terminal.
struct Cost {
    workers: f64,
    beside: f64,
    bytes: usize,
}

#[derive(Parser)]
pub(crate) struct Asked {
    /// Measure what it costs
    #[arg(long)]
    pub(crate) cost: bool,
    #[arg(long, requires = "cost")]
    pairs: Option<usize>,
    /// Another build's binary
    #[arg(long, requires = "cost")]
    prony: Option<PathBuf>,
}

/// Asserts nothing but that the view was there: a shared machine moves the rest by more than what it is.
pub(crate) fn run(root: &Path, asked: &Asked, view: View) -> Result<(), String> {
    let (usual, page) = if view == View::Page { (100, true) } else { (24, false) };
    let prony = asked.prony.clone().map_or_else(|| own_prony(root), built)?;
    let (_target, url) = target(&prony, &["--threads", "1"])?;
    let measured = pairs(asked.pairs.unwrap_or(usual), |side| match page {
        true => watched(&prony, &url, side == 1),
        false => drawn(&prony, &url, side == 1),
    })?;
    println!("{} pairs of loads of {SECONDS} s on one CPU, with the view and without it", measured.len());
    print(&measured)?;
    if view == View::Terminal {
        let bytes = measured.iter().map(|[_, with]| with.bytes).sum::<usize>() / measured.len().max(1);
        println!("{bytes} bytes a load to the terminal");
    }
    Ok(())
}

fn print(pairs: &[[Cost; 2]]) -> Result<(), String> {
    for (name, figure) in [
        ("whole process", (|cost| cost.workers + cost.beside) as fn(&Cost) -> f64),
        ("workers only", |cost| cost.workers),
    ] {
        let figures: Vec<[f64; 2]> = pairs.iter().map(|pair| pair.each_ref().map(figure)).collect();
        let found = ratio(figures.iter().copied())?;
        println!(
            "CPU per request, {name}: ratio {:.4}, 95 % {:.4} to {:.4}",
            found.point, found.low, found.high
        );
        // A pair whose one half another of the machine's guests disturbed moves a mean, and hardly a median.
        let ratios = figures.iter().map(|[plain, with]| with / plain).collect();
        if let Some(Estimate { median, interval: Some((low, high)), .. }) = Estimate::of(ratios) {
            println!("  median of the ratios {median:.4}, 95 % {low:.4} to {high:.4}");
        }
    }
    // What other threads take is told better by what is not the workers'.
    let beside =
        |[plain, with]: &[Cost; 2]| (with.beside - plain.beside) / (plain.workers + plain.beside) * 100.0;
    let beside: Vec<f64> = pairs.iter().map(beside).collect();
    let found = mean_interval(&beside, CONFIDENCE).ok_or("an interval needs two pairs or more")?;
    println!(
        "CPU beside the workers: {:+.2} % of the whole, 95 % {:+.2} to {:+.2}",
        found.point, found.low, found.high
    );
    Ok(())
}

fn line(url: &str, warmup: &str) -> String {
    format!("load {url} -c 20 -d {SECONDS}s --warmup {warmup} --pin 0 --json")
}

fn cost(text: &str, bytes: usize) -> Result<Cost, String> {
    let trial: Value = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
    let number = |path: &str| trial.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let requests = number("/requests/completed") + number("/requests/failed");
    let workers = number("/client/cpu_ns");
    let beside = (number("/client/process_cpu_ns") - workers) / requests;
    Ok(Cost { workers: workers / requests, beside, bytes })
}

fn drawn(prony: &Path, url: &str, view: bool) -> Result<Cost, String> {
    let folder = std::env::temp_dir();
    let at = |what: &str| folder.join(format!("prony-tui-cost-{}.{what}", std::process::id()));
    let (result, terminal) = (at("json"), at("terminal"));
    let (line, quiet) = (line(url, "300ms"), if view { "" } else { "-q" });
    let line =
        format!("stty rows 40 cols 120; exec '{}' {line} '{}' {quiet}", prony.display(), result.display());
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line]).arg(&terminal).env("TERM", "xterm-256color");
    programs::text(&mut script)?;
    let (text, written) = (files::read(&result)?, fs::read(&terminal).map_err(files::at(&terminal))?);
    [result, terminal].iter().for_each(|path| drop(fs::remove_file(path)));
    if written.windows(8).any(|bytes| bytes == b"\x1b[?1049h") != view {
        return Err("the view was not there where it should be, or there where it should not".to_owned());
    }
    cost(&text, written.len())
}

fn watched(prony: &Path, url: &str, view: bool) -> Result<Cost, String> {
    let mut command = Command::new(prony);
    command.args(line(url, "500ms").split(' ')).args(["-", "-q"]).args(view.then_some("--web"));
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    let listener = if view { Some(listen(&mut child)?) } else { None };
    let out = child.wait_with_output().map_err(|e| e.to_string())?.stdout;
    if let Some(listener) = listener {
        let events = listener.join().map_err(|_| "the listener ended early".to_owned())?;
        if events < (EVENTS_PER_S * SECONDS) as usize {
            return Err(format!("only {events} events came in {SECONDS} s"));
        }
    }
    cost(&programs::trimmed(&out), 0)
}

/// Follows the live page's events and takes the report, as a browser does; how many events came.
fn listen(child: &mut Child) -> Result<thread::JoinHandle<usize>, String> {
    let mut said = BufReader::new(child.stderr.take().ok_or("no stderr")?);
    let mut line = String::new();
    said.read_line(&mut line).map_err(|e| e.to_string())?;
    let address = line.split("http://").nth(1).map(|rest| rest.trim().trim_end_matches('/').to_owned());
    let address = address.ok_or(format!("no live page: {line}"))?;
    Ok(thread::spawn(move || {
        // Whatever it says later must not fill the pipe.
        thread::spawn(move || said.read_to_end(&mut Vec::new()));
        let get = |path: &str| {
            programs::text(Command::new("curl").args(["--silent", &format!("{address}{path}")]))
                .unwrap_or_default()
        };
        let events = get("/events").lines().filter(|line| line.starts_with("data:")).count();
        get("/report");
        events
    }))
}
