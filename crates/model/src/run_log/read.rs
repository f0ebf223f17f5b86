//! Reading a run log: what was whole of it, judged result by result.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;

use super::wrong::{check_schema, first_line_is_wrong};
use super::{Event, Header, Judge, LINE_MAX_BYTES, Line, PlannedTrial, RunLog, RunLogError, TrialResult};
use crate::host::Host;
use crate::printable::printable;

/// Lines that are read before they are parsed, and their bytes: work for every CPU in bounded memory.
const BATCH_LINES: usize = 64;
const BATCH_BYTES: usize = 64 << 20;

impl RunLog {
    /// Reads a run log; `judge` says what each result means, or in a sentence what is wrong with it.
    ///
    /// # Errors
    /// When it cannot be read, is not a run log, is of another schema, or has
    /// a broken line before its last.
    pub fn read(path: &Path, judge: Judge<'_>) -> Result<RunLog, RunLogError> {
        let file = File::open(path).map_err(|why| RunLogError::new(path, why))?;
        RunLog::read_from(BufReader::new(file), path, judge)
    }

    /// Reads a run log from anything; `path` is what errors call it. Lines are parsed and judged by all CPUs.
    ///
    /// # Errors
    /// As [`RunLog::read`].
    pub fn read_from(reader: impl BufRead, path: &Path, judge: Judge<'_>) -> Result<RunLog, RunLogError> {
        let no_log = |why: String| RunLogError::new(path, why);
        let mut lines = Lines { reader, path, number: 0 };
        let Some(first) = lines.next()? else {
            return Err(no_log("the file is empty: nothing was recorded".to_owned()));
        };
        let mut log = match Line::read(&first.text) {
            Ok(Line::Header(header)) => {
                check_schema(&header.schema).map_err(no_log)?;
                RunLog::of(header, Vec::new())
            }
            Ok(_) => {
                return Err(no_log("its first line is not a header: this is not a run log".to_owned()));
            }
            Err(why) => return Err(no_log(first_line_is_wrong(&first.text, &why))),
        };
        loop {
            let batch = lines.batch()?;
            if batch.is_empty() {
                return Ok(log);
            }
            let entries = in_parallel(&batch, |line| Entry::of(&line.text, &log.header.host, judge));
            for (line, entry) in batch.iter().zip(entries) {
                match entry {
                    Ok(entry) => log.take(entry),
                    Err(Wrong::Unreadable(_)) if !line.whole => log.truncated = true,
                    Err(Wrong::Unreadable(why)) => return Err(line.wrong(path, &why.to_string())),
                    Err(Wrong::Unjudgeable(why)) => return Err(line.wrong(path, &why)),
                }
            }
        }
    }

    /// Of several results of one planned trial (after a resume) the last, by index.
    pub fn last_results(&self) -> BTreeMap<u32, &TrialResult> {
        self.results.iter().map(|result| (result.planned.index, result)).collect()
    }

    /// A whole run log of these results.
    pub fn of(header: Header, results: Vec<TrialResult>) -> RunLog {
        RunLog { header, results, events: Vec::new(), unfinished: Vec::new(), truncated: false }
    }

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Header => {} // a second header says nothing new
            Entry::TrialStart(planned) => {
                self.unfinished.retain(|p| p.index != planned.index);
                self.unfinished.push(planned);
            }
            Entry::Result(result) => {
                self.unfinished.retain(|p| p.index != result.planned.index);
                self.results.push(*result);
            }
            Entry::Event(event) => {
                if let Some(found) = &event.found {
                    let known = self.header.candidates.iter_mut().find(|c| c.label == found.candidate);
                    known.into_iter().for_each(|candidate| candidate.sleep = found.sleep);
                }
                self.events.push(event);
            }
        }
    }
}

/// A line as it stands in the file.
struct RawLine {
    /// From 1.
    number: usize,
    text: Vec<u8>,
    /// Whether it ends in a line end: the last one may have been cut off.
    whole: bool,
}

impl RawLine {
    fn wrong(&self, path: &Path, why: &str) -> RunLogError {
        let place = format!("{}:{}", path.display(), self.number);
        RunLogError { place, why: format!("this is not a line of a run log: {}", printable(why)) }
    }
}

/// The lines of a file, in bounded memory.
struct Lines<'a, R> {
    reader: R,
    path: &'a Path,
    number: usize,
}

impl<R: BufRead> Lines<'_, R> {
    fn next(&mut self) -> Result<Option<RawLine>, RunLogError> {
        let mut text = Vec::new();
        let read = self.reader.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut text);
        let read = read.map_err(|why| RunLogError::new(self.path, why))?;
        self.number += 1;
        let whole = text.last() == Some(&b'\n');
        let line = RawLine { number: self.number, text, whole };
        if !whole && read as u64 == LINE_MAX_BYTES {
            return Err(line.wrong(self.path, &format!("it is longer than {} MiB", LINE_MAX_BYTES >> 20)));
        }
        Ok((read > 0).then_some(line))
    }

    /// The next lines, at most [`BATCH_LINES`] and little more than [`BATCH_BYTES`].
    fn batch(&mut self) -> Result<Vec<RawLine>, RunLogError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_LINES && bytes < BATCH_BYTES {
            let Some(line) = self.next()? else { break };
            bytes += line.text.len();
            batch.push(line);
        }
        Ok(batch)
    }
}

/// A line's content, judged.
enum Entry {
    Header,
    TrialStart(PlannedTrial),
    Result(Box<TrialResult>),
    Event(Event),
}

/// Why a line has no content.
enum Wrong {
    Unreadable(serde_json::Error),
    Unjudgeable(String),
}

impl Entry {
    fn of(text: &[u8], host: &Host, judge: Judge<'_>) -> Result<Entry, Wrong> {
        Ok(match Line::read(text).map_err(Wrong::Unreadable)? {
            Line::Header(_) => Entry::Header,
            Line::TrialStart(start) => Entry::TrialStart(start.planned),
            Line::Result(raw) => Entry::Result(Box::new(judge(host, raw).map_err(Wrong::Unjudgeable)?)),
            Line::Event(event) => Entry::Event(event),
        })
    }
}

/// What `of` makes of each, in their order, by as many threads as there are CPUs.
fn in_parallel<T: Sync, U: Send>(all: &[T], of: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let of = &of;
    std::thread::scope(|scope| {
        let parts: Vec<_> = all
            .chunks(all.len().div_ceil(threads).max(1))
            .map(|part| scope.spawn(move || part.iter().map(of).collect::<Vec<U>>()))
            .collect();
        let joined = parts.into_iter().map(|part| part.join().unwrap_or_else(|why| resume_unwind(why)));
        joined.flatten().collect()
    })
}
