//! Failures: counted when they happen, by what they are, and never a storm.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::measurement::{ErrorKind, Tolerance};
use prony_model::plan::{Arrivals, Stop, Work};
use prony_model::rate::Rate;

use super::super::Case;
use super::super::answer::{BODY, Deed};
use super::super::nature::{ConnectFate, Mischief, Nature};
use super::{MS, all_are, histogram};

/// Each deed alone, by the kind of failure that it is.
const WRONG: [(Deed, ErrorKind); 12] = [
    (Deed::Status(404), ErrorKind::UnexpectedStatus),
    (Deed::WrongBody, ErrorKind::BodyMismatch),
    (Deed::LongBody, ErrorKind::BodyMismatch),
    (Deed::Nonsense, ErrorKind::Protocol),
    (Deed::NonsenseInside, ErrorKind::Protocol),
    (Deed::OtherLengths, ErrorKind::Protocol),
    (Deed::Never, ErrorKind::RequestTimeout),
    (Deed::Slow, ErrorKind::RequestTimeout),
    (Deed::ResetNow, ErrorKind::Reset),
    (Deed::ResetMid, ErrorKind::Reset),
    (Deed::CloseNow, ErrorKind::ClosedEarly),
    (Deed::CloseMid, ErrorKind::ClosedEarly),
];

#[test]
fn each_wrong_answer_is_its_kind() {
    for (deed, kind) in WRONG {
        let mut nature = Nature::ideal(MS);
        nature.deeds = vec![(deed, 1)];
        let mut case = Case::closed(nature);
        case.plan.connections = 4;
        case.plan.timeout = Duration::from_millis(50);
        case.plan.expect.body = Some(BODY.to_vec());
        let played = case.play();
        let m = played.sound();
        assert!(m.requests.failed > 10 && m.requests.completed == 0, "{deed:?}: {:?}", m.requests);
        assert_eq!(m.errors.keys().collect::<Vec<_>>(), [&kind], "{deed:?}");
    }
}

#[test]
fn answers_that_browsers_take_are_right_and_counted() {
    for (deed, why) in [
        (Deed::RepeatedLength, Tolerance::RepeatedLength),
        (Deed::LengthBesideChunks, Tolerance::LengthBesideCoding),
        (Deed::ChunkedTwice, Tolerance::RepeatedChunked),
        (Deed::BareChunks, Tolerance::BareLineFeed),
        (Deed::Folded, Tolerance::Folded),
        (Deed::LongHead, Tolerance::Long),
    ] {
        let mut nature = Nature::ideal(MS);
        nature.deeds = vec![(deed, 1)];
        let mut case = Case::closed(nature);
        (case.plan.connections, case.plan.threads) = (4, 2);
        case.plan.expect.body = Some(BODY.to_vec());
        let played = case.play();
        let m = played.sound();
        assert!(m.requests.completed > 1_000 && m.requests.failed == 0, "{deed:?}: {:?}", m.errors);
        assert_eq!(m.tolerated, BTreeMap::from([(why, m.run_total.completed)]), "{deed:?}");
        assert_eq!(m.run_total.connections, 4, "{deed:?}: it leaves the connection as any other");
    }
}

#[test]
fn ordinary_answers_are_not_counted_as_tolerated() {
    let mut nature = Nature::ideal(MS);
    nature.deeds = vec![(Deed::Good, 1), (Deed::Chunked, 1), (Deed::Interim, 1), (Deed::LongBody, 1)];
    let played = Case::closed(nature).play();
    assert!(played.sound().tolerated.is_empty() && played.sound().requests.completed > 100);
}

#[test]
fn unfinished_heads_beyond_64_mib_are_a_kind_of_failure() {
    let mut nature = Nature::ideal(MS);
    nature.deeds = vec![(Deed::StalledHead, 1)];
    let mut case = Case::closed(nature);
    (case.plan.connections, case.plan.timeout) = (300, Duration::from_millis(100));
    case.plan.stop = Stop { duration: None, requests: Some(300) };
    // What the network saw would need the worker's memory for its truth: only what was recorded is looked at.
    let played = case.play();
    let m = played.measurement.as_ref().unwrap();
    assert_eq!((m.requests.failed, m.broken_identities.len()), (300, 0), "{:?}", m.errors);
    let count = |kind| m.errors.get(&kind).map_or(0, |tally| tally.count);
    let (expired, full) = (count(ErrorKind::RequestTimeout), count(ErrorKind::PartialHeads));
    // 256 heads of 256 KiB are 64 MiB, and each connection keeps 4 KiB beside them.
    assert!(full > 0 && (200..=260).contains(&expired) && expired + full == 300, "{expired} {full}");
    assert!(m.errors[&ErrorKind::PartialHeads].first.contains("64 MiB"), "{:?}", m.errors);
}

#[test]
fn a_request_expires_at_its_timeout_not_when_it_is_answered() {
    for deed in [Deed::Never, Deed::Slow] {
        let mut nature = Nature::ideal(MS);
        nature.deeds = vec![(deed, 1)];
        let mut case = Case::closed(nature);
        (case.plan.connections, case.plan.timeout) = (3, Duration::from_millis(70));
        let played = case.play();
        let m = played.sound();
        // Fourteen times 70 ms, and 20 ms of the next; another is sent at once.
        assert_eq!((m.requests.failed, m.requests.in_flight), (42, 3));
        all_are(&m.latency.parts().response.failed, 70 * MS, 42);
        all_are(&m.latency.parts().service.failed, 70 * MS, 42);
        assert_eq!(m.run_total.connections, 45, "a connection with a late answer is of no use");
    }
}

#[test]
fn an_answer_at_the_last_instant_is_late_but_not_just_before() {
    for (service_ns, kept) in [(10 * MS, false), (10 * MS - 1, true)] {
        let mut case = Case::closed(Nature::ideal(service_ns));
        case.plan.timeout = Duration::from_millis(10);
        let played = case.play();
        let m = played.sound();
        assert_eq!((m.requests.completed > 0, m.requests.failed > 0), (kept, !kept), "{service_ns}");
    }
}

#[test]
fn a_connect_that_hangs_expires_at_its_timeout() {
    let mut nature = Nature::ideal(MS);
    nature.connects = vec![(ConnectFate::Hangs, 1)];
    let mut case = Case::closed(nature);
    (case.plan.connections, case.plan.timeout) = (2, Duration::from_millis(100));
    let played = case.play();
    let m = played.sound();
    // At 100, 201, 303, 407, 515, 631, 763 and 927 ms: each pause is twice the last.
    assert_eq!(m.errors[&ErrorKind::ConnectTimeout].count, 16);
    all_are(&m.latency.parts().response.failed, 100 * MS, 16);
    assert_eq!((m.latency.parts().service.failed.len(), m.run_total.sent), (0, 0));
}

#[test]
fn refused_connects_are_repeated_after_a_pause() {
    for fate in [ConnectFate::RefusedAtOnce, ConnectFate::RefusedLater, ConnectFate::NoPorts] {
        let mut nature = Nature::ideal(MS);
        nature.connects = vec![(fate, 1)];
        let mut case = Case::closed(nature);
        case.plan.connections = 20;
        let played = case.play();
        let m = played.sound();
        // At 0, 1, 3, 7, …, 511 ms; the next would be at 1023.
        assert_eq!((m.requests.failed, m.requests.scheduled), (200, 200), "{fate:?}");
        let world = played.worlds[0].borrow();
        assert_eq!(world.connects, 220, "{fate:?}: with 20 before the clock");
        assert!(world.waits < 60, "{fate:?}: {} waits", world.waits);
    }
}

#[test]
fn connects_to_a_server_that_resets_all_pause_at_a_rate_too() {
    let mut nature = Nature::ideal(10_000);
    nature.deeds = vec![(Deed::ResetNow, 1)];
    let mut case = Case::closed(nature);
    case.plan.connections = 8;
    case.plan.arrivals = Arrivals::Constant(Rate::per_s(100_000.0).unwrap());
    let played = case.play();
    let m = played.sound();
    let world = played.worlds[0].borrow();
    // Ten or eleven tries of each connection, and one before the clock; the rest waits in the schedule.
    assert!(world.connects <= 12 * 8, "{}", world.connects);
    assert!(world.waits < 400, "{}", world.waits);
    assert_eq!(m.requests.scheduled, 100_000);
    assert_eq!(m.requests.never_sent, 100_000 - m.requests.failed);
}

#[test]
fn after_a_good_answer_the_pause_is_the_first_again() {
    // Every second connection is refused: the pause never grows beyond a few doublings.
    let mut nature = Nature::ideal(100_000);
    nature.connects = vec![(ConnectFate::AtOnce, 1), (ConnectFate::RefusedAtOnce, 1)];
    nature.deeds = vec![(Deed::SaysClose, 1)];
    let mut case = Case::closed(nature);
    case.plan.keepalive = false;
    let played = case.play();
    let m = played.sound();
    // Were it never the first again, ten refusals in all would make each pause a second.
    assert!(m.requests.completed > 50 && m.requests.failed > 50, "{:?}", m.requests);
}

#[test]
fn connections_left_to_the_server_are_bounded_and_soon_let_go() {
    for closing_max in [0, 1, 5, 50] {
        let mut nature = Nature::ideal(MS);
        // It never closes.
        nature.deeds = vec![(Deed::Good, 1)];
        let mut case = Case::closed(nature);
        (case.plan.keepalive, case.plan.connections, case.closing_max) = (false, 3, closing_max);
        case.plan.stop.duration = Some(Duration::from_millis(1500));
        let played = case.play();
        let m = played.sound();
        assert_eq!(m.requests.failed, 0);
        let world = played.worlds[0].borrow();
        assert_eq!(world.open_most, 3 + closing_max.max(1));
    }
    // Four a second: the first is let go when the fifth has come.
    let mut case = Case::closed(Nature::ideal(250 * MS));
    (case.plan.keepalive, case.closing_max) = (false, 100);
    case.plan.stop.duration = Some(Duration::from_secs(5));
    let played = case.play();
    assert_eq!(played.sound().requests.completed, 19);
    let most = played.worlds[0].borrow().open_most;
    assert!((5..=6).contains(&most), "{most}");
}

#[test]
fn idle_connections_the_server_closes_are_opened_anew_in_time() {
    for mischief in [Mischief::Close, Mischief::Reset, Mischief::Talk] {
        let mut nature = Nature::ideal(100_000);
        (nature.mischief, nature.mischief_ns) = (vec![(mischief, 1)], 100_000);
        let mut case = Case::closed(nature);
        case.plan.connections = 2;
        // A request every 10 ms: each finds that its connection is gone.
        case.plan.arrivals = Arrivals::Constant(Rate::per_s(100.0).unwrap());
        let played = case.play();
        let m = played.sound();
        assert_eq!((m.requests.completed, m.requests.failed), (100, 0), "{mischief:?}");
        assert!(m.latency.parts().response.completed == histogram([100_000; 100]));
        assert!(m.run_total.connections > 90);
    }
}

#[test]
fn a_request_in_small_writes_is_whole_and_counted_once() {
    let mut nature = Nature::ideal(100_000);
    (nature.room, nature.drain_ns, nature.short_write_per_mille) = (50, 10_000, 300);
    let mut case = Case::closed(nature);
    case.plan.work = Work::Request("POST".to_owned());
    case.plan.body = vec![b'b'; 2_000];
    case.plan.connections = 3;
    case.plan.stop.duration = Some(Duration::from_millis(200));
    let played = case.play();
    let m = played.sound();
    assert!(m.requests.completed > 500 && m.requests.failed == 0, "{:?}", m.requests);
    // An answer before the request is whole ends it, and its connection.
    case.nature.early_per_mille = 1000;
    let played = case.play();
    let m = played.sound();
    assert_eq!(m.requests.completed, 0);
    assert!(m.status[&413] > 500, "{:?}", m.status);
}
