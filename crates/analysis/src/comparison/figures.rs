//! One figure after another.

use prony_model::Estimate;
use prony_stats::interval::geometric_mean;

use super::noise::Noise;
use super::{FigureComparison, Options, PlanComparison, PlanPair, duet, sentences};
use crate::cell::{ByBlock, Cell, any_overloaded};
use crate::compare::{self, EARLIER_MIN, Finding, Rule, compare, compare_with_runs};
use crate::figure::{Figure, FigureValue, OverTrials};
use crate::figures::{estimate, over_trials};
use crate::numbers::{self, count};

pub(super) fn plan_comparison(plan: &PlanPair<'_>, paired: bool, options: &Options) -> PlanComparison {
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

/// A figure of one side's trials by block; `Ok(None)` where no trial has it at all, the reason where some do not or where
/// it cannot be compared.
fn by_block(figure: Figure, cells: &[Cell<'_>]) -> Result<Option<ByBlock>, String> {
    let known: Vec<(u32, FigureValue)> =
        cells.iter().filter_map(|cell| Some((cell.planned.block, cell.figure(figure)?))).collect();
    let (missing, is_percentile) = (cells.len() - known.len(), figure.quantile().is_some());
    if known.is_empty() && !is_percentile {
        return Ok(None);
    }
    if missing > 0 {
        let why = if is_percentile { ": too few samples, give a longer -d" } else { "" };
        return Err(format!("{missing} of {} trials have no {figure}{why}", cells.len()));
    }
    if is_percentile && any_overloaded(cells) {
        return Err("overloaded: the response grows with the window's length".to_owned());
    }
    ByBlock::new(known, geometric_mean).map(Some).ok_or_else(|| format!("a trial's {figure} is 0"))
}

/// One side's figure over its blocks.
fn over_blocks(side: &ByBlock) -> Option<Estimate> {
    let found = estimate(&side.in_order())?;
    Some(if side.at_least { Estimate::at_least(found.point, found.n) } else { found })
}

pub(super) fn figure_comparison(
    figure: Figure,
    plan: &PlanPair<'_>,
    paired: bool,
    options: &Options,
) -> Option<FigureComparison> {
    let rule = options.rule(figure);
    let sides = (by_block(figure, &plan.a), by_block(figure, &plan.b));
    let estimated = |side: &Result<Option<ByBlock>, String>, cells: &[Cell<'_>]| {
        let side = side.as_ref().ok()?.as_ref()?;
        match figure.over_trials {
            OverTrials::GeometricMean => over_blocks(side),
            // As in every other table.
            OverTrials::Highest | OverTrials::Mean => over_trials(figure, cells, false).estimate,
        }
    };
    let mut found = FigureComparison {
        figure,
        a: estimated(&sides.0, &plan.a),
        b: estimated(&sides.1, &plan.b),
        ratio: None,
        finding: None,
        smallest: rule.smallest,
        blocks_needed: None,
        noise: None,
        why: None,
    };
    match sides {
        (Ok(None), Ok(None)) => return None,
        (Ok(Some(a)), Ok(Some(b))) if plan.duets.is_empty() && paired => judge(&mut found, &a, &b, rule),
        (Ok(Some(a)), Ok(Some(b))) if plan.duets.is_empty() => judge_runs(&mut found, plan, &a, &b, options),
        (Ok(Some(a)), Ok(Some(b))) => judge_duets(&mut found, &a, &b, &plan.duets, rule),
        (Ok(_), Ok(_)) => found.why = Some("only one of the two has it".to_owned()),
        (Err(a), Err(b)) if a == b => found.why = Some(a),
        (Err(a), Err(b)) => found.why = Some(format!("A: {a}; B: {b}")),
        (Err(a), Ok(_)) => found.why = Some(format!("A: {a}")),
        (Ok(_), Err(b)) => found.why = Some(format!("B: {b}")),
    }
    Some(found)
}

fn judge_duets(
    found: &mut FigureComparison,
    a: &ByBlock,
    b: &ByBlock,
    duets: &[duet::Block<'_>],
    rule: Rule,
) {
    let Some(judged) = duet::judge(found.figure, duets, rule) else {
        found.why = Some(format!("a half has no {}", found.figure));
        return;
    };
    found.noise = judged.noise;
    found.why =
        judged.why_windows.map(|why| format!("compared over whole windows, not second by second: {why}"));
    if let Some(compared) = judged.compared {
        return settle(found, &compared, a, b);
    }
    let alone = judged.one_block.map_or(String::new(), |i| {
        let [point, low, high] = [i.point, i.low, i.high].map(sentences::change);
        format!("; the seconds of this block alone give {point} ({low} to {high})")
    });
    let point = judged.one_block.map(|i| i.point).or_else(|| ratio(&a.in_order(), &b.in_order()));
    without_interval(found, point, 1, format!("one block has no interval{alone}"));
}

fn judge(found: &mut FigureComparison, a: &ByBlock, b: &ByBlock, rule: Rule) {
    let pairs = a.pairs(b);
    let (of_a, of_b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    found.noise = Noise::of_trials(&of_a, &of_b);
    match compare(&pairs, rule) {
        Some(compared) => settle(found, &compared, a, b),
        None => {
            let why = "one block has no interval".to_owned();
            without_interval(found, ratio(&of_a, &of_b), of_a.len(), why);
        }
    }
}

/// Of two runs: B against what A's kind was in earlier runs, where these are known.
fn judge_runs(
    found: &mut FigureComparison,
    plan: &PlanPair<'_>,
    a: &ByBlock,
    b: &ByBlock,
    options: &Options,
) {
    let (of_a, of_b) = (a.in_order(), b.in_order());
    let earlier = options.earlier.as_ref().map(|runs| runs.of(&plan.name, found.figure));
    let compared = earlier
        .as_ref()
        .zip(geometric_mean(&of_b))
        .and_then(|(earlier, b)| compare_with_runs(earlier, b, options.rule(found.figure)));
    let why = match (earlier, compared) {
        (_, Some(compared)) => return settle(found, &compared, a, b),
        (Some(earlier), None) => {
            format!("--history has {} runs of A's kind with it, and {EARLIER_MIN} are needed", earlier.len())
        }
        (None, None) => NO_HISTORY.to_owned(),
    };
    without_interval(found, ratio(&of_a, &of_b), of_a.len().min(of_b.len()), why);
}

/// Why two runs have no verdict.
const NO_HISTORY: &str =
    "what differs from run to run is not known: --history DIR with five earlier runs shows it";

/// The geometric mean of B's over that of A's.
fn ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    Some(geometric_mean(b)? / geometric_mean(a)?)
}

fn without_interval(found: &mut FigureComparison, ratio: Option<f64>, n: usize, why: String) {
    found.ratio = ratio.map(|ratio| Estimate::bare(ratio, n as u64, why.clone()));
    found.why = Some(why);
}

/// What was found. What is "at least" so much may be more: of it only the finding that this could not undo stands.
fn settle(found: &mut FigureComparison, compared: &compare::RatioComparison, a: &ByBlock, b: &ByBlock) {
    let compare::RatioComparison { ratio, finding, blocks_needed, .. } = *compared;
    let why = match (a.at_least, b.at_least) {
        (true, true) => "both are lower bounds",
        (true, false) => "A's is a lower bound",
        (false, true) => "B's is a lower bound",
        (false, false) => {
            found.finding = Some(finding);
            found.ratio = Some(numbers::estimate(ratio));
            found.blocks_needed = blocks_needed.map(count);
            return;
        }
    };
    // B at least so much more than an exact A is more; B exactly so much less than an A of at least that is less.
    let stands = matches!(finding, Finding::Faster | Finding::Slower)
        && if ratio.point > 1.0 { !a.at_least } else { !b.at_least };
    found.finding = Some(if stands { finding } else { Finding::Inconclusive });
    found.ratio = Some(Estimate::bare(ratio.point, ratio.n as u64, why));
    found.why = Some(format!(
        "{why}: the client was the limit, or a percentile fell among requests without a response"
    ));
}
