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
