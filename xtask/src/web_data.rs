//! Run logs of known content for the web page's checks. Each begins as one that the binary wrote of short loads, so
//! that its header is real; measurements at known throughputs and made-up samples are put into it.

use std::path::Path;

use prony_analysis::testing::{carried, monitor};
use prony_model::observed::Observed;
use serde_json::{Value, json};

use crate::files;

/// The first conclusion holds and the second fails by factors of thousands; the third is of one who did not run.
pub(crate) const PUBLISHED: &str = "schema = \"prony.published/1\"\nsource = \"Three servers, as somebody else saw them, 2020\"\n\
    method = \"by hand, one run each\"\n\
    [[row]]\nname = \"one\"\ncandidate = \"first\"\nconnections = 4\nrequests_per_s = 10000\np99_ms = 2\n\
    [[row]]\nname = \"two\"\ncandidate = \"second\"\nconnections = 4\nrequests_per_s = 15000\np99_ms = 1.5\n\
    [[row]]\nname = \"three\"\ncandidate = \"third\"\nconnections = 4\nrequests_per_s = 9000\ndoubt = \"its own samples differ by half\"\n\
    [[row]]\nname = \"four\"\ncandidate = \"fourth\"\nconnections = 4\nrequests_per_s = 100\n\
    [[conclusion]]\ntext = \"The second is in the first's class\"\nclaim = \"throughput(second) > 0.0001 * throughput(first)\"\nat = { connections = [4, 16] }\n\
    [[conclusion]]\ntext = \"The second carries five thousand times what the first does\"\nclaim = \"throughput(second) > 5000 * throughput(first)\"\nat = { connections = 4 }\n\
    [[conclusion]]\ntext = \"The fourth is the slowest of all\"\nclaim = \"throughput(fourth) < throughput(first)\"\n";

/// The length of a load that [`carried`] makes.
const SECONDS: f64 = 10.0;
/// From so many a second on, that many seconds have 100 samples beyond the p99.
const WITH_P99_PER_S: f64 = 1_200.0;
/// The capacity of the slower of two, requests per second; the other has twice as much.
const SLOW_PER_S: f64 = 1_500.0;
const RUNS: u64 = 12;
/// The first run in which the second candidate carries a fifth less.
const WORSE_FROM: u64 = 7;

fn sampled() -> Value {
    let each = |of: fn(u64) -> u64| (0..=100).map(of).collect::<Vec<u64>>();
    json!({
        "at_ns": each(|i| i * 100_000_000),
        "cpu_ns": each(|i| i * 40_000_000),
        "rss_bytes": each(|i| 14_000_000 + i * 4_096),
        "cores": [0, 1],
        "core_busy_ns": [each(|i| i * 50_000_000), each(|i| i * 90_000_000)],
    })
}

/// A result with what would be observed at this throughput without any noise, under its own plan.
fn made(result: &Value, per_s: f64) -> Result<Value, String> {
    let plan = serde_json::from_value(result["observed"]["plan"].clone()).map_err(|e| e.to_string())?;
    let mut columns = sampled();
    columns["process_cpu_ns"] = columns["cpu_ns"].clone();
    columns["worker_cpu_ns"] = json!([columns["cpu_ns"]]);
    let mut observed = Observed {
        client_columns: serde_json::from_value(columns).map_err(|e| e.to_string())?,
        monitor: Some(monitor(-1, SECONDS as i64, 2)),
        ..carried(plan, per_s, None)
    };
    // As many response times as a p99 takes, also of a slow one.
    let times = carried(observed.plan.clone(), per_s.max(WITH_P99_PER_S), None).measurement.latency;
    observed.measurement.latency = times;
    let mut line = result.clone();
    let server = line["observed"]["server"].take();
    line["observed"] = serde_json::to_value(observed).map_err(|e| e.to_string())?;
    if !server.is_null() {
        line["observed"]["server"] = server;
        line["observed"]["server"]["columns"] = sampled();
    }
    Ok(line)
}

/// Each candidate a tenth above the one before, each block a hundredth. The first trial is suspect, for a reason.
pub(crate) fn experiment(folder: &Path) -> Result<(), String> {
    change(&folder.join("experiment.jsonl"), |line| {
        let place = ["first", "second", "third"].iter().position(|name| line["candidate"] == *name);
        let block = line["block"].as_f64().unwrap_or(0.0);
        let most = line["observed"]["plan"]["rate_per_s"].as_f64().unwrap_or(10_000.0);
        let mut line = made(line, most * 0.1 * (8 + place.unwrap_or(0)) as f64 * (1.0 + block / 100.0))?;
        if line["index"] == 0 {
            line["observed"]["host_window"]["steal"] = json!(0.09);
            line["observed"]["host_window"]["steal_ns"] = json!(900_000_000);
        }
        Ok(line)
    })
}

/// Loads at several rates, each of which was carried.
pub(crate) fn loads(folder: &Path) -> Result<(), String> {
    change(&folder.join("loads.jsonl"), |line| {
        made(line, line["observed"]["plan"]["rate_per_s"].as_f64().unwrap_or(1.0))
    })
}

/// A duet of what ran in turn: two blocks become one, places changed. One carries a fifth less, in every block.
pub(crate) fn duet(folder: &Path) -> Result<(), String> {
    let mut all = lines(&folder.join("duet.jsonl"))?;
    let paired = |place: &mut Value| {
        let (block, half) = place["block"].as_u64().map_or((0, 0), |block| (block / 2, block % 2));
        let left = (place["candidate"] == "base") == (half == 0);
        place["block"] = json!(block);
        place["duet"] = json!({ "half": half, "side": if left { "left" } else { "right" } });
    };
    for line in &mut all {
        if line["type"] == "header" {
            line["order"].as_array_mut().into_iter().flatten().for_each(paired);
            line["blocks"] = json!(line["blocks"].as_u64().unwrap_or(0) / 2);
            let cpus = |cpu: u32| json!({ "server_cpus": [cpu], "client_cpus": [cpu] });
            line["duet"] = json!({ "left": cpus(0), "right": cpus(1), "shared": "servers" });
        } else if line["type"] == "result" {
            paired(line);
            let share = if line["candidate"] == "head" { 0.8 } else { 1.0 };
            let per_s = 500.0 * share * (1.0 + line["block"].as_f64().unwrap_or(0.0) / 1e2);
            *line = made(line, per_s)?;
        }
    }
    write_lines(&folder.join("duet.jsonl"), &all)
}

/// Two servers of known capacity, in two blocks: searches with two numbers of connections, and a ramp. The second
/// block's is 2 % higher.
pub(crate) fn knees(folder: &Path) -> Result<(), String> {
    let experiment = lines(&folder.join("experiment.jsonl"))?;
    let ramp = lines(&folder.join("ramp.jsonl"))?;
    let (header, ramp) = (experiment.first().ok_or("no header")?, results(&ramp).next().ok_or("no ramp")?);
    let like = results(&experiment).next().ok_or("the experiment has no results")?;
    let plans = plans_of_knees(&like["observed"]["plan"], &ramp["observed"]["plan"]);
    let mut all = vec![header.clone()];
    for (block, place) in [(0, "slow"), (0, "quick"), (1, "slow"), (1, "quick")] {
        let capacity =
            SLOW_PER_S * if place == "quick" { 2.0 } else { 1.0 } * (1.0 + 0.02 * f64::from(block));
        for plan in &plans {
            let asked = plan["plan"]["rate_per_s"].as_f64().unwrap_or(1.0).min(capacity);
            let mut line = if plan["name"] == "ramp" {
                let mut line = ramp.clone();
                line["observed"]["server"] = made(like, 1.0)?["observed"]["server"].take();
                line
            } else {
                made(like, if plan["capacity"].is_string() { capacity } else { asked })?
            };
            if plan["capacity"].is_string() {
                line["capacity"] = searched(capacity);
            }
            line["observed"]["plan"] = plan["plan"].clone();
            (line["index"], line["block"]) = (json!(all.len() - 1), json!(block));
            (line["candidate"], line["plan"]) = (json!(place), plan["name"].clone());
            all.push(line);
        }
    }
    let order = order(results(&all));
    let header = all.first_mut().ok_or("no header")?;
    let labelled = |label: &str| {
        let mut candidate = header["candidates"][2].clone();
        candidate["label"] = json!(label);
        candidate
    };
    let candidates = ["slow", "quick"].map(labelled);
    let changed = json!({
        "candidates": candidates,
        "name": "knees", "title": "Where two break", "baseline": "slow", "blocks": 2,
        "plans": plans, "order": order, "published": null, "experiment_toml": null,
    });
    if let (Some(header), Value::Object(changed)) = (header.as_object_mut(), changed) {
        header.extend(changed);
    }
    write_lines(&folder.join("knees.jsonl"), &all)
}

/// The places of these results in a run, as its header has them.
pub(crate) fn order<'a>(results: impl Iterator<Item = &'a Value>) -> Value {
    let keys = ["index", "block", "candidate", "plan"];
    let place = |line: &Value| keys.map(|key| (key.to_owned(), line[key].clone())).into_iter().collect();
    results.map(|line| Value::Object(place(line))).collect()
}

fn plans_of_knees(model: &Value, ramp: &Value) -> Vec<Value> {
    let plan = |connections: u32, rate: f64| {
        let mut plan = model.clone();
        plan["connections"] = json!(connections);
        plan["arrivals"] = json!("constant");
        plan["rate_per_s"] = json!(rate);
        plan
    };
    let mut plans = Vec::new();
    for connections in [8, 20] {
        plans.push(json!({ "name": format!("knee-c{connections}"), "group": "knee", "capacity": "p50<50ms",
            "describe": format!("{connections} connections, capacity at p50<50ms"), "plan": plan(connections, 1.0) }));
    }
    for percent in [50, 90, 120] {
        let share = f64::from(percent) / 100.0;
        plans.push(json!({ "name": format!("stress-{percent}pct"), "group": "stress",
            "share": { "share": share, "of": { "candidate": "slow", "plan": "knee" } },
            "describe": format!("{percent} % of the capacity of slow knee"), "plan": plan(20, share * SLOW_PER_S) }));
    }
    plans.push(json!({ "name": "ramp", "describe": "a ramp", "plan": ramp }));
    plans
}

/// A search that found this capacity: each probe below it was sustained, none above it.
fn searched(capacity: f64) -> Value {
    let probe = |share: f64, phase: &str| {
        let (rate, sustained) = (share * capacity, share <= 1.0);
        json!({
            "rate_per_s": rate, "completed_per_s": rate.min(capacity), "sustained": sustained, "phase": phase,
            "why": if sustained { "sustained" } else { "the backlog grew" }, "duration_ns": 200_000_000,
            "p50_ns": if sustained { 500_000 } else { 60_000_000 }, "p99_ns": null, "failed_share": 0.0,
        })
    };
    let doubled = [0.25, 0.5, 1.0, 2.0].map(|share| probe(share, "doubling"));
    let halved = [1.5, 1.25, 1.01].map(|share| probe(share, "bisection"));
    let probes = [&doubled[..], &halved[..], &[probe(1.0, "confirmation")]].concat();
    json!({
        "slo": "p50<50ms, errors<0.1%", "bound": "exact", "confirmed": true, "recovers": true,
        "capacity_per_s": { "point": capacity, "ci_low": capacity, "ci_high": 1.01 * capacity, "n": 8 },
        "probes": probes,
    })
}

pub(crate) fn lines(path: &Path) -> Result<Vec<Value>, String> {
    Ok(files::read(path)?.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn results(lines: &[Value]) -> impl Iterator<Item = &Value> {
    lines.iter().filter(|line| line["type"] == "result")
}

fn change(path: &Path, mut to: impl FnMut(&Value) -> Result<Value, String>) -> Result<(), String> {
    let mut all = lines(path)?;
    for line in all.iter_mut().filter(|line| line["type"] == "result") {
        *line = to(line)?;
    }
    write_lines(path, &all)
}

pub(crate) fn write_lines(path: &Path, lines: &[Value]) -> Result<(), String> {
    files::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

/// A run a day, of the experiment's: from [`WORSE_FROM`] on the second carries a fifth less. Days differ by a
/// thousandth.
pub(crate) fn history(folder: &Path) -> Result<(), String> {
    let all = lines(&folder.join("experiment.jsonl"))?;
    let runs = folder.join("history");
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
            let completed = line["observed"]["measurement"]["requests"]["completed"].as_f64().unwrap_or(1.0);
            *line = made(line, completed / SECONDS * factor)?;
        }
        write_lines(&runs.join(format!("{day:02}.jsonl")), &log)?;
    }
    Ok(())
}
