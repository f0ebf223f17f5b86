//! `--replay`: the requests of a log at their own instants, counted against the target's ledger.

use serde_json::Value;

use crate::needs::has_nats_server;
use crate::world::{Said, TargetProcess, World};

/// A line of a combined log, so many milliseconds after noon.
fn line(ms: u64, request: &str) -> String {
    let (s, ms) = (ms / 1_000, ms % 1_000);
    format!(
        "192.0.2.1 - - [28/Nov/2026:12:00:{s:02}.{ms:03} +0000] \"{request} HTTP/1.1\" 200 5 \"-\" \"a\"\n"
    )
}

/// 60 requests over 590 ms, out of order, of which 12 are by POST; and two lines that have none.
fn log() -> String {
    let requests = ["GET /", "GET /json", "HEAD /", "GET /json", "POST /echo"];
    let of = |i: u64| line((i ^ 1) * 10, requests[i as usize % 5]);
    (0..60).map(of).collect::<String>() + &line(300, "-") + &line(301, "\\x16\\x03")
}

fn json(world: &World, said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&world.read("t.json")).unwrap()
}

#[test]
fn each_request_of_a_log_agrees_with_the_ledger() {
    let world = World::new();
    world.write("access.log", &log());
    for (flags, by_path, sent) in [
        (&[][..], (24, 24, 0), 48),
        (&["-t", "3", "--speed", "2", "--http2"], (24, 24, 0), 48),
        (&["--methods", "GET,HEAD,POST"], (24, 24, 12), 60),
        (&["--loop", "-n", "144", "--speed", "4", "-t", "2"], (72, 72, 0), 144),
        (&["-n", "4"], (2, 2, 0), 4),
    ] {
        let target = TargetProcess::start(&[]);
        let url = target.url();
        let load = ["load", &url, "--replay", "access.log", "--json", "t.json", "-o", "r.jsonl"];
        let said = world.prony(&[&load[..], flags].concat());
        let json = json(&world, &said);
        target.wait_for_requests(sent);
        let ledger = target.ledger();
        assert_eq!(ledger["requests_received"], sent, "{flags:?}");
        let of = |path: &str| ledger["requests_by_path"][path].as_u64().unwrap_or(0);
        assert_eq!((of("/"), of("/json"), of("/echo")), by_path, "{flags:?}");
        assert_eq!(json["run_total"]["sent"], sent, "{flags:?}");
        let requests = &json["requests"];
        assert_eq!((&requests["scheduled"], &requests["never_sent"]), (&sent.into(), &0.into()));
        let broken = json["verdict"]["reasons"].as_array().unwrap().iter().any(|r| r["code"] == "arithmetic");
        assert!(!broken, "{json}");
        let plan = &json["plan"];
        assert_eq!((&plan["arrivals"], &plan["rate_per_s"]), (&"replay".into(), &Value::Null));
        assert_eq!(plan["replay"]["left_out"]["no_request"], 2, "{plan}");
        assert!(json["throughput"]["requests_per_s"]["ci95"].is_null(), "{json}");
        assert!(said.err.contains("The log has no headers and no bodies"), "{}", said.err);
        // Read from its log it is the same.
        let kept = world.lines("r.jsonl", "result").pop().unwrap();
        assert_eq!(kept["trial"], json, "{flags:?}");
        assert!(world.lines("r.jsonl", "header")[0]["reproduce"].as_str().is_some());
    }
}

#[test]
fn a_replay_takes_as_long_as_its_log_and_says_what_it_is() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    world.write("access.log", &log());
    let said = world.prony(&["load", &target.url(), "--replay", "access.log", "--json", "t.json"]);
    let json = json(&world, &said);
    // Its last request is due 590 ms after the first, and no load ends before that.
    assert!(json["window"]["duration_ns"].as_u64().unwrap() >= 590_000_000, "{json}");
    assert!(
        said.out.replace('\n', " ").contains(
            "3 requests of 48 lines of a log · 100 connections, replay of 590ms, 14 lines left out"
        ),
        "{}",
        said.out
    );
    assert!(said.out.contains(" due 48 = completed 48"), "{}", said.out);
    let lost = "Lines left out: 12 POST, 2 no request (see --methods).";
    assert!(said.err.contains(lost), "{}", said.err);
    let replay = &json["plan"]["replay"];
    assert_eq!((&replay["entries"], &replay["length_ns"]), (&48.into(), &590_000_000.into()));
    assert_eq!(replay["left_out"], serde_json::json!({"POST": 12, "no_request": 2}));
}

#[test]
fn wrong_lines_of_a_log_are_named_and_nothing_is_sent() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    world.write("access.log", &(log() + "what is this\n" + &line(0, "GET /") + "[\n"));
    let refused = |flags: &[&str], words: &[&str]| {
        let said = world.prony(&[&["load", &target.url(), "--replay", "access.log"], flags].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        words.iter().for_each(|word| assert!(said.err.contains(word), "{word}: {}", said.err));
    };
    refused(
        &[],
        &["--replay access.log, line 63: It is no line of an access log", "--replay access.log, line 65:"],
    );
    refused(&["-R", "5"], &["-R cannot be used with --replay"]);
    let said = world.prony(&["load", "--replay", "access.log"]);
    assert!(said.code == Some(2) && said.err.contains("give its URL"), "{said:?}");
    assert_eq!(target.ledger()["requests_received"], 0);
}

#[test]
fn agents_replay_one_log_together() {
    if !has_nats_server("a replay by a fleet") {
        return;
    }
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    world.write("access.log", &log());
    let url = target.url();
    let fleet =
        ["--fleet", "local:3", "-c", "30", "--loop", "-n", "480", "--speed", "10", "-q", "--json", "t.json"];
    let said = world.prony(&[&["load", &url, "--replay", "access.log"], &fleet[..]].concat());
    let json = json(&world, &said);
    target.wait_for_requests(480);
    let ledger = target.ledger();
    let paths = &ledger["requests_by_path"];
    assert_eq!((&paths["/"], &paths["/json"]), (&240.into(), &240.into()));
    assert_eq!(crate::fleet::sum(&json, "run_sent"), 480);
}
