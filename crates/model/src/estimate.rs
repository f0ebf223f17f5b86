//! No bare float reaches a report: an estimate says how sure it is, or why it cannot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub point: f64,
    /// The interval's lower end; `None` where there is no interval.
    pub ci_low: Option<f64>,
    /// The interval's upper end; `None` where there is none, or no interval.
    pub ci_high: Option<f64>,
    /// How many independent pieces it rests on (trials, batches).
    pub n: u64,
    /// Why there is no interval, or none with an upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_interval: Option<String>,
    /// Whether the figure is a lower bound, since the client was the limit: print `≥`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

impl Estimate {
    pub fn new(point: f64, ci_low: f64, ci_high: f64, n: u64) -> Estimate {
        Estimate {
            ci_low: Some(ci_low),
            ci_high: Some(ci_high),
            no_interval: None,
            ..Estimate::bare(point, n, "")
        }
    }

    pub fn from_low(point: f64, low: f64, high: Option<f64>, n: u64, reason: &str) -> Estimate {
        let open = Estimate { ci_low: Some(low), ..Estimate::bare(point, n, reason) };
        high.map_or(open, |high| Estimate::new(point, low, high, n))
    }

    pub fn bare(point: f64, n: u64, reason: impl Into<String>) -> Estimate {
        let no_interval = Some(reason.into());
        Estimate { point, ci_low: None, ci_high: None, n, no_interval, at_least: false }
    }

    pub fn at_least(point: f64, n: u64) -> Estimate {
        Estimate { at_least: true, ..Estimate::bare(point, n, "it is at least that") }
    }

    /// Half the interval's width as a fraction of the point: the `±` of a table.
    pub fn relative_half_width(&self) -> Option<f64> {
        match (self.ci_low, self.ci_high) {
            // A rate is not below 0, and is as unsure as its upper end says.
            (Some(0.0), Some(high)) if self.point > 0.0 => Some(high / self.point - 1.0),
            (Some(low), Some(high)) if self.point != 0.0 => Some((high - low) / 2.0 / self.point.abs()),
            _ => None,
        }
    }
}
