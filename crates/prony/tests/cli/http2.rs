//! `--http2` as a user meets it: what is refused, what goes over the wire, what is said of a server's limits, and a first
//! byte that is not the last one.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::world::{Said, TargetProcess, World, serve};

const PREFACE_BYTES: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
/// How long a server makes its client wait, of a response's head or of its body.
const WAIT: Duration = Duration::from_millis(10);

/// A frame, as it came.
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

fn read_frame(stream: &mut TcpStream) -> Option<Frame> {
    let mut header = [0; 9];
    stream.read_exact(&mut header).ok()?;
    let [l0, l1, l2, kind, flags, id @ ..] = header;
    let mut payload = vec![0; u32::from_be_bytes([0, l0, l1, l2]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(Frame { kind, flags, stream: u32::from_be_bytes(id), payload })
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, l0, l1, l2] = (payload.len() as u32).to_be_bytes();
    [&[l0, l1, l2, kind, flags], &stream.to_be_bytes()[..], payload].concat()
}

/// `:status: 200`.
fn head(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &[0x88])
}

fn body(stream: u32) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, b"Hello")
}

/// A server of HTTP/2 that answers each request by `answer`; the frames that came before a connection's second request, its
/// own too, go to who asks.
fn server(answer: fn(&mut TcpStream, u32) -> Option<()>) -> (SocketAddr, Receiver<Vec<Frame>>) {
    let (told, frames) = mpsc::channel();
    let address = serve(0, move |mut stream| {
        let mut came = Vec::new();
        let begun = stream.read_exact(&mut [0; PREFACE_BYTES]).is_ok();
        if !begun || stream.write_all(&frame(SETTINGS, 0, 0, &[])).is_err() {
            return;
        }
        let mut requests = 0;
        while let Some(one) = read_frame(&mut stream) {
            let asked = (one.kind == HEADERS).then_some(one.stream);
            if requests < 2 {
                came.push(one);
            }
            let Some(id) = asked else { continue };
            requests += 1;
            if requests == 2 {
                let _ = told.send(std::mem::take(&mut came));
            }
            if answer(&mut stream, id).is_none() {
                return;
            }
        }
    });
    (address, frames)
}

fn at_once(stream: &mut TcpStream, id: u32) -> Option<()> {
    stream.write_all(&[head(id), body(id)].concat()).ok()
}

/// The head at once, and the body only when the client has surely read it, and later.
fn slow_body(stream: &mut TcpStream, id: u32) -> Option<()> {
    stream.write_all(&[head(id), frame(PING, 0, 0, b"read yet")].concat()).ok()?;
    while read_frame(stream)?.kind != PING {}
    thread::sleep(WAIT);
    stream.write_all(&body(id)).ok()
}

fn slow_start(stream: &mut TcpStream, id: u32) -> Option<()> {
    thread::sleep(WAIT);
    at_once(stream, id)
}

#[track_caller]
fn trial(world: &World, said: &Said, file: &str) -> Value {
    assert!(matches!(said.code, Some(0..=3)), "{said:?}");
    serde_json::from_str(&world.read(file)).unwrap()
}

#[test]
fn headers_of_an_http1_connection_are_refused_before_sending() {
    let (world, target) = (World::new(), TargetProcess::start(&[]));
    let before = target.ledger()["requests_received"].as_u64();
    for header in ["Connection: close", "Upgrade: h2c", "Keep-Alive: timeout=5", "Proxy-Connection: close"] {
        let said = world.prony(&["load", &target.url(), "--http2", "-n", "1", "-H", header]);
        let name = header.split(':').next().unwrap();
        assert_eq!(said.code, Some(2), "{said:?}");
        let sentence = format!(
            "The header {name} is about an HTTP/1 connection, which HTTP/2 does not have: leave it or --http2 out."
        );
        assert!(said.err.contains(&sentence), "{}", said.err);
    }
    let said = world.prony(&["load", &target.url(), "--http2", "-n", "1", "-H", "TE: gzip"]);
    assert!(said.code == Some(2) && said.err.contains("may only be `trailers`"), "{said:?}");
    let candidate = format!("a={}", target.url());
    let bench = ["bench", "--candidate", &candidate, "--http2", "-H", "Upgrade: h2c", "--dry-run"];
    let said = world.prony(&bench);
    assert!(said.code == Some(2) && said.err.contains("leave it or --http2 out"), "{said:?}");
    assert_eq!(target.ledger()["requests_received"].as_u64(), before);
}

/// How the fields of a block stand in it: the bits that say so, and what stands there as a value. (Ours have no name or
/// value of 127 bytes or more, nor an index beyond 127.)
fn fields(mut block: &[u8]) -> Vec<(u8, Vec<u8>)> {
    fn string<'a>(block: &mut &'a [u8]) -> &'a [u8] {
        let (length, rest) = block.split_first().unwrap();
        let (text, rest) = rest.split_at(usize::from(length & 0x7f));
        *block = rest;
        text
    }
    let mut fields = Vec::new();
    while let Some((first, rest)) = block.split_first() {
        block = rest;
        let (form, index) = match first {
            0x80.. => (0x80, 0),
            0x40.. => (0x40, 0x3f),
            0x20.. => (0x20, 0),
            _ => (first & 0x10, 0x0f),
        };
        let mut value = Vec::new();
        if index > 0 {
            if first & index == index {
                block = &block[1..];
            } else if first & index == 0 {
                string(&mut block);
            }
            value = string(&mut block).to_vec();
        }
        fields.push((form, value));
    }
    fields
}

#[test]
fn a_secret_header_is_whole_in_each_request_and_never_indexed() {
    // Bytes whose Huffman codes are longer than they are: they stand on the wire as they are.
    const SECRET: &str = "{~}<{~}>{~}";
    let (world, (address, frames)) = (World::new(), server(at_once));
    let url = format!("http://{address}/");
    let said = world
        .command(&["load", &url, "--http2", "-n", "9", "-c", "1"])
        .args(["-H", "Authorization: @env:A_SECRET", "-H", "X-Token: @env:A_SECRET", "-H", "X-Plain: {~}"])
        .env("A_SECRET", SECRET)
        .output();
    assert!(said.unwrap().status.success());
    let frames = frames.recv().unwrap();
    let blocks: Vec<_> =
        frames.iter().filter(|f| f.kind == HEADERS).map(|frame| fields(&frame.payload)).collect();
    let [first, second] = blocks.as_slice() else { panic!("{} requests", blocks.len()) };
    for block in [first, second] {
        let secret: Vec<u8> =
            block.iter().filter(|(_, value)| value == SECRET.as_bytes()).map(|(form, _)| *form).collect();
        assert_eq!(secret, [0x10, 0x10], "both, as a literal never indexed");
    }
    // What is none enters the table with the first request, and is named by the second.
    assert!(first.contains(&(0x40, b"{~}".to_vec())), "{first:?}");
    assert!(second.iter().all(|(_, value)| value.is_empty() || value == SECRET.as_bytes()), "{second:?}");
}

#[test]
fn the_clients_own_settings_are_recorded_as_they_were_sent() {
    let (world, (address, frames)) = (World::new(), server(at_once));
    let url = format!("http://{address}/");
    let said = world.prony(&["load", &url, "--http2", "-n", "9", "-c", "1", "--json", "t.json"]);
    let own = trial(&world, &said, "t.json")["http2"]["own"].clone();
    let frames = frames.recv().unwrap();
    let settings = frames.iter().find(|f| f.kind == SETTINGS && f.flags & ACK == 0).unwrap();
    let sent = |id: u16, initial: u32| {
        let pairs = settings.payload.chunks(6).map(|one| one.split_at(2));
        let of_id = pairs.filter(|(at, _)| **at == id.to_be_bytes());
        of_id.map(|(_, value)| u32::from_be_bytes(value.try_into().unwrap())).next_back().unwrap_or(initial)
    };
    // A setting that was not sent has the standard's initial value.
    let expected = serde_json::json!({
        "window_bytes": sent(4, 65_535), "header_table_bytes": sent(1, 4_096),
        "header_list_bytes": sent(6, u32::MAX), "frame_bytes": sent(5, 16_384),
    });
    assert_eq!(own, expected);
    let widened = frames.iter().find(|f| f.kind == WINDOW_UPDATE && f.stream == 0).unwrap();
    let more = u32::from_be_bytes(widened.payload.as_slice().try_into().unwrap());
    assert_eq!(u64::from(65_535 + more), own["window_bytes"].as_u64().unwrap(), "the connection's");
}

/// A load of this server, and its first byte's and service's p50 in nanoseconds, in JSON; every view of it is written.
fn viewed(world: &World, answer: fn(&mut TcpStream, u32) -> Option<()>) -> (u64, u64, Said) {
    let (address, _) = server(answer);
    let url = format!("http://{address}/");
    let load = ["load", &url, "--http2", "-n", "300", "-c", "10", "--warmup", "0s", "--json", "t.json"];
    let said = world.prony(&[&load[..], &["-o", "t.jsonl"]].concat());
    let latency = trial(world, &said, "t.json")["latency"].clone();
    for format in ["markdown", "csv", "openmetrics", "html"] {
        let report = ["report", "t.jsonl", "--format", format, "-o", &format!("t.{format}")];
        assert_eq!(world.prony(&report).code, Some(0), "{format}");
    }
    let p50 = |part: &str| latency[part]["p50_ns"].as_u64().unwrap();
    (p50("first_byte"), p50("service"), said)
}

/// The first number behind a row's name, in milliseconds.
fn of_row(text: &str, name: &str) -> f64 {
    let row = text.lines().find(|line| line.trim_matches(['|', ' ']).starts_with(name)).expect(name);
    let numbers = row.split([' ', '|']).filter_map(|word| word.parse().ok());
    numbers.into_iter().next().expect(row)
}

/// What CSV and OpenMetrics have, in nanoseconds, and Markdown and the terminal, in milliseconds, each as (first byte,
/// service).
fn views(world: &World, said: &Said) -> Vec<(&'static str, f64, f64)> {
    let csv = world.read("t.csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let of_csv = |name: &str| {
        let at = names.iter().position(|other| *other == name).expect(name);
        values[at].parse::<f64>().unwrap() / 1e6
    };
    let metrics = world.read("t.openmetrics");
    let of_metrics = |name: &str| {
        let begin = format!("prony_trial_{name}_seconds{{");
        let mut rows = metrics.lines().filter(|l| l.starts_with(&begin) && l.contains("quantile=\"0.5\""));
        let row = rows.next().expect(name);
        row.split_whitespace().find_map(|word| word.parse::<f64>().ok()).unwrap() * 1e3
    };
    let markdown = world.read("t.markdown");
    vec![
        ("csv", of_csv("first_byte_p50_ns"), of_csv("service_p50_ns")),
        ("openmetrics", of_metrics("first_byte"), of_metrics("service")),
        ("markdown", of_row(&markdown, "first byte"), of_row(&markdown, "service")),
        ("terminal", of_row(&said.out, "1st byte"), of_row(&said.out, "service")),
    ]
}

#[test]
fn a_slow_body_differs_from_a_slow_start_in_every_view() {
    let (world, other) = (World::new(), World::new());
    let wait_ns = WAIT.as_nanos() as u64;
    let wait_ms = WAIT.as_secs_f64() * 1e3;
    let (first, service, said) = viewed(&world, slow_body);
    // As exact as a histogram's buckets are, and a view's three digits.
    assert!(first <= service && first + wait_ns <= service + service / 500, "{first} of {service}");
    for (view, first, service) in views(&world, &said) {
        assert!(first + wait_ms <= service * 1.02, "{view}: {first} of {service}");
    }
    let (first, service, said) = viewed(&other, slow_start);
    assert!(first >= wait_ns && first <= service, "{first} of {service}");
    for (view, first, service) in views(&other, &said) {
        assert!(first >= wait_ms * 0.99 && first <= service, "{view}: {first} of {service}");
    }
}

#[test]
fn a_server_that_allows_fewer_streams_than_asked_for_is_named() {
    let (world, target) = (World::new(), TargetProcess::start(&["--max-streams", "3"]));
    let load = ["load", &target.url(), "--http2", "-n", "500", "-c", "2", "-p", "8", "--json", "t.json"];
    let said = world.prony(&load);
    let trial = trial(&world, &said, "t.json");
    assert_eq!((&trial["http2"]["streams"], &trial["requests"]["completed"]), (&3.into(), &500.into()));
    let reasons = trial["verdict"]["reasons"].as_array().unwrap();
    let reason = reasons.iter().find(|reason| reason["code"] == "fewer_streams").unwrap();
    let detail = "the server let a connection carry 3 streams at once, of -p 8";
    assert!(reason["detail"].as_str().unwrap().contains(detail), "{reason}");
    let shown = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(detail) && shown.contains("HTTP/2: 3 streams per connection"), "{}", said.out);
}

#[test]
fn a_load_that_waits_for_the_servers_windows_is_said_to() {
    let (world, target) = (World::new(), TargetProcess::start(&["--starve-uploads", "1000"]));
    world.write("body.bin", &"x".repeat(5_000));
    let load = ["load", &target.url(), "--http2", "-n", "4", "-c", "2", "-p", "2", "--timeout", "300ms"];
    let more = ["-b", "@body.bin", "--json", "t.json"];
    let said = world.prony(&[&load[..], &more].concat());
    let trial = trial(&world, &said, "t.json");
    assert_eq!(trial["requests"]["failed"], 4, "none of them can be whole");
    let reasons = trial["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["code"] == "stalled_by_window"), "{reasons:?}");
    let shown = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("waiting for the server's windows with their bodies"), "{}", said.out);
}
