//! Run logs, judged as they are read.

use std::io::BufRead;
use std::path::Path;

use prony_model::capacity::CapacityReport;
use prony_model::host::Host;
use prony_model::run_log::{RawResult, RunLog, RunLogError, TrialResult};

use crate::repeats::resolve;
use crate::slo::{Slo, hold_all};
use crate::trial::judge;

pub fn read(path: &Path) -> Result<RunLog, RunLogError> {
    RunLog::read(path, &judge_result).map(resolved)
}

/// The same, or a search that `prony capacity --json` wrote, as a run log.
pub fn read_any(path: &Path) -> Result<RunLog, RunLogError> {
    read(path).or_else(|why| {
        let search = CapacityReport::read(path);
        search.map(|report| report.run_log(&report.target.url)).ok_or(why)
    })
}

fn resolved(mut log: RunLog) -> RunLog {
    resolve(&mut log);
    log.set_controls_aside();
    log
}

/// The same from anything; `path` is what errors call it.
pub fn read_from(reader: impl BufRead, path: &Path) -> Result<RunLog, RunLogError> {
    RunLog::read_from(reader, path, &judge_result).map(resolved)
}

/// What a result means, on this machine unless it names another.
pub fn judge_result(host: &Host, raw: RawResult) -> Result<TrialResult, String> {
    let RawResult { planned, observed, failure, capacity } = raw;
    let Some(observed) = observed else {
        return Ok(TrialResult { planned, trial: None, server: None, failure, capacity });
    };
    observed.check()?;
    let slos: Result<Vec<Slo>, _> = observed.slo.iter().map(|text| Slo::parse(text)).collect();
    let slos = slos.map_err(|why| format!("a threshold in it cannot be read: {why}"))?;
    let mut trial = judge(&observed, host);
    hold_all(&slos, &mut trial, observed.server.as_ref());
    Ok(TrialResult { planned, trial: Some(trial), server: observed.server, failure, capacity })
}
