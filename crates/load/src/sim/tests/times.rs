//! Times: what is measured is what the server took.

use std::time::Duration;

use prony_model::rate::Rate;

use super::super::answer::Deed;
use super::super::nature::{ConnectFate, Nature, Service, Stamps};
use super::super::{Case, Played};
use super::{MS, S, all_are, histogram, open};

/// How many multiples of `step` (from the first) lie strictly before `end`.
fn multiples_before(end: u64, step: u64) -> u64 {
    (end - 1) / step
}

#[test]
fn a_closed_load_measures_the_service_time_and_nothing_else() {
    for (service_ns, connections) in [(1, 1), (333_333, 1), (333_333, 7), (10 * MS, 100), (MS, 3)] {
        let mut case = Case::closed(Nature::ideal(service_ns));
        case.plan.connections = connections;
        if service_ns == 1 {
            case.plan.stop.duration = Some(Duration::from_micros(20));
        }
        let window_ns = u64::try_from(case.plan.stop.duration.unwrap().as_nanos()).unwrap();
        let played = case.play();
        let m = played.sound();
        let each = multiples_before(window_ns, service_ns);
        let count = each * u64::from(connections);
        assert_eq!((m.requests.completed, m.requests.in_flight), (count, u64::from(connections)));
        let l = m.latency.parts();
        for part in [&l.response.completed, &l.service.completed, &l.first_byte] {
            all_are(part, service_ns, count);
        }
        for part in [&l.send_lag, &l.connect_wait, &l.connection_wait, &l.lateness] {
            all_are(part, 0, count);
        }
        let waited = window_ns - each * service_ns;
        all_are(&l.response.waiting, waited, u64::from(connections));
    }
}

#[test]
fn without_keepalive_each_request_waits_for_its_connect() {
    for fate in [ConnectFate::Later, ConnectFate::AtOnce] {
        let mut nature = Nature::ideal(300_000);
        nature.connects = vec![(fate, 1)];
        nature.deeds = vec![(Deed::SaysClose, 1)];
        let mut case = Case::closed(nature);
        (case.plan.connections, case.plan.keepalive) = (5, false);
        let m = case.play();
        let m = m.sound();
        let count = 5 * multiples_before(S, 300_000);
        all_are(&m.latency.parts().service.completed, 300_000, count);
        all_are(&m.latency.parts().response.completed, 300_000, count);
        assert_eq!((m.run_total.connections, m.run_total.sent), (count + 5, count + 5));
    }
    // A connect that takes a while is told apart, and is in the response.
    let mut nature = Nature::ideal(300_000);
    nature.connects = vec![(ConnectFate::Later, 1)];
    nature.connect_ns = 2 * MS;
    let mut case = Case::closed(nature);
    case.plan.keepalive = false;
    let played = case.play();
    let m = played.sound();
    all_are(&m.latency.parts().service.completed, 300_000, m.requests.completed);
    assert!(
        m.latency.parts().connect_wait.max() > MS
            && m.latency.parts().response.completed.max() > MS + 300_000
    );
}

#[test]
fn kernel_timestamps_keep_a_busy_client_out_of_service_time() {
    let mut nature = Nature::ideal(500_000);
    // Ten connections are answered at the same instants, and each answer costs the client 60 µs.
    (nature.call_cost_ns, nature.clock_cost_ns) = (20_000, 5_000);
    let busy = |nature: Nature| {
        let mut case = Case::closed(nature);
        case.plan.connections = 10;
        case.play()
    };
    let user = busy(nature.clone());
    nature.stamps = Some(Stamps { missing_per_mille: 0, absurd_per_mille: 0, offset_ns: 0 });
    let kernel = busy(nature);
    let (user, kernel) = (user.sound(), kernel.sound());
    // Sent before its write, which takes 20 µs to reach the server; then 500 µs.
    all_are(&kernel.latency.parts().service.completed, 520_000, kernel.requests.completed);
    assert!(kernel.latency.client_delay.max() > 100_000, "{}", kernel.latency.client_delay.max());
    assert!(user.latency.parts().service.completed.value_at_quantile(0.5) > 600_000);
    assert_eq!(kernel.client.stamps_rejected, 0);
}

#[test]
fn stamps_that_cannot_be_are_rejected_and_counted() {
    // By offset: a little early is before the sending, a little late after the reading.
    for (offset_ns, service_ns, rejected_all) in
        [(-1_000_000, MS - 1, true), (-1_000_000, MS + 1, false), (1, MS, true), (0, MS, false)]
    {
        let mut nature = Nature::ideal(service_ns);
        nature.stamps = Some(Stamps { missing_per_mille: 0, absurd_per_mille: 0, offset_ns });
        let played = Case::closed(nature).play();
        let m = played.sound();
        let rejected = if rejected_all { m.requests.completed } else { 0 };
        assert_eq!(m.client.stamps_rejected, rejected, "{offset_ns}");
        if rejected_all {
            all_are(&m.latency.parts().service.completed, service_ns, m.requests.completed);
        }
    }
    let mut nature = Nature::ideal(MS);
    nature.stamps = Some(Stamps { missing_per_mille: 1000, absurd_per_mille: 0, offset_ns: 0 });
    let played = Case::closed(nature).play();
    assert_eq!(played.sound().client.stamps_rejected, played.sound().requests.completed);
}

#[test]
fn a_later_piece_did_not_arrive_before_an_earlier_one() {
    let mut nature = Nature::ideal(MS);
    (nature.pieces_per_mille, nature.piece_gap_ns) = (1000, 100_000);
    // A first piece without a stamp is stamped when it is read, and the next one's stamp lies before that.
    nature.stamps = Some(Stamps { missing_per_mille: 500, absurd_per_mille: 0, offset_ns: -900_000 });
    let mut case = Case::closed(nature);
    case.plan.stop.duration = Some(Duration::from_secs(3));
    let played = case.play();
    let l = played.sound().latency.parts();
    for quantile in (0..=100).map(|percent| f64::from(percent) / 100.0) {
        let (first, last) =
            (l.first_byte.value_at_quantile(quantile), l.service.completed.value_at_quantile(quantile));
        assert!(first <= last, "{quantile}: {first} > {last}");
    }
}

#[test]
fn a_queue_of_one_server_is_measured_as_theory_has_it() {
    for (rate, service_ns, connections) in [
        (1000.0, 900_000, 50),    // carried
        (1000.0, MS, 50),         // just
        (1000.0, 1_100_000, 300), // overloaded, the queue at the server
        (1000.0, 1_100_000, 20),  // overloaded, most of it waiting in the schedule
        (3000.0, 2 * MS, 1),      // hopeless
        (7.0, 50 * MS, 1),        // idle
    ] {
        let mut nature = Nature::ideal(0);
        nature.service = Service::Queue { low_ns: service_ns, high_ns: service_ns };
        let played = open(nature, rate, connections).play();
        let m = played.sound();
        // Lindley's recursion, without a client: begun at the later of due and the one before's end.
        let pace = Rate::per_s(rate).unwrap();
        let due: Vec<u64> = (0..pace.due_before(2 * S)).map(|k| pace.due_ns(k)).collect();
        let mut free = 0;
        let ends: Vec<u64> = due
            .iter()
            .map(|due| {
                free = free.max(*due) + service_ns;
                free
            })
            .collect();
        let done = ends.iter().filter(|end| **end < 2 * S).count();
        let response = |k: usize| ends[k] - due[k];
        assert_eq!((m.requests.scheduled, m.requests.completed), (due.len() as u64, done as u64));
        assert!(m.latency.parts().response.completed == histogram((0..done).map(response)), "{rate}");
        assert!(m.latency.parts().response.waiting == histogram((done..due.len()).map(|k| 2 * S - due[k])));
        // It waits for a connection until the one `connections` before it is done.
        let freed = |k: usize| k.checked_sub(connections as usize).map_or(0, |before| ends[before]);
        let wait = |k: usize| freed(k).saturating_sub(due[k]);
        assert!(m.latency.parts().connection_wait == histogram((0..done).map(wait)), "{rate}");
        assert!(m.latency.parts().service.completed == histogram((0..done).map(|k| response(k) - wait(k))));
        let sent = (0..due.len()).filter(|k| freed(*k) < 2 * S).count() as u64;
        assert_eq!(m.requests.never_sent, due.len() as u64 - sent, "{rate}");
        all_are(&m.latency.parts().lateness, 0, done as u64);
    }
}

#[test]
fn a_silence_of_150_ms_each_second_has_its_true_percentiles() {
    let service = Service::Silence { silent_ns: 150 * MS, period_ns: S, service_ns: 100_000 };
    let nature = Nature { service, ..Nature::ideal(0) };
    let played = open(nature, 1000.0, 200).play();
    let m = played.sound();
    // A request per millisecond: 150 of 1000 wait for the rest of the silence.
    let truth = (0..2000u64).map(|k| 100_000 + (150 * MS).saturating_sub(k % 1000 * MS));
    assert!(m.latency.parts().response.completed == histogram(truth));
    assert_eq!((m.requests.completed, m.requests.failed), (2000, 0));
    let p90 = m.latency.parts().response.completed.value_at_quantile(0.9);
    assert!((50 * MS..52 * MS).contains(&p90), "{p90}");
    assert_eq!(m.latency.parts().response.completed.value_at_quantile(0.849) / 10_000, 10);
}

#[test]
fn workers_share_a_schedule_without_a_gap() {
    let mut case = open(Nature::ideal(100_000), 999.0, 6);
    case.plan.threads = 3;
    let played = case.play();
    let m = played.sound();
    all_are(&m.latency.parts().response.completed, 100_000, 1998);
    assert_eq!((m.requests.scheduled, m.workers.len()), (1998, 3));
}

#[test]
fn a_clients_lateness_is_measured_and_is_in_no_other_part() {
    let mut nature = Nature::ideal(100_000);
    (nature.oversleep_per_mille, nature.oversleep_ns) = (1000, 300_000);
    let played: Played = open(nature, 1000.0, 10).play();
    let m = played.sound();
    assert!(m.latency.parts().lateness.max() > 100_000 && m.latency.parts().connection_wait.max() == 0);
    assert!(m.workers[0].longest_gap_ns > 100_000);
}
