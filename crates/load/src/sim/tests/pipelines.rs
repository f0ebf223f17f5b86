//! Several requests at once on a connection: what is known of each, and what becomes of those behind a fault.

use std::time::Duration;

use prony_model::list::{Order, TargetList};
use prony_model::measurement::ErrorKind;
use prony_model::plan::{Arrivals, Stop, Work};
use prony_model::rate::Rate;
use prony_model::target::Target;

use super::super::Case;
use super::super::answer::{Deed, Then};
use super::super::nature::{ConnectFate, Mischief, Nature, Service};
use super::{MS, S, all_are, histogram};

/// A closed load of one connection that carries so many requests at once.
fn pipelined(pipeline: u32, nature: Nature) -> Case {
    let mut case = Case::closed(nature);
    case.plan.pipeline = pipeline;
    case
}

/// As [`pipelined`], of requests of about so many bytes on connections that take no more than one of them,
/// and whose server closes each with its answer.
fn narrow(pipeline: u32, nature: Nature) -> Case {
    let mut case = pipelined(pipeline, nature);
    let length = crate::http1::RequestBytes::of_both(&case.plan).unwrap()[0].length(0);
    (case.nature.room, case.nature.drain_ns) = (length, 1_000 * S);
    case.nature.deeds = vec![(Deed::SaysClose, 1)];
    case
}

#[test]
fn answers_of_one_read_are_each_their_own_request_s() {
    for (pipeline, connections) in [(2, 1), (7, 3), (16, 2)] {
        let mut case = pipelined(pipeline, Nature::ideal(3 * MS));
        case.plan.connections = connections;
        let played = case.play();
        let m = played.sound();
        // All are sent together, answered together, and followed by as many: 333 times.
        let each = u64::from(pipeline * connections);
        assert_eq!((m.requests.completed, m.requests.in_flight), (333 * each, each));
        all_are(&m.latency.parts().response.completed, 3 * MS, 333 * each);
        all_are(&m.latency.parts().send_lag, 0, 333 * each);
        let together = played.worlds[0].borrow().answers_together;
        assert_eq!(together, 333 * u64::from((pipeline - 1) * connections));
    }
}

#[test]
fn waiting_for_earlier_answers_counts_as_a_requests_service() {
    let mut nature = Nature::ideal(0);
    nature.service = Service::Queue { low_ns: MS, high_ns: MS };
    let mut case = pipelined(4, nature);
    case.plan.stop = Stop { duration: None, requests: Some(4) };
    let played = case.play();
    let m = played.sound();
    assert!(m.latency.parts().service.completed == histogram((1..=4).map(|i| i * MS)));
    assert_eq!(played.worlds[0].borrow().answers_together, 0);
}

#[test]
fn a_pipeline_cut_at_any_byte_keeps_the_answers_before_it() {
    let requests = 5;
    let mut case = pipelined(requests, Nature::ideal(MS));
    case.plan.stop = Stop { duration: None, requests: Some(requests.into()) };
    let whole = case.play();
    let length = (whole.sound().read_bytes / u64::from(requests)) as usize;
    for bytes in 0..=length * requests as usize {
        for (then, half_closed) in [(Then::Close, false), (Then::Close, true), (Then::Reset, false)] {
            (case.nature.cut, case.nature.half_closed) = (Some((bytes, then)), half_closed);
            let played = case.play();
            let m = played.sound();
            let (answered, failed) = (m.requests.completed, m.requests.failed);
            assert_eq!(answered + failed, u64::from(requests), "{bytes} {then:?}");
            if then == Then::Close {
                assert_eq!(answered, (bytes / length) as u64, "{bytes}");
                assert!(m.errors.keys().all(|kind| *kind == ErrorKind::ClosedEarly), "{:?}", m.errors);
            }
        }
    }
}

#[test]
fn behind_one_that_expires_all_are_abandoned_at_its_timeout() {
    let mut nature = Nature::ideal(MS);
    nature.deeds = vec![(Deed::Never, 1)];
    let mut case = pipelined(5, nature);
    case.plan.timeout = Duration::from_millis(70);
    let played = case.play();
    let m = played.sound();
    let count = |kind| m.errors[&kind].count;
    assert_eq!((count(ErrorKind::RequestTimeout), count(ErrorKind::Abandoned)), (14, 56));
    all_are(&m.latency.parts().response.failed, 70 * MS, 70);
}

#[test]
fn pipelined_requests_are_timed_from_the_connects_end() {
    // The connection from before the clock is closed before the start: the requests wait for another one.
    let mut nature = Nature::ideal(0);
    (nature.mischief, nature.mischief_ns) = (vec![(Mischief::Close, 1)], MS);
    (nature.connects, nature.connect_ns) = (vec![(ConnectFate::Later, 1)], 40 * MS);
    nature.service = Service::Queue { low_ns: 20 * MS, high_ns: 20 * MS };
    let mut long = 0;
    for seed in 0..20 {
        nature.seed = seed;
        let mut case = pipelined(3, nature.clone());
        case.plan.stop = Stop { duration: None, requests: Some(3) };
        case.plan.timeout = Duration::from_millis(50);
        let played = case.play();
        let m = played.sound();
        // Answers come 20, 40 and 60 ms after the connect's end, whenever that was.
        assert_eq!((m.requests.completed, m.requests.failed), (2, 1), "{seed}: {:?}", m.errors);
        assert_eq!(m.errors[&ErrorKind::RequestTimeout].count, 1);
        let connect_ns = m.window_end_ns - 1 - m.window_start_ns - 50 * MS;
        all_are(&m.latency.parts().connect_wait, connect_ns, 2);
        long += u32::from(connect_ns > 10 * MS);
    }
    assert!(long > 10, "{long} of the connects were so long that 40 ms after them is past 50 ms");
}

#[test]
fn a_pause_after_a_failure_is_for_all_places_of_the_connection() {
    for pipeline in [1, 16] {
        let mut nature = Nature::ideal(10_000);
        nature.deeds = vec![(Deed::ResetNow, 1)];
        let mut case = pipelined(pipeline, nature);
        case.plan.arrivals = Arrivals::Constant(Rate::per_s(100.0).unwrap());
        let played = case.play();
        played.sound();
        // At 0, and after pauses of 1, 2, 4, … ms with the next that is due.
        let connects = played.worlds[0].borrow().connects;
        assert!(connects <= 12, "{pipeline}: {connects}");
    }
}

#[test]
fn of_places_that_wait_the_one_free_longest_begins_first() {
    // A worker that is behind by more than a pause: while places of a connection wait to begin again after
    // theirs, requests on others of its places time out.
    for seed in 0..5 {
        let mut nature = Nature { seed, ..Nature::ideal(MS / 10) };
        nature.call_cost_ns = 200_000;
        nature.deeds = [Deed::Good, Deed::ResetNow, Deed::Never].map(|deed| (deed, 1)).to_vec();
        let mut case = pipelined(9, nature);
        case.plan.connections = 10;
        case.plan.timeout = Duration::from_millis(5);
        case.plan.stop.duration = Some(Duration::from_millis(100));
        let played = case.play();
        let m = played.sound();
        for kind in [ErrorKind::Reset, ErrorKind::RequestTimeout] {
            assert!(m.errors[&kind].count > 0, "{seed}: {:?}", m.errors);
        }
    }
}

#[test]
fn what_was_never_written_goes_on_to_the_next_connection() {
    let mut case = narrow(2, Nature::ideal(MS));
    case.plan.stop = Stop { duration: None, requests: Some(50) };
    let played = case.play();
    let m = played.sound();
    assert_eq!((m.requests.completed, m.requests.failed), (50, 0), "{:?}", m.errors);
}

#[test]
fn a_connection_opened_within_a_turn_has_instants_of_its_own() {
    // Calls so long that bins and seconds pass between an answer's reading and the next connection.
    let mut nature = Nature::ideal(MS);
    (nature.call_cost_ns, nature.clock_cost_ns) = (37 * MS, 1_000);
    let mut case = narrow(3, nature);
    case.plan.stop.duration = Some(Duration::from_secs(4));
    let played = case.play();
    assert!(played.sound().requests.completed > 5);
}

#[test]
fn bytes_behind_an_answer_that_is_too_late_are_its_request_s() {
    let mut nature = Nature::ideal(MS);
    (nature.oversleep_per_mille, nature.oversleep_ns) = (500, 100 * MS);
    let mut case = pipelined(6, nature);
    case.plan.timeout = Duration::from_millis(20);
    let server = Target::parse("http://simulated/").unwrap();
    let list = TargetList::parse(b"/a\n/b\n/c\n/d\n/e\n", Some(&server), "GET", Order::InTurn);
    case.plan.work = Work::List(list.unwrap().1);
    let played = case.play();
    let m = played.sound();
    assert!(m.requests.completed > 20 && m.errors[&ErrorKind::Abandoned].count > 20, "{:?}", m.errors);
}
