//! What reasons are found in.

use prony_model::Estimate;
use prony_model::host::Host;
use prony_model::measurement::{Measurement, Parts};
use prony_model::observed::Observed;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::trial::{Outcome, Summary};

use crate::growth::Growth;
use crate::numbers::real;
use crate::steady::Drift;

pub(crate) struct Facts<'a> {
    pub(crate) m: &'a Measurement,
    pub(crate) o: &'a Observed,
    pub(crate) plan: &'a RecordedPlan,
    pub(crate) parts: &'a Parts,
    pub(crate) window_ns: u64,
    /// Whether the server used its cores up; `None` where nobody looked.
    pub(crate) server_saturated: Option<bool>,
    /// Whether a worker had no room left and nothing says that the server was the limit.
    pub(crate) client_limits: bool,
    pub(crate) outcome: Outcome,
    pub(crate) response: &'a Summary,
    pub(crate) throughput: &'a Estimate,
    pub(crate) growth: Option<Growth>,
    pub(crate) drifts: &'a [Drift],
    pub(crate) host: &'a Host,
}

pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { real(part) / real(whole) }
}
