//! Texts of comparisons that are the same in every view.

use std::collections::{BTreeMap, BTreeSet};

use prony_analysis::compare::Finding;
use prony_analysis::comparison::{Comparison, FigureComparison, PlanComparison};
use prony_analysis::figure::Figure;
use prony_model::Estimate;

use crate::format;
use crate::words::{self, WITHHELD};

fn value(figure: Figure, estimate: Option<&Estimate>) -> String {
    let Some(estimate) = estimate else { return WITHHELD.to_owned() };
    let at_least = if estimate.at_least { "≥ " } else { "" };
    format!("{at_least}{}", words::value(figure.unit, estimate.point))
}

/// `−5.0 %`, from a ratio.
pub(crate) fn change(ratio: f64) -> String {
    let share = ratio - 1.0;
    if share.abs() < 5e-5 {
        return "±0 %".to_owned();
    }
    format!("{}{}", if share > 0.0 { '+' } else { '−' }, format::percent(share.abs()))
}

/// A figure's cells in a table, without the verdict: its name, both values, the change, its interval, the noise.
pub(crate) fn cells(found: &FigureComparison) -> [String; 6] {
    let (change, interval) = changes(found);
    let value = |estimate: &Option<Estimate>| value(found.figure, estimate.as_ref());
    [found.figure.head.to_owned(), value(&found.a), value(&found.b), change, interval, noise(found)]
}

/// The change with its interval: `−5.0 %` and `−5.4 to −4.6 %`.
pub(crate) fn changes(found: &FigureComparison) -> (String, String) {
    change_with_interval(found.ratio.as_ref())
}

pub(crate) fn change_with_interval(ratio: Option<&Estimate>) -> (String, String) {
    let Some(ratio) = ratio else { return (WITHHELD.to_owned(), String::new()) };
    let interval = ratio.ci_low.zip(ratio.ci_high);
    let interval = interval.map(|(low, high)| {
        let (low, high) = (change(low), change(high));
        format!("{} to {high}", low.trim_end_matches(" %"))
    });
    (change(ratio.point), interval.unwrap_or_else(|| WITHHELD.to_owned()))
}

/// `±0.9 %`: the difference that two identical candidates would show.
pub(crate) fn noise(found: &FigureComparison) -> String {
    found.noise.map_or(WITHHELD.to_owned(), |noise| format!("±{}", format::percent(noise.half_width)))
}

pub(crate) fn verdict(found: &FigureComparison, paired: bool) -> String {
    let [better, worse] = found.figure.better_and_worse;
    match found.finding {
        Some(Finding::Faster) => better.to_owned(),
        Some(Finding::Slower) => worse.to_owned(),
        Some(Finding::Equivalent) => {
            format!("equivalent within {}", format::percent(found.smallest))
        }
        Some(Finding::Inconclusive) => format!("inconclusive{}", needed(found, paired)),
        None => "no verdict".to_owned(),
    }
}

fn needed(found: &FigureComparison, paired: bool) -> String {
    let n = match (found.blocks_needed, found.why.is_some()) {
        (Some(n), _) => n,
        (None, open) if open || !paired => return String::new(),
        (None, _) => return ": 1,000 blocks with this noise may not decide".to_owned(),
    };
    let more = format::count(n.into(), "more block decides", "more blocks decide");
    format!(": {more} in 4 of 5 runs")
}

/// `p50 +1.0 % (+0.2 to +1.8 %), p90 …`: what B changes along the tail; `None` without one.
pub(crate) fn tail(plan: &PlanComparison) -> Option<String> {
    let said = plan.tails.iter().map(|tail| {
        let interval = tail.ratio.ci_low.zip(tail.ratio.ci_high).map_or(String::new(), |(low, high)| {
            format!(" ({} to {})", change(low).trim_end_matches(" %"), change(high))
        });
        // 0.999 is p99.9.
        format!("p{} {}{interval}", (tail.quantile * 1e8).round() / 1e6, change(tail.ratio.point))
    });
    (!plan.tails.is_empty()).then(|| {
        format!(
            "{}; these intervals are aimed to hold all at once in 95 % of runs",
            said.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Names what nothing asked for, with what was found to differ: `start-up SLOWER, tail`; `None` where there is nothing.
pub(crate) fn not_asked(comparison: &Comparison) -> Option<String> {
    let figures = comparison.plans.iter().flat_map(|plan| &plan.figures);
    let others = figures.filter(|found| !comparison.asked.contains(&found.figure));
    // Each once, with what was found in any plan.
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for found in others {
        let differs = matches!(found.finding, Some(Finding::Faster | Finding::Slower));
        let verdicts = said.entry(found.figure.to_string()).or_default();
        verdicts.extend(differs.then(|| verdict(found, comparison.paired)));
    }
    if comparison.plans.iter().any(|plan| !plan.tails.is_empty()) {
        said.entry("tail".to_owned()).or_default();
    }
    let shown = |(name, verdicts): (String, BTreeSet<String>)| {
        let verdicts = verdicts.into_iter().collect::<Vec<_>>().join(" and ");
        format!("{name} {verdicts}").trim_end().to_owned()
    };
    (!said.is_empty()).then(|| said.into_iter().map(shown).collect::<Vec<_>>().join(", "))
}

/// How much was measured: `6 blocks of one run, in alternation`, `5 and 6 trials of two runs`.
pub(crate) fn amount(plan: &PlanComparison, comparison: &Comparison) -> String {
    if comparison.paired {
        let blocks = format::count(plan.blocks.into(), "block", "blocks");
        let how = if comparison.duet { "both at once, with their CPUs swapped" } else { "in alternation" };
        return format!("{blocks} of one run, {how}");
    }
    let of = if comparison.a.run == comparison.b.run { "one run" } else { "two runs" };
    format!("{} and {} of {of}", plan.a_trials, format::count(plan.b_trials.into(), "trial", "trials"))
}

/// The names of both sides in a table: labels, or runs where the labels are the same.
pub(crate) fn sides(comparison: &Comparison) -> (String, String) {
    let (a, b) = (&comparison.a, &comparison.b);
    if a.candidate != b.candidate {
        return (a.candidate.clone(), b.candidate.clone());
    }
    let stem = |run: &str| {
        let name = run.rsplit('/').next().unwrap_or(run);
        name.strip_suffix(".jsonl").unwrap_or(name).to_owned()
    };
    match (stem(&a.run), stem(&b.run)) {
        (a, b) if a == b => ("A".to_owned(), "B".to_owned()),
        sides => sides,
    }
}

pub(crate) fn legend(comparison: &Comparison) -> &'static str {
    if !comparison.paired {
        "Two runs: how identical candidates differ between runs is unknown from these two."
    } else if comparison.duet {
        "A/A: within one run of as many blocks, two identical candidates differ by no more than this in 95 %; \
         between runs it is unknown. It follows from what swapping the CPUs did to the ratio in each block."
    } else {
        "A/A: within one run of as many blocks, two identical candidates differ by no more than this in 95 %; \
         between runs it is unknown. It follows from how each candidate varied from block to block."
    }
}
