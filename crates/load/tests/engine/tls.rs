//! The engine against TLS servers whose truth is known.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prony_load::LoadError;
use prony_model::measurement::{ErrorKind, Measurement, TlsUse};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_model::tls::{Roots, Verify};
use prony_model::{Plan, Target};
use rcgen::date_time_ymd;
use rustls::version::{TLS12, TLS13};

use crate::tls_server::{self as server, AUTHORITY, Pair, RIGHT, Speaks};
use crate::{lying, plan, refusing, run};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A plan against `https://` that trusts the authority of these tests.
fn tls_plan(address: SocketAddr) -> Plan {
    let mut p = plan(address);
    p.target = Target::parse(&format!("https://{address}/")).unwrap();
    p.tls.verify = Verify::Roots(AUTHORITY.roots());
    p
}

fn seen(m: &Measurement) -> &TlsUse {
    m.tls.as_ref().unwrap()
}

fn errors(m: &Measurement) -> Vec<(ErrorKind, u64)> {
    m.errors.iter().map(|(kind, tally)| (*kind, tally.count)).collect()
}

/// The load is refused before it begins because of TLS, in a sentence with these words.
#[track_caller]
fn refused(plan: &Plan, words: &[&str]) {
    let error = run(plan).unwrap_err();
    assert!(matches!(error, LoadError::Unreachable { kind: ErrorKind::Tls, .. }), "{error:?}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is missing: {error}");
    }
}

fn leaked(pair: Pair) -> &'static Pair {
    Box::leak(Box::new(pair))
}

#[test]
fn the_ledger_and_the_counts_agree_to_the_request() {
    let (address, ledger) = server::always(&Speaks::default(), HELLO);
    for (threads, connections, requests, keepalive) in [(1, 20, 2_000, true), (2, 5, 200, false)] {
        let before = ledger.requests();
        let mut p = tls_plan(address);
        (p.threads, p.connections, p.keepalive) = (threads, connections, keepalive);
        p.stop.requests = Some(requests);
        p.expect.body = Some(b"hello".to_vec());
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (requests, 0), "{:?}", m.errors);
        assert_eq!((m.run_total.sent, ledger.requests() - before), (requests, requests));
        let connected = if keepalive { u64::from(connections) } else { requests };
        assert_eq!(m.run_total.connections, connected);
        assert_eq!(seen(&m).full + seen(&m).resumed, connected);
        // Five bytes of body and the head: plaintext is counted, not records.
        assert_eq!(m.read_bytes, requests * HELLO.len() as u64);
        assert_eq!(m.sent_bytes, requests * m.request_bytes);
        let waited = m.latency.parts().connect_wait.max();
        assert_eq!(waited > 0, !keepalive, "a request waits for its own handshake only: {waited}");
    }
}

#[test]
fn the_agreed_tls_version_and_cipher_are_reported() {
    for (version, name, cipher) in [
        (&TLS13, "TLSv1.3", "TLS_AES_128_GCM_SHA256"),
        (&TLS12, "TLSv1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"),
    ] {
        let versions: &'static [_] = Box::leak(Box::new([version]));
        let (address, _) = server::always(&Speaks { versions, ..Speaks::default() }, HELLO);
        let m = run(&tls_plan(address)).unwrap();
        let agreed = seen(&m).agreed.as_ref().unwrap();
        assert_eq!((agreed.version.as_str(), agreed.cipher.as_str()), (name, cipher));
        assert_eq!(agreed.key_exchange.as_deref(), Some("X25519"));
        assert_eq!(
            agreed.alpn.as_deref(),
            Some("http/1.1"),
            "and not h2, which the server would rather have"
        );
    }
}

#[test]
fn the_name_of_the_url_is_asked_for() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    let pair = leaked(AUTHORITY.issue("localhost", |_| {}));
    let address = server::serve(&Speaks { pair, ..Speaks::default() }, move |stream| {
        if server::read_request(stream).is_some() {
            heard.lock().unwrap().push(stream.conn.server_name().map(str::to_owned));
            let _ = stream.write_all(HELLO);
        }
    });
    let mut p = tls_plan(address);
    p.target.host = "localhost".to_owned();
    p.stop.requests = Some(1);
    assert_eq!(run(&p).unwrap().requests.completed, 1);
    assert_eq!(*asked.lock().unwrap(), [Some("localhost".to_owned())]);
}

#[test]
fn the_name_of_sni_is_asked_for_and_its_certificate_checked() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    let pair = leaked(AUTHORITY.issue("other.test", |_| {}));
    let address = server::serve(&Speaks { pair, ..Speaks::default() }, move |stream| {
        if server::read_request(stream).is_some() {
            heard.lock().unwrap().push(stream.conn.server_name().map(str::to_owned));
            let _ = stream.write_all(HELLO);
        }
    });
    let mut p = tls_plan(address);
    p.connect.sni = Some("other.test".to_owned());
    p.stop.requests = Some(1);
    assert_eq!(run(&p).unwrap().requests.completed, 1);
    assert_eq!(*asked.lock().unwrap(), [Some("other.test".to_owned())]);
    p.connect.sni = Some("third.test".to_owned());
    refused(&p, &["third.test"]);
}

#[test]
fn a_certificate_of_an_untrusted_issuer_is_refused() {
    let stranger = server::Authority::new("a stranger");
    let pair = leaked(stranger.issue("127.0.0.1", |_| {}));
    let (address, ledger) = server::always(&Speaks { pair, ..Speaks::default() }, HELLO);
    refused(&tls_plan(address), &["nobody who is trusted", "--cacert", "-k"]);
    assert_eq!(ledger.requests(), 0, "nothing is said to a stranger");

    let mut p = tls_plan(address);
    (p.connections, p.keepalive, p.stop.requests) = (20, false, Some(20));
    let m = run(&p).unwrap();
    assert_eq!(errors(&m), [(ErrorKind::Tls, 20)]);
    assert!(m.errors[&ErrorKind::Tls].first.contains("nobody who is trusted"));
    assert_eq!((m.requests.sent, seen(&m).full, &seen(&m).agreed), (0, 0, &None));

    p.tls.verify = Verify::Nothing;
    assert_eq!(run(&p).unwrap().requests.completed, 20);
}

#[test]
fn a_certificate_for_another_name_or_another_time_is_refused() {
    let other_name = leaked(AUTHORITY.issue("other.test", |_| {}));
    let (address, _) = server::always(&Speaks { pair: other_name, ..Speaks::default() }, HELLO);
    refused(&tls_plan(address), &["other.test", "not for 127.0.0.1"]);

    let expired = leaked(AUTHORITY.issue("127.0.0.1", |p| p.not_after = date_time_ymd(2020, 1, 1)));
    let (address, _) = server::always(&Speaks { pair: expired, ..Speaks::default() }, HELLO);
    refused(&tls_plan(address), &["expired", "days ago"]);
}

#[test]
fn a_named_self_signed_certificate_is_trusted_within_its_dates() {
    let serve = |pair: Pair| {
        let pair = leaked(pair);
        let (address, _) = server::always(&Speaks { pair, ..Speaks::default() }, HELLO);
        let mut p = tls_plan(address);
        p.tls.verify = Verify::Roots(Roots::from_pem(pair.certificate.as_bytes()).unwrap());
        p
    };
    let right = serve(server::self_signed("127.0.0.1", |_| {}));
    assert_eq!(run(&right).unwrap().requests.completed, 200);
    refused(&serve(server::self_signed("other.test", |_| {})), &["other.test"]);
    let expired = serve(server::self_signed("127.0.0.1", |p| p.not_after = date_time_ymd(2020, 1, 1)));
    refused(&expired, &["expired"]);
    // Another one of the same name is not the one that was named.
    let mut impostor = serve(server::self_signed("127.0.0.1", |_| {}));
    impostor.tls.verify = right.tls.verify;
    let error = run(&impostor).unwrap_err();
    assert!(matches!(error, LoadError::Unreachable { kind: ErrorKind::Tls, .. }), "{error:?}");
}

/// Made by `openssl x509 -req` without extensions, which is version 1, valid until 2126; with its key.
const VERSION_1: &str = include_str!("version_1.pem");

#[test]
fn a_clients_certificate_of_x_509_version_1_is_shown() {
    let pair = Pair { certificate: VERSION_1.to_owned(), key: VERSION_1.to_owned() };
    for version in [&TLS12, &TLS13] {
        let versions: &'static [_] = Box::leak(Box::new([version]));
        let pinned_client = pair.chain().pop();
        let speaks = Speaks { versions, pinned_client, ..Speaks::default() };
        let (address, ledger) = server::always(&speaks, HELLO);
        let mut p = tls_plan(address);
        (p.connections, p.stop.requests) = (2, Some(20));
        p.tls.identity = Some(pair.identity());
        assert_eq!((run(&p).unwrap().requests.completed, ledger.requests()), (20, 20));
        // A key that does not belong to it is refused before anything is sent.
        let other = Pair { certificate: VERSION_1.to_owned(), key: RIGHT.key.clone() };
        p.tls.identity = Some(other.identity());
        let error = run(&p).unwrap_err();
        assert!(matches!(error, LoadError::Plan(_)), "{error}");
    }
}

#[test]
fn a_client_shows_its_certificate_where_it_is_wanted() {
    for version in [&TLS12, &TLS13] {
        let versions: &'static [_] = Box::leak(Box::new([version]));
        let speaks = Speaks { versions, wants_client: true, ..Speaks::default() };
        let (address, ledger) = server::always(&speaks, HELLO);
        let mut p = tls_plan(address);
        (p.connections, p.stop.requests) = (20, Some(20));
        // With TLS 1.3 the refusal follows the handshake: it comes before or after the requests.
        match run(&p) {
            Err(LoadError::Unreachable { kind: ErrorKind::Tls, reason, .. }) => {
                assert!(reason.contains("--cert") || *version == TLS12, "{reason}");
            }
            Ok(m) => {
                assert_eq!((errors(&m), version), (vec![(ErrorKind::Tls, 20)], &TLS13));
                assert!(m.errors[&ErrorKind::Tls].first.contains("--cert"), "{:?}", m.errors);
            }
            Err(other) => panic!("{other}"),
        }
        assert_eq!(ledger.requests(), 0);

        p.tls.identity = Some(AUTHORITY.issue("a client", |_| {}).identity());
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, ledger.requests()), (20, 20));

        p.tls.identity = Some(
            Pair { certificate: RIGHT.certificate.clone(), key: server::self_signed("x", |_| {}).key }
                .identity(),
        );
        let error = run(&p).unwrap_err();
        assert!(matches!(error, LoadError::Plan(_)) && error.to_string().contains("--key"), "{error}");
    }
}

#[test]
fn answers_are_whole_in_whatever_records_they_come() {
    let large: Vec<u8> = (0..10_000_000u32).map(|i| (i % 253) as u8).collect();
    let mut large_answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", large.len()).into_bytes();
    large_answer.extend_from_slice(&large);
    let chunked: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n";
    for (fragment, answer, body, requests) in [
        (Some(32), HELLO, b"hello".as_slice(), 50),
        (Some(32), chunked, b"hellohello", 50),
        (None, chunked, b"hellohello", 50),
        (None, large_answer.as_slice(), large.as_slice(), 4),
        (Some(1000), large_answer.as_slice(), large.as_slice(), 2),
    ] {
        let (address, _) = server::always(&Speaks { fragment, ..Speaks::default() }, answer);
        let mut p = tls_plan(address);
        (p.connections, p.stop.requests) = (2, Some(requests));
        p.expect.body = Some(body.to_vec());
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (requests, 0), "{:?}", m.errors);
        assert_eq!(m.run_total.connections, 2);
    }
}

#[test]
fn a_large_request_arrives_whole() {
    let address = server::serve(&Speaks::default(), |stream| {
        let (mut got, mut part) = (Vec::new(), vec![0; 100_000]);
        let head = loop {
            let Ok(count @ 1..) = stream.read(&mut part) else { return };
            got.extend_from_slice(&part[..count]);
            if let Some(at) = got.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
        };
        while got.len() < head + 3_000_000 {
            let Ok(count @ 1..) = stream.read(&mut part) else { return };
            got.extend_from_slice(&part[..count]);
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", got.len() - head);
        stream.write_all(answer.as_bytes()).unwrap();
        stream.write_all(&got[head..]).unwrap();
        server::close(stream);
    });
    let mut p = tls_plan(address);
    p.work = prony_model::plan::Work::Request("POST".to_owned());
    p.body = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    p.expect.body = Some(p.body.clone());
    (p.connections, p.keepalive, p.stop.requests) = (2, false, Some(6));
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (6, 0), "{:?}", m.errors);
    assert_eq!((m.run_total.sent, m.run_total.connections), (6, 6));
}

#[test]
fn an_answer_ending_with_its_connection_needs_a_close_notify() {
    const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhello";
    let half = &HELLO[..HELLO.len() - 2];
    for (answer, clean, fails) in [
        (HELLO, false, None),
        (HELLO, true, None),
        (UNTIL_CLOSE, true, None),
        (UNTIL_CLOSE, false, Some("close_notify")),
        (half, true, Some("before its response was complete")),
        (half, false, Some("close_notify")),
    ] {
        let address = server::serve(&Speaks::default(), move |stream| {
            if server::read_request(stream).is_some() {
                let _ = stream.write_all(answer);
                if clean {
                    server::close(stream);
                }
            }
        });
        let mut p = tls_plan(address);
        (p.connections, p.keepalive, p.stop.requests) = (10, false, Some(20));
        let m = run(&p).unwrap();
        match fails {
            None => assert_eq!((m.requests.completed, errors(&m)), (20, vec![])),
            Some(words) => {
                assert_eq!(errors(&m), [(ErrorKind::ClosedEarly, 20)]);
                let first = &m.errors[&ErrorKind::ClosedEarly].first;
                assert!(first.contains(words), "{first}");
            }
        }
    }
}

#[test]
fn the_end_is_seen_even_where_the_connection_stays_open() {
    let address = server::serve(&Speaks::default(), |stream| {
        if server::read_request(stream).is_some() {
            // The answer and its end in one write, and then nothing, not even TCP's end.
            stream.conn.writer().write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
            server::close(stream);
            std::thread::sleep(Duration::from_secs(3600));
        }
    });
    let mut p = tls_plan(address);
    (p.keepalive, p.stop.requests) = (false, Some(3));
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, errors(&m)), (3, vec![]));
}

#[test]
fn connections_after_the_first_resume_it_unless_told_not_to() {
    for version in [&TLS12, &TLS13] {
        let versions: &'static [_] = Box::leak(Box::new([version]));
        let (address, _) = server::always(&Speaks { versions, ..Speaks::default() }, HELLO);
        for resumption in [true, false] {
            let mut p = tls_plan(address);
            (p.keepalive, p.stop.requests, p.tls.resumption) = (false, Some(10), resumption);
            let m = run(&p).unwrap();
            assert_eq!(m.requests.completed, 10);
            let expected = if resumption { (1, 9) } else { (10, 0) };
            assert_eq!((seen(&m).full, seen(&m).resumed), expected, "{version:?}");
        }
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_named_as_such() {
    const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    let talkative = lying::serve(|mut stream, _| {
        let _ = stream.read(&mut [0; 64]);
        let _ = stream.write_all(BAD_REQUEST);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    refused(&tls_plan(talkative), &["not TLS", "http://"]);
    refused(&tls_plan(lying::serve(|stream, _| drop(stream))), &["during the TLS handshake", "on this port"]);
    let real = prony_target::Target::start(&prony_target::Config::default()).unwrap();
    refused(&tls_plan(real.address()), &["TLS"]);
}

#[test]
fn a_handshake_that_hangs_is_a_connect_that_takes_too_long() {
    let address = lying::serve(|stream, _| {
        std::thread::sleep(Duration::from_secs(3600));
        drop(stream);
    });
    let mut p = tls_plan(address);
    p.timeout = Duration::from_millis(100);
    (p.connections, p.stop.requests) = (5, Some(5));
    let error = run(&p).unwrap_err();
    assert!(matches!(error, LoadError::Unreachable { kind: ErrorKind::ConnectTimeout, .. }), "{error:?}");
    assert!(error.to_string().contains("TLS handshake"), "{error}");
    p.keepalive = false;
    let m = run(&p).unwrap();
    assert_eq!((errors(&m), m.requests.sent), (vec![(ErrorKind::ConnectTimeout, 5)], 0));
    assert!(m.latency.parts().response.failed.min() >= 99_000_000);
}

#[test]
fn nobody_listens() {
    let (address, _held) = refusing();
    let error = run(&tls_plan(address)).unwrap_err();
    assert!(matches!(error, LoadError::Unreachable { kind: ErrorKind::ConnectRefused, .. }), "{error:?}");
}

#[test]
fn a_rate_is_kept_over_tls() {
    let (address, ledger) = server::always(&Speaks::default(), HELLO);
    let mut p = tls_plan(address);
    p.connections = 4;
    p.arrivals = Arrivals::Constant(Rate::per_s(1000.0).unwrap());
    p.stop.requests = Some(123);
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, ledger.requests()), (123, 123));
}

#[test]
fn names_that_no_certificate_can_have_are_refused() {
    let mut p = tls_plan("127.0.0.1:1".parse().unwrap());
    p.target.host = "not a name".to_owned();
    let error = run(&p).unwrap_err();
    assert!(matches!(error, LoadError::Plan(_)) && error.to_string().contains("not a name"), "{error}");
}
