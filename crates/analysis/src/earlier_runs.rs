//! Earlier runs of one candidate, each a point of each figure under each plan: how much a run differs from the next.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::figure::Figure;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct EarlierRuns(BTreeMap<(String, Figure), BTreeMap<Timestamp, f64>>);

impl EarlierRuns {
    pub(crate) fn add(&mut self, plan: &str, figure: Figure, made: Timestamp, value: f64) {
        self.0.entry((plan.to_owned(), figure)).or_default().insert(made, value);
    }

    pub(crate) fn of(&self, plan: &str, figure: Figure) -> Vec<f64> {
        let runs = self.0.get(&(plan.to_owned(), figure));
        runs.map_or_else(Vec::new, |runs| runs.values().copied().collect())
    }
}
