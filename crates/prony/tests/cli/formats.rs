//! A run in the formats of CI systems and of metrics.

use crate::grammar;
use crate::world::{TargetProcess, World};

/// A run log of two loads, one of which failed throughout.
fn world() -> World {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let load =
        |words: &[&str]| world.prony(&[&["load", &target.url(), "-o", "r.jsonl", "-q"], words].concat());
    assert_eq!(load(&["-n", "300"]).code, Some(0));
    assert_eq!(load(&["-n", "50", "-c", "7", "--expect-status", "204"]).code, Some(3));
    world
}

#[test]
fn a_run_log_is_reported_as_junit_xml() {
    let world = world();
    let said = world.prony(&["report", "r.jsonl", "--format", "junit"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let document = roxmltree::Document::parse(&said.out).unwrap();
    let root = document.root_element();
    assert_eq!(
        ["tests", "failures", "skipped"].map(|a| root.attribute(a)),
        [Some("2"), Some("1"), Some("0")]
    );
    let failure = document.descendants().find(|n| n.has_tag_name("failure")).unwrap();
    assert!(failure.text().unwrap().contains("BROKEN"), "{}", said.out);
    assert_eq!(failure.parent().unwrap().attribute("classname"), Some("load.c7"));
}

#[test]
fn a_missed_threshold_fails_its_junit_case() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "20ms"]);
    let line = [
        "load",
        &target.url(),
        "-n",
        "400",
        "-q",
        "-o",
        "r.jsonl",
        "--slo",
        "p50<1ms",
        "--slo",
        "errors<50%",
    ];
    let said = world.prony(&line);
    assert_eq!(said.code, Some(1), "{said:?}");
    let said = world.prony(&["report", "r.jsonl", "--format", "junit"]);
    let document = roxmltree::Document::parse(&said.out).unwrap();
    let failure = document.descendants().find(|n| n.has_tag_name("failure")).unwrap();
    assert_eq!(failure.attribute("type"), Some("threshold"), "{}", said.out);
    assert!(
        failure.text().unwrap().contains("MISSED p50<1ms") && !failure.text().unwrap().contains("errors")
    );
}

#[test]
fn a_step_summary_is_appended_to_the_file_that_github_names() {
    let world = world();
    world.write("summary.md", "before\n");
    let line = ["report", "r.jsonl", "--format", "github"];
    let github = |extra: &[&str]| {
        let mut command = world.command(&[&line[..], extra].concat());
        let said = command.env("GITHUB_STEP_SUMMARY", world.path("summary.md")).output().unwrap();
        crate::world::Said::from(said)
    };
    let said = github(&[]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
    let summary = world.read("summary.md");
    assert!(summary.starts_with("before\n### ") && summary.contains("### ❌ "), "{summary}");
    assert!(github(&["-o", "-"]).out.starts_with("### "), "-o goes before");
    assert_eq!(world.read("summary.md"), summary);
    let mut elsewhere = world.command(&line);
    let said = elsewhere.env_remove("GITHUB_STEP_SUMMARY").output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("### "));
}

#[test]
fn histograms_of_a_run_log_equal_those_of_the_load() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let load = |words: &[&str]| {
        let said = world.prony(&[&["load", &target.url(), "-o", "r.jsonl", "-q"], words].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
    };
    let report = |words: &[&str]| world.prony(&[&["report", "r.jsonl", "--format"], words].concat());
    load(&["-n", "300", "-c", "7", "--export", "hgrm=first.hgrm", "--export", "hlog=first.hlog"]);
    for kind in ["hgrm", "hlog"] {
        let said = report(&[kind]);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
        assert_eq!(said.out, world.read(&format!("first.{kind}")));
    }
    load(&["-n", "200", "-c", "7"]);
    load(&["-n", "100", "-c", "5"]);
    let said = report(&["hgrm"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.err.contains("one candidate under one plan") && said.err.contains("plans are c5, c7"),
        "{said:?}"
    );
    let said = report(&["hgrm", "--only", "c7"]);
    assert!(said.err.contains("2 trials of ") && said.err.contains(" under c7 together."), "{said:?}");
    let total = said.out.lines().find_map(|l| l.split_once("Total count    =")).unwrap().1;
    assert_eq!(total.trim().trim_end_matches(']'), "500", "{}", said.out);
    let said = report(&["hlog", "--only", "c9"]);
    assert!(said.code == Some(2) && said.err.contains("\"c9\" is neither a candidate"), "{said:?}");
    let said = report(&["csv", "--only", "c7"]);
    assert!(said.code == Some(2) && said.err.contains("--only goes with --format hgrm"), "{said:?}");
}

#[test]
fn a_run_log_and_a_load_are_exported_as_openmetrics() {
    let world = world();
    let said = world.prony(&["report", "r.jsonl", "--format", "openmetrics"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let read = grammar::read(&said.out).unwrap();
    let requests = read.all("prony_trial_requests_total");
    let of = |trial: &str, result: &str| {
        let found = requests.iter().find(|(l, _)| l["trial"] == trial && l["result"] == result);
        found.unwrap().1
    };
    assert_eq!(
        [of("0", "completed"), of("0", "failed"), of("1", "completed"), of("1", "failed")],
        [300.0, 0.0, 0.0, 50.0]
    );
    assert_eq!(read.all("prony_trial_errors_total").len(), 1);

    let said = world.prony(&["load", "-n", "200", "-q", "--export", "openmetrics=r.om"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let read = grammar::read(&world.read("r.om")).unwrap();
    assert_eq!(read.value("prony_trial_requests_total", &[("result", "completed")]), Some(200.0));
    assert_eq!(read.value("prony_trial_answers_total", &[("status", "200")]), Some(200.0));
}

#[test]
fn bencher_metric_format_fits_its_schema() {
    // As https://bencher.dev/docs/reference/bencher-metric-format has it; here other fields are refused, too.
    let number = serde_json::json!({ "type": "number" });
    let schema = serde_json::json!({
        "$schema": "http://json-schema.org/draft-07/schema",
        "type": "object",
        "patternProperties": { ".+": { "type": "object", "patternProperties": { ".+": {
            "type": "object",
            "properties": { "value": number, "lower_value": number, "upper_value": number },
            "required": ["value"],
            "additionalProperties": false,
        } } } },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(!validator.is_valid(&serde_json::json!({ "a": { "latency": { "lower_value": 1.0 } } })));
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let watch = target.pid().to_string();
    let line = ["load", &target.url(), "-n", "300", "-c", "7", "-q", "-o", "r.jsonl", "--watch", &watch];
    assert_eq!(world.prony(&line).code, Some(0));
    world.set_figures("r.jsonl", |_, _| (1_000.0, 2_000_000));
    let report = |format: &str| -> serde_json::Value {
        let said = world.prony(&["report", "r.jsonl", "--format", format]);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
        serde_json::from_str(&said.out).unwrap()
    };
    let bmf = report("bmf");
    let errors: Vec<String> = validator.iter_errors(&bmf).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}: {bmf}");
    let own = &bmf[&format!("{} · c7", target.url())];
    for measure in ["throughput", "latency", "cpu-per-request"] {
        assert!(own[measure]["value"].as_f64().unwrap() > 0.0, "{bmf}");
    }
    let lower = report("gab");
    let p50 =
        lower.as_array().unwrap().iter().find(|e| e["name"].as_str().unwrap().ends_with(" · p50")).unwrap();
    assert_eq!(p50["value"].as_f64().unwrap(), own["latency"]["value"].as_f64().unwrap() / 1e6);
    assert_eq!(report("gab-throughput")[0]["value"], own["throughput"]["value"]);
}

#[test]
fn a_run_without_a_known_figure_is_no_benchmark() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    // Nothing is completed, so that nothing counts.
    let line = ["load", &target.url(), "-n", "50", "-q", "-o", "r.jsonl", "--expect-status", "204"];
    assert_eq!(world.prony(&line).code, Some(3));
    let said = world.prony(&["report", "r.jsonl", "--format", "gab"]);
    assert_eq!((said.code, said.out.as_str()), (Some(3), ""), "{said:?}");
    assert!(said.err.contains("can be written in this format"), "{said:?}");
}
