//! From the lines of a log to requests in the order in which they are due: one pass, and a sort.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Known;
use std::time::Duration;

use super::line::{Format, Logged};
use super::{LENGTH_MAX, NO_REQUEST, RecordedReplay, Replay};
use crate::fnv::{fnv1a, folded};
use crate::list::{ERRORS_MAX, LINES_MAX, ListError, ListedRequest, Order, TargetList, lines};
use crate::plan::seed_of;
use crate::target::Target;
use crate::units::{nanoseconds, show_duration};

/// How far behind an earlier line a line's time may be. Logs are written when requests end, and Apache's times are those at
/// which they began: so long may a request have taken.
const BEHIND_MAX: Duration = Duration::from_secs(3600);
/// Methods whose requests are counted by name where they are left out (RFC 9110 and RFC 5789).
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
/// What others are called.
const OTHER_METHODS: &str = "other methods";

/// What is asked of a log.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    /// Whom its requests go to, whatever servers it names.
    pub server: &'a Target,
    pub methods: Vec<String>,
    /// Within [`super::SPEEDS`].
    pub speed: f64,
    pub looped: bool,
    pub seed: u64,
}

/// A request that is replayed; 32 bytes.
struct Entry {
    /// Since 1970.
    at_ns: i128,
    line: u32,
    request: u32,
}

struct Reader<'a> {
    asked: &'a Asked<'a>,
    known: HashMap<(String, String), u32>,
    requests: Vec<ListedRequest>,
    entries: Vec<Entry>,
    /// The latest time so far, and its line.
    latest: Option<(i128, usize)>,
    record: RecordedReplay,
}

/// Reads a log: its requests, each once, and when they are due; at most [`ERRORS_MAX`] errors, and one at least. It may have
/// [`LINES_MAX`] requests.
pub fn read(text: &[u8], asked: &Asked<'_>) -> Result<(TargetList, Replay), Vec<ListError>> {
    let body = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let format = Format::of(lines(body).next().map_or(&[][..], |(_, line)| line));
    let mut reader = Reader {
        asked,
        known: HashMap::new(),
        requests: Vec::new(),
        entries: Vec::new(),
        latest: None,
        record: RecordedReplay {
            fingerprint: format!("{:08x}", folded(fnv1a(text.iter().copied()))),
            speed: asked.speed,
            looped: asked.looped,
            methods: asked.methods.clone(),
            ..RecordedReplay::default()
        },
    };
    let mut errors = Vec::new();
    for (number, line) in lines(body).skip(usize::from(matches!(format, Format::Csv(_)))) {
        let taken = format.logged(line).and_then(|logged| reader.take(number, logged));
        if let Err(why) = taken {
            errors.push(ListError { line: Some(number), why });
        }
        if errors.len() >= ERRORS_MAX || reader.entries.len() > LINES_MAX {
            break;
        }
    }
    if reader.entries.len() > LINES_MAX {
        let why = format!("A log may have at most {LINES_MAX} requests to replay: give a part of it.");
        return Err(vec![ListError { line: None, why }]);
    }
    if errors.is_empty() { reader.finish() } else { Err(errors) }
}

impl Reader<'_> {
    fn take(&mut self, number: usize, logged: Logged) -> Result<(), String> {
        let Logged { at, request_time_ns, request } = logged;
        if let Some((latest, line)) = self.latest.filter(|(latest, _)| at.ns < latest - ns(BEHIND_MAX)) {
            let behind = Duration::from_secs(((latest - at.ns) / 1_000_000_000) as u64);
            return Err(format!(
                "Its time is {} before that of line {line}, and may be {} behind: sort the lines of several logs by their \
                 time.",
                show_duration(behind),
                show_duration(BEHIND_MAX)
            ));
        }
        if self.latest.is_none_or(|(latest, _)| at.ns > latest) {
            self.latest = Some((at.ns, number));
        }
        let Some((method, path)) = request else {
            *self.record.left_out.entry(NO_REQUEST.to_owned()).or_default() += 1;
            return Ok(());
        };
        if !self.asked.methods.contains(&method) {
            let reason = METHODS.into_iter().find(|known| *known == method).unwrap_or(OTHER_METHODS);
            *self.record.left_out.entry(reason.to_owned()).or_default() += 1;
            return Ok(());
        }
        let line = u32::try_from(number).unwrap_or(u32::MAX);
        let spread = if at.is_whole { seed_of(self.asked.seed, line) % 1_000_000_000 } else { 0 };
        self.record.spread += u64::from(at.is_whole);
        self.record.spread_seed = at.is_whole.then_some(self.asked.seed).or(self.record.spread_seed);
        self.record.request_times += u64::from(request_time_ns.is_some());
        let at_ns = at.ns + i128::from(spread) - request_time_ns.unwrap_or(0);
        let request = self.request(method, path);
        self.entries.push(Entry { at_ns, line, request });
        Ok(())
    }

    /// The number of a request, which may be a new one.
    fn request(&mut self, method: String, path: String) -> u32 {
        let next = self.requests.len() as u32;
        match self.known.entry((method, path)) {
            Known::Occupied(known) => *known.get(),
            Known::Vacant(new) => {
                let ((method, path), userinfo) = (new.key().clone(), self.asked.server.userinfo.clone());
                self.requests.push(ListedRequest { method, path, userinfo, origin: 0, own: None });
                *new.insert(next)
            }
        }
    }

    fn finish(self) -> Result<(TargetList, Replay), Vec<ListError>> {
        let Reader { asked, requests, mut entries, record, .. } = self;
        let nowhere = |why| vec![ListError { line: None, why }];
        entries.sort_unstable_by_key(|entry| (entry.at_ns, entry.line));
        let Some((first, last)) = entries.first().zip(entries.last()) else {
            let left_out: u64 = record.left_out.values().sum();
            return Err(nowhere(format!(
                "It holds no request by {}, and {left_out} lines without one or by others: --methods says which are replayed.",
                asked.methods.join(" or ")
            )));
        };
        let length = last.at_ns - first.at_ns;
        if length > ns(LENGTH_MAX) {
            return Err(nowhere(format!(
                "Its requests lie over {} days apart: give a part of it.",
                LENGTH_MAX.as_secs() / (24 * 3600)
            )));
        }
        let micro = (asked.speed * 1e6).round().max(1.0) as i128;
        let due = |entry: &Entry| ((entry.at_ns - first.at_ns) * 1_000_000 / micro) as u64;
        let record = RecordedReplay { entries: entries.len() as u64, length_ns: length as u64, ..record };
        let replay = Replay::new(entries.iter().map(due).collect(), asked.looped, record);
        let list = TargetList {
            method: "GET".to_owned(),
            requests,
            lines: entries.iter().map(|entry| entry.request).collect(),
            order: Order::InTurn,
            origins: Vec::new(),
            format: crate::list::Format::Plain,
            file: None,
        };
        Ok((list, replay))
    }
}

fn ns(duration: Duration) -> i128 {
    nanoseconds(duration).into()
}
