//! One trial of a run as statistics take it: its place, its figures, and whether it counts.

use prony_model::capacity::CapacityRecord;
use prony_model::run_log::{PlannedTrial, TrialResult};
use prony_model::server::ServerSamples;
use prony_model::trial::{Bound, Trial};

use crate::figure::{Figure, Known};

/// A trial with its place in the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub(crate) planned: &'a PlannedTrial,
    pub(crate) trial: &'a Trial,
    pub(crate) server: Option<&'a ServerSamples>,
    /// What a search found; the trial is then its confirmation.
    capacity: Option<&'a CapacityRecord>,
}

impl<'a> Cell<'a> {
    /// The result's trial; `None` when nothing was measured.
    pub(crate) fn of(result: &'a TrialResult) -> Option<Cell<'a>> {
        let trial = result.trial.as_ref()?;
        // Of a search that found nothing there is no figure; of one that was given up there is the reason,
        // and its trial does not count.
        if result
            .capacity
            .as_ref()
            .is_some_and(|found| found.capacity_per_s.is_none() && found.void.is_none())
        {
            return None;
        }
        let capacity = result.capacity.as_ref();
        Some(Cell { planned: &result.planned, trial, server: result.server.as_ref(), capacity })
    }

    /// What candidates are ranked by: completed requests per second, of a search the rate it found.
    pub(crate) fn rate(&self) -> f64 {
        let found = self.capacity.and_then(|found| found.capacity_per_s.as_ref());
        found.map_or(self.trial.throughput.requests_per_s.point, |found| found.point)
    }

    /// Whether the server carries at least that.
    pub(crate) fn is_lower_bound(&self) -> bool {
        self.capacity.map_or(self.trial.throughput.bound, |found| found.bound) == Bound::Lower
    }

    /// A figure; of a search, throughput is the rate that it found.
    pub(crate) fn figure(&self, figure: Figure) -> Option<Known> {
        if figure == Figure::THROUGHPUT {
            return Some(Known { value: self.rate(), at_least: self.is_lower_bound() });
        }
        figure.of(self.trial, self.server)
    }

    /// Whether it counts: it ran to its end and is not invalid.
    pub(crate) fn counts(&self) -> bool {
        self.trial.counts()
    }
}
