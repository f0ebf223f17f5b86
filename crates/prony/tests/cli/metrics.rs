//! `--metrics`: a run's figures over HTTP while it goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use crate::grammar::{self, Read as Metrics};
use crate::world::{TargetProcess, World};

/// An answer's head and body.
fn get(address: &str, path: &str, host: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn scrape(address: &str) -> Metrics {
    let (head, body) = get(address, "/metrics", address);
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
    grammar::read(&body).unwrap()
}

#[test]
fn a_load_is_read_while_it_runs() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let line = ["load", &target.url(), "-R", "500", "-d", "100s", "--warmup", "0", "-q", "--metrics", ":0"];
    let mut load = world.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(load.stderr.take().unwrap()).lines().map_while(Result::ok);
    let url = said.find_map(|line| line.strip_prefix("Metrics: http://").map(str::to_owned)).unwrap();
    let address = url.strip_suffix("/metrics").unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "a port alone is this machine's: {address}");
    let completed =
        |read: &Metrics| read.value("prony_requests_total", &[("result", "completed")]).unwrap_or(0.0);
    // A second must have ended, however slow this machine is.
    let mut read = scrape(&address);
    for _ in 0..300 {
        if read.value("prony_last_second_response_p50_seconds", &[]).is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        let next = scrape(&address);
        assert!(completed(&next) >= completed(&read), "a counter fell");
        read = next;
    }
    assert!(completed(&read) > 0.0);
    assert_eq!(read.value("prony_requests_total", &[("result", "failed")]), Some(0.0));
    assert_eq!(read.value("prony_rate_asked_requests_per_second", &[]), Some(500.0));
    assert!(read.value("prony_last_second_response_p50_seconds", &[]).unwrap() > 0.0);
    assert!(read.value("prony_requests_in_flight", &[]).unwrap() <= 100.0);
    assert!(get(&address, "/", &address).0.starts_with("HTTP/1.1 404 "));
    assert!(get(&address, "/metrics", "evil.example").0.starts_with("HTTP/1.1 403 "));
    load.kill().unwrap();
    load.wait().unwrap();
}

#[test]
fn an_experiment_says_which_trial_is_under_way_and_counts_those_done() {
    let world = World::new();
    let (a, b) = (TargetProcess::start(&[]), TargetProcess::start(&[]));
    let (a, b) = (format!("one={}", a.url()), format!("two={}", b.url()));
    let line = ["bench", "--candidate", &a, "--candidate", &b, "-d", "1s", "--warmup", "0", "-c", "2"];
    let more = ["--blocks", "2", "-q", "-o", "r.jsonl", "--metrics", "127.0.0.1:0"];
    let mut bench = world
        .command(&[&line[..], &more].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(bench.stderr.take().unwrap()).lines().map_while(Result::ok);
    let url = said.find_map(|line| line.strip_prefix("Metrics: http://").map(str::to_owned)).unwrap();
    let address = url.strip_suffix("/metrics").unwrap().to_owned();
    let mut seen = false;
    for _ in 0..600 {
        // It ends with the run, maybe between two looks.
        if TcpStream::connect(&address).is_err() {
            break;
        }
        let read = scrape(&address);
        let done: f64 = read.all("prony_trials_total").iter().map(|(_, n)| n).sum();
        let now = read.all("prony_trial_under_way_info");
        if done >= 1.0 && !now.is_empty() {
            assert_eq!(read.value("prony_trials_to_run", &[]), Some(4.0));
            assert!(["one", "two"].contains(&now[0].0["candidate"].as_str()) && now[0].0["plan"] == "c2");
            seen = true;
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(said);
    assert!(seen, "no trial was seen under way after another's end");
    bench.kill().unwrap();
    bench.wait().unwrap();
}

#[test]
fn an_address_that_cannot_be_is_refused_before_the_load() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let said = world.prony(&["load", &target.url(), "-n", "10", "--metrics", "nowhere"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("is no address"), "{said:?}");
    let taken = target.address.to_string();
    let said = world.prony(&["load", &target.url(), "-n", "10", "--metrics", &taken]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--metrics cannot listen on"), "{said:?}");
    assert_eq!(target.ledger()["requests_received"], 0);
}
