//! Beginnings and ends: counts, durations, both, interruptions at any instant.

use std::time::Duration;

use crate::error::LoadError;
use prony_model::measurement::ErrorKind;
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;

use super::super::answer::Deed;
use super::super::nature::{ConnectFate, Mischief, Nature};
use super::super::{Case, SimWorker};
use super::{MS, S, all_are};

#[test]
fn a_load_of_n_requests_sends_exactly_n() {
    for (requests, connections, threads) in [(1, 1, 1), (1, 4, 3), (100, 7, 2), (101, 7, 3), (3, 50, 1)] {
        let mut case = Case::closed(Nature::ideal(MS));
        (case.plan.connections, case.plan.threads) = (connections, threads);
        (case.plan.stop.requests, case.plan.stop.duration) = (Some(requests), None);
        let played = case.play();
        let m = played.sound();
        assert_eq!((m.requests.completed, m.run_total.sent), (requests, requests));
        assert!(m.ended_by_count && !m.interrupted);
        all_are(&m.latency.parts().response.completed, MS, requests);
        // Its last instant is within it.
        let rounds = (m.window_end_ns - m.window_start_ns - 1) / MS;
        assert_eq!(m.window_end_ns - m.window_start_ns, rounds * MS + 1);
    }
}

#[test]
fn a_count_that_ends_on_a_bins_edge_keeps_its_last_requests() {
    // The last answer comes at 100 ms, at a second, and with the first request refused at 0.
    for (service_ns, requests) in [(100 * MS, 1), (250 * MS, 4), (S, 3)] {
        let mut case = Case::closed(Nature::ideal(service_ns));
        (case.plan.stop.requests, case.plan.stop.duration) = (Some(requests), None);
        let played = case.play();
        assert_eq!(played.sound().requests.completed, requests);
    }
    for arrivals in [Arrivals::Closed, Arrivals::Constant(Rate::per_s(10.0).unwrap())] {
        let mut nature = Nature::ideal(MS);
        nature.connects = vec![(ConnectFate::RefusedAtOnce, 1)];
        let mut case = Case::closed(nature);
        case.plan.arrivals = arrivals;
        (case.plan.stop.requests, case.plan.stop.duration) = (Some(1), None);
        let played = case.play();
        let m = played.sound();
        assert_eq!((m.requests.scheduled, m.requests.failed), (1, 1));
        assert_eq!(m.errors[&ErrorKind::ConnectRefused].count, 1);
    }
}

#[test]
fn of_a_count_and_a_duration_the_first_ends_it() {
    let mut case = Case::closed(Nature::ideal(MS));
    case.plan.stop.duration = Some(Duration::from_millis(50));
    for (requests, by_count, completed) in [(20, true, 20), (49, true, 49), (50, false, 49), (900, false, 49)]
    {
        case.plan.stop.requests = Some(requests);
        let played = case.play();
        let m = played.sound();
        assert_eq!((m.ended_by_count, m.requests.completed), (by_count, completed), "{requests}");
    }
}

#[test]
fn a_warm_up_is_sent_and_not_counted() {
    let mut case = Case::closed(Nature::ideal(MS));
    (case.plan.warmup, case.plan.connections) = (Duration::from_micros(10_500), 2);
    let played = case.play();
    let m = played.sound();
    // Ten answers before the window, and those under way are carried in.
    assert_eq!((m.requests.carried_in, m.run_total.completed - m.requests.completed), (2, 20));
    assert_eq!(m.requests.completed, 2000);
    // A count within the warm-up leaves nothing to measure.
    (case.plan.stop.requests, case.plan.stop.duration) = (Some(20), None);
    assert!(matches!(case.play().measurement, Err(LoadError::WarmUpTookAll)));
    case.plan.stop.requests = Some(21);
    assert_eq!(case.play().sound().requests.completed, 1);
}

#[test]
fn an_interruption_at_any_instant_balances() {
    for arrivals in [Arrivals::Closed, Arrivals::Constant(Rate::per_s(300.0).unwrap())] {
        let mut case = Case::closed(Nature::ideal(7 * MS));
        (case.plan.connections, case.plan.threads, case.plan.arrivals) = (4, 2, arrivals);
        case.plan.warmup = Duration::from_millis(160);
        case.plan.stop.duration = Some(Duration::from_millis(100));
        let (mut measured, mut nothing) = (0, 0);
        // From before the start to after the end, off and on the instants of answers.
        for after in (0..90).map(|i| 3 * i * MS).chain((0..45).map(|i| 6 * i * MS + 999_983)) {
            case.stop_after_ns = Some(after);
            let played = case.play();
            assert!(played.differences.is_empty(), "{after}: {}", played.differences.join("\n"));
            match &played.measurement {
                Ok(m) => {
                    assert_eq!(m.broken_identities, Vec::<String>::new(), "{after}");
                    let end = after.saturating_sub(2 * MS) + 150 * MS;
                    let asked_in_time = end < 260 * MS;
                    assert_eq!(m.interrupted, asked_in_time, "{after}");
                    measured += 1;
                }
                Err(e) => {
                    assert!(matches!(e, LoadError::Interrupted), "{after}: {e}");
                    nothing += 1;
                }
            }
        }
        assert!(measured > 100 && nothing >= 4, "{measured} {nothing}");
    }
}

#[test]
fn a_stop_seen_late_keeps_what_was_entered() {
    // Waits return up to 400 ms late: the stop is seen after the instant it asked for.
    let mut nature = Nature::ideal(3 * MS);
    (nature.oversleep_per_mille, nature.oversleep_ns) = (300, 400 * MS);
    for seed in 0..40 {
        nature.seed = seed;
        let mut case = Case::closed(nature.clone());
        (case.plan.connections, case.plan.keepalive) = (3, false);
        case.nature.connects = vec![(ConnectFate::Later, 1)];
        case.nature.connect_ns = 2 * MS;
        case.plan.stop.duration = Some(Duration::from_secs(2));
        case.stop_after_ns = Some((200 + 20 * seed) * MS);
        assert!(case.play().sound().interrupted);
    }
}

#[test]
fn a_stop_before_the_start_begins_nothing_before_its_time() {
    let mut case = Case::closed(Nature::ideal(MS));
    // Asked two milliseconds before the start, for 150 ms later.
    case.stop_after_ns = Some(0);
    let played = case.play();
    let m = played.sound();
    assert!(m.interrupted);
    assert_eq!(m.window_end_ns - m.window_start_ns, 148 * MS);
    assert_eq!(m.requests.completed, 147);
}

#[test]
fn connections_closed_before_the_start_are_opened_anew() {
    let mut nature = Nature::ideal(MS);
    // Within the two milliseconds before the start.
    (nature.mischief, nature.mischief_ns) = (vec![(Mischief::Close, 1)], MS);
    let mut case = Case::closed(nature);
    case.plan.connections = 10;
    case.plan.stop = prony_model::plan::Stop { duration: None, requests: Some(10) };
    let played = case.play();
    let m = played.sound();
    assert_eq!((m.requests.completed, m.requests.failed, m.run_total.connections), (10, 0, 20));
    assert!(played.worlds[0].borrow().waits < 50, "{}", played.worlds[0].borrow().waits);
}

#[test]
fn connects_before_the_clock_are_bounded_in_number_and_time() {
    let mut nature = Nature::ideal(MS);
    (nature.connects, nature.connect_ns) = (vec![(ConnectFate::Hangs, 1)], 0);
    let mut case = Case::closed(nature);
    (case.plan.connections, case.plan.timeout) = (250, Duration::from_millis(300));
    let SimWorker { worker, world, .. } = SimWorker::<true>::new(&case, 0);
    assert_eq!((world.borrow().open_most, world.borrow().connects), (100, 100));
    let passed = world.borrow().now_ns - super::super::world::EPOCH_NS;
    assert!((300 * MS..301 * MS).contains(&passed), "{passed}");
    // Given up, it leaves nothing open.
    worker.abandon();
    assert_eq!(world.borrow().open_count(), 0);
    // And one whose server answers is connected whole, in turns.
    case.nature.connects = vec![(ConnectFate::Later, 1)];
    case.nature.connect_ns = 5 * MS;
    let SimWorker { worker, world, .. } = SimWorker::<true>::new(&case, 0);
    assert_eq!((world.borrow().open_count(), world.borrow().connects), (250, 250));
    worker.abandon();
    assert_eq!(world.borrow().open_count(), 0);
}

#[test]
fn a_load_of_80_minutes_without_a_duration_has_all_its_bins() {
    let mut case = Case::closed(Nature::ideal(400 * S));
    case.plan.timeout = Duration::from_secs(1000);
    (case.plan.stop.requests, case.plan.stop.duration) = (Some(12), None);
    let played = case.play();
    let m = played.sound();
    assert_eq!((m.requests.completed, m.bins.width_ns, m.bins.each.len()), (12, 1_600 * MS, 3_001));
    assert_eq!(m.bins.each.iter().filter(|bin| bin.completed == 1).count(), 12);
}

#[test]
fn a_stop_after_the_last_answer_interrupts_nothing() {
    let mut case = Case::closed(Nature::ideal(MS));
    (case.plan.stop.requests, case.plan.stop.duration) = (Some(10), None);
    // Asked for at the ninth answer, the end would come 150 ms later: the tenth is there long before.
    case.stop_after_ns = Some(2 * MS + 9 * MS);
    let played = case.play();
    let m = played.sound();
    assert_eq!((m.requests.completed, m.interrupted, m.ended_by_count), (10, false, true));
    assert_eq!(m.window_end_ns - m.window_start_ns, 10 * MS + 1);
    // What is cut is interrupted still.
    case.plan.stop.requests = Some(1_000);
    let played = case.play();
    let m = played.sound();
    assert!(m.interrupted && m.requests.completed < 1_000);
}

#[test]
fn a_worker_that_slept_past_its_lease_sends_nothing_more() {
    // One wait in twenty lasts 5 s too long, as after SIGSTOP and SIGCONT: without a lease the backlog would go out at once.
    let mut nature = Nature::ideal(MS);
    (nature.oversleep_per_mille, nature.oversleep_ns, nature.seed) = (50, 5 * S, 3);
    let mut case = Case::closed(nature);
    case.plan.arrivals = Arrivals::Constant(Rate::per_s(100.0).unwrap());
    case.plan.connections = 20;
    case.plan.stop.duration = Some(Duration::from_secs(20));
    let sent_after = |case: &Case, lease_ns: u64| {
        let played = case.play();
        let world = played.worlds[0].borrow();
        world.truth.writes.iter().filter(|(at_ns, _)| *at_ns >= world.truth.start_ns + lease_ns).count()
    };
    assert!(sent_after(&case, 4 * S) > 0);
    case.lease_ns = Some(4 * S);
    assert_eq!(sent_after(&case, 4 * S), 0);
    let played = case.play();
    let m = played.sound();
    assert!(m.interrupted && m.window_end_ns - m.window_start_ns <= 4 * S, "{}", m.window_end_ns);
}

#[test]
fn a_load_without_a_lease_sends_nothing() {
    for warmup in [0, 500] {
        let mut case = Case::closed(Nature::ideal(MS));
        case.plan.warmup = Duration::from_millis(warmup);
        case.lease_ns = Some(0);
        let played = case.play();
        assert!(matches!(played.measurement, Err(LoadError::Interrupted)));
        assert_eq!(played.worlds[0].borrow().truth.writes, []);
    }
}

#[test]
fn what_follows_the_last_answer_is_waited_for_50_ms() {
    let mut nature = Nature::ideal(MS);
    nature.lingers = true;
    let played = |nature: &Nature, keepalive: bool| {
        let mut case = Case::closed(nature.clone());
        case.plan.keepalive = keepalive;
        (case.plan.stop.requests, case.plan.stop.duration) = (Some(1), None);
        case.play()
    };
    for keepalive in [true, false] {
        nature.deeds = vec![(Deed::Good, 1)];
        let right = played(&nature, keepalive);
        let m = right.sound();
        assert_eq!((m.requests.completed, m.run_total.unasked), (1, 0));
        assert_eq!(right.worlds[0].borrow().now_ns, m.window_end_ns - 1 + 50 * MS, "{keepalive}");
        // A byte behind it, in half of these cases by itself and up to 49 ms later.
        (nature.deeds, nature.piece_gap_ns) = (vec![(Deed::Chatty, 1)], 49 * MS);
        let mut later = 0;
        for seed in 0..40 {
            nature.seed = seed;
            let played = played(&nature, keepalive);
            let m = played.measurement.as_ref().unwrap();
            let is_told = m.run_total.unasked > 0 || m.errors.contains_key(&ErrorKind::Protocol);
            assert!(is_told, "{seed} {keepalive}: {:?} {:?}", m.run_total, m.errors);
            later += u64::from((m.requests.completed, m.run_total.unasked) == (1, 1));
        }
        assert!(later > 5, "{later}");
    }
}
