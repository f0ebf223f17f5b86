//! Servers that misbehave under `prony bench`: each is seen, said and survived, and leaves nothing.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::lab::Lab;
use crate::world::{Said, processes_naming, serve, wait_until};

fn reason<'a>(result: &'a Value, code: &str) -> Option<&'a Value> {
    result["trial"]["verdict"]["reasons"].as_array()?.iter().find(|reason| reason["code"] == code)
}

/// A text without what wraps its lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Trials of so many requests, however long they take.
const MANY: &str = "connections = 4\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 20000\n";
const SOME: &str = "connections = 4\nduration = \"1h\"\nwarmup = \"0s\"\nrequests = 2000\n";

#[test]
fn a_server_killed_during_a_trial_makes_it_invalid() {
    let lab = Lab::new("die", "", SOME);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let died = reason(&result, "server_died").unwrap();
    assert_eq!(died["effect"], "invalid");
    assert!(died["detail"].as_str().unwrap().starts_with("die was ended by signal 9 while it was loaded"));
    assert!(words(&said.out).contains("server died in 1 of 1 trial"), "{}", said.out);
    lab.assert_nothing_left();
}

#[test]
fn only_a_restarted_worker_makes_the_trial_invalid() {
    let lab = Lab::new("restart", "", SOME);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let restarted = reason(&result, "server_restarted").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(
        (&restarted["effect"], &result["trial"]["verdict"]["validity"]),
        (&"invalid".into(), &"invalid".into())
    );
    let detail = restarted["detail"].as_str().unwrap();
    assert!(detail.starts_with("1 process of restart ended and another took its place: "), "{detail}");
    assert!(words(&said.out).contains("server restarted in 1 of 1 trial"), "{}", said.out);
    lab.assert_nothing_left();

    // The same server once more: its worker has had its accident, and lives.
    fs::remove_file(lab.world.path("r.jsonl")).unwrap();
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let result = lab.result();
    assert_eq!((reason(&result, "server_restarted"), reason(&result, "worker_lost")), (None, None));
    lab.assert_nothing_left();
}

#[test]
fn a_server_that_re_executes_itself_makes_the_trial_invalid() {
    let lab = Lab::new("anew", "", SOME);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let restarted = reason(&result, "server_restarted").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(restarted["effect"], "invalid");
    let detail = restarted["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("1 process of anew ended and another took its place: ")
            && detail.contains("by itself, executed anew"),
        "{detail}"
    );
    lab.assert_nothing_left();
}

#[test]
fn a_restarted_worker_of_a_recycling_recipe_is_a_note() {
    let lab = Lab::new("restart", "recycles = true\n", SOME);
    lab.bench();
    let result = lab.result();
    assert_eq!(reason(&result, "server_restarted").unwrap()["effect"], "note", "{result}");
    lab.assert_nothing_left();
}

/// The test takes the port between its choice and the server's bind, and answers rightly.
#[test]
fn another_process_on_the_servers_port_is_not_loaded() {
    let lab = Lab::new("squatted", "", SOME);
    let bench = lab.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let told = lab.world.path("meet/port");
    wait_until("the server begins", || told.exists());
    let port: u16 = fs::read_to_string(&told).unwrap().parse().unwrap();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";
    serve(port, move |mut stream| {
        let mut piece = [0; 4096];
        while stream.read(&mut piece).is_ok_and(|n| n > 0) && stream.write_all(answer).is_ok() {}
    });
    fs::write(lab.world.path("meet/taken"), "").unwrap();
    let said: Said = bench.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    assert_eq!(result["trial"], Value::Null, "nothing was loaded");
    let failure = result["failure"].as_str().unwrap();
    let expected =
        format!("squatted was not loaded: its port {port} was taken by process {} (", std::process::id());
    assert!(failure.starts_with(&expected), "{failure}");
    lab.assert_nothing_left();
}

#[test]
fn one_wrong_response_in_ten_thousand_makes_the_trial_invalid() {
    let lab = Lab::new("wrong", "", MANY);
    let said = lab.bench();
    assert_eq!(said.code, Some(3), "{said:?}");
    let result = lab.result();
    let wrong = reason(&result, "wrong_answer").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(wrong["effect"], "invalid");
    // 20,000 requests and those of the check: the 10,000th and the 20,000th are wrong.
    let mismatches = result["trial"]["errors"]["body_mismatch"].as_u64().unwrap();
    assert!((1..=2).contains(&mismatches), "{mismatches}");
    assert!(words(&said.out).contains("wrong answer in 1 of 1 trial"), "{}", said.out);
    lab.assert_nothing_left();
}

#[test]
fn daemons_are_measured_and_ended() {
    let lab = Lab::new("daemon", "", MANY);
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let result = lab.result();
    assert_eq!(result["trial"]["requests"]["completed"], 20_000, "{result}");
    // The one that serves and the one that sleeps, both in sessions of their own.
    assert_eq!(result["server"]["processes"], 2, "{}", result["server"]);
    assert!(result["server"]["window_cpu_ns"].as_u64().unwrap() > 0);
    lab.assert_nothing_left();
}

#[test]
fn a_server_that_ignores_sigterm_is_killed_and_reported() {
    let lab = Lab::new("deaf", "", SOME);
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let events = lab.world.lines("r.jsonl", "event");
    let killed = events.iter().find(|event| event["what"] == "killed").unwrap();
    let expected = "deaf did not end within 3s of SIGTERM and was ended by SIGKILL.";
    assert_eq!(killed["detail"], expected);
    lab.assert_nothing_left();
}

#[test]
fn a_memory_leak_is_measured_and_reported() {
    // 64 KiB for every fourth request: 20,000 requests keep 320 MB.
    let lab = Lab::new("leak", "", MANY);
    let said = lab.bench();
    assert_eq!(said.code, Some(0), "{said:?}");
    let result = lab.result();
    let rss: Vec<u64> = result["server"]["columns"]["rss_bytes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    assert!(rss.last().unwrap() - rss.first().unwrap() > 200_000_000, "{rss:?}");
    assert!(result["server"]["peak_memory_bytes"].as_u64().unwrap() > 200_000_000);
    // Whether the samples show a trend is how many there are (prony-analysis, verdict/server.rs); if they do, it is a note.
    if let Some(grows) = reason(&result, "memory_grows") {
        assert_eq!(grows["effect"], "note");
        assert!(grows["detail"].as_str().unwrap().contains("MB a second"), "{grows}");
    }
    // What the machine did, beside it.
    let seen = &result["trial"]["monitor"];
    let spans = seen["at_ms"].as_array().unwrap().len();
    assert!(spans > 0 && seen["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()), "{seen}");
    assert_eq!(seen["memory_used_bytes"].as_array().unwrap().len(), spans);
    lab.assert_nothing_left();
}

#[test]
fn a_second_bench_waits_for_the_first_and_names_it() {
    let first = Lab::new("daemon", "", "connections = 1\nduration = \"1h\"\nwarmup = \"0s\"\n");
    let turn = first.world.path("turn");
    let mut running = first.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the first bench takes its turn", || prony_host::bench_lock::holder(&turn).is_some());
    let second = Lab::new("daemon", "", SOME);
    let in_turn = |flags: &[&str]| {
        let mut command = second.command();
        command.args(flags).env(prony_host::bench_lock::VARIABLE, &turn);
        command
    };
    let refused: Said = in_turn(&["--wait", "0"]).output().unwrap().into();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let who = format!("process {}, \"e\"", running.id());
    assert!(
        refused.err.contains("another bench runs on this machine") && refused.err.contains(&who),
        "{refused:?}"
    );
    assert!(!second.world.path("r.jsonl").exists(), "nothing was begun");
    // A load beside it is told.
    let mut load = second.world.command(&["load", "-n", "10", "-q"]);
    let said: Said = load.env(prony_host::bench_lock::VARIABLE, &turn).output().unwrap().into();
    assert!(said.code == Some(0) && said.err.contains("A bench runs on this machine"), "{said:?}");
    // Unasked, it waits; the first one's end, even by SIGKILL, is its turn.
    let mut waiting = in_turn(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut waits = String::new();
    let mut told = BufReader::new(waiting.stderr.take().unwrap());
    while !waits.contains("Another bench runs on this machine") {
        assert!(told.read_line(&mut waits).unwrap() > 0, "it does not say that it waits: {waits}");
    }
    assert!(waits.contains(&who), "{waits}");
    running.kill().unwrap();
    running.wait().unwrap();
    let said: Said = waiting.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("under load for") && said.out.contains("% of the time, warm-ups included"),
        "{}",
        said.out
    );
    second.assert_nothing_left();
    let mark = first.world.path("meet").display().to_string();
    wait_until("the killed bench's server is gone", || processes_naming(&mark).is_empty());
}
