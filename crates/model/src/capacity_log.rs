//! A search of `prony capacity` in a run log, so that whatever shows run logs shows it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Tool;
use crate::capacity::{CapacityReport, SCHEMA};
use crate::observed::Observed;
use crate::one_by_one::OneByOne;
use crate::run_log::{Header, NamedPlan, PlannedTrial, RawResult, RunLog, TrialResult};
use crate::trial::TargetRecord;

/// A file that is longer is no search: a confirmation of a minute takes about 1 MB.
const FILE_MAX_BYTES: u64 = 64 << 20;

impl CapacityReport {
    /// What `prony capacity --json` wrote; `None` where the file is not that.
    pub fn read(path: &Path) -> Option<CapacityReport> {
        let mut text = String::new();
        File::open(path).ok()?.take(FILE_MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str::<CapacityReport>(&text).ok().filter(|report| report.schema == SCHEMA)
    }

    /// A run log of it alone, of a candidate called so.
    pub fn run_log(&self, candidate: &str) -> RunLog {
        RunLog {
            header: self.header(candidate),
            results: vec![self.result(candidate, 0)],
            events: Vec::new(),
            unfinished: Vec::new(),
            truncated: false,
        }
    }

    /// The header of a run log that begins with it; the commit is not the search's own, and left out.
    pub fn header(&self, candidate: &str) -> Header {
        let kept = &self.found.slo;
        OneByOne {
            tool: self.tool.clone(),
            created_at: self.started_at.clone(),
            reproduce: self.reproduce.clone(),
            host: self.host.clone(),
            candidate: candidate.to_owned(),
            plan: NamedPlan {
                name: self.plan_name(),
                describe: format!("{} connections, capacity, kept: {kept}", self.plan.connections),
                plan: self.plan.clone(),
                group: None,
                share: None,
                capacity: Some(kept.clone()),
            },
            commit: None,
        }
        .header()
    }

    /// It as a trial of that number; the confirmation is what was measured.
    pub fn result(&self, candidate: &str, index: u32) -> TrialResult {
        let RawResult { planned, failure, capacity, .. } = self.raw(candidate, index, None);
        TrialResult { planned, trial: self.confirmation.clone(), server: None, failure, capacity }
    }

    /// The same as a run log keeps it, with what was observed of the confirmation.
    pub fn raw(&self, candidate: &str, index: u32, observed: Option<Observed>) -> RawResult {
        let failure = match (&self.found.void, &self.found.capacity_per_s) {
            (Some(why), _) => Some(format!("its capacity was not found: {why}")),
            (None, None) => Some(format!("no rate that was tried is sustained ({})", self.found.slo)),
            (None, Some(_)) => None,
        };
        let planned = PlannedTrial::one_by_one(index, candidate, &self.plan_name());
        RawResult { planned, observed, failure, capacity: Some(self.found.clone()) }
    }

    fn plan_name(&self) -> String {
        format!("c{}-capacity", self.plan.connections)
    }

    /// The search that a result is; `None` where it is none, or where nothing of its load is known.
    pub fn of(header: &Header, result: &TrialResult) -> Option<CapacityReport> {
        let found = result.capacity.clone()?;
        let named = header.plans.iter().find(|named| named.name == result.planned.plan);
        let plan = result.trial.as_ref().map(|t| &t.plan).or(named.map(|n| &n.plan))?.clone();
        let target = result.trial.as_ref().map(|trial| trial.target.clone());
        Some(CapacityReport {
            schema: SCHEMA.to_owned(),
            tool: result.trial.as_ref().map_or_else(Tool::this, |trial| trial.tool.clone()),
            started_at: result.trial.as_ref().map_or(&header.created_at, |trial| &trial.started_at).clone(),
            reproduce: header.reproduce.clone(),
            interrupted: false,
            target: target.unwrap_or_else(|| TargetRecord { url: plan.url.clone(), address: String::new() }),
            plan,
            host: header.host.clone(),
            found,
            confirmation: result.trial.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimate;
    use crate::capacity::CapacityRecord;
    use crate::export::testing;
    use crate::trial::Bound;

    fn report() -> CapacityReport {
        let trial = testing::trial(&[&[1_000, 2_000]]);
        CapacityReport {
            schema: SCHEMA.to_owned(),
            tool: Tool::this(),
            started_at: trial.started_at.clone(),
            reproduce: "prony capacity http://h/ --slo 'p99<50ms'".to_owned(),
            interrupted: false,
            target: trial.target.clone(),
            plan: trial.plan.clone(),
            host: trial.host.clone(),
            found: CapacityRecord {
                slo: "p99<50ms".to_owned(),
                capacity_per_s: Some(Estimate::new(900.0, 900.0, 950.0, 7)),
                bound: Bound::Exact,
                confirmed: None,
                recovers: None,
                probes: Vec::new(),
                void: None,
            },
            confirmation: Some(trial),
        }
    }

    #[test]
    fn a_search_goes_into_a_run_log_and_comes_back() {
        let report = report();
        let log = report.run_log("a");
        assert!(log.header.one_by_one);
        assert_eq!(log.results.len(), 1);
        assert_eq!(CapacityReport::of(&log.header, &log.results[0]).unwrap(), report);
        let plain = TrialResult { capacity: None, ..log.results[0].clone() };
        assert_eq!(CapacityReport::of(&log.header, &plain), None);
    }

    #[test]
    fn its_own_file_is_known_and_no_other() {
        let folder = std::env::temp_dir().join(format!("prony-capacity-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("c.json");
        std::fs::write(&file, serde_json::to_string_pretty(&report()).unwrap()).unwrap();
        assert_eq!(CapacityReport::read(&file), Some(report()));
        let other = CapacityReport { schema: "prony.capacity/2".to_owned(), ..report() };
        std::fs::write(&file, serde_json::to_string(&other).unwrap()).unwrap();
        assert_eq!(CapacityReport::read(&file), None);
        std::fs::write(&file, "{\"type\":\"header\"}").unwrap();
        assert_eq!(CapacityReport::read(&file), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
