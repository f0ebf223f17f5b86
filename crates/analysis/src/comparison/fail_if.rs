//! What fails a build: `slower`, `inconclusive`, `p99>+5%`.

use std::collections::BTreeSet;
use std::fmt;

use prony_model::units::plain_number;
use prony_stats::moderated::Difference;

use super::{Comparison, FigureComparison, PlanComparison};
use crate::compare::Finding;
use crate::figure::Figure;
use crate::numbers::real_len;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FailIf {
    /// B is worse in throughput, p50 or p99.
    Slower,
    /// B is slower, or worse in CPU per request or memory.
    Worse,
    /// Throughput, p50 or p99, or a figure that another condition names, is undecided.
    Inconclusive,
    /// The change of a figure is surely beyond a share.
    Change {
        figure: Figure,
        /// Whether more than the share fails, or less.
        above: bool,
        /// 0.05 is +5 %.
        share: f64,
    },
}

impl FailIf {
    pub fn figure(self) -> Option<Figure> {
        match self {
            FailIf::Change { figure, .. } => Some(figure),
            FailIf::Slower | FailIf::Worse | FailIf::Inconclusive => None,
        }
    }
}

impl fmt::Display for FailIf {
    /// As [`parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailIf::Slower => f.write_str("slower"),
            FailIf::Worse => f.write_str("worse"),
            FailIf::Inconclusive => f.write_str("inconclusive"),
            FailIf::Change { figure, above, share } => {
                write!(f, "{}{}{:+}%", figure.name, if *above { '>' } else { '<' }, round(share * 100.0))
            }
        }
    }
}

/// What a user feels: what `slower` and `inconclusive` are about.
pub(super) const SPEED: [Figure; 3] = [Figure::THROUGHPUT, Figure::P50, Figure::P99];

/// What a server costs: the answer names these too, and `worse` is about both.
pub(super) const COSTS: [Figure; 2] = [Figure::CPU_PER_REQUEST, Figure::MEMORY];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a condition: {why} Write slower, worse, inconclusive, 'p99>+5%' or 'throughput<-3%'."
)]
pub struct FailIfError {
    text: String,
    why: String,
}

pub fn parse(text: &str) -> Result<Vec<FailIf>, FailIfError> {
    text.split(',').map(|part| one(part.trim())).collect()
}

fn one(text: &str) -> Result<FailIf, FailIfError> {
    let wrong = |why: &str| FailIfError { text: text.chars().take(60).collect(), why: why.to_owned() };
    match text {
        "slower" => return Ok(FailIf::Slower),
        "worse" => return Ok(FailIf::Worse),
        "inconclusive" => return Ok(FailIf::Inconclusive),
        "" => return Err(wrong("it is empty.")),
        _ => {}
    }
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let at = compact.find(['<', '>']).ok_or_else(|| wrong("it is not a verdict, and has no < or >."))?;
    let (name, rest) = compact.split_at(at);
    let above = rest.starts_with('>');
    let figure = figure(name).map_err(|why| wrong(&why))?;
    let share = signed_share(rest[1..].trim_start_matches('='))
        .ok_or_else(|| wrong("its change is not a percentage between -100% and +1000%."))?;
    Ok(FailIf::Change { figure, above, share })
}

pub fn figure(name: &str) -> Result<Figure, String> {
    let name = if name == "rps" { "throughput" } else { name };
    Figure::named(name).filter(|figure| figure.ranked).ok_or_else(|| {
        let known = Figure::ranked().map(|figure| figure.name);
        format!("{name:?} is not one of the figures compared, {}.", known.collect::<Vec<_>>().join(", "))
    })
}

/// `+5%`, `-3%`, `5%`; also with the minus sign that Prony prints.
fn signed_share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?;
    let (sign, digits) = match number.strip_prefix(['-', '−']) {
        Some(digits) => (-1.0, digits),
        None => (1.0, number.strip_prefix('+').unwrap_or(number)),
    };
    let share = sign * plain_number(digits)? / 100.0;
    (-1.0..=10.0).contains(&share).then_some(share)
}

pub fn figures(conditions: &[FailIf]) -> BTreeSet<Figure> {
    let named = |condition: &FailIf| match condition {
        FailIf::Slower | FailIf::Inconclusive => SPEED.to_vec(),
        FailIf::Worse => [&SPEED[..], &COSTS].concat(),
        FailIf::Change { figure, .. } => vec![*figure],
    };
    conditions.iter().flat_map(named).collect()
}

/// A figure of B under a plan, with its one-sided test among all figures that the conditions name.
struct Tested<'a> {
    plan: &'a PlanComparison,
    figure: &'a FigureComparison,
    test: Option<Difference>,
    error: f64,
}

/// Figures under all plans are one-sided tests of one family: of `slower` three a plan, of `worse` five.
fn tested<'a>(conditions: &[FailIf], comparison: &'a Comparison) -> Vec<Tested<'a>> {
    let tests = figures(conditions).len() * comparison.plans.len();
    let error = comparison.error / real_len(tests.max(1));
    let of_plan = |(at, plan): (usize, &'a PlanComparison)| {
        let of_figure = move |figure: &'a FigureComparison| {
            let test = comparison.over_plans(figure.figure, (2.0, tests))[at];
            Tested { plan, figure, test, error }
        };
        plan.figures.iter().map(of_figure)
    };
    comparison.plans.iter().enumerate().flat_map(of_plan).collect()
}

impl Tested<'_> {
    fn under(&self) -> String {
        format!("{} under {}", self.figure.figure, self.plan.name)
    }

    fn is_speed(&self) -> bool {
        SPEED.contains(&self.figure.figure)
    }

    fn is_beyond(&self, above: bool, limit: f64) -> bool {
        let is = |t: Difference| {
            if above { t.is_above(limit, self.error) } else { t.is_below(limit, self.error) }
        };
        self.test.is_some_and(is)
    }

    /// The change that a condition is about, if it is about this figure: whether more than the limit fails, and the limit.
    fn limit(&self, condition: FailIf) -> Option<(bool, f64)> {
        let of = self.figure.figure;
        let is_named = match condition {
            FailIf::Slower => self.is_speed(),
            FailIf::Worse => self.is_speed() || COSTS.contains(&of),
            FailIf::Change { figure, above, share } => {
                return (figure == of).then(|| (above, share.ln_1p()));
            }
            FailIf::Inconclusive => false,
        };
        is_named.then_some((!of.more_is_better, 0.0))
    }

    /// By how many standard errors a condition surely holds; `None` where that is not sure.
    fn fails(&self, condition: FailIf) -> Option<f64> {
        let (above, limit) = self.limit(condition)?;
        let is_alike =
            !matches!(condition, FailIf::Change { .. }) && self.figure.finding == Some(Finding::Equivalent);
        let test = self.test.filter(|_| !is_alike && self.is_beyond(above, limit))?;
        Some((test.mean - limit).abs() / test.error)
    }

    /// Whether these blocks do not say whether a condition holds. A figure without a finding is [`not_judged`].
    fn is_open(&self, condition: FailIf) -> bool {
        let is_judged = self.figure.finding.is_some() && self.figure.finding != Some(Finding::Equivalent);
        match (condition, self.limit(condition)) {
            (_, None) => false,
            (FailIf::Change { .. }, Some((above, limit))) => {
                self.figure.finding.is_some() && !self.is_beyond(!above, limit)
            }
            (_, Some((above, limit))) => is_judged && !self.is_beyond(!above, limit),
        }
    }
}

/// A sentence for each figure that fails. A server that died fails whatever is asked.
pub fn failures(conditions: &[FailIf], comparison: &Comparison) -> Vec<String> {
    let tested = tested(conditions, comparison);
    let mut said = Vec::new();
    for plan in &comparison.plans {
        said.extend(died(plan, comparison).filter(|_| !conditions.is_empty()));
        for of in tested.iter().filter(|of| std::ptr::eq(of.plan, plan)) {
            said.extend(conditions.iter().filter_map(|condition| failure(of, *condition, conditions)));
        }
    }
    said
}

fn died(plan: &PlanComparison, comparison: &Comparison) -> Option<String> {
    plan.b_died.map(|deaths| format!("{} {deaths} under {}", comparison.b.candidate, plan.name))
}

fn failure(of: &Tested<'_>, condition: FailIf, conditions: &[FailIf]) -> Option<String> {
    let under = of.under();
    if condition == FailIf::Inconclusive {
        return undecided(of.figure, conditions, of.is_speed()).then(|| format!("{under} is undecided"));
    }
    of.fails(condition)?;
    Some(match condition {
        FailIf::Change { above, share, .. } => {
            let sign = if above { '>' } else { '<' };
            format!("{under} changed by {sign} {:+} %", round(share * 100.0))
        }
        _ if of.is_speed() => format!("{under} is slower"),
        _ => format!("{under} is higher"),
    })
}

/// What conditions say of B where there are two answers to be sure of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// One surely holds: a sentence for each figure.
    Bad(Vec<String>),
    /// None does, surely.
    Good,
    /// These blocks do not say, or not all of what is named was judged: a sentence for each.
    Open(Vec<String>),
}

/// At most the comparison's error that it is `Bad` where none holds, or `Good` where one does.
pub fn reading(conditions: &[FailIf], comparison: &Comparison) -> Reading {
    let tested = tested(conditions, comparison);
    let each = || tested.iter().flat_map(|of| conditions.iter().map(move |condition| (of, *condition)));
    let sure = each().filter(|(of, condition)| of.fails(*condition).is_some());
    let bad: Vec<String> = sure.filter_map(|(of, condition)| failure(of, condition, conditions)).collect();
    if !bad.is_empty() {
        return Reading::Bad(bad);
    }
    let mut open = not_judged(conditions, comparison);
    open.extend(comparison.plans.iter().filter_map(|plan| died(plan, comparison)));
    let undecided = each().filter(|(of, condition)| of.is_open(*condition));
    open.extend(undecided.map(|(of, _)| format!("{} is undecided", of.under())));
    if open.is_empty() { Reading::Good } else { Reading::Open(open) }
}

/// The condition that tells what lies between A and B apart, where one of these surely holds of B: a change as it was
/// asked for; of `slower` and `worse` half of the difference that was measured, on logarithms; of several that which is
/// furthest beyond its limit in standard errors.
pub fn dividing(conditions: &[FailIf], comparison: &Comparison) -> Option<FailIf> {
    let tested = tested(conditions, comparison);
    let each = tested.iter().flat_map(|of| conditions.iter().map(move |condition| (of, *condition)));
    let failing = each.filter_map(|(of, condition)| Some((of.fails(condition)?, of, condition)));
    let (_, of, condition) = failing.max_by(|a, b| a.0.total_cmp(&b.0))?;
    if matches!(condition, FailIf::Change { .. }) {
        return Some(condition);
    }
    // As it is printed, so that it can be asked for again.
    let share = ((of.test?.mean / 2.0).exp_m1() * 1e4).round() / 1e4;
    Some(FailIf::Change { figure: of.figure.figure, above: !of.figure.figure.more_is_better, share })
}

/// What the conditions name and cannot be judged by: a sentence for each change that there is none of, under each plan.
pub fn not_judged(conditions: &[FailIf], comparison: &Comparison) -> Vec<String> {
    let mut said = Vec::new();
    for plan in &comparison.plans {
        let of = |figure: Figure| plan.figures.iter().find(|of| of.figure == figure);
        // A ratio without an interval, of one block or of two runs, is nothing to judge by.
        let judged = |figure: Figure| of(figure).is_some_and(|of| of.finding.is_some());
        for condition in conditions {
            let speed = (!SPEED.into_iter().any(judged)).then_some(Figure::THROUGHPUT);
            let missing: Vec<Figure> = match condition {
                FailIf::Change { figure, .. } => [*figure].into_iter().filter(|of| !judged(*of)).collect(),
                FailIf::Slower => speed.into_iter().collect(),
                FailIf::Worse => {
                    speed.into_iter().chain(COSTS.into_iter().filter(|of| !judged(*of))).collect()
                }
                FailIf::Inconclusive => Vec::new(),
            };
            said.extend(missing.into_iter().map(|figure| {
                let why = of(figure).and_then(|of| of.why.as_deref()).unwrap_or("no trial has it");
                format!("--fail-if: {figure} under {}: {why}", plan.name)
            }));
        }
    }
    said.dedup();
    said
}

/// Whether the interval of the change holds the limit, or there is none.
fn holds(figure: &FigureComparison, share: f64) -> bool {
    let interval = figure.ratio.as_ref().and_then(|ratio| ratio.ci_low.zip(ratio.ci_high));
    interval.is_none_or(|(low, high)| low <= 1.0 + share && 1.0 + share < high)
}

fn undecided(figure: &FigureComparison, conditions: &[FailIf], is_speed: bool) -> bool {
    let named = conditions.iter().any(|condition| match condition {
        FailIf::Change { figure: of, share, .. } => *of == figure.figure && holds(figure, *share),
        FailIf::Worse => COSTS.contains(&figure.figure) && figure.finding == Some(Finding::Inconclusive),
        FailIf::Slower | FailIf::Inconclusive => false,
    });
    let open = match figure.finding {
        Some(finding) => finding == Finding::Inconclusive,
        // A percentile that is withheld is shown as that; one trial each, or a throughput of 0, is undecided.
        None => figure.ratio.is_some() || figure.figure == Figure::THROUGHPUT,
    };
    named || (is_speed && open)
}

fn round(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        use FailIf::{Change, Inconclusive, Slower};
        let p99 = Figure::P99;
        assert_eq!(parse("slower").unwrap(), [Slower]);
        assert_eq!(parse("slower, inconclusive").unwrap(), [Slower, Inconclusive]);
        assert_eq!(parse("worse").unwrap(), [FailIf::Worse]);
        assert_eq!(parse("p99>+5%").unwrap(), [Change { figure: p99, above: true, share: 0.05 }]);
        assert_eq!(parse("p99 > 5 %").unwrap(), parse("p99>=+5%").unwrap());
        assert_eq!(
            parse("throughput<-3%,cpu>10%").unwrap(),
            [
                Change { figure: Figure::THROUGHPUT, above: false, share: -0.03 },
                Change { figure: Figure::CPU_PER_REQUEST, above: true, share: 0.1 }
            ]
        );
    }

    #[test]
    fn a_text_that_is_no_condition_is_refused_with_the_reason() {
        for (text, words) in [
            ("", "is empty"),
            ("slow", "not a verdict"),
            ("p98>5%", "not one of the figures"),
            ("stdev>5%", "not one of the figures"),
            ("p99>5", "not a percentage"),
            ("p99>+-5%", "not a percentage"),
            ("p99>1e3%", "not a percentage"),
            ("slower,", "is empty"),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains(words), "{text:?}: {said}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
