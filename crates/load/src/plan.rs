//! What defines a load. A [`Plan`] is plain data: it is checked once, here,
//! and everything after it may rely on it.

use std::fmt;
use std::time::Duration;

use crate::pace::Rate;
use crate::target::Target;
use crate::tls::Tls;

/// The longest warm-up or duration: a day. Longer runs are a monitoring
/// tool's work, and an unbounded one would make every buffer unbounded.
pub const DURATION_MAX: Duration = Duration::from_secs(24 * 3600);

/// The most connections of one plan: far more than any host's files and ports
/// allow, so that those limits, which can be raised, are the ones that speak.
pub const CONNECTIONS_MAX: u32 = 1_000_000;

/// The most worker threads of one plan.
pub const THREADS_MAX: u32 = 256;

/// Everything that defines a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is loaded.
    pub target: Target,
    /// The request's method, a token by RFC 9110.
    pub method: String,
    /// Headers beside those Prony writes itself (`Host`, `Content-Length`, `Connection`).
    pub headers: Vec<(String, String)>,
    /// The request's body; sent with a `Content-Length` unless empty.
    pub body: Vec<u8>,
    /// Connections over all workers, 1 to [`CONNECTIONS_MAX`].
    pub connections: u32,
    /// Worker threads, 1 to [`THREADS_MAX`], and no more than connections.
    pub threads: u32,
    /// When requests are due.
    pub arrivals: Arrivals,
    /// When the load ends.
    pub stop: Stop,
    /// Traffic that is sent but not counted, before the window.
    pub warmup: Duration,
    /// How long a request may take from its sending to its answer's last
    /// byte, and how long a connect that it waits for may take.
    pub timeout: Duration,
    /// Whether a connection serves more than one request.
    pub keepalive: bool,
    /// What an answer must be to count as completed.
    pub expect: Expect,
    /// The CPUs that workers are pinned to, in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// The seed of everything random in the load (recorded; constant arrivals draw nothing from it).
    pub seed: u64,
    /// How TLS is spoken, where the target's scheme is `https`.
    pub tls: Tls,
}

/// When requests are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// A connection's next request is due when its last is answered.
    Closed,
    /// The k-th request is due at `k / rate`, whatever the server does.
    Constant(Rate),
}

/// When the load ends: whichever comes first of those that are set.
/// At least one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The length of the window.
    pub duration: Option<Duration>,
    /// How many requests are scheduled in all, warm-up included.
    pub requests: Option<u64>,
}

/// What an answer must be to count as completed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expect {
    /// The one status that is right; `None`: any 2xx or 3xx.
    pub status: Option<u16>,
    /// The body that is right, compared byte by byte as it arrives; `None`: any.
    pub body: Option<Vec<u8>>,
}

impl Expect {
    /// Whether an answer of this status counts as right.
    pub fn accepts_status(&self, status: u16) -> bool {
        match self.status {
            Some(expected) => status == expected,
            None => (200..400).contains(&status),
        }
    }
}

/// Why a plan cannot be run: a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(pub String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

impl Plan {
    /// A closed load with DESIGN's defaults: 50 connections, one worker, 10 s.
    pub fn closed(target: Target) -> Plan {
        Plan {
            target,
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            connections: 50,
            threads: 1,
            arrivals: Arrivals::Closed,
            stop: Stop { duration: Some(Duration::from_secs(10)), requests: None },
            warmup: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            keepalive: true,
            expect: Expect::default(),
            cpus: Vec::new(),
            seed: 1,
            tls: Tls::default(),
        }
    }

    /// Refuses what cannot be run, in a sentence that says what to change.
    ///
    /// # Errors
    /// The first thing found wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        let wrong = |sentence: String| Err(PlanError(sentence));
        if self.connections == 0 {
            return wrong("0 connections can carry no request: give -c at least 1.".to_owned());
        }
        if self.connections > CONNECTIONS_MAX {
            return wrong(format!(
                "{} connections are more than one client can hold: give -c at most {CONNECTIONS_MAX}.",
                self.connections
            ));
        }
        if self.threads == 0 || self.threads > THREADS_MAX {
            return wrong(format!("{} threads: give -t between 1 and {THREADS_MAX}.", self.threads));
        }
        if self.threads > self.connections {
            return wrong(format!(
                "{} threads cannot share {} connections: give -t at most {}.",
                self.threads, self.connections, self.connections
            ));
        }
        if self.arrivals != Arrivals::Closed && !self.connections.is_multiple_of(self.threads) {
            return wrong(format!(
                "{} threads cannot share {} connections evenly, and at a rate each takes an equal part of the \
                 requests: one would run out of connections before the others. Give -c a multiple of -t; one \
                 thread drives over 100,000 requests per second.",
                self.threads, self.connections
            ));
        }
        if self.stop.duration.is_none() && self.stop.requests.is_none() {
            return wrong("Nothing ends this load: give -d, -n or both.".to_owned());
        }
        if let Some(duration) = self.stop.duration {
            if duration.is_zero() {
                return wrong("A window of 0 s measures nothing: give -d at least 1ms.".to_owned());
            }
            if duration > DURATION_MAX || self.warmup > DURATION_MAX {
                return wrong("A load may last a day at most: give -d and --warmup up to 24h.".to_owned());
            }
        }
        if self.stop.requests == Some(0) {
            return wrong("0 requests measure nothing: give -n at least 1.".to_owned());
        }
        if self.timeout.is_zero() {
            return wrong("A timeout of 0 s fails every request: give --timeout at least 1ms.".to_owned());
        }
        Ok(())
    }
}
