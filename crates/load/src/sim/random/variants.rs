//! What some of the random loads have, drawn from streams of their own: so that cases before it stay what they were.

use prony_model::list::{Order, TargetList};
use prony_model::plan::{Arrivals, Plan, Work};
use prony_model::replay::{RecordedReplay, Replay};

use super::super::chance::Chance;
use super::REQUESTS;

/// Of loads that keep connections, every fourth ends each after some requests.
pub(super) fn lives(chance: &mut Chance, plan: &mut Plan) {
    if plan.keepalive && chance.per_mille(250) {
        plan.requests_per_connection = Some(chance.between(2, 20) as u32);
    }
}

/// A third of the loads at an even rate replay a log of as many requests a second: in bursts and gaps, once or looped.
pub(super) fn replay(chance: &mut Chance, plan: &mut Plan) {
    let Arrivals::Constant(rate) = plan.arrivals else { return };
    if chance.per_mille(667) || plan.origins().len() > 1 {
        return;
    }
    let (entries, looped) = (chance.between(1, REQUESTS), chance.per_mille(500));
    let bursts = chance.between(1, entries);
    let mut due: Vec<u64> =
        (1..entries).map(|_| rate.due_ns(entries * chance.between(0, bursts) / bursts)).chain([0]).collect();
    due.sort_unstable();
    plan.work = Work::List(list_of(plan, entries));
    plan.arrivals = Arrivals::Replay(Replay::new(
        due,
        looped,
        RecordedReplay { speed: 1.0, ..RecordedReplay::default() },
    ));
    if !looped {
        plan.stop.requests = Some(plan.stop.requests.unwrap_or(entries).min(entries));
    }
}

/// A list of so many lines, in turn: the plan's requests over and over.
fn list_of(plan: &Plan, entries: u64) -> TargetList {
    let own = plan.work.list().cloned();
    let mut list = own.unwrap_or_else(|| {
        let parsed = TargetList::parse(b"/\n", Some(&plan.target), plan.work.method(), Order::InTurn);
        parsed.unwrap().1
    });
    list.order = Order::InTurn;
    list.lines = list.lines.iter().copied().cycle().take(entries as usize).collect();
    list
}
