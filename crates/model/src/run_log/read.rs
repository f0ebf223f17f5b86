//! Reading a run log: what was whole of it, judged result by result.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::Path;

use super::bounds::PROFILES_MAX;
use super::wrong::{check_schema, first_line_is_wrong};
use super::{Event, Header, Judge, LINE_MAX_BYTES, Line, PlannedTrial, RunLog, RunLogError, TrialResult};
use crate::host::Host;
use crate::printable::printable;
use crate::profile::Profile;
use crate::sleep::Sleep;
use crate::{foreign_file, unpacking};

/// The most lines: an experiment's 100,000 trials have three each.
const LINES_MAX: usize = 1_000_000;
/// The most values in a line. A day's trial has 860,000 samples of its server and of each of its CPUs; two bytes of text
/// are a value that takes up to 60 in memory.
const VALUES_MAX: usize = 20_000_000;
/// The most that a line's histograms take unpacked: a trial's seconds 4 MiB, a list's full ones ten times that.
const LINE_UNPACKED_MAX: usize = 128 << 20;
/// The most that all histograms take: this, and for each byte of the log so many. The logs of our tests take up to two.
const LOG_UNPACKED_MAX: usize = 256 << 20;
const UNPACKED_PER_BYTE: usize = 8;
/// Of a path where nothing is.
const NO_FILE: &str = "there is no such file; `prony bench` and `prony load -o FILE` write run logs";
/// Lines that are read before they are parsed, and their bytes: work for every CPU in bounded memory.
const BATCH_LINES: usize = 64;
const BATCH_BYTES: usize = 16 << 20;
/// Of less text threads of their own take longer to start than they save.
const ALONE_BYTES: usize = 1 << 20;

impl RunLog {
    /// Reads a run log; `judge` says what each result means, or in a sentence what is wrong with it.
    pub fn read(path: &Path, judge: Judge<'_>) -> Result<RunLog, RunLogError> {
        let file = foreign_file::open(path).map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => RunLogError::new(path, NO_FILE),
            _ => RunLogError::new(path, why),
        })?;
        RunLog::read_from(BufReader::new(file), path, judge)
    }

    /// Reads a run log from anything; `path` is what errors call it. Lines are parsed and judged by all CPUs.
    pub fn read_from(reader: impl BufRead, path: &Path, judge: Judge<'_>) -> Result<RunLog, RunLogError> {
        let no_log = |why: String| RunLogError::new(path, why);
        let mut lines = Lines { reader, path, number: 0, bytes: 0 };
        let Some(first) = lines.next()? else {
            return Err(no_log("the file is empty: nothing was recorded".to_owned()));
        };
        let mut log = match unpacking::within(LINE_UNPACKED_MAX, || Line::read(&first.text)).0 {
            Ok(Line::Header(header)) => {
                check_schema(&header.schema).map_err(no_log)?;
                header.check().map_err(no_log)?;
                RunLog::new(header, Vec::new())
            }
            Ok(_) => {
                return Err(no_log(
                    "this is not a run log: its first line is not a header; `prony bench` and `prony load -o \
                     FILE` write run logs"
                        .to_owned(),
                ));
            }
            Err(why) => return Err(no_log(first_line_is_wrong(&first.text, &why))),
        };
        let (mut known, mut unpacked) = (Declared::default(), 0);
        loop {
            let batch = lines.batch()?;
            if batch.is_empty() {
                known.conclude(&mut log);
                log.check_size().map_err(no_log)?;
                return Ok(log);
            }
            let small = batch.iter().map(|line| line.text.len()).sum::<usize>() < ALONE_BYTES;
            let entries = in_parallel(&batch, small, |line| Entry::of(&line.text, &log.header.host, judge));
            for (line, (entry, took)) in batch.iter().zip(entries) {
                unpacked += took;
                if unpacked > LOG_UNPACKED_MAX + UNPACKED_PER_BYTE * lines.bytes {
                    return Err(line.wrong(
                        path,
                        "the histograms up to this line take more memory than those of a run log by Prony",
                    ));
                }
                match entry {
                    Ok(entry) => known.take(entry, &mut log),
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

    pub fn set_controls_aside(&mut self) {
        self.controls.extend(self.results.extract_if(.., |result| result.planned.control.is_some()));
    }

    pub fn new(header: Header, results: Vec<TrialResult>) -> RunLog {
        RunLog {
            header,
            results,
            replaced: Vec::new(),
            controls: Vec::new(),
            events: Vec::new(),
            profiles: Vec::new(),
            unfinished: Vec::new(),
            truncated: false,
        }
    }
}

#[derive(Default)]
struct Declared {
    /// Trials that began and have no result as yet, by their index, each with its place in the order they began in.
    begun: BTreeMap<u32, (usize, PlannedTrial)>,
    begins: usize,
    sleeps: BTreeMap<String, Option<Sleep>>,
}

impl Declared {
    fn take(&mut self, entry: Entry, log: &mut RunLog) {
        match entry {
            // Another header of the same run has more blocks.
            Entry::Header(more) => {
                let known = &mut log.header;
                if more.order.len() > known.order.len() && more.order.starts_with(&known.order) {
                    (known.blocks, known.order) = (more.blocks, more.order);
                }
            }
            Entry::TrialStart(planned) => {
                self.begins += 1;
                self.begun.insert(planned.index, (self.begins, planned));
            }
            Entry::Result(result) => {
                self.begun.remove(&result.planned.index);
                log.results.push(*result);
            }
            Entry::Event(event) => {
                let checked = event.found.iter().filter(|found| found.sleep.is_some());
                self.sleeps.extend(checked.map(|found| (found.candidate.clone(), found.sleep)));
                log.events.push(event);
            }
            Entry::Profile(profile) => {
                let same =
                    |other: &Profile| (&other.candidate, &other.plan) == (&profile.candidate, &profile.plan);
                log.profiles.retain(|other| !same(other));
                // One more than there may be, by which the log is refused.
                if log.profiles.len() <= PROFILES_MAX {
                    log.profiles.push(*profile);
                }
            }
        }
    }

    fn conclude(self, log: &mut RunLog) {
        let mut begun: Vec<(usize, PlannedTrial)> = self.begun.into_values().collect();
        begun.sort_by_key(|(place, _)| *place);
        log.unfinished = begun.into_iter().map(|(_, planned)| planned).collect();
        for candidate in &mut log.header.candidates {
            if let Some(sleep) = self.sleeps.get(&candidate.label) {
                candidate.sleep = *sleep;
            }
        }
    }
}

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

struct Lines<'a, R> {
    reader: R,
    path: &'a Path,
    number: usize,
    bytes: usize,
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
        if self.number > LINES_MAX && read > 0 {
            return Err(line.wrong(self.path, &format!("a run log has at most {LINES_MAX} lines")));
        }
        // Each value but the first has a comma before it.
        // By so few that a byte counts them, sixteen together.
        let commas = |few: &[u8]| few.iter().map(|byte| u8::from(*byte == b',')).sum::<u8>();
        if line.text.chunks(255).map(|few| usize::from(commas(few))).sum::<usize>() > VALUES_MAX {
            return Err(line.wrong(self.path, &format!("it has more than {VALUES_MAX} values")));
        }
        self.bytes += read;
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

enum Entry {
    Header(Box<Header>),
    TrialStart(PlannedTrial),
    Result(Box<TrialResult>),
    Event(Event),
    Profile(Box<Profile>),
}

enum Wrong {
    Unreadable(serde_json::Error),
    Unjudgeable(String),
}

impl Entry {
    /// A line's content, and the bytes that its histograms take.
    fn of(text: &[u8], host: &Host, judge: Judge<'_>) -> (Result<Entry, Wrong>, usize) {
        let (line, took) = unpacking::within(LINE_UNPACKED_MAX, || Line::read(text));
        let entry = line.map_err(Wrong::Unreadable).and_then(|line| {
            Ok(match line {
                Line::Header(header) => {
                    header.check().map_err(Wrong::Unjudgeable)?;
                    Entry::Header(Box::new(header))
                }
                Line::TrialStart(start) => {
                    start.planned.check().map_err(Wrong::Unjudgeable)?;
                    Entry::TrialStart(start.planned)
                }
                Line::Result(raw) => {
                    raw.planned.check().map_err(Wrong::Unjudgeable)?;
                    Entry::Result(Box::new(judge(host, raw).map_err(Wrong::Unjudgeable)?))
                }
                Line::Event(event) => Entry::Event(event),
                Line::Profile(profile) => {
                    profile.check().map_err(Wrong::Unjudgeable)?;
                    Entry::Profile(Box::new(profile))
                }
            })
        });
        (entry, took)
    }
}

/// What `of` makes of each, in their order, by as many threads as there are CPUs, or by this one alone.
fn in_parallel<T: Sync, U: Send>(all: &[T], alone: bool, of: impl Fn(&T) -> U + Sync) -> Vec<U> {
    if alone {
        return all.iter().map(of).collect();
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::SparseHistogram;
    use crate::observed::Observed;
    use crate::run_log::{RawResult, SCHEMA};

    fn judge(_: &Host, raw: RawResult) -> Result<TrialResult, String> {
        let RawResult { planned, failure, capacity, .. } = raw;
        Ok(TrialResult { planned, trial: None, server: None, failure, capacity })
    }

    fn read(lines: &str) -> Result<RunLog, String> {
        let header = Header { schema: SCHEMA.to_owned(), ..Header::default() };
        let text = format!("{}\n{lines}", serde_json::to_string(&Line::Header(header)).unwrap());
        RunLog::read_from(text.as_bytes(), Path::new("run.jsonl"), &judge).map_err(|e| e.to_string())
    }

    fn start(index: usize) -> String {
        format!(
            "{{\"type\":\"trial_start\",\"x\":[[{{}}]],\"index\":{index},\"block\":0,\"candidate\":\"a\",\"plan\":\"p\",\"at\":\"\"}}\n"
        )
    }

    fn unfinished(log: &RunLog) -> Vec<u32> {
        log.unfinished.iter().map(|planned| planned.index).collect()
    }

    #[test]
    fn unfinished_trials_are_in_the_order_of_their_last_start() {
        let result = "{\"type\":\"result\",\"index\":2,\"block\":0,\"candidate\":\"a\",\"plan\":\"p\"}\n";
        let lines = [start(0), start(1), start(0), start(2), result.to_owned()].concat();
        assert_eq!(unfinished(&read(&lines).unwrap()), [1, 0]);
        // Each of so many is found again without a look at all others.
        let many: String = (0..100_000).map(start).collect();
        assert_eq!(unfinished(&read(&many).unwrap()), (0..100_000).collect::<Vec<u32>>());
    }

    #[test]
    fn a_line_of_too_many_values_is_refused_before_it_is_parsed() {
        let said = read(&",".repeat(VALUES_MAX + 1)).unwrap_err();
        assert!(said.contains("run.jsonl:2") && said.contains("values"), "{said}");
    }

    #[test]
    fn a_small_line_of_large_histograms_is_refused() {
        let full = SparseHistogram::from_buckets((0..33_000).map(|bucket| (bucket, 1)));
        let text = serde_json::to_string(&full).unwrap();
        let second = format!(
            "{{\"at_ns\":0,\"length_ns\":1,\"completed\":0,\"failed\":0,\"connections\":0,\"response\":{text}}}"
        );
        let raw = RawResult {
            observed: Some(Observed::default()),
            ..RawResult::failed(PlannedTrial::one_by_one(0, "a", "p"), String::new())
        };
        let line = serde_json::to_string(&Line::Result(raw)).unwrap();
        let of = |seconds: usize, times: usize| {
            let series = format!("\"series\":[{}]", vec![second.as_str(); seconds].join(","));
            let line = line.replacen("\"series\":[]", &series, 1);
            assert!(line.contains(&second) && line.len() < 1 << 20, "{} bytes", line.len());
            read(&format!("{line}\n").repeat(times))
        };
        assert_eq!(of(100, 1).map(|log| log.results.len()), Ok(1));
        let said = of(LINE_UNPACKED_MAX / 60_000, 1).unwrap_err();
        assert!(said.contains("more memory"), "{said}");
        // Each is small enough, and all of them are not.
        let said = of(100, 60).unwrap_err();
        assert!(said.contains("up to this line"), "{said}");
    }

    #[test]
    fn a_log_of_too_many_lines_is_refused() {
        let mut lines =
            Lines { reader: &b"\n\n"[..], path: Path::new("run.jsonl"), number: LINES_MAX - 1, bytes: 0 };
        assert!(lines.next().is_ok_and(|line| line.is_some()));
        let said = lines.next().err().unwrap().to_string();
        assert!(said.contains("a run log has at most"), "{said}");
    }

    #[test]
    fn run_logs_must_be_regular_files() {
        let said = RunLog::read(Path::new("/dev/zero"), &judge).unwrap_err().to_string();
        assert!(said.contains("not a regular file"), "{said}");
    }

    #[test]
    fn controls_are_read_as_they_were_written_and_set_aside() {
        let own = PlannedTrial::one_by_one(0, "a", "p");
        let twin = PlannedTrial {
            control: Some(crate::run_log::Control::Twin),
            ..PlannedTrial::one_by_one(1, "a", "p")
        };
        let order = vec![own.clone(), twin.clone()];
        let header = Header { schema: SCHEMA.to_owned(), order: order.clone(), ..Header::default() };
        let results =
            order.into_iter().map(|planned| Line::Result(RawResult::failed(planned, "why".to_owned())));
        let lines = [Line::Header(header)].into_iter().chain(results);
        let text: String = lines.map(|line| serde_json::to_string(&line).unwrap() + "\n").collect();
        assert_eq!(text.matches("\"control\":\"twin\"").count(), 2, "{text}");
        let mut log = read(&text).unwrap();
        assert_eq!((&log.header.order[1], &log.results[1].planned), (&twin, &twin));
        assert_eq!((own.who(), twin.who()), ("a".to_owned(), "twin of a".to_owned()));
        log.set_controls_aside();
        let planned = |results: &[TrialResult]| results.iter().map(|r| r.planned.clone()).collect::<Vec<_>>();
        assert_eq!((planned(&log.results), planned(&log.controls)), (vec![own], vec![twin]));
    }

    #[test]
    fn a_later_header_adds_blocks_and_changes_nothing_else() {
        let planned = |index: u32| PlannedTrial {
            index,
            block: index,
            candidate: "a".to_owned(),
            plan: "p".to_owned(),
            duet: None,
            repeat: 0,
            control: None,
        };
        let header = |trials: std::ops::Range<u32>, seed| {
            let order: Vec<PlannedTrial> = trials.clone().map(planned).collect();
            let header =
                Header { schema: SCHEMA.to_owned(), seed, blocks: trials.end, order, ..Header::default() };
            format!("{}\n", serde_json::to_string(&Line::Header(header)).unwrap())
        };
        let log = read(&[header(0..2, 9), header(0..1, 0), header(1..9, 0)].concat()).unwrap();
        assert_eq!((log.header.blocks, log.header.order.len(), log.header.seed), (2, 2, 0));
    }
}
