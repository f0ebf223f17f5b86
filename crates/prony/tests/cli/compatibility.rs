//! What docs/compatibility.md promises, held against files that version 0.1.0 read and wrote.
//!
//! `PRONY_PIN=1 cargo test -p prony compatibility` adds new fields and flags to the lists; what is gone stays in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::world::{TargetProcess, World};

fn pinned(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pinned").join(name)
}

/// Whether every line of a pinned list is still among the lines of today.
fn holds(name: &str, today: BTreeSet<String>) {
    let file = pinned(name);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let mut then: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    let gone: Vec<&String> = then.difference(&today).collect();
    assert!(gone.is_empty(), "relied upon and gone: {gone:#?}");
    if std::env::var_os("PRONY_PIN").is_some() {
        then.extend(today);
        std::fs::write(&file, then.into_iter().map(|line| line + "\n").collect::<String>()).unwrap();
    } else {
        let new: Vec<&String> = today.difference(&then).collect();
        assert!(new.is_empty(), "not in {} yet (PRONY_PIN=1 adds them): {new:#?}", file.display());
    }
}

/// The fields of a schema, each with its types, `requests.completed integer`; `[]` is of every item, `{}` of every entry.
fn fields(root: &Value, at: &Value, path: &str, within: &mut Vec<String>, found: &mut BTreeSet<String>) {
    if let Some(name) = at["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) {
        if !within.iter().any(|seen| seen == name) {
            within.push(name.to_owned());
            fields(root, &root["$defs"][name], path, within, found);
            within.pop();
        }
        return;
    }
    let types = match &at["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    found.extend(types.into_iter().filter(|_| !path.is_empty()).map(|kind| format!("{path} {kind}")));
    for way in ["anyOf", "oneOf", "allOf"] {
        at[way].as_array().into_iter().flatten().for_each(|one| fields(root, one, path, within, found));
    }
    for (name, field) in at["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        fields(root, field, &path, within, found);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if at[key].is_object() {
            fields(root, &at[key], &format!("{path}{mark}"), within, found);
        }
    }
}

#[test]
fn every_field_of_json_output_still_has_the_same_type() {
    let world = World::new();
    let mut today = BTreeSet::new();
    for document in ["trial", "repeat", "run", "capacity", "analysis", "comparison", "history", "bisection"] {
        let said = world.prony(&["schema", document]);
        let schema: Value = serde_json::from_str(&said.out).unwrap();
        let mut of_one = BTreeSet::new();
        fields(&schema, &schema, "", &mut Vec::new(), &mut of_one);
        assert!(of_one.len() > 10, "{document}: {of_one:?}");
        today.extend(of_one.into_iter().map(|field| format!("{document} {field}")));
    }
    holds("fields.txt", today);
}

#[test]
fn every_command_and_flag_is_still_taken() {
    let world = World::new();
    let mut today = BTreeSet::new();
    let mut left = vec![Vec::new()];
    while let Some(command) = left.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = world.prony(&[&words[..], &["--help"]].concat()).out;
        let line = ["prony"].into_iter().chain(words).collect::<Vec<_>>().join(" ");
        today.insert(line.clone());
        for text in help.lines() {
            let entry = text.trim_start();
            // Descriptions stand further to the right than names do.
            let indent = text.len() - entry.len();
            // An argument stands in brackets.
            if indent == 2 && entry.starts_with(|c: char| c.is_ascii_lowercase()) {
                let name = entry.split_whitespace().next().unwrap_or_default();
                if name != "help" {
                    left.push([&command[..], &[name.to_owned()]].concat());
                }
            } else if entry.starts_with('-') && (2..=6).contains(&indent) {
                let flag = entry.split("  ").next().unwrap_or(entry);
                let names = flag.split([' ', ',']).filter(|word| word.starts_with('-'));
                today.extend(names.map(|name| format!("{line} {}", name.trim_end_matches("..."))));
            }
        }
    }
    assert!(today.contains("prony load --duration") && today.contains("prony load -d"), "{today:?}");
    holds("flags.txt", today);
}

#[test]
fn recipes_experiments_and_run_logs_of_0_1_0_are_still_read() {
    let world = World::new();
    let [servers, experiment] = ["servers", "experiment.toml"].map(|name| pinned(name).display().to_string());
    let listed = world.prony(&["servers", "list", "--format", "json", "--servers", &servers]);
    assert_eq!((listed.code, listed.err.as_str()), (Some(0), ""), "{listed:?}");
    assert!(listed.out.contains("\"app\"") && listed.out.contains("\"other\""), "{}", listed.out);
    let planned = world.prony(&["bench", &experiment, "--dry-run", "--servers", &servers]);
    assert!(matches!(planned.code, Some(0 | 3)) && planned.out.contains("app"), "{planned:?}");
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/pinned/loads.jsonl");
    let log = log.display().to_string();
    let told = world.prony(&["report", &log, "--format", "json"]);
    assert_eq!(told.code, Some(0), "{told:?}");
}

#[test]
fn columns_stay_in_their_order_and_metrics_keep_their_names() {
    let world = World::new();
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/pinned/bench.jsonl");
    let log = log.display().to_string();
    let mut today = BTreeSet::new();
    let mut columns = |file: &str, text: &str| {
        let head = text.lines().next().unwrap_or_default();
        today.extend(head.split(',').enumerate().map(|(place, name)| format!("{file} {place:03} {name}")));
    };
    columns("report --format csv", &world.prony(&["report", &log, "--format", "csv"]).out);
    let exports = ["--export", "csv=seconds.csv", "--export", "jtl=samples.jtl"];
    let said = world.prony(&[&["load", "-n", "100", "-q"][..], &exports].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    columns("load --export csv", &world.read("seconds.csv"));
    columns("load --export jtl", &world.read("samples.jtl"));
    let metrics = world.prony(&["report", &log, "--format", "openmetrics"]).out;
    let names = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    today.extend(names.map(|name| format!("report --format openmetrics {name}")));
    assert!(today.len() > 60, "{today:?}");
    holds("columns.txt", today);
}

#[test]
fn exit_codes_keep_their_meaning() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "20ms"]);
    let url = target.url();
    for (code, line) in [
        (0, &["load", "-n", "100"][..]),
        // The target answers after 20 ms.
        (1, &["load", &url, "-n", "400", "--slo", "p50<1ms"]),
        (2, &[]),
        (2, &["load", "--no-such-flag"]),
        (2, &["load", "no url"]),
        (2, &["report", "no-such-file.jsonl"]),
        // No service has this port.
        (3, &["load", "http://127.0.0.1:1/", "-n", "1", "-c", "1"]),
        // Nobody samples the server.
        (4, &["load", &url, "-n", "10", "-c", "1", "--slo", "memory<1GB"]),
    ] {
        let said = world.prony(line);
        assert_eq!(said.code, Some(code), "{line:?}: {said:?}");
    }
}

#[test]
fn prony_without_arguments_shows_the_first_commands() {
    let said = World::new().prony(&[]);
    let named = ["prony load http", "prony capacity http", "prony bench", "prony --help"];
    assert!(named.iter().all(|line| said.err.contains(line)), "{said:?}");
}
