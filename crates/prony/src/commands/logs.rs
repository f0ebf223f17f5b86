//! Run logs as commands that show them take them: a search that `prony capacity --json` wrote is one, too.

use std::path::Path;

use prony_record::capacity::CapacityReport;
use prony_record::run_log::{Line, RunLog, RunLogError, RunLogWriter};

use crate::failure::Failure;

/// Reads a run log, or a search as one.
pub(crate) fn read(path: &Path) -> Result<RunLog, RunLogError> {
    RunLog::read(path).or_else(|why| {
        // A file of that kind is no run log by its first line, whatever else it is.
        let search = matches!(why, RunLogError::Schema { .. }).then(|| CapacityReport::read(path)).flatten();
        search.map(|report| report.run_log(&report.target.url)).ok_or(why)
    })
}

/// Where a search is appended: opened before it, so that a file that cannot be written is found before minutes
/// of load are lost.
pub(crate) enum SearchLog {
    New(String),
    Existing(u32, RunLogWriter),
}

impl SearchLog {
    /// A new run log, or one of trials made one by one.
    pub(crate) fn open(path: &str) -> Result<SearchLog, Failure> {
        if !Path::new(path).exists() {
            return Ok(SearchLog::New(path.to_owned()));
        }
        let log = RunLog::read(Path::new(path))?;
        if log.header.name != super::load::RUN_NAME {
            return Err(Failure::usage(format!(
                "{path} is the run log of the experiment {:?}: give -o another file for searches of `prony capacity`.",
                log.header.name
            )));
        }
        let next = log.results.iter().map(|r| r.planned.index.saturating_add(1)).max().unwrap_or(0);
        Ok(SearchLog::Existing(next, RunLogWriter::open(Path::new(path))?))
    }

    /// Appends a search of a candidate called so.
    pub(crate) fn append(self, report: &CapacityReport, candidate: &str) -> Result<(), Failure> {
        let (index, mut writer) = match self {
            SearchLog::New(path) => {
                let mut header = report.header(candidate);
                header.commit = prony_lab::commit::current();
                (0, RunLogWriter::create(Path::new(&path), &header)?)
            }
            SearchLog::Existing(index, writer) => (index, writer),
        };
        Ok(writer.append(&Line::Result(report.result(candidate, index)))?)
    }
}
