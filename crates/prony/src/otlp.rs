//! `--otlp URL`: a run's metrics, sent to an OpenTelemetry collector while it goes on (OTLP over HTTP, as JSON). A thread
//! under the kernel's idle policy sends them; the load hands snapshots over and waits for nothing. The last ones are sent
//! when the load is over, by whoever waits for that.

mod message;

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prony_load::Snapshot;
use prony_load::dial::Dialer;
use prony_model::run_log::PlannedTrial;
use prony_model::secret::redacted;
use prony_model::units::nanoseconds;
use prony_model::{Plan, Secret, Target, Trial};
use serde_json::Value;

use crate::failure::Failure;
use crate::printer::Printer;
use message::{Load, Stream};

const EVERY: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(2);
/// After the run, for an export under way, or a resolver that does not answer.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// Loads that ended and whose last figures no collector has taken yet.
const ENDED_MAX: usize = 100;

/// Where `--otlp` sends to.
#[derive(Debug)]
pub(crate) struct Endpoint(Target);

impl Endpoint {
    pub(crate) fn parse(url: &str) -> Result<Endpoint, Failure> {
        let mut target = Target::given(url).map_err(|why| Failure::usage(format!("--otlp: {why}")))?;
        // As exporters treat a URL for all signals (OpenTelemetry, OTLP exporter configuration).
        if let Some(query) =
            target.path.strip_prefix('/').filter(|rest| rest.is_empty() || rest.starts_with('?'))
        {
            target.path = format!("/v1/metrics{query}");
        }
        Ok(Endpoint(target))
    }

    fn resolved(&self) -> Result<Dialer, String> {
        Dialer::of(&Plan::closed(self.0.clone())).map_err(|why| why.to_string())
    }

    /// Sends it; what a collector that took the rest has rejected, which is not to be sent again (OTLP, partial success).
    fn post(&self, dialer: &Dialer, body: &[u8]) -> Result<Option<String>, String> {
        let agent = format!("prony/{}", env!("CARGO_PKG_VERSION"));
        let headers = [("Content-Type", "application/json"), ("User-Agent", agent.as_str())];
        let headers = headers.map(|(name, value)| Ok((name.to_owned(), Secret::of_header(name, value)?)));
        let headers = self.0.headers(headers.into_iter().collect::<Result<_, String>>()?);
        let (status, said) = prony_lab::post(dialer, &self.0.path, &headers, body, TIMEOUT)?;
        if !(200..300).contains(&status) {
            return Err(format!("It responded with status {status}."));
        }
        let said: Value = serde_json::from_slice(&said).unwrap_or_default();
        let rejected = &said["partialSuccess"]["rejectedDataPoints"];
        let why = said["partialSuccess"]["errorMessage"].as_str().unwrap_or("without a reason");
        // A 64-bit integer, which OTLP's JSON has as a text or as a number.
        match rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()) {
            None | Some(0) => Ok(None),
            Some(n) => Ok(Some(format!("It rejected {n} data points: {why}."))),
        }
    }
}

enum Told {
    Seen(Box<Stream>),
    /// A load is over; the window's responses by status.
    Ended(BTreeMap<String, u64>),
    Over,
}

pub(crate) struct Otlp {
    told: Sender<Told>,
    over: Receiver<Exporter>,
    url: String,
}

impl Otlp {
    pub(crate) fn start(endpoint: Endpoint, cpus: &[u32], printer: &Printer) -> Result<Otlp, Failure> {
        let (url, cpus) = (endpoint.0.display_url(), cpus.to_vec());
        let ((told, hears), (tells, over)) = (mpsc::channel(), mpsc::channel());
        let run = move || {
            prony_host::cpus::enter_background(&cpus);
            let mut exporter = Exporter::new(endpoint);
            exporter.run(&hears);
            // Who waits no longer needs it no more.
            let _ = tells.send(exporter);
        };
        let started = thread::Builder::new().name("otlp".to_owned()).spawn(run);
        started.map_err(|why| Failure::usage(format!("--otlp: its thread could not be started: {why}.")))?;
        printer.note(&format!("OTLP metrics: {url}, every {} s", EVERY.as_secs()));
        Ok(Otlp { told, over, url })
    }

    pub(crate) fn snapshot(&self, of: Option<&PlannedTrial>, plan: &Plan, snapshot: &Snapshot) {
        let at_ns = since_1970();
        let start_ns = at_ns.saturating_sub(snapshot.elapsed_ns);
        let (load, statuses) = (Load::of(of, plan), BTreeMap::new());
        self.tell(Told::Seen(Box::new(Stream { load, start_ns, at_ns, snapshot: *snapshot, statuses })));
    }

    pub(crate) fn load_ends(&self, trial: Option<&Trial>) {
        self.tell(Told::Ended(trial.map(|trial| trial.status.clone()).unwrap_or_default()));
    }

    pub(crate) fn finish(&self, printer: &Printer) {
        self.tell(Told::Over);
        let failed = match self.over.recv_timeout(LAST_WAIT) {
            Ok(mut exporter) => {
                exporter.export();
                let Exporter { exports, failed, last_why, .. } = exporter;
                if failed == 0 {
                    return;
                }
                format!("{failed} of {exports} exports to {} failed. The last time: {last_why}", self.url)
            }
            Err(_) => format!("an export to {} did not end within {} s.", self.url, LAST_WAIT.as_secs()),
        };
        printer.note(&redacted(&format!("--otlp: {failed} Load and result do not depend on it.")));
    }

    fn tell(&self, what: Told) {
        // A thread that is gone is found out at the end.
        let _ = self.told.send(what);
    }
}

fn since_1970() -> u64 {
    nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

struct Exporter {
    endpoint: Endpoint,
    /// By the collector's addresses, or why these are not known.
    dialer: Result<Dialer, String>,
    /// Two Pronys at once are two instances of one service.
    instance: String,
    now: Option<Stream>,
    ended: VecDeque<Stream>,
    exports: u64,
    failed: u64,
    last_why: String,
}

impl Exporter {
    fn new(endpoint: Endpoint) -> Exporter {
        Exporter {
            endpoint,
            dialer: Err("Its name is not resolved yet.".to_owned()),
            instance: format!("{}-{}", std::process::id(), since_1970()),
            now: None,
            ended: VecDeque::new(),
            exports: 0,
            failed: 0,
            last_why: String::new(),
        }
    }

    fn run(&mut self, told: &Receiver<Told>) {
        self.dialer = self.endpoint.resolved();
        let mut next = Instant::now() + EVERY;
        loop {
            match told.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Told::Seen(seen)) => self.take(*seen),
                Ok(Told::Ended(statuses)) => self.end(statuses),
                Err(RecvTimeoutError::Timeout) => {
                    if self.dialer.is_err() {
                        self.dialer = self.endpoint.resolved();
                    }
                    self.export();
                    next = Instant::now() + EVERY;
                }
                Ok(Told::Over) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Points of one load have one start, by which a collector sees that counts begin anew.
    fn take(&mut self, seen: Stream) {
        let goes_on =
            |now: &&mut Stream| now.load == seen.load && now.snapshot.elapsed_ns <= seen.snapshot.elapsed_ns;
        match self.now.as_mut().filter(goes_on) {
            Some(now) => *now = Stream { start_ns: now.start_ns, ..seen },
            None => {
                self.end(BTreeMap::new());
                self.now = Some(seen);
            }
        }
    }

    fn end(&mut self, statuses: BTreeMap<String, u64>) {
        let Some(now) = self.now.take() else { return };
        self.ended.push_back(Stream { statuses, ..now });
        if self.ended.len() > ENDED_MAX {
            self.ended.pop_front();
        }
    }

    fn export(&mut self) {
        let streams: Vec<&Stream> = self.ended.iter().chain(&self.now).collect();
        if streams.is_empty() {
            return;
        }
        let body = message::request(&self.instance, &streams).to_string();
        self.exports += 1;
        let dialer = self.dialer.as_ref().map_err(String::clone);
        match dialer.and_then(|dialer| self.endpoint.post(dialer, body.as_bytes())) {
            Ok(rejected) => {
                self.ended.clear();
                self.failed += u64::from(rejected.is_some());
                self.last_why = rejected.unwrap_or_else(|| std::mem::take(&mut self.last_why));
            }
            Err(why) => {
                self.failed += 1;
                self.last_why = why;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::USAGE;

    fn seen(trial: u32, elapsed_ns: u64) -> Stream {
        let snapshot = Snapshot { elapsed_ns, ..Snapshot::default() };
        Stream {
            load: message::tests::load(Some(trial)),
            start_ns: elapsed_ns + 7,
            at_ns: 2 * elapsed_ns,
            snapshot,
            statuses: BTreeMap::new(),
        }
    }

    #[test]
    fn a_path_is_added_where_the_url_has_none() {
        let url = |text: &str| Endpoint::parse(text).unwrap().0.display_url();
        assert_eq!(url("http://h:4318"), "http://h:4318/v1/metrics");
        assert_eq!(url("https://me:pw@h/?a=b"), "https://h/v1/metrics?a=b");
        assert_eq!(url("http://h:4318/otlp"), "http://h:4318/otlp");
        let why = Endpoint::parse("grpc://h:4317").unwrap_err();
        assert_eq!(why.code, USAGE);
        assert!(why.message.starts_with("--otlp: grpc:// is not a scheme"), "{}", why.message);
    }

    #[test]
    fn a_load_keeps_its_start_and_a_new_one_has_its_own() {
        let mut exporter = Exporter::new(Endpoint::parse("http://127.0.0.1:1").unwrap());
        for (trial, elapsed_ns) in [(0, 1), (0, 2), (0, 1), (1, 1)] {
            exporter.take(seen(trial, elapsed_ns));
        }
        let starts: Vec<u64> = exporter.ended.iter().chain(&exporter.now).map(|s| s.start_ns).collect();
        assert_eq!(starts, [8, 8, 8]);
        assert_eq!(exporter.ended[0].at_ns, 4, "its last snapshot");
        (0..200).for_each(|trial| exporter.take(seen(trial, 1)));
        assert_eq!(exporter.ended.len(), ENDED_MAX);
        // Nobody listens there: what was not taken stays for the next time.
        exporter.dialer = exporter.endpoint.resolved();
        exporter.export();
        assert_eq!((exporter.failed, exporter.ended.len()), (1, ENDED_MAX));
        assert!(exporter.last_why.contains("refused"), "{}", exporter.last_why);
    }
}
