//! `prony compare`, `--slo` and `--precision` as a user meets them. Verdicts are over figures that a test writes into a run
//! log; how often verdicts over measured ones are right is simulated (`cargo xtask coverage`).

use crate::lab::Lab;
use crate::world::{BINARY, Said, TargetProcess, World};

/// Two servers that take 2 ms for each answer, by their own clocks, and trials of forty requests, however long they take.
fn lab() -> Lab {
    let plan = "connections = 4\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 40\n";
    Lab::of(&["base", "head"], "slow", 1, "", plan)
}

fn bench(lab: &Lab, flags: &[&str]) -> Said {
    lab.command_with(&[&["-o", "r.jsonl"], flags].concat()).output().unwrap().into()
}

/// A run of two commands.
fn bench_of_commands(world: &World, log: &str, flags: &[&str]) -> Said {
    let candidate = |name: &str| format!("{name}={BINARY} target --port {{port}}");
    let (a, b) = (candidate("base"), candidate("head"));
    let line = ["bench", "--candidate", &a, "--candidate", &b, "-o", log, "-q"];
    world.prony(&[&line[..], &["-c", "4", "-d", "200ms", "--warmup", "0"], flags].concat())
}

/// These requests per second, which differ by a few in a thousand from trial to trial, and the median of four connections.
fn around(rate_per_s: f64, nth: usize) -> (f64, u64) {
    let rate_per_s = rate_per_s * [1.0, 1.003, 0.998, 1.001][nth % 4];
    (rate_per_s, (4e9 / rate_per_s) as u64)
}

/// The first figure of a comparison: throughput.
fn throughput(world: &World, flags: &[&str]) -> serde_json::Value {
    let line = ["compare", "r.jsonl", "base", "head", "--format", "json", "-o", "c.json"];
    ended(&world.prony(&[&line, flags].concat()), 0, &["c.json"]);
    let value: serde_json::Value = serde_json::from_str(&world.read("c.json")).unwrap();
    assert_eq!(
        (value[0]["schema"].as_str(), value[0]["paired"].as_bool()),
        (Some("prony.comparison/1"), Some(true))
    );
    let throughput = value[0]["plans"][0]["figures"][0].clone();
    assert_eq!(throughput["figure"], "throughput");
    throughput
}

#[track_caller]
fn ended(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, Some(code), "{said:?}");
    for word in words {
        assert!(said.out.contains(word) || said.err.contains(word), "{word:?} is missing: {said:?}");
    }
}

#[test]
fn half_the_throughput_is_slower_in_every_format_and_fail_if() {
    let lab = lab();
    let world = &lab.world;
    ended(&bench(&lab, &["--blocks", "4"]), 0, &[]);
    world.set_figures("r.jsonl", |name, nth| around(if name == "base" { 400.0 } else { 200.0 }, nth));
    let said = world.prony(&["compare", "r.jsonl"]);
    ended(&said, 0, &["head is slower than base", "SLOWER", "4 blocks of", "alternation", "A/A"]);
    ended(&world.prony(&["compare", "r.jsonl", "head", "base"]), 0, &["base is faster than head", "FASTER"]);
    let markdown = world.prony(&["compare", "r.jsonl", "--format", "markdown"]);
    ended(&markdown, 0, &["### head against base", "| req/s |", "**SLOWER**", "<details>"]);
    assert!(markdown.out.starts_with("**head is slower than base: throughput"), "{markdown:?}");
    // Every view of the run itself begins so, too.
    let said = world.prony(&["report", "r.jsonl", "--format", "terminal"]);
    assert!(said.out.starts_with("head is slower than base: throughput"), "{said:?}");
    let shown =
        |flag: &[&str]| world.prony(&[&["compare", "r.jsonl"], flag].concat()).out.contains("start-up ms");
    assert!(!shown(&[]) && shown(&["--all"]));
    let found = throughput(world, &[]);
    assert_eq!(found["finding"], "slower", "{found}");
    assert!(found["noise"]["half_width"].as_f64().unwrap() > 0.0, "{found}");
    ended(
        &world.prony(&["compare", "r.jsonl", "--fail-if", "slower"]),
        1,
        &["--fail-if", "throughput under c4 is slower"],
    );
    ended(&world.prony(&["compare", "r.jsonl", "--fail-if", "throughput<-20%"]), 1, &["changed by < -20 %"]);
    ended(&world.prony(&["compare", "r.jsonl", "--fail-if", "throughput<-90%"]), 0, &[]);
    ended(&world.prony(&["compare", "r.jsonl", "head", "base", "--fail-if", "slower"]), 0, &[]);

    // 5 % between two is found, with −5 % inside the interval.
    world.set_figures("r.jsonl", |name, nth| {
        around(if name == "base" { 10_000.0 } else { 9_500.0 }, if name == "base" { nth } else { nth + 1 })
    });
    let found = throughput(world, &[]);
    assert_eq!(found["finding"], "slower", "{found}");
    let end = |name: &str| found["ratio"][name].as_f64().unwrap();
    assert!(end("ci_low") <= 0.95 && 0.95 <= end("ci_high"), "{found}");

    // A/A: the same twice is equivalent.
    world.set_figures("r.jsonl", |name, nth| around(300.0, if name == "base" { nth } else { nth + 1 }));
    let found = throughput(world, &["--margin", "throughput=2%"]);
    assert_eq!(found["finding"], "equivalent", "{found}");
}

#[test]
fn incomparable_runs_and_wrong_flags_are_refused() {
    let world = World::new();
    ended(&bench_of_commands(&world, "one.jsonl", &["--blocks", "1"]), 0, &[]);
    let one = world.prony(&["compare", "one.jsonl", "--fail-if", "slower"]);
    ended(
        &one,
        4,
        &["NOT JUDGED", "no verdict", "one trial each", "Next  prony bench --candidate 'base=", "--blocks 6"],
    );
    ended(&world.prony(&["compare", "one.jsonl", "--fail-if", "inconclusive"]), 1, &["undecided"]);
    let refused = |line: &[&str], words: &[&str]| ended(&world.prony(line), 2, words);
    refused(&["compare"], &["Usage"]);
    refused(&["compare", "none.jsonl"], &["none.jsonl"]);
    refused(&["compare", "one.jsonl", "nobody"], &["neither a file nor a candidate", "base, head"]);
    refused(&["compare", "one.jsonl", "base", "nobody"], &["no measured candidate \"nobody\""]);
    refused(&["compare", "one.jsonl", "base", "base"], &["the same trials"]);
    refused(&["compare", "one.jsonl", "base", "head", "--candidate", "base"], &["named twice"]);
    refused(&["compare", "one.jsonl", "--fail-if", "slow"], &["not a verdict"]);
    refused(&["compare", "one.jsonl", "--margin", "p99"], &["there is no ="]);
    refused(&["compare", "one.jsonl", "--margin", "p98=2%"], &["not one of the figures"]);
    refused(&["compare", "one.jsonl", "--margin", "p99=200%"], &["between 0 and 100%"]);
    // Another plan is another question.
    let url = TargetProcess::start(&[]);
    for connections in ["2", "3"] {
        let line =
            ["load", &url.url(), "-c", connections, "-n", "40", "-q", "-o", &format!("c{connections}.jsonl")];
        ended(&world.prony(&line), 0, &[]);
    }
    refused(
        &["compare", "c2.jsonl", "c3.jsonl"],
        &["not comparable", "connections is 2 in one and 3 in the other", "--force"],
    );
    // Also where it stands in one log with the right one.
    for more in [&[][..], &["--no-keepalive"]] {
        let line = ["load", &url.url(), "-c", "2", "-n", "40", "-q", "-o", "both.jsonl"];
        ended(&world.prony(&[&line[..], more].concat()), 0, &[]);
    }
    refused(
        &["compare", "c2.jsonl", "both.jsonl"],
        &["not comparable", "keep-alive is true in one and false in the other"],
    );
    let forced = world.prony(&["compare", "c2.jsonl", "c3.jsonl", "--force"]);
    ended(&forced, 0, &["NOT COMPARABLE", "connections is 2", "two runs", "may have changed"]);
}

#[test]
fn thresholds_of_a_load_decide_its_exit_code() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "20ms"]);
    let url = target.url();
    let load = |slos: &[&str], more: &[&str]| {
        let flags: Vec<&str> = slos.iter().flat_map(|slo| ["--slo", slo]).collect();
        world.prony(&[&["load", &url, "-c", "2", "-n", "400"], flags.as_slice(), more].concat())
    };
    // Two connections take four seconds: under two, a window does not show how requests depend on each other.
    // The target answers after 20 ms: no median is below that; and a request that takes longer than ten seconds has failed.
    ended(&load(&["p50<60s", "errors<20%"], &["--json", "t.json"]), 0, &["MET", "p50<60s"]);
    let value: serde_json::Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(value["slo"][0]["slo"], "p50<60s");
    assert_eq!(value["slo"][0]["decision"], "met");
    assert!(value["slo"][0]["seen"].as_str().unwrap().contains("ms"));
    ended(&load(&["p50<10ms"], &["-q"]), 1, &["MISSED", "p50<10ms"]);
    ended(&load(&["errors<0.0001%"], &[]), 0, &["UNDECIDED", "requests or more"]);
    ended(&load(&["errors<0.0001%"], &["--strict"]), 1, &["UNDECIDED"]);
    ended(&load(&["p50<10"], &[]), 2, &["--slo", "not a time"]);
    ended(&world.prony(&["load", &url, "--strict"]), 2, &["--slo"]);
}

#[test]
fn thresholds_of_a_run_decide_its_exit_code() {
    // One block, so that nothing is to be known of how one trial differs from the next.
    let said = bench(&lab(), &["--blocks", "1", "--slo", "errors<50%", "--slo", "p50<100us"]);
    ended(&said, 1, &["MET", "MISSED", "base under c4", "head under c4"]);
}

#[test]
fn a_gate_does_not_pass_unmeasured() {
    let lab = lab();
    let world = &lab.world;
    // Forty requests have no p99.
    let said = bench(&lab, &["--blocks", "2", "--slo", "p99<60s", "--slo", "errors<50%"]);
    ended(&said, 4, &[]);
    assert!(said.out.starts_with("NOT JUDGED  p99<60s: base under c4: "), "{said:?}");
    let again = ["--resume", "r.jsonl", "--slo", "p99<60s", "--slo", "max<1ns"];
    ended(&lab.command_with(&again).output().unwrap().into(), 1, &["NOT JUDGED", "MISSED"]);
    let said = world.prony(&["compare", "r.jsonl", "--fail-if", "p99>+5%"]);
    ended(&said, 4, &["Not judged: --fail-if: p99 under c4: 2 of 2 trials have no p99"]);
    assert!(said.out.starts_with("NOT JUDGED  --fail-if: p99 under c4"), "{said:?}");
    let said = world.prony(&["compare", "r.jsonl", "--fail-if", "p99>+5%", "--format", "markdown"]);
    assert!(said.code == Some(4) && said.out.starts_with("**NOT JUDGED**"), "{said:?}");
    ended(&world.prony(&["compare", "r.jsonl", "--fail-if", "p99>+5%,inconclusive"]), 1, &["NOT JUDGED"]);
    ended(&world.prony(&["compare", "r.jsonl", "--fail-if", "throughput<-99%"]), 0, &[]);
    bench_of_commands(world, "one.jsonl", &["--blocks", "1"]);
    let said = world.prony(&["compare", "one.jsonl", "--fail-if", "slower"]);
    ended(&said, 4, &["Not judged: --fail-if: throughput under c4: one block has no interval"]);
}

#[test]
fn a_threshold_without_a_figure_is_said_first_and_ends_with_4() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let load = |flags: &[&str]| world.prony(&[&["load", &url, "-c", "2", "-n", "40"], flags].concat());
    for flags in
        [&["--slo", "p99<60s"][..], &["--slo", "p99<60s", "-q"], &["--slo", "p99<60s", "--repeat", "2", "-q"]]
    {
        let said = load(flags);
        assert!(said.code == Some(4) && said.out.starts_with("NOT JUDGED  p99<60s: "), "{said:?}");
    }
    let said = load(&["--slo", "memory<1GB", "--slo", "p50<60s"]);
    assert!(said.code == Some(4) && said.out.starts_with("NOT JUDGED  memory<1GB: not measured"), "{said:?}");
    ended(&load(&["--slo", "p99<60s", "--slo", "p50<1ns"]), 1, &["NOT JUDGED", "MISSED"]);
    let said = load(&["--slo", "p99<60s", "--json", "-"]);
    let trial: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert!(said.code == Some(4) && trial["slo"][0]["not_judged"] == true, "{said:?}");
    // Nothing valid was measured comes before.
    let nowhere = format!("{url}nowhere");
    for flags in [&["-q"][..], &[]] {
        let line = [&["load", &nowhere, "-c", "2", "-n", "40", "--slo", "memory<1GB"], flags].concat();
        let said = world.prony(&line);
        assert_eq!(said.code, Some(3), "{said:?}");
        let first =
            said.out.lines().find(|line| !line.starts_with("NOT JUDGED") && !line.starts_with(' ')).unwrap();
        assert!(first.contains("40 of 40; every response has status 404"), "{said:?}");
        assert!(!said.out.contains("last longer"), "{said:?}");
    }
    let every = world.prony(&["load", &nowhere, "-c", "2", "-n", "40", "--repeat", "2", "-q"]);
    assert!(every.out.lines().next().unwrap().contains("every response has status 404"), "{every:?}");
    let search = world.prony(&["capacity", &nowhere, "-c", "2", "-d", "200ms", "-q"]);
    assert!(
        search.code == Some(3) && search.out.contains("sustained: every response has status 404"),
        "{search:?}"
    );
}

/// The run log's text up to so many results, and without what was found then.
fn cut(text: &str, results: usize) -> String {
    let mut seen = 0;
    let mut kept = String::new();
    for line in text.lines().filter(|line| !line.contains("precision_reached")) {
        kept.push_str(line);
        kept.push('\n');
        seen += usize::from(line.starts_with("{\"type\":\"result\""));
        if seen == results {
            break;
        }
    }
    kept
}

#[test]
fn blocks_are_added_until_the_precision_is_reached() {
    let lab = lab();
    let world = &lab.world;
    let said = bench(&lab, &["--precision", "50%", "--blocks", "6"]);
    ended(&said, 0, &[]);
    let results = || world.lines("r.jsonl", "result").len();
    // Whether five blocks are enough is the machine's to say; that they are the fewest and six the most is not.
    let reached = said.out.contains("precision reached");
    assert_eq!(world.read("r.jsonl").contains("precision_reached"), reached, "{said:?}");
    assert!(results() == 10 || results() == 12, "{}", results());
    // After the last block it may be reached as well, or not: then that is said.
    assert!(reached || results() == 12, "{said:?}");
    assert!(!said.out.contains("missing") && !said.out.contains("not run"), "{}", said.out);
    let five_blocks = cut(&world.read("r.jsonl"), 10);
    let resume = || Said::from(lab.command_with(&["--resume", "r.jsonl"]).output().unwrap());
    // Five blocks that say it: going on finds nothing to do.
    world.write("r.jsonl", &five_blocks);
    world.set_figures("r.jsonl", |_, nth| around(400.0, nth));
    ended(&resume(), 0, &["precision reached", "1 + 2/n"]);
    assert_eq!(results(), 10);
    // Five that are at odds with each other: the sixth is run, and is the last that may.
    world.write("r.jsonl", &five_blocks);
    world.set_figures("r.jsonl", |name, nth| {
        around(if (name == "base") == (nth % 2 == 0) { 100.0 } else { 10_000.0 }, nth)
    });
    ended(&resume(), 0, &["Not within ±50 %"]);
    assert_eq!(results(), 12);
}

#[test]
fn an_invalid_precision_is_refused() {
    let world = World::new();
    let refused = |flags: &[&str], words: &[&str]| {
        ended(&bench_of_commands(&world, "x.jsonl", flags), 2, words);
    };
    refused(&["--precision", "0"], &["not a precision"]);
    refused(&["--precision", "2%", "--blocks", "3"], &["too few for --precision"]);
}

#[test]
fn a_dry_run_forecasts_the_precision() {
    let lab = lab();
    let dry = |flags: &[&str]| bench_of_commands(&lab.world, "n.jsonl", &[&["--dry-run"], flags].concat());
    ended(
        &dry(&[]),
        0,
        &["precision  of throughput ratios: ±", "after 5 blocks", "assuming that trials vary by 3"],
    );
    ended(&dry(&["--precision", "5%"]), 0, &["±5.0 % requested", "of 30 blocks"]);
    ended(&bench(&lab, &["--blocks", "2"]), 0, &[]);
    ended(&dry(&["--noise-of", "r.jsonl"]), 0, &["by the noise of r.jsonl", "over 2 blocks"]);
}
