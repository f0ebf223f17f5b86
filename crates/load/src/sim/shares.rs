//! Shares of a window: whoever cuts them, and in whatever order they are put together, they are the same.

use crate::recorder::Gathered;
use crate::recorder::audit;
use crate::recorder::merge::{self, Merge};
use crate::recorder::share::Share;
use prony_model::measurement::Measurement;

use super::chance::Chance;
use super::world::World;
use super::{Case, Played, check};

/// Tries of each case.
const TRIES: u64 = 3;

/// What of a worker's parts, one after the other, differs from what its network saw up to each of their ends.
pub(super) fn differences(parts: &[Share], world: &World) -> Vec<String> {
    let mut so_far = None;
    let mut found = Vec::new();
    for (i, part) in (1..).zip(parts) {
        merge::join(&mut so_far, part.clone(), Share::then);
        let Some(so_far) = &so_far else { continue };
        let is_whole = i == parts.len();
        let mut differences = match is_whole {
            true => check::differences(so_far, world),
            false => check::differences_so_far(so_far, world),
        };
        // The figures of each request of a list are of the whole window, and withheld of a part.
        if so_far.by_request.is_some() != (is_whole && world.list.is_some()) {
            differences.push(format!("figures of the list's requests: {:?}", so_far.by_request));
        }
        found.extend(differences.into_iter().map(|what| format!("part {i} of {}: {what}", parts.len())));
    }
    found
}

/// Where shares of any workers, in any order, cut after any second, are not the workers' own one beside the other.
pub(super) fn faults(case: &Case, played: &Played) -> Vec<String> {
    let most = played.parts.iter().map(Vec::len).max().unwrap_or(0);
    let chance = &mut Chance::new(case.nature.seed);
    let mut faults = fleet_faults(chance, case, played);
    for _ in 0..TRIES {
        let seconds = chance.size(1, most.max(1));
        let all: Vec<usize> = (0..played.parts.len()).collect();
        let one = each_then_beside(played, &all, seconds);
        faults.extend(
            audit::of_share(&one, &case.plan).into_iter().map(|what| format!("after {seconds} s: {what}")),
        );
        let mut joined = None;
        for group in partition(chance, all) {
            let share = match chance.per_mille(500) {
                true => beside_then_next(played, &group, seconds),
                false => each_then_beside(played, &group, seconds),
            };
            merge::join(&mut joined, share, Share::beside);
        }
        if joined.as_ref() != Some(&one) {
            faults.push(format!("after {seconds} s: put together otherwise, {one:?} is {joined:?}"));
        }
    }
    faults
}

/// Where the shares of several machines, each of some of the workers and sent as text, do not come to the measurement of one
/// that has all of them.
fn fleet_faults(chance: &mut Chance, case: &Case, played: &Played) -> Vec<String> {
    let Some(measured) = played.measurement.as_ref().ok().filter(|_| case.in_parts) else {
        return Vec::new();
    };
    let agents = partition(chance, (0..played.parts.len()).collect());
    let mut gathered = Gathered::new(&case.plan, agents.len());
    let mut faults = Vec::new();
    for (place, workers) in agents.iter().enumerate() {
        let mut merge = merge_of(played, workers);
        while let Some(part) = merge.next_part() {
            let text = serde_json::to_string(&part).unwrap();
            let read: Share = serde_json::from_str(&text).unwrap();
            faults.extend(read.check().err());
            if read != part {
                faults.push(format!("as text {part:?} is {read:?}"));
            }
            gathered.add(place, read, merge.is_over());
        }
        faults.extend(gathered.broken_identities_of(place));
    }
    let whole = gathered.is_whole();
    let known = Measurement {
        address: measured.address.clone(),
        schedule_start_ns: measured.schedule_start_ns,
        interrupted: measured.interrupted,
        ..Measurement::default()
    };
    let mut merged = gathered.finish(known);
    // Connections of workers that are done: their last share has them, and no later second of their own.
    let ends = |parts: &Vec<Share>| parts.last().map(|part| (part.start_ns == part.end_ns, part.end_ns));
    if played
        .parts
        .iter()
        .any(|parts| ends(parts) != ends(&played.parts[0]) || parts[0].end_ns == parts[0].start_ns)
        && let Some(merged) = &mut merged
    {
        for (second, same) in merged.series.iter_mut().zip(&measured.series) {
            second.connections = same.connections;
        }
    }
    if !whole || merged.as_ref() != Some(measured) {
        faults.push(format!("{} machines measure {merged:?}, and one {measured:?}", agents.len()));
    }
    faults
}

/// Some workers' parts, to be put together.
fn merge_of(played: &Played, workers: &[usize]) -> Merge {
    let mut merge = Merge::new(workers.len());
    for (place, worker) in workers.iter().enumerate() {
        let own = &played.parts[*worker];
        for (i, part) in (1..).zip(own) {
            merge.add(place, part.clone(), i == own.len());
        }
    }
    merge
}

/// Workers by chance in groups, and those in any order.
fn partition(chance: &mut Chance, mut workers: Vec<usize>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    while !workers.is_empty() {
        let worker = workers.swap_remove(chance.size(0, workers.len() - 1));
        let group = chance.size(0, groups.len());
        match groups.get_mut(group) {
            Some(group) => group.push(worker),
            None => groups.push(vec![worker]),
        }
    }
    groups
}

/// Each worker's first parts one after the other, and then the workers'.
fn each_then_beside(played: &Played, workers: &[usize], parts: usize) -> Share {
    let mut whole = None;
    for worker in workers {
        let mut own = None;
        for part in played.parts[*worker].iter().take(parts) {
            merge::join(&mut own, part.clone(), Share::then);
        }
        merge::join(&mut whole, own.unwrap(), Share::beside);
    }
    whole.unwrap()
}

/// All workers' first parts, then their second ones: as a load does it while it runs.
fn beside_then_next(played: &Played, workers: &[usize], parts: usize) -> Share {
    let mut merge = merge_of(played, workers);
    let mut whole = None;
    for _ in 0..parts {
        let Some(part) = merge.next_part() else { break };
        merge::join(&mut whole, part, Share::then);
    }
    whole.unwrap()
}
