//! What the run log has for a claim: plans, figures by block, findings.

use std::cmp::Ordering;

use prony_model::Estimate;
use prony_model::published::{AtRate, Conclusion};
use prony_model::run_log::{NamedPlan, TrialResult};
use prony_model::trial::{Bound, Outcome};
use prony_stats::interval::{geometric_mean, mean};

use super::interval::{Asked, margin};
use super::{Evidence, Judgement};
use crate::cell::{Bounds, ByBlock, CandidateTrials, Cell};
use crate::claim::{Claim, FigureTerm, Quantity, Relation, Side, Term};
use crate::figure::{Figure, FigureValue};
use crate::look::Level;
use crate::text::list;

/// How two sides compare; of an equivalence, within which share.
type Compare = (Relation, f64);

/// Shorter windows say nothing of memory that grows as long as a server runs.
const MEMORY_GROWTH_MIN_NS: u64 = 60_000_000_000;

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

impl<'a> Evidence<'a> {
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
        // A plan may have candidates of its own: a claim is about those in which all of its candidates take part, if there are any.
        let candidates = claim.candidates();
        let takes_part = |plan: &NamedPlan, label: &str| {
            self.log.header.order.iter().any(|p| p.plan == plan.name && p.candidate == label)
        };
        let own = |plan: &&&NamedPlan| candidates.iter().all(|label| takes_part(plan, label));
        let some: Vec<&NamedPlan> = all.iter().filter(own).copied().collect();
        let all = if some.is_empty() { all } else { some };
        // A claim that names its connections itself is one claim, not one per plan.
        if fixed { all.into_iter().take(1).collect() } else { all }
    }

    pub(super) fn finding(&self, claim: &Claim, plan: &NamedPlan) -> Finding {
        match claim {
            Claim::Compared { left, relation, right, within } => {
                let margin = within.unwrap_or_else(|| margin(left.quantity));
                self.compared(left, (*relation, margin), right, plan)
            }
            Claim::Outcome { candidate, outcome } => {
                let cells = self.starts(candidate, plan).counted;
                if cells.len() < 2 {
                    return self.too_few(candidate, plan, cells.len());
                }
                let of = |outcome| cells.iter().filter(|cell| cell.trial.outcome == outcome).count();
                let seen = [Outcome::Carried, Outcome::Overloaded, Outcome::Broken].map(|o| (o, of(o)));
                let seen = seen.iter().filter(|(_, n)| *n > 0).map(|(o, n)| format!("{o} in {n}"));
                let why = format!("{} of {} trials", list(&seen.collect::<Vec<_>>()), cells.len());
                let judgement = Judgement::of(of(*outcome) == cells.len(), of(*outcome) == 0);
                Finding { judgement, here: None, why: Some(why) }
            }
            Claim::Rank { candidate, at_most } => self.ranked(candidate, *at_most, plan),
        }
    }

    fn compared(&self, left: &FigureTerm, by: Compare, right: &Side, plan: &NamedPlan) -> Finding {
        let mut found = Vec::new();
        for term in right.terms() {
            found.push(self.pair(left, by, term, plan));
        }
        // Above the largest is above all of them, below the largest is below any.
        let every = !matches!((by.0, right), (Relation::Less, Side::Max(_)) | (Relation::More, Side::Min(_)));
        let each = found.iter().map(|f| f.judgement);
        let judgement = if every { Judgement::all(each) } else { Judgement::any(each) };
        // Of those that decide, the one that the claim names: the largest, or the smallest.
        let size = |at: &usize| match (&right.terms()[*at], &found[*at].here) {
            (Term::Figure(of), Some(here)) => Some(of.factor / here.point),
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

    fn pair(&self, left: &FigureTerm, by: Compare, right: &Term, plan: &NamedPlan) -> Finding {
        let (FigureTerm { factor, quantity, candidate, .. }, (relation, margin)) = (left, by);
        let a = match self.by_block(left, plan) {
            Ok(values) => values,
            Err(finding) => return finding,
        };
        let more_is_better = match quantity {
            Quantity::Trial(figure) => figure.more_is_better,
            Quantity::Capacity | Quantity::Course(_) => true,
        };
        let bounds = |own: &ByBlock| own.bounds(more_is_better);
        let mut asked =
            Asked { relation, margin, bounds: (bounds(&a), Bounds::default()), level: Level::of(self.log) };
        match right {
            Term::Number(number) => {
                let pairs: Vec<(f64, f64)> = a.values.values().map(|v| (v * factor, *number)).collect();
                if pairs.len() < 2 {
                    return self.too_few(candidate, plan, pairs.len());
                }
                asked.finding(&pairs, *number, Some(*number))
            }
            Term::Figure(right) => {
                let (times, other) = (right.factor, &right.candidate);
                let b = match self.by_block(right, plan) {
                    Ok(values) => values,
                    Err(finding) => return finding,
                };
                asked.bounds.1 = bounds(&b);
                let pairs: Vec<(f64, f64)> =
                    a.pairs(&b).into_iter().map(|(a, b)| (a * factor, times * b)).collect();
                if pairs.len() < 2 {
                    return Finding::undecided(format!(
                        "{candidate} and {other} have fewer than two blocks in common"
                    ));
                }
                asked.finding(&pairs, times / factor, None)
            }
        }
    }

    /// A term's figure by block, or why there is none.
    fn by_block(&self, term: &FigureTerm, plan: &NamedPlan) -> Result<ByBlock, Finding> {
        let FigureTerm { quantity, candidate, connections, .. } = term;
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
        let CandidateTrials { counted: cells, died, .. } = self.starts(candidate, plan);
        let is_short = |cell: &Cell| cell.trial.window.duration_ns < MEMORY_GROWTH_MIN_NS;
        if *quantity == Quantity::Trial(Figure::MEMORY_GROWTH) && cells.iter().any(is_short) {
            return Err(Finding::undecided(format!(
                "windows under a minute tell no leak from a heap that fills, nor show a slow one: {candidate} has such under {}",
                plan.name
            )));
        }
        let known: Vec<(u32, FigureValue)> = match quantity {
            Quantity::Trial(figure) => {
                cells.iter().filter_map(|c| Some((c.planned.block, c.figure(*figure)?))).collect()
            }
            Quantity::Course(course) => {
                cells.iter().filter_map(|c| Some((c.planned.block, course.of_trial(c.trial)?))).collect()
            }
            Quantity::Capacity => self.capacities(candidate, plan).collect(),
        };
        // Of several trials of one block that have a 0 among them there is no geometric mean.
        let average = |values: &[f64]| geometric_mean(values).or_else(|| mean(values));
        ByBlock::new(known, average, died.is_some()).ok_or_else(|| match quantity {
            Quantity::Trial(figure) if !cells.is_empty() => {
                without_figure(candidate, plan, cells.len(), *figure)
            }
            Quantity::Course(course) if !cells.is_empty() => Finding::undecided(format!(
                "{candidate} has {} trials that count under {}, and none tells {}: it takes ten seconds, or a ramp of connections",
                cells.len(),
                plan.name,
                <&str>::from(*course)
            )),
            _ => self.too_few(candidate, plan, 0),
        })
    }

    fn capacities(&self, candidate: &str, plan: &NamedPlan) -> impl Iterator<Item = (u32, FigureValue)> {
        let own = move |r: &&&TrialResult| r.planned.plan == plan.name && r.planned.candidate == candidate;
        self.results.values().filter(own).filter_map(|result| {
            let found = result.capacity.as_ref()?;
            let value = found.capacity_per_s.as_ref()?.point;
            Some((result.planned.block, FigureValue { value, at_least: found.bound == Bound::Lower }))
        })
    }

    pub(super) fn starts(&self, candidate: &str, plan: &NamedPlan) -> CandidateTrials<'a> {
        CandidateTrials::of(self.results, &plan.name, candidate)
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
fn without_figure(candidate: &str, plan: &NamedPlan, trials: usize, figure: Figure) -> Finding {
    let why =
        if figure.affected_as == "response" { ": too few requests for it, or too few responses" } else { "" };
    Finding::undecided(format!(
        "{candidate} has {trials} trials that count under {}, and none gives its {figure}{why}",
        plan.name
    ))
}

fn names_connections(claim: &Claim) -> bool {
    let named = |term: &Term| matches!(term, Term::Figure(FigureTerm { connections: Some(_), .. }));
    matches!(claim, Claim::Compared { left, right, .. }
        if left.connections.is_some() && right.terms().iter().all(named))
}
