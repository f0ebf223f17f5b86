//! A wait for a second in which no other program uses a load's CPUs.

use std::thread;
use std::time::{Duration, Instant};

use prony_analysis::verdict::{OTHERS_MAX, STEAL_MAX};
use prony_host::{Beside, Taken};

use super::BenchSetup;
use super::repeats::SHARE_MAX;

const SECOND: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(super) struct Quiet {
    /// What may still be waited in all: a share of the time that the run's loads take.
    left: Duration,
    /// What was read when the last load had ended, and whether anything was since.
    since: Option<Beside>,
}

impl Quiet {
    pub(super) fn of(setup: &BenchSetup) -> Quiet {
        let block: Duration = setup.loads_of_a_block().iter().sum();
        let all = block.saturating_mul(setup.experiment.blocks.max);
        let left = if setup.repeats_disturbed { all.mul_f64(SHARE_MAX) } else { Duration::ZERO };
        Quiet { left, since: None }
    }

    /// From here on it is watched: a load has ended.
    pub(super) fn begin(&mut self, now: Beside) {
        self.since = Some(now);
    }

    /// Waits until these CPUs were quiet for a second, the time in which a server was started included.
    pub(super) fn wait(&mut self, cpus: &[u32], asked: &dyn Fn() -> bool) {
        if self.left.is_zero() {
            return;
        }
        let begun = Instant::now();
        let mut from = self.since.take().unwrap_or_else(Beside::read);
        loop {
            let now = Beside::read();
            let span = Duration::from_nanos(now.at_ns().saturating_sub(from.at_ns()));
            let is_quiet = is_quiet(from.until(&now, &from, cpus));
            let may_wait = self.left.min(WAIT_MAX).saturating_sub(begun.elapsed());
            if (is_quiet && span >= SECOND) || may_wait.is_zero() || asked() {
                break;
            }
            if !is_quiet && span >= LOOK {
                from = now;
            }
            thread::sleep(LOOK.min(may_wait));
        }
        self.left = self.left.saturating_sub(begun.elapsed());
    }
}

fn is_quiet(taken: Taken) -> bool {
    taken.others <= OTHERS_MAX && taken.steal <= STEAL_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::{SERVE, setup};

    #[test]
    fn waits_take_at_most_a_share_of_the_time_under_load() {
        let root = tempfile::tempdir().unwrap();
        let mut setup = setup(root.path(), &[("a", SERVE), ("b", SERVE)], 5);
        assert_eq!(Quiet::of(&setup).left, Duration::ZERO);
        setup.repeats_disturbed = true;
        let load: Duration = setup.loads_of_a_block().iter().sum();
        assert_eq!(Quiet::of(&setup).left, (load * 5).mul_f64(0.15));
        // Once that is used up, nothing is read nor waited for.
        let mut quiet = Quiet { left: Duration::from_nanos(1), since: None };
        quiet.wait(&[0], &|| false);
        assert_eq!(quiet.left, Duration::ZERO);
        assert!(
            is_quiet(Taken { others: 0.05, steal: 0.0 }) && !is_quiet(Taken { others: 0.0, steal: 0.02 })
        );
    }
}
