//! Blocks until the answer is precise enough. A run that is ended when its intervals happen to be narrow ends too
//! early: at 95 % asked for, Student's interval covers the truth in 90 to 94 % of runs. So intervals of such a run are
//! wider by a factor of 1 + 2/n, for stopping and in print. docs/statistics.md has the simulation.

use std::collections::BTreeMap;

use prony_model::run_log::{RunLog, TrialResult};
use prony_stats::CONFIDENCE;
use prony_stats::interval::{geometric_mean, logarithms, variance};
use prony_stats::student::t_two_sided;

use crate::cell::{ByBlock, Cell};
use crate::figure::FigureValue;
use crate::look::Level;
use crate::numbers::{count, real};

/// A run that stops by its precision has at least so many blocks: with fewer, widened intervals cover less than 94.5 %.
pub const BLOCKS_MIN: u32 = 5;

/// A run that stops by its precision has at most so many blocks, unless told otherwise.
pub const BLOCKS_MAX: u32 = 30;

/// No forecast asks for more blocks.
const FORECAST_MAX: u32 = 1_000;

/// How trials of one candidate vary, where nothing was measured yet: 3 %, as on a shared machine of two cores.
pub const NOISE_ASSUMED: f64 = 0.03;

/// Sequential stopping by width: Anscombe (1953), *Sequential estimation*, JRSS B 15(1); the undershoot of its
/// coverage: Starr (1966), *The performance of a sequential procedure for the fixed-width interval estimation of the
/// mean*, Ann. Math. Statist. 37(1). The factor is ours, from simulation (see the module).
pub(crate) fn widening(n: u64) -> f64 {
    1.0 + 2.0 / real(n.max(1))
}

/// The throughputs so far of a run that ends when it is precise enough; looked at after each block.
#[derive(Debug, Clone, Default)]
pub struct SequentialStop {
    throughputs: BTreeMap<(String, String), Vec<(u32, FigureValue)>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Widest {
    pub candidate: String,
    pub plan: String,
    pub is_ratio: bool,
    /// Half the width of its widened interval, as a share; infinite where there is none yet.
    pub half_width: f64,
    /// The standard deviation of its logarithms over blocks; `None` below two.
    pub spread: Option<f64>,
    pub blocks: u32,
}

impl SequentialStop {
    pub fn of(log: &RunLog) -> SequentialStop {
        let mut stop = SequentialStop::default();
        log.last_results().values().for_each(|result| stop.take(result));
        stop
    }

    pub fn take(&mut self, result: &TrialResult) {
        let Some(cell) = Cell::measured(result).filter(Cell::counts) else { return };
        let key = (cell.planned.plan.clone(), cell.planned.candidate.clone());
        let own = self.throughputs.entry(key).or_default();
        if cell.planned.repeat > 0 {
            own.retain(|(block, _)| *block != cell.planned.block);
        }
        own.push((cell.planned.block, cell.throughput()));
    }

    /// Of all ratios to the baseline; of a plan without it (or where it is alone, or was not measured to its limit), of
    /// own throughputs. `None` where nothing can be assessed: lower bounds and candidates that carried nothing are left
    /// out.
    pub fn widest(&self, baseline: Option<&str>) -> Option<Widest> {
        let mut plans: BTreeMap<&str, Vec<(&str, ByBlock)>> = BTreeMap::new();
        for ((plan, candidate), trials) in &self.throughputs {
            let exact =
                ByBlock::new(trials.iter().copied(), geometric_mean, false).filter(|own| !own.at_least);
            plans.entry(plan).or_default().extend(exact.map(|own| (candidate.as_str(), own)));
        }
        plans
            .iter()
            .flat_map(|(plan, all)| {
                let base = all.iter().find(|(name, _)| Some(*name) == baseline).filter(|_| all.len() > 1);
                all.iter()
                    .filter(move |(name, _)| base.is_none_or(|(base, _)| base != name))
                    .map(move |(name, own)| width(plan, name, own, base.map(|(_, base)| base)))
            })
            .max_by(|a, b| a.half_width.total_cmp(&b.half_width))
    }
}

fn width(plan: &str, candidate: &str, own: &ByBlock, base: Option<&ByBlock>) -> Widest {
    let logs = base.map_or_else(|| logarithms(&own.in_order()), |base| own.log_ratios(base));
    let logs = logs.unwrap_or_default();
    let interval = Level { widened: true, ..Level::look(1) }.interval(&logs);
    Widest {
        candidate: candidate.to_owned(),
        plan: plan.to_owned(),
        is_ratio: base.is_some(),
        half_width: interval.map_or(f64::INFINITY, |i| (i.high - i.point).exp_m1()),
        spread: variance(&logs).map(f64::sqrt),
        blocks: count(logs.len()),
    }
}

/// The half width to expect, as a share, of ratios over so many blocks whose logarithms deviate by `spread`; `None`
/// below two.
pub fn expected(spread: f64, blocks: u32, widened: bool) -> Option<f64> {
    let n = f64::from(blocks);
    let half = t_two_sided(n - 1.0, CONFIDENCE).filter(|_| blocks > 1)? * spread / n.sqrt();
    Some((half * if widened { widening(blocks.into()) } else { 1.0 }).exp_m1())
}

/// The fewest blocks, [`BLOCKS_MIN`] at least, at which [`expected`] is within `precision`; `None` where a thousand are not.
pub fn blocks_for(spread: f64, precision: f64) -> Option<u32> {
    (BLOCKS_MIN..=FORECAST_MAX).find(|n| expected(spread, *n, true).is_some_and(|half| half <= precision))
}

/// The standard deviation of the log ratio of two candidates whose trials vary by `noise`, as a share.
pub fn ratio_spread(noise: f64) -> f64 {
    std::f64::consts::SQRT_2 * noise.ln_1p()
}

#[cfg(test)]
mod tests {
    use prony_stats::interval::mean_interval;

    use super::*;
    use crate::testing::noise;
    use crate::testing::run::Log;

    #[test]
    fn the_widest_interval_is_that_of_the_ratio_that_varies_most() {
        let log = Log::new(&["a", "b", "base"], 3).with(&[
            &[1_000, 2_000, 1_000],
            &[1_010, 2_300, 1_010],
            &[990, 1_800, 990],
        ]);
        let stop = SequentialStop::of(&log.0);
        let widest = stop.widest(Some("base")).unwrap();
        assert_eq!((widest.candidate.as_str(), widest.blocks, widest.is_ratio), ("b", 3, true));
        // t(2) = 4.303 on the logarithms, widened by 1 + 2/3.
        let ratios = [2.0f64, 2_300.0 / 1_010.0, 1_800.0 / 990.0].map(f64::ln);
        let half = 4.302_653 * (variance(&ratios).unwrap() / 3.0).sqrt() * 5.0 / 3.0;
        assert!((widest.half_width.ln_1p() - half).abs() < 1e-6);
        // Without a baseline, each by itself; a machine that swings is in it then.
        assert!(!stop.widest(None).unwrap().is_ratio);
        let one = Log::new(&["a", "base"], 1).with(&[&[10, 10]]);
        assert!(SequentialStop::of(&one.0).widest(Some("base")).unwrap().half_width.is_infinite());
        assert_eq!(SequentialStop::default().widest(None), None);
    }

    #[test]
    fn a_throughput_that_is_a_lower_bound_is_not_assessed() {
        let mut log = Log::new(&["a", "base"], 2).with(&[&[10, 10], &[20, 10]]);
        for result in [0, 2] {
            log.trial(result).throughput.bound = prony_model::trial::Bound::Lower;
        }
        let widest = SequentialStop::of(&log.0).widest(Some("base")).unwrap();
        assert_eq!((widest.candidate.as_str(), widest.is_ratio), ("base", false));
    }

    #[test]
    fn the_expected_half_width_is_that_of_students_interval() {
        // t(4) = 2.776 at 5 blocks.
        let half = expected(0.04, 5, false).unwrap().ln_1p();
        assert!((half - 2.776_445 * 0.04 / 5f64.sqrt()).abs() < 1e-6);
        assert!(expected(0.04, 5, true).unwrap() > 1.3 * expected(0.04, 5, false).unwrap());
        assert_eq!(expected(0.04, 1, false), None);
        let blocks = blocks_for(0.04, 0.02).unwrap();
        assert!(expected(0.04, blocks, true).unwrap() <= 0.02);
        assert!(expected(0.04, blocks - 1, true).unwrap() > 0.02);
        assert_eq!(blocks_for(0.0001, 0.02), Some(BLOCKS_MIN));
        assert_eq!(blocks_for(10.0, 0.001), None);
    }

    #[test]
    fn widened_intervals_cover_in_95_percent_after_a_precise_stop() {
        let mut normal = noise(17);
        for precision in [1.0, 0.7, 0.5] {
            let covered = (0..2000)
                .filter(|_| {
                    let mut values = Vec::new();
                    loop {
                        values.push(normal.next().unwrap());
                        let n = values.len() as u64;
                        if n < 5 {
                            continue;
                        }
                        let i = mean_interval(&values, CONFIDENCE).unwrap();
                        let half = (i.high - i.point) * widening(n);
                        if half <= precision || n == 60 {
                            break i.point.abs() <= half;
                        }
                    }
                })
                .count();
            // 95 %, less two standard errors of 0.5 %.
            assert!(covered >= 1_880, "{covered} of 2000 at {precision}");
        }
    }
}
