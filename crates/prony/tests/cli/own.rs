//! Somebody's own application: one that asks who is there, and takes no GET.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::world::{World, serve};

/// What must not be written anywhere: the token, the password, and `me:s3cret` in base64.
const SECRETS: [&str; 2] = ["s3cret", "bWU6czNjcmV0"];

/// Answers 201 to `POST /` with the body `hello` by somebody it knows, and 401 to everybody else.
fn application(mut stream: TcpStream) {
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            match stream.read(&mut piece) {
                Ok(n) if n > 0 => seen.extend_from_slice(&piece[..n]),
                _ => return,
            }
            continue;
        };
        let head = String::from_utf8_lossy(&seen[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let whole = end + 4 + length.unwrap_or(0);
        while seen.len() < whole {
            match stream.read(&mut piece) {
                Ok(n) if n > 0 => seen.extend_from_slice(&piece[..n]),
                _ => return,
            }
        }
        let known = ["authorization: bearer s3cret", "authorization: basic bwu6cznjcmv0"];
        let right = head.starts_with("post / ") && known.iter().any(|words| head.contains(words));
        let status =
            if right && &seen[end + 4..whole] == b"hello" { "201 Created" } else { "401 Unauthorized" };
        if write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
        seen.drain(..whole);
    }
}

fn assert_measured_and_silent(world: &World, said: &crate::world::Said, log: &str) {
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = world.read(log);
    let results = world.lines(log, "result");
    let requests: Vec<_> = results.iter().map(|result| &result["trial"]["requests"]).collect();
    assert!(requests.iter().all(|requests| requests["failed"] == 0), "{requests:?}");
    assert!(requests.iter().any(|requests| requests["completed"].as_u64() > Some(0)), "{requests:?}");
    // Built without Node there is none.
    let page = match prony_report::page::available() {
        Ok(()) => world.read(&log.replace(".jsonl", ".html")),
        Err(_) => String::new(),
    };
    for secret in SECRETS {
        for (name, text) in [("log", &text), ("page", &page), ("out", &said.out), ("err", &said.err)] {
            assert!(!text.contains(secret), "{secret} stands in the {name}");
        }
    }
}

const LOAD: [&str; 9] = ["-c", "2", "-d", "200ms", "--warmup", "0", "--blocks", "2", "-m"];
const ASKED: [&str; 5] = ["POST", "-b", "hello", "--expect-status", "201"];

#[test]
fn candidates_are_checked_with_the_request_of_the_load() {
    let (world, address) = (World::new(), serve(0, application));
    let url = |name: &str| format!("{name}=http://{address}/");
    let (a, b) = (url("a"), url("b"));
    let line = ["bench", "--candidate", &a, "--candidate", &b, "-H", "Authorization: Bearer s3cret"];
    let said = world.prony(&[&line[..], &LOAD, &ASKED, &["-o", "r.jsonl"]].concat());
    assert_measured_and_silent(&world, &said, "r.jsonl");
    assert!(said.out.contains("-H 'Authorization: @env:AUTHORIZATION'"), "{}", said.out);
}

#[test]
fn a_password_in_a_candidates_url_is_used_and_not_written() {
    let (world, address) = (World::new(), serve(0, application));
    let url = |name: &str| format!("{name}=http://me:s3cret@{address}/");
    let (a, b) = (url("a"), url("b"));
    let line = ["bench", "--candidate", &a, "--candidate", &b];
    let said = world.prony(&[&line[..], &LOAD, &ASKED, &["-o", "r.jsonl"]].concat());
    assert_measured_and_silent(&world, &said, "r.jsonl");
}

#[test]
fn secrets_of_an_experiment_come_from_the_environment() {
    let world = World::new();
    let experiment = |token: &str| {
        format!(
            "schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = [\"node-http\"]\n\
             [load]\nheaders = {{ Authorization = \"{token}\" }}\n[[plan]]\n"
        )
    };
    world.write("e.toml", &experiment("Bearer s3cret"));
    let said = world.prony(&["bench", "e.toml", "--dry-run"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("@env:NAME") && !said.err.contains("no variable"), "{}", said.err);
    world.write("e.toml", &experiment("@env:PRONY_NO_SUCH_VARIABLE"));
    let said = world.prony(&["bench", "e.toml", "--dry-run"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("PRONY_NO_SUCH_VARIABLE"), "{}", said.err);
}

#[test]
fn a_search_is_recorded_with_its_whole_command() {
    let (world, address) = (World::new(), serve(0, application));
    let url = format!("http://me:s3cret@{address}/");
    let line =
        ["capacity", &url, "-d", "200ms", "-c", "2", "-R", "10", "--resolution", "50%", "--slo", "max<1ns"];
    let said = world.prony(&[&line[..], &["-m"], &ASKED, &["-q", "-o", "r.jsonl"]].concat());
    assert_eq!(said.code, Some(3), "no rate keeps it: {said:?}");
    let text = world.read("r.jsonl");
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let again = header["reproduce"].as_str().unwrap();
    assert!(again.starts_with(&format!("prony capacity 'http://[redacted]@{address}/' -d 200ms")), "{again}");
    assert!(again.contains("--slo 'max<1ns' -m POST -b hello --expect-status 201"), "{again}");
    SECRETS.iter().for_each(|secret| assert!(!text.contains(secret), "{secret} stands in the log"));
}
