//! A search of `prony capacity` in a run log, so that whatever shows run logs shows it.

use std::path::Path;

use serde_json::Value;

use crate::capacity::{CapacityReport, SCHEMA};
use crate::limits::{few, numbers};
use crate::observed::Observed;
use crate::recorded_plan::RecordedPlan;
use crate::run_log::{Header, NamedPlan, PlannedTrial, RawResult, RunLog, TrialResult};
use crate::secret::{redacted_command, typed_again};
use crate::{foreign_file, unpacking};

/// A file that is longer is no search: a confirmation of a minute takes about 1 MB.
const FILE_MAX_BYTES: u64 = 64 << 20;
/// A file of more values is none either: a confirmation has ten for each of 600 seconds.
const VALUES_MAX: usize = 1_000_000;
const UNPACKED_MAX: usize = 64 << 20;
const SERIES_MAX: usize = 1_000;

impl CapacityReport {
    /// What `prony capacity --json` wrote; `None` where the file is not that.
    pub fn read(path: &Path) -> Option<CapacityReport> {
        let text = foreign_file::read_text(path, FILE_MAX_BYTES).ok()?;
        // Each value but the first has a comma before it.
        if text.bytes().filter(|byte| *byte == b',').count() > VALUES_MAX {
            return None;
        }
        let value: Value = serde_json::from_str(&text).ok()?;
        check_numbers(&value).ok()?;
        let read = unpacking::within(UNPACKED_MAX, || serde_json::from_value::<CapacityReport>(value)).0;
        let mut report = read.ok().filter(|report| report.schema == SCHEMA && report.check().is_ok())?;
        report.redact();
        Some(report)
    }

    /// As of a run log's lines: an older Prony may have written it.
    fn redact(&mut self) {
        self.reproduce = typed_again(&self.reproduce);
        self.plan.redact();
        self.target.url = redacted_command(&self.target.url);
        if let Some(trial) = &mut self.confirmation {
            trial.plan.redact();
            trial.target.url = redacted_command(&trial.target.url);
        }
    }

    /// Whether what [`check_numbers`] leaves out can be Prony's, too.
    fn check(&self) -> Result<(), String> {
        let plans = [Some(&self.plan), self.confirmation.as_ref().map(|trial| &trial.plan)];
        plans.into_iter().flatten().try_for_each(RecordedPlan::check_numbers)?;
        let seconds = self.confirmation.as_ref().map_or(0, |trial| trial.series.len());
        few("entries in its series", seconds, SERIES_MAX)
    }

    pub fn run_log(&self, candidate: &str) -> RunLog {
        let RawResult { planned, failure, capacity, .. } = self.raw(candidate, 0, None);
        let trial = self.confirmation.clone();
        RunLog::new(
            self.header(candidate),
            vec![TrialResult { planned, trial, server: None, failure, capacity }],
        )
    }

    /// The header of a run log that begins with it; the commit is not the search's own, and left out.
    pub fn header(&self, candidate: &str) -> Header {
        let kept = &self.found.slo;
        let plan = NamedPlan {
            name: self.plan_name(),
            plan: self.plan.clone(),
            capacity: Some(kept.clone()),
            ..NamedPlan::default()
        }
        .described();
        Header {
            tool: self.tool.clone(),
            created_at: self.started_at.clone(),
            ..Header::of_first_trial(self.host.clone(), self.reproduce.clone(), candidate, plan)
        }
    }

    /// It as the trial of that number in a run log, with what was observed of the confirmation.
    pub fn raw(&self, candidate: &str, index: u32, observed: Option<Observed>) -> RawResult {
        let failure = self.found.failure();
        let planned = PlannedTrial::one_by_one(index, candidate, &self.plan_name());
        RawResult { planned, observed, failure, capacity: Some(self.found.clone()) }
    }

    fn plan_name(&self) -> String {
        format!("c{}-capacity", self.plan.connections)
    }
}

/// Whether all whole numbers are exact in an `f64`; a plan's are its own to check: a seed is any number.
fn check_numbers(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(all) => all.iter().try_for_each(check_numbers),
        Value::Object(all) => {
            all.iter().filter(|(key, _)| *key != "plan").try_for_each(|(_, value)| check_numbers(value))
        }
        Value::Number(number) if number.is_f64() => Ok(()),
        Value::Number(number) => numbers(number.as_i64().map(i64::unsigned_abs).or(number.as_u64())),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::CapacityRecord;
    use crate::testing;
    use crate::trial::Bound;
    use crate::{Estimate, Tool};

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
    fn the_run_log_of_a_search_has_all_of_it() {
        let report = report();
        let log = report.run_log("a");
        assert!(log.header.one_by_one);
        let (header, result) = (&log.header, &log.results[0]);
        assert_eq!((log.results.len(), header.plans.len()), (1, 1));
        assert_eq!((&header.tool, &header.created_at), (&report.tool, &report.started_at));
        assert_eq!((&header.reproduce, &header.host), (&report.reproduce, &report.host));
        assert_eq!((&header.plans[0].name, &header.plans[0].plan), (&result.planned.plan, &report.plan));
        assert_eq!(result.capacity.as_ref(), Some(&report.found));
        assert_eq!(result.trial, report.confirmation);
        assert_eq!(result.trial.as_ref().map(|trial| &trial.target), Some(&report.target));
    }

    #[test]
    fn only_a_file_of_prony_capacity_is_read_as_a_search() {
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
        // A number that no sum of several could hold.
        let mut hostile = report();
        hostile.confirmation.as_mut().unwrap().requests.failed = u64::MAX;
        std::fs::write(&file, serde_json::to_string(&hostile).unwrap()).unwrap();
        assert_eq!(CapacityReport::read(&file), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
