//! Claims on a rank. A source ranks the servers that it printed: another that runs here beside them is no rival of
//! its conclusion, and one of its own that did not run here may be better than all that did.

use std::collections::BTreeSet;

use prony_model::run_log::NamedPlan;

use super::evidence::Finding;
use super::{Evidence, Judgement, rows_under};
use crate::cell::{ByBlock, CandidateTrials};
use crate::figure::Figure;
use crate::look::Level;
use crate::numbers::count;
use crate::ranking::Contest;

impl Evidence<'_> {
    pub(super) fn ranked(&self, candidate: &str, at_most: u32, plan: &NamedPlan) -> Finding {
        let source = self.log.header.published.as_ref();
        let not_it = |rival: &&str| *rival != candidate;
        let rows = source.into_iter().flat_map(|source| rows_under(source, plan));
        let mut rivals: BTreeSet<&str> = rows.map(|row| row.candidate.as_str()).filter(not_it).collect();
        let of_source = !rivals.is_empty();
        if !of_source {
            // It printed nobody beside it: among all that ran.
            let all = self.plans.iter().filter(|p| p.name == plan.name).flat_map(|p| &p.rows);
            let measured = all.filter(|row| row.rank().is_some() || row.died.is_some());
            rivals = measured.map(|row| row.candidate.as_str()).filter(not_it).collect();
        }
        let own = self.starts(candidate, plan);
        if let Some(deaths) = own.died {
            return Finding::undecided(format!("{candidate} is not ranked: {deaths} under {}", plan.name));
        }
        let throughputs = |starts: CandidateTrials<'_>| starts.ranked_by(Figure::THROUGHPUT);
        let Some(own) = throughputs(own) else { return self.too_few(candidate, plan, 0) };
        let measured: Vec<ByBlock> =
            rivals.iter().filter_map(|rival| throughputs(self.starts(rival, plan))).collect();
        let ranked: Vec<&ByBlock> = std::iter::once(&own).chain(&measured).collect();
        let (best, worst) =
            Contest::of(&ranked, Level::of(self.log)).places().first().copied().unwrap_or((1, 1));
        let missing = count(rivals.len() - measured.len());
        let rest = match missing {
            0 => String::new(),
            1 => "; 1 of the others has no rank here".to_owned(),
            n => format!("; {n} of the others have no rank here"),
        };
        Finding {
            judgement: Judgement::of(worst.saturating_add(missing) <= at_most, best > at_most),
            here: None,
            why: Some(format!(
                "its rank is {} of the {} measured{}{rest}",
                place(best, worst),
                ranked.len(),
                if of_source { " that the source has" } else { "" }
            )),
        }
    }
}

fn place(best: u32, worst: u32) -> String {
    if best == worst { best.to_string() } else { format!("{best} to {worst}") }
}
