//! Shares of a window: whoever cuts them, and in whatever order they are put together, they are the same.

use crate::recorder::Gathered;
use crate::recorder::audit;
use crate::recorder::merge;
use crate::recorder::window_delta::WindowDelta;
use prony_model::measurement::Measurement;

use super::chance::Chance;
use super::world::World;
use super::{Case, Played, check};

const TRIES: u64 = 3;

/// What of a worker's parts differs from what its network saw up to each end; without waits at each, up to the last.
pub(super) fn differences(parts: &[WindowDelta], counts_waits: bool, world: &World) -> Vec<String> {
    let mut so_far = None;
    let mut found = Vec::new();
    for (i, part) in (1..).zip(parts) {
        merge::join(&mut so_far, part.clone(), WindowDelta::append_window);
        let Some(so_far) = &so_far else { continue };
        let is_whole = i == parts.len();
        let mut differences = match is_whole {
            true => check::differences(so_far, world),
            false if counts_waits => check::differences_so_far(so_far, world),
            false => Vec::new(),
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
        let seconds = if case.in_parts { chance.size(1, most.max(1)) } else { most.max(1) };
        let all: Vec<usize> = (0..played.parts.len()).collect();
        let one = appended_then_merged(played, &all, seconds);
        faults.extend(
            audit::of_share(&one, &case.plan).into_iter().map(|what| format!("after {seconds} s: {what}")),
        );
        let mut joined = None;
        for group in partition(chance, all) {
            let share = match chance.per_mille(500) {
                true => merged_then_appended(case, played, &group, seconds),
                false => appended_then_merged(played, &group, seconds),
            };
            merge::join(&mut joined, share, WindowDelta::merge_workers);
        }
        // Connections of a worker that is done are closed: no later part has them.
        if let Some(joined) = joined.as_mut().filter(|_| played.parts.iter().any(|own| own.len() < most)) {
            joined.connections = one.connections;
        }
        if joined.as_ref() != Some(&one) {
            faults.push(format!("after {seconds} s: put together otherwise, {one:?} is {joined:?}"));
        }
    }
    faults
}

/// Where shares of several machines, sent as text, do not come to the measurement of one that has all the workers.
fn fleet_faults(chance: &mut Chance, case: &Case, played: &Played) -> Vec<String> {
    let Some(measured) = played.measurement.as_ref().ok().filter(|_| case.in_parts) else {
        return Vec::new();
    };
    let agents = partition(chance, (0..played.parts.len()).collect());
    let mut gathered = Gathered::new(&case.plan, agents.len());
    let mut faults = Vec::new();
    for (place, workers) in agents.iter().enumerate() {
        for (part, is_last) in parts_of(case, played, workers) {
            let text = serde_json::to_string(&part).unwrap();
            let read: WindowDelta = serde_json::from_str(&text).unwrap();
            faults.extend(read.check().err());
            if read != part {
                faults.push(format!("as text {part:?} is {read:?}"));
            }
            gathered.add(place, read, is_last);
        }
        faults.extend(gathered.broken_identities_of(place));
    }
    let whole = gathered.is_over();
    let known = Measurement {
        address: measured.address.clone(),
        schedule_start_ns: measured.schedule_start_ns,
        interrupted: measured.interrupted,
        ..Measurement::default()
    };
    let merged = gathered.finish(known);
    if !whole || merged.as_ref() != Some(measured) {
        faults.push(format!("{} machines measure {merged:?}, and one {measured:?}", agents.len()));
    }
    faults
}

/// What some workers measured together, part by part, and whether each is the last.
fn parts_of(case: &Case, played: &Played, workers: &[usize]) -> Vec<(WindowDelta, bool)> {
    let mut gathered = Gathered::of_workers(&case.plan, workers.len());
    let mut parts = Vec::new();
    for (place, worker) in workers.iter().enumerate() {
        let own = &played.parts[*worker];
        for (i, part) in (1..).zip(own) {
            gathered.push(place, part.clone(), i == own.len());
        }
    }
    while let Some(part) = gathered.next_part() {
        parts.push((part, gathered.is_over()));
    }
    parts
}

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
fn appended_then_merged(played: &Played, workers: &[usize], parts: usize) -> WindowDelta {
    let mut whole = None;
    for worker in workers {
        let mut own = None;
        for part in played.parts[*worker].iter().take(parts) {
            merge::join(&mut own, part.clone(), WindowDelta::append_window);
        }
        merge::join(&mut whole, own.unwrap(), WindowDelta::merge_workers);
    }
    whole.unwrap()
}

/// All workers' first parts, then their second ones: as a load does it while it runs.
fn merged_then_appended(case: &Case, played: &Played, workers: &[usize], parts: usize) -> WindowDelta {
    let mut whole = None;
    for (part, _) in parts_of(case, played, workers).into_iter().take(parts) {
        merge::join(&mut whole, part, WindowDelta::append_window);
    }
    whole.unwrap()
}
