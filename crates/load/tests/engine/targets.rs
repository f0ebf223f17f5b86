//! Lists of requests: what is sent, in which order, and each request's figures against the server's own account.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prony_load::by_request::{FINE_MAX, ROWS_MAX};
use prony_model::list::{Order, OwnParts, TargetList};
use prony_model::measurement::ErrorKind;
use prony_model::measurement::{OTHERS, RequestFigures};
use prony_model::plan::{Arrivals, Expect, Protocol, Work};
use prony_model::rate::{Rate, Stage};
use prony_model::{Measurement, Plan, Secret};
use prony_target::{Config, Target};

use crate::{HANGS, lying, plan, run, run_until, settled};

/// Eight lines of seven requests; the third is sent twice as often, and two are not answered with 200.
const LINES: &str = "/\n/json\nHEAD /\n/sleep?ms=0\nPOST /echo\n/nope\nHEAD /\nDELETE /json\n";

fn listed(address: SocketAddr, lines: &str, order: Order) -> Plan {
    let mut plan = plan(address);
    plan.work = Work::List(TargetList::parse(lines.as_bytes(), Some(&plan.target), "GET", order).unwrap().1);
    plan
}

/// What was sent over the run, by path, as the target counts it.
fn sent_by_path(m: &Measurement) -> BTreeMap<String, u64> {
    let mut by_path = BTreeMap::new();
    for row in &m.by_request {
        let path = match row.request.as_str() {
            "GET /nope" | "DELETE /json" => "other",
            request => request.split_once(' ').unwrap().1.split('?').next().unwrap(),
        };
        *by_path.entry(path.to_owned()).or_default() += row.run_sent;
    }
    by_path.retain(|_, count| *count > 0);
    by_path
}

fn row<'a>(m: &'a Measurement, request: &str) -> &'a RequestFigures {
    m.by_request.iter().find(|row| row.request == request).unwrap()
}

#[test]
fn the_ledger_and_the_figures_of_each_request_agree() {
    let rate = Arrivals::Constant(Rate::per_s(4_000.0).unwrap());
    let poisson = Arrivals::Poisson(Rate::per_s(4_000.0).unwrap());
    let rises = Stage { duration: Duration::from_millis(500), to: 4_000_000_000 };
    let open_stages = vec![rises, Stage { duration: HANGS, ..rises }];
    let users = vec![Stage { duration: Duration::ZERO, to: 6 }, Stage { duration: HANGS, to: 6 }];
    for (arrivals, threads, pipeline, keepalive) in [
        (Arrivals::Closed, 1, 1, true),
        (Arrivals::Closed, 3, 1, true),
        (Arrivals::Closed, 2, 16, true),
        (Arrivals::Closed, 2, 1, false),
        (rate.clone(), 2, 1, true),
        (rate, 1, 8, true),
        (poisson, 2, 1, false),
        (Arrivals::RateStages(open_stages), 1, 1, true),
        (Arrivals::ConnectionStages(users), 2, 1, true),
    ] {
        for order in [Order::InTurn, Order::Shuffled] {
            let target = Target::start(&Config::default()).unwrap();
            let mut p = listed(target.address(), LINES, order);
            (p.threads, p.connections, p.pipeline, p.keepalive) = (threads, 6, pipeline, keepalive);
            (p.arrivals, p.stop.requests) = (arrivals.clone(), Some(8 * 100 + 4));
            if p.arrivals.stages().is_some() {
                p.stop.duration = Some(HANGS);
            }
            let m = run(&p).unwrap();
            assert_eq!(m.by_request.len(), 7);
            let ledger = settled(target, m.run_total.connections);
            assert_eq!(sent_by_path(&m), ledger.requests_by_path, "{arrivals:?} {threads} {order:?}");
            // 100 rounds, and half of another: which half is the order's to say.
            for figures in &m.by_request {
                let rounds = figures.lines * 100..=figures.lines * 101;
                assert!(rounds.contains(&figures.run_sent), "{arrivals:?} {order:?} {figures:?}");
                assert_eq!(figures.completed + figures.failed, figures.run_sent);
                let wrong = matches!(figures.request.as_str(), "GET /nope" | "DELETE /json");
                assert_eq!(figures.failed > 0, wrong, "{figures:?}");
                assert_eq!(
                    figures.errors.get(&ErrorKind::UnexpectedStatus).copied().unwrap_or(0),
                    figures.failed
                );
            }
            if order == Order::InTurn {
                let sent = |request| row(&m, request).run_sent;
                assert_eq!((sent("GET /"), sent("HEAD /"), sent("GET /nope")), (101, 201, 100));
            }
            assert_eq!(row(&m, "GET /nope").status, BTreeMap::from([(404, row(&m, "GET /nope").failed)]));
        }
    }
}

#[test]
fn an_interrupted_list_agrees_with_the_servers_counts() {
    let target = Target::start(&Config { delay: "5ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = listed(target.address(), LINES, Order::Shuffled);
    p.connections = 8;
    let m = run_until(&p, |so_far| so_far.completed >= 16);
    let waiting: u64 = m.by_request.iter().map(|row| row.waiting).sum();
    assert_eq!((waiting, m.requests.in_flight), (8, 8));
    assert_eq!(sent_by_path(&m), settled(target, m.run_total.connections).requests_by_path);
}

#[test]
fn never_sent_requests_count_for_their_lines() {
    // One connection, and no answer in the window: of 100 due in it, one is under way, if the worker was there to send
    // it, and the others wait.
    let target = Target::start(&Config { delay: "1h".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = listed(target.address(), "/\n/json\n", Order::InTurn);
    (p.stop.requests, p.stop.duration) = (None, Some(Duration::from_millis(100)));
    p.arrivals = Arrivals::Constant(Rate::per_s(1_000.0).unwrap());
    let m = run(&p).unwrap();
    assert_eq!(m.requests.never_sent + m.requests.in_flight, 100);
    assert!(m.requests.in_flight <= 1, "{:?}", m.requests);
    assert_eq!((m.by_request[0].waiting, m.by_request[1].waiting), (50, 50));
}

/// What each connection was asked for, by its number.
pub(crate) type Asked = Arc<Mutex<BTreeMap<usize, Vec<String>>>>;

/// A server that keeps what each connection was asked for, and answers `length` bytes to `/length/…`.
pub(crate) fn recording() -> (SocketAddr, Asked) {
    let seen = Asked::default();
    let record = Arc::clone(&seen);
    let address = lying::serve(move |stream: TcpStream, number| {
        let mut answers = stream.try_clone().unwrap();
        let mut first = None;
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let path = first.get_or_insert_with(|| line.split(' ').nth(1).unwrap().to_owned());
            if !line.is_empty() {
                continue;
            }
            record.lock().unwrap().entry(number).or_default().push(path.clone());
            let length: usize = path.split('/').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
            let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
            answer.resize(answer.len() + length, b'x');
            first = None;
            if answers.write_all(&answer).is_err() {
                return;
            }
        }
    });
    (address, seen)
}

pub(crate) fn paths(seen: &Asked) -> Vec<Vec<String>> {
    seen.lock().unwrap().values().cloned().collect()
}

#[test]
fn requests_keep_the_lists_order_with_any_number_of_workers() {
    let rate = Arrivals::Constant(Rate::per_s(2_000.0).unwrap());
    for (arrivals, threads, pipeline) in
        [(Arrivals::Closed, 1, 1), (Arrivals::Closed, 1, 4), (rate.clone(), 1, 1), (rate, 2, 1)]
    {
        let (address, seen) = recording();
        let mut p = listed(address, "/0/a\n/0/b\n/0/c\n", Order::InTurn);
        (p.arrivals, p.threads, p.connections, p.pipeline) = (arrivals, threads, threads, pipeline);
        p.stop.requests = Some(300);
        run(&p).unwrap();
        let step = threads as usize;
        let mut seen = paths(&seen);
        // Which worker connected first is chance.
        seen.retain(|asked| !asked.is_empty());
        seen.sort();
        let of = |worker: usize| {
            (0..300).skip(worker).step_by(step).map(|k| format!("/0/{}", ["a", "b", "c"][k % 3]))
        };
        let mut expected: Vec<Vec<String>> = (0..step).map(|worker| of(worker).collect()).collect();
        expected.sort();
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_seed_is_an_order() {
    let asked = |seed, shuffled| {
        let (address, seen) = recording();
        let lines: String = (0..20).map(|i| format!("/0/{i}\n")).collect();
        let mut p = listed(address, &lines, if shuffled { Order::Shuffled } else { Order::InTurn });
        (p.seed, p.stop.requests) = (seed, Some(60));
        run(&p).unwrap();
        paths(&seen).into_iter().find(|asked| !asked.is_empty()).unwrap()
    };
    let one = asked(1, true);
    assert_eq!(one, asked(1, true));
    assert_ne!(one, asked(2, true));
    assert_ne!(one, asked(1, false));
    for round in one.chunks(20) {
        let mut round = round.to_vec();
        round.sort();
        round.dedup();
        assert_eq!(round.len(), 20, "each round is every line once");
    }
}

#[test]
fn bodies_of_any_length_are_of_their_requests() {
    // Dropped in the kernel, copied, and none; heads that differ in their length alone.
    for pipeline in [1, 5] {
        let (address, _) = recording();
        let mut p = listed(address, "/200000/a\n/5/b\n/0/c\n/9000/d\n/9001/e\n", Order::Shuffled);
        (p.connections, p.pipeline, p.stop.requests) = (3, pipeline, Some(500));
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (500, 0));
        for (row, length) in m.by_request.iter().zip([200_000u64, 5, 0, 9_000, 9_001]) {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").len() as u64;
            assert_eq!(row.read_bytes, 100 * (head + length), "{}", row.request);
        }
    }
}

#[test]
fn long_requests_of_a_pipeline_are_written_whole() {
    let (address, seen) = recording();
    let long = "x".repeat(15_000);
    let lines: String = (0..9).map(|i| format!("/0/{i}{long}\n/0/{i}\n")).collect();
    let mut p = listed(address, &lines, Order::InTurn);
    (p.pipeline, p.stop.requests) = (32, Some(18 * 10));
    let m = run(&p).unwrap();
    assert_eq!(m.requests.completed, 180);
    let asked = paths(&seen).concat();
    let expected: Vec<&str> = lines.lines().cycle().take(180).collect();
    assert_eq!(asked, expected);
}

#[test]
fn a_long_list_has_coarser_figures_or_one_row_for_the_rest() {
    for (requests, rows) in
        [(FINE_MAX + 1, FINE_MAX + 1), (ROWS_MAX, ROWS_MAX), (ROWS_MAX + 200, ROWS_MAX + 1)]
    {
        let target = Target::start(&Config::default()).unwrap();
        let lines: String = (0..requests).map(|i| format!("/?{i}\n")).collect();
        let mut p = listed(target.address(), &lines, Order::InTurn);
        (p.connections, p.threads, p.stop.requests) = (4, 2, Some(2 * requests as u64));
        let m = run(&p).unwrap();
        assert_eq!(m.by_request.len(), rows);
        let others = m.by_request.iter().find(|row| row.request == OTHERS);
        assert_eq!(others.map(|row| (row.lines, row.completed)), (rows > ROWS_MAX).then_some((200, 400)));
        assert!(m.by_request.iter().take(ROWS_MAX).all(|row| row.completed == 2));
    }
}

#[test]
fn each_line_has_its_own_credentials_and_the_plan_s_headers() {
    let (address, _) = recording();
    let mut p = plan(address);
    let lines = format!("http://a:b@{address}/0/a\nhttp://{address}/0/b");
    p.work = Work::List(TargetList::parse(lines.as_bytes(), None, "GET", Order::InTurn).unwrap().1);
    p.samples_max = 10;
    p.stop.requests = Some(10);
    let m = run(&p).unwrap();
    let lengths: Vec<u64> = m.listed.iter().map(|(_, bytes)| *bytes).collect();
    assert_eq!(lengths[0] - lengths[1], "Authorization: Basic YTpi\r\n".len() as u64);
    assert_eq!(m.samples.iter().map(|s| s.request).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn each_line_sends_its_own_body_and_has_its_own_expectation() {
    for (protocol, pipeline) in [(Protocol::Http1, 1), (Protocol::Http1, 4), (Protocol::Http2, 4)] {
        let target = Target::start(&Config::default()).unwrap();
        let mut p = listed(target.address(), "/\nPOST /echo\n/json\n/nope\n", Order::InTurn);
        (p.protocol, p.pipeline, p.connections, p.stop.requests) = (protocol, pipeline, 2, Some(40));
        p.body = b"the plan's".to_vec();
        let long = vec![b'o'; 40_000];
        let Work::List(list) = &mut p.work else { unreachable!() };
        let bodies = [
            (Some(200), Some(&b"Hello, World!"[..])),
            (None, Some(&long)),
            (None, Some(b"no")),
            (Some(404), None),
        ];
        for (one, (status, body)) in list.requests.iter_mut().zip(bodies) {
            let sent = (one.path == "/echo").then(|| long.clone());
            let expect = Some(Expect { status, body: body.map(<[u8]>::to_vec), ..Expect::default() });
            one.own = Some(Box::new(OwnParts { body: sent, expect, ..OwnParts::default() }));
        }
        let m = run(&p).unwrap();
        let completed = ["GET /", "POST /echo", "GET /json", "GET /nope"].map(|name| row(&m, name).completed);
        assert_eq!(completed, [10, 10, 0, 10], "{protocol:?}: {:?}", m.errors);
        assert_eq!(m.errors[&ErrorKind::BodyMismatch].count, 10);
        let ledger = settled(target, 2);
        assert_eq!(ledger.requests_received, 40);
    }
}

#[test]
fn what_no_request_can_be_is_refused_before_the_load() {
    let mut p = listed("127.0.0.1:9".parse().unwrap(), "/a\n/b\n", Order::InTurn);
    p.body = vec![0; 300 << 20];
    assert!(run(&p).unwrap_err().to_string().contains("512 MiB"));
    p.body.clear();
    p.headers = vec![("X Y".to_owned(), Secret::hidden("a"))];
    assert!(run(&p).unwrap_err().to_string().contains("not a header's name"));
}
