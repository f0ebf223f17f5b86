//! The worker over HTTP/2: changing limits, GOAWAY, refused and reset streams, starving windows, answers in any order.

mod answer;
mod connection;
mod counted;
mod habits;
mod server;
mod truth;

use std::sync::Arc;
use std::time::Duration;

use crate::codec::is_plain;
use crate::engine::Division;
use crate::http2::{Http2, build};
use crate::pace::Schedule;
use crate::recorder::window_delta::WindowDelta;
use prony_model::histogram::SparseHistogram;
use prony_model::list::{Format, ListedRequest, Order, TargetList};
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::{Arrivals, Protocol, Work};
use prony_model::rate::Rate;

use super::any_order::{Network, failures, sound_for_all_seeds};
use super::chance::Chance;
use super::nature::Nature;
use super::truth::due_ns;
use super::{Case, Played, shares as random_shares};
use habits::Habits;
use server::StreamServers;
use truth::Truth;

const MS: u64 = 1_000_000;
/// Random cases played where nobody asks for another number.
const CASES: u64 = 400;
/// Those in which something was found to be recorded otherwise, played each time.
const FOUND: [u64; 5] = [5_780, 6_803, 11_422, 12_890, 15_193];
/// Different requests of a case: more than are ever unanswered, so that each is known by its path.
const REQUESTS: u32 = 61;
/// The same where some are given up unwritten: the network never hears of those, so all of a worker's are different.
const REQUESTS_SILENT: u32 = 4_001;

/// Sets apart the chance that gives connections a number of requests.
const LIVES: u64 = 0x11fe_5000_0000_0000;

#[derive(Debug)]
struct StreamCase {
    case: Case,
    habits: Habits,
}

impl StreamCase {
    /// A closed load of one connection of so many streams, for 100 ms.
    fn closed(streams: u32, habits: Habits) -> StreamCase {
        let mut case = Case::closed(Nature::ideal(habits.seed));
        let plan = &mut case.plan;
        (plan.protocol, plan.pipeline) = (Protocol::Http2, streams);
        plan.stop.duration = Some(Duration::from_millis(100));
        let requests = if habits.silent_per_mille > 0 { REQUESTS_SILENT } else { REQUESTS };
        let paths = (0..requests).map(|i| format!("/{i}"));
        plan.work = Work::List(TargetList {
            method: "GET".to_owned(),
            requests: paths
                .map(|path| ListedRequest {
                    method: "GET".to_owned(),
                    path,
                    userinfo: None,
                    origin: 0,
                    own: None,
                })
                .collect(),
            lines: (0..requests).collect(),
            order: Order::InTurn,
            origins: Vec::new(),
            format: Format::Plain,
            file: None,
        });
        StreamCase { case, habits }
    }

    fn of_seed(seed: u64) -> StreamCase {
        let chance = &mut Chance::new(seed);
        let ends = chance.per_mille(400);
        let habits = Habits::random(seed, chance, ends);
        let service_ns = habits.service_ns.0;
        let mut stream = StreamCase::closed(chance.between(1, 12) as u32, habits);
        let plan = &mut stream.case.plan;
        plan.threads = chance.between(1, 3) as u32;
        plan.connections = plan.threads * chance.between(1, 4) as u32;
        plan.body = vec![b'x'; chance.pick(&[(0, 2), (1, 1), (700, 1), (20_000, 1)])];
        let is_silent = stream.habits.silent_per_mille > 0;
        stream.case.load_at_random(chance, service_ns, is_silent);
        // Of loads whose connections end by GOAWAY, every other one ends them by itself, too.
        let lives = &mut Chance::new(seed ^ LIVES);
        if ends && lives.per_mille(500) {
            let plan = &mut stream.case.plan;
            plan.requests_per_connection = Some(plan.pipeline.max(2) + lives.between(0, 40) as u32);
        }
        stream
    }

    fn play(&self) -> (Played, Vec<Truth>) {
        let plan = &self.case.plan;
        let division = Division::of(plan, plan.threads);
        let network = |number: u32, slots: u32| {
            let seed = self.habits.seed ^ u64::from(number) << 32;
            let order = division.request_order(number);
            let habits = Habits { seed, ..self.habits.clone() };
            Network::new(seed, StreamServers::new(habits, plan, slots as usize, order))
        };
        let requests = Arc::new(build(plan));
        let streams = plan.pipeline as u16;
        let (played, networks) = if is_plain(plan) {
            self.case.play_over(network, || Http2::<true>::new(&requests, false, streams, None))
        } else {
            self.case.play_over(network, || Http2::<false>::new(&requests, false, streams, None))
        };
        let truths = networks.iter().map(|network| network.take(|servers| &mut servers.truth)).collect();
        (played, truths)
    }

    fn faults(&self) -> Vec<String> {
        let (played, truths) = self.play();
        self.differences(&played, &truths)
    }

    fn differences(&self, played: &Played, truths: &[Truth]) -> Vec<String> {
        let m = played.measurement.as_ref().unwrap();
        let mut faults = random_shares::faults(&self.case, played);
        faults.extend(m.broken_identities.iter().cloned());
        let of_window: Vec<Truth> = (truths.iter().zip(played.window_ends(m)))
            .map(|(truth, end_ns)| truth.within(m.window_start_ns..end_ns))
            .collect();
        let truths = of_window.as_slice();
        let count = |all: fn(&Truth) -> u64| truths.iter().map(all).sum::<u64>();
        let mut check = |what: &str, holds: bool, recorded: u64, truth: u64| {
            if !holds {
                faults.push(format!("{what}: {recorded} recorded, {truth} true"));
            }
        };
        let mut same =
            |what: &str, recorded: u64, truth: u64| check(what, recorded == truth, recorded, truth);
        let Habits { silent_per_mille, conditions, goaway_after, .. } = &self.habits;
        let (silent, cut) = (*silent_per_mille > 0, conditions.parts_per_mille > 0);
        same("written bytes", m.sent_bytes, count(|t| bytes(&t.writes)));
        same("read bytes", m.read_bytes, count(|t| bytes(&t.reads)));
        let of_none = played.parts.iter().flatten().map(|part| part.protocol_bytes).sum();
        let waits = |of: fn(&WindowDelta) -> u64| played.parts.iter().flatten().map(of).sum::<u64>();
        let waited = waits(|part| part.no_stream.total_ns + part.no_connection.total_ns);
        same(
            "waits for streams and connections",
            waited,
            waits(|part| part.bins.iter().map(|bin| bin.connection_wait_sum_ns).sum()),
        );
        let truly_of_none = count(|t| bytes(&t.reads_of_none));
        // A request whose time was over is nobody's before its reset is written, of which alone the network hears.
        if !(silent && cut) || of_none < truly_of_none {
            same("bytes of no request", of_none, truly_of_none);
        }
        // A request whose time was over while it waited for room to be written is written all the same.
        if !(silent && cut) {
            same("sent", m.requests.sent, count(|t| t.sent.len() as u64));
        }
        same("completed", m.requests.completed, count(|t| t.answered.len() as u64));
        let services = truths.iter().flat_map(|t| &t.answered);
        let services = SparseHistogram::of_values(services.map(|a| a.service_ns));
        for kind in [ErrorKind::UnexpectedStatus, ErrorKind::StreamReset] {
            same(&kind.to_string(), failures(m, kind), failed(truths, kind));
        }
        // Three times moved, and then failed: only the worker knows of those that were never written.
        let refused = (failures(m, ErrorKind::Refused), failed(truths, ErrorKind::Refused));
        let given_up = refused.0.saturating_sub(refused.1);
        if goaway_after.is_none() {
            same("refused", refused.0, refused.1);
            same("moved", m.http2.map_or(0, |used| used.moved), 0);
        }
        if !silent {
            same("failed", m.requests.failed, count(|t| t.failed.len() as u64) + given_up);
            for kind in [ErrorKind::Protocol, ErrorKind::ClosedEarly, ErrorKind::ConnectRefused] {
                same(&kind.to_string(), failures(m, kind), failed(truths, kind));
            }
        }
        if m.latency.parts().service.completed != services {
            faults.push("the service times are not the network's".to_owned());
        }
        if given_up == 0 {
            faults.extend(self.response_times(m, truths));
        }
        faults
    }

    /// At a rate, a response time runs from the schedule's instant, whatever the request waited for.
    fn response_times(&self, m: &Measurement, truths: &[Truth]) -> Option<String> {
        let plan = &self.case.plan;
        let mut all = Vec::new();
        for (number, truth) in (0..).zip(truths) {
            let schedule =
                Schedule::new(&plan.arrivals, number, plan.threads, plan.stop.requests, plan.seed)?;
            for answered in &truth.answered {
                let due = due_ns(&schedule, answered.number as u64)?;
                all.push(answered.at_ns - m.window_start_ns - due);
            }
        }
        let same = m.latency.parts().response.completed == SparseHistogram::of_values(all);
        (!same).then(|| "the response times are not those from the schedule".to_owned())
    }

    #[track_caller]
    fn sound(&self) -> (Measurement, Vec<Truth>) {
        let (played, truths) = self.play();
        let faults = self.differences(&played, &truths);
        assert!(faults.is_empty(), "{}\n{self:#?}", faults.join("\n"));
        (played.measurement.unwrap(), truths)
    }
}

fn bytes(counted: &[(u64, usize)]) -> u64 {
    counted.iter().map(|(_, count)| *count as u64).sum()
}

fn failed(truths: &[Truth], kind: ErrorKind) -> u64 {
    truths.iter().flat_map(|truth| &truth.failed).filter(|(_, of)| *of == kind).count() as u64
}

#[test]
fn random_http2_servers_are_measured_as_simulated() {
    sound_for_all_seeds(CASES, &FOUND, |seed| StreamCase::of_seed(seed).faults());
}

#[test]
fn a_record_over_http2_that_is_not_the_truth_is_a_difference() {
    type Change = fn(&mut Truth, u64);
    let stream = StreamCase::closed(2, Habits::ideal(MS));
    let (played, truths) = stream.play();
    assert_eq!(stream.differences(&played, &truths), Vec::<String>::new());
    let at_ns = played.measurement.as_ref().unwrap().window_start_ns;
    let changes: [(&str, Change); 8] = [
        ("sent", |truth, at_ns| truth.sent.push(at_ns)),
        ("completed", |truth, _| truth.answered.truncate(1)),
        ("failed", |truth, at_ns| truth.failed.push((at_ns, ErrorKind::Protocol))),
        ("refused", |truth, at_ns| truth.failed.push((at_ns, ErrorKind::Refused))),
        ("written bytes", |truth, at_ns| truth.writes.push((at_ns, 1))),
        ("read bytes", |truth, at_ns| truth.reads.push((at_ns, 1))),
        ("bytes of no request", |truth, at_ns| truth.reads_of_none.push((at_ns, 1))),
        ("service times", |truth, _| truth.answered[0].service_ns += 1_000),
    ];
    for (what, change) in changes {
        let mut other = vec![truths[0].clone()];
        change(&mut other[0], at_ns);
        let said = stream.differences(&played, &other).join("\n");
        assert!(said.contains(what), "{what}: {said:?}");
    }
}

#[test]
fn random_http2_servers_show_every_case_to_be_tested() {
    let mut all = Truth::default();
    let mut sent_again = 0;
    for seed in 0..100 {
        for truth in StreamCase::of_seed(seed).play().1 {
            all.early += truth.early;
            all.goaways += truth.goaways;
            all.farewells += truth.farewells;
            all.negative_windows += truth.negative_windows;
            all.limits_lowered += truth.limits_lowered;
            all.cancelled.extend(&truth.cancelled);
            all.client_goaways.extend(&truth.client_goaways);
            all.most_open = all.most_open.max(truth.most_open);
            sent_again += truth.sent_again();
        }
    }
    assert!(all.early > 0 && all.goaways > 0 && all.negative_windows > 0 && all.limits_lowered > 0);
    assert!(
        all.farewells > 0 && sent_again > 0 && !all.cancelled.is_empty() && !all.client_goaways.is_empty()
    );
    assert!(all.most_open > 8, "{}", all.most_open);
}

#[test]
fn waits_for_streams_and_for_connections_are_told_apart() {
    let mut habits = Habits::ideal(10 * MS);
    habits.streams = Some(3);
    let mut stream = StreamCase::closed(8, habits);
    stream.case.plan.arrivals = Arrivals::Constant(Rate::per_s(1_000.0).unwrap());
    let (m, truths) = stream.sound();
    let used = m.http2.unwrap();
    assert_eq!((used.streams, truths[0].most_open), (3, 3));
    assert!(used.no_stream.count > 0 && used.no_connection.count == 0, "{used:?}");
    // Where each request ends its connection, the next one's has to be opened.
    let mut habits = Habits::ideal(MS);
    habits.closes_per_mille = 1_000;
    let mut stream = StreamCase::closed(1, habits);
    stream.case.plan.arrivals = Arrivals::Constant(Rate::per_s(1_000.0).unwrap());
    let used = stream.sound().0.http2.unwrap();
    assert!(used.no_stream.count == 0 && used.no_connection.count > 0, "{used:?}");
}

#[test]
fn the_time_that_bodies_wait_for_a_servers_windows_is_known() {
    // A server that answers at once, and takes its time to let bodies come: that is all of the service time.
    let mut habits = Habits::ideal(0);
    (habits.durations_ns, habits.window) = (vec![0], Some(0));
    let mut stream = StreamCase::closed(3, habits);
    stream.case.plan.body = vec![b'x'; 5_000];
    stream.case.in_parts = true;
    let (m, _) = stream.sound();
    let in_flight_ns: u64 = m.workers.iter().map(|worker| worker.in_flight_integral_ns).sum();
    assert_eq!(m.http2.unwrap().held_ns, in_flight_ns);
    assert!(m.requests.completed > 10, "{:?}", m.requests);
    // Without a body nothing waits.
    stream.case.plan.body.clear();
    stream.habits.durations_ns = vec![MS];
    assert_eq!(stream.sound().0.http2.unwrap().held_ns, 0);
}

#[test]
fn what_an_ended_connection_did_not_process_is_sent_again() {
    let mut habits = Habits::ideal(MS);
    habits.goaway_after = Some(10);
    let mut stream = StreamCase::closed(4, habits);
    stream.case.plan.stop.requests = Some(200);
    stream.case.plan.stop.duration = Some(Duration::from_secs(2));
    let (m, truths) = stream.sound();
    let used = m.http2.unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (200, 0), "{:?}", m.errors);
    assert!(truths[0].goaways > 10 && used.moved >= truths[0].sent_again() && truths[0].sent_again() > 0);
}

#[test]
fn one_stream_whose_time_is_over_takes_no_other_with_it() {
    let mut habits = Habits::ideal(0);
    habits.durations_ns = vec![1_000 * MS, MS];
    let mut stream = StreamCase::closed(2, habits);
    stream.case.plan.timeout = Duration::from_millis(50);
    let (played, truths) = stream.play();
    let m = played.measurement.unwrap();
    assert_eq!(m.broken_identities, Vec::<String>::new());
    assert_eq!((m.requests.failed, failures(&m, ErrorKind::RequestTimeout)), (1, 1));
    assert_eq!(m.latency.parts().response.failed, SparseHistogram::of_values([50 * MS]));
    assert_eq!((truths[0].cancelled.len(), truths[0].connects), (1, 1));
}
