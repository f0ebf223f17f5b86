//! `-d auto`: the plan has the window before the run. Rates are those of -R, so that no window hangs on the machine.

use serde_json::Value;

use crate::world::{TargetProcess, World};

#[test]
fn the_window_of_a_load_is_in_its_plan_and_its_reproduction() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let url = target.url();
    let said = world.prony(&["load", &url, "-R", "20k", "-d", "auto", "--json", "t.json"]);
    assert!(said.err.contains("-d auto: 1s, by 20,000 requests/s"), "{said:?}");
    let trial: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(trial["plan"]["duration_ns"], 1_000_000_000);
    assert_eq!(trial["plan"]["warmup_ns"], 100_000_000, "that of such a window");
    // A closed loop is loaded first: for a second, and its warm-up.
    let said = world.prony(&["load", &url, "-c", "2", "-d", "auto", "--warmup", "0", "--json", "c.json"]);
    assert!(said.err.contains("-d auto: "), "{said:?}");
    let trial: Value = serde_json::from_str(&world.read("c.json")).unwrap();
    let seconds = trial["plan"]["duration_ns"].as_u64().unwrap() / 1_000_000_000;
    assert!([1, 2, 5, 10, 30].contains(&seconds), "{seconds}");
    let ledger = target.ledger();
    let own = trial["run_total"]["sent"].as_u64().unwrap();
    assert!(ledger["requests_received"].as_u64().unwrap() > own, "the pilot's are not in it: {ledger}");
}

#[test]
fn a_bench_writes_windows_first_and_refuses_what_does_not_fit() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let candidates = [format!("a={}", target.url()), format!("b={}", target.url())];
    let bench = |more: &[&str]| {
        let line = ["bench", "--candidate", &candidates[0], "--candidate", &candidates[1], "-d", "auto"];
        world.prony(&[&line[..], &["-c", "2", "-o", "r.jsonl", "--blocks", "2"], more].concat())
    };
    let said = bench(&["-R", "13k", "--budget", "2s"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("windows of 1s are too long for the budget"), "{said:?}");
    let said = bench(&["-R", "100", "--slo", "p99<1s"]);
    assert!(said.code == Some(2) && said.err.contains("p99 takes -d 120s: give that -d"), "{said:?}");
    assert!(!world.path("r.jsonl").exists());
    let said = bench(&["--dry-run"]);
    assert!(said.code == Some(0) && said.out.contains("-d auto: 1s stands here for"), "{said:?}");
    let said = bench(&["-R", "13k"]);
    assert!(said.err.contains("-d auto: 1s, by 13,000 requests/s"), "{said:?}");
    let header = &world.lines("r.jsonl", "header")[0];
    assert_eq!(header["plans"][0]["plan"]["duration_ns"], 1_000_000_000);
    assert!(header["reproduce"].as_str().unwrap().contains(" -d 1s "), "{header}");
    // What is gone on with keeps its windows, and makes no pilot.
    let said = bench(&["-R", "13k", "--resume"]);
    assert!(said.code == Some(0) && !said.err.contains("-d auto"), "{said:?}");
}

#[test]
fn what_has_no_window_to_measure_is_refused_with_the_reason() {
    let world = World::new();
    let url = "http://127.0.0.1:9/";
    for (line, says) in [
        (&["load", url, "-d", "auto", "-n", "5"][..], "-d auto cannot be used with -n"),
        (&["load", url, "-d", "auto", "--stage", "1s:5c"], "-d cannot be used with --stage"),
        (&["load", url, "-d", "auto", "--fleet", "local:2"], "-d auto cannot be used with --fleet unless -R"),
        (&["capacity", url, "-d", "auto"], "-d auto is for prony load, bench --candidate and ci compare"),
        (&["bench", "quickstart", "-d", "auto"], "-d cannot be used with an experiment"),
    ] {
        let said = world.prony(line);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(says), "{says}: {said:?}");
    }
}
