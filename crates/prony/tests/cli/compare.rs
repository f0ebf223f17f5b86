//! `prony compare`, `--slo` and `--precision` as a user meets them. Nothing here depends on speed but
//! what a reference server's own limit decides.

use crate::world::{BINARY, Said, TargetProcess, World};

/// A run of two targets of the binary's own, limited to these rates, with few connections.
fn bench(world: &World, log: &str, capacities: [&str; 2], flags: &[&str]) -> Said {
    let candidate =
        |name: &str, rate: &str| format!("{name}={BINARY} target --port {{port}} --capacity {rate}");
    let (a, b) = (candidate("base", capacities[0]), candidate("head", capacities[1]));
    let mut line = vec!["bench", "--candidate", &a, "--candidate", &b, "-o", log, "-q"];
    line.extend(["-c", "4", "-d", "500ms", "--warmup", "100ms"]);
    line.extend(flags);
    world.prony(&line)
}

#[track_caller]
fn ended(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, Some(code), "{said:?}");
    for word in words {
        assert!(said.out.contains(word) || said.err.contains(word), "{word:?} is missing: {said:?}");
    }
}

#[test]
fn half_as_fast_is_slower_in_every_form_and_fails_a_build() {
    let world = World::new();
    ended(&bench(&world, "r.jsonl", ["400/s", "200/s"], &["--blocks", "4"]), 0, &[]);
    // A limit of 200 a second against 400: no machine is too busy for that.
    let said = world.prony(&["compare", "r.jsonl"]);
    ended(&said, 0, &["head is slower than base", "SLOWER", "4 blocks of", "in alternation", "A/A"]);
    ended(&world.prony(&["compare", "r.jsonl", "head", "base"]), 0, &["base is faster than head", "FASTER"]);
    let markdown = world.prony(&["compare", "r.jsonl", "--format", "markdown"]);
    ended(&markdown, 0, &["### head against base", "| req/s |", "**SLOWER**"]);
    let json = world.prony(&["compare", "r.jsonl", "base", "head", "--format", "json", "-o", "c.json"]);
    ended(&json, 0, &["c.json"]);
    let value: serde_json::Value = serde_json::from_str(&world.read("c.json")).unwrap();
    let throughput = &value[0]["plans"][0]["figures"][0];
    assert_eq!(
        (value[0]["schema"].as_str(), value[0]["paired"].as_bool()),
        (Some("prony.comparison/1"), Some(true))
    );
    assert_eq!(
        (throughput["figure"].as_str(), throughput["finding"].as_str()),
        (Some("throughput"), Some("slower"))
    );
    // 0 where the limit holds every trial to the request.
    assert!(throughput["noise"]["half_width"].is_number(), "{throughput}");
    ended(
        &world.prony(&["compare", "r.jsonl", "--fail-if", "slower"]),
        1,
        &["--fail-if", "throughput under c4 is slower"],
    );
    ended(&world.prony(&["compare", "r.jsonl", "--fail-if", "throughput<-20%"]), 1, &["changed by < -20 %"]);
    ended(&world.prony(&["compare", "r.jsonl", "--fail-if", "throughput<-90%"]), 0, &[]);
    ended(&world.prony(&["compare", "r.jsonl", "head", "base", "--fail-if", "slower"]), 0, &[]);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let world = World::new();
    ended(&bench(&world, "one.jsonl", ["400/s", "400/s"], &["--blocks", "1"]), 0, &[]);
    let one = world.prony(&["compare", "one.jsonl", "--fail-if", "slower"]);
    ended(&one, 0, &["no verdict", "one trial each", "Next  prony bench --candidate 'base=", "--blocks 6"]);
    ended(&world.prony(&["compare", "one.jsonl", "--fail-if", "inconclusive"]), 1, &["undecided"]);
    let refused = |line: &[&str], words: &[&str]| ended(&world.prony(line), 2, words);
    refused(&["compare"], &["Usage"]);
    refused(&["compare", "none.jsonl"], &["none.jsonl"]);
    refused(&["compare", "one.jsonl", "nobody"], &["neither a file nor a candidate", "base, head"]);
    refused(&["compare", "one.jsonl", "base", "nobody"], &["no measured candidate \"nobody\""]);
    refused(&["compare", "one.jsonl", "base", "base"], &["the same trials"]);
    refused(&["compare", "one.jsonl", "base", "head", "--candidate", "base"], &["named twice"]);
    refused(&["compare", "one.jsonl", "--fail-if", "slow"], &["no word of a verdict"]);
    refused(&["compare", "one.jsonl", "--margin", "p99"], &["there is no ="]);
    refused(&["compare", "one.jsonl", "--margin", "p98=2%"], &["none of the figures"]);
    refused(&["compare", "one.jsonl", "--margin", "p99=200%"], &["between 0 and 100%"]);
    // Another plan is another question.
    let url = TargetProcess::start(&["--capacity", "400/s"]);
    for connections in ["2", "3"] {
        let line = [
            "load",
            &url.url(),
            "-c",
            connections,
            "-d",
            "300ms",
            "-q",
            "-o",
            &format!("c{connections}.jsonl"),
        ];
        ended(&world.prony(&line), 0, &[]);
    }
    refused(
        &["compare", "c2.jsonl", "c3.jsonl"],
        &["not comparable", "connections is 2 there and 3 here", "--force"],
    );
    // Also where it stands in one log with the right one.
    for more in [&[][..], &["--no-keepalive"]] {
        let line = ["load", &url.url(), "-c", "2", "-d", "300ms", "-q", "-o", "both.jsonl"];
        ended(&world.prony(&[&line[..], more].concat()), 0, &[]);
    }
    refused(
        &["compare", "c2.jsonl", "both.jsonl"],
        &["not comparable", "keep-alive is true there and false here"],
    );
    let forced = world.prony(&["compare", "c2.jsonl", "c3.jsonl", "--force"]);
    ended(&forced, 0, &["NOT COMPARABLE", "connections is 2", "two runs", "drifted"]);
}

#[test]
fn a_load_is_held_to_thresholds() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "20ms"]);
    let url = target.url();
    let load = |slos: &[&str], more: &[&str]| {
        let flags: Vec<&str> = slos.iter().flat_map(|slo| ["--slo", slo]).collect();
        let line =
            [&["load", &url, "-c", "8", "-d", "1s", "--warmup", "0s"], flags.as_slice(), more].concat();
        world.prony(&line)
    };
    // The target answers after 20 ms: p50 is above 10 ms on any machine, and below 5 s on all.
    ended(&load(&["p50<5s", "errors<20%"], &["--json", "t.json"]), 0, &["MET", "p50<5s"]);
    let value: serde_json::Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(value["slo"][0]["slo"], "p50<5s");
    assert_eq!(value["slo"][0]["decision"], "met");
    assert!(value["slo"][0]["seen"].as_str().unwrap().contains("ms"));
    ended(&load(&["p50<10ms"], &["-q"]), 1, &["MISSED", "p50<10ms"]);
    ended(&load(&["errors<0.0001%"], &[]), 0, &["UNDECIDED", "requests or more"]);
    ended(&load(&["errors<0.0001%"], &["--strict"]), 1, &["UNDECIDED"]);
    ended(&load(&["p50<10"], &[]), 2, &["--slo", "no time"]);
    ended(&world.prony(&["load", &url, "--strict"]), 2, &["--slo"]);
}

#[test]
fn a_run_is_held_to_thresholds() {
    let world = World::new();
    let said = bench(
        &world,
        "r.jsonl",
        ["400/s", "400/s"],
        &["--blocks", "2", "--slo", "throughput>1", "--slo", "throughput>100k"],
    );
    ended(&said, 1, &["MET", "MISSED", "base under c4", "head under c4"]);
}

#[test]
fn blocks_are_added_until_the_precision_is_reached() {
    let world = World::new();
    // Half is asked for: limited targets are within it on any machine after the fewest blocks.
    let said = bench(&world, "r.jsonl", ["400/s", "400/s"], &["--precision", "50%"]);
    ended(&said, 0, &["precision reached", "1 + 2/n"]);
    let log = world.read("r.jsonl");
    let results = log.lines().filter(|line| line.starts_with("{\"type\":\"result\"")).count();
    assert!((10..60).contains(&results), "five blocks of two at least, and not all thirty: {results}");
    assert!(log.contains("precision_reached"));
    assert!(!said.out.contains("missing") && !said.out.contains("not run"), "{}", said.out);
    // Going on with it finds nothing to do.
    let before = log.matches("\"type\":\"result\"").count();
    let again = world.shell(&format!(
        "prony bench --candidate 'base={BINARY} target --port {{port}} --capacity 400/s' --candidate \
         'head={BINARY} target --port {{port}} --capacity 400/s' -c 4 -d 500ms --warmup 100ms -q --resume r.jsonl"
    ));
    ended(&again, 0, &["precision reached"]);
    assert_eq!(world.read("r.jsonl").matches("\"type\":\"result\"").count(), before);
    ended(&bench(&world, "x.jsonl", ["1/s", "1/s"], &["--precision", "0"]), 2, &["not a precision"]);
    ended(
        &bench(&world, "x.jsonl", ["1/s", "1/s"], &["--precision", "2%", "--blocks", "3"]),
        2,
        &["nothing to decide"],
    );
}

#[test]
fn what_was_not_reached_says_what_it_would_take() {
    let world = World::new();
    // As fast as this machine goes, which is never even to a thousandth.
    let said =
        bench(&world, "r.jsonl", ["1000000/s", "1000000/s"], &["--precision", "0.1%", "--blocks", "6"]);
    ended(&said, 0, &["Not within ±0.1 %", "twice the blocks would give"]);
}

#[test]
fn a_dry_run_forecasts_the_precision() {
    let world = World::new();
    let said = bench(&world, "r.jsonl", ["400/s", "400/s"], &["--dry-run"]);
    ended(&said, 0, &["precision  ratios of throughput to ±", "after 5 blocks", "assumed: trials vary by 3"]);
    let said = bench(&world, "r.jsonl", ["400/s", "400/s"], &["--dry-run", "--precision", "5%"]);
    ended(&said, 0, &["±5.0 % asked", "of 30 blocks"]);
    ended(&bench(&world, "r.jsonl", ["400/s", "400/s"], &["--blocks", "2"]), 0, &[]);
    let said = bench(&world, "n.jsonl", ["400/s", "400/s"], &["--dry-run", "--noise-of", "r.jsonl"]);
    ended(&said, 0, &["by the noise of r.jsonl", "over 2 blocks"]);
}

/// The check: 5 % between two limits is found, with −5 % inside the interval. Ignored by default,
/// since a machine that is busy with other builds does not carry 10,000 a second evenly.
#[test]
#[ignore = "needs a machine that carries 10,000 requests a second: cargo test -p prony --test cli -- --ignored"]
fn five_percent_between_two_limits_is_found() {
    let world = World::new();
    let candidate =
        |name: &str, rate: &str| format!("{name}={BINARY} target --port {{port}} --capacity {rate}");
    let (base, head) = (candidate("base", "10000/s"), candidate("head", "9500/s"));
    let line = [
        "bench",
        "--candidate",
        &base,
        "--candidate",
        &head,
        "-c",
        "50",
        "-d",
        "2s",
        "--blocks",
        "6",
        "-o",
        "r.jsonl",
    ];
    ended(&world.prony(&line), 0, &[]);
    ended(&world.prony(&["compare", "r.jsonl", "--format", "json", "-o", "c.json"]), 0, &[]);
    let value: serde_json::Value = serde_json::from_str(&world.read("c.json")).unwrap();
    let throughput = &value[0]["plans"][0]["figures"][0];
    assert_eq!(throughput["finding"], "slower", "{throughput}");
    let end = |name: &str| throughput["ratio"][name].as_f64().unwrap();
    assert!(end("ci_low") <= 0.95 && 0.95 <= end("ci_high"), "{throughput}");
}

/// A/A: the same target twice is equivalent, or these trials don't say. Held to differences of 20 %, so that
/// no machine is too busy for it; simulation holds the rule to 2 % (docs/benchmarks).
#[test]
fn equals_are_not_told_apart() {
    let world = World::new();
    ended(&bench(&world, "r.jsonl", ["300/s", "300/s"], &["--blocks", "5"]), 0, &[]);
    let line = ["compare", "r.jsonl", "--margin", "throughput=20%", "--format", "json", "-o", "c.json"];
    ended(&world.prony(&line), 0, &[]);
    let value: serde_json::Value = serde_json::from_str(&world.read("c.json")).unwrap();
    let finding = value[0]["plans"][0]["figures"][0]["finding"].as_str().unwrap().to_owned();
    assert!(["equivalent", "inconclusive"].contains(&finding.as_str()), "{finding}");
}
