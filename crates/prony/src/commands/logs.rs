//! Run logs as the commands read and write them.

use std::path::Path;

use prony_analysis::run_log;
use prony_model::run_log::{Header, Line, RawResult, RunLog, RunLogWriter};

use crate::failure::Failure;
use crate::printer::Printer;

/// A run log of this file, after a note where its last line is incomplete.
pub(crate) fn noted(log: RunLog, path: &str, printer: &Printer) -> RunLog {
    if log.truncated {
        printer.note(&format!("{path}: its last line was cut off and is ignored."));
    }
    log
}

/// The run log that trials are appended to: opened before the load, so that one that cannot be written costs no load.
pub(crate) enum Log {
    New(String),
    Existing(u32, Box<RunLogWriter>),
}

impl Log {
    pub(crate) fn open(path: &str, command: &str, printer: &Printer) -> Result<Log, Failure> {
        if !Path::new(path).exists() {
            return Ok(Log::New(path.to_owned()));
        }
        let log = noted(run_log::read(Path::new(path))?, path, printer);
        if !log.header.one_by_one {
            return Err(Failure::usage(format!(
                "{path} is the run log of the experiment {:?}: give -o another file for trials of `prony {command}`.",
                log.header.name
            )));
        }
        let writer = RunLogWriter::open(Path::new(path))?;
        // Once more: until now another may have written it.
        let log = run_log::read(Path::new(path))?;
        let next = log.results.iter().map(|r| r.planned.index.saturating_add(1)).max().unwrap_or(0);
        Ok(Log::Existing(next, Box::new(writer)))
    }

    /// Appends the trial that `result` makes of its number; a new run log begins with this header.
    pub(crate) fn append(
        &mut self,
        header: impl FnOnce() -> Header,
        result: impl FnOnce(u32) -> RawResult,
    ) -> Result<(), Failure> {
        if let Log::New(path) = self {
            *self = Log::Existing(0, Box::new(RunLogWriter::create(Path::new(&path), &header())?));
        }
        let Log::Existing(next, writer) = self else { return Ok(()) };
        let line = Line::Result(result(*next));
        *next = next.saturating_add(1);
        Ok(writer.append(line)?)
    }
}
