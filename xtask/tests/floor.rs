//! The floor and the counting server, as processes: what every comparison rests on.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

const XTASK: &str = env!("CARGO_BIN_EXE_xtask");
/// Only what hangs takes this long.
const HANGS: Duration = Duration::from_secs(120);

struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start() -> Server {
        let mut child = Command::new(XTASK)
            .arg("counting-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Server { child, url: url.trim().to_owned() }
    }

    /// The requests answered so far, once nobody is connected but who asks: what a client that has left had in flight
    /// is answered then, or never will be.
    fn requests(&self) -> u64 {
        let begun = Instant::now();
        loop {
            let ledger = self.ledger();
            if ledger["connections_open"].as_u64().unwrap() <= 1 {
                return ledger["requests_answered"].as_u64().unwrap();
            }
            assert!(begun.elapsed() < HANGS, "after {HANGS:?} somebody is still connected: {ledger}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn ledger(&self) -> Value {
        let address = self.url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /-/ledger HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn floor(arguments: &[&str]) -> u64 {
    let output = Command::new(XTASK).arg("floor").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    said["requests"].as_u64().unwrap()
}

#[test]
fn the_floor_and_the_server_agree_on_the_count() {
    let server = Server::start();
    for (connections, pipeline) in [(10, 1), (3, 16)] {
        let before = server.requests();
        let (c, p) = (connections.to_string(), pipeline.to_string());
        let seen = floor(&["-c", &c, "-p", &p, "-d", "1", &server.url]);
        // One request is for the length of an answer; what is in flight at the end only the server has seen.
        let served = server.requests() - before - 1;
        assert!((seen..=seen + connections * pipeline).contains(&served), "{seen} seen, {served} served");
    }
    let before = server.requests();
    assert_eq!(floor(&["-c", "4", "-R", "200", "-d", "1", &server.url]), 200);
    assert_eq!(server.requests() - before, 201);
}

#[test]
fn the_cost_of_a_child_is_its_own() {
    let folder = std::env::temp_dir().join(format!("prony-xtask-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let report = folder.join("cost.json");
    // 64 MB, written so that they are resident; and a code of its own.
    let script = "head -c 67108864 /dev/zero | tail -c 67108864 | wc -c; exit 3";
    let status = Command::new(XTASK)
        .args(["measured", &HANGS.as_secs().to_string()])
        .arg(&report)
        .args(["sh", "-c", script])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let cost: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((cost["exit_code"].as_i64(), cost["timed_out"].as_bool()), (Some(3), Some(false)));
    let cpu_ns = cost["user_ns"].as_u64().unwrap() + cost["system_ns"].as_u64().unwrap();
    let rss = cost["peak_rss_bytes"].as_u64().unwrap();
    assert!(cpu_ns > 1_000_000 && cpu_ns < 2 * cost["wall_ns"].as_u64().unwrap(), "{cost}");
    assert!((64 << 20..256 << 20).contains(&rss), "{cost}");
}
