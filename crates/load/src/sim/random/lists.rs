//! Lists of requests, some with parts of their own.

use prony_model::list::{Order, OwnParts, TargetList};
use prony_model::plan::{Arrivals, Expect, Plan};
use prony_model::target::Target;

use crate::sim::answer::BODY;
use crate::sim::chance::Chance;

/// A third of the loads have a list: a few requests, some of them on several lines, or too many for fine figures.
pub(super) fn list(chance: &mut Chance) -> Option<TargetList> {
    let requests = chance.pick(&[(0, 8), (1, 1), (4, 2), (50, 1)]);
    if requests == 0 {
        return None;
    }
    let path = |i: usize| "/".to_owned() + &"abc".repeat(i);
    let text: String = (0..2 * requests)
        .map(|_| ["", "DELETE "][chance.size(0, 1)].to_owned() + &path(chance.size(0, requests - 1)) + "\n")
        .collect();
    let order = if chance.per_mille(500) { Order::InTurn } else { Order::Shuffled };
    let server = Target::parse("http://simulated/").unwrap();
    Some(TargetList::parse(text.as_bytes(), Some(&server), "GET", order).unwrap().1)
}

/// In half of the lists, half of the requests have a body and an expectation of their own.
pub(super) fn own_parts(chance: &mut Chance, list: &mut TargetList) {
    if chance.per_mille(500) {
        return;
    }
    for request in &mut list.requests {
        let status = chance.per_mille(500).then_some(200);
        let body = chance.per_mille(500).then(|| BODY.to_vec());
        let expect = chance.per_mille(700).then_some(Expect { status, body, ..Expect::default() });
        let body = chance.per_mille(300).then(|| vec![b'o'; chance.size(0, 3_000)]);
        request.own =
            chance.per_mille(500).then(|| Box::new(OwnParts { body, expect, ..OwnParts::default() }));
    }
}

/// A third of the lists that can name two or three servers do, and then as many workers load each.
pub(super) fn origins(chance: &mut Chance, list: &mut TargetList, plan: &mut Plan) {
    let origins = chance.between(2, 3) as u32;
    let is_too_short = list.requests.len() < origins as usize;
    if is_too_short || matches!(plan.arrivals, Arrivals::ConnectionStages(_)) || chance.per_mille(667) {
        return;
    }
    let other = |i| Target::parse(&format!("http://simulated:{}/", 80 + i)).unwrap();
    list.origins = (0..origins).map(other).collect();
    for (request, origin) in list.requests.iter_mut().zip((0..origins).cycle()) {
        request.origin = origin;
    }
    plan.threads *= origins;
    plan.connections *= origins;
}
