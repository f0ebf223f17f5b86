//! What single connections carried, beside what the network saw of their slots.

use std::time::Duration;

use prony_model::measurement::{BIN_NS, CONNECTIONS_MAX};

use super::super::Case;
use super::super::answer::Deed;
use super::super::nature::{Nature, Service};
use super::super::truth::Fate;
use super::{MS, open};

/// Of each slot, answers and the mean response in each half of a window without warm-up.
fn by_slot(fates: &[Fate], start_ns: u64, length_ns: u64, slots: usize) -> [Vec<(u64, u64)>; 2] {
    let middle_ns = start_ns + length_ns / 2 / BIN_NS * BIN_NS;
    [start_ns..middle_ns, middle_ns..start_ns + length_ns].map(|half| {
        let of = |slot| {
            let own = fates.iter().filter(|f| f.request.slot == slot && half.contains(&f.at_ns));
            let responses: Vec<u64> =
                own.map(|fate| fate.request.last_byte_ns - fate.request.intended_ns).collect();
            let count = responses.len() as u64;
            (count, responses.iter().sum::<u64>().checked_div(count).unwrap_or(0))
        };
        (0..slots).map(of).collect()
    })
}

#[track_caller]
fn holds(case: &Case) {
    let played = case.play();
    let m = played.sound();
    let world = played.worlds[0].borrow();
    let slots = case.plan.connections as usize;
    let length_ns = m.window_end_ns - m.window_start_ns;
    let truth = by_slot(&world.truth.fates, m.window_start_ns, length_ns, slots);
    assert_eq!(m.by_connection.per_worker, [case.plan.connections]);
    for (half, truth) in truth.into_iter().enumerate() {
        let counts = &m.by_connection.answered[half];
        let means = &m.by_connection.mean_response_ns[half];
        let recorded: Vec<(u64, u64)> = counts.iter().copied().zip(means.iter().copied()).collect();
        assert_eq!(recorded, truth);
    }
    assert!(m.by_connection.ended_after.is_empty());
}

#[test]
fn each_connection_has_its_answers_of_either_half() {
    let nature =
        Nature { service: Service::Queue { low_ns: 5 * MS / 100, high_ns: 3 * MS }, ..Nature::ideal(7) };
    let mut closed = Case::closed(nature.clone());
    closed.plan.connections = 13;
    closed.plan.stop.duration = Some(Duration::from_millis(1_750));
    holds(&closed);
    closed.plan.pipeline = 3;
    holds(&closed);
    holds(&open(nature, 500.0, 13));
}

#[test]
fn connections_end_after_their_requests_and_not_together() {
    let mut case = Case::closed(Nature::ideal(3));
    (case.plan.connections, case.plan.requests_per_connection) = (4, Some(8));
    case.plan.stop.requests = Some(4 * 80);
    let played = case.play();
    let m = played.sound();
    // Connection i's first carries 8 − 2 i: 8, 6, 4, 2; of each slot's 80 requests or so the others carry 8 each.
    let world = played.worlds[0].borrow();
    let mut lasts = vec![Vec::new(); 4];
    let mut counts = [0u64; 4];
    for fate in &world.truth.fates {
        let slot = fate.request.slot;
        counts[slot] += 1;
        if fate.request.last {
            lasts[slot].push(std::mem::take(&mut counts[slot]));
        }
    }
    for (slot, lasts) in lasts.iter().enumerate() {
        assert_eq!(lasts[0], 8 - 2 * slot as u64);
        assert!(lasts.len() > 5 && lasts[1..].iter().all(|count| *count == 8), "{lasts:?}");
    }
    assert_eq!(m.requests.failed, 0);
    assert!(m.by_connection.ended_after.is_empty(), "these ends are the plan's, not the server's");
}

#[test]
fn connections_opened_within_the_window_have_no_figures_of_it() {
    let mut nature = Nature::ideal(3);
    nature.service = Service::Parallel { low_ns: MS, high_ns: MS };
    nature.deeds = vec![(Deed::Good, 9), (Deed::SaysClose, 1)];
    let mut case = Case::closed(nature);
    case.plan.connections = 4;
    let played = case.play();
    let m = played.sound();
    let own = &m.by_connection;
    assert_eq!((own.per_worker.as_slice(), own.answered[0].len()), (&[][..], 0));
    // The first that were ended are kept; with one more for each of the last they would have carried all.
    assert_eq!(own.ended_after.len(), CONNECTIONS_MAX);
    assert!(m.run_total.connections > 4 + CONNECTIONS_MAX as u64);
    assert!(own.ended_after.iter().sum::<u64>() < m.run_total.completed);
    // A request takes a millisecond each.
    for (after, ns) in own.ended_after.iter().zip(&own.ended_after_ns) {
        assert!((after * MS..=after * MS + 3 * MS).contains(ns), "{after} in {ns}");
    }
}
