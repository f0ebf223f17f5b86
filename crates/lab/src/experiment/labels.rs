//! Labels as the catalogue writes them. A file may write what is a default (`cowboy-plug:v2`) or another order of
//! its axes; trials bear one label a candidate, and what speaks of them must use that.

use prony_analysis::claim::relabelled;
use prony_model::published::{AtRate, Published};

use super::Experiment;
use crate::candidate::Candidate;
use crate::catalogue::Catalogue;

impl Experiment {
    /// The same, with the labels of its source's rows and claims and of its knees as the catalogue writes them.
    /// What the catalogue does not know stays as it is, and so do the candidates, which options name as the file
    /// does, and what the source says in words.
    pub(crate) fn with_canonical_labels(&self, catalogue: &Catalogue) -> Experiment {
        let canonical = |written: &str| match Candidate::parse(written, catalogue) {
            Ok(candidate) => candidate.label().to_owned(),
            Err(_) => written.to_owned(),
        };
        let mut experiment = self.clone();
        for share in experiment.plans.iter_mut().filter_map(|plan| plan.share.as_mut()) {
            share.of.candidate = canonical(&share.of.candidate);
        }
        for label in experiment.plans.iter_mut().flat_map(|plan| plan.candidates.iter_mut().flatten()) {
            *label = canonical(label);
        }
        if let Some(published) = &mut experiment.published {
            relabel(published, canonical);
        }
        experiment
    }
}

fn relabel(published: &mut Published, canonical: impl Fn(&str) -> String) {
    for row in &mut published.rows {
        row.candidate = canonical(&row.candidate);
    }
    for conclusion in &mut published.conclusions {
        conclusion.claim = relabelled(&conclusion.claim, &canonical);
        for rate in &mut conclusion.at.rates {
            if let AtRate::Share { of, .. } = rate {
                of.candidate = canonical(&of.candidate);
            }
        }
    }
}
