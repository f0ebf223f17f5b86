//! The contract over HTTP/2, held against the reference server and against servers that do not speak it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::thread;

use prony_load::dial::Dialer;
use prony_model::plan::{Expect, Protocol};
use prony_model::{Plan, Target};
use prony_target::{Config, Http2Config};
use strum::VariantArray;

use super::*;

fn dialer(address: SocketAddr) -> Dialer {
    let plan = Plan::closed(Target::parse(&format!("http://{address}/")).unwrap());
    Dialer::of(&Plan { protocol: Protocol::Http2, ..plan }).unwrap()
}

fn checked(config: Http2Config) -> CheckReport {
    let target = prony_target::Target::start(&Config { http2: config, ..Config::default() }).unwrap();
    // Of `work` the reference server has one of its own, and it has no services.
    let has = |route: &Route| *route != Route::Work && route.needs().is_none();
    let routes = Route::VARIANTS.iter().copied().filter(has).collect();
    let expectation = ContractExpectation { routes, keepalive: Some(false), ..Default::default() };
    check(&dialer(target.address()), &expectation)
}

fn result<'a>(report: &'a CheckReport, name: &str) -> &'a CheckResult {
    report.results.iter().find(|result| result.name == name).unwrap()
}

#[test]
fn a_right_server_passes_in_full_over_http2() {
    let report = checked(Http2Config::default());
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&CheckResult>::new());
    let names: Vec<&str> = report.results.iter().map(|result| result.name.as_str()).collect();
    assert!(names.iter().all(|name| name.ends_with(" over HTTP/2")), "{names:?}");
    assert!(report.results.iter().all(|result| result.passed), "{:?}", report.results);
    // What a recipe says of keep-alive is about HTTP/1.1.
    let kept = result(&report, "keep-alive over HTTP/2");
    assert_eq!((kept.note, kept.detail.as_str()), (true, "Two requests on one connection got responses."));
    assert_eq!(
        report.bodies().get("/json").map(Vec::as_slice),
        Some(&b"{\"message\":\"Hello, World!\"}"[..])
    );
}

#[test]
fn a_fault_of_a_server_is_shown_with_what_went_over_the_wire() {
    let every = |n: u32| NonZeroU32::new(n);
    let reset = checked(Http2Config { reset_every: every(1), ..Http2Config::default() });
    let text = result(&reset, "GET / over HTTP/2");
    assert_eq!(text.detail, "The server reset the stream (INTERNAL_ERROR).");
    assert!(text.wire.as_ref().unwrap().starts_with("> GET / HTTP/2\n"), "{:?}", text.wire);
    // It ends each connection after a request, in good order: the contract is kept, and a note says so.
    let ended = checked(Http2Config { goaway_after: every(1), ..Http2Config::default() });
    assert!(ended.passed());
    let kept = result(&ended, "keep-alive over HTTP/2");
    assert_eq!(kept.detail, "Connections are closed after a response.");
}

#[test]
fn a_server_of_http1_alone_is_found_to_speak_no_http2() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let asked = ready(&dialer(address), &CustomCheck::of_route(Route::Text), &Expect::default());
    let not = asked.unwrap_err();
    assert_eq!(not.why, "The server responded in HTTP/1 to an HTTP/2 request.");
    assert_eq!(not.never, Some(Never::NotSpoken), "it is not waited for");
}
