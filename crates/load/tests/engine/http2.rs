//! HTTP/2: what the client counted is what the server's ledger has, whatever the server's limits and ends.

use std::num::NonZeroU32;
use std::time::Duration;

use prony_model::json_value::JsonValue;
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::{Arrivals, Plan, Protocol};
use prony_model::rate::Rate;
use prony_model::secret::Secret;
use prony_model::tls::{Roots, Verify};
use prony_target::{Config, Http2Config, Target};

use crate::{plan, run, settled};

fn http2(target: &Target, connections: u32, streams: u32, requests: u64) -> Plan {
    let mut plan = plan(target.address());
    (plan.protocol, plan.connections, plan.pipeline) = (Protocol::Http2, connections, streams);
    plan.stop.requests = Some(requests);
    plan
}

fn failures(m: &Measurement, kind: ErrorKind) -> u64 {
    m.errors.get(&kind).map_or(0, |failures| failures.count)
}

#[test]
fn requests_over_streams_are_counted_as_the_server_counts_them() {
    for (threads, connections, streams, requests) in [(1, 1, 1, 500), (2, 4, 16, 5_000), (1, 3, 100, 2_000)] {
        let target = Target::start(&Config::default()).unwrap();
        let mut p = http2(&target, connections, streams, requests);
        p.threads = threads;
        let m = run(&p).unwrap();
        assert_eq!(
            (m.requests.completed, m.requests.failed, m.run_total.sent),
            (requests, 0, requests),
            "{:?}",
            m.errors
        );
        assert_eq!(m.run_total.connections, u64::from(connections));
        let ledger = settled(target, connections.into());
        assert_eq!((ledger.requests_received, ledger.requests_answered), (requests, requests));
    }
}

#[test]
fn a_body_goes_up_and_a_wrong_one_that_comes_down_is_found() {
    let target = Target::start(&Config { body_bytes: Some(100_000), ..Config::default() }).unwrap();
    let mut p = http2(&target, 2, 4, 40);
    p.body = vec![b'x'; 50_000];
    p.expect.body = Some(b"another".to_vec());
    let m = run(&p).unwrap();
    assert_eq!((failures(&m, ErrorKind::BodyMismatch), m.requests.failed), (40, 40), "{:?}", m.errors);
    assert!(m.read_bytes > 40 * 100_000 && m.sent_bytes > 40 * 50_000);
    drop(settled(target, 2));
}

#[test]
fn every_coded_body_over_streams_is_decoded_for_its_check() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = http2(&target, 2, 4, 200);
    p.target.path = "/json/25?m=4".to_owned();
    p.headers = vec![("accept-encoding".to_owned(), Secret::hidden("gzip"))];
    p.decode = true;
    p.expect.json = vec![JsonValue::parse("/count=25").unwrap()];
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (200, 0), "{:?}", m.errors);
    assert!(m.decoded_bytes > 2 * m.read_bytes, "{} of {}", m.decoded_bytes, m.read_bytes);
    drop(settled(target, 2));
}

#[test]
fn at_a_rate_no_more_streams_are_used_than_the_server_allows() {
    let http2_config = Http2Config { max_streams: 3, ..Http2Config::default() };
    let target = Target::start(&Config { http2: http2_config, ..Config::default() }).unwrap();
    let mut p = http2(&target, 1, 20, 300);
    p.arrivals = Arrivals::Constant(Rate::per_s(20_000.0).unwrap());
    let m = run(&p).unwrap();
    let used = m.http2.unwrap();
    assert_eq!((used.streams, used.moved), (3, 0));
    // The one connection stands throughout: what waits, waits for a stream.
    assert_eq!(used.no_connection.count, 0);
    assert_eq!(used.own.window_bytes, (1 << 30) - 1);
    // Those beyond would be refused.
    assert_eq!((m.requests.completed, m.requests.failed), (300, 0), "{:?}", m.errors);
    drop(settled(target, 1));
}

#[test]
fn no_request_is_lost_where_a_server_ends_its_connections() {
    let http2_config = Http2Config { goaway_after: NonZeroU32::new(10), ..Http2Config::default() };
    let target = Target::start(&Config { http2: http2_config, ..Config::default() }).unwrap();
    let m = run(&http2(&target, 2, 4, 200)).unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (200, 0), "{:?}", m.errors);
    assert!(m.run_total.connections >= 20, "{}", m.run_total.connections);
    // The target answers the tenth, and lets those behind it go: how many had been written then is chance.
    assert_eq!(m.http2.map(|used| used.streams), Some(4));
}

#[test]
fn a_stream_that_the_server_resets_fails_alone() {
    let http2_config = Http2Config { reset_every: NonZeroU32::new(10), ..Http2Config::default() };
    let target = Target::start(&Config { http2: http2_config, ..Config::default() }).unwrap();
    let m = run(&http2(&target, 1, 4, 100)).unwrap();
    assert_eq!((m.requests.completed, failures(&m, ErrorKind::StreamReset)), (90, 10), "{:?}", m.errors);
    assert_eq!(m.run_total.connections, 1);
}

#[test]
fn a_body_that_is_only_partly_taken_runs_into_the_timeout() {
    let http2_config = Http2Config { starve_uploads: Some(1_000), ..Http2Config::default() };
    let target = Target::start(&Config { http2: http2_config, ..Config::default() }).unwrap();
    let mut p = http2(&target, 1, 2, 4);
    (p.body, p.timeout) = (vec![b'x'; 50_000], Duration::from_millis(50));
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, failures(&m, ErrorKind::RequestTimeout)), (0, 4), "{:?}", m.errors);
}

#[test]
fn over_tls_the_target_is_the_same_server() {
    let http2_config = Http2Config { goaway_after: NonZeroU32::new(50), ..Http2Config::default() };
    let config = Config { tls: true, http2: http2_config, body_bytes: Some(100_000), ..Config::default() };
    for (protocol, streams) in [(Protocol::Http1, 1), (Protocol::Http1, 4), (Protocol::Http2, 4)] {
        let target = Target::start(&config).unwrap();
        let mut p = http2(&target, 2, streams, 200);
        (p.protocol, p.target.tls) = (protocol, true);
        p.tls.verify = Verify::Roots(Roots::from_pem(target.certificate().unwrap().as_bytes()).unwrap());
        let m = run(&p).unwrap();
        let counts = (m.requests.completed, m.requests.failed);
        assert_eq!(counts, (200, 0), "{protocol:?}: {:?}", m.errors);
        let alpn = if protocol == Protocol::Http2 { "h2" } else { "http/1.1" };
        assert_eq!(m.tls.and_then(|tls| tls.agreed?.alpn).as_deref(), Some(alpn));
        let ledger = settled(target, m.run_total.connections);
        // Those of the probe before a pipelined load of HTTP/1.1, too.
        let probed = if protocol == Protocol::Http1 && streams > 1 { u64::from(streams) } else { 0 };
        assert_eq!(ledger.requests_answered, 200 + probed);
        // Each side counts the same bytes, those within TLS: but for frames of the connection's end, at most.
        assert!(m.read_bytes <= ledger.bytes_written, "{} {}", m.read_bytes, ledger.bytes_written);
        assert!(m.read_bytes > 200 * 100_000);
    }
}

#[test]
fn a_client_that_distrusts_the_targets_certificate_is_told_so() {
    let [target, another] =
        [0, 0].map(|_| Target::start(&Config { tls: true, ..Config::default() }).unwrap());
    let mut p = http2(&target, 1, 1, 2);
    p.target.tls = true;
    p.tls.verify = Verify::Roots(Roots::from_pem(another.certificate().unwrap().as_bytes()).unwrap());
    let said = run(&p).unwrap_err().to_string();
    assert!(said.contains("certificate"), "{said}");
}
