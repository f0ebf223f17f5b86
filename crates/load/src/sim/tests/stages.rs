//! Stages that fall: connections are given back, and taken up again when their number comes again.

use std::time::Duration;

use prony_model::plan::Arrivals;
use prony_model::rate::Stage;

use super::super::Case;
use super::super::answer::Deed;
use super::super::nature::Nature;
use super::{MS, all_are};

/// A load in these stages, of milliseconds and connections.
fn in_stages(nature: Nature, stages: &[(u64, u64)]) -> Case {
    let mut case = Case::closed(nature);
    let stage = |(ms, to): &(u64, u64)| Stage { duration: Duration::from_millis(*ms), to: *to };
    case.plan.arrivals = Arrivals::ConnectionStages(stages.iter().map(stage).collect());
    case.plan.connections = stages.iter().map(|(_, to)| u32::try_from(*to).unwrap()).max().unwrap();
    case.plan.stop.duration = Some(stages.iter().map(|(ms, _)| Duration::from_millis(*ms)).sum());
    case
}

#[test]
fn a_rise_and_a_fall_are_as_many_requests_as_their_area() {
    let case = in_stages(Nature::ideal(10 * MS), &[(100, 10), (100, 0)]);
    let played = case.play();
    let m = played.sound();
    // Connection j has a request every 10 ms from 10 j to before 200 − 10 j ms: 20 − 2 j. The last ends with the window.
    assert_eq!((m.requests.scheduled, m.requests.completed, m.requests.in_flight), (110, 109, 1));
    all_are(&m.latency.parts().response.completed, 10 * MS, 109);
    assert_eq!((m.run_total.connections, played.worlds[0].borrow().open_most), (10, 10));
    assert_eq!(m.requests.failed, 0);
}

#[test]
fn paused_connections_connect_again() {
    let case = in_stages(Nature::ideal(10 * MS), &[(0, 4), (100, 4), (0, 1), (100, 1), (0, 4), (100, 4)]);
    let played = case.play();
    let m = played.sound();
    // Of four connections three pause for the second 100 ms, and connect again.
    assert_eq!(m.requests.scheduled, 3 * 10 + 30 + 3 * 10);
    assert_eq!(m.run_total.connections, 4 + 3);
    all_are(&m.latency.parts().send_lag, 0, m.requests.completed);
}

#[test]
fn a_given_up_connection_whose_number_returns_begins_once() {
    let mut nature = Nature::ideal(MS);
    (nature.deeds, nature.early_wake_per_mille) = (vec![(Deed::Never, 1)], 800);
    for seed in 0..60 {
        nature.seed = seed;
        let stages = [(0, 5), (40, 5), (0, 1), (10, 1), (0, 5), (100, 5)];
        let mut case = in_stages(nature.clone(), &stages);
        case.plan.timeout = Duration::from_millis(50);
        let played = case.play();
        // At 0, 50 and 100 ms.
        assert_eq!(played.sound().requests.scheduled, 15, "{seed}");
    }
}

#[test]
fn an_ended_connection_begins_anew_however_late_the_worker_is() {
    // A call lasts as long as the number is away.
    let mut nature = Nature::ideal(MS);
    nature.call_cost_ns = 5 * MS;
    for away in 1..30 {
        let case = in_stages(nature.clone(), &[(0, 3), (97, 3), (0, 1), (away, 1), (0, 3), (400, 3)]);
        let played = case.play();
        let m = played.sound();
        // None is forgotten: to the end all three are at it.
        assert_eq!(m.requests.in_flight, 3, "{away}");
    }
}

#[test]
fn a_number_that_comes_and_goes_in_no_time_begins_nothing() {
    let case = in_stages(Nature::ideal(MS), &[(0, 5), (0, 1), (50, 1), (0, 5), (0, 1), (50, 1)]);
    let played = case.play();
    let m = played.sound();
    assert_eq!((m.requests.scheduled, m.run_total.connections), (100, 1));
}
