//! How long it takes to decide a known difference: `cargo xtask decide [--store]`.
//!
//! Two servers whose difference is known to the request: `prony target` with a capacity each. They are measured until the
//! ratio is known well enough, five times with another seed; what that takes is set against the habit of thirty
//! seconds five times of each, of which the best is kept. Beside it a server against itself, whose noise is this machine's.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::today::date;

/// Seconds of "30 s, best of five" of each of two.
const HABIT_S: f64 = 2.0 * 5.0 * 30.0;
const RUNS: u64 = 5;

/// Two candidates and how they are measured.
struct Question {
    title: &'static str,
    /// What the target's capacities are, in requests per second; `None`: node-http against itself.
    rates: Option<[u32; 2]>,
    seeds: u64,
    flags: &'static [&'static str],
}

const QUESTIONS: [Question; 3] = [
    Question {
        title: "3 % less: a capacity of 10,000/s and one of 9,700/s",
        rates: Some([10_000, 9_700]),
        seeds: RUNS,
        flags: &["-c", "50", "-d", "1s", "--warmup", "200ms", "--precision", "1%", "--blocks", "24"],
    },
    Question {
        title: "5 % less: a capacity of 10,000/s and one of 9,500/s",
        rates: Some([10_000, 9_500]),
        seeds: 1,
        flags: &["-c", "50", "-d", "2s", "--blocks", "6"],
    },
    Question {
        title: "A/A: node-http and itself",
        rates: None,
        seeds: 1,
        flags: &["-c", "50", "-d", "3s", "--blocks", "8"],
    },
];

/// What one run found.
struct Decided {
    seed: u64,
    /// Windows and warm-ups of all trials.
    seconds: f64,
    finding: String,
    ratio: [f64; 3],
    /// Half the width of what equals would show.
    noise: f64,
    trials: Value,
}

/// Asks every question and prints the page; asserts nothing, as it measures.
///
/// # Errors
/// When a run fails or says something that is not understood.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let store = match arguments {
        [] => false,
        [one] if one == "--store" => true,
        _ => return Err("usage: cargo xtask decide [--store]".to_owned()),
    };
    let (mut page, mut raw, mut host) = (String::new(), Vec::new(), Value::Null);
    for question in &QUESTIONS {
        let mut decided = Vec::new();
        for seed in 1..=question.seeds {
            let (one, on) = ask(root, question, seed)?;
            host = on;
            decided.push(one);
        }
        describe(&mut page, question, &decided);
        raw.push(json!({ "question": question.title, "flags": question.flags, "runs": decided.iter().map(Decided::raw).collect::<Vec<_>>() }));
    }
    let word = |name: &str| host[name].as_str().unwrap_or("?").to_owned();
    let head = format!(
        "# Deciding a known difference, {}\n\n{}, {} CPUs, {}, {}. `cargo xtask decide --store`; each trial's figures are in the JSON \
         beside this page.\n",
        date(),
        word("cpu_model"),
        host["cpus_online"],
        word("kernel"),
        word("os"),
    );
    let page = head + &page;
    println!("{page}");
    if store {
        let path = root.join(format!("docs/benchmarks/decide-{}", date()));
        let text = serde_json::to_string_pretty(&json!({ "host": host, "questions": raw }))
            .map_err(|e| e.to_string())?;
        fs::write(path.with_extension("json"), text + "\n").map_err(|e| e.to_string())?;
        fs::write(path.with_extension("md"), page).map_err(|e| e.to_string())?;
    }
    Ok(())
}

impl Decided {
    fn raw(&self) -> Value {
        json!({ "seed": self.seed, "seconds": self.seconds, "finding": self.finding, "ratio": self.ratio, "requests_per_s": self.trials })
    }
}

fn ask(root: &Path, question: &Question, seed: u64) -> Result<(Decided, Value), String> {
    let folder = root.join("target/decide");
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let log = folder.join("run.jsonl");
    // Of an earlier question.
    let _ = fs::remove_file(&log);
    let prony = root.join("target/release/prony");
    let command = |side: usize| match question.rates {
        Some(rates) => format!("'{}' target --port {{port}} --capacity {}/s", prony.display(), rates[side]),
        None => format!(
            "node '{}' 127.0.0.1 {{port}} single 1",
            root.join("servers/node-http/server.js").display()
        ),
    };
    let mut bench = Command::new(&prony);
    bench.arg("bench").args(question.flags).args(["--seed", &seed.to_string(), "-q", "-o"]).arg(&log);
    for (side, name) in ["base", "head"].into_iter().enumerate() {
        bench.args(["--candidate", &format!("{name}={}", command(side))]);
    }
    said(&mut bench)?;
    let compare =
        said(Command::new(&prony).arg("compare").arg(&log).args(["base", "head", "--format", "json"]))?;
    let compared: Value = serde_json::from_str(&compare).map_err(|e| format!("prony compare: {e}"))?;
    let throughput = &compared[0]["plans"][0]["figures"][0];
    let ratio =
        ["point", "ci_low", "ci_high"].map(|end| throughput["ratio"][end].as_f64().unwrap_or(f64::NAN));
    let text = fs::read_to_string(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    let seconds = |trial: &Value| {
        ["warmup_ns", "duration_ns"].iter().filter_map(|name| trial["window"][*name].as_f64()).sum::<f64>()
            / 1e9
    };
    let figures =
        |line: &&Value| json!([line["candidate"], line["trial"]["throughput"]["requests_per_s"]["point"]]);
    let decided = Decided {
        seed,
        seconds: results.iter().map(|line| seconds(&line["trial"])).sum(),
        finding: throughput["finding"].as_str().unwrap_or("none").to_owned(),
        ratio,
        noise: throughput["noise"]["half_width"].as_f64().unwrap_or(f64::NAN),
        trials: results.iter().map(figures).collect(),
    };
    let host = lines.first().map_or(Value::Null, |header| header["host"].clone());
    Ok((decided, host))
}

fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}; make build"))?;
    if !output.status.success() {
        return Err(format!(
            "{command:?} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn describe(page: &mut String, question: &Question, decided: &[Decided]) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "\n## {}\n\n`prony bench … {}`\n", question.title, question.flags.join(" "));
    page.push_str("| seed | throughput of head | 95 % | A/A | found | measured | of 300 s |\n|---|---:|---|---:|---|---:|---:|\n");
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    for one in decided {
        let [point, low, high] = one.ratio.map(percent);
        let _ = writeln!(
            page,
            "| {} | {point:+.2} % | {low:+.2} to {high:+.2} % | ±{:.2} % | {} | {:.0} s | 1/{:.0} |",
            one.seed,
            one.noise * 100.0,
            one.finding,
            one.seconds,
            HABIT_S / one.seconds,
        );
    }
}
