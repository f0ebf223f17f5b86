//! What a trial's window says of itself, as [`crate::trial::judge`] takes it: for `cargo xtask coverage`.

use prony_model::Estimate;
use prony_model::histogram::SparseHistogram;
use prony_model::measurement::Measurement;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::trial::{Bound, Clock, Summary};

use crate::interval::WindowParts;
use crate::steady::drifts;
use crate::summary::{OrderStatistics, summarise};
use crate::throughput::throughput;

#[derive(Debug, Clone)]
pub struct Within {
    pub throughput: Estimate,
    /// Response percentiles with their intervals; its histogram is left empty.
    pub response: Summary,
    /// What drifted: `throughput` or `response`, in the verdict's words. Empty where steady or not assessed.
    pub drifted: Vec<&'static str>,
}

pub fn within(m: &Measurement, plan: &RecordedPlan) -> Within {
    let window_ns = m.window_end_ns.saturating_sub(m.window_start_ns);
    let durations = m.latency.parts().response;
    let ranked = OrderStatistics::of(&durations);
    let parts = WindowParts::of(m);
    let known = parts.percentiles(&ranked);
    let mut response = summarise(&durations.completed, &ranked, Clock::User, window_ns, known.as_ref());
    response.hdr = SparseHistogram::default();
    parts.add_mean(&mut response);
    Within {
        throughput: throughput(m, plan, &parts, Bound::Exact).requests_per_s,
        response,
        drifted: drifts(m, window_ns, false).iter().map(|drift| drift.affects).collect(),
    }
}
