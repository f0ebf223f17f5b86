//! One figure after another.

use prony_model::Estimate;
use prony_stats::interval::geometric_mean;

use super::noise::Noise;
use super::{FigureComparison, Options, PlanComparison, PlanPair, duet};
use crate::cell::{ByBlock, CandidateTrials, any_overloaded};
use crate::compare::{self, EARLIER_MIN, Finding, Rule, compare, compare_with_runs};
use crate::figure::{Figure, FigureValue, OverTrials};
use crate::figures::{estimate, over_trials};
use crate::look::Level;
use crate::numbers::{self, count};
use crate::tails;

pub(super) fn plan_comparison(plan: &PlanPair<'_>, paired: bool, asked: (&Options, Level)) -> PlanComparison {
    PlanComparison {
        name: plan.name.clone(),
        describe: plan.describe.clone(),
        a_trials: count(plan.a.counted.len()),
        b_trials: count(plan.b.counted.len()),
        blocks: match (paired, plan.duets.len()) {
            (true, 0) => plan.common_blocks(),
            (true, duets) => count(duets),
            (false, _) => 0,
        },
        a_died: plan.a.died,
        b_died: plan.b.died,
        figures: Figure::ranked()
            .filter_map(|figure| figure_comparison(figure, plan, paired, asked))
            .collect(),
        tails: match paired {
            true => tails::tails(&plan.a, &plan.b, asked.0.rule(tails::LIKE), asked.1),
            false => Vec::new(),
        },
    }
}

/// By block; `Ok(None)` where no trial has it, the reason where some do not or where it cannot be compared.
fn by_block(figure: Figure, starts: &CandidateTrials<'_>) -> Result<Option<ByBlock>, String> {
    let cells = &starts.counted;
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
    ByBlock::new(known, geometric_mean, starts.died.is_some())
        .map(Some)
        .ok_or_else(|| format!("a trial's {figure} is 0"))
}

fn over_blocks(side: &ByBlock, level: Level) -> Option<Estimate> {
    let found = estimate(&side.in_order(), level)?;
    Some(if side.at_least { Estimate::at_least(found.point, found.n) } else { found })
}

pub(super) fn figure_comparison(
    figure: Figure,
    plan: &PlanPair<'_>,
    paired: bool,
    (options, level): (&Options, Level),
) -> Option<FigureComparison> {
    let rule = options.rule(figure);
    let sides = (by_block(figure, &plan.a), by_block(figure, &plan.b));
    let estimated = |side: &Result<Option<ByBlock>, String>, starts: &CandidateTrials<'_>| {
        let side = side.as_ref().ok()?.as_ref()?;
        match figure.over_trials {
            OverTrials::GeometricMean => over_blocks(side, level),
            // As in every other table.
            OverTrials::Highest | OverTrials::Mean => over_trials(figure, &starts.counted, level).estimate,
        }
    };
    let mut found = FigureComparison {
        figure,
        a: estimated(&sides.0, &plan.a),
        b: estimated(&sides.1, &plan.b),
        ratio: None,
        finding: None,
        smallest: rule.smallest,
        stands: false,
        blocks_needed: None,
        forecast: Vec::new(),
        noise: None,
        why: None,
        test: None,
    };
    match sides {
        (Ok(None), Ok(None)) => return None,
        (Ok(Some(a)), Ok(Some(b))) if plan.duets.is_empty() && paired => {
            judge(&mut found, (&a, &b), (rule, level));
        }
        (Ok(Some(a)), Ok(Some(b))) if plan.duets.is_empty() => {
            judge_runs(&mut found, plan, (&a, &b), (options, level));
        }
        (Ok(Some(a)), Ok(Some(b))) => judge_duets(&mut found, (&a, &b), &plan.duets, (rule, level)),
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
    sides: (&ByBlock, &ByBlock),
    duets: &[duet::Block<'_>],
    asked: (Rule, Level),
) {
    let Some(judged) = duet::judge(found.figure, duets, asked) else {
        found.why = Some(format!("a half has no {}", found.figure));
        return;
    };
    found.noise = judged.noise;
    found.why =
        judged.why_windows.map(|why| format!("compared over whole windows, not second by second: {why}"));
    match judged.compared {
        Some(compared) => settle(found, &compared, sides, asked),
        None => without_interval(found, judged.point, 1, "one block has no interval"),
    }
}

fn judge(found: &mut FigureComparison, (a, b): (&ByBlock, &ByBlock), asked: (Rule, Level)) {
    let pairs = a.pairs(b);
    let (of_a, of_b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    found.noise = Noise::of_trials(&of_a, &of_b);
    match compare(&pairs, asked.0, asked.1) {
        Some(compared) => settle(found, &compared, (a, b), asked),
        None => without_interval(found, ratio(&of_a, &of_b), of_a.len(), "one block has no interval"),
    }
}

/// Of two runs: B against what A's kind was in earlier runs, where these are known. More blocks would not narrow that.
fn judge_runs(
    found: &mut FigureComparison,
    plan: &PlanPair<'_>,
    (a, b): (&ByBlock, &ByBlock),
    (options, level): (&Options, Level),
) {
    let (of_a, of_b) = (a.in_order(), b.in_order());
    let (rule, earlier) = (options.rule(found.figure), options.earlier.as_ref());
    let earlier = earlier.map(|runs| runs.of(&plan.name, found.figure));
    let compared = earlier.as_ref().zip(geometric_mean(&of_b));
    let compared = compared.and_then(|(earlier, b)| compare_with_runs(earlier, b, rule));
    let why = match (earlier, compared) {
        (_, Some(compared)) => {
            settle(found, &compared, (a, b), (rule, level));
            (found.forecast, found.blocks_needed) = (Vec::new(), None);
            return;
        }
        (Some(earlier), None) => {
            format!("--history has {} runs of A's kind with it, and {EARLIER_MIN} are needed", earlier.len())
        }
        (None, None) => NO_HISTORY.to_owned(),
    };
    without_interval(found, ratio(&of_a, &of_b), of_a.len().min(of_b.len()), &why);
}

const NO_HISTORY: &str =
    "what differs from run to run is not known: --history DIR with five earlier runs shows it";

fn ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    Some(geometric_mean(b)? / geometric_mean(a)?)
}

fn without_interval(found: &mut FigureComparison, ratio: Option<f64>, n: usize, why: &str) {
    found.ratio = ratio.map(|ratio| Estimate::bare(ratio, n as u64, why));
    found.why = Some(why.to_owned());
}

/// Where the truth of a side may be more or less than its figure, only a finding that this could not undo stands.
fn settle(
    found: &mut FigureComparison,
    compared: &compare::RatioComparison,
    (a, b): (&ByBlock, &ByBlock),
    (rule, level): (Rule, Level),
) {
    let compare::RatioComparison { ratio, finding, test } = *compared;
    let [of_a, of_b] = [a, b].map(|own| own.bounds(rule.more_is_better));
    // B at least so much more than an exact A is more; B exactly so much less than an A of at least that is less.
    let stands = if ratio.point > 1.0 { of_b.is_surely_more(of_a) } else { of_a.is_surely_more(of_b) };
    found.test = Some(test).filter(|_| stands);
    if of_a.is_exact() && of_b.is_exact() {
        found.finding = Some(finding);
        found.ratio = Some(numbers::estimate(ratio));
        if finding == Finding::Inconclusive {
            found.forecast = rule.forecast(&test, level);
            let most = found.forecast.iter().map(|f| f.more_blocks).collect::<Option<Vec<u32>>>();
            found.blocks_needed = most.and_then(|all| all.into_iter().max());
        }
        return;
    }
    let stands = stands && matches!(finding, Finding::Faster | Finding::Slower);
    found.finding = Some(if stands { finding } else { Finding::Inconclusive });
    let (why, because) = match (a.at_least, b.at_least) {
        (false, false) => ("a server died in other starts, and these are the rest", ""),
        (true, true) => ("both are lower bounds", BOUND),
        (true, false) => ("A's is a lower bound", BOUND),
        (false, true) => ("B's is a lower bound", BOUND),
    };
    found.ratio = Some(Estimate::bare(ratio.point, ratio.n as u64, why));
    found.why = Some(format!("{why}{because}"));
}

const BOUND: &str = ": the client was the limit, or a percentile fell among requests without a response";
