//! A run's control: a candidate that is started once more in each block, as if it were another one. That twin is not
//! ranked and in no hypothesis or conclusion: what the run tells apart of the two is no property of servers.

use prony_model::Estimate;
use prony_model::plan::ArrivalKind;
use prony_model::run_log::{CandidateRecord, RunLog};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::{ByBlock, CandidateTrials, Results};
use crate::figure::Figure;
use crate::look::Level;
use crate::ranking::{Contest, ratio_to_baseline};
use crate::row::{Row, row};

/// The difference that is planted in the twin's figures, as a share.
const PLANTED: f64 = 0.03;

/// A candidate's twin under one plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Twin {
    /// Whose it is.
    pub of: String,
    /// Its figures as they were measured, not ranked.
    pub row: Row,
    /// What the two are compared by: throughput, at a rate p99.
    pub figure: &'static str,
    /// The twin's figure over its candidate's, paired within blocks; `None` without a block in which both count.
    pub ratio: Option<Estimate>,
    /// Whether the test of ranks tells them apart; `None` where it cannot be made.
    pub apart: Option<bool>,
    /// The same with a difference that is known.
    pub planted: Planted,
}

/// A twin whose figures are shifted by a known difference, in analysis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Planted {
    /// As a share.
    pub difference: f64,
    /// The ratio as it would be measured with it.
    pub ratio: Option<Estimate>,
    /// Whether the test tells them apart then.
    pub apart: Option<bool>,
    /// The chance that the ranks of a run with this one's noise find such a difference, 0 to 1.
    pub chance: Option<f64>,
}

/// The twin of a plan, beside its candidates; `None` without one.
pub(crate) fn twin(
    log: &RunLog,
    plan: &str,
    contestants: &[CandidateTrials<'_>],
    rows: &[Row],
    level: Level,
) -> Option<Twin> {
    let own = log.controls.iter().filter(|result| result.planned.plan == plan);
    let results: Results<'_> = own.map(|result| (result.planned.index, result)).collect();
    let of = &results.values().next()?.planned.candidate;
    let record = log.header.candidates.iter().find(|candidate| candidate.label == *of);
    let record = record.cloned().unwrap_or_else(|| CandidateRecord::named(of));
    let its = CandidateTrials::of(&results, plan, of);
    let row = row(&record, &its, level);
    let candidate = rows.iter().position(|row| row.candidate == *of).map(|at| &contestants[at]);
    let of_closed = log.header.plans.iter().any(|p| p.name == plan && p.plan.arrivals == ArrivalKind::Closed);
    let by = |figure| candidate.and_then(|candidate| beside(figure, candidate, &its, contestants, level));
    // At a rate, throughputs are all alike.
    let at_a_rate = if of_closed { None } else { by(Figure::P99) };
    let compared = at_a_rate.or_else(|| by(Figure::THROUGHPUT));
    let (figure, ratio, [apart, found], chance) =
        compared.unwrap_or((Figure::THROUGHPUT, None, [None; 2], None));
    let times = 1.0 + PLANTED;
    let planted = Planted {
        difference: PLANTED,
        ratio: ratio.clone().map(|ratio| Estimate {
            point: ratio.point * times,
            ci_low: ratio.ci_low.map(|low| low * times),
            ci_high: ratio.ci_high.map(|high| high * times),
            ..ratio
        }),
        apart: found,
        chance,
    };
    Some(Twin { of: of.clone(), row, figure: figure.name, ratio, apart, planted })
}

/// The figure, the twin's ratio, whether they are told apart as they are and with the planted difference, its chance.
type Beside = (Figure, Option<Estimate>, [Option<bool>; 2], Option<f64>);

fn beside(
    figure: Figure,
    candidate: &CandidateTrials<'_>,
    twin: &CandidateTrials<'_>,
    contestants: &[CandidateTrials<'_>],
    level: Level,
) -> Option<Beside> {
    let (own, its) = (candidate.comparable(figure)?, twin.comparable(figure)?);
    let ratio = ratio_to_baseline(&its, &own, level);
    let exact = |figure: &ByBlock| !figure.at_least && !figure.died;
    if !exact(&own) || !exact(&its) {
        return Some((figure, ratio, [None; 2], None));
    }
    let logs = its.log_ratios(&own)?;
    let ranked: Vec<_> = contestants
        .iter()
        .filter_map(|own| Some((own.ranked_by(figure)?, std::ptr::eq(own, candidate))))
        .collect();
    let at = ranked.iter().position(|(_, is_it)| *is_it)?;
    let contest = Contest::of(&ranked.iter().map(|(own, _)| own).collect::<Vec<_>>(), level);
    let shift = PLANTED.ln_1p();
    let with: Vec<f64> = logs.iter().map(|log| log + shift).collect();
    let apart = [contest.tells_apart(at, &logs), contest.tells_apart(at, &with)];
    Some((figure, ratio, apart, contest.chance_of(shift, &logs)))
}

#[cfg(test)]
mod tests {
    use prony_model::run_log::{Control, PlannedTrial};

    use super::*;
    use crate::experiment::ExperimentAnalysis;
    use crate::testing::constant_plan;
    use crate::testing::run::{Log, result};

    const STEADY: [u64; 8] = [10_000, 10_040, 9_970, 10_010, 9_990, 10_030, 9_960, 10_000];

    /// Eight blocks of two candidates, the second a fifth slower, and a twin of the first with these rates.
    fn log(twin: &[u64]) -> Log {
        let rates: Vec<Vec<u64>> =
            STEADY.iter().rev().map(|rate| vec![*rate, rate * 4 / 5 + rate % 7]).collect();
        let rates: Vec<&[u64]> = rates.iter().map(Vec::as_slice).collect();
        let mut log = Log::new(&["a", "b"], 8).with(&rates);
        for (block, rate) in (0..).zip(twin) {
            let a = PlannedTrial {
                block,
                control: Some(Control::Twin),
                ..PlannedTrial::one_by_one(100 + block, "a", "c50")
            };
            log.0.header.order.push(a.clone());
            log.0.controls.push(result(a, *rate));
        }
        log
    }

    fn twin_of(analysis: &ExperimentAnalysis) -> &Twin {
        analysis.plans[0].twin.as_ref().unwrap()
    }

    #[test]
    fn a_twin_changes_nothing_that_is_said_of_candidates() {
        let (with, without) = (log(&STEADY.map(|rate| rate / 2)).analyse(), log(&[]).analyse());
        assert_eq!(without.plans[0].twin, None);
        let mut plans = with.plans.clone();
        plans[0].twin = None;
        assert_eq!((plans, &with.headline), (without.plans, &without.headline));
        assert_eq!((with.trials.planned, without.trials.planned), (24, 16));
    }

    #[test]
    fn a_twin_is_told_apart_by_what_is_planted_and_not_by_noise() {
        let analysis = log(&STEADY).analyse();
        let twin = twin_of(&analysis);
        assert_eq!((twin.of.as_str(), twin.figure, twin.apart), ("a", "throughput", Some(false)));
        assert_eq!((twin.row.counted, twin.row.rank()), (8, None));
        let (ratio, planted) = (twin.ratio.as_ref().unwrap(), &twin.planted);
        assert!((ratio.point - 1.0).abs() < 0.005 && ratio.ci_high.is_some(), "{ratio:?}");
        assert!((planted.ratio.as_ref().unwrap().point / ratio.point - 1.03).abs() < 1e-9);
        assert_eq!(planted.apart, Some(true));
        assert!(planted.chance.unwrap() > 0.95, "{planted:?}");
    }

    #[test]
    fn noise_hides_what_is_planted_and_another_speed_shows() {
        let slower = log(&STEADY.map(|rate| rate * 95 / 100)).analyse();
        assert_eq!(twin_of(&slower).apart, Some(true));
        // 10 % of noise in everything.
        let mut log = log(&STEADY);
        let mut noise = crate::testing::noise(9);
        for result in log.0.results.iter_mut().chain(&mut log.0.controls) {
            let rate = &mut result.trial.as_mut().unwrap().throughput.requests_per_s.point;
            *rate *= 1.0 + 0.1 * noise.next().unwrap();
        }
        let noisy = log.analyse();
        let twin = twin_of(&noisy);
        assert_eq!((twin.apart, twin.planted.apart), (Some(false), Some(false)));
        assert!(twin.planted.chance.unwrap() < 0.2, "{:?}", twin.planted);
    }

    #[test]
    fn a_twin_is_compared_by_p99_at_a_rate_unless_its_server_died() {
        let mut at_a_rate = log(&STEADY);
        at_a_rate.0.header.plans[0].plan = constant_plan(1_000.0);
        for result in at_a_rate.0.results.iter_mut().chain(&mut at_a_rate.0.controls) {
            result.trial.as_mut().unwrap().latency.response.p99_ns = Some(1_000_000);
        }
        assert_eq!(twin_of(&at_a_rate.analyse()).figure, "p99");
        let one = log(&STEADY[..1]).analyse();
        assert_eq!((twin_of(&one).apart, twin_of(&one).planted.apart), (None, None));
        assert!(twin_of(&one).ratio.as_ref().unwrap().no_interval.is_some());
        let mut died = log(&STEADY);
        let reason = prony_model::code::Code::ServerDied.reason(String::new());
        died.0.controls[3].trial.as_mut().unwrap().verdict.reasons.push(reason);
        assert_eq!(twin_of(&died.analyse()).apart, None);
    }

    #[test]
    fn a_candidate_alone_has_a_twin_too() {
        let mut log = log(&STEADY);
        log.0.results.retain(|result| result.planned.candidate == "a");
        let alone = log.analyse();
        assert_eq!((twin_of(&alone).apart, twin_of(&alone).planted.apart), (Some(false), Some(true)));
        assert!(twin_of(&alone).planted.chance.unwrap() > 0.95);
    }
}
