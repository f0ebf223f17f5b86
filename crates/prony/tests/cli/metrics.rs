//! `--metrics`: a run's figures over HTTP while it goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};

use crate::grammar::{self, Read as Metrics};
use crate::world::{TargetProcess, World, wait_until};

/// An answer's head and body.
fn get(address: &str, path: &str, host: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

pub fn scrape(address: &str) -> Metrics {
    let (head, body) = get(address, "/metrics", address);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
    grammar::read(&body).unwrap()
}

/// Where a command says that its metrics are, and the rest of its stderr, which has to stay open.
pub fn address_of(command: &mut Child) -> (String, BufReader<ChildStderr>) {
    let mut said = BufReader::new(command.stderr.take().unwrap());
    loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "no address was said");
        if let Some(rest) = line.strip_prefix("Metrics: http://") {
            return (rest.trim().strip_suffix("/metrics").unwrap().to_owned(), said);
        }
    }
}

fn completed(read: &Metrics) -> f64 {
    read.value("prony_requests_total", &[("result", "completed")]).unwrap_or(0.0)
}

pub fn wait_for_completed(address: &str) {
    wait_until("a request is completed", || completed(&scrape(address)) > 0.0);
}

#[test]
fn metrics_of_a_load_are_served_while_it_runs() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let line = ["load", &target.url(), "-R", "500", "-d", "600s", "--warmup", "0", "-q", "--metrics", ":0"];
    let mut load = world.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (address, said) = address_of(&mut load);
    assert!(address.starts_with("127.0.0.1:"), "a port alone is this machine's: {address}");
    let mut read = scrape(&address);
    wait_until("a second has ended", || {
        let next = scrape(&address);
        assert!(completed(&next) >= completed(&read), "a counter fell");
        read = next;
        read.value("prony_last_second_response_p50_seconds", &[]).is_some()
    });
    assert!(completed(&read) > 0.0);
    assert_eq!(read.value("prony_requests_total", &[("result", "failed")]), Some(0.0));
    assert_eq!(read.value("prony_rate_asked_requests_per_second", &[]), Some(500.0));
    assert!(read.value("prony_last_second_response_p50_seconds", &[]).unwrap() > 0.0);
    assert!(read.value("prony_requests_in_flight", &[]).unwrap() <= 100.0);
    assert!(get(&address, "/", &address).0.starts_with("HTTP/1.1 404 "));
    assert!(get(&address, "/metrics", "evil.example").0.starts_with("HTTP/1.1 403 "));
    load.kill().unwrap();
    load.wait().unwrap();
    drop(said);
}

#[test]
fn metrics_name_the_running_trial_and_count_finished_ones() {
    let world = World::new();
    let (a, b) = (TargetProcess::start(&[]), TargetProcess::start(&[]));
    let (a, b) = (format!("one={}", a.url()), format!("two={}", b.url()));
    let line = ["bench", "--candidate", &a, "--candidate", &b, "-d", "200ms", "--warmup", "0", "-c", "2"];
    // More blocks than anybody waits for: it does not end between two looks.
    let more = ["--blocks", "1000", "-q", "-o", "r.jsonl", "--metrics", "127.0.0.1:0"];
    let mut bench = world
        .command(&[&line[..], &more].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (address, said) = address_of(&mut bench);
    wait_until("a trial is under way after another's end", || {
        let read = scrape(&address);
        let done: f64 = read.all("prony_trials_total").iter().map(|(_, n)| n).sum();
        let now = read.all("prony_trial_under_way_info");
        if done < 1.0 || now.is_empty() {
            return false;
        }
        assert_eq!(read.value("prony_trials_to_run", &[]), Some(2000.0));
        assert!(["one", "two"].contains(&now[0].0["candidate"].as_str()) && now[0].0["plan"] == "c2");
        true
    });
    bench.kill().unwrap();
    bench.wait().unwrap();
    drop(said);
}

#[test]
fn an_invalid_metrics_address_is_refused_before_the_load() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let said = world.prony(&["load", &target.url(), "-n", "10", "--metrics", "nowhere"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("is not an address"), "{said:?}");
    let taken = target.address.to_string();
    let said = world.prony(&["load", &target.url(), "-n", "10", "--metrics", &taken]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--metrics cannot listen on"), "{said:?}");
    assert_eq!(target.ledger()["requests_received"], 0);
}
