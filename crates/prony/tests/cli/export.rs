//! `--export`: what other tools are given is what the JSON says.

use std::process::Stdio;

use prony_model::hdr;
use serde_json::Value;

use crate::world::{Said, TargetProcess, World, interrupt};

/// A load with all four exports and its JSON.
fn load(world: &World, url: &str, flags: &[&str]) -> Said {
    let exports = ["hgrm=r.hgrm", "hlog=r.hlog", "csv=r.csv", "jtl=r.jtl"];
    let mut line = vec!["load", url, "--json", "t.json"];
    line.extend(exports.iter().flat_map(|export| ["--export", export]));
    line.extend(flags);
    world.prony(&line)
}

fn json(world: &World) -> Value {
    serde_json::from_str(&world.read("t.json")).unwrap()
}

fn count(json: &Value, name: &str) -> u64 {
    json["requests"][name].as_u64().unwrap()
}

/// The columns of a comma-separated file without quotes, by name.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines();
    let at = lines.next().unwrap().split(',').position(|n| n == name).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().to_owned()).collect()
}

fn sum(values: &[String]) -> u64 {
    values.iter().map(|v| v.parse::<u64>().unwrap()).sum()
}

/// All four files agree with the JSON.
#[track_caller]
fn assert_agreement(world: &World) {
    let json = json(world);
    let (completed, failed) = (count(&json, "completed"), count(&json, "failed"));

    let jtl = world.read("r.jtl");
    let success = column(&jtl, "success");
    assert_eq!(success.len() as u64, completed + failed);
    assert_eq!(success.iter().filter(|s| *s == "true").count() as u64, completed);
    for (status, answers) in json["status"].as_object().unwrap() {
        let rows = column(&jtl, "responseCode").iter().filter(|code| *code == status).count();
        assert_eq!(rows as u64, answers.as_u64().unwrap(), "{status}");
    }
    let (elapsed, latency) = (column(&jtl, "elapsed"), column(&jtl, "Latency"));
    for (elapsed, latency) in elapsed.iter().zip(&latency) {
        assert!(latency.parse::<u64>().unwrap() <= elapsed.parse::<u64>().unwrap(), "{latency} {elapsed}");
    }

    let hlog = world.read("r.hlog");
    let intervals: Vec<_> = hlog.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())).collect();
    assert_eq!(intervals.len(), json["series"].as_array().unwrap().len());
    let histograms = intervals.iter().map(|line| hdr::decode(line.split(',').nth(3).unwrap()).unwrap());
    assert_eq!(histograms.map(|h| h.len()).sum::<u64>(), completed);

    let csv = world.read("r.csv");
    assert_eq!(sum(&column(&csv, "completed")), completed);
    assert_eq!(sum(&column(&csv, "failed")), failed);
    assert_eq!(column(&csv, "at_s").len(), intervals.len());

    let hgrm = world.read("r.hgrm");
    let total = hgrm.lines().find_map(|l| l.split_once("Total count    =")).unwrap().1;
    assert_eq!(total.trim().trim_end_matches(']').parse::<u64>().unwrap(), completed);
    let rows: Vec<_> = hgrm.lines().skip(2).filter(|l| !l.starts_with('#')).collect();
    if completed > 0 {
        let last: Vec<_> = rows.last().unwrap().split_whitespace().collect();
        assert_eq!(last[2].parse::<u64>().unwrap(), completed);
        let max_ms = json["latency"]["response"]["max_ns"].as_u64().unwrap() as f64 / 1e6;
        assert_eq!(last[0].parse::<f64>().unwrap(), max_ms);
    }
}

#[test]
fn all_exports_of_a_counted_load_agree_with_the_json() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "exp:1ms"]);
    let said = load(&world, &target.url(), &["-n", "500", "-t", "2"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert_eq!(count(&json(&world), "completed"), 500);
    assert_agreement(&world);
    let jtl = world.read("r.jtl");
    assert!(column(&jtl, "URL").iter().all(|url| *url == target.url()));
    assert!(column(&jtl, "label").iter().all(|label| label == "GET /"));
    assert_eq!(
        sum(&column(&jtl, "bytes")),
        500 * sum(&column(&jtl, "bytes")[..1]),
        "the same answer each time"
    );
    let workers = column(&jtl, "threadName");
    assert!(workers.iter().any(|w| w == "prony 1-1") && workers.iter().any(|w| w == "prony 1-2"));
}

#[test]
fn all_exports_of_several_workers_agree_with_the_json() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "exp:2ms"]);
    let said = load(&world, &target.url(), &["-R", "900", "-d", "1500ms", "-t", "2", "-c", "20"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.err, "", "every request of a rate has its room");
    assert_agreement(&world);
    assert_eq!(column(&world.read("r.csv"), "length_s"), ["1", "0.5"]);
}

#[test]
fn all_exports_of_failed_requests_agree_with_the_json() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let said = load(&world, &target.url(), &["-n", "50", "--expect-status", "204"]);
    assert_eq!(said.code, Some(3), "nothing was completed: {said:?}");
    assert_agreement(&world);
    let jtl = world.read("r.jtl");
    assert!(column(&jtl, "failureMessage").iter().all(|m| m == "unexpected_status"));
    assert_eq!(column(&jtl, "responseCode").len(), 50);
}

#[test]
fn all_exports_of_an_interrupted_load_agree_with_the_json() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "1ms"]);
    let exports = ["--json", "t.json", "--export", "jtl=r.jtl", "--export", "csv=r.csv"];
    let exports = [&exports[..], &["--export", "hgrm=r.hgrm", "--export", "hlog=r.hlog"]].concat();
    let url = target.url();
    let line = [&["load", &url, "-d", "600s", "--warmup", "0", "-c", "4"], &exports[..]].concat();
    let child = world.command(&line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Of a hundred requests over four connections, 96 were answered before the others were sent.
    target.wait_for_requests(100);
    interrupt(child.id());
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(json(&world)["interrupted"], true);
    assert!(count(&json(&world), "completed") >= 96);
    assert_agreement(&world);
}

#[test]
fn exports_replace_files_and_do_not_write_to_standard_output() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    world.write("r.csv", &"an earlier and longer file\n".repeat(1000));
    let said = world.prony(&["load", &target.url(), "-n", "20", "--json", "-", "--export=csv=r.csv"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&said.out).expect("nothing but JSON on standard output");
    assert_eq!(json["requests"]["completed"], 20);
    let csv = world.read("r.csv");
    assert!(csv.starts_with("at_s,") && !csv.contains("earlier"), "{csv}");
}

#[test]
fn invalid_exports_are_refused_before_the_load() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    world.write("there.csv", "kept");
    std::fs::create_dir(world.path("folder")).unwrap();
    let refused = |flags: &[&str], words: &[&str]| {
        let said = world.prony(&[&["load", &target.url(), "-n", "10"], flags].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(!said.err.contains("panicked") && said.out.is_empty(), "{said:?}");
        for word in words {
            assert!(said.err.contains(word), "{word:?} is missing: {}", said.err);
        }
    };
    refused(&["--export", "r.csv"], &["names no file", "hgrm, hlog, jtl, csv, openmetrics"]);
    refused(&["--export", "xml=r.xml"], &["\"xml\"", "hgrm, hlog, jtl, csv"]);
    refused(&["--export", "csv="], &["needs a file"]);
    refused(&["--export", "csv=-"], &["needs a file", "standard output"]);
    refused(&["--export", "csv=/no/such/folder/r.csv"], &["/no/such/folder/r.csv", "No such file"]);
    refused(&["--export", "csv=folder"], &["folder", "directory"]);
    refused(&["--export", "csv=r", "--export", "jtl=./r"], &["./r", "twice"]);
    refused(&["--json", "r.json", "--export", "csv=r.json"], &["r.json", "twice"]);
    refused(&["-o", "r.jsonl", "--export", "csv=there.csv", "--export", "jtl=r.jsonl"], &["twice"]);
    assert_eq!(target.ledger()["requests_received"], 0, "nothing was loaded");
    assert_eq!(world.read("there.csv"), "kept");
    assert!(!world.path("r").exists(), "looking whether a file can be written leaves none");
}

#[test]
fn a_full_disk_is_reported_and_the_other_exports_are_written() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let line = ["load", &target.url(), "-n", "10", "--export", "hgrm=/dev/full", "--export", "csv=r.csv"];
    let said = world.prony(&line);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("/dev/full") && said.err.contains("No space left"), "{said:?}");
    assert!(said.out.contains("req/s"), "the result is shown all the same: {said:?}");
    assert_eq!(sum(&column(&world.read("r.csv"), "completed")), 10);
}

#[test]
fn the_monitor_s_lines_add_up_and_a_log_has_the_same() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "1ms"]);
    let load = ["load", &target.url(), "-R", "500", "-d", "2s", "--warmup", "500ms", "-o", "r.jsonl"];
    let said = world.prony(&[&load[..], &["--export", "monitor=m.csv"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = world.read("m.csv");
    let numbers = |name: &str| -> Vec<f64> {
        let column = column(&text, name);
        column.iter().map(|field| field.parse().unwrap_or(0.0)).collect()
    };
    let classes = ["user", "system", "idle", "iowait", "irq", "softirq", "steal"].map(numbers);
    let cpus = column(&text, "cpu");
    for (i, cpu) in cpus.iter().enumerate() {
        let all: f64 = classes.iter().map(|class| class[i]).sum();
        // Each is rounded to a tenth; nothing was counted where the kernel had no tick.
        assert!((all - 100.0).abs() < 0.8 || all == 0.0, "{cpu}: {all}");
    }
    let total: Vec<usize> = (0..cpus.len()).filter(|i| cpus[*i] == "total").collect();
    assert!(!total.is_empty() && cpus.len() > total.len(), "{text}");
    let memory = ["memory_used", "buffers", "cached", "free"].map(numbers);
    let of = |i: usize| memory.iter().map(|column| column[i]).sum::<f64>();
    assert!(total.iter().all(|i| of(*i) == of(total[0]) && of(*i) > 1e6), "{text}");
    assert!(numbers("at_s").is_sorted() && numbers("length_s").iter().all(|s| *s > 0.0), "{text}");
    // The same of the run log, where the trial has a place.
    let said = world.prony(&["report", "r.jsonl", "--format", "monitor"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(column(&said.out, "user"), column(&text, "user"));
    assert!(column(&said.out, "index").iter().all(|index| index == "0"), "{said:?}");
    let said = world.prony(&["report", "r.jsonl", "--format", "monitor", "--only", "nobody"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    // A log from before there was a monitor.
    let older: String =
        world.read("r.jsonl").lines().map(|line| format!("{}\n", without_monitor(line))).collect();
    std::fs::write(world.path("old.jsonl"), older).unwrap();
    let said = world.prony(&["report", "old.jsonl", "--format", "monitor"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("from before"), "{said:?}");
    assert_eq!(world.prony(&["report", "old.jsonl"]).code, Some(0));
}

fn without_monitor(line: &str) -> String {
    let mut line: Value = serde_json::from_str(line).unwrap();
    if let Some(observed) = line.get_mut("observed").and_then(Value::as_object_mut) {
        observed.remove("monitor").unwrap();
    }
    line.to_string()
}

#[test]
fn a_bench_keeps_the_requests_of_each_trial() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let candidate = format!("one={}", target.url());
    let bench = ["bench", "--candidate", &candidate, "-n", "30", "-c", "3", "--blocks", "2", "-o", "r.jsonl"];
    let with = |export: &str| world.prony(&[&bench[..], &["--export", export]].concat());
    let said = with("jtl=logs");
    assert_eq!(said.code, Some(0), "{said:?}");
    let results = world.lines("r.jsonl", "result");
    assert_eq!(results.len(), 2);
    for result in &results {
        let (number, plan) = (result["index"].as_u64().unwrap() + 1, result["plan"].as_str().unwrap());
        let jtl = world.read(&format!("logs/{number:05}-one-{plan}.jtl"));
        assert_eq!(column(&jtl, "success"), vec!["true"; 30]);
        assert_eq!(column(&jtl, "allThreads"), vec!["3"; 30]);
    }
    let said = with("csv=logs");
    assert!(said.code == Some(2) && said.err.contains("jtl=FOLDER"), "{said:?}");
}
