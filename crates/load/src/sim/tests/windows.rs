//! What a window holds: waits for connections, requests that never got one, and the time that connections were open.

use std::sync::Arc;
use std::time::Duration;

use crate::worker::idle::{Free, Idle};
use prony_model::list::{Order, TargetList};
use prony_model::plan::{Arrivals, Work};
use prony_model::rate::Stage;
use prony_model::target::Target;

use super::super::answer::Deed;
use super::super::nature::Nature;
use super::super::world::EPOCH_NS;
use super::super::{Case, START_AHEAD_NS};
use super::{MS, all_are, open};

#[test]
fn two_pipelines_carry_in_time_what_two_connections_cannot() {
    // At 400/s of 50 ms each, 20 are in flight on average.
    let mut case = open(Nature::ideal(50 * MS), 400.0, 2);
    case.plan.pipeline = 20;
    let played = case.play();
    let m = played.sound();
    // All but those of the last 50 ms are answered, none of them later than 50 ms after it was due.
    assert_eq!((m.requests.scheduled, m.requests.in_flight, m.requests.never_sent), (800, 20, 0));
    all_are(&m.latency.parts().response.completed, 50 * MS, 780);
    all_are(&m.latency.parts().connection_wait, 0, 780);
    case.plan.pipeline = 1;
    let played = case.play();
    let m = played.sound();
    // Two at a time: 40 a second, the last of which end with the window.
    assert_eq!((m.requests.completed, m.requests.in_flight), (2 * 39, 2));
    assert_eq!(m.requests.never_sent, 800 - 80);
}

#[test]
fn never_sent_requests_count_for_their_lines() {
    let mut nature = Nature::ideal(MS);
    nature.deeds = vec![(Deed::Never, 1)];
    let mut case = open(nature, 1000.0, 1);
    case.plan.stop.duration = Some(Duration::from_millis(500));
    let server = Target::parse("http://simulated/").unwrap();
    let list = TargetList::parse(b"/\n/json\n", Some(&server), "GET", Order::InTurn);
    case.plan.work = Work::List(list.unwrap().1);
    let played = case.play();
    let m = played.sound();
    // The first has the one connection for good.
    assert_eq!((m.requests.in_flight, m.requests.never_sent), (1, 499));
    assert_eq!((m.by_request[0].waiting, m.by_request[1].waiting), (250, 250));
    assert_eq!((m.by_request[0].run_sent, m.by_request[1].run_sent), (1, 0));
}

#[test]
fn a_wait_beside_anothers_free_connection_is_counted_exactly() {
    // A request a millisecond, each of three, over one connection: the k-th is sent after 3 k ms, having waited for 2 k.
    let case = open(Nature::ideal(3 * MS), 1000.0, 1);
    let sent = 2_000_u64.div_ceil(3);
    let beside = |others_free_ms: Option<u64>| {
        let mut case = case.clone();
        case.idle = Arc::new(Idle::new(2));
        let mut other = Free::with_capacity(1, Arc::clone(&case.idle), 1);
        if let Some(ms) = others_free_ms {
            other.push_back(0, EPOCH_NS + START_AHEAD_NS + ms * MS);
        }
        let played = case.play();
        let audit = &played.sound().workers[0];
        (audit.waited_beside_free, audit.waited_beside_free_ns)
    };
    for free_ms in [0, 1, 500, 1_000, 1_998] {
        let overlaps: Vec<u64> = (0..sent).map(|k| (3 * k).saturating_sub(k.max(free_ms)) * MS).collect();
        let waited = overlaps.iter().filter(|ns| **ns > 0).count() as u64;
        assert_eq!(beside(Some(free_ms)), (waited, overlaps.iter().sum()), "free since {free_ms} ms");
    }
    assert_eq!(beside(None), (0, 0), "the other worker has none free");
    let alone = case.play();
    let audit = &alone.sound().workers[0];
    assert_eq!((audit.waited_beside_free, audit.waited_beside_free_ns), (0, 0), "one worker has them all");
}

#[test]
fn connections_of_stages_are_open_until_their_last_answer() {
    for service_ms in [1, 7, 10] {
        let mut case = Case::closed(Nature::ideal(service_ms * MS));
        // Ten come, one every 10 ms; stay for 50 ms; and go as they came. Then nobody is left for 40 ms.
        let stage = |(ms, to)| Stage { duration: Duration::from_millis(ms), to };
        let stages = [(100, 10), (50, 10), (100, 0), (40, 0)].map(stage).to_vec();
        (case.plan.connections, case.plan.arrivals) = (10, Arrivals::ConnectionStages(stages));
        case.plan.stop.duration = Some(Duration::from_millis(290));
        let played = case.play();
        let m = played.sound();
        // The j-th is in use for 250 − 20 j ms, and its last request is answered before it goes.
        let requests = |j: u64| (250 - 20 * j).div_ceil(service_ms);
        let all: u64 = (0..10).map(requests).sum();
        assert_eq!((m.requests.completed, m.requests.in_flight, m.run_total.connections), (all, 0, 10));
        assert_eq!(m.workers[0].connections_integral_ns, all * service_ms * MS);
        assert_eq!(m.workers[0].in_flight_integral_ns, all * service_ms * MS);
    }
}
