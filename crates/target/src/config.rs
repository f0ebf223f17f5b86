//! What the server shall do, typed, and how people write it: `2ms`, `exp:2ms`, `bimodal:3ms,23ms,0.1`, `200ms/2s`.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// Longest delay, stall or period: beyond it somebody has mistyped a unit.
const DURATION_MAX: Duration = Duration::from_secs(3600);
/// Most event loops: each holds two histograms of 280 KB.
const THREADS_MAX: usize = 256;
/// Largest answer: it is copied once per connection that reads it slowly.
pub(crate) const BODY_BYTES_MAX: usize = 16 << 20;
const STREAMS_MAX: u32 = 1_000;
/// A service time under a nanosecond is none.
const CAPACITY_PER_S_MAX: f64 = 1e9;

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Port 0 takes any free one; [`Target::address`](crate::Target::address) tells which.
    pub address: SocketAddr,
    /// Event loops, one thread each; one with [`capacity_per_s`](Config::capacity_per_s): a single server has a single
    /// queue.
    pub threads: usize,
    pub delay: Delay,
    pub stall: Option<Stall>,
    /// Whether each connection ends after one answer. (In HTTP/2 by GOAWAY.)
    pub close: bool,
    /// Requests per second of a single first-come-first-served queue in front of the delay; `None`: as fast as it goes.
    pub capacity_per_s: Option<f64>,
    /// Size of the body of `GET /`, in bytes, in place of `Hello, World!`.
    pub body_bytes: Option<usize>,
    /// Where random delays begin. The same seed, requests and one thread give the same delays.
    pub seed: u64,
    /// Whether it speaks TLS, by a certificate of its own ([`Target::certificate`](crate::Target::certificate)).
    pub tls: bool,
    /// What concerns connections that speak HTTP/2 alone.
    pub http2: Http2Config,
}

/// What a server allows in HTTP/2, and how it misbehaves. Requests are counted on each connection from 1, without those
/// for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Config {
    /// How many streams a connection may have at once; those beyond are refused.
    pub max_streams: u32,
    /// With a connection's first request, the limit becomes this. What the client has open by then goes on.
    pub lower_streams: Option<u32>,
    /// The request after which a connection is ended: it and those before are answered, none after it is processed.
    pub goaway_after: Option<NonZeroU32>,
    /// Of every so many requests, the last one's stream is ended by INTERNAL_ERROR when its answer is due.
    pub reset_every: Option<NonZeroU32>,
    /// How many bytes of each request's body are taken; the window is never widened.
    pub starve_uploads: Option<u32>,
}

impl Default for Http2Config {
    fn default() -> Http2Config {
        Http2Config {
            max_streams: STREAMS_MAX,
            lower_streams: None,
            goaway_after: None,
            reset_every: None,
            starve_uploads: None,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            threads: 1,
            delay: Delay::None,
            stall: None,
            close: false,
            capacity_per_s: None,
            body_bytes: None,
            seed: 0,
            tls: false,
            http2: Http2Config::default(),
        }
    }
}

impl Config {
    /// Whether it can be carried out; the fields are public, so what [`FromStr`] refuses can still be written in code.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if !(1..=THREADS_MAX).contains(&self.threads) {
            return Err(ConfigError::Threads(self.threads));
        }
        if let Some(given) = self.capacity_per_s
            && !(given > 0.0 && given <= CAPACITY_PER_S_MAX && 1.0 / given <= DURATION_MAX.as_secs_f64())
        {
            return Err(ConfigError::Capacity(given));
        }
        if let Some(given) = self.body_bytes
            && given > BODY_BYTES_MAX
        {
            return Err(ConfigError::BodyBytes(given));
        }
        if self.http2.max_streams > STREAMS_MAX {
            return Err(ConfigError::Streams(self.http2.max_streams));
        }
        if let Some(given) = self.http2.starve_uploads
            && given as usize > BODY_BYTES_MAX
        {
            return Err(ConfigError::UploadBytes(given));
        }
        self.stall.map_or(Ok(()), Stall::check)?;
        self.delay.check()
    }
}

/// How long an answer is held back, counted from the request's arrival, each independent of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Delay {
    #[default]
    None,
    Fixed(Duration),
    /// Exponentially distributed: with Poisson arrivals, an M/M/∞ queue.
    Exponential {
        mean: Duration,
    },
    /// One of two: a cache that mostly hits.
    Bimodal {
        usual: Duration,
        rare: Duration,
        /// The others' share, between 0 and 1.
        rare_share: f64,
    },
}

impl Delay {
    fn check(self) -> Result<(), ConfigError> {
        match self {
            Delay::None => Ok(()),
            Delay::Fixed(delay) => check_duration("delay", delay),
            Delay::Exponential { mean } => check_duration("mean delay", mean),
            Delay::Bimodal { usual, rare, rare_share } => {
                check_duration("usual delay", usual)?;
                check_duration("rare delay", rare)?;
                if rare_share > 0.0 && rare_share < 1.0 {
                    Ok(())
                } else {
                    Err(ConfigError::Share(rare_share.to_string()))
                }
            }
        }
    }
}

impl FromStr for Delay {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Delay, ConfigError> {
        let delay = if text == "none" {
            Delay::None
        } else if let Some(mean) = text.strip_prefix("exp:") {
            Delay::Exponential { mean: parse_duration("mean delay", mean)? }
        } else if let Some(parts) = text.strip_prefix("bimodal:") {
            let mut parts = parts.split(',');
            let (Some(usual), Some(rare), Some(share), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                return Err(ConfigError::DelayKind(text.to_owned()));
            };
            Delay::Bimodal {
                usual: parse_duration("usual delay", usual)?,
                rare: parse_duration("rare delay", rare)?,
                rare_share: share.parse().map_err(|_| ConfigError::Share(share.to_owned()))?,
            }
        } else if text.contains(':') {
            return Err(ConfigError::DelayKind(text.to_owned()));
        } else {
            Delay::Fixed(parse_duration("delay", text)?)
        };
        delay.check()?;
        Ok(delay)
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::None => write!(f, "none"),
            Delay::Fixed(delay) => write!(f, "{delay:?}"),
            Delay::Exponential { mean } => write!(f, "exp:{mean:?}"),
            Delay::Bimodal { usual, rare, rare_share } => {
                write!(f, "bimodal:{usual:?},{rare:?},{rare_share}")
            }
        }
    }
}

/// The first `silence` of every `period`: nothing is accepted or read then, but answers whose delay ends within it
/// still go out. So a request that comes `t` into it is answered `silence - t + delay` later, one outside `delay`
/// later; a silence that also held answers back would have a third case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    pub silence: Duration,
    /// From the beginning of one silence to the next; longer than the silence.
    pub period: Duration,
}

impl Stall {
    fn check(self) -> Result<(), ConfigError> {
        check_duration("stall", self.silence)?;
        check_duration("stall's period", self.period)?;
        if self.silence < self.period { Ok(()) } else { Err(ConfigError::StallTooLong(self.to_string())) }
    }
}

impl FromStr for Stall {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Stall, ConfigError> {
        let Some((silence, period)) = text.split_once('/') else {
            return Err(ConfigError::StallShape(text.to_owned()));
        };
        let stall = Stall {
            silence: parse_duration("stall", silence)?,
            period: parse_duration("stall's period", period)?,
        };
        stall.check()?;
        Ok(stall)
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{:?}", self.silence, self.period)
    }
}

/// Each has the thing as it was written (of a duration, first what it was to be), the reason and what to write instead.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConfigError {
    #[error(
        "the {0} `{1}` is not a duration: write a number and its unit (ns, us, ms, s, m or h), such as 2ms"
    )]
    NotADuration(&'static str, String),
    #[error("the {0} `{1}` is out of range: write one above 0 and of at most 1h, or leave the option out")]
    OutOfRange(&'static str, String),
    #[error(
        "the delay `{0}` is of no known kind: write a fixed one (2ms), an exponential one by its mean (exp:2ms), \
         or two with the second's share (bimodal:3ms,23ms,0.1)"
    )]
    DelayKind(String),
    #[error(
        "the share `{0}` of the rare delay is not between 0 and 1: write one such as 0.1 for a tenth of requests"
    )]
    Share(String),
    #[error("the stall `{0}` has no period: write SILENCE/PERIOD, such as 200ms/2s for 200 ms in every 2 s")]
    StallShape(String),
    /// The silence never ends.
    #[error("the stall `{0}` would never end: write a silence shorter than its period, such as 200ms/2s")]
    StallTooLong(String),
    #[error("{0} threads cannot serve: write a number from 1 to {THREADS_MAX}")]
    Threads(usize),
    #[error(
        "a capacity of {0} requests per second cannot be kept: write one above 0 (one an hour at least) and of at most 1e9"
    )]
    Capacity(f64),
    #[error(
        "a body of {0} bytes is more than the server holds for a connection: write at most {BODY_BYTES_MAX}"
    )]
    BodyBytes(usize),
    /// More than a connection's memory is bounded for.
    #[error("{0} streams are more than one connection may have: write at most {STREAMS_MAX}")]
    Streams(u32),
    /// More than any request's body may have.
    #[error("no upload is stopped after {0} bytes, since a body has at most {BODY_BYTES_MAX}: write fewer")]
    UploadBytes(u32),
}

fn check_duration(what: &'static str, duration: Duration) -> Result<(), ConfigError> {
    if duration.is_zero() || duration > DURATION_MAX {
        return Err(ConfigError::OutOfRange(what, format!("{duration:?}")));
    }
    Ok(())
}

/// A number with its unit, above 0 and at most an hour.
fn parse_duration(what: &'static str, text: &str) -> Result<Duration, ConfigError> {
    let not_a_duration = || ConfigError::NotADuration(what, text.to_owned());
    let trimmed = text.trim();
    let unit_at =
        trimmed.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).ok_or_else(not_a_duration)?;
    let (number, unit) = trimmed.split_at(unit_at);
    let unit_s = match unit.trim_start() {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(not_a_duration()),
    };
    let number: f64 = number.parse().map_err(|_| not_a_duration())?;
    let out_of_range = || ConfigError::OutOfRange(what, text.to_owned());
    let duration = Duration::try_from_secs_f64(number * unit_s).map_err(|_| out_of_range())?;
    check_duration(what, duration).map_err(|_| out_of_range())?;
    Ok(duration)
}

#[cfg(test)]
mod tests;
