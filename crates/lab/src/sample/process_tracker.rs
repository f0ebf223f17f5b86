//! The processes of a tree over a trial, and which took another's place.
//!
//! A server whose worker was started again is another one: its caches are cold and its connections were cut. A process
//! that executes another program keeps its number and is another one, too. Not seen: a process that lives for less than
//! two samples (a child for each request, as CGI has it, is no worker; one that was there before the load is).

use std::collections::BTreeMap;

use prony_host::process::{Identity, ProcessStat};
use prony_model::observed::{Process, ServerLife};

/// More processes than this at once are not followed: no server has them.
const FOLLOWED_MAX: usize = 4_096;
/// Ended processes that are remembered: enough to say that a server recycles all the time.
const REMEMBERED_MAX: usize = 4_096;
/// Seen fewer times than this, a process was no worker.
const SEEN_MIN: u32 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) pid: u32,
    pub(crate) name: String,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    seen: u32,
    stack: u64,
}

impl Life {
    fn begin(process: &ProcessStat, at_ns: u64) -> Life {
        Life {
            pid: process.pid,
            name: process.name.clone(),
            first_ns: at_ns,
            last_ns: at_ns,
            seen: 1,
            stack: process.stack,
        }
    }

    /// Whether the process is this one still, and has not executed another program.
    fn goes_on(&self, process: &ProcessStat) -> bool {
        self.stack == process.stack || self.stack == 0 || process.stack == 0
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Processes that ended and whose place a later one took: `(old, new)`, in the order of the ends.
    pub(crate) replaced: Vec<(Life, Life)>,
    /// Processes that ended and whose place nobody took.
    pub(crate) lost: Vec<Life>,
}

impl From<Changes> for ServerLife {
    fn from(changes: Changes) -> ServerLife {
        let process = |life: Life| Process { pid: life.pid, name: life.name };
        ServerLife {
            replaced: changes.replaced.into_iter().map(|(old, new)| (process(old), process(new))).collect(),
            lost: changes.lost.into_iter().map(process).collect(),
            ..ServerLife::default()
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct ProcessTracker {
    living: BTreeMap<Identity, Life>,
    ended: Vec<Life>,
    begun: bool,
}

impl ProcessTracker {
    /// Takes in a sample. Who is in the first one was there before the load: that is often enough.
    pub(super) fn see(&mut self, at_ns: u64, processes: &[ProcessStat]) {
        let seen_at_once = if self.begun { 1 } else { SEEN_MIN };
        self.begun = true;
        let mut ended = Vec::new();
        for process in processes.iter().filter(|p| !p.is_zombie) {
            let key = process.identity();
            let room = self.living.len() < FOLLOWED_MAX;
            match self.living.get_mut(&key) {
                Some(life) if life.goes_on(process) => {
                    life.last_ns = at_ns;
                    life.seen = life.seen.saturating_add(1);
                    if life.stack == 0 {
                        life.stack = process.stack;
                    }
                }
                Some(life) => ended.push(std::mem::replace(life, Life::begin(process, at_ns))),
                None if room => {
                    let life = Life { seen: seen_at_once, ..Life::begin(process, at_ns) };
                    self.living.insert(key, life);
                }
                None => {}
            }
        }
        self.living.retain(|_, life| {
            let lives = life.last_ns == at_ns;
            if !lives {
                ended.push(life.clone());
            }
            lives
        });
        ended.retain(|life| life.seen >= SEEN_MIN);
        ended.truncate(REMEMBERED_MAX.saturating_sub(self.ended.len()));
        self.ended.append(&mut ended);
    }

    pub(super) fn lives(&self) -> impl Iterator<Item = &Life> {
        self.ended.iter().chain(self.living.values().filter(|life| life.seen >= SEEN_MIN))
    }

    /// What changed from the first sample to `until_ns`, by samples at these instants.
    ///
    /// A process took another's place if it was first seen after the other was last seen; each takes at most one, the
    /// earliest open one. A pool that grows and then shrinks has therefore replaced nothing.
    pub(super) fn changes(&self, samples_at_ns: &[u64], until_ns: u64) -> Changes {
        let Some(last_sample) = samples_at_ns.iter().copied().filter(|at| *at <= until_ns).max() else {
            return Changes::default();
        };
        let first_sample = samples_at_ns.iter().copied().min().unwrap_or(0);
        let mut ended: Vec<&Life> = self.lives().filter(|life| life.last_ns < last_sample).collect();
        ended.sort_by_key(|life| (life.last_ns, life.pid));
        let began_within = |life: &&Life| life.first_ns > first_sample && life.first_ns <= last_sample;
        let mut began: Vec<&Life> = self.lives().filter(began_within).collect();
        began.sort_by_key(|life| (life.first_ns, life.pid));
        let mut changes = Changes::default();
        for old in ended {
            match began.iter().position(|new| new.first_ns > old.last_ns) {
                Some(at) => changes.replaced.push((old.clone(), began.remove(at).clone())),
                None => changes.lost.push(old.clone()),
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, start_ticks: u64) -> ProcessStat {
        let text = format!("{pid} (w) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 {start_ticks} 0 1 0 0 0 0");
        ProcessStat::parse(&text).unwrap()
    }

    /// A process that has this stack in each sample, and a master beside it.
    fn with_stacks(stacks: &[u64]) -> Changes {
        let mut tracker = ProcessTracker::default();
        let instants: Vec<u64> = (1..=stacks.len() as u64).map(|i| i * 100).collect();
        for (at, stack) in instants.iter().zip(stacks) {
            tracker.see(
                *at,
                &[process(MASTER.0, MASTER.1), ProcessStat { stack: *stack, ..process(ONE.0, ONE.1) }],
            );
        }
        tracker.changes(&instants, u64::MAX)
    }

    /// A trial of samples at 100, 200, …, each with these `(pid, start)`.
    fn over(samples: &[&[(u32, u64)]], until_ns: u64) -> Changes {
        let mut tracker = ProcessTracker::default();
        let at = |i: usize| (i as u64 + 1) * 100;
        for (i, sample) in samples.iter().enumerate() {
            let processes: Vec<ProcessStat> = sample.iter().map(|(p, s)| process(*p, *s)).collect();
            tracker.see(at(i), &processes);
        }
        let instants: Vec<u64> = (0..samples.len()).map(at).collect();
        tracker.changes(&instants, until_ns)
    }

    fn pids(changes: &Changes) -> (Vec<(u32, u32)>, Vec<u32>) {
        let replaced = changes.replaced.iter().map(|(old, new)| (old.pid, new.pid)).collect();
        (replaced, changes.lost.iter().map(|life| life.pid).collect())
    }

    const MASTER: (u32, u64) = (1_000_001, 1);
    const ONE: (u32, u64) = (1_000_002, 2);
    const TWO: (u32, u64) = (1_000_003, 9);

    #[test]
    fn an_unchanged_process_tree_has_no_changes() {
        let steady: [&[(u32, u64)]; 5] = [&[MASTER, ONE]; 5];
        assert_eq!(over(&steady, 500), Changes::default());
        assert_eq!(over(&[], 500), Changes::default());
    }

    #[test]
    fn a_replaced_worker_is_seen_even_with_the_same_process_id() {
        let changed = over(&[&[MASTER, ONE], &[MASTER, ONE], &[MASTER, TWO], &[MASTER, TWO]], 400);
        assert_eq!(pids(&changed), (vec![(ONE.0, TWO.0)], vec![]));
        let reused = (ONE.0, 77);
        let changed = over(&[&[ONE], &[ONE], &[reused], &[reused]], 400);
        assert_eq!(pids(&changed), (vec![(ONE.0, ONE.0)], vec![]));
    }

    #[test]
    fn a_process_that_executes_another_program_counts_as_replaced() {
        assert_eq!(pids(&with_stacks(&[7, 7, 8, 8])), (vec![(ONE.0, ONE.0)], vec![]));
        // A child that has just been forked executes its program: nothing that served has gone.
        let mut tracker = ProcessTracker::default();
        for (at, stack) in [(100, None), (200, Some(7)), (300, Some(8)), (400, Some(8))] {
            let child = stack.map(|stack| ProcessStat { stack, ..process(ONE.0, ONE.1) });
            let all: Vec<ProcessStat> = std::iter::once(process(MASTER.0, MASTER.1)).chain(child).collect();
            tracker.see(at, &all);
        }
        assert_eq!(tracker.changes(&[100, 200, 300, 400], 400), Changes::default());
        // One that may not be read is taken for who it was: a process that ends has no stack either.
        assert_eq!(with_stacks(&[7, 7, 0, 7]), Changes::default());
        assert_eq!(with_stacks(&[0, 0, 7, 7]), Changes::default());
    }

    #[test]
    fn a_worker_replaced_after_the_window_is_not_counted() {
        let samples: &[&[(u32, u64)]] = &[&[ONE], &[ONE], &[ONE], &[TWO], &[TWO]];
        assert_eq!(over(samples, 300), Changes::default());
        assert_eq!(over(samples, 399), Changes::default());
        assert_eq!(over(samples, 400).replaced.len(), 1);
    }

    #[test]
    fn a_pool_that_grows_and_shrinks_has_replaced_nothing() {
        let grown: &[&[(u32, u64)]] = &[&[ONE], &[ONE, TWO], &[ONE, TWO], &[TWO], &[TWO]];
        assert_eq!(pids(&over(grown, 500)), (vec![], vec![ONE.0]));
        let grown: &[&[(u32, u64)]] = &[&[MASTER, ONE], &[MASTER, ONE], &[MASTER]];
        assert_eq!(pids(&over(grown, 500)), (vec![], vec![ONE.0]));
    }

    #[test]
    fn a_child_process_per_request_is_not_taken_for_a_worker() {
        let samples: Vec<Vec<(u32, u64)>> = (0..50).map(|i| vec![MASTER, (2_000_000 + i, 5)]).collect();
        let at_rest: &[(u32, u64)] = &[MASTER];
        let loaded = samples.iter().map(Vec::as_slice);
        let samples: Vec<&[(u32, u64)]> = std::iter::once(at_rest).chain(loaded).collect();
        assert_eq!(over(&samples, 5_100), Changes::default());
    }

    #[test]
    fn a_worker_seen_in_the_first_sample_alone_counts_as_replaced() {
        let samples: &[&[(u32, u64)]] = &[&[MASTER, ONE], &[MASTER, TWO], &[MASTER, TWO]];
        assert_eq!(pids(&over(samples, 300)), (vec![(ONE.0, TWO.0)], vec![]));
    }
}
