//! Conclusions judged: a claim holds or fails where [`crate::compare`]'s tests over blocks say so or the opposite, on
//! log ratios where both sides are figures above 0, on differences else.

use prony_model::Estimate;
use prony_model::published::{By, Conclusion, Published};
use prony_model::run_log::RunLog;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::Results;
use crate::claim::{Claim, Quantity, Side, Term};
use crate::figure::Figure;
use crate::row::PlanAnalysis;
use crate::text::list;
pub(crate) use printed::rows_under;
use printed::{Printed, printed};

mod evidence;
mod interval;
mod printed;
mod rank;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum Judgement {
    /// The test says what the claim says.
    Holds,
    /// It says the opposite.
    Fails,
    /// It says neither, or there is none.
    #[default]
    Undecided,
    /// No figure says what it concludes: there is no claim to judge.
    Unjudged,
}

impl Judgement {
    fn of(holds: bool, fails: bool) -> Judgement {
        match (holds, fails) {
            (true, _) => Judgement::Holds,
            (_, true) => Judgement::Fails,
            _ => Judgement::Undecided,
        }
    }

    /// What holds only where all hold, and fails where any fails.
    fn all(each: impl Iterator<Item = Judgement>) -> Judgement {
        let each: Vec<Judgement> = each.collect();
        let all_hold = !each.is_empty() && each.iter().all(|one| *one == Judgement::Holds);
        Judgement::of(all_hold, each.contains(&Judgement::Fails))
    }

    /// What holds where any holds, and fails only where all fail.
    fn any(each: impl Iterator<Item = Judgement>) -> Judgement {
        let each: Vec<Judgement> = each.collect();
        let all_fail = !each.is_empty() && each.iter().all(|one| *one == Judgement::Fails);
        Judgement::of(each.contains(&Judgement::Holds), all_fail)
    }
}

/// A conclusion about the source's subject, judged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct JudgedConclusion {
    /// In words.
    pub text: String,
    /// Whose: the source's own, our reading of its table, or our question.
    pub by: By,
    /// The claim; empty where it is not judged.
    pub claim: String,
    /// Over all plans that it is about.
    pub judgement: Judgement,
    /// The left side's figure over the right's in the source, where it printed both; its one figure where
    /// the claim has one; of a rank, its place among the rows that the source printed. Over several, it is over
    /// the largest or the smallest of them.
    pub published: Option<f64>,
    /// Whether the source says that `published` is at least so much.
    pub published_at_least: bool,
    /// Whether a row that `published` is from is in doubt.
    pub published_doubted: bool,
    /// The same here, under the plan that decides (see `plans`).
    pub here: Option<Estimate>,
    /// Whether `published` and `here` are ratios.
    pub is_ratio: bool,
    /// Where they are none: which figure they are, in its unit (`startup`, nanoseconds), or `rank`.
    pub figure: Option<String>,
    /// Plan by plan.
    pub plans: Vec<JudgedPlan>,
    /// Why it is undecided or not judged, where a reason is known; of an outcome, what the trials' were.
    pub why: Option<String>,
}

/// A conclusion under one plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedPlan {
    /// The plan's name.
    pub plan: String,
    /// What became of the claim there.
    pub judgement: Judgement,
    /// Left over right, or the left's figure.
    pub here: Option<Estimate>,
    /// Why it is undecided.
    pub why: Option<String>,
}

pub(crate) struct Evidence<'a> {
    pub(crate) log: &'a RunLog,
    pub(crate) results: &'a Results<'a>,
    pub(crate) plans: &'a [PlanAnalysis],
}

/// All of a source's conclusions: its own, then readings, then questions, each in the file's order.
pub(crate) fn judge(published: &Published, evidence: &Evidence<'_>) -> Vec<JudgedConclusion> {
    let mut all: Vec<&Conclusion> = published.conclusions.iter().collect();
    all.sort_by_key(|conclusion| conclusion.by);
    all.into_iter().map(|conclusion| judged(conclusion, published, evidence)).collect()
}

fn judged(conclusion: &Conclusion, published: &Published, evidence: &Evidence<'_>) -> JudgedConclusion {
    let mut judged = JudgedConclusion {
        text: conclusion.text.clone(),
        by: conclusion.by,
        claim: conclusion.claim.clone(),
        ..JudgedConclusion::default()
    };
    if conclusion.unjudged.is_some() {
        let why = conclusion.unjudged.clone();
        return JudgedConclusion { judgement: Judgement::Unjudged, why, ..judged };
    }
    // Claims were read when the experiment was; a log may have been written by hand.
    let claim = match Claim::parse(&conclusion.claim) {
        Ok(claim) => claim,
        Err(why) => return JudgedConclusion { why: Some(why.to_string()), ..judged },
    };
    let plans = evidence.plans_of(conclusion, &claim);
    judged.is_ratio = is_ratio(&claim);
    judged.figure = match &claim {
        Claim::Compared { .. } if !judged.is_ratio => Some(claim.quantity().name().to_owned()),
        Claim::Rank { .. } => Some("rank".to_owned()),
        _ => None,
    };
    for plan in &plans {
        let found = evidence.finding(&claim, plan);
        judged.plans.push(JudgedPlan {
            plan: plan.name.clone(),
            judgement: found.judgement,
            here: found.here,
            why: found.why,
        });
    }
    judged.judgement = Judgement::all(judged.plans.iter().map(|plan| plan.judgement));
    // The plan that decides: the first that is as the whole is.
    let at = judged.plans.iter().position(|plan| plan.judgement == judged.judgement);
    // What the source printed under that plan. Where nothing was measured, what it printed at all.
    let measured = |at: &usize| judged.plans[*at].here.is_some() || matches!(claim, Claim::Rank { .. });
    let theirs = match at.filter(measured) {
        Some(at) => printed(&claim, plans[at], published),
        None => plans.iter().find_map(|plan| printed(&claim, plan, published)),
    };
    if let Some(Printed { value, at_least, doubted }) = theirs {
        (judged.published, judged.published_at_least, judged.published_doubted) =
            (Some(value), at_least, doubted);
    }
    let decides = at.map(|at| &judged.plans[at]);
    judged.here = decides.and_then(|plan| plan.here.clone());
    judged.why = match decides {
        Some(plan) => plan.why.clone(),
        None => Some("no plan of this run is what it speaks of".to_owned()),
    };
    judged
}

fn is_ratio(claim: &Claim) -> bool {
    matches!(claim, Claim::Compared { right, .. } if right.terms().iter().any(|t| matches!(t, Term::Figure(_))))
}

impl Side {
    fn terms(&self) -> &[Term] {
        match self {
            Side::One(term) => std::slice::from_ref(term),
            Side::Max(terms) | Side::Min(terms) => terms,
        }
    }
}

impl Claim {
    fn candidates(&self) -> Vec<&str> {
        match self {
            Claim::Compared { left, right, .. } => {
                let right = right.terms().iter().filter_map(|term| match term {
                    Term::Figure(figure) => Some(figure.candidate.as_str()),
                    Term::Number(_) => None,
                });
                std::iter::once(left.candidate.as_str()).chain(right).collect()
            }
            Claim::Outcome { candidate, .. } | Claim::Rank { candidate, .. } => vec![candidate],
        }
    }

    /// What it speaks about first: searches are other plans than loads.
    fn quantity(&self) -> Quantity {
        match self {
            Claim::Compared { left, .. } => left.quantity,
            _ => Quantity::Trial(Figure::THROUGHPUT),
        }
    }
}

/// The words of a judged conclusion's plans where they differ: `holds under c100, fails under c1000`.
pub fn by_plan(judged: &JudgedConclusion) -> Option<String> {
    let differ = judged.plans.windows(2).any(|pair| pair[0].judgement != pair[1].judgement);
    differ.then(|| {
        let under = |p: &JudgedPlan| format!("{} under {}", <&str>::from(p.judgement), p.plan);
        list(&judged.plans.iter().map(under).collect::<Vec<_>>())
    })
}

#[cfg(test)]
mod tests;
