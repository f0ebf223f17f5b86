//! One trial as JSON: `prony.trial/1`.

use std::collections::BTreeMap;

use crate::histogram::SparseHistogram;
use crate::measurement::{ErrorKind, Http2Use, RequestCounts, RunTotal, TlsUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::client::ClientColumns;
use crate::code::Code;
use crate::fleet::FleetRecord;
use crate::host::{Host, HostWindow};
use crate::monitor::Monitor;
use crate::recorded_plan::RecordedPlan;
use crate::server::ServerSamples;
use crate::slo::SloRecord;
use crate::{Estimate, Tool};

/// The schema's name; another number is another format.
pub const SCHEMA: &str = "prony.trial/1";

/// One candidate under one plan, once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// [`SCHEMA`].
    pub schema: String,
    /// What measured it.
    pub tool: Tool,
    /// The version of Prony that judged it, where that is another than measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<String>,
    /// RFC 3339, UTC, when the first request could be sent.
    pub started_at: String,
    /// Whether somebody ended it before its plan did.
    pub interrupted: bool,
    /// What was loaded.
    pub target: TargetRecord,
    /// The effective plan.
    pub plan: RecordedPlan,
    /// The machine.
    pub host: Host,
    /// The counted span.
    pub window: Window,
    /// What became of the load.
    pub outcome: Outcome,
    /// The window's requests by fate.
    pub requests: RequestCounts,
    /// The whole run's counts.
    pub run_total: RunTotal,
    /// How much it carried.
    pub throughput: Throughput,
    /// How quickly it responded.
    pub latency: Latencies,
    /// Responses by status.
    pub status: BTreeMap<String, u64>,
    /// Failed requests by kind.
    pub errors: BTreeMap<String, u64>,
    /// The first message of each kind of failure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub first_errors: BTreeMap<String, String>,
    /// The window second by second, a long one in several seconds an entry.
    pub series: Vec<SeriesPoint>,
    /// What the client itself cost.
    pub client: Client,
    /// How far the figures can be trusted.
    pub verdict: Verdict,
    /// What TLS was agreed on; `None` where it is not spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsRecord>,
    /// What HTTP/2 came to; `None` where it is not spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2Use>,
    /// What the machine did over the window beside the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_window: Option<HostWindow>,
    /// What this machine did second by second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitor>,
    /// What each agent did, where several machines applied the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetRecord>,
    /// What a server cost that somebody else started (`--watch`); of one that Prony started it stands beside the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSamples>,
    /// Each request of a list by itself, in the list's order; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetFigures>,
    /// Completed requests per second that meet every threshold on response times; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_per_s: Option<f64>,
    /// How much faster the second half of the window was than its first fifth, as a logarithm: throughput in closed
    /// arrivals, else the reciprocal of the mean response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rise: Option<f64>,
    /// Each threshold asked for, and what became of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<SloRecord>,
}

impl Trial {
    pub fn judged_by(&self) -> &str {
        self.judged_by.as_ref().unwrap_or(&self.tool.version)
    }

    /// What every response was, where each failed by its status: `every response has status 404`, `… 404 or 500`.
    pub fn every_response(&self) -> Option<String> {
        let refused = self.errors.get(ErrorKind::UnexpectedStatus.name()).filter(|refused| **refused > 0)?;
        let statuses: Vec<&str> = self.status.keys().map(String::as_str).collect();
        let said = || format!("every response has status {}", statuses.join(" or "));
        (*refused == self.status.values().sum::<u64>()).then(said)
    }

    /// Whether its figures count: it ran to its end and is not invalid.
    pub fn counts(&self) -> bool {
        !self.interrupted && self.verdict.validity != Validity::Invalid
    }

    /// Whether it was at a rate and all that was due was carried: then its throughput is the schedule's.
    pub fn is_carried_whole(&self) -> bool {
        let requests = &self.requests;
        self.plan.rate_per_s.is_some()
            && self.outcome == Outcome::Carried
            && requests.failed == 0
            && requests.never_sent == 0
    }
}

/// One request of a list, over all lines that say it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFigures {
    /// Method and path, `GET /a`; `other requests` for those without figures of their own.
    pub request: String,
    /// Lines of the list that say it.
    pub lines: u64,
    /// Sent over the whole run, warm-up included: what a server's own log is held against.
    pub run_sent: u64,
    /// Succeeded within the window.
    pub completed: u64,
    /// Failed within the window.
    pub failed: u64,
    /// Unresolved when the window closed.
    pub waiting: u64,
    /// Bytes read for it, heads included.
    pub read_bytes: u64,
    /// Responses by status.
    pub status: BTreeMap<String, u64>,
    /// Failed requests by kind.
    pub errors: BTreeMap<String, u64>,
    /// Intended to last byte.
    pub response: Summary,
    /// Sent to last byte.
    pub service: Summary,
}

/// What TLS was agreed on over the whole run, the connects before the clock included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsRecord {
    /// In the first handshake that succeeded: `TLSv1.2` or `TLSv1.3`; `None` where none did.
    pub version: Option<String>,
    /// The cipher suite by its name in IANA's registry.
    pub cipher: Option<String>,
    /// The group of the key exchange.
    pub key_exchange: Option<String>,
    /// The protocol that the server chose by ALPN.
    pub alpn: Option<String>,
    /// Handshakes in which the server showed its certificate.
    pub handshakes_full: u64,
    /// Handshakes that resumed an earlier session.
    pub handshakes_resumed: u64,
}

impl From<&TlsUse> for TlsRecord {
    fn from(tls: &TlsUse) -> TlsRecord {
        let agreed = tls.agreed.as_ref();
        TlsRecord {
            version: agreed.map(|a| a.version.clone()),
            cipher: agreed.map(|a| a.cipher.clone()),
            key_exchange: agreed.and_then(|a| a.key_exchange.clone()),
            alpn: agreed.and_then(|a| a.alpn.clone()),
            handshakes_full: tls.full,
            handshakes_resumed: tls.resumed,
        }
    }
}

/// What was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// URL without userinfo.
    pub url: String,
    /// The address connected to.
    pub address: String,
}

/// The counted span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Traffic before it.
    pub warmup_ns: u64,
    /// Its length.
    pub duration_ns: u64,
}

/// What became of the load: a finding, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Outcome {
    /// The load was carried.
    Carried,
    /// The wait grew to the end of the window.
    Overloaded,
    /// More than half of the requests failed, or none got a response.
    Broken,
}

/// Whether a throughput is the server's, or only what the client managed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// It is the server's figure.
    Exact,
    /// The server carries at least this: the client was the limit.
    Lower,
}

/// How much was carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Completed requests per second of the window.
    pub requests_per_s: Estimate,
    /// Whose limit it is.
    pub bound: Bound,
    /// Bytes read per second, heads included.
    pub read_bytes_per_s: f64,
    /// Bytes of requests sent per second, heads included.
    #[serde(default)]
    pub sent_bytes_per_s: f64,
    /// Bytes of bodies per second once they were decoded; `None` where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded_bytes_per_s: Option<f64>,
    /// Requests per second that were due; `None` in closed arrivals.
    pub offered_per_s: Option<f64>,
}

/// The parts of a request's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    pub response: Summary,
    pub service: Summary,
    pub first_byte: Summary,
    pub connect_wait: Summary,
    pub send_lag: Summary,
    pub connection_wait: Summary,
    /// `None` with the clock `user`: it is inside service then.
    pub client_delay: Option<Summary>,
    /// What requests had waited that had no response when the window closed.
    #[serde(skip)]
    pub waiting: SparseHistogram,
}

/// By whose clock a response's bytes are stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The kernel's receive stamps.
    #[default]
    Kernel,
    /// The kernel's, where a coalesced segment carries the last one's.
    KernelUpper,
    /// Prony's own reading of the clock when it read the bytes.
    User,
}

/// The names of the percentiles every summary has, with their quantiles.
pub const PERCENTILES: [(&str, f64); 8] = [
    ("p50_ns", 0.50),
    ("p75_ns", 0.75),
    ("p90_ns", 0.90),
    ("p95_ns", 0.95),
    ("p99_ns", 0.99),
    ("p999_ns", 0.999),
    ("p9999_ns", 0.9999),
    ("p99999_ns", 0.99999),
];

/// A distribution of durations, summarised.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Whose clock.
    pub clock: Clock,
    /// Completed requests in it.
    pub count: u64,
    /// Mean over completed requests; `None` when there are none.
    pub mean_ns: Option<u64>,
    /// Standard deviation over completed requests.
    pub stdev_ns: Option<u64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The median. A percentile is `None` when it is withheld (too few samples beyond it)
    /// or censored (its rank falls among requests without a response).
    pub p50_ns: Option<u64>,
    pub p75_ns: Option<u64>,
    pub p90_ns: Option<u64>,
    pub p95_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
    pub p9999_ns: Option<u64>,
    #[serde(default)]
    pub p99999_ns: Option<u64>,
    /// The longest among completed requests.
    pub max_ns: Option<u64>,
    /// 95 % intervals of the percentiles, and of the mean of response, by field name; `null` for an upper end that there is
    /// none of.
    #[schemars(with = "BTreeMap<String, [Option<u64>; 2]>")]
    pub ci95: BTreeMap<String, (u64, Option<u64>)>,
    /// Why an interval has no upper end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unbounded: BTreeMap<String, String>,
    /// For each censored percentile: it is longer than this.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub censored_at_ns: BTreeMap<String, u64>,
    /// For each percentile that is withheld, or of response without an interval: the window that would give it one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub needs_duration_ns: BTreeMap<String, u64>,
    /// The completed requests; in JSON the Base64 of the compressed V2 form of HdrHistogram.
    #[serde(with = "crate::hdr::text")]
    #[schemars(with = "String")]
    pub hdr: SparseHistogram,
}

impl Summary {
    /// The percentile of this field name (see [`PERCENTILES`]).
    pub fn percentile(&self, field: &str) -> Option<u64> {
        let Summary { p50_ns, p75_ns, p90_ns, p95_ns, p99_ns, p999_ns, p9999_ns, p99999_ns, .. } = self;
        let values = [p50_ns, p75_ns, p90_ns, p95_ns, p99_ns, p999_ns, p9999_ns, p99999_ns];
        *PERCENTILES.iter().zip(values).find(|((name, _), _)| *name == field)?.1
    }

    /// Sets the percentile of this field name; other names are ignored.
    pub fn set_percentile(&mut self, field: &str, value: Option<u64>) {
        let Summary { p50_ns, p75_ns, p90_ns, p95_ns, p99_ns, p999_ns, p9999_ns, p99999_ns, .. } = self;
        let values = [p50_ns, p75_ns, p90_ns, p95_ns, p99_ns, p999_ns, p9999_ns, p99999_ns];
        let named = PERCENTILES.iter().zip(values).find(|((name, _), _)| *name == field);
        named.into_iter().for_each(|(_, own)| *own = value);
    }
}

/// A part of the window: a second, or in a long one a power of two of seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// From the window's start.
    pub at_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// Requests completed in it.
    pub completed: u64,
    /// Requests failed in it.
    pub failed: u64,
    /// Connections open at its end.
    pub connections: u64,
    /// Median response of its completed requests.
    pub p50_ns: Option<u64>,
    /// 99th percentile, given 100 samples.
    pub p99_ns: Option<u64>,
    /// The longest response.
    pub max_ns: Option<u64>,
    /// Its response times; in JSON the Base64 of the compressed V2 form of HdrHistogram.
    #[serde(with = "crate::hdr::text")]
    #[schemars(with = "String")]
    pub hdr: SparseHistogram,
}

/// What the client itself cost in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// CPU time of the worker threads.
    pub cpu_ns: u64,
    /// CPU time of the whole process.
    pub process_cpu_ns: u64,
    /// `cpu_ns` over requests completed and failed.
    pub cpu_per_request_ns: Option<u64>,
    /// Worker threads.
    pub threads: u32,
    /// The largest share of the window that a worker spent outside `epoll_wait`, 0 to 1.
    pub busiest_worker: f64,
    /// Peak resident memory of the process.
    pub max_rss_bytes: u64,
    /// Reads without a plausible kernel stamp, for which the user clock stood in.
    pub stamps_rejected: u64,
    /// Requests of open arrivals that waited for a connection of their own worker while another worker had a free one.
    #[serde(default)]
    pub waited_beside_free: u64,
    /// For how long, together.
    #[serde(default)]
    pub waited_beside_free_ns: u64,
    /// What ended the workers' waits in time: `epoll_pwait2`, or `timerfd` where that is refused.
    #[serde(default)]
    pub waits: String,
    /// Its cost over time; `None` where nobody sampled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ClientColumns>,
}

/// How far a trial's figures can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst effect of its reasons.
    pub validity: Validity,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// The verdict in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Validity {
    /// Every figure printed stands.
    Valid,
    /// Some figures may be off; the reasons say which.
    Suspect,
    /// The trial does not count.
    Invalid,
}

/// One reason of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Its name, `client_saturated`.
    #[schemars(with = "String")]
    pub code: Code,
    /// The figures it touches.
    pub affects: Vec<String>,
    /// What it does to them.
    pub effect: Effect,
    /// What was seen, with the figure and the threshold.
    pub detail: String,
    /// What to do about it.
    pub advice: String,
    /// The figures of `detail` by name, the unit at its end (`_ns`, `_share` from 0 to 1, `_bytes_per_s`; none: a count):
    /// views and programs take them from here, and nobody reads them out of a sentence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
}

impl Reason {
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Reason {
        debug_assert!(self.code.entry().values.iter().any(|v| v.name == name), "{name} of {}", self.code);
        self.values.insert(name.to_owned(), value);
        self
    }

    /// Whether it affects a figure, or a part of it: `response` of `response` and `response.p99`.
    pub fn touches(&self, figure: &str) -> bool {
        let is_of = |name: &String| {
            name.strip_prefix(figure).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
        };
        self.affects.iter().any(is_of)
    }
}

/// What a reason does to the figures it affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Worth knowing; the figures stand.
    Note,
    /// The figure is withheld.
    Withheld,
    /// The figure is a lower bound.
    LowerBound,
    /// The figure may be off.
    Suspect,
    /// The trial does not count.
    Invalid,
}
