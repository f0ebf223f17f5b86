//! What the run log has for a claim: plans, samples by block, findings.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_model::published::{AtRate, Conclusion};
use prony_model::run_log::{NamedPlan, TrialResult};
use prony_model::trial::Bound;
use prony_stats::CONFIDENCE;
use prony_stats::interval::{Interval, mean, mean_interval};

use super::interval::{judge_interval, margin, ratio_finding};
use super::{Evidence, Judgement};
use crate::cell::Cell;
use crate::claim::{Claim, Quantity, Relation, Side, Term};
use crate::figure::{Figure, Known};

/// A finding on one pair of terms, or on one term.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub(super) judgement: Judgement,
    pub(super) here: Option<Estimate>,
    pub(super) why: Option<String>,
}

impl Finding {
    pub(super) fn undecided(why: impl Into<String>) -> Finding {
        Finding { judgement: Judgement::Undecided, here: None, why: Some(why.into()) }
    }
}

/// A candidate's figure by block.
#[derive(Debug, Clone, Default)]
struct Sample {
    blocks: BTreeMap<u32, f64>,
    at_least: bool,
}

impl<'a> Evidence<'a> {
    /// The plans that a conclusion is about.
    pub(super) fn plans_of(&self, conclusion: &Conclusion, claim: &Claim) -> Vec<&'a NamedPlan> {
        let searched = claim.quantity() == Quantity::Capacity;
        let at = &conclusion.at;
        let is_rate = |plan: &NamedPlan| {
            at.rates.is_empty()
                || at.rates.iter().any(|rate| match rate {
                    AtRate::PerS(rate) => {
                        plan.share.is_none()
                            && plan.plan.rate_per_s.is_some_and(|r| (r - rate).abs() <= rate * 1e-9)
                    }
                    AtRate::Share { share, of } => {
                        plan.share.as_ref().is_some_and(|s| s.of == *of && (s.share - share).abs() < 1e-9)
                    }
                })
        };
        let is_connections =
            |plan: &NamedPlan| at.connections.is_empty() || at.connections.contains(&plan.plan.connections);
        let fixed = names_connections(claim);
        let all: Vec<&NamedPlan> = self
            .log
            .header
            .plans
            .iter()
            .filter(|plan| plan.capacity.is_some() == searched && is_connections(plan) && is_rate(plan))
            .collect();
        // A claim that names its connections itself is one claim, not one per plan.
        if fixed { all.into_iter().take(1).collect() } else { all }
    }

    pub(super) fn finding(&self, claim: &Claim, plan: &NamedPlan) -> Finding {
        match claim {
            Claim::Compared { left, relation, right } => self.compared(left, *relation, right, plan),
            Claim::Outcome { candidate, outcome } => {
                let cells = self.cells(candidate, plan);
                if cells.len() < 2 {
                    return self.too_few(candidate, plan, cells.len());
                }
                let so = cells.iter().filter(|(_, cell)| cell.trial.outcome == *outcome).count();
                let judgement = Judgement::of(so == cells.len(), so == 0);
                let why = (judgement == Judgement::Undecided)
                    .then(|| format!("{so} of {} trials were so", cells.len()));
                Finding { judgement, here: None, why }
            }
            Claim::Rank { candidate, at_most } => self.ranked(candidate, *at_most, plan),
        }
    }

    fn compared(&self, left: &Term, relation: Relation, right: &Side, plan: &NamedPlan) -> Finding {
        let mut found = Vec::new();
        for term in right.terms() {
            found.push(self.pair(left, relation, term, plan));
        }
        // Above the largest is above all of them, below the largest is below any.
        let every =
            !matches!((relation, right), (Relation::Less, Side::Max(_)) | (Relation::More, Side::Min(_)));
        let each = found.iter().map(|f| f.judgement);
        let judgement = if every { Judgement::all(each) } else { Judgement::any(each) };
        // Of those that decide, the one that the claim names: the largest, or the smallest.
        let size = |at: &usize| match (&right.terms()[*at], &found[*at].here) {
            (Term::Figure { factor, .. }, Some(here)) => Some(factor / here.point),
            _ => None,
        };
        let deciding = (0..found.len()).filter(|at| found[*at].judgement == judgement);
        let by_size = |a: &usize, b: &usize| match (size(a), size(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        };
        let at = match right {
            Side::Max(_) => deciding.rev().max_by(by_size),
            Side::Min(_) | Side::One(_) => deciding.min_by(by_size),
        };
        let at = at.unwrap_or(0);
        Finding { judgement, ..found.swap_remove(at) }
    }

    /// One term against another.
    fn pair(&self, left: &Term, relation: Relation, right: &Term, plan: &NamedPlan) -> Finding {
        let Term::Figure { factor, quantity, candidate, .. } = left else {
            return Finding::undecided("its left side is no figure");
        };
        let a = match self.sample(left, plan) {
            Ok(sample) => sample,
            Err(finding) => return finding,
        };
        match right {
            Term::Number(number) => {
                let values: Vec<f64> = a.blocks.values().map(|v| v * factor).collect();
                let Some(i) = mean_interval(&values, CONFIDENCE) else {
                    return self.too_few(candidate, plan, values.len());
                };
                let around_zero = Interval { low: i.low - number, high: i.high - number, ..i };
                let margin = margin(*quantity) * number.abs();
                Finding {
                    judgement: judge_interval(
                        relation,
                        &around_zero,
                        0.0,
                        (-margin, margin),
                        a.at_least,
                        false,
                    ),
                    here: Some(Estimate::new(i.point, i.low, i.high, values.len() as u64)),
                    why: None,
                }
            }
            Term::Figure { factor: by, candidate: other, .. } => {
                let b = match self.sample(right, plan) {
                    Ok(sample) => sample,
                    Err(finding) => return finding,
                };
                let pairs: Vec<(f64, f64)> = a
                    .blocks
                    .iter()
                    .filter_map(|(block, v)| Some((v * factor, by * b.blocks.get(block)?)))
                    .collect();
                if pairs.len() < 2 {
                    return Finding::undecided(format!(
                        "{candidate} and {other} have fewer than two blocks in common"
                    ));
                }
                ratio_finding(&pairs, relation, margin(*quantity), by / factor, (a.at_least, b.at_least))
            }
        }
    }

    /// A term's figure by block, or why there is none.
    fn sample(&self, term: &Term, plan: &NamedPlan) -> Result<Sample, Finding> {
        let Term::Figure { quantity, candidate, connections, .. } = term else {
            return Err(Finding::undecided("it is no figure"));
        };
        let plan = match connections {
            None => plan,
            Some(count) => self
                .log
                .header
                .plans
                .iter()
                .find(|p| {
                    p.plan.connections == *count
                        && p.plan.rate_per_s == plan.plan.rate_per_s
                        && p.capacity.is_some() == plan.capacity.is_some()
                })
                .ok_or_else(|| Finding::undecided(format!("no plan has {count} connections")))?,
        };
        let mut by_block: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut at_least = false;
        let known = |result: &TrialResult| match quantity {
            Quantity::Trial(figure) => {
                let cell = Cell::of(result).filter(Cell::counts)?;
                cell.figure(*figure)
            }
            Quantity::Capacity => {
                let found = result.capacity.as_ref()?;
                let at_least = found.bound == Bound::Lower;
                Some(Known { value: found.capacity_per_s.as_ref()?.point, at_least })
            }
        };
        for result in self.of(candidate, plan) {
            if let Some(known) = known(result) {
                by_block.entry(result.planned.block).or_default().push(known.value);
                at_least |= known.at_least;
            }
        }
        if by_block.is_empty() {
            let counted = self.cells(candidate, plan).len();
            return Err(match quantity {
                Quantity::Trial(figure) if counted > 0 => untold(candidate, plan, counted, *figure),
                _ => self.too_few(candidate, plan, 0),
            });
        }
        let blocks = by_block.into_iter().filter_map(|(block, values)| Some((block, mean(&values)?)));
        Ok(Sample { blocks: blocks.collect(), at_least })
    }

    /// A candidate's results under a plan.
    fn of(&self, candidate: &str, plan: &NamedPlan) -> impl Iterator<Item = &'a TrialResult> {
        let (candidate, plan) = (candidate.to_owned(), plan.name.clone());
        self.results
            .values()
            .copied()
            .filter(move |r| r.planned.plan == plan && r.planned.candidate == candidate)
    }

    pub(super) fn cells(&self, candidate: &str, plan: &NamedPlan) -> Vec<(u32, Cell<'a>)> {
        let counted = self.of(candidate, plan).filter_map(Cell::of).filter(Cell::counts);
        counted.map(|cell| (cell.planned.block, cell)).collect()
    }

    /// Why a candidate has too little to judge: it was skipped, never counted, or ran once.
    pub(super) fn too_few(&self, candidate: &str, plan: &NamedPlan, blocks: usize) -> Finding {
        let skipped = self.log.header.skipped.iter().find(|s| s.candidate == candidate);
        let known = self.log.header.candidates.iter().any(|c| c.label == candidate);
        Finding::undecided(match skipped {
            Some(skipped) => format!("{candidate} was skipped: {}", skipped.reason),
            None if !known => format!("{candidate} is not among the candidates of this run"),
            None if blocks == 0 => format!("{candidate} has no trial that counts under {}", plan.name),
            None => format!("{candidate} has one block under {}: two at least give an interval", plan.name),
        })
    }
}

/// Why trials that count are none of this figure: none of them could tell it.
fn untold(candidate: &str, plan: &NamedPlan, trials: usize, figure: Figure) -> Finding {
    let why =
        if figure.affected_as == "response" { ": too few requests for it, or too few answered" } else { "" };
    Finding::undecided(format!(
        "{candidate} has {trials} trials that count under {}, and none gives its {figure}{why}",
        plan.name
    ))
}

fn names_connections(claim: &Claim) -> bool {
    let named = |term: &Term| matches!(term, Term::Figure { connections: Some(_), .. });
    matches!(claim, Claim::Compared { left, right, .. } if named(left) && right.terms().iter().all(named))
}
