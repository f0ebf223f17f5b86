//! Whether what B takes longer for is CPU time: where it grew, and where it cannot be that.

use prony_model::Estimate;

use super::fail_if::SPEED;
use super::sentences::with_interval;
use super::{Comparison, FigureComparison, PlanComparison};
use crate::compare::Finding;
use crate::figure::Figure;

/// By how much more than CPU time a response must have grown where CPU time is undecided.
const CLEARLY: f64 = 2.0;

impl Comparison {
    /// The plan under which B's CPU time per request is surely higher than A's, of several the one by most.
    pub fn cpu_grew(&self) -> Option<&str> {
        let grew = self.plans.iter().filter_map(|plan| {
            let cpu = found(plan, Figure::CPU_PER_REQUEST)?;
            (cpu.finding? == Finding::Slower).then_some((cpu.ratio.as_ref()?.point, plan.name.as_str()))
        });
        grew.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, plan)| plan)
    }
}

/// Of a plan under which B is surely slower and its CPU time per request cannot be why: that, in a sentence.
pub(super) fn waits(plan: &PlanComparison) -> Option<String> {
    let cpu = found(plan, Figure::CPU_PER_REQUEST)?;
    let most = cpu.ratio.as_ref()?.ci_high?;
    let least = SPEED.iter().filter_map(|figure| least_slowdown(found(plan, *figure)?)).reduce(f64::max)?;
    let grew = match cpu.finding? {
        Finding::Slower => true,
        Finding::Equivalent | Finding::Faster => least <= most,
        Finding::Inconclusive => least - 1.0 < CLEARLY * (most - 1.0),
    };
    (!grew).then(|| {
        format!(
            "Under {} the difference is waiting, not CPU: {}. Prony does not sample what a server waits for; as root, \
             `perf trace -s -p PID` (package linux-perf) lists its system calls with their times.",
            plan.name,
            cpu.ratio.as_ref().map_or(String::new(), |ratio| with_interval(cpu.figure, ratio))
        )
    })
}

fn found(plan: &PlanComparison, figure: Figure) -> Option<&FigureComparison> {
    plan.figures.iter().find(|found| found.figure == figure)
}

/// So many times as long B takes at least, where it is surely slower.
fn least_slowdown(found: &FigureComparison) -> Option<f64> {
    let ratio: &Estimate = found.ratio.as_ref().filter(|_| found.finding == Some(Finding::Slower))?;
    if found.figure.more_is_better { ratio.ci_high.map(f64::recip) } else { ratio.ci_low }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(figure: Figure, finding: Finding, (low, high): (f64, f64)) -> FigureComparison {
        FigureComparison {
            figure,
            a: None,
            b: None,
            ratio: Some(Estimate::new((low * high).sqrt(), low, high, 5)),
            finding: Some(finding),
            smallest: 0.05,
            stands: true,
            blocks_needed: None,
            forecast: Vec::new(),
            noise: None,
            why: None,
            test: None,
        }
    }

    fn plan(figures: Vec<FigureComparison>) -> PlanComparison {
        PlanComparison {
            name: "c4".to_owned(),
            describe: String::new(),
            a_trials: 5,
            b_trials: 5,
            blocks: 5,
            a_died: None,
            b_died: None,
            figures,
            tails: Vec::new(),
        }
    }

    #[test]
    fn waiting_is_said_where_cpu_time_cannot_be_the_reason() {
        let slower = || figure(Figure::P50, Finding::Slower, (1.9, 2.1));
        let fewer = || figure(Figure::THROUGHPUT, Finding::Slower, (0.5, 0.6));
        let cpu = |finding, ends| figure(Figure::CPU_PER_REQUEST, finding, ends);
        let said = |figures: Vec<FigureComparison>| waits(&plan(figures));
        let text = said(vec![slower(), cpu(Finding::Equivalent, (0.98, 1.02))]).unwrap();
        assert!(text.starts_with("Under c4 the difference is waiting, not CPU: CPU per request "), "{text}");
        assert!(said(vec![fewer(), cpu(Finding::Faster, (0.7, 0.8))]).is_some());
        assert!(said(vec![slower(), cpu(Finding::Inconclusive, (0.9, 1.3))]).is_some());
        let close = figure(Figure::P50, Finding::Slower, (1.03, 1.1));
        for none in [
            vec![slower(), cpu(Finding::Slower, (1.8, 2.2))],
            vec![slower(), cpu(Finding::Inconclusive, (0.9, 1.8))],
            vec![close, cpu(Finding::Equivalent, (0.97, 1.04))],
            vec![figure(Figure::P50, Finding::Faster, (0.5, 0.6)), cpu(Finding::Equivalent, (0.98, 1.02))],
            vec![slower()],
        ] {
            assert_eq!(said(none), None);
        }
    }
}
