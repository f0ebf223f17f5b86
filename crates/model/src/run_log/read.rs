//! Reading a run log: what was whole of it, judged result by result.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::wrong::{check_schema, first_line_is_wrong};
use super::{Header, Judge, LINE_MAX_BYTES, Line, RunLog, RunLogError, TrialResult};
use crate::printable::printable;

impl RunLog {
    /// Reads a run log; `judge` says what each result means, or in a sentence what is wrong with it.
    ///
    /// # Errors
    /// When it cannot be read, is not a run log, is of another schema, or has
    /// a broken line before its last.
    pub fn read(path: &Path, judge: Judge<'_>) -> Result<RunLog, RunLogError> {
        let file = File::open(path).map_err(|source| RunLogError::Io { path: path.to_owned(), source })?;
        RunLog::read_from(BufReader::new(file), path, judge)
    }

    /// Reads a run log from anything; `path` is what errors call it.
    ///
    /// # Errors
    /// As [`RunLog::read`].
    pub fn read_from(mut reader: impl BufRead, path: &Path, judge: Judge<'_>) -> Result<RunLog, RunLogError> {
        let io = |source| RunLogError::Io { path: path.to_owned(), source };
        let schema = |why: String| RunLogError::Schema { path: path.to_owned(), why };
        let mut text = Vec::new();
        let mut log: Option<RunLog> = None;
        for number in 1.. {
            text.clear();
            let read = reader.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut text).map_err(io)?;
            if read == 0 {
                break;
            }
            let wrong = |why: String| RunLogError::Line { path: path.to_owned(), line: number, why };
            let whole = text.last() == Some(&b'\n');
            if !whole && read as u64 == LINE_MAX_BYTES {
                return Err(wrong(format!("it is longer than {} MiB", LINE_MAX_BYTES >> 20)));
            }
            match Line::read(&text) {
                Ok(line) => match (&mut log, line) {
                    (None, Line::Header(header)) => {
                        check_schema(&header.schema).map_err(schema)?;
                        log = Some(RunLog::of(header, Vec::new()));
                    }
                    (None, _) => {
                        return Err(schema(
                            "its first line is not a header: this is not a run log".to_owned(),
                        ));
                    }
                    (Some(log), line) => log.take(line, judge).map_err(|why| wrong(printable(&why)))?,
                },
                Err(_) if !whole && log.is_some() => {
                    if let Some(log) = &mut log {
                        log.truncated = true;
                    }
                }
                Err(why) if number == 1 => return Err(schema(first_line_is_wrong(&text, &why))),
                Err(why) => return Err(wrong(printable(&why.to_string()))),
            }
        }
        log.ok_or_else(|| schema("the file is empty: nothing was recorded".to_owned()))
    }

    /// Of several results of one planned trial (after a resume) the last, by index.
    pub fn last_results(&self) -> BTreeMap<u32, &TrialResult> {
        self.results.iter().map(|result| (result.planned.index, result)).collect()
    }

    /// A whole run log of these results.
    pub fn of(header: Header, results: Vec<TrialResult>) -> RunLog {
        RunLog { header, results, events: Vec::new(), unfinished: Vec::new(), truncated: false }
    }

    fn take(&mut self, line: Line, judge: Judge<'_>) -> Result<(), String> {
        match line {
            Line::Header(_) => {} // a second header says nothing new
            Line::TrialStart(start) => {
                self.unfinished.retain(|p| p.index != start.planned.index);
                self.unfinished.push(start.planned);
            }
            Line::Result(result) => {
                self.unfinished.retain(|p| p.index != result.planned.index);
                self.results.push(judge(&self.header, result)?);
            }
            Line::Event(event) => {
                if let Some(found) = &event.found {
                    let known = self.header.candidates.iter_mut().find(|c| c.label == found.candidate);
                    known.into_iter().for_each(|candidate| candidate.sleep = found.sleep);
                }
                self.events.push(event);
            }
        }
        Ok(())
    }
}
