//! What a watched live page costs the engine: `cargo xtask web --cost [--pairs N] [--prony PATH]`. Loads with and
//! without `--web` alternate on one CPU; a listener takes the events as a browser does. Compared are neighbours, by CPU
//! time over requests, which other work moves less than throughput.

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
use crate::{built, own_prony};

const PAIRS: usize = 100;
const SECONDS: u32 = 2;
/// What a page is told, at least; without it there was nothing to cost anything.
const EVENTS_PER_S: u32 = 4;

/// CPU nanoseconds over requests: of the workers, and of the process beside them.
pub(crate) struct Cost {
    pub(crate) workers: f64,
    pub(crate) beside: f64,
}

impl Cost {
    pub(crate) fn of(text: &str) -> Result<Cost, String> {
        let trial: Value = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
        let number = |path: &str| trial.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let requests = number("/requests/completed") + number("/requests/failed");
        let workers = number("/client/cpu_ns");
        Ok(Cost {
            workers: workers / requests,
            beside: (number("/client/process_cpu_ns") - workers) / requests,
        })
    }
}

/// What the costs of both views take.
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

impl Asked {
    /// Pairs of loads of a target, plain and with the view, by `one`.
    pub(crate) fn pairs<T>(
        &self,
        root: &Path,
        usual: usize,
        one: impl Fn(&Path, &str, bool) -> Result<T, String>,
    ) -> Result<Vec<[T; 2]>, String> {
        let prony = self.prony.clone().map_or_else(|| own_prony(root), built)?;
        let (_target, url) = target(&prony, &["--threads", "1"])?;
        pairs(self.pairs.unwrap_or(usual), |side| one(&prony, &url, side == 1))
    }
}

pub(crate) fn print(pairs: &[[&Cost; 2]]) -> Result<(), String> {
    for (name, figure) in [
        ("whole process", (|cost| cost.workers + cost.beside) as fn(&Cost) -> f64),
        ("workers only", |cost| cost.workers),
    ] {
        let figures: Vec<[f64; 2]> = pairs.iter().map(|pair| pair.map(figure)).collect();
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
        |[plain, with]: &[&Cost; 2]| (with.beside - plain.beside) / (plain.workers + plain.beside) * 100.0;
    let beside: Vec<f64> = pairs.iter().map(beside).collect();
    let found = mean_interval(&beside, CONFIDENCE).ok_or("an interval needs two pairs or more")?;
    println!(
        "CPU beside the workers: {:+.2} % of the whole, 95 % {:+.2} to {:+.2}",
        found.point, found.low, found.high
    );
    Ok(())
}

/// Measures and prints; asserts nothing, as a shared machine moves it by more than what it is.
pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let measured = asked.pairs(root, PAIRS, one)?;
    println!("{} pairs of loads of {SECONDS} s on one CPU, watched and not", measured.len());
    print(&measured.iter().map(<[Cost; 2]>::each_ref).collect::<Vec<_>>())
}

fn one(prony: &Path, url: &str, watched: bool) -> Result<Cost, String> {
    let mut command = Command::new(prony);
    let duration = format!("{SECONDS}s");
    command.args(["load", url, "-c", "20", "-d", &duration, "--warmup", "500ms", "--pin", "0"]);
    command.args(["-q", "--json", "-"]);
    if watched {
        command.arg("--web");
    }
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    let listener = if watched { Some(listen(&mut child)?) } else { None };
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text).map_err(|e| e.to_string())?;
    }
    child.wait().map_err(|e| e.to_string())?;
    if let Some(listener) = listener {
        let events = listener.join().map_err(|_| "the listener ended early".to_owned())?;
        if events < (EVENTS_PER_S * SECONDS) as usize {
            return Err(format!("only {events} events came in {SECONDS} s"));
        }
    }
    Cost::of(&text)
}

/// Follows the live page's events and takes the report, as a browser does; how many events came.
fn listen(child: &mut Child) -> Result<thread::JoinHandle<usize>, String> {
    let stderr = child.stderr.take().ok_or("no stderr")?;
    let mut said = BufReader::new(stderr);
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
