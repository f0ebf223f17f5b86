//! `prony load --repeat`, by counts that a reference server keeps, too.

use serde_json::Value;

use crate::world::{TargetProcess, World};

#[test]
fn every_repeated_trial_has_its_line_connections_and_log_entry() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let said = world
        .prony(&["load", &url, "-n", "60", "-c", "3", "--repeat", "4", "-o", "r.jsonl", "--json", "r.json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for words in
        ["1/4  ", "4/4  ", "4 trials", "Student's t over trials", "All trials loaded the", "prony compare"]
    {
        assert!(said.out.contains(words), "{words:?}: {}", said.out);
    }
    let ledger = target.ledger();
    assert_eq!(ledger["requests_received"].as_u64(), Some(240), "{ledger}");
    let repeat: Value = serde_json::from_str(&world.read("r.json")).unwrap();
    assert_eq!(repeat["schema"], "prony.repeat/1");
    assert_eq!((repeat["asked"].as_u64(), repeat["counted"].as_u64()), (Some(4), Some(4)));
    assert_eq!((repeat["completed"].as_u64(), repeat["failed"].as_u64()), (Some(240), Some(0)));
    let trials = repeat["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        assert_eq!(trial["run_total"]["connections"].as_u64(), Some(3), "each opens its own");
        assert_eq!(trial["requests"]["completed"].as_u64(), Some(60));
    }
    let point = repeat["requests_per_s"]["point"].as_f64().unwrap();
    // Four trials have an interval, and where it is as wide as the figure, the reason why it is withheld.
    match repeat["requests_per_s"]["ci_low"].as_f64() {
        Some(low) => assert!(low <= point),
        None => assert!(repeat["requests_per_s"]["no_interval"].is_string(), "{repeat}"),
    }
    let results: Vec<Value> = world
        .read("r.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["type"] == "result")
        .collect();
    let indices: Vec<u64> = results.iter().map(|r| r["index"].as_u64().unwrap()).collect();
    assert_eq!(indices, [0, 1, 2, 3]);
    // Appended to, it goes on counting.
    let more = world.prony(&["load", &url, "-n", "60", "-c", "3", "--repeat", "2", "-o", "r.jsonl", "-q"]);
    assert_eq!((more.code, more.out.trim().lines().count()), (Some(0), 1), "{more:?}");
    assert!(more.out.contains("2 trials"), "{more:?}");
    assert_eq!(world.read("r.jsonl").matches("\"type\":\"result\"").count(), 6);
}

#[test]
fn logs_of_repeated_loads_can_be_compared() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    for (log, rate_per_s, p50_ns) in [("a.jsonl", 400.0, 10_000_000), ("b.jsonl", 200.0, 20_000_000)] {
        let url = target.url();
        let line = ["load", &url, "-c", "4", "-n", "40", "--repeat", "4", "-o", log, "-q"];
        assert_eq!(world.prony(&line).code, Some(0));
        // The verdict is over these.
        world.set_figures(log, |_, nth| (rate_per_s + nth as f64, p50_ns));
    }
    // Two runs alone have no verdict, and no gate passes by them.
    let said = world.prony(&["compare", "a.jsonl", "b.jsonl", "--fail-if", "slower"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    for words in ["no verdict", "4 and 4 trials of two runs", "may have changed", "--history DIR"] {
        assert!(said.out.contains(words), "{words:?}: {}", said.out);
    }
    // Four days before A's, each a run like it, give or take one percent.
    std::fs::create_dir(world.path("runs")).unwrap();
    let log = world.read("a.jsonl");
    let header: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let made = header["created_at"].as_str().unwrap();
    for (day, rate_per_s) in [(1, 404.0), (2, 396.0), (3, 402.0), (4, 398.0)] {
        let file = format!("runs/{day}.jsonl");
        world.write(&file, &log.replacen(made, &format!("2020-01-0{day}T00:00:00.000Z"), 1));
        world.set_figures(&file, |_, nth| (rate_per_s + nth as f64, 10_000_000));
    }
    let line = ["compare", "a.jsonl", "b.jsonl", "--fail-if", "slower", "--history", "runs"];
    let said = world.prony(&line);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.out.contains("SLOWER") && said.out.contains("B's run against the mean of A's"),
        "{}",
        said.out
    );
    std::fs::remove_file(world.path("runs/4.jsonl")).unwrap();
    let said = world.prony(&line);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.contains("--history has 4 runs of A's kind"), "{}", said.out);
}

#[test]
fn repeated_loads_print_json_and_judge_over_all_trials() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "20ms"]);
    let url = target.url();
    let load = |more: &[&str]| {
        world.prony(&[&["load", &url, "-c", "10", "-n", "100", "--repeat", "3"], more].concat())
    };
    let said = load(&["--json", "-"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let value: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(value["trials"].as_array().map(Vec::len), Some(3));
    // The target answers after 20 ms: no median is below that.
    let missed = load(&["--slo", "p50<10ms"]);
    assert!(missed.code == Some(1) && missed.out.contains("MISSED"), "{missed:?}");
    assert_eq!(load(&["--slo", "p50<10ms", "--json", "-"]).code, Some(1));
    let met = load(&["--slo", "errors<50%"]);
    assert!(met.code == Some(0) && met.out.contains("MET"), "{met:?}");
}

#[test]
fn flags_for_a_single_load_are_refused_with_repeat() {
    let world = World::new();
    for (flags, words) in [
        (&["--repeat", "3", "--export", "csv=x.csv"][..], "--export shows one load"),
        (&["--repeat", "3", "--plot"], "--plot shows one load"),
        (&["--repeat", "0"], "1..=1000"),
    ] {
        let said = world.prony(&[&["load", "http://127.0.0.1:9/"], flags].concat());
        assert!(said.code == Some(2) && said.err.contains(words), "{words:?}: {said:?}");
    }
    // Once is what it is without.
    let target = TargetProcess::start(&[]);
    let said = world.prony(&["load", &target.url(), "-n", "20", "-c", "1", "--repeat", "1", "--json", "-"]);
    let value: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(value["schema"], "prony.trial/1");
    // Nobody there: the first trial says so.
    let said = world.prony(&["load", "http://127.0.0.1:1/", "--repeat", "3", "-d", "200ms"]);
    assert_eq!(said.code, Some(3), "{said:?}");
}
