//! `prony serve` and `--web`, without a browser; with one they are tried by `cargo xtask web`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use super::world::{World, interrupt};

/// What a server answers to these bytes.
fn raw(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The first `http://…/` of a process' output, without its scheme and end.
fn address(said: impl Read) -> String {
    let found = BufReader::new(said).lines().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("http://")?;
        Some(rest.split(['/', ' ']).next()?.to_owned())
    });
    found.unwrap()
}

fn prony(world: &World, words: &[&str]) -> Child {
    world.command(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn run_logs_are_served_to_this_machine_only() {
    let world = World::new();
    assert_eq!(world.prony(&["load", "-n", "200", "-q", "-o", "r.jsonl"]).code, Some(0));
    let said = world.prony(&["serve", "missing.jsonl"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    let said = world.prony(&["serve"]);
    if prony_report::page::available().is_err() {
        return;
    }
    assert!(said.err.contains("nothing to serve"), "{said:?}");
    let mut serving = prony(&world, &["serve", "r.jsonl"]);
    let address = address(serving.stdout.take().unwrap());
    let get = |path: &str, host: &str| raw(&address, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
    let list = get("/", &address);
    assert!(list.starts_with("HTTP/1.1 200 OK") && list.contains("runs/r\""), "{list}");
    assert!(list.contains("Content-Security-Policy: default-src 'none'; script-src 'sha256-"), "{list}");
    assert!(get("/runs/r", &address).contains("prony.page/1"));
    // Pages load what they share, which a browser keeps by its address; they themselves are never kept.
    assert!(list.contains("Cache-Control: no-store"), "{list}");
    for asset in prony_report::page::assets().unwrap() {
        assert!(list.contains(&format!("href=\"{}\"", asset.path)), "{} is not loaded", asset.path);
        let file = get(&format!("/{}", asset.path), &address);
        assert!(file.starts_with("HTTP/1.1 200 ") && file.ends_with(&asset.text), "{}", asset.path);
        assert!(file.contains(&format!("Content-Type: {};", asset.media_type)) && file.contains("immutable"));
        assert!(!file.contains("no-store"), "{}", asset.path);
    }
    for (path, host, status) in [
        ("/", "evil.example", 403),
        ("/runs/0", &address, 404),
        ("/runs/../r.jsonl", &address, 404),
        ("/assets/app.js", &address, 404),
    ] {
        assert!(get(path, host).starts_with(&format!("HTTP/1.1 {status} ")), "{path} of {host}");
    }
    // Another site's picture is refused; a link from there that somebody follows is not.
    for (mode, dest, status) in
        [("no-cors", "image", 403), ("navigate", "iframe", 403), ("navigate", "document", 200)]
    {
        let fetch = format!("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: {mode}\r\nSec-Fetch-Dest: {dest}");
        let said = raw(&address, &format!("GET / HTTP/1.1\r\nHost: {address}\r\n{fetch}\r\n\r\n"));
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{mode} {dest}: {said}");
    }
    assert!(raw(&address, "DELETE / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    let endless = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(8 << 10));
    assert!(raw(&address, &endless).starts_with("HTTP/1.1 431 "));
    serving.kill().unwrap();
    serving.wait().unwrap();
}

#[test]
fn every_address_of_this_machine_alone_may_be_listened_on() {
    if prony_report::page::available().is_err() {
        return;
    }
    let world = World::new();
    assert_eq!(world.prony(&["load", "-n", "200", "-q", "-o", "r.jsonl"]).code, Some(0));
    let mut serving = prony(&world, &["serve", "r.jsonl", "--listen", "127.0.0.2:0"]);
    let address = address(serving.stdout.take().unwrap());
    let list = raw(&address, &format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    assert!(address.starts_with("127.0.0.2:") && list.starts_with("HTTP/1.1 200 OK"), "{list}");
    serving.kill().unwrap();
    serving.wait().unwrap();
}

#[test]
fn a_load_sends_events_and_then_serves_its_report() {
    if prony_report::page::available().is_err() {
        return;
    }
    let world = World::new();
    // It ends when this test says so.
    let mut load = prony(&world, &["load", "-c", "2", "-d", "600s", "--warmup", "0", "-q", "--web"]);
    let address = address(load.stderr.take().unwrap());
    let host = format!("Host: {address}\r\n\r\n");
    assert!(raw(&address, &format!("GET /report HTTP/1.1\r\n{host}")).starts_with("HTTP/1.1 404 "));
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(format!("GET /events HTTP/1.1\r\n{host}").as_bytes()).unwrap();
    let (mut events, mut points) = (BufReader::new(stream), 0);
    while points < 3 {
        let mut line = String::new();
        assert!(events.read_line(&mut line).unwrap() > 0, "the events ended before the load");
        points += line.matches("\"type\":\"point\"").count();
        assert!(!line.contains("\"type\":\"done\""), "{line}");
    }
    interrupt(load.id());
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("\"type\":\"done\",\"report\":true"), "{rest}");
    let report = raw(&address, &format!("GET /report HTTP/1.1\r\n{host}"));
    assert!(report.contains("\"kind\":\"run\",\"experiment\":false"));
    assert!(!report.contains("assets/"), "whoever serves it ends with it: it is one file");
    assert_eq!(load.wait().unwrap().code(), Some(130), "it ends when its page has the report");
}

#[test]
fn new_run_logs_of_a_served_folder_appear_with_their_history() {
    if prony_report::page::available().is_err() {
        return;
    }
    let world = World::new();
    std::fs::create_dir(world.path("logs")).unwrap();
    let load = |name: &str| {
        let said = world.prony(&["load", "-n", "200", "-q", "-o", &format!("logs/{name}.jsonl")]);
        assert_eq!(said.code, Some(0), "{said:?}");
    };
    load("b");
    let mut serving = prony(&world, &["serve", "logs"]);
    let address = address(serving.stdout.take().unwrap());
    let get = |path: &str| raw(&address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let list = get("/");
    assert!(list.contains("\"href\":\"runs/b\"") && !list.contains("\"history\":"), "one run has no history");
    load("a");
    let list = get("/");
    assert!(list.contains("\"href\":\"runs/a\"") && list.contains("\"history\":\"history\""), "{list}");
    let history = get("/history");
    assert!(history.contains("\"kind\":\"history\"") && history.contains("\"runs\":2"), "{history}");
    assert!(history.contains("Content-Security-Policy: default-src 'none'"));
    // What was found first keeps its address.
    assert!(get("/runs/b").contains("\"home\":\"../\"") && get("/runs/a").contains("\"kind\":\"run\""));
    assert!(get("/runs/c").starts_with("HTTP/1.1 404 ") && get("/history/x").starts_with("HTTP/1.1 404 "));
    serving.kill().unwrap();
    serving.wait().unwrap();
}
