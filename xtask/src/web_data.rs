//! What the web page's checks look at beside plain runs: a source to compare with, searches for a capacity
//! and a folder of runs with a change in it, all of known truth.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::web::Web;

/// A source that printed figures of the three candidates: the first conclusion holds and the second fails by
/// factors that no noise bridges; the third is about somebody who did not run.
pub(crate) const PUBLISHED: &str = "schema = \"prony.published/1\"\nsource = \"Three servers, as somebody else saw them, 2020\"\n\
    method = \"by hand, one run each\"\n\
    [[row]]\nname = \"one\"\ncandidate = \"first\"\nconnections = 4\nrequests_per_s = 10000\np99_ms = 2\n\
    [[row]]\nname = \"two\"\ncandidate = \"second\"\nconnections = 4\nrequests_per_s = 15000\np99_ms = 1.5\n\
    [[row]]\nname = \"three\"\ncandidate = \"third\"\nconnections = 4\nrequests_per_s = 9000\ndoubt = \"its own samples differ by half\"\n\
    [[row]]\nname = \"four\"\ncandidate = \"fourth\"\nconnections = 4\nrequests_per_s = 100\n\
    [[conclusion]]\ntext = \"The second is in the first's class\"\nclaim = \"throughput(second) > 0.0001 * throughput(first)\"\nat = { connections = [4, 16] }\n\
    [[conclusion]]\ntext = \"The second carries five thousand times what the first does\"\nclaim = \"throughput(second) > 5000 * throughput(first)\"\nat = { connections = 4 }\n\
    [[conclusion]]\ntext = \"The fourth is the slowest of all\"\nclaim = \"throughput(fourth) < throughput(first)\"\n";

/// The capacity of the slower of two, requests per second; the other has twice as much.
const SLOW_PER_S: u32 = 1_500;
/// Runs of the history.
const RUNS: u64 = 12;
/// The first run in which the second candidate carries a fifth less.
const WORSE_FROM: u64 = 7;

/// Two servers of known capacity: searches with two numbers of connections, shares of what is found, and a
/// ramp. A second block is made of the first, with each capacity 2 % higher.
pub(crate) fn knees(web: &Web) -> Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    for (name, capacity) in [("slow", SLOW_PER_S), ("quick", 2 * SLOW_PER_S)] {
        let folder = web.folder.join("servers").join(name);
        fs::create_dir_all(&folder).map_err(text)?;
        let recipe = format!(
            "schema = \"prony.server/1\"\ntitle = \"{name}\"\nlanguage = \"Rust\"\nkind = \"runtime\"\nroutes = [\"text\"]\n\
             processes = \"single\"\nkeepalive = true\n[start]\ncommand = [\"{}\", \"target\", \"--port\", \"{{port}}\", \
             \"--capacity\", \"{capacity}/s\"]\n[[check]]\nrequest = \"GET /\"\nstatus = 200\n",
            web.prony.display()
        );
        fs::write(folder.join("server.toml"), recipe).map_err(text)?;
    }
    let experiment = "schema = \"prony.experiment/1\"\ntitle = \"Where two break\"\n\
        candidates = [\"slow\", \"quick\"]\nbaseline = \"slow\"\nroute = \"text\"\nserver_cores = 1\n\
        blocks = 1\nseed = 3\n[load]\nduration = \"1s\"\nwarmup = \"200ms\"\n\
        [[plan]]\nname = \"knee\"\nconnections = [8, 20]\ncapacity = \"p50<50ms\"\nduration = \"200ms\"\n\
        [[plan]]\nname = \"stress\"\nconnections = 20\nrate = [\"50%\", \"90%\", \"120%\"]\nof = \"slow knee\"\n\
        [[plan]]\nname = \"ramp\"\nstages = [\"2s:30c\", \"1s:5c\"]\n";
    fs::write(web.folder.join("knees.toml"), experiment).map_err(text)?;
    let _ = fs::remove_file(web.folder.join("knees-once.jsonl")); // from an earlier run of this task
    web.prony(&["bench", "knees.toml", "--servers", "servers", "-q", "-o", "knees-once.jsonl"])?;
    twice(&web.folder)
}

/// Two that answer after 2 and after 20 ms, at once and at one rate: the second is slower, and carries as much.
pub(crate) fn duet(web: &Web) -> Result<(), String> {
    let _ = fs::remove_file(web.folder.join("duet.jsonl")); // from an earlier run of this task
    let candidate =
        |name: &str, ms: u32| format!("{name}={} target --port {{port}} --delay {ms}ms", web.prony.display());
    web.prony(&[
        "bench",
        "--duet",
        "--candidate",
        &candidate("base", 2),
        "--candidate",
        &candidate("head", 20),
        "-R",
        "500",
        "-c",
        "32",
        "-d",
        "3s",
        "--warmup",
        "200ms",
        "--blocks",
        "3",
        "-q",
        "-o",
        "duet.jsonl",
    ])
}

fn lines(path: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn write_lines(path: &Path, lines: &[Value]) -> Result<(), String> {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{line}"); // a String takes all
    }
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn twice(folder: &Path) -> Result<(), String> {
    let mut all = lines(&folder.join("knees-once.jsonl"))?;
    let header = all.first_mut().ok_or("the knees' run log is empty")?;
    let once = header["order"].as_array().cloned().unwrap_or_default();
    let count = once.len() as u64;
    let again = |line: &Value| {
        let mut line = line.clone();
        line["block"] = json!(1);
        line["index"] = json!(line["index"].as_u64().unwrap_or(0) + count);
        if let Some(found) = line.pointer_mut("/capacity/capacity_per_s") {
            for end in ["point", "ci_low", "ci_high"] {
                found[end] = found[end].as_f64().map_or(Value::Null, |rate| json!(rate * 1.02));
            }
        }
        line
    };
    header["order"] = once.iter().cloned().chain(once.iter().map(again)).collect();
    header["blocks"] = json!(2);
    let more: Vec<Value> = all.iter().filter(|line| line["type"] == "result").map(again).collect();
    all.extend(more);
    write_lines(&folder.join("knees.jsonl"), &all)
}

/// A run a day, all made of the experiment's: from [`WORSE_FROM`] on the second candidate carries a fifth
/// less. Days differ by a thousandth.
pub(crate) fn history(folder: &Path) -> Result<(), String> {
    let all = lines(&folder.join("experiment.jsonl"))?;
    let runs = folder.join("history");
    fs::create_dir_all(&runs).map_err(|e| e.to_string())?;
    for day in 0..RUNS {
        let mut log: Vec<Value> =
            all.iter().filter(|l| l["type"] == "header" || l["type"] == "result").cloned().collect();
        for line in &mut log {
            if line["type"] == "header" {
                line["created_at"] = json!(format!("2026-03-{:02}T10:00:00.000Z", day + 1));
                line["commit"] = json!(format!("{day:08x}{}", "0".repeat(32)));
                continue;
            }
            let worse = line["candidate"] == "second" && day >= WORSE_FROM;
            let factor = (if worse { 0.8 } else { 1.0 }) * (1.0 + (day % 3) as f64 / 1e3);
            let trial = &mut line["trial"];
            trial["verdict"]["validity"] = json!("valid");
            trial["throughput"]["bound"] = json!("exact");
            let rate = trial["throughput"]["requests_per_s"]["point"].as_f64().unwrap_or(1.0);
            trial["throughput"]["requests_per_s"]["point"] = json!(rate * factor);
        }
        write_lines(&runs.join(format!("{day:02}.jsonl")), &log)?;
    }
    Ok(())
}
