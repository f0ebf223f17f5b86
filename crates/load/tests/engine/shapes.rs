//! Pipelines, dropped bodies, and arrivals of every kind: counts that agree with the server's.

use std::io::Write;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use prony_load::pace::Poisson;
use prony_model::Plan;
use prony_model::measurement::{ErrorKind, ReceiveClock};
use prony_model::plan::{Arrivals, Expect, Work};
use prony_model::rate::{Rate, Stage};
use prony_target::{Config, Target};

use crate::{HANGS, lying, plan, run, run_until, settled};

#[test]
fn a_pipeline_answers_every_request_once() {
    for (connections, pipeline, requests) in [(1, 16, 5_000), (7, 3, 2_000), (20, 64, 500), (2, 1024, 10)] {
        let target = Target::start(&Config::default()).unwrap();
        let mut p = plan(target.address());
        (p.connections, p.pipeline, p.stop.requests) = (connections, pipeline, Some(requests));
        let m = run(&p).unwrap();
        let ledger = settled(target, u64::from(connections) + 1);
        assert_eq!((m.requests.completed, m.requests.failed), (requests, 0));
        // Those of the probe before the clock, too.
        let sent = requests + u64::from(pipeline);
        assert_eq!((m.run_total.sent, ledger.requests_received), (sent, sent));
        assert_eq!(ledger.connections_accepted, u64::from(connections) + 1);
    }
}

#[test]
fn a_pipeline_has_so_many_in_flight_and_no_more() {
    let target = Target::start(&Config { delay: "20ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    (p.connections, p.pipeline) = (2, 5);
    let m = run_until(&p, |so_far| so_far.completed >= 20);
    assert_eq!((m.requests.in_flight, m.requests.failed), (10, 0));
    assert_eq!(m.run_total.sent, settled(target, 3).requests_received);
}

#[test]
fn a_pipeline_at_a_rate_is_answered_whole() {
    let target = Target::start(&Config { delay: "50ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    (p.connections, p.pipeline) = (2, 20);
    p.arrivals = Arrivals::Constant(Rate::per_s(400.0).unwrap());
    p.stop.requests = Some(80);
    let m = run(&p).unwrap();
    // That it is sent in time, as two connections without a pipeline could not, is in the simulation.
    assert_eq!((m.requests.completed, m.requests.never_sent), (80, 0));
}

/// Answers `answers` requests on each connection, the last with `Connection: close`, and hangs up.
fn closes_after(answers: usize) -> std::net::SocketAddr {
    lying::serve(move |mut stream, _| {
        for i in 1..=answers {
            if !lying::read_request(&mut stream) {
                return;
            }
            let close = if i == answers { "Connection: close\r\n" } else { "" };
            let answer = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 2\r\n\r\nok");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    })
}

#[test]
fn what_a_closing_server_leaves_of_a_pipeline_has_failed() {
    let mut p = plan(closes_after(3));
    (p.pipeline, p.stop.requests) = (4, Some(40));
    let m = run(&p).unwrap();
    let failed = |kind| m.errors.get(&kind).map_or(0, |t| t.count);
    assert_eq!(m.requests.completed + m.requests.failed, 40);
    // A connection answers three, of which a reset may destroy those not read yet, and fails the one to four that were
    // written behind them. Of the last two, nothing may have been left to be written.
    let connections = m.run_total.connections;
    assert!((1..=3 * connections).contains(&m.requests.completed), "{:?} {:?}", m.requests, m.errors);
    assert!(
        (connections - 2..=4 * connections).contains(&m.requests.failed),
        "{:?} {:?}",
        m.requests,
        m.errors
    );
    assert_eq!(failed(ErrorKind::ClosedEarly) + failed(ErrorKind::Reset), m.requests.failed);
}

#[test]
fn the_oldest_request_times_out_and_the_others_are_abandoned() {
    let address = lying::serve(|mut stream, _| while lying::read_request(&mut stream) {});
    let mut p = plan(address);
    (p.pipeline, p.stop.requests, p.timeout) = (4, Some(8), Duration::from_millis(300));
    let m = run(&p).unwrap();
    let failed = |kind| m.errors.get(&kind).map_or(0, |t| t.count);
    assert_eq!((failed(ErrorKind::RequestTimeout), failed(ErrorKind::Abandoned)), (2, 6));
    // One more connection is that of the probe before the clock.
    assert_eq!((m.requests.failed, m.run_total.connections), (8, 3));
    assert!(m.errors[&ErrorKind::Abandoned].first.contains("timed out"));
}

#[test]
fn an_answer_too_many_ends_the_connection() {
    let address = lying::always(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    );
    let mut p = plan(address);
    p.stop.requests = Some(20);
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.run_total.connections), (20, 20));
}

#[test]
fn dropped_bodies_are_counted_and_compared_ones_are_read() {
    const BYTES: usize = 300_000;
    for compared in [false, true] {
        let target = Target::start(&Config { body_bytes: Some(BYTES), ..Config::default() }).unwrap();
        let mut p = plan(target.address());
        (p.connections, p.stop.requests) = (3, Some(100));
        if compared {
            // Not the body that it sends, and as long.
            p.expect = Expect { body: Some(vec![0xff; BYTES]), ..Expect::default() };
        }
        let m = run(&p).unwrap();
        let wrong = m.errors.get(&ErrorKind::BodyMismatch).map_or(0, |t| t.count);
        assert_eq!((m.requests.completed, wrong), if compared { (0, 100) } else { (100, 0) });
        assert!(m.read_bytes >= 100 * BYTES as u64, "{}", m.read_bytes);
        assert!(m.read_bytes < 100 * (BYTES as u64 + 500), "{}", m.read_bytes);
    }
}

#[test]
fn large_and_small_answers_in_turn_are_told_apart() {
    let address = lying::serve(|mut stream, _| {
        for i in 0.. {
            if !lying::read_request(&mut stream) {
                return;
            }
            let body = vec![b'x'; if i % 2 == 0 { 100_000 } else { 5 }];
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all(&[head.as_bytes(), &body].concat()).is_err() {
                return;
            }
        }
    });
    let mut p = plan(address);
    p.stop.requests = Some(50);
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.run_total.connections), (50, 1));
}

#[test]
fn a_poisson_schedule_is_the_seeds() {
    let target = Target::start(&Config::default()).unwrap();
    let rate = Rate::per_s(2000.0).unwrap();
    for threads in [1, 2] {
        let mut p = plan(target.address());
        (p.threads, p.connections, p.seed) = (threads, 40, 11);
        p.arrivals = Arrivals::Poisson(rate);
        p.stop.requests = None;
        p.warmup = Duration::from_millis(50);
        p.stop.duration = Some(Duration::from_millis(200));
        let m = run(&p).unwrap();
        let due = Poisson::new(rate, 11).take_while(|at| *at < 250_000_000);
        assert_eq!(m.requests.scheduled, due.filter(|at| *at >= 50_000_000).count() as u64);
    }
}

fn stages(of: &[(u64, u64)]) -> Vec<Stage> {
    of.iter().map(|(ms, to)| Stage { duration: Duration::from_millis(*ms), to: *to }).collect()
}

#[test]
fn stages_of_a_rate_send_the_area_below_them() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = plan(target.address());
    (p.threads, p.connections) = (2, 40);
    // 0 → 1000/s in 200 ms: 100; level for 100 ms: 100; down to 500/s in 100 ms: 75.
    p.arrivals =
        Arrivals::RateStages(stages(&[(200, 1_000_000_000), (100, 1_000_000_000), (100, 500_000_000)]));
    p.stop.requests = None;
    p.stop.duration = Some(Duration::from_millis(400));
    let m = run(&p).unwrap();
    assert_eq!(m.requests.scheduled, 275);
    assert_eq!(m.requests.completed + m.requests.in_flight + m.requests.never_sent, 275);
}

/// Stages of 30 connections that come within a tenth of a second, and what follows.
fn thirty(address: std::net::SocketAddr, then: &[(u64, u64)]) -> Plan {
    let mut p = plan(address);
    (p.threads, p.connections) = (2, 30);
    p.arrivals = Arrivals::ConnectionStages(stages(&[&[(100, 30)], then].concat()));
    p
}

#[test]
fn stages_of_connections_open_as_users_come() {
    let target = Target::start(&Config { delay: "5ms".parse().unwrap(), ..Config::default() }).unwrap();
    let m = run_until(&thirty(target.address(), &[(HANGS.as_millis() as u64, 30)]), |_| {
        target.ledger().connections_accepted == 30
    });
    assert_eq!((m.run_total.connections, m.requests.failed), (30, 0));
    assert_eq!(m.run_total.sent, settled(target, 30).requests_received);
}

#[test]
fn stages_of_connections_close_as_users_go() {
    let target = Target::start(&Config { delay: "5ms".parse().unwrap(), ..Config::default() }).unwrap();
    // After 200 ms no user is left who could begin: those at work go with their next answer, and the load goes on.
    let p = thirty(target.address(), &[(100, 0), (HANGS.as_millis() as u64, 0)]);
    let m = run_until(&p, |so_far| {
        let over = so_far.elapsed_ns > 200_000_000 && so_far.in_flight == 0;
        over && target.ledger().connections_open == 0
    });
    assert_eq!(m.requests.failed, 0);
    // A worker that sleeps through a user's time begins none: when each comes and goes is exact in the simulation.
    assert!(m.run_total.connections <= 30, "{}", m.run_total.connections);
    let ledger = settled(target, m.run_total.connections);
    assert_eq!(ledger.connections_accepted, m.run_total.connections);
    assert_eq!(ledger.requests_received, m.run_total.sent);
}

#[test]
fn a_unix_socket_is_a_target_with_the_users_clock() {
    let path = std::env::temp_dir().join(format!("prony-engine-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path); // from a process of the same number that was killed
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut seen = Vec::new();
                let mut byte = [0];
                while std::io::Read::read(&mut stream, &mut byte).is_ok_and(|count| count == 1) {
                    seen.push(byte[0]);
                    if seen.ends_with(b"\r\n\r\n") {
                        seen.clear();
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    }
                }
            });
        }
    });
    let mut p = plan("127.0.0.1:9".parse().unwrap());
    (p.connections, p.unix) = (4, Some(path.clone()));
    let m = run(&p).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((m.requests.completed, m.run_total.connections), (200, 4));
    assert_eq!(m.clock, ReceiveClock::User);
    assert!(m.address.starts_with("unix:"), "{}", m.address);
    assert!(matches!(run(&p), Err(prony_load::LoadError::Unreachable { .. })), "it is gone");
}

#[test]
fn connections_come_from_the_sources_in_turn() {
    let (seen, peers) = std::sync::mpsc::channel();
    let address = lying::serve(move |mut stream, _| {
        let _ = seen.send(stream.peer_addr().unwrap().ip().to_string());
        while lying::read_request(&mut stream) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let mut p = plan(address);
    p.connections = 6;
    p.sources = ["127.0.0.2", "127.0.0.3"].map(|a| a.parse().unwrap()).to_vec();
    let m = run(&p).unwrap();
    assert_eq!(m.requests.completed, 200);
    let mut from: Vec<String> = peers.try_iter().collect();
    from.sort();
    assert_eq!(from, ["127.0.0.2", "127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.3"]);
    p.sources = vec!["192.0.2.1".parse().unwrap()];
    assert!(run(&p).unwrap_err().to_string().contains("192.0.2.1"));
}

#[test]
fn one_wrong_byte_in_a_mebibyte_is_a_mismatch_in_any_framing() {
    let body: Vec<u8> = (0..1u32 << 20).map(|i| (i ^ i >> 9) as u8).collect();
    let wrong = {
        let mut wrong = body.clone();
        wrong[700_001] ^= 0x10;
        wrong
    };
    // SHA-256 of the body, as the hash of a plan has it.
    let sha256 = ring::digest::digest(&ring::digest::SHA256, &body).as_ref().try_into().unwrap();
    let expectations = [
        Expect { body: Some(body.clone()), ..Expect::default() },
        Expect { sha256: Some(sha256), ..Expect::default() },
    ];
    for (expect, chunked) in expectations.iter().flat_map(|e| [(e, false), (e, true)]) {
        let (body, wrong) = (body.clone(), wrong.clone());
        let address = lying::serve(move |mut stream, _| {
            // Every third answer has the wrong byte.
            for i in 0.. {
                if !lying::read_request(&mut stream) {
                    return;
                }
                let body = if i % 3 == 2 { &wrong } else { &body };
                if write_framed(&mut stream, body, chunked).is_err() {
                    return;
                }
            }
        });
        let mut p = plan(address);
        (p.stop.requests, p.expect) = (Some(12), expect.clone());
        let m = run(&p).unwrap();
        let mismatches = m.errors.get(&ErrorKind::BodyMismatch).map_or(0, |t| t.count);
        assert_eq!((m.requests.completed, m.requests.failed, mismatches), (8, 4, 4), "chunked: {chunked}");
        assert_eq!(
            m.errors[&ErrorKind::BodyMismatch].first,
            "a body of 1048576 bytes that is not the one expected"
        );
    }
}

fn write_framed(stream: &mut impl Write, body: &[u8], chunked: bool) -> std::io::Result<()> {
    if !chunked {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())?;
        return stream.write_all(body);
    }
    write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    for (i, chunk) in body.chunks(33_333).enumerate() {
        write!(stream, "{:x}{}\r\n", chunk.len(), if i % 2 == 0 { "" } else { ";x=y" })?;
        stream.write_all(chunk)?;
        stream.write_all(b"\r\n")?;
    }
    stream.write_all(b"0\r\n\r\n")
}

#[test]
fn first_bytes_are_exact_where_heads_come_alone() {
    let target = Target::start(&Config::default()).unwrap();
    for (method, upper) in [("HEAD", 0), ("GET", 50)] {
        let mut p = plan(target.address());
        (p.work, p.stop.requests) = (Work::Request(method.to_owned()), Some(50));
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.latency.first_bytes_upper), (50, upper), "{method}");
    }
}

#[test]
fn without_the_kernels_stamps_every_clock_is_our_own() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = plan(target.address());
    let stamped = run(&p).unwrap();
    p.user_clock = true;
    let plain = run(&p).unwrap();
    let clocks = (stamped.clock, plain.clock);
    assert_eq!(clocks, (ReceiveClock::Kernel, ReceiveClock::User));
    assert_eq!((plain.requests.completed, plain.client.stamps_rejected), (200, 0));
    assert_eq!(plain.latency.client_delay.len(), 0, "nothing says how long an answer lay in the kernel");
}

#[test]
fn an_ipv6_address_is_loaded_kept_and_closed() {
    let address = std::net::SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, 0));
    if TcpListener::bind(address).is_err() {
        // A machine without IPv6 has no such address to load.
        return;
    }
    for keepalive in [true, false] {
        let target = Target::start(&Config { address, ..Config::default() }).unwrap();
        let mut p = plan(target.address());
        p.keepalive = keepalive;
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (200, 0));
        assert_eq!(m.address, target.address().to_string());
        assert!(m.address.starts_with("[::1]:"), "{}", m.address);
        assert_eq!(target.stop().requests_received, 200);
    }
}

/// A port of an address at which nobody listens, and nobody else can: a connection of this test has it.
fn taken_port(address: std::net::SocketAddr) -> (u16, TcpListener, TcpStream) {
    let listener = TcpListener::bind(address).unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (stream.local_addr().unwrap().port(), listener, stream)
}

#[test]
fn of_a_names_addresses_the_first_that_accepts_is_loaded() {
    // With IPv6 they are mostly ::1 and 127.0.0.1; where there is one alone, this is a load by a name.
    let Ok(addresses) = ("localhost", 0_u16).to_socket_addrs() else { return };
    let mut addresses: Vec<_> = addresses.filter(|address| TcpListener::bind(address).is_ok()).collect();
    let Some(mut address) = addresses.pop() else { return };
    let (target, _refusing) = loop {
        // The one before it, of the other family, refuses at the target's port.
        let before = addresses.last().filter(|before| before.is_ipv4() != address.is_ipv4());
        let refusing = before.map(|before| taken_port(*before));
        address.set_port(refusing.as_ref().map_or(0, |(port, ..)| *port));
        if let Ok(target) = Target::start(&Config { address, ..Config::default() }) {
            break (target, refusing);
        }
    };
    for keepalive in [true, false] {
        let mut p = plan(target.address());
        (p.target.host, p.keepalive) = ("localhost".to_owned(), keepalive);
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (200, 0));
        assert_eq!(m.address, target.address().to_string());
    }
}
