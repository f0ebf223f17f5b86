//! What a source printed, beside what was measured here.

use prony_analysis::conclusions::{Judged, Judgement};
use prony_analysis::experiment::ExperimentAnalysis;
use prony_analysis::figure::COMPARED;
use prony_analysis::published::{self as theirs, PublishedAnalysis};
use prony_record::Estimate;

use super::assemble::Names;
use super::data::{Conclusion, ConclusionUnder, Published, Source};
use super::pack;
use crate::{format, words};

/// A figure of ours by its name: what sources call it, and how many of our units are one of theirs.
const THEIRS: [(&str, &str, f64); 3] =
    [("throughput", "requests_per_s", 1.0), ("p50", "p50_ms", 1e6), ("p99", "p99_ms", 1e6)];

/// The source's figures, its conclusions judged, and what is to be said of it as a whole.
pub(super) fn beside(
    analysis: &ExperimentAnalysis,
    names: &Names,
) -> (Vec<Published>, Vec<Conclusion>, Option<Source>) {
    let Some(published) = &analysis.published else { return (Vec::new(), Vec::new(), None) };
    let conclusions = published.conclusions.iter().map(|judged| conclusion(judged, &published.source));
    (figures(analysis, names, &published.source), conclusions.collect(), Some(source(published)))
}

fn figures(analysis: &ExperimentAnalysis, names: &Names, source: &str) -> Vec<Published> {
    let mut out = Vec::new();
    for (plan, rows) in analysis.plans.iter().map(|p| &p.rows).enumerate() {
        let baseline = rows.iter().find(|row| Some(&row.candidate) == analysis.baseline.as_ref());
        let baseline = baseline.and_then(|row| row.published.as_ref());
        for row in rows {
            let (Some(published), Some(candidate)) = (&row.published, names.candidate(&row.candidate)) else {
                continue;
            };
            for (name, their_name, factor) in THEIRS {
                let figure = COMPARED.iter().position(|f| f.name() == name);
                let (Some(figure), Some(value)) = (figure, published.figures.get(their_name)) else {
                    continue;
                };
                out.push(Published {
                    plan,
                    candidate,
                    figure,
                    value: pack::six_digits(value * factor),
                    ratio: baseline
                        .and_then(|base| theirs::ratio(published, base, their_name))
                        .map(pack::six_digits),
                    source: format::printable(source),
                    doubt: published.doubt.clone(),
                });
            }
        }
    }
    out
}

fn conclusion(judged: &Judged, source: &str) -> Conclusion {
    let there = words::judged_there(judged);
    let under = |plan: &prony_analysis::conclusions::JudgedPlan| ConclusionUnder {
        plan: plan.plan.clone(),
        verdict: verdict(plan.judgement),
        here: plan.here.as_ref().map_or_else(String::new, |e| words::judged_value(judged, e.point)),
        why: plan.why.clone(),
    };
    Conclusion {
        claim: judged.text.clone(),
        there: there.trim_matches(['(', ')']).to_owned(),
        here: words::judged_here(judged),
        verdict: verdict(judged.judgement),
        source: source.to_owned(),
        rule: judged.claim.clone(),
        interval: judged.here.as_ref().and_then(|e| interval(e, judged)),
        why: words::judged_why(judged),
        plans: if judged.plans.len() > 1 { judged.plans.iter().map(under).collect() } else { Vec::new() },
    }
}

fn verdict(judgement: Judgement) -> String {
    judgement.word().to_lowercase()
}

fn interval(estimate: &Estimate, judged: &Judged) -> Option<String> {
    let [low, high] = [estimate.ci_low?, estimate.ci_high?].map(|end| words::judged_value(judged, end));
    Some(format!("95 %: {low} to {high}"))
}

fn source(published: &PublishedAnalysis) -> Source {
    Source {
        name: published.source.clone(),
        method: published.method.clone(),
        agreement: published.agreement.iter().map(words::agreement).collect(),
        doubts: published.doubts.iter().map(|d| (d.candidate.clone(), d.reason.clone())).collect(),
        not_here: published.not_here.clone(),
    }
}
