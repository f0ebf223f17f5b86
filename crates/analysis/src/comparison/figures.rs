//! One figure after another.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_model::trial::Outcome;
use prony_stats::Interval;
use prony_stats::interval::geometric_mean;

use super::noise::Noise;
use super::{AT_LEAST, Both, FigureComparison, Options, PlanComparison, duet, said};
use crate::cell::Cell;
use crate::compare::{self, CompareError, Finding, compare, compare_unpaired};
use crate::figure::Figure;
use crate::figures::estimate;

pub(super) fn plan_comparison(plan: &Both<'_>, paired: bool, options: &Options) -> PlanComparison {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    PlanComparison {
        name: plan.name.clone(),
        describe: plan.describe.clone(),
        a_trials: count(plan.a.len()),
        b_trials: count(plan.b.len()),
        blocks: match (paired, plan.duets.len()) {
            (true, 0) => plan.common_blocks(),
            (true, duets) => count(duets),
            (false, _) => 0,
        },
        figures: Figure::ranked()
            .filter_map(|figure| figure_comparison(figure, plan, paired, options))
            .collect(),
    }
}

/// A figure of one side's trials.
struct Sample {
    /// By block, several of one block by their geometric mean. All above 0.
    blocks: BTreeMap<u32, f64>,
    /// Whether any of them is only known to be at least that.
    at_least: bool,
}

impl Sample {
    /// `Ok(None)` where no trial has the figure at all; the reason where some do not, or where it
    /// cannot be compared.
    fn of(figure: Figure, cells: &[Cell<'_>]) -> Result<Option<Sample>, String> {
        let known: Vec<_> = cells.iter().map(|c| (c.planned.block, c.figure(figure))).collect();
        let missing = known.iter().filter(|(_, known)| known.is_none()).count();
        let is_time = figure.percentile.is_some();
        if missing == cells.len() && !is_time {
            return Ok(None);
        }
        if missing > 0 {
            return Err(format!(
                "{missing} of {} trials have no {figure}{}",
                cells.len(),
                if is_time { ": too few samples, give a longer -d" } else { "" }
            ));
        }
        if is_time && cells.iter().any(|c| c.trial.outcome == Outcome::Overloaded) {
            return Err("overloaded: the response grows with the window's length".to_owned());
        }
        let mut by_block: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (block, known) in &known {
            by_block.entry(*block).or_default().extend(known.map(|k| k.value));
        }
        let blocks: Option<BTreeMap<u32, f64>> =
            by_block.into_iter().map(|(block, values)| Some((block, geometric_mean(&values)?))).collect();
        let blocks = blocks.ok_or_else(|| format!("a trial's {figure} is 0"))?;
        Ok(Some(Sample { blocks, at_least: known.iter().any(|(_, k)| k.is_some_and(|k| k.at_least)) }))
    }

    fn values(&self) -> Vec<f64> {
        self.blocks.values().copied().collect()
    }

    fn estimate(&self) -> Option<Estimate> {
        let found = estimate(&self.values())?;
        if self.at_least {
            return Some(Estimate::bare(found.point, found.n, AT_LEAST));
        }
        Some(found)
    }
}

fn figure_comparison(
    figure: Figure,
    plan: &Both<'_>,
    paired: bool,
    options: &Options,
) -> Option<FigureComparison> {
    let rule = options.rule(figure);
    let mut found = FigureComparison {
        figure,
        a: None,
        b: None,
        ratio: None,
        finding: None,
        smallest: rule.smallest,
        blocks_needed: None,
        noise: None,
        why: None,
    };
    let (a, b) = match (Sample::of(figure, &plan.a), Sample::of(figure, &plan.b)) {
        (Ok(None), Ok(None)) => return None,
        (Ok(a), Ok(b)) => (a, b),
        (a, b) => {
            let sided = |side: &str, why: &Option<String>| why.as_ref().map(|why| format!("{side}: {why}"));
            let (why_a, why_b) = (a.as_ref().err().cloned(), b.as_ref().err().cloned());
            found.a = a.ok().flatten().and_then(|s| s.estimate());
            found.b = b.ok().flatten().and_then(|s| s.estimate());
            let both: Vec<String> = [sided("A", &why_a), sided("B", &why_b)].into_iter().flatten().collect();
            found.why = Some(if why_a == why_b { why_a.unwrap_or_default() } else { both.join("; ") });
            return Some(found);
        }
    };
    found.a = a.as_ref().and_then(Sample::estimate);
    found.b = b.as_ref().and_then(Sample::estimate);
    let (Some(a), Some(b)) = (a, b) else {
        found.why = Some("only one of both has it".to_owned());
        return Some(found);
    };
    match plan.duets.as_slice() {
        [] => judge(&mut found, &a, &b, paired, rule),
        duets => judge_duets(&mut found, &a, &b, duets, rule),
    }
    Some(found)
}

fn judge_duets(
    found: &mut FigureComparison,
    a: &Sample,
    b: &Sample,
    duets: &[duet::Block<'_>],
    rule: compare::Rule,
) {
    let Some(judged) = duet::judge(found.figure, duets, rule) else {
        found.why = Some(format!("a half has no {}", found.figure));
        return;
    };
    found.noise = judged.noise;
    match judged.compared {
        Ok(c) => {
            found.finding = Some(c.finding);
            found.ratio = Some(ratio(&c.ratio));
            found.blocks_needed = c.blocks_needed.and_then(|n| u32::try_from(n).ok());
            found.why = judged.why_windows.map(|why| format!("whole windows are compared: {why}"));
            bounded(found, a, b);
        }
        Err(CompareError::TooFewBlocks { .. }) => {
            let alone = judged.one_block.map_or(String::new(), |i| {
                let [point, low, high] = [i.point, i.low, i.high].map(said::change);
                format!("; the seconds of these two starts of each say {point} ({low} to {high})")
            });
            let point = geometric_mean(&b.values()).zip(geometric_mean(&a.values())).map(|(b, a)| b / a);
            let point = judged.one_block.map(|i| i.point).or(point);
            let why = format!("one block has no interval{alone}");
            found.ratio = point.map(|p| Estimate::bare(p, 1, why.clone()));
            found.why = Some(why);
        }
        Err(other) => found.why = Some(other.to_string()),
    }
}

fn judge(found: &mut FigureComparison, a: &Sample, b: &Sample, paired: bool, rule: compare::Rule) {
    let pairs: Vec<(f64, f64)> =
        a.blocks.iter().filter_map(|(block, value)| Some((*value, *b.blocks.get(block)?))).collect();
    let (values_a, values_b) = if paired { pairs.iter().copied().unzip() } else { (a.values(), b.values()) };
    let compared = if paired { compare(&pairs, rule) } else { compare_unpaired(&values_a, &values_b, rule) };
    found.noise = Noise::of(&values_a, &values_b, paired);
    match compared {
        Ok(c) => {
            found.finding = Some(c.finding);
            found.ratio = Some(ratio(&c.ratio));
            found.blocks_needed = c.blocks_needed.and_then(|n| u32::try_from(n).ok());
            bounded(found, a, b);
        }
        Err(why) => {
            let point = geometric_mean(&values_b).zip(geometric_mean(&values_a)).map(|(b, a)| b / a);
            let n = values_a.len().min(values_b.len()) as u64;
            found.why = Some(match why {
                CompareError::TooFewBlocks { .. } if paired => "one block has no interval".to_owned(),
                CompareError::TooFewBlocks { .. } => "one trial has no interval".to_owned(),
                other => other.to_string(),
            });
            found.ratio = point.map(|p| Estimate::bare(p, n, found.why.clone().unwrap_or_default()));
        }
    }
}

fn ratio(interval: &Interval) -> Estimate {
    Estimate::new(interval.point, interval.low, interval.high, interval.n as u64)
}

/// What is "at least" so much may be more: only the finding that this could not undo stands.
fn bounded(found: &mut FigureComparison, a: &Sample, b: &Sample) {
    if !a.at_least && !b.at_least {
        return;
    }
    let why = match (a.at_least, b.at_least) {
        (true, true) => "both are lower bounds",
        (true, false) => "A's is a lower bound",
        _ => "B's is a lower bound",
    };
    let point = found.ratio.as_ref().map_or(1.0, |r| r.point);
    // B at least so much more than an exact A is more; B exactly so much less than an A of at least that is less.
    let stands = matches!(found.finding, Some(Finding::Faster | Finding::Slower))
        && match (a.at_least, b.at_least) {
            (false, true) => point > 1.0,
            (true, false) => point < 1.0,
            _ => false,
        };
    if !stands {
        found.finding = Some(Finding::Inconclusive);
        found.blocks_needed = None;
    }
    found.ratio = found.ratio.take().map(|r| Estimate::bare(r.point, r.n, why));
    found.why =
        Some(format!("{why}: the client was the limit, or a percentile fell among requests unanswered"));
}
