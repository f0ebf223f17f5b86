//! Responses that a strict client refuses, and curl and browsers take: measured, and noted once.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::world::{World, serve};

/// Answers every request with a header on two lines and its length twice.
fn server(mut stream: TcpStream) {
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        seen.extend_from_slice(&piece[..count]);
        while let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            seen.drain(..end + 4);
            let answer = b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2, 2\r\n\r\nok";
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

/// A text without what wraps its lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const NOTED: &str = "20 with one Content-Length several times, 20 with a header folded over several lines";

#[test]
fn a_load_says_once_what_a_strict_client_refuses() {
    let (world, url) = (World::new(), format!("http://{}/", serve(0, server)));
    let said = world.prony(&["load", &url, "-n", "20", "-c", "2", "-o", "r.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(words(&said.out).matches(NOTED).count(), 1, "{}", said.out);
    let results = world.lines("r.jsonl", "result");
    let reasons = results[0]["trial"]["verdict"]["reasons"].as_array().unwrap();
    let noted = reasons.iter().find(|reason| reason["code"] == "tolerated_responses").unwrap();
    assert_eq!(noted["effect"], "note");
    assert_eq!(noted["values"]["folded"], 20.0);
    // Raw, and so in every view that is made of the log.
    assert!(world.read("r.jsonl").contains("\"tolerated\":{\"repeated_length\":20,\"folded\":20}"));
    let markdown = world.prony(&["report", "r.jsonl", "--format", "markdown"]);
    assert!(words(&markdown.out).contains(NOTED), "{}", markdown.out);
}

#[test]
fn a_bench_says_of_which_candidate() {
    let (world, target) = (World::new(), crate::world::TargetProcess::start(&[]));
    let (odd, fine) = (format!("odd=http://{}/", serve(0, server)), format!("fine={}", target.url()));
    let line = ["bench", "--candidate", &odd, "--candidate", &fine, "--blocks", "2", "-o", "r.jsonl"];
    let said = world.prony(&[&line[..], &["-c", "2", "-n", "20"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(words(&said.out).contains("tolerated responses in 2 of 2 trials"), "{}", said.out);
    for result in world.lines("r.jsonl", "result") {
        let reasons = result["trial"]["verdict"]["reasons"].as_array().unwrap();
        let noted = reasons.iter().any(|reason| reason["code"] == "tolerated_responses");
        assert_eq!(noted, result["candidate"] == "odd", "{result}");
    }
}
