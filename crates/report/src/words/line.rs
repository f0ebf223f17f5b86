//! A trial in one line.

use prony_model::trial::{Outcome, Trial};

use super::{headline, outcome, percentile, percentile_text, plus_minus, throughput, validity};
use crate::format;

/// `13,870 req/s ±0.4 %, p50 6.98 ms, p99 9.61 ms, 0 failed, VALID`.
pub(crate) fn trial_line(trial: &Trial) -> String {
    let pm = plus_minus(&trial.throughput.requests_per_s).map(|pm| format!(" {pm}")).unwrap_or_default();
    let (_, summary) = headline(trial);
    let mut parts = vec![format!("{} req/s{pm}", throughput(trial))];
    parts.extend(["p50_ns", "p99_ns"].map(|f| format!("{} {}", percentile(f), percentile_text(summary, f))));
    parts.push(format!("{} failed", format::thousands(trial.requests.failed)));
    if trial.outcome != Outcome::Carried {
        parts.push(outcome(trial.outcome).to_owned());
    }
    parts.push(validity(trial.verdict.validity).to_owned());
    if trial.interrupted {
        parts.push("INTERRUPTED".to_owned());
    }
    parts.join(", ")
}
