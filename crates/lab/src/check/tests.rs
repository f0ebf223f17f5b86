use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use prony_load::dial::Dialer;
use prony_model::plan::Expect;
use prony_model::{Plan, Target};
use strum::VariantArray;

use super::*;

/// A server of the contract whose answers a test may change. It ends with the test's process.
fn server(keepalive: bool, change: Change) -> Dialer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || serve(stream.unwrap(), keepalive, change));
        }
    });
    dialer(address)
}

fn dialer(address: SocketAddr) -> Dialer {
    let plan = Plan::closed(Target::parse("http://127.0.0.1/").unwrap());
    let target = Target { port: address.port(), ..plan.target.clone() };
    Dialer::of(&Plan { target, ..plan }).unwrap()
}

fn serve(mut stream: TcpStream, keepalive: bool, change: Change) {
    let mut buffer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") else {
            match stream.read(&mut piece) {
                Ok(n) if n > 0 => buffer.extend_from_slice(&piece[..n]),
                _ => return,
            }
            continue;
        };
        let head = String::from_utf8(buffer.drain(..end + 4).collect()).unwrap();
        let length =
            head.lines().find_map(|l| l.strip_prefix("Content-Length: ")).map_or(0, |l| l.parse().unwrap());
        while buffer.len() < length {
            let n = stream.read(&mut piece).unwrap();
            buffer.extend_from_slice(&piece[..n]);
        }
        let body: Vec<u8> = buffer.drain(..length).collect();
        let target = head.split(' ').nth(1).unwrap();
        let answer = change(target, &|| answer(target, &body, keepalive));
        if stream.write_all(&answer).is_err() || !keepalive {
            return;
        }
    }
}

fn answer(target: &str, body: &[u8], keepalive: bool) -> Vec<u8> {
    let number = || target.split('=').nth(1).unwrap().parse().unwrap();
    let (status, kind, body) = match target.split('?').next().unwrap() {
        "/" => (200, "text/plain; charset=utf-8", GREETING.as_bytes().to_vec()),
        "/json" => (200, "application/json", b"{ \"message\": \"Hello, World!\" }".to_vec()),
        "/sleep" => {
            thread::sleep(Duration::from_millis(number()));
            (200, "text/plain", GREETING.as_bytes().to_vec())
        }
        "/work" => (200, "text/plain", work(u32::try_from(number()).unwrap()).into_bytes()),
        "/echo" => (200, "application/octet-stream", body.to_vec()),
        _ => (404, "text/plain", b"no".to_vec()),
    };
    let close = if keepalive { "" } else { "Connection: close\r\n" };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{close}Content-Length: {length}\r\n\r\n");
    [head.into_bytes(), body].concat()
}

/// What a test makes of the right answer to a path.
type Change = fn(&str, &dyn Fn() -> Vec<u8>) -> Vec<u8>;

fn unchanged(_: &str, answer: &dyn Fn() -> Vec<u8>) -> Vec<u8> {
    answer()
}

/// The routes of a greeting: the others have servers of their own, in `realistic_tests`.
fn all(keepalive: bool) -> ContractExpectation {
    ContractExpectation {
        routes: Route::VARIANTS[..5].to_vec(),
        keepalive: Some(keepalive),
        ..ContractExpectation::default()
    }
}

fn failures(report: &CheckReport) -> Vec<(String, String)> {
    report.failures().map(|r| (r.name.clone(), r.detail.clone())).collect()
}

#[test]
fn a_right_server_passes_in_full() {
    for keepalive in [true, false] {
        let report = check(&server(keepalive, unchanged), &all(keepalive));
        assert_eq!(failures(&report), []);
        assert!(report.passed() && report.results.iter().all(|r| r.passed && r.wire.is_none()));
        let names: Vec<&str> = report.results.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "GET /",
                "GET /json",
                "GET /sleep?ms=50",
                "POST /echo",
                "POST /echo, another body",
                "GET /work?n=1234",
                "parallel sleep",
                "keep-alive",
                "request in pieces",
                "unknown path"
            ]
        );
        // Which of the two is a matter of time: `parallel` holds it without a clock.
        assert!(report.sleep.is_some());
        assert_eq!(
            report.bodies().get("/json").map(Vec::as_slice),
            Some(&b"{ \"message\": \"Hello, World!\" }"[..])
        );
    }
}

/// A server that waits in its two threads: however fast the machine, 16 requests take eight turns.
#[test]
fn a_server_that_sleeps_in_its_workers_is_found_to_block() {
    const WORKERS: u32 = 2;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for _ in 0..WORKERS {
        let listener = listener.try_clone().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), false, unchanged);
            }
        });
    }
    let expectation = ContractExpectation { routes: vec![Route::Sleep], workers: WORKERS, ..all(false) };
    let report = check(&dialer(address), &expectation);
    assert_eq!((failures(&report), report.sleep), (vec![], Some(Sleep::Blocks)));
    let noted = report.results.iter().find(|r| r.name == "parallel sleep").unwrap();
    assert!(noted.passed && noted.detail.contains("blocks others"), "{noted:?}");
    let text = ContractExpectation { routes: vec![Route::Text], ..all(true) };
    assert_eq!(check(&server(true, unchanged), &text).sleep, None);
}

#[test]
fn a_cached_answer_to_another_body_fails_the_echo_check() {
    static FIRST: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let cached: Change = |target, answer| match target {
        "/echo" => FIRST.get_or_init(answer).clone(),
        _ => answer(),
    };
    let report =
        check(&server(true, cached), &ContractExpectation { routes: vec![Route::Echo], ..all(true) });
    assert_eq!(
        report.failures().map(|r| r.name.as_str()).collect::<Vec<_>>(),
        ["POST /echo, another body"],
        "{report:?}"
    );
}

#[test]
fn keepalive_is_held_to_what_was_declared() {
    let kept = check(&server(true, unchanged), &all(false));
    assert_eq!(kept.failures().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["keep-alive"]);
    let closed = check(&server(false, unchanged), &all(true));
    assert_eq!(
        failures(&closed),
        [(
            "keep-alive".to_owned(),
            "The recipe says keepalive = true, but the connection was closed after a response.".to_owned()
        )]
    );
    // It says nothing of closing, and closes.
    let silent = |_: &str, answer: &dyn Fn() -> Vec<u8>| {
        String::from_utf8_lossy(&answer()).replace("Connection: close\r\n", "").into_bytes()
    };
    let text = ContractExpectation { routes: vec![Route::Text], ..all(true) };
    assert!(!check(&server(false, silent), &text).passed());
}

#[test]
fn wrong_answers_are_shown_as_they_came() {
    let report = check(
        &server(true, |target, answer| match target {
            "/" => b"HTTP/1.1 500 Oh\r\nContent-Length: 7\r\n\r\n\x1b[31m!\0".to_vec(),
            "/json" => String::from_utf8_lossy(&answer()).replace("World", "Wield").into_bytes(),
            "/sleep?ms=50" => self::answer("/work?n=1", b"", true),
            "/work?n=1234" => {
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n".to_vec()
            }
            _ => answer(),
        }),
        &all(true),
    );
    let failed: Vec<&str> = report.failures().map(|r| r.detail.as_str()).collect();
    assert_eq!(failed[0], "Status 500, expected 200.");
    assert!(failed[1].starts_with("The body is \"{"), "{failed:?}");
    assert!(failed[2].starts_with("The body is \"1013904223\""), "{failed:?}");
    assert_eq!(failed[3], "The body is encoded as gzip, which the request did not offer to take.");
    let wire = report.results[0].wire.as_deref().unwrap();
    assert!(wire.starts_with("> GET / HTTP/1.1\n> Host: 127.0.0.1:"), "{wire}");
    assert!(wire.ends_with("\n< HTTP/1.1 500 Oh\n< Content-Length: 7\n< \\x1b[31m!\\x00\n"), "{wire}");
    assert!(!report.bodies().contains_key("/"));
}

#[test]
fn transcripts_and_sentences_of_failed_checks_hold_no_secrets() {
    let talkative: Change = |target, _| {
        let body = format!("{{\"at\":\"{target}\",\"password\":\"s3cret\",\"seen\":\"s3cret-of-a-header\"}}");
        let length = body.len();
        let head = format!("HTTP/1.1 500 Oh\r\nSet-Cookie: sid=s3cret\r\nContent-Length: {length}\r\n\r\n");
        (head + &body).into_bytes()
    };
    let header = prony_model::Secret::of_header("Authorization", "s3cret-of-a-header").unwrap();
    let own = CustomCheck {
        request: "POST /a?token=s3cret".to_owned(),
        send: Some(b"{\"secret\":\"s3cret\"}".to_vec()),
        headers: vec![("Authorization".to_owned(), header)],
        ..CustomCheck::default()
    };
    let here = server(true, talkative);
    let expectation = ContractExpectation { custom: vec![own.clone()], ..ContractExpectation::default() };
    let report = check(&here, &expectation);
    let first = &report.results[0];
    assert!(!first.passed && first.name == "POST /a?token=[redacted]", "{first:?}");
    let wire = first.wire.as_deref().unwrap_or_default();
    for shown in [
        "> POST /a?token=[redacted] HTTP/1.1\n",
        "> Authorization: [redacted]\n> (a body of 19 bytes)\n",
        "< Set-Cookie: [redacted]\n",
        "< {\"at\":\"/a?token=[redacted]\",\"password\":\"[redacted]\",\"seen\":\"[redacted]\"}\n",
    ] {
        assert!(wire.contains(shown), "{shown}: {wire}");
    }
    let all = format!("{report:?}");
    assert!(!all.contains("s3cret"), "{all}");
    let not_ready = ready(&here, &own, &Expect::default()).unwrap_err();
    assert_eq!(not_ready.why, "POST /a?token=[redacted] got status 500.");
}

#[test]
fn hostile_answers_fail_the_check_with_a_readable_reason() {
    let hostile: [(Change, &str); 6] = [
        (|_, _| vec![b'x'; 100_000], "The response is not HTTP/1.1"),
        (
            |_, _| [b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'a'; 300_000]].concat(),
            "the response's head is longer than 256 KiB",
        ),
        (
            |_, _| b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_vec(),
            "its body is over 16777216 bytes",
        ),
        (
            |_, _| b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_vec(),
            "the response's Content-Length is not a number",
        ),
        (
            |_, _| b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
            "a chunk's size line is not a hexadecimal number",
        ),
        (|_, _| b"HTTP/1.1 100 C\r\n\r\n".repeat(20), "more than 16 interim responses"),
    ];
    for (change, expected) in hostile {
        let text = ContractExpectation { routes: vec![Route::Text], ..ContractExpectation::default() };
        let report = check(&server(true, change), &text);
        let first = &report.results[0];
        assert!(!first.passed && first.detail.contains(expected), "{expected}: {}", first.detail);
        assert!(first.wire.as_ref().is_some_and(|w| w.len() <= 2300), "{:?}", first.wire);
    }
}

/// A greeting whose head has these fields.
fn greeting(fields: &str, body: &str) -> Vec<u8> {
    let kind = "Content-Type: text/plain; charset=utf-8";
    format!("HTTP/1.1 200 OK\r\n{kind}\r\n{fields}\r\n\r\n{body}").into_bytes()
}

/// What the engine refuses of a server under load, the check refuses before it.
#[test]
fn an_answer_of_two_lengths_is_refused_with_the_reason() {
    let differ: Change = |_, _| greeting("Content-Length: 13\r\nContent-Length: 14", GREETING);
    let text = ContractExpectation { routes: vec![Route::Text], ..all(true) };
    let report = check(&server(true, differ), &text);
    let (first, reason) = (&report.results[0], "two Content-Length fields, or numbers of one, that differ");
    assert_eq!(first.detail, format!("The response is not HTTP/1.1: the response has {reason}."));
    assert!(!report.passed() && first.wire.as_ref().is_some_and(|w| w.contains("< Content-Length: 13")));
}

/// And what the engine takes, the check takes.
#[test]
fn an_answer_that_browsers_take_passes() {
    let equal: Change = |_, _| greeting("Content-Length: 13\r\nContent-Length: 13, 13", GREETING);
    let chunked: Change = |_, _| {
        let body = "d\r\nHello, World!\r\n0\r\n\r\n";
        greeting("Content-Length: 13\r\nTransfer-Encoding: chunked", body)
    };
    let folded: Change = |_, _| greeting("X: a\r\n b\r\nContent-Length:\r\n 13", GREETING);
    let long: Change =
        |_, _| greeting(&format!("X: {}\r\nContent-Length: 13", "y".repeat(200_000)), GREETING);
    for (change, what) in [(equal, "equal"), (chunked, "chunked"), (folded, "folded"), (long, "long")] {
        let text = ContractExpectation { routes: vec![Route::Text], ..all(true) };
        let report = check(&server(true, change), &text);
        assert_eq!(failures(&report), [], "{what}");
    }
}

#[test]
fn surplus_bytes_after_an_answer_fail_the_keepalive_check() {
    let longer: Change = |_, answer| [answer(), b"more".to_vec()].concat();
    let text = ContractExpectation { routes: vec![Route::Text], ..all(true) };
    let report = check(&server(true, longer), &text);
    assert_eq!(report.failures().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["keep-alive"], "{report:?}");
    let wire = report.failures().next().and_then(|r| r.wire.as_deref());
    assert!(wire.is_some_and(|w| w.ends_with("! 4 bytes more than the response.\n")), "{wire:?}");
}

#[test]
fn chunked_answers_and_those_ending_the_connection_are_read() {
    let chunked = |target: &str, answer: &dyn Fn() -> Vec<u8>| match target {
        "/" => b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n\
                 7\r\nHello, \r\n6;x=y\r\nWorld!\r\n0\r\nT: r\r\n\r\n"
            .to_vec(),
        _ => answer(),
    };
    let text = |keepalive| ContractExpectation { routes: vec![Route::Text], ..all(keepalive) };
    assert_eq!(failures(&check(&server(true, chunked), &text(true))), []);
    let until_close = |_: &str, _: &dyn Fn() -> Vec<u8>| {
        b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nHello, World!".to_vec()
    };
    assert_eq!(failures(&check(&server(false, until_close), &text(false))), []);
}

#[test]
fn own_checks_replace_the_contract() {
    let own = |status, body: Option<&str>| ContractExpectation {
        custom: vec![CustomCheck {
            request: "POST /echo".to_owned(),
            send: Some(b"abc".to_vec()),
            status,
            body: body.map(str::to_owned),
            ..CustomCheck::default()
        }],
        ..ContractExpectation::default()
    };
    let dialer = server(true, unchanged);
    assert!(check(&dialer, &own(None, Some("abc"))).passed());
    assert!(!check(&dialer, &own(Some(204), None)).passed());
    assert!(!check(&dialer, &own(None, Some("abd"))).passed());
}

#[test]
fn readiness_is_told_by_one_request() {
    let here = server(true, unchanged);
    for &route in &Route::VARIANTS[..5] {
        assert!(ready(&here, &CustomCheck::of_route(route), &Expect::default()).is_ok());
    }
    let nothing = CustomCheck::answers("/nothing");
    let missing = ready(&here, &nothing, &Expect::default()).unwrap_err();
    assert_eq!(missing.never, None);
    assert_eq!(missing.why, "GET /nothing got status 404.");
    let expected = Expect { status: Some(404), ..Expect::default() };
    assert!(ready(&here, &nothing, &expected).is_ok(), "a check of its own may expect it");
    // Nobody can listen at port 0.
    let free = dialer(SocketAddr::from(([127, 0, 0, 1], 0)));
    let nobody = ready(&free, &CustomCheck::of_route(Route::Text), &Expect::default()).unwrap_err();
    assert_eq!(nobody.never, None);
    assert_eq!(nobody.why, format!("No connection to {free}: connection refused."));
    // A check of a server that is not there says so once per route and does not go on.
    let report = check(&free, &all(true));
    assert_eq!(report.results.len(), 5);
}

#[test]
fn the_expected_body_of_work_is_the_generators_nth_number() {
    assert_eq!((work(0), work(1), work(2)), ("0".into(), "1013904223".into(), "1196435762".into()));
    assert_eq!(expected_body(Route::Text).as_deref(), Some(GREETING.as_bytes()));
    assert_eq!(expected_body(Route::Json), None);
}
