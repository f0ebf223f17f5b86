//! Two candidates side by side, of one run, paired within its blocks, or of two runs, by the rule of
//! [`crate::compare`]: whether it may be applied ([`comparability`]), what equals show ([`noise`]), and what fails a
//! build ([`fail_if`]).

use std::collections::{BTreeMap, BTreeSet};

use prony_model::Estimate;
use prony_model::run_log::RunLog;
use prony_stats::moderated::{Difference, over_plans};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::{CandidateTrials, Cell, Deaths, plan_names};
use crate::compare::{Finding, Forecast, Rule};
use crate::earlier_runs::EarlierRuns;
use crate::figure::Figure;
use crate::look::Level;
use crate::numbers::{count, real_len};
use crate::profile::{self, ProfileComparison};
use crate::tails::{self, TailRatio};

mod answer;
mod choose;
pub(crate) mod comparability;
mod duet;
pub mod fail_if;
mod figures;
#[cfg(test)]
mod gate_tests;
mod noise;
pub(crate) mod sentences;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use choose::{choose, choose_in};
pub use noise::Noise;

const SCHEMA: &str = "prony.comparison/1";

#[derive(Debug, Clone, Copy)]
pub struct RunCandidate<'a> {
    pub log: &'a RunLog,
    pub run: &'a str,
    pub candidate: &'a str,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// Smallest differences that matter, as shares; figures left out have their usual one.
    pub margins: BTreeMap<Figure, f64>,
    pub force: bool,
    /// Earlier runs of A's kind, A among them: what two runs are compared by.
    pub earlier: Option<EarlierRuns>,
    /// Figures that a gate names: the first line may name them beside its own.
    pub declared: BTreeSet<Figure>,
}

impl Options {
    fn rule(&self, figure: Figure) -> Rule {
        let usual = Rule::usual(figure);
        Rule { smallest: self.margins.get(&figure).copied().unwrap_or(usual.smallest), ..usual }
    }
}

/// B beside A.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The schema's name: `prony.comparison/1`.
    pub schema: &'static str,
    /// The answer in one sentence.
    pub headline: String,
    /// Figures that a condition or a threshold names and that were not there to be judged, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<String>,
    /// What is compared with.
    pub a: Side,
    /// What is compared.
    pub b: Side,
    /// Whether both were measured in alternation, block by block of one run.
    pub paired: bool,
    /// How the intervals were obtained, in a sentence.
    pub method: String,
    /// One per plan that both have.
    pub plans: Vec<PlanComparison>,
    /// In what they are not comparable, where `--force` compared them all the same; sentences.
    pub not_comparable: Vec<String>,
    /// What a reader should know besides; sentences.
    pub notes: Vec<String>,
    /// The command that would tell more, where something is undecided.
    pub next: Option<String>,
    /// Whether both ran at once, in places that they changed.
    pub duet: bool,
    /// Which look at the log this is, from 1: each spends a part of the error that verdicts may have.
    pub look: u32,
    /// The chance of an error, of each finding by itself and of the first line in all.
    pub error: f64,
    /// Figures, under all plans, that the first line may name: their findings are tested together.
    pub hypotheses: u32,
    /// Where CPU time per request grew, of a run that sampled it: by two trials that count for no other figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileComparison>,
    /// What a reader asked for: the first line's figures and those that a condition, a margin or a threshold names.
    #[serde(skip)]
    pub asked: BTreeSet<Figure>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Side {
    /// The run's file.
    pub run: String,
    /// The candidate's label.
    pub candidate: String,
    /// Its title.
    pub title: String,
    /// Its own word for its version.
    pub version: Option<String>,
}

/// Both under one plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanComparison {
    /// The plan's name.
    pub name: String,
    /// `50 connections, closed loop, GET /`.
    pub describe: String,
    /// Trials of A that count.
    pub a_trials: u32,
    /// Trials of B that count.
    pub b_trials: u32,
    /// Blocks that have both; 0 where they are not paired.
    pub blocks: u32,
    /// Starts of A in which its server died: it is never called better, nor equivalent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_died: Option<Deaths>,
    /// The same of B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_died: Option<Deaths>,
    /// Figures that at least one of both has.
    pub figures: Vec<FigureComparison>,
    /// Response times of B over A's at up to five percentiles; empty below two common blocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<TailRatio>,
}

/// One figure of both.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FigureComparison {
    /// `throughput`, `p50`, `p99`, `cpu`, `memory` or `startup`: in requests per second, nanoseconds, bytes.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub figure: Figure,
    /// A's, over its trials.
    pub a: Option<Estimate>,
    /// B's.
    pub b: Option<Estimate>,
    /// B over A.
    pub ratio: Option<Estimate>,
    /// What that says; `None` where there is nothing to say it from.
    pub finding: Option<Finding>,
    /// The smallest difference that matters, as a share.
    pub smallest: f64,
    /// Whether the finding stands among all that the first line may name; `false` where it holds by itself alone, and of
    /// figures that the first line does not name.
    pub stands: bool,
    /// Of an inconclusive one: so many more blocks decide in four of five runs, whatever is true of `forecast`. `None`:
    /// no thousand would, or it is settled.
    pub blocks_needed: Option<u32>,
    /// Of an inconclusive one: what it would take, for differences that may be true.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forecast: Vec<Forecast>,
    /// What equals would show in as many blocks of this run.
    pub noise: Option<Noise>,
    /// Why there is no finding, or no better one.
    pub why: Option<String>,
    /// On logarithms, where what was found cannot be undone by what is not known.
    #[serde(skip)]
    pub(crate) test: Option<Difference>,
}

fn by_name<S: serde::Serializer>(figure: &Figure, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(figure.name)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError {
    #[error("{0}")]
    Choice(String),
    #[error(
        "{a} and {b} are not comparable: {differences}. Measure both in one run, as `prony bench --candidate \
         base=… --candidate head=…` does, or compare them all the same with --force."
    )]
    Unlike { a: String, b: String, differences: String },
    #[error("{0} has no trial that counts: look at `prony report {1}` for the reasons.")]
    Nothing(String, String),
}

pub fn compare_candidates(
    a: RunCandidate<'_>,
    b: RunCandidate<'_>,
    options: &Options,
) -> Result<Comparison, ComparisonError> {
    let one_run = same_run(a.log, b.log);
    if one_run && a.candidate == b.candidate {
        return Err(ComparisonError::Choice(format!(
            "{} with itself, in one run: these are the same trials. Name two candidates, or two runs.",
            a.candidate
        )));
    }
    let mut both = plan_pairs(a, b)?;
    if one_run {
        for plan in &mut both {
            plan.duets = duet::blocks(&plan.a.counted, &plan.b.counted);
        }
    }
    let duet = both.iter().all(|plan| !plan.duets.is_empty());
    if !duet {
        both.iter_mut().for_each(|plan| plan.duets.clear());
    }
    let differences =
        comparability::differences(&both, one_run, [a, b].map(|part| part.log.header.server_host.as_ref()));
    if !differences.is_empty() && !options.force {
        return Err(ComparisonError::Unlike {
            a: side(a).said(&side(b)),
            b: side(b).said(&side(a)),
            differences: differences.join("; "),
        });
    }
    let paired = one_run && both.iter().all(|plan| plan.common_blocks() > 0);
    // Of two logs that which was looked at more often decides.
    let (of_a, of_b) = (Level::of(a.log), Level::of(b.log));
    let level = Level { widened: of_a.widened || of_b.widened, ..Level::look(of_a.look.max(of_b.look)) };
    let plans: Vec<PlanComparison> =
        both.iter().map(|plan| figures::plan_comparison(plan, paired, (options, level))).collect();
    let first_line = first_line(options, &plans);
    let mut comparison = Comparison {
        schema: SCHEMA,
        headline: String::new(),
        not_judged: Vec::new(),
        a: side(a),
        b: side(b),
        paired,
        method: sentences::method(paired, duet, options),
        plans,
        not_comparable: differences,
        notes: sentences::notes(a, b, one_run, paired, &both),
        next: None,
        duet,
        look: level.look,
        error: level.error,
        hypotheses: count(both.len() * first_line.len()),
        profile: one_run.then(|| profile::compare(a.log, [a.candidate, b.candidate])).flatten(),
        // There is a goodput where a threshold of --slo asks for one.
        asked: first_line.iter().chain(options.margins.keys()).chain(&[Figure::GOODPUT]).copied().collect(),
    };
    let each = level.error / f64::from(comparison.hypotheses.max(1));
    for figure in first_line {
        let tests = comparison.over_plans(figure, (1.0, comparison.hypotheses as usize));
        let found =
            comparison.plans.iter_mut().map(|plan| plan.figures.iter_mut().find(|f| f.figure == figure));
        for (found, test) in found.zip(tests) {
            let Some(found) = found else { continue };
            found.stands = match found.finding {
                Some(Finding::Faster | Finding::Slower) => test.is_some_and(|test| test.differs(each)),
                Some(Finding::Equivalent) => true,
                Some(Finding::Inconclusive) | None => false,
            };
        }
    }
    comparison.notes.extend(sentences::places(&both, options));
    comparison.notes.extend(comparison.plans.iter().filter_map(sentences::waits));
    comparison.next = sentences::next(&comparison, a, &both);
    comparison.headline = sentences::headline(&comparison);
    Ok(comparison)
}

/// The tails of each other candidate of a run over this one's: candidate, plan, ratios.
pub fn tails_over(log: &RunLog, base: &str) -> Vec<(String, String, Vec<TailRatio>)> {
    let of = |candidate| RunCandidate { log, run: "", candidate };
    let others =
        log.header.candidates.iter().map(|other| other.label.as_str()).filter(|label| *label != base);
    let (rule, level) = (Rule::usual(tails::LIKE), Level::of(log));
    let tails = |(label, plan): (&str, PlanPair<'_>)| {
        let ratios = tails::tails(&plan.a, &plan.b, rule, level);
        (!ratios.is_empty()).then(|| (label.to_owned(), plan.name, ratios))
    };
    let pairs = others.flat_map(|label| {
        let plans = plan_pairs(of(base), of(label)).unwrap_or_default();
        plans.into_iter().map(move |plan| (label, plan))
    });
    pairs.filter_map(tails).collect()
}

/// B's trials over A's in one figure, as [`compare_parts`] has it of one run; `None` where one lacks the figure.
pub(crate) fn ratio_of(a: CandidateTrials<'_>, b: CandidateTrials<'_>, figure: Figure) -> Option<Estimate> {
    let duets = duet::blocks(&a.counted, &b.counted);
    let plan = PlanPair { name: String::new(), describe: String::new(), a, b, duets, renamed: None };
    let paired = plan.common_blocks() > 0;
    figures::figure_comparison(figure, &plan, paired, (&Options::default(), Level::look(1)))?.ratio
}

/// The figures that a first line may name: those of speed, a gate's, and of what a server costs what was seen of it.
fn first_line(options: &Options, plans: &[PlanComparison]) -> BTreeSet<Figure> {
    let seen = |of: &Figure| plans.iter().flat_map(|plan| &plan.figures).any(|f| f.figure == *of);
    let costs = fail_if::COSTS.into_iter().filter(seen);
    options.declared.iter().copied().chain(fail_if::SPEED).chain(costs).collect()
}

impl Comparison {
    /// A figure's tests under each plan, with what the other plans say of the spread; `sides` and `hypotheses` of the
    /// family.
    fn over_plans(&self, figure: Figure, (sides, hypotheses): (f64, usize)) -> Vec<Option<Difference>> {
        let own = |plan: &PlanComparison| plan.figures.iter().find(|f| f.figure == figure)?.test;
        let (error, all) = (sides * self.error, real_len(hypotheses.max(1)));
        let share = error * real_len(self.plans.len()) / all;
        over_plans(&self.plans.iter().map(own).collect::<Vec<_>>(), error / all, share)
    }
}

struct PlanPair<'a> {
    name: String,
    describe: String,
    a: CandidateTrials<'a>,
    b: CandidateTrials<'a>,
    /// Blocks of both at once; empty where they ran in turn.
    duets: Vec<duet::Block<'a>>,
    renamed: Option<(String, String)>,
}

impl PlanPair<'_> {
    fn common_blocks(&self) -> u32 {
        let blocks = |cells: &[Cell<'_>]| cells.iter().map(|c| c.planned.block).collect::<BTreeSet<u32>>();
        count(blocks(&self.a.counted).intersection(&blocks(&self.b.counted)).count())
    }
}

impl Side {
    /// Its label; with its run where the other one has the same label.
    fn said(&self, other: &Side) -> String {
        if self.candidate == other.candidate {
            format!("{} of {}", self.candidate, self.run)
        } else {
            self.candidate.clone()
        }
    }
}

fn side(part: RunCandidate<'_>) -> Side {
    let record = part.log.header.candidates.iter().find(|c| c.label == part.candidate);
    Side {
        run: part.run.to_owned(),
        candidate: part.candidate.to_owned(),
        title: record.map_or(part.candidate, |r| r.facts.title.as_str()).to_owned(),
        version: record.and_then(|r| r.facts.version.clone()),
    }
}

/// Whether two logs are one: a copy of a log is no other run.
fn same_run(a: &RunLog, b: &RunLog) -> bool {
    std::ptr::eq(a, b)
        || (a.header.created_at == b.header.created_at
            && a.header.host.boot_id == b.header.host.boot_id
            && a.results.first().map(started) == b.results.first().map(started))
}

fn started(result: &prony_model::run_log::TrialResult) -> Option<&str> {
    result.trial.as_ref().map(|trial| trial.started_at.as_str())
}

fn measured_plans(part: RunCandidate<'_>) -> Result<Vec<(String, CandidateTrials<'_>)>, ComparisonError> {
    let results = part.log.last_results();
    let plans = plan_names(part.log, &results).into_iter();
    let of = plans.map(|plan| (CandidateTrials::of(&results, &plan, part.candidate), plan));
    let plans: Vec<_> =
        of.filter(|(own, _)| !own.counted.is_empty()).map(|(own, plan)| (plan, own)).collect();
    if plans.is_empty() {
        return Err(ComparisonError::Nothing(part.candidate.to_owned(), part.run.to_owned()));
    }
    Ok(plans)
}

fn plan_pairs<'a>(a: RunCandidate<'a>, b: RunCandidate<'a>) -> Result<Vec<PlanPair<'a>>, ComparisonError> {
    let (mut of_a, mut of_b) = (measured_plans(a)?, measured_plans(b)?);
    let describe = |plan: &String| {
        let named = a.log.header.plans.iter().find(|p| p.name == *plan);
        named.map_or_else(|| plan.clone(), |p| p.describe.clone())
    };
    let both =
        |(name, a): (String, CandidateTrials<'a>), (other, b): (String, CandidateTrials<'a>)| PlanPair {
            describe: describe(&name),
            renamed: (name != other).then(|| (name.clone(), other)),
            name,
            a,
            b,
            duets: Vec::new(),
        };
    // One plan each, by different names: what differs in them is said, and forced where asked.
    if of_a.len() == 1 && of_b.len() == 1 {
        return Ok(of_a.pop().zip(of_b.pop()).map(|(a, b)| both(a, b)).into_iter().collect());
    }
    let names = |plans: &[(String, CandidateTrials<'_>)]| {
        plans.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let plans = [names(&of_a), names(&of_b)];
    let mut other = |name: &str| Some(of_b.swap_remove(of_b.iter().position(|(other, _)| other == name)?));
    let common: Vec<PlanPair<'a>> =
        of_a.into_iter().filter_map(|own| Some((other(&own.0)?, own))).map(|(b, a)| both(a, b)).collect();
    if common.is_empty() {
        return Err(ComparisonError::Choice(format!(
            "They have no plan in common: {} has {}, {} has {}.",
            a.run, plans[0], b.run, plans[1]
        )));
    }
    Ok(common)
}
