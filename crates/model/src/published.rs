//! A source's figures and conclusions, kept in the run log so that a report can set ours beside theirs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures that a source may print, in the order of a table: the key, whose end is the unit, the title, and the unit.
pub const FIGURES: [(&str, &str, &str); 24] = [
    ("requests_per_s", "Throughput", "req/s"),
    ("peak_requests_per_s", "Peak throughput", "req/s"),
    ("p50_ms", "p50", "ms"),
    ("p75_ms", "p75", "ms"),
    ("p90_ms", "p90", "ms"),
    ("p99_ms", "p99", "ms"),
    ("p999_ms", "p99.9", "ms"),
    ("p9999_ms", "p99.99", "ms"),
    ("p99999_ms", "p99.999", "ms"),
    ("max_ms", "Max", "ms"),
    ("mean_ms", "Mean", "ms"),
    ("stdev_ms", "Deviation", "ms"),
    ("latency_within_stdev", "Latency within ± a deviation", "%"),
    ("count", "Requests", ""),
    // wrk's MB and KB are powers of 1,024.
    ("read_mib", "Read", "MiB"),
    ("transfer_mib_per_s", "Transfer", "MiB/s"),
    // wrk's and wrk2's line "Req/Sec": of one of the client's threads.
    ("per_second_mean", "Req/Sec of a thread, mean", "req/s"),
    ("per_second_stdev", "Req/Sec deviation", "req/s"),
    ("per_second_max", "Req/Sec max", "req/s"),
    ("per_second_within_stdev", "Req/Sec within ± a deviation", "%"),
    ("read_errors", "Read errors", ""),
    ("write_errors", "Write errors", ""),
    ("timeouts", "Timeouts", ""),
    ("failed_share_at_least", "Share failed, at least", ""),
];

/// A published comparison.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// What it is called, with its year.
    pub source: String,
    /// How its figures were obtained, in its own terms.
    pub method: String,
    /// What its figures are of its runs of the same, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<Statistic>,
    /// Its figures.
    #[serde(default)]
    pub rows: Vec<PublishedRow>,
    /// What it concluded.
    #[serde(default)]
    pub conclusions: Vec<Conclusion>,
    /// What in its method makes its figures others than ours, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// What it says besides and nothing is computed from: text by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// What a printed figure is of several runs of the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The best of so many.
    BestOf(u32),
    /// The one in the middle of so many.
    MedianOf(u32),
    /// There was one.
    OneRun,
}

impl Statistic {
    /// `best of 5`, `median of 3`, `one run`.
    pub fn parse(text: &str) -> Option<Statistic> {
        let runs = |count: &str| count.parse().ok().filter(|n| (2..=1_000).contains(n));
        match text.split_once(" of ") {
            Some(("best", count)) => runs(count).map(Statistic::BestOf),
            Some(("median", count)) => runs(count).map(Statistic::MedianOf),
            _ => (text == "one run").then_some(Statistic::OneRun),
        }
    }

    pub fn runs(self) -> u32 {
        match self {
            Statistic::BestOf(runs) | Statistic::MedianOf(runs) => runs,
            Statistic::OneRun => 1,
        }
    }

    /// Of values in the order in which they were measured, whose best is the highest or the lowest.
    pub fn of(self, values: &[f64], more_is_better: bool) -> Option<f64> {
        let mut first: Vec<f64> = values.iter().copied().take(self.runs() as usize).collect();
        first.sort_by(f64::total_cmp);
        match self {
            Statistic::BestOf(_) if more_is_better => first.last().copied(),
            Statistic::BestOf(_) | Statistic::OneRun => first.first().copied(),
            Statistic::MedianOf(_) => median(&first),
        }
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.get(sorted.len().saturating_sub(1) / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

impl std::fmt::Display for Statistic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Statistic::BestOf(runs) => write!(f, "best of {runs}"),
            Statistic::MedianOf(runs) => write!(f, "median of {runs}"),
            Statistic::OneRun => f.write_str("one run"),
        }
    }
}

/// One row of its tables: a candidate under one load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRow {
    /// The source's word for it.
    pub name: String,
    /// Ours: a label of the catalogue.
    pub candidate: String,
    /// Connections; `None` where the source doesn't say.
    pub connections: Option<u32>,
    /// Requests per second asked for; `None`: closed arrivals.
    pub rate_per_s: Option<f64>,
    /// Its figures by name, in the units that the names end in: `requests_per_s`, `p99_ms`, …
    pub figures: BTreeMap<String, f64>,
    /// What it says in words, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remarks: BTreeMap<String, String>,
    /// Why the row is left out of rank agreement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// How many workers the source gave it; `None` where it doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
}

impl Published {
    /// How many workers the source gave a candidate of ours, by its label; all of its rows agree.
    pub fn workers_of(&self, label: &str) -> Option<u32> {
        self.rows.iter().filter(|row| row.candidate == label).find_map(|row| row.workers)
    }
}

impl PublishedRow {
    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }
}

/// A conclusion about the source's subject, with what would have to be seen for it to hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    /// In words.
    pub text: String,
    /// As a claim on figures: `throughput(a) > 1.2 * throughput(b)` (docs/replications.md); empty where it is not judged.
    pub claim: String,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub by: By,
    /// Why no claim on figures says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
    /// The plans that it is about; without any, all of them.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub at: At,
}

/// Whose a conclusion is, in the order in which they are shown, each below its title.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    strum::Display,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The source's, in words of its own.
    #[default]
    #[strum(to_string = "What the source concluded")]
    Source,
    /// Our reading of its table: it concludes nothing of it in words.
    #[strum(to_string = "Our readings of its table")]
    Reading,
    /// Asked by us, about what it left out.
    #[strum(to_string = "Asked by us besides")]
    Question,
}

/// The plans that a conclusion is about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct At {
    /// Plans with one of these numbers of connections; empty: any.
    #[serde(default)]
    pub connections: Vec<u32>,
    /// Plans with one of these rates; empty: any.
    #[serde(default)]
    pub rates: Vec<AtRate>,
}

/// A rate that a conclusion is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtRate {
    /// Requests per second.
    PerS(f64),
    /// A share of a measured knee: 1.05 of `amphp:opcache knee`.
    Share {
        /// 1 is the knee itself.
        share: f64,
        /// Whose knee, and of which plan.
        of: CapacityOf,
    },
}

/// A measured capacity that rates are shares of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityOf {
    /// The candidate's label.
    pub candidate: String,
    /// The name given to the plan that finds its capacity.
    pub plan: String,
}

impl std::fmt::Display for CapacityOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.candidate, self.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statistic_is_of_the_first_runs() {
        let values = [3.0, 9.0, 5.0, 100.0];
        for (text, more_is_better, value) in [
            ("best of 3", true, 9.0),
            ("best of 3", false, 3.0),
            ("median of 3", true, 5.0),
            ("median of 2", true, 6.0),
            ("one run", true, 3.0),
        ] {
            let statistic = Statistic::parse(text).unwrap();
            assert_eq!(statistic.to_string(), text);
            assert_eq!(statistic.of(&values, more_is_better), Some(value), "{text}");
            assert_eq!(statistic.of(&[], more_is_better), None);
        }
        for text in ["", "best", "best of 1", "mean of 3", "median of x", "two runs"] {
            assert_eq!(Statistic::parse(text), None, "{text}");
        }
    }
}
