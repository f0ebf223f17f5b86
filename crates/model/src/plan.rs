//! What defines a load. A [`Plan`] is plain data, checked once, here, and everything after it may rely on it.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

pub use crate::body_file::BodyFile;
use crate::connect::Connect;
use crate::json_value::JsonValue;
use crate::list::{ListedRequest, OwnParts, TargetList};
use crate::rate::{Rate, Stage};
use crate::replay::Replay;
use crate::secret::{Secret, gives, hide_headers, remember_credentials};
use crate::target::Target;
use crate::tls::Tls;
use crate::units::DurationValue;
use crate::values::{GOLDEN, Values, mixed};

/// The longest warm-up or duration: longer runs are a monitoring tool's work, and would make buffers unbounded.
pub const DURATION_MAX: Duration = Duration::from_secs(24 * 3600);

/// Far more than any host's files and ports allow, so that those limits, which can be raised, are the ones that speak.
pub const CONNECTIONS_MAX: u32 = 1_000_000;

pub const PIPELINE_MAX: u32 = 1024;

pub const STAGES_MAX: usize = 1000;

pub const THREADS_MAX: u32 = 256;

/// The most single requests that a plan may keep: 400 MB of them.
pub const SAMPLES_MAX: u64 = 10_000_000;

/// Connections of a closed loop unless said otherwise.
pub(crate) const CONNECTIONS_CLOSED: u32 = 50;
/// Connections at a rate unless said otherwise: so many that the server, and not their number, is the limit.
pub const CONNECTIONS_AT_A_RATE: u32 = 100;
/// The window unless something else ends the load.
pub const DURATION: Duration = Duration::from_secs(10);
const WARMUP_MAX: Duration = Duration::from_secs(3);
/// How long a request or a connect may take unless said otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(10);
/// Traffic before the window of a search's probe.
pub const PROBE_WARMUP: Duration = Duration::from_millis(300);

pub(crate) const SEED: u64 = 1;

/// The warm-up where none is given: a tenth of the window, at most 3 s.
pub(crate) fn default_warmup(duration: Duration) -> Duration {
    (duration / 10).min(WARMUP_MAX)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub target: Target,
    pub work: Work,
    /// Headers of every request, beside those Prony writes itself (`Host`, `Content-Length`, `Connection`).
    pub headers: Vec<(String, Secret)>,
    /// Every request's body; sent with a `Content-Length` unless empty.
    #[serde(with = "crate::plan_wire::bytes")]
    pub body: Vec<u8>,
    /// The file that every request's body is read from while it is sent, instead of `body`.
    pub body_file: Option<BodyFile>,
    /// By which that file is told from another.
    pub body_file_fingerprint: Option<u32>,
    /// Whether bodies go in chunks (over HTTP/2, frames), without their length.
    pub chunked: bool,
    /// Connections over all workers, 1 to [`CONNECTIONS_MAX`].
    pub connections: u32,
    /// Worker threads, 1 to [`THREADS_MAX`], no more than connections, and as many for each origin.
    pub threads: u32,
    pub arrivals: Arrivals,
    pub stop: Stop,
    /// Traffic that is sent but not counted, before the window.
    pub warmup: Duration,
    /// How long a request may take from sending to the answer's last byte, and how long a connect that it waits for.
    pub timeout: Duration,
    pub keepalive: bool,
    /// After how many requests, at least 2, a connection is closed and another opened; `None`: it carries any number.
    pub requests_per_connection: Option<u32>,
    /// Whether bodies are decoded (gzip, br) before they are held against what is expected.
    pub decode: bool,
    /// What an answer must be to count as completed.
    pub expect: Expect,
    /// The CPUs that workers are pinned to, in turn; empty: not pinned.
    pub cpus: Vec<u32>,
    /// The seed of everything random in the load (recorded; constant arrivals draw nothing from it); see [`seed_of`].
    pub seed: u64,
    pub protocol: Protocol,
    /// Requests that a connection may carry at once, 1 to [`PIPELINE_MAX`]: over 1 is HTTP pipelining, or so many streams.
    pub pipeline: u32,
    /// Whether workers stay awake before a request is due: takes a core, and sends within a microsecond of the instant.
    pub spin: bool,
    /// Whether arrivals are timed when they are read instead of by the kernel's receive stamps. It saves the client
    /// a few percent of its CPU, and charges what it is late itself to the server.
    pub user_clock: bool,
    /// How many single requests are kept, each worker's first; 0 for none, at most [`SAMPLES_MAX`], 40 bytes each.
    pub samples_max: u64,
    /// Local addresses that connections come from, in turn; empty: the kernel's choice.
    pub sources: Vec<IpAddr>,
    /// The Unix socket that is connected to instead of the target's host and port.
    pub unix: Option<PathBuf>,
    pub connect: Connect,
    /// How TLS is spoken, where the target's scheme is `https`.
    pub tls: Tls,
    /// What stands for `{{names}}` in its requests; empty: such braces are text.
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    pub values: Values,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Http1,
    /// HTTP/2: agreed on by ALPN over TLS, by prior knowledge without (RFC 9113, section 3.3).
    Http2,
}

impl Protocol {
    pub fn id(self, tls: bool) -> ProtocolId {
        match self {
            Protocol::Http1 => ProtocolId::Http1,
            Protocol::Http2 if tls => ProtocolId::H2,
            Protocol::Http2 => ProtocolId::H2c,
        }
    }

    /// Whether a connection carries several requests that do not wait for each other; else their answers come in order.
    pub fn multiplexes(self) -> bool {
        self == Protocol::Http2
    }
}

/// A protocol by its name in ALPN (RFC 7301), recipes and JSON.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Display, IntoStaticStr, Serialize, Deserialize, JsonSchema,
)]
pub enum ProtocolId {
    #[default]
    #[serde(rename = "http/1.1")]
    #[strum(serialize = "http/1.1")]
    Http1,
    /// HTTP/2 without TLS, by prior knowledge.
    #[serde(rename = "h2c")]
    #[strum(serialize = "h2c")]
    H2c,
    /// HTTP/2 over TLS.
    #[serde(rename = "h2")]
    #[strum(serialize = "h2")]
    H2,
}

impl ProtocolId {
    pub fn is_http1(&self) -> bool {
        *self == ProtocolId::Http1
    }

    pub fn multiplexes(self) -> bool {
        !self.is_http1()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// The path of the plan's target, by this method, a token by RFC 9110.
    Request(String),
    List(TargetList),
}

impl Work {
    /// The one request's method; of a list that of lines that name none.
    pub fn method(&self) -> &str {
        match self {
            Work::Request(method) => method,
            Work::List(list) => &list.method,
        }
    }

    pub fn list(&self) -> Option<&TargetList> {
        match self {
            Work::Request(_) => None,
            Work::List(list) => Some(list),
        }
    }

    /// The servers that are loaded: those of its list, or else the plan's `target`.
    pub fn origins<'a>(&'a self, target: &'a Target) -> &'a [Target] {
        match self {
            Work::List(list) if list.origins.len() > 1 => &list.origins,
            _ => std::slice::from_ref(target),
        }
    }
}

/// A request of a plan: what it has of its own, or else what the plan gives to all.
#[derive(Debug, Clone, Copy)]
pub struct PlannedRequest<'p> {
    plan: &'p Plan,
    pub method: &'p str,
    pub path: &'p str,
    pub userinfo: Option<&'p Secret>,
    pub origin: usize,
    own: Option<&'p OwnParts>,
}

impl<'p> PlannedRequest<'p> {
    pub fn headers(&self) -> impl Iterator<Item = &'p (String, Secret)> {
        let own = self.own_headers();
        let is_common = move |(name, _): &&(String, Secret)| !gives(own, name);
        self.plan.headers.iter().filter(is_common).chain(own)
    }

    pub fn own_headers(&self) -> &'p [(String, Secret)] {
        self.own.map_or(&[], |own| &own.headers)
    }

    pub fn body(&self) -> &'p [u8] {
        self.own_body().unwrap_or(&self.plan.body)
    }

    pub fn own_body(&self) -> Option<&'p [u8]> {
        self.own?.body.as_deref()
    }

    pub fn expect(&self) -> &'p Expect {
        self.own.and_then(|own| own.expect.as_ref()).unwrap_or(&self.plan.expect)
    }

    /// The length of its body, where it has one or its method asks for one, and it is not sent in chunks.
    pub fn content_length(&self) -> Option<u64> {
        let has_body = !self.body().is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH");
        let of_file = self.body_file().map(|file| file.bytes);
        of_file.or(has_body.then(|| self.body().len() as u64)).filter(|_| !self.is_chunked())
    }

    pub fn is_chunked(&self) -> bool {
        let chunked = self.plan.chunked || self.own.is_some_and(|own| own.chunked);
        chunked && (!self.body().is_empty() || self.plan.body_file.is_some())
    }

    pub fn body_file(&self) -> Option<&'p BodyFile> {
        self.plan.body_file.as_ref()
    }
}

/// When requests are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Arrivals {
    /// A connection's next request is due when its last is answered.
    Closed,
    /// The k-th request is due at `k / rate`, whatever the server does.
    Constant(Rate),
    /// Requests are due as a Poisson process of this rate has them, drawn from the plan's seed.
    Poisson(Rate),
    /// The rate (millionths per second) changes linearly from stage to stage, from 0 on. The last one ends the load.
    RateStages(Vec<Stage>),
    /// As closed, but connections in use change linearly from stage to stage, from 0 on; the last one ends the load.
    ConnectionStages(Vec<Stage>),
    /// The k-th request is the list's line k mod n, due at the instant of a log.
    Replay(Replay),
}

impl Arrivals {
    /// Whether requests are due whatever the server does.
    pub fn are_open(&self) -> bool {
        !matches!(self, Arrivals::Closed | Arrivals::ConnectionStages(_))
    }

    pub fn rate(&self) -> Option<Rate> {
        match self {
            Arrivals::Constant(rate) | Arrivals::Poisson(rate) => Some(*rate),
            Arrivals::Closed
            | Arrivals::RateStages(_)
            | Arrivals::ConnectionStages(_)
            | Arrivals::Replay(_) => None,
        }
    }

    pub fn replay(&self) -> Option<&Replay> {
        if let Arrivals::Replay(replay) = self { Some(replay) } else { None }
    }

    /// The same at another rate: at random where these are, else even.
    #[must_use]
    pub fn at(&self, rate: Rate) -> Arrivals {
        match self {
            Arrivals::Poisson(_) => Arrivals::Poisson(rate),
            _ => Arrivals::Constant(rate),
        }
    }

    pub fn stages(&self) -> Option<&[Stage]> {
        match self {
            Arrivals::RateStages(stages) | Arrivals::ConnectionStages(stages) => Some(stages),
            Arrivals::Closed | Arrivals::Constant(_) | Arrivals::Poisson(_) | Arrivals::Replay(_) => None,
        }
    }

    pub fn kind(&self) -> ArrivalKind {
        match self {
            Arrivals::Closed => ArrivalKind::Closed,
            Arrivals::Constant(_) => ArrivalKind::Constant,
            Arrivals::Poisson(_) => ArrivalKind::Poisson,
            Arrivals::RateStages(_) | Arrivals::ConnectionStages(_) => ArrivalKind::Stages,
            Arrivals::Replay(_) => ArrivalKind::Replay,
        }
    }
}

/// When requests are due.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Display, IntoStaticStr, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ArrivalKind {
    /// When the last request of a connection is answered.
    #[default]
    Closed,
    /// At a rate, evenly.
    Constant,
    /// At a rate, as a Poisson process has them.
    Poisson,
    /// By a rate or by connections that change from stage to stage.
    Stages,
    /// At the instants of a log.
    Replay,
}

/// When the load ends: whichever comes first of those that are set. At least one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub duration: Option<Duration>,
    /// How many requests are scheduled in all, warm-up included.
    pub requests: Option<u64>,
}

/// What an answer must be to count as completed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Expect {
    /// The one status that is right; `None`: any 2xx or 3xx.
    pub status: Option<u16>,
    /// The body that is right, compared as it arrives: byte by byte up to 4 KiB, by a hash beyond; `None`: any.
    #[serde(with = "crate::plan_wire::optional_bytes")]
    pub body: Option<Vec<u8>>,
    /// The SHA-256 of the body that is right, in place of the body itself.
    pub sha256: Option<[u8; 32]>,
    /// Values that the body must have as JSON; in place of the body, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<JsonValue>,
}

impl Expect {
    pub fn checks_body(&self) -> bool {
        self.body.is_some() || self.sha256.is_some() || !self.json.is_empty()
    }

    pub fn accepts_status(&self, status: u16) -> bool {
        self.statuses().contains(&status)
    }

    /// Those that are accepted.
    pub fn statuses(&self) -> RangeInclusive<u16> {
        self.status.map_or(200..=399, |one| one..=one)
    }
}

impl Plan {
    /// Makes it measure for so long, after the warm-up that was given or else that of such a window.
    pub fn measure_for(&mut self, window: Duration, warmup: Option<DurationValue>) {
        self.stop.duration = Some(window);
        self.warmup = warmup.map_or_else(|| default_warmup(window), |given| given.0);
    }

    /// Hides the headers of these names, its list's, too.
    pub fn hide_headers(&mut self, names: &[String]) {
        hide_headers(&mut self.headers, names, remember_credentials);
        if let Work::List(list) = &mut self.work {
            list.hide_headers(names);
        }
    }

    /// The servers that it loads, the target first. Each has workers and connections of its own.
    pub fn origins(&self) -> &[Target] {
        self.work.origins(&self.target)
    }

    pub fn speaks_tls(&self) -> bool {
        self.origins().iter().any(|origin| origin.tls)
    }

    /// Its requests, each once: those of its list, or the one of its target.
    pub fn requests(&self) -> impl Iterator<Item = PlannedRequest<'_>> {
        let one = |method| {
            let (path, userinfo) = (self.target.path.as_str(), self.target.userinfo.as_ref());
            PlannedRequest { plan: self, method, path, userinfo, origin: 0, own: None }
        };
        let (alone, list) = match &self.work {
            Work::Request(method) => (Some(one(method.as_str())), &[][..]),
            Work::List(list) => (None, list.requests.as_slice()),
        };
        alone.into_iter().chain(list.iter().map(|request| self.planned(request)))
    }

    /// A request of its list.
    pub fn planned<'p>(&'p self, request: &'p ListedRequest) -> PlannedRequest<'p> {
        PlannedRequest {
            plan: self,
            method: &request.method,
            path: &request.path,
            userinfo: request.userinfo.as_ref(),
            origin: request.origin as usize,
            own: request.own.as_deref(),
        }
    }

    /// After how many requests connection `at` of all is closed: its first life is shorter by its part, so that those that
    /// begin together do not end together; later ones are `requests`. `None`: after none.
    pub fn first_life(&self, at: u32) -> Option<u64> {
        let requests = u64::from(self.life()?);
        Some(requests - u64::from(at) * requests / u64::from(self.connections.max(1)))
    }

    /// How many requests a connection carries at most.
    pub fn life(&self) -> Option<u32> {
        if self.keepalive { self.requests_per_connection } else { Some(1) }
    }

    /// Whether a body is sent only when the server has asked for it: `Expect: 100-continue` (RFC 9110, section 10.1.1).
    pub fn waits_for_continue(&self) -> bool {
        let asks = |(name, value): &(String, Secret)| {
            name.eq_ignore_ascii_case("expect") && value.value().trim().eq_ignore_ascii_case("100-continue")
        };
        !self.protocol.multiplexes() && self.headers.iter().any(asks)
    }

    /// A closed load with every default.
    pub fn closed(target: Target) -> Plan {
        Plan {
            target,
            work: Work::Request("GET".to_owned()),
            headers: Vec::new(),
            body: Vec::new(),
            body_file: None,
            body_file_fingerprint: None,
            chunked: false,
            connections: CONNECTIONS_CLOSED,
            threads: 1,
            arrivals: Arrivals::Closed,
            stop: Stop { duration: Some(DURATION), requests: None },
            warmup: default_warmup(DURATION),
            timeout: TIMEOUT,
            keepalive: true,
            requests_per_connection: None,
            decode: false,
            expect: Expect::default(),
            cpus: Vec::new(),
            seed: SEED,
            protocol: Protocol::Http1,
            pipeline: 1,
            spin: false,
            user_clock: false,
            samples_max: 0,
            sources: Vec::new(),
            unix: None,
            connect: Connect::default(),
            tls: Tls::default(),
            values: Values::default(),
        }
    }
}

/// The seed of the load of this number (a block, a repetition, a probe) in a run of this seed: blocks that replayed one
/// sequence of arrivals would be one sample of it. The first has the run's own, so that one load alone is what its flags
/// say; the others are splitmix64's (Steele, Lea & Flood 2014), of 53 bits, which JSON's readers hold exactly.
pub fn seed_of(seed: u64, number: u32) -> u64 {
    if number == 0 {
        return seed;
    }
    mixed(seed.wrapping_add(u64::from(number).wrapping_mul(GOLDEN))) >> 11
}
