//! What public boards ask for, over real sockets: answers, their headers, and the ledger's account.

#![allow(clippy::unwrap_used, reason = "helpers of tests count as no tests to clippy")]

#[allow(dead_code, reason = "shared with other tests")]
mod client;

use client::http2::{Http2Client, requests};
use client::{Client, get, start};
use prony_target::Config;

#[test]
fn boards_requests_are_answered_and_counted_by_path() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    assert_eq!(client.ask(&get("/pipeline")).body(), "ok");
    assert_eq!(client.ask(&get("/baseline11?a=13&b=42")).body(), "55");
    let chunked = "POST /baseline11?a=13&b=42 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n2\r\n1\r\n0\r\n0\r\n\r\n";
    assert_eq!(client.ask(chunked).body(), "75");
    let upload =
        format!("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{}", "x".repeat(100_000));
    assert_eq!(client.ask(&upload).body(), "100000");
    let json = client.ask(&get("/json/5?m=3"));
    assert_eq!((json.status, json.header("content-type")), (200, Some("application/json")));
    assert_eq!(json.header("content-encoding"), None);
    assert!(json.body().ends_with(r#""count":5}"#), "{}", json.body());
    let css = client.ask(&get("/static/reset.css"));
    assert_eq!((css.header("content-type"), css.body().len()), (Some("text/css"), 8_000));
    let head =
        client.ask_head("HEAD /static/app.js HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br, gzip\r\n\r\n");
    assert_eq!(head.header("content-encoding"), Some("gzip"));
    assert!(head.header("content-length").unwrap().parse::<usize>().unwrap() < 60_000);
    let body = r#"{"id":200001,"name":"New","category":"test","price":5,"quantity":2}"#;
    let write = |headers: &str| {
        format!(
            "POST /crud/items HTTP/1.1\r\nHost: a\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    assert_eq!(client.ask(&write("Content-Type: application/json\r\n")).status, 201);
    assert_eq!(client.ask(&get("/crud/items/17")).status, 200);
    assert!(client.ask(&get("/crud/items/200001")).body().contains("New"), "it is read back");
    // More than is held of any other body.
    let (whole, piece) = (20_000_000, "x".repeat(1_000_000));
    let length = format!("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {whole}\r\n\r\n");
    assert_eq!(client.ask(&(length + &piece.repeat(20))).body(), "20000000");
    let chunk = format!("f4240\r\n{piece}\r\n");
    let chunked = "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    assert_eq!(client.ask(&(chunked + &chunk.repeat(20) + "0\r\n\r\n")).body(), "20000000");
    // Without its header, its number, its parameter, its path, its method: counted as others.
    assert_eq!(client.ask(&write("")).status, 400);
    assert_eq!(client.ask("POST /baseline11?a=1&b=2 HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
    assert_eq!(client.ask(&get("/async-db?min=1&max=2")).status, 400);
    assert_eq!(client.ask(&get("/crud/items/100001")).status, 404);
    let not_allowed = client.ask(&get("/upload"));
    assert_eq!((not_allowed.status, not_allowed.header("allow")), (405, Some("POST")));
    let ledger = target.stop();
    let by_path: Vec<_> =
        ledger.requests_by_path.iter().map(|(path, count)| (path.as_str(), *count)).collect();
    assert_eq!(
        by_path,
        [
            ("/baseline11", 2),
            ("/crud/items", 3),
            ("/json/COUNT", 1),
            ("/pipeline", 1),
            ("/static/NAME", 2),
            ("/upload", 3),
            ("other", 5),
        ]
    );
    assert_eq!((ledger.requests_received, ledger.requests_answered), (17, 17));
}

#[test]
fn boards_requests_are_answered_over_http_2() {
    let target = start(&Config::default());
    let list = [
        ("GET", "/baseline2?a=1&b=1"),
        ("GET", "/json/50?m=6"),
        ("GET", "/static/vendor.js"),
        ("GET", "/json/0?m=1"),
    ];
    let mut client = Http2Client::connect(&target, 1, requests(&list, b""));
    assert_eq!(client.ask(0), (200, "2".to_owned()));
    assert!(client.ask(1).1.ends_with(r#""count":50}"#));
    assert_eq!(client.ask(2).1.len(), 120_000);
    assert_eq!(client.ask(3).0, 400);
    let posts = [("POST", "/baseline11?a=1&b=2"), ("POST", "/upload"), ("POST", "/crud/items")];
    let mut client = Http2Client::connect(&target, 1, requests(&posts, b"40"));
    assert_eq!(client.ask(0), (200, "43".to_owned()));
    assert_eq!(client.ask(1), (200, "2".to_owned()));
    assert_eq!(client.ask(2).0, 400, "no Content-Type");
    let large =
        Http2Client::connect(&target, 1, requests(&[("POST", "/upload")], &vec![b'x'; 20_000_000])).ask(0);
    assert_eq!(large, (200, "20000000".to_owned()));
    let ledger = target.stop();
    assert_eq!((ledger.requests_by_path["other"], ledger.requests_answered), (2, 8));
}
