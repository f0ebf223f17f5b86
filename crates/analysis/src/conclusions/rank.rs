//! Claims on a rank. A source ranks the servers that it printed: another that runs here beside them is no rival of
//! its conclusion, and one of its own that did not run here may be better than all that did.

use std::collections::BTreeSet;

use prony_model::run_log::NamedPlan;
use prony_stats::interval::geometric_mean;

use super::evidence::Finding;
use super::{Evidence, Judgement, rows_under};
use crate::cell::ByBlock;
use crate::numbers::count;
use crate::ranking::ranks;
use crate::row::Row;

impl Evidence<'_> {
    /// `rank(candidate) <= at_most` under a plan.
    pub(super) fn ranked(&self, candidate: &str, at_most: u32, plan: &NamedPlan) -> Finding {
        let source = self.log.header.published.as_ref();
        let rivals: BTreeSet<&str> = source
            .into_iter()
            .flat_map(|source| rows_under(source, plan))
            .map(|row| row.candidate.as_str())
            .filter(|rival| *rival != candidate)
            .collect();
        if rivals.is_empty() {
            return self.ranked_among_all(candidate, at_most, plan);
        }
        let Some(own) = self.throughputs(candidate, plan) else { return self.too_few(candidate, plan, 0) };
        let measured: Vec<ByBlock> =
            rivals.iter().filter_map(|rival| self.throughputs(rival, plan)).collect();
        let ranked: Vec<&ByBlock> = std::iter::once(&own).chain(&measured).collect();
        let (best, worst) = ranks(&ranked).first().copied().unwrap_or((1, 1));
        let missing = count(rivals.len() - measured.len());
        let rest = match missing {
            0 => String::new(),
            1 => "; 1 of the source's servers was not measured".to_owned(),
            n => format!("; {n} of the source's servers were not measured"),
        };
        Finding {
            judgement: Judgement::of(worst.saturating_add(missing) <= at_most, best > at_most),
            here: None,
            why: Some(format!(
                "its rank is {} of the {} measured that the source has{rest}",
                place(best, worst),
                ranked.len()
            )),
        }
    }

    /// Where the source printed nobody beside it under the plan: among all that ran.
    fn ranked_among_all(&self, candidate: &str, at_most: u32, plan: &NamedPlan) -> Finding {
        let rows = self.plans.iter().find(|p| p.name == plan.name).map_or(&[][..], |p| &p.rows);
        match rows.iter().find(|row| row.candidate == candidate).and_then(Row::rank) {
            None => self.too_few(candidate, plan, 0),
            Some((best, worst)) => Finding {
                judgement: Judgement::of(worst <= at_most, best > at_most),
                here: None,
                why: Some(format!("its rank is {}", place(best, worst))),
            },
        }
    }

    fn throughputs(&self, candidate: &str, plan: &NamedPlan) -> Option<ByBlock> {
        let cells = self.cells(candidate, plan);
        ByBlock::new(cells.iter().map(|cell| (cell.planned.block, cell.throughput())), geometric_mean)
    }
}

fn place(best: u32, worst: u32) -> String {
    if best == worst { best.to_string() } else { format!("{best} to {worst}") }
}
