//! A server that is silent for 200 ms of every 2 s, as a load at a rate sees it from the intended instant, over
//! many connections and over few, and as a closed loop hides it.

use std::time::Duration;

use prony_model::plan::Arrivals;

use super::super::nature::{Nature, Service};
use super::super::{Case, Played};
use super::queue::{Carried, Queue, quantile};
use super::{MS, S, all_are, histogram, open};

const SILENT_NS: u64 = 200 * MS;
const PERIOD_NS: u64 = 2 * S;
const SERVICE_NS: u64 = 2 * MS;
const PER_S: u64 = 2000;

fn stalling() -> Nature {
    let service = Service::Silence { silent_ns: SILENT_NS, period_ns: PERIOD_NS, service_ns: SERVICE_NS };
    Nature { service, ..Nature::ideal(0) }
}

/// So many periods are counted, after one that is warm-up; with the queue that it must be.
fn stalled(connections: u32, periods: u32) -> (Case, Queue) {
    let mut case = open(stalling(), PER_S as f64, connections);
    case.plan.warmup = Duration::from_nanos(PERIOD_NS);
    case.plan.stop.duration = Some(Duration::from_nanos(PERIOD_NS) * periods);
    let connections = connections as usize;
    let queue = Queue {
        per_s: PER_S,
        connections,
        silent_ns: SILENT_NS,
        period_ns: PERIOD_NS,
        service_ns: SERVICE_NS,
    };
    (case, queue)
}

/// Every request of a load that ended before `end_ns`, in the order in which they were due.
fn carried_by(played: &Played, end_ns: u64) -> Vec<Carried> {
    let world = played.worlds[0].borrow();
    let after_start = |at_ns: u64| at_ns - world.truth.start_ns;
    let mut all: Vec<Carried> = world
        .truth
        .fates
        .iter()
        .filter(|fate| after_start(fate.at_ns) < end_ns)
        .map(|fate| Carried {
            due_ns: after_start(fate.request.intended_ns),
            sent_ns: after_start(fate.request.sent_ns),
            answered_ns: after_start(fate.request.last_byte_ns),
        })
        .collect();
    all.sort_by_key(|one| one.due_ns);
    all
}

/// Plays a load and holds every request of it, and what was measured of them, against the queue. Those that ended in
/// the window.
#[track_caller]
fn held_against_its_queue(connections: u32, periods: u32) -> (Played, Vec<Carried>) {
    let (case, queue) = stalled(connections, periods);
    let played = case.play();
    let end_ns = PERIOD_NS * u64::from(periods + 1);
    let mut truth = queue.carried(end_ns);
    truth.retain(|one| one.answered_ns < end_ns);
    assert!(carried_by(&played, end_ns) == truth, "request by request");
    truth.retain(|one| one.answered_ns >= PERIOD_NS);
    let m = played.sound();
    let of = |part: fn(&Carried) -> u64| histogram(truth.iter().map(part));
    assert!(m.latency.parts().response.completed == of(|one| one.answered_ns - one.due_ns));
    assert!(m.latency.parts().service.completed == of(|one| one.answered_ns - one.sent_ns));
    assert!(m.latency.parts().connection_wait == of(|one| one.sent_ns - one.due_ns));
    all_are(&m.latency.parts().lateness, 0, truth.len() as u64);
    (played, truth)
}

#[test]
fn a_stall_shows_in_response_time_from_the_intended_instant() {
    let (played, truth) = held_against_its_queue(500, 5);
    let m = played.sound();
    assert_eq!((m.requests.scheduled, m.requests.completed, truth.len()), (20_000, 20_000, 20_000));
    // A tenth of the requests falls into a silence, one every half a millisecond.
    for (q, truth_ns) in [(0.5, 2 * MS), (0.9, 2 * MS), (0.92, 42 * MS), (0.95, 102 * MS), (0.99, 182 * MS)] {
        let (got, same) = (m.latency.parts().response.completed.value_at_quantile(q), histogram([truth_ns]));
        assert_eq!(got, same.value_at_quantile(1.0), "{q}");
    }
    all_are(&m.latency.parts().connection_wait, 0, 20_000);
}

#[test]
fn over_few_connections_a_stall_is_a_queue() {
    let (played, truth) = held_against_its_queue(10, 3);
    let m = played.sound();
    let mut sorted: Vec<u64> = truth.iter().map(|one| one.response_ns()).collect();
    sorted.sort_unstable();
    // Ten are stuck in the silence; the 390 behind them wait for these, and go at 5,000/s until none waits.
    assert_eq!(m.latency.parts().service.completed.value_at_quantile(0.99) / MS, 2);
    assert!(m.latency.parts().connection_wait.value_at_quantile(0.95) > 50 * MS);
    for q in [0.5, 0.75, 0.9, 0.95, 0.99] {
        let same = histogram([quantile(&sorted, q)]).value_at_quantile(1.0);
        assert_eq!(m.latency.parts().response.completed.value_at_quantile(q), same, "{q}");
    }
}

#[test]
fn a_closed_loop_hides_a_stall_behind_one_request_a_connection() {
    let mut case = Case::closed(stalling());
    case.plan.connections = 10;
    case.plan.stop.duration = Some(Duration::from_nanos(2 * PERIOD_NS));
    assert_eq!(case.plan.arrivals, Arrivals::Closed);
    let played = case.play();
    let m = played.sound();
    // Of each connection: one request of 202 ms, then 899 of 2 ms, the last of which is answered as the next silence
    // begins; at the window's end that one is still in flight.
    let of_one = [(SILENT_NS + SERVICE_NS, 2), (SERVICE_NS, 2 * 899 - 1)];
    let all = of_one.into_iter().flat_map(|(ns, count)| std::iter::repeat_n(ns, 10 * count));
    let truth = histogram(all);
    assert!(m.latency.parts().service.completed == truth && m.latency.parts().response.completed == truth);
    assert_eq!((m.requests.completed, m.requests.in_flight), (17_990, 10));
    // A tenth of the time nobody was answered; of requests it is a thousandth.
    assert_eq!(m.latency.parts().response.completed.value_at_quantile(0.998) / MS, 2);
    assert_eq!(m.latency.parts().response.completed.max() / MS, 202);
}
