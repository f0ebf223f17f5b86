use super::*;
use crate::list::{Order, TargetList};
use crate::plan::{Arrivals, Plan, Work};
use crate::target::Target;
use proptest::prelude::*;

fn log() -> RecordedReplay {
    RecordedReplay { entries: 1, speed: 1.0, ..RecordedReplay::default() }
}

/// A plan that replays these instants.
fn plan(due_ns: &[u64], looped: bool) -> Plan {
    let server = Target::parse("http://h/").unwrap();
    let text = "/a\n".repeat(due_ns.len());
    let list = TargetList::parse(text.as_bytes(), Some(&server), "GET", Order::InTurn).unwrap().1;
    let mut plan = Plan::closed(server);
    plan.arrivals = Arrivals::Replay(Replay::new(due_ns.to_vec(), looped, log()));
    plan.work = Work::List(list);
    (plan.stop.duration, plan.stop.requests) = (None, Some(due_ns.len() as u64));
    plan
}

fn instants() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0u64..1_000, 0..40).prop_map(|mut due| {
        due.push(0);
        due.sort_unstable();
        due
    })
}

proptest! {
    #[test]
    fn counting_is_the_inverse_of_the_instants(due in instants(), looped: bool, at in 0u64..5_000) {
        let replay = Replay::new(due, looped, log());
        let before = replay.due_before(at);
        prop_assert!(before == 0 || replay.due_ns(before - 1).unwrap() < at);
        prop_assert!(replay.due_ns(before).is_none_or(|due| due >= at));
        prop_assert!(looped || replay.due_ns(replay.entries()).is_none());
    }

    #[test]
    fn the_peak_is_the_fullest_second(due in instants(), looped: bool) {
        let due: Vec<u64> = due.iter().map(|at| at * 10_000_000).collect();
        let replay = Replay::new(due, looped, log());
        let instant = |k| replay.due_ns(k);
        let within = |k: u64| (k..).take_while(|i| instant(*i).is_some_and(|at| at < instant(k).unwrap() + 1_000_000_000)).count();
        let peak = (0..replay.entries()).map(within).max().unwrap();
        prop_assert_eq!(replay.peak_per_s(), peak as u64);
    }

    #[test]
    fn a_replay_is_the_same_on_the_other_side(due in instants(), looped: bool) {
        let plan = plan(&due, looped);
        let wire = plan.to_wire().unwrap();
        prop_assert_eq!(Plan::from_wire(&wire).unwrap(), plan);
    }
}

#[test]
fn instants_of_a_plan_that_no_log_has_are_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan(&[0, 5_000, 9_000], true);
        change(&mut plan);
        Plan::from_wire(&plan.to_wire().unwrap()).is_err()
    };
    let replay = |due: &[u64], looped, log| Arrivals::Replay(Replay::new(due.to_vec(), looped, log));
    assert!(!refused(&|_| {}));
    assert!(refused(&|plan| plan.arrivals = replay(&[0, 5_000], true, log())), "another number of lines");
    assert!(refused(&|plan| plan.arrivals = replay(&[1, 5_000, 9_000], true, log())), "it does not begin");
    assert!(refused(&|plan| plan.work = Work::Request("GET".to_owned())));
    let still = RecordedReplay::default();
    assert!(refused(&|plan| plan.arrivals = replay(&[0, 5_000, 9_000], true, still.clone())), "no speed");
    assert!(refused(&|plan| plan.arrivals = replay(&[0, 0, 1], true, log())), "a billion a second");
    assert!(refused(&|plan| {
        plan.arrivals = replay(&[0, 5_000, 9_000], false, log());
        plan.stop.requests = Some(4);
    }));
    let day_ns = 24 * 3600 * 1_000_000_000;
    assert!(refused(&|plan| plan.arrivals = replay(&[0, 5_000, day_ns + 1], false, log())));
    assert!(!refused(&|plan| {
        plan.arrivals = replay(&[0, 5_000, day_ns + 1], false, log());
        plan.stop.duration = Some(Duration::from_secs(60));
    }));
    let text = String::from_utf8(plan(&[0, 5_000, 9_000], true).to_wire().unwrap()).unwrap();
    let text = text.replace("\"due_ns\":[0,5000,4000]", &format!("\"due_ns\":[0,5000,{}]", u64::MAX));
    assert!(Plan::from_wire(text.as_bytes()).unwrap_err().0.contains("584 years"), "{text}");
    let last = Replay::new(vec![0, u64::MAX, u64::MAX], false, log());
    assert_eq!(last.peak_per_s(), 1, "and no number runs over");
    assert!(refused(&|plan| {
        plan.arrivals = Arrivals::Replay(last.clone());
        plan.stop.duration = Some(Duration::from_secs(60));
    }));
}

#[test]
fn what_is_lost_is_said() {
    let mut record = RecordedReplay { entries: 9, length_ns: 600_000_000_000, speed: 2.0, ..log() };
    record.request_times = 9;
    assert_eq!(record.words(), "replay of 10m at 2x");
    assert_eq!(record.losses(), "The log has no headers and no bodies: only those of -H are sent.");
    record.left_out = [("POST".to_owned(), 2), ("no_request".to_owned(), 1)].into();
    (record.looped, record.request_times, record.spread) = (true, 8, 9);
    assert_eq!(record.words(), "replay of 10m at 2x, again and again, 3 lines left out");
    assert_eq!(
        record.losses(),
        "The log has no headers and no bodies: only those of -H are sent. Lines left out: 2 POST, 1 no request (see \
         --methods). 1 of 9 instants are as logged: of Apache's the beginning of a request, of nginx's the end of its \
         response, as it has no $request_time. 9 instants in whole seconds are spread within them."
    );
}
