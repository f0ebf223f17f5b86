//! How large a run log may be, to be shown in seconds and a machine's memory. An experiment stays within these bounds.

use std::collections::{BTreeMap, BTreeSet};

use super::{Header, PlannedTrial, RunLog};
use crate::limits::few;

/// Trials of the order: as many as an experiment may have.
const ORDER_MAX: usize = 100_000;
/// Results: those of the order twice, since a resumed run makes some again.
const RESULTS_MAX: usize = 200_000;
/// Profiles: a run makes two.
pub(super) const PROFILES_MAX: usize = 100;
/// Rows of a source, and its conclusions: as many as its file may have.
const PUBLISHED_MAX: usize = 10_000;
const NAMED_MAX: usize = 10_000;
/// Bytes of a candidate's or a plan's name, which every view repeats: a single load's is its URL, and a command line has
/// room for so long a one.
const NAME_MAX_BYTES: usize = 128 << 10;
const NUMBER_MAX: u32 = 1_000_000_000;
/// Ratios of all plans, each of one candidate to another: each takes 80 bytes for each figure.
const RATIOS_MAX: usize = 2_000_000;
/// Pairs of a plan and a candidate, those among them that do not run: each may be a case of a report.
const CASES_MAX: usize = 2_000_000;
/// Trials that are looked at: all of them for each plan, and again for each conclusion of a source.
const LOOKS_MAX: usize = 1_000_000_000;

impl PlannedTrial {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.index.max(self.block) > NUMBER_MAX || self.duet.is_some_and(|place| place.half > 1) {
            return Err(format!("no run has a trial {} of block {}", self.index, self.block));
        }
        check_name(&self.candidate)?;
        check_name(&self.plan)
    }
}

impl Header {
    pub(super) fn check(&self) -> Result<(), String> {
        let source = self.published.as_ref();
        few("planned trials", self.order.len(), ORDER_MAX)?;
        few("candidates", self.candidates.len(), NAMED_MAX)?;
        few("plans", self.plans.len(), NAMED_MAX)?;
        few("services", self.services.len(), NAMED_MAX)?;
        few("rows of a source", source.map_or(0, |source| source.rows.len()), PUBLISHED_MAX)?;
        few("conclusions of a source", source.map_or(0, |source| source.conclusions.len()), PUBLISHED_MAX)?;
        self.order.iter().try_for_each(PlannedTrial::check)?;
        self.candidates.iter().try_for_each(|candidate| check_name(&candidate.label))?;
        self.plans.iter().try_for_each(|named| {
            check_name(&named.name)?;
            named.plan.check_numbers()
        })
    }
}

impl RunLog {
    pub(super) fn check_size(&self) -> Result<(), String> {
        let (order, results) = (&self.header.order, &self.results);
        few("results", results.len(), RESULTS_MAX)?;
        few("profiles", self.profiles.len(), PROFILES_MAX)?;
        let mut plans: BTreeMap<&str, BTreeSet<&str>> =
            self.header.plans.iter().map(|named| (named.name.as_str(), BTreeSet::new())).collect();
        for planned in order.iter().chain(results.iter().map(|result| &result.planned)) {
            plans.entry(&planned.plan).or_default().insert(&planned.candidate);
        }
        let candidates: BTreeSet<&str> = plans.values().flatten().copied().collect();
        few("candidates", candidates.len(), NAMED_MAX)?;
        let ratios: usize = plans.values().map(|own| own.len().pow(2)).sum();
        few("pairs of candidates", ratios, RATIOS_MAX)?;
        let named = candidates.len() + self.header.skipped.len();
        few("plans times candidates", plans.len() * named, CASES_MAX)?;
        let conclusions = self.header.published.as_ref().map_or(0, |source| source.conclusions.len());
        let looks = plans.len() * (order.len() + results.len()) * (conclusions + 1);
        few("trials times plans times conclusions", looks, LOOKS_MAX)
    }
}

fn check_name(name: &str) -> Result<(), String> {
    few("bytes in the name of a candidate or a plan", name.len(), NAME_MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::{CandidateRecord, TrialResult};

    fn planned(index: u32, candidate: &str, plan: &str) -> PlannedTrial {
        PlannedTrial::one_by_one(index, candidate, plan)
    }

    #[test]
    fn a_run_as_large_as_an_experiment_may_be_is_shown() {
        let order = (0..100_000).map(|i| planned(i, &format!("c{}", i % 100), &format!("p{}", i / 100 % 20)));
        let header = Header { order: order.collect(), ..Header::default() };
        assert_eq!(header.check(), Ok(()));
        assert_eq!(RunLog::new(header, Vec::new()).check_size(), Ok(()));
    }

    #[test]
    fn run_logs_too_large_to_be_analysed_are_refused() {
        let refused = |header: Header| header.check().unwrap_err();
        let of = |order: Vec<PlannedTrial>| Header { order, ..Header::default() };
        assert!(refused(of(vec![planned(u32::MAX, "a", "p")])).contains("no run has a trial"));
        assert!(refused(of(vec![planned(0, &"a".repeat(1 << 20), "p")])).contains("bytes"));
        assert!(refused(of(vec![planned(0, "a", "p"); ORDER_MAX + 1])).contains("planned trials"));
        let candidates = vec![CandidateRecord::named("a"); NAMED_MAX + 1];
        assert!(refused(Header { candidates, ..Header::default() }).contains("candidates"));
        // Two thousand candidates of one plan are four million ratios.
        let result = |i: u32| TrialResult {
            planned: planned(i, &format!("c{i}"), "p"),
            trial: None,
            server: None,
            failure: None,
            capacity: None,
        };
        let log = RunLog::new(Header::default(), (0..2_000).map(result).collect());
        assert!(log.check_size().unwrap_err().contains("pairs of candidates"));
        let every_plan = (0..50_000).map(|i| planned(i, "a", &format!("p{i}"))).collect();
        assert!(RunLog::new(of(every_plan), Vec::new()).check_size().unwrap_err().contains("times plans"));
    }
}
