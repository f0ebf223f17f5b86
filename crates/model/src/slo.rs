//! Thresholds held against what was measured, as JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Decision {
    /// Its whole interval is within the limit.
    Met,
    /// The interval holds the limit, or there is none.
    Undecided,
    /// Its whole interval is beyond the limit.
    Missed,
}

/// A threshold held against a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SloRecord {
    /// As it was written: `p99<50ms`.
    pub slo: String,
    /// What became of it.
    pub decision: Decision,
    /// Undecided because the figure itself was withheld or is missing, in every trial: nothing was held to the limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_judged: bool,
    /// What was seen, in a few words.
    pub seen: String,
    /// What would decide it, where it is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_decide: Option<String>,
}

impl SloRecord {
    /// What stands for it where it was not judged: `p99<50ms: withheld, too few samples; to decide it: -d 34s`.
    pub fn not_judged(&self) -> Option<String> {
        let to_decide =
            self.to_decide.as_ref().map_or(String::new(), |what| format!("; to decide it: {what}"));
        self.not_judged.then(|| format!("{}: {}{to_decide}", self.slo, self.seen))
    }
}
