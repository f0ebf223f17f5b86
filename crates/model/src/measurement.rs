//! What a load measured, raw: counts, histograms and instants, before any statistic, verdict or unit is chosen.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::fleet::FleetRecord;
use crate::histogram::SparseHistogram;

mod bins;
mod by_connection;
mod check;
mod latency;
mod sums;

pub use bins::{BIN_NS, BINS_MAX, Bin, Bins};
pub use by_connection::{ByConnection, CONNECTIONS_MAX};
pub use latency::{Censored, Latency, Parts};

/// The result of one load. [`Measurement::samples`] are not in a run log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// The wall clock, since 1970, when the first request could be sent.
    #[serde(rename = "started_at")]
    pub started_at_ns: u64,
    pub address: String,
    pub schedule_start_ns: u64,
    pub window_start_ns: u64,
    /// CLOCK_MONOTONIC just after the window's last instant.
    pub window_end_ns: u64,
    /// Whether somebody ended it before the plan did.
    pub interrupted: bool,
    /// Whether the count of requests ended the load: the window is as long as the work took.
    pub ended_by_count: bool,
    pub requests: RequestCounts,
    /// Counts over the whole run, warm-up included: what a server's own ledger is held against.
    pub run_total: RunTotal,
    /// Bytes read in the window, heads included.
    pub read_bytes: u64,
    /// Bytes of bodies in the window once they were decoded, where they were.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub decoded_bytes: u64,
    /// Bytes of requests written in the window, heads included.
    #[serde(default)]
    pub sent_bytes: u64,
    pub status: BTreeMap<u16, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorKind, ErrorTally>,
    pub latency: Latency,
    /// The window's parts, in order: a second each, or a power of two of seconds, alike but a shorter last one.
    pub series: Vec<Second>,
    /// Of the window's parts of [`BIN_NS`], for intervals, steadiness and growth; in a long window of a power of two of
    /// those, so that there are at most [`BINS_MAX`].
    pub bins: Bins,
    pub clock: ReceiveClock,
    pub client: ClientCost,
    /// Each worker's own counts, from which the identities are asserted.
    pub workers: Vec<WorkerAudit>,
    /// Identities that did not hold, as sentences; empty in any sound run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken_identities: Vec<String>,
    /// The window's first single requests by their end, as many as [`Plan::samples_max`](crate::Plan::samples_max) asks for.
    #[serde(skip)]
    pub samples: Vec<Sample>,
    /// Requests completed or failed in the window beyond those, if any were asked for.
    #[serde(skip)]
    pub samples_dropped: u64,
    /// The length of one request as it is written, its head included; 0 with a list.
    pub request_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsUse>,
    /// What HTTP/2 came to; `None` where it is not spoken, or no server's settings came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2Use>,
    /// Heads taken although a strict reading refuses them, over the whole run; one with two faults counts in both.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tolerated: BTreeMap<Tolerance, u64>,
    /// The figures of each request of the plan's list, in its order; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_request: Vec<RequestFigures>,
    /// What single connections carried, at most [`CONNECTIONS_MAX`].
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub by_connection: ByConnection,
    /// What each agent did, where several machines applied the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetRecord>,
    /// Name and length of each request of the list, where single requests were kept.
    #[serde(skip)]
    pub listed: Vec<(String, u64)>,
}

/// Requests of the window by fate:
/// `carried_in + scheduled = completed + failed + in_flight + never_sent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RequestCounts {
    /// Due before the window and unresolved when it opened.
    pub carried_in: u64,
    /// Due within the window.
    pub scheduled: u64,
    /// Written to a connection within the window.
    pub sent: u64,
    /// Succeeded within the window.
    pub completed: u64,
    /// Failed within the window, whatever the kind.
    pub failed: u64,
    /// On a connection, or waiting for one's connect, when the window closed.
    pub in_flight: u64,
    /// Due, but without a connection when the window closed.
    pub never_sent: u64,
}

/// Counts over the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunTotal {
    /// Requests written.
    pub sent: u64,
    /// Requests that succeeded.
    pub completed: u64,
    /// Connections established.
    pub connections: u64,
    /// Connections on which the server sent what no request asked for.
    #[serde(default, skip_serializing_if = "none")]
    pub unasked: u64,
    /// Connections established, those before the schedule included, whose SYN the kernel had sent again, a second or more later.
    #[serde(default, skip_serializing_if = "none")]
    pub retried: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn none(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveClock {
    /// The kernel's receive stamps (SO_TIMESTAMPING, software). A stamp that
    /// is missing or not plausible is replaced by the user clock, and counted.
    #[default]
    Kernel,
    /// Prony's reading of the clock when it had read the bytes.
    User,
}

/// A part of the window: a second, or in a long one several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// From the window's start to this entry's start.
    pub at_ns: u64,
    /// This entry's length; under a second only for the last.
    pub length_ns: u64,
    pub completed: u64,
    pub failed: u64,
    pub connections: u64,
    pub response: SparseHistogram,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientCost {
    pub cpu_ns: u64,
    pub process_cpu_ns: u64,
    pub threads: u32,
    pub max_rss_bytes: u64,
    /// Reads with a kernel stamp missing or not between sending and reading; the user clock stands in for it.
    pub stamps_rejected: u64,
    pub waits: Waits,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerAudit {
    /// Time outside `epoll_wait` within the window.
    pub busy_ns: u64,
    /// ∫ requests in flight dt over the window, kept as requests come and go.
    pub in_flight_integral_ns: u64,
    /// Σ over requests of their overlap with the window, kept as each ends.
    pub overlap_sum_ns: u64,
    /// Requests that waited for a connection while another worker had a free one (open arrivals, several workers).
    pub waited_beside_free: u64,
    /// For how long, together: at least so long.
    pub waited_beside_free_ns: u64,
    /// ∫ open connections dt over the window.
    pub connections_integral_ns: u64,
    /// The longest time the loop went without looking at its events.
    pub longest_gap_ns: u64,
    /// Gaps over 1 ms, summed.
    pub gaps_over_1ms_sum_ns: u64,
}

/// What of an answer a strict reading refuses, and curl and browsers take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Tolerance {
    /// Content-Length is given more than once, in several fields or in a list, always the same.
    RepeatedLength,
    LengthBesideCoding,
    /// Transfer-Encoding has chunked more than once.
    RepeatedChunked,
    Folded,
    /// The head is longer than 64 KiB.
    Long,
    BareLineFeed,
}

impl Measurement {
    /// Whether an agent was lost, so that the window ends before its plan does.
    pub fn lost_agent(&self) -> bool {
        self.fleet.as_ref().is_some_and(|fleet| fleet.lost.is_some())
    }

    /// Requests that completed or failed, per second of the window.
    pub fn ended_per_s(&self) -> f64 {
        let window_ns = self.window_end_ns.saturating_sub(self.window_start_ns).max(1);
        (self.requests.completed + self.requests.failed) as f64 * 1e9 / window_ns as f64
    }
}

impl Tolerance {
    /// All of them, in the order of their discriminants.
    pub const ALL: &[Tolerance] = Tolerance::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What TLS was agreed on over the whole run, the connects before the clock included.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TlsUse {
    /// In the first handshake that succeeded; `None` where none did.
    pub agreed: Option<TlsAgreed>,
    pub full: u64,
    pub resumed: u64,
}

/// What HTTP/2 came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Http2Use {
    /// The fewest streams that a connection was let carry at once, over the whole run: the plan's number, or less where
    /// the server's SETTINGS_MAX_CONCURRENT_STREAMS is lower.
    pub streams: u64,
    /// Requests of the window that a server surely did not process (GOAWAY) and that were sent again, each time.
    pub moved: u64,
    /// At a rate, waits of the window's requests that ended when a stream became free on a connection that stood.
    #[serde(default)]
    pub no_stream: WaitTotal,
    /// At a rate, those that ended with no connection standing: one was still to be opened, or opened again.
    #[serde(default)]
    pub no_connection: WaitTotal,
    /// The time that requests waited for the server's windows to send more of their bodies, of all of them together. It is
    /// part of their service times.
    #[serde(default)]
    pub held_ns: u64,
    /// The client's own settings; 0 where the log does not say them.
    #[serde(default)]
    pub own: Http2Settings,
}

/// How many requests waited, and for how long together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WaitTotal {
    /// Requests that waited.
    pub count: u64,
    /// The sum of their waits, in nanoseconds.
    pub total_ns: u64,
}

impl WaitTotal {
    pub fn add(&mut self, other: WaitTotal) {
        self.count += other.count;
        self.total_ns += other.total_ns;
    }
}

/// What a client's SETTINGS and its first WINDOW_UPDATE say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Http2Settings {
    /// The window of each stream and of the connection, in bytes.
    pub window_bytes: u32,
    /// The table of header fields that the server may use, in bytes (SETTINGS_HEADER_TABLE_SIZE).
    pub header_table_bytes: u32,
    /// The longest list of header fields, in bytes (SETTINGS_MAX_HEADER_LIST_SIZE).
    pub header_list_bytes: u32,
    /// The longest frame, in bytes (SETTINGS_MAX_FRAME_SIZE).
    pub frame_bytes: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsAgreed {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: String,
    /// The cipher suite by its name in IANA's registry.
    pub cipher: String,
    /// The group of the key exchange; `None` where there was none, as when TLS 1.2 resumes.
    pub key_exchange: Option<String>,
    /// The protocol by ALPN; `None` where the server chose none.
    pub alpn: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::Display, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ErrorKind {
    ConnectRefused,
    /// The connect did not finish within the timeout.
    ConnectTimeout,
    /// No local port (or address) was left to connect from.
    NoPorts,
    ConnectFailed,
    Reset,
    /// The peer closed the connection before the response was complete.
    ClosedEarly,
    /// The answer is not HTTP/1.1 as the standard has it.
    Protocol,
    /// The answer was not whole within the timeout.
    RequestTimeout,
    /// The answer's status is not one that was expected.
    UnexpectedStatus,
    /// The answer's body is not the one that was expected.
    BodyMismatch,
    /// TLS failed: the handshake did not come about, or what followed could not be read.
    Tls,
    /// Its connection was given up, because an earlier request of the pipeline had timed out.
    Abandoned,
    /// The unfinished heads on a worker's connections had taken all the room there is for them.
    PartialHeads,
    /// The server refused the request's stream (HTTP/2), or several connections ended without processing it.
    Refused,
    /// The server reset the request's stream (HTTP/2).
    StreamReset,
}

impl ErrorKind {
    pub const ALL: &[ErrorKind] = ErrorKind::VARIANTS;

    /// Whether it was never sent, for want of a connection. (With TLS 1.3 a client's certificate is refused later.)
    pub fn is_before_sending(self) -> bool {
        use ErrorKind::{ConnectFailed, ConnectRefused, ConnectTimeout, NoPorts, Tls};
        matches!(self, ConnectRefused | ConnectTimeout | NoPorts | ConnectFailed | Tls)
    }

    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTally {
    pub count: u64,
    /// The first one's message, at most 200 bytes.
    pub first: String,
}

/// A request completed or failed within the window. 40 bytes, so that five million take 200 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// When it was due, since the schedule's start.
    pub intended_ns: u64,
    /// Intended to last byte; of a failed request, to its failure.
    pub response_ns: u64,
    /// Intended to first byte, 0: none came. In microseconds, to have room for 71 minutes, beyond which it stays.
    pub first_byte_us: u32,
    /// The connect that it waited for, else 0; of a failed connect, its length. As `first_byte_us`.
    pub connect_wait_us: u32,
    /// Bytes read for it, the head included; 4 GiB at most.
    pub read_bytes: u32,
    /// The answer's status, 0 where no answer was whole.
    pub status: u16,
    /// Why it failed; `None`: it was completed.
    pub failure: Option<ErrorKind>,
    /// The worker that sent it, from 0.
    pub worker: u16,
    /// Which request of the plan's list it is; 0 without one.
    pub request: u32,
}

const _: () = assert!(size_of::<Sample>() == 40, "the bound of samples is stated in bytes");

impl Sample {
    pub fn end_ns(&self) -> u64 {
        self.intended_ns.saturating_add(self.response_ns)
    }
}

/// The name of the row that requests beyond the most that have figures of their own share. No request is called so: a path begins with `/`.
pub const OTHERS: &str = "other requests";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RequestFigures {
    /// `GET /a`, or [`OTHERS`].
    pub request: String,
    pub lines: u64,
    /// Written over the whole run, warm-up included.
    pub run_sent: u64,
    pub completed: u64,
    pub failed: u64,
    /// Unresolved when the window closed: on a connection, or never sent.
    pub waiting: u64,
    /// Bytes read in the window for it.
    pub read_bytes: u64,
    pub status: BTreeMap<u16, u64>,
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Intended instant to last byte.
    pub response: Censored,
    /// Sent to last byte.
    pub service: Censored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// `epoll_pwait2`, which takes nanoseconds.
    #[default]
    Pwait2,
    /// A timer among what is waited for (timerfd), where the kernel has no
    /// `epoll_pwait2` or refuses it. It costs a system call more a wait.
    Timerfd,
}

impl Waits {
    pub fn name(self) -> &'static str {
        match self {
            Waits::Pwait2 => "epoll_pwait2",
            Waits::Timerfd => "timerfd",
        }
    }
}
