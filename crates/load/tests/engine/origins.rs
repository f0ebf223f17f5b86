//! Lists that name several servers: what each of them is asked for, and what its figures are.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use prony_model::list::{Order, TargetList};
use prony_model::measurement::Measurement;
use prony_model::plan::{Arrivals, Protocol, Work};
use prony_model::rate::{Rate, Stage};
use prony_model::tls::{Roots, Verify};
use prony_model::{Plan, Target as Url};
use prony_target::{Config, Target};

use crate::{HANGS, plan, refusing, run, run_until, settled};

/// A plan of a list that names these servers in turn: three lines of the first, two of the second, one of the third.
fn several(urls: &[String; 3], order: Order) -> Plan {
    let [a, b, c] = urls;
    let text = format!("{a}/\n{b}/json\n{a}/json\nHEAD {c}/\n{b}/\n{a}/\n");
    let (target, list) = TargetList::parse(text.as_bytes(), None, "GET", order).unwrap();
    let mut plan = plan(SocketAddr::from(([127, 0, 0, 1], 1)));
    (plan.target, plan.work) = (target, Work::List(list));
    (plan.threads, plan.connections) = (3, 6);
    plan
}

fn started(config: &Config) -> [Target; 3] {
    [0; 3].map(|_| Target::start(config).unwrap())
}

fn plain(targets: &[Target; 3]) -> [String; 3] {
    targets.each_ref().map(|target| format!("http://{}", target.address()))
}

/// What a server was asked for over the run, by path, as the figures of its requests have it.
fn sent_to(m: &Measurement, url: &str) -> BTreeMap<String, u64> {
    let mut by_path = BTreeMap::new();
    for row in &m.by_request {
        let (_, of) = row.request.split_once(' ').unwrap();
        if let Some(path) = of.strip_prefix(url) {
            *by_path.entry(path.to_owned()).or_default() += row.run_sent;
        }
    }
    by_path.retain(|_, count| *count > 0);
    by_path
}

/// Each server's own account, once so many connections to it have ended, is what was counted for its lines.
#[track_caller]
fn agree(m: &Measurement, targets: [Target; 3], urls: &[String; 3], connections: u64) {
    for (target, url) in targets.into_iter().zip(urls) {
        let ledger = settled(target, connections);
        assert_eq!(sent_to(m, url), ledger.requests_by_path, "{url}");
    }
}

#[test]
fn each_server_is_asked_for_its_own_lines() {
    let rate = Rate::per_s(4_000.0).unwrap();
    let rises = Stage { duration: Duration::from_millis(500), to: 4_000_000_000 };
    let stages = vec![rises, Stage { duration: HANGS, ..rises }];
    // A connection for each request where the pipeline is 0.
    for (arrivals, threads, pipeline, protocol) in [
        (Arrivals::Closed, 3, 1, Protocol::Http1),
        (Arrivals::Closed, 3, 0, Protocol::Http1),
        (Arrivals::Closed, 6, 4, Protocol::Http1),
        (Arrivals::Closed, 3, 4, Protocol::Http2),
        (Arrivals::Constant(rate), 3, 1, Protocol::Http1),
        (Arrivals::Constant(rate), 6, 3, Protocol::Http2),
        (Arrivals::Poisson(rate), 3, 1, Protocol::Http1),
        (Arrivals::RateStages(stages), 3, 1, Protocol::Http1),
    ] {
        for order in [Order::InTurn, Order::Shuffled] {
            let targets = started(&Config::default());
            let urls = plain(&targets);
            let mut p = several(&urls, order);
            (p.arrivals, p.threads, p.connections) = (arrivals.clone(), threads, 2 * threads);
            (p.pipeline, p.keepalive) = (pipeline.max(1), pipeline > 0);
            (p.protocol, p.samples_max) = (protocol, 604);
            p.stop.requests = Some(604);
            if p.arrivals.stages().is_some() {
                p.stop.duration = Some(HANGS);
            }
            let m = run(&p).unwrap();
            let what = format!("{arrivals:?} {threads} {protocol:?} {order:?}");
            assert_eq!((m.run_total.sent, m.requests.completed), (604, 604), "{what} {:?}", m.errors);
            assert_eq!((m.samples.len(), m.samples_dropped), (604, 0), "{what}");
            // 100 rounds of six lines, and the first four of another: which these are is the order's to say.
            let sent: Vec<u64> = m.by_request.iter().map(|row| row.run_sent).collect();
            for (row, sent) in m.by_request.iter().zip(&sent) {
                assert!((row.lines * 100..=row.lines * 101).contains(sent), "{what} {row:?}");
            }
            if order == Order::InTurn {
                assert_eq!(sent, [201, 101, 101, 101, 100], "{what}");
            }
            assert_eq!(m.address.split(", ").count(), 3);
            agree(&m, targets, &urls, if p.keepalive { u64::from(2 * threads / 3) } else { 1 });
        }
    }
}

#[test]
fn what_an_interrupted_load_sent_is_what_each_server_got() {
    let rate = Arrivals::Constant(Rate::per_s(6_000.0).unwrap());
    for arrivals in [Arrivals::Closed, rate] {
        let targets = started(&Config::default());
        let urls = plain(&targets);
        let mut p = several(&urls, Order::Shuffled);
        p.arrivals = arrivals;
        let m = run_until(&p, |so_far| so_far.completed >= 600);
        agree(&m, targets, &urls, 2);
    }
}

#[test]
fn a_plain_server_and_one_of_tls_are_loaded_together() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let secure = Config { tls: true, ..Config::default() };
        let targets = [&Config::default(), &secure, &Config::default()].map(|c| Target::start(c).unwrap());
        let mut urls = plain(&targets);
        urls[1] = urls[1].replace("http:", "https:");
        let mut p = several(&urls, Order::InTurn);
        (p.protocol, p.stop.requests) = (protocol, Some(600));
        let certificate = targets[1].certificate().unwrap();
        p.tls.verify = Verify::Roots(Roots::from_pem(certificate.as_bytes()).unwrap());
        let m = run(&p).unwrap();
        assert_eq!(m.requests.completed, 600, "{:?}", m.errors);
        let seen = m.tls.as_ref().unwrap();
        // Of six connections those of its worker: one, and a third of the three that lines divide.
        assert_eq!(seen.full + seen.resumed, 2);
        agree(&m, targets, &urls, 2);
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let (refuses, _held) = refusing();
    let targets = started(&Config::default());
    let mut urls = plain(&targets);
    urls[2] = format!("http://{refuses}");
    let said = run(&several(&urls, Order::InTurn)).unwrap_err().to_string();
    assert!(said.contains(&urls[2]) && !said.contains(&urls[0]), "{said}");
    urls[1] = "http://name.invalid".to_owned();
    let said = run(&several(&urls, Order::InTurn)).unwrap_err().to_string();
    assert!(said.contains("name.invalid"), "{said}");
}

#[test]
fn no_server_beside_those_allowed_is_connected_to() {
    let listeners = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses = listeners.each_ref().map(|listener| listener.local_addr().unwrap());
    let p = several(&addresses.map(|address| format!("http://{address}")), Order::InTurn);
    assert_eq!(prony_load::addresses_of(&p).unwrap(), addresses);
    let control = prony_load::Control::leased(&addresses[..2]);
    let refused = prony_load::run(&p, &control, &mut |_| {}).unwrap_err().to_string();
    let url = Url::parse(&format!("http://{}/", addresses[2])).unwrap().display_url();
    assert!(refused.contains(&format!("{url} ({}) is not a target", addresses[2])), "{refused}");
    for listener in &listeners {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "nobody connected");
    }
}
