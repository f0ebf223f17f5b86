//! A comparison as data, and its files under docs/benchmarks/.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::bars::Reached;
use super::figures::Run;
use super::scenarios::Scenario;

/// The format's name; another number is another format.
const SCHEMA: &str = "prony.peers/1";

#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) schema: &'static str,
    /// UTC, `2026-11-21`.
    pub(super) date: String,
    pub(super) rounds: u32,
    /// As `prony load --json` tells it.
    pub(super) host: Value,
    /// Tools by name, in their own words.
    pub(super) versions: BTreeMap<String, String>,
    pub(super) skipped: Vec<(String, String)>,
    pub(super) bars: Vec<Reached>,
    #[serde(serialize_with = "names")]
    pub(super) scenarios: Vec<&'static Scenario>,
    /// Raw: one of each run, in order.
    pub(super) runs: Vec<Run>,
}

impl Comparison {
    pub(super) fn new(
        rounds: u32,
        host: Value,
        scenarios: Vec<&'static Scenario>,
        runs: Vec<Run>,
    ) -> Comparison {
        let names: Vec<&str> = scenarios.iter().map(|s| s.name).collect();
        let bars = super::bars::reached(super::figures::Runs(&runs), &names);
        Comparison {
            schema: SCHEMA,
            date: crate::page::date(),
            rounds,
            host,
            versions: BTreeMap::new(),
            skipped: Vec::new(),
            bars,
            scenarios,
            runs,
        }
    }

    #[cfg(test)]
    pub(super) fn for_test(runs: Vec<Run>, skipped: &[(&str, &str)]) -> Comparison {
        let scenarios = super::scenarios::SCENARIOS.iter().filter(|s| s.name == "closed").collect();
        let skipped = skipped.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Comparison { skipped, ..Comparison::new(9, Value::Null, scenarios, runs) }
    }

    /// `peers-DATE.md` and `.json` under docs/benchmarks/; of some scenarios only, `peers-DATE-SCENARIOS`, so that a
    /// whole comparison stays.
    pub(super) fn store(&self, root: &Path, page: &str, only: &[String]) -> Result<(), String> {
        let json = serde_json::to_string(self).map_err(|e| e.to_string())?;
        let name = [&[format!("peers-{}", self.date)], only].concat().join("-");
        crate::page::store(root, &name, page, Some(&format!("{json}\n")))
    }
}

fn names<S: Serializer>(scenarios: &[&'static Scenario], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(scenarios.iter().map(|s| (s.name, s.title, s.note)))
}
