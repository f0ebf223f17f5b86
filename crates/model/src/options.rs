//! The options of a load as somebody wrote them: flags of a command line, or keys of an experiment's `[load]` and
//! `[[plan]]`. One list for both; `meaning` is the one place that makes a plan of them.

mod body;
mod long_list;
mod meaning;
mod replay;
mod workers;

pub use crate::input::ReadFile;
pub use workers::WorkerPolicy;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::str::FromStr;

use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::plan::{Arrivals, Protocol};
use crate::secret::Secret;
#[cfg(feature = "flags")]
use crate::units::count;
use crate::units::{DurationValue, OneOrMany, RateValue, WindowValue, parse_stages};

/// The options of a load. What was not given is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "flags", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct LoadOptions {
    /// Worker threads, which share the connections [default: 1]
    #[cfg_attr(feature = "flags", arg(short, long, value_name = "N", value_parser = count::<u32>))]
    pub threads: Option<u32>,
    /// Concurrent connections [default: 50; 100 with -R]
    #[cfg_attr(feature = "flags", arg(short, long, value_name = "N", value_parser = one::<u32>))]
    pub connections: Option<OneOrMany<u32>>,
    /// How long to measure, `30s`, `1m30s` or `auto` [default: 10s]
    ///
    /// This time begins after the warm-up. A bare number is in seconds. With -n and without -d it has no limit. `auto` is
    /// the shortest of 1, 2, 5, 10 and 30 s in which p50, p99 and the percentiles of --slo have enough requests, at the
    /// rate that a short load before the run shows, or at that of -R
    #[cfg_attr(feature = "flags", arg(short, long, value_name = "TIME"))]
    pub duration: Option<WindowValue>,
    /// Stop after N requests in total, those of the warm-up included
    #[cfg_attr(feature = "flags", arg(short = 'n', long, value_name = "N", value_parser = count::<u64>))]
    pub requests: Option<u64>,
    /// Requests per second in total, `2000`, `20k` (open loop)
    ///
    /// Each is sent when it is due, even if the server is slow. Without a rate, each connection sends its next
    /// request when it has received a response (closed loop)
    #[cfg_attr(feature = "flags", arg(short = 'R', long, value_name = "RATE"))]
    pub rate: Option<OneOrMany<RateValue>>,
    /// A request header, 'Name: value' (repeatable)
    ///
    /// The value `@env:NAME` is read from the environment variable NAME
    #[cfg_attr(feature = "flags", arg(short = 'H', long = "header", value_name = "HEADER"))]
    #[serde(with = "header_table")]
    pub headers: Option<Vec<Header>>,
    /// The request method [default: GET; POST with a body]
    #[cfg_attr(feature = "flags", arg(short, long, value_name = "METHOD"))]
    pub method: Option<String>,
    /// The request body; @FILE is the content of FILE
    ///
    /// `@env:NAME` is the value of the environment variable NAME
    #[cfg_attr(feature = "flags", arg(short, long, value_name = "TEXT|@FILE"))]
    pub body: Option<String>,
    /// The request body, read from FILE piece by piece as it is sent: for bodies larger than memory
    #[cfg_attr(feature = "flags", arg(long, value_name = "FILE"))]
    pub body_file: Option<String>,
    /// A field of a multipart form, which is the body: `name=value`, `name=@FILE`, `name=@FILE;type=image/png`
    ///
    /// Repeatable. `name=@env:VAR` is the value of the environment variable VAR
    #[cfg_attr(feature = "flags", arg(short = 'F', long, value_name = "NAME=VALUE|NAME=@FILE"))]
    pub form: Option<Vec<String>>,
    /// A field of a form in application/x-www-form-urlencoded, which is the body: `name=value`; it is encoded. Repeatable
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME=VALUE"))]
    pub form_urlencoded: Option<Vec<String>>,
    /// Send the body in chunks of 16 KiB, without its length
    #[cfg_attr(feature = "flags", arg(long, num_args = 0, default_missing_value = "true"))]
    pub chunked: Option<bool>,
    /// How long a request, or opening a connection, may take before it counts as failed [default: 10s]
    #[cfg_attr(feature = "flags", arg(long, short_alias = 'T', value_name = "TIME"))]
    pub timeout: Option<DurationValue>,
    /// How long to load before measuring starts; these requests are not counted [default: a tenth of -d, at most
    /// 3s; 0 with -n alone]
    #[cfg_attr(feature = "flags", arg(long, value_name = "TIME"))]
    pub warmup: Option<DurationValue>,
    /// Open a new connection for every request
    #[cfg_attr(feature = "flags", arg(long = "no-keepalive", num_args = 0, default_missing_value = "false"))]
    pub keepalive: Option<bool>,
    /// Close each connection after N requests; the first ones after fewer, spread evenly, so that they do not end together
    ///
    /// Over HTTP/1.1 the last request says `Connection: close`; over HTTP/2 the next connection opens while the last
    /// responses arrive. 1 is --no-keepalive [default: no limit]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N", value_parser = count::<u32>))]
    pub requests_per_connection: Option<u32>,
    /// The only status that counts as success, `204` [default: any 2xx or 3xx]
    #[cfg_attr(feature = "flags", arg(long, value_name = "STATUS"))]
    pub expect_status: Option<u16>,
    /// The body that every response must have, or the request counts as failed: TEXT, the content of FILE, the
    /// value of environment variable NAME, or a body with this SHA-256
    #[cfg_attr(feature = "flags", arg(long, value_name = "TEXT|@FILE|@env:NAME|sha256:HEX"))]
    pub expect_body: Option<String>,
    /// A value that every response's body must have as JSON, at a JSON pointer: `/items/0/id=17`; what is not JSON
    /// after the = is a string, `@env:NAME` the value of the environment variable NAME. Repeatable; bodies up to 1 MiB
    #[cfg_attr(feature = "flags", arg(long, value_name = "POINTER=VALUE"))]
    pub expect_json: Option<Vec<String>>,
    /// Ask for gzip and br, and check bodies decoded: a body that cannot be decoded, or is over 1 MiB (64 MiB decoded), fails
    #[cfg_attr(feature = "flags", arg(long, num_args = 0, default_missing_value = "true"))]
    pub decode: Option<bool>,
    /// How the requests of -R are spaced: `constant` (evenly) or `poisson` (randomly, as from independent users)
    /// [default: constant; poisson in `prony capacity`, and in `prony bench` with -R and --slo]
    #[cfg_attr(feature = "flags", arg(long, value_name = "KIND"))]
    pub arrivals: Option<String>,
    /// The seed of all random choices, an integer; results record it [default: 1, or the experiment's]
    #[cfg_attr(feature = "flags", arg(long, value_name = "N"))]
    pub seed: Option<u64>,
    /// Requests in flight per connection, by HTTP pipelining or, with --http2, as streams [default: 1]
    #[cfg_attr(feature = "flags", arg(short, long, value_name = "N", value_parser = count::<u32>))]
    pub pipeline: Option<u32>,
    /// Use HTTP/2: negotiated by ALPN for https://, with prior knowledge (h2c) for http://
    #[cfg_attr(feature = "flags", arg(id = "http2", long = "http2", num_args = 0, default_missing_value = "", value_parser = http2))]
    #[serde(rename = "http2", alias = "protocol", with = "protocol_or_flag")]
    pub protocol: Option<Protocol>,
    /// Change the load linearly over TIME, from the previous stage's level (0 at first) to LEVEL: a rate,
    /// `30s:20k/s`, or in a closed loop a number of connections, `60s:5000c`. `0s:LEVEL` changes it at once.
    /// Repeatable, in order; the load ends with the last stage
    #[cfg_attr(feature = "flags", arg(long = "stage", value_name = "TIME:LEVEL"))]
    pub stages: Option<Vec<String>>,
    /// Connect from these local addresses in turn, `127.0.0.2,127.0.0.3` or `127.0.0.2-127.0.0.9`
    #[cfg_attr(feature = "flags", arg(long, value_name = "ADDRESSES"))]
    pub source: Option<String>,
    /// Connect to this Unix socket; the path and the Host header are still those of the URL
    #[cfg_attr(feature = "flags", arg(long, value_name = "PATH"))]
    pub unix: Option<String>,
    /// Connect to this address instead of the URL's, `127.0.0.1:8080`, or only for URLs of one host and port,
    /// `HOST:PORT:ADDRESS:PORT` (empty parts: any, the same); the Host header and TLS are still those of the URL. Repeatable
    #[cfg_attr(feature = "flags", arg(long, value_name = "[HOST:PORT:]ADDRESS:PORT"))]
    pub connect_to: Option<Vec<String>>,
    /// Spread connections over all addresses of the URL's name [default: its first address that accepts]
    #[cfg_attr(feature = "flags", arg(long, num_args = 0, default_missing_value = "true"))]
    pub all_addresses: Option<bool>,
    /// Connect by IPv4 only
    #[cfg_attr(
        feature = "flags",
        arg(short = '4', long, num_args = 0, default_missing_value = "true", conflicts_with = "ipv6")
    )]
    pub ipv4: Option<bool>,
    /// Connect by IPv6 only
    #[cfg_attr(feature = "flags", arg(short = '6', long, num_args = 0, default_missing_value = "true"))]
    pub ipv6: Option<bool>,
    /// Resolve the URL's name again every TIME, for connections opened after it; a failed lookup keeps the old addresses
    #[cfg_attr(feature = "flags", arg(long, value_name = "TIME"))]
    pub resolve_every: Option<DurationValue>,
    /// The name that TLS asks for (SNI) and that the certificate must have [default: the URL's host]
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME"))]
    pub sni: Option<String>,
    /// Busy-wait until each request of -R is due, and send it within about 1 µs of that time; each worker thread
    /// then uses up to one whole CPU core
    #[cfg_attr(feature = "flags", arg(long, num_args = 0, default_missing_value = "true"))]
    pub spin: Option<bool>,
    /// Record a response's time when Prony reads it, not when the kernel receives it: takes less CPU, but latency
    /// then includes the client's own delay
    #[cfg_attr(feature = "flags", arg(long, num_args = 0, default_missing_value = "true"))]
    pub user_clock: Option<bool>,
    /// Request several URLs in turn, one per line of FILE: URL, METHOD URL or a path; `-` is standard input. The
    /// URL argument then gives only the server; without it, lines with whole URLs may name several servers in `prony
    /// load`
    ///
    /// Lists of vegeta's (text and JSON), command lines of curl's, JSON Lines and folders of raw requests (*.raw) give
    /// each request its headers and body. A file of over a million lines is read while it is sent, in order
    #[cfg_attr(feature = "flags", arg(long, value_name = "FILE|FOLDER|-"))]
    pub targets: Option<String>,
    /// The format of --targets: plain, vegeta, vegeta-json, curl, raw or jsonl [default: by its content]
    #[cfg_attr(feature = "flags", arg(long, value_name = "FORMAT"))]
    pub targets_format: Option<String>,
    /// Request the lines of --targets in a new random order in each round
    #[cfg_attr(feature = "flags", arg(long, num_args = 0, default_missing_value = "true"))]
    pub shuffle: Option<bool>,
    /// A value that each request has anew, `id=int:1..1000`, for `{{id}}` in the URL, headers and body (repeatable)
    ///
    /// KIND is int:LOW..HIGH, seq (the request's number), uuid, choice:a|b or chars:16 (letters and digits), drawn by
    /// --seed and the request's number; written for its place, percent-encoded in a URL, as JSON in JSON
    #[cfg_attr(feature = "flags", arg(long, value_name = "NAME=KIND"))]
    pub generate: Option<Vec<String>>,
    /// A CSV file: `{{column}}` in the URL, headers or body is that column's value, a row per request, from the first again
    /// after the last; the first line names the columns
    #[cfg_attr(feature = "flags", arg(long, value_name = "FILE.csv"))]
    pub data: Option<String>,
    /// Replay the requests of a log at their own instants: nginx's or Apache's combined log, JSON Lines, or CSV with named
    /// columns; `-` is standard input. The URL argument gives the server; the log's end ends the load
    ///
    /// With -d or -n it ends before. A log has no headers and no bodies; what is left out of it is said
    #[cfg_attr(feature = "flags", arg(long, value_name = "FILE|-"))]
    pub replay: Option<String>,
    /// Replay so many times as fast as logged, `2` or `0.5` [default: 1]
    #[cfg_attr(feature = "flags", arg(long, value_name = "FACTOR"))]
    pub speed: Option<f64>,
    /// Replay the log again and again, until -d or -n ends the load
    #[cfg_attr(
        feature = "flags",
        arg(id = "loop", long = "loop", num_args = 0, default_missing_value = "true")
    )]
    #[serde(rename = "loop")]
    pub looped: Option<bool>,
    /// Which of the log's requests are replayed, by method; they have no bodies [default: GET,HEAD]
    #[cfg_attr(feature = "flags", arg(long, value_name = "METHODS"))]
    pub methods: Option<String>,
    /// CA certificates (PEM) to trust for https://, instead of the system's
    #[cfg_attr(feature = "flags", arg(long, value_name = "FILE"))]
    pub cacert: Option<String>,
    /// The client certificate (PEM) for https://, followed by its intermediate certificates
    #[cfg_attr(feature = "flags", arg(long, value_name = "FILE"))]
    pub cert: Option<String>,
    /// The private key (PEM) of --cert [default: the file of --cert]
    #[cfg_attr(feature = "flags", arg(long, value_name = "FILE"))]
    pub key: Option<String>,
    /// Do not verify the certificate of an https:// server
    #[cfg_attr(feature = "flags", arg(short = 'k', long, num_args = 0, default_missing_value = "true"))]
    pub insecure: Option<bool>,
    /// Whether new https:// connections may resume the TLS session of an earlier one [default: on]
    #[cfg_attr(feature = "flags", arg(long, value_name = "on|off"))]
    pub tls_resumption: Option<String>,
    /// Accepted for wrk's sake: percentiles are always shown
    #[cfg_attr(feature = "flags", arg(short = 'L', long, hide = true))]
    #[serde(skip)]
    pub latency: bool,
    /// Of a plan in a file: its name.
    #[cfg_attr(feature = "flags", arg(skip))]
    pub name: Option<String>,
    /// Of a plan in a file: the thresholds to keep while its highest sustainable rate is searched for, `p99<50ms`;
    /// `default` for no more than that the backlog does not grow.
    #[cfg_attr(feature = "flags", arg(skip))]
    pub capacity: Option<String>,
    /// Of a plan in a file: how many workers each server is told to use, where that is not the experiment's rule.
    #[cfg_attr(feature = "flags", arg(skip))]
    pub workers: Option<WorkerPolicy>,
    /// Of a plan in a file: the route of the contract that it requests, where that is not the experiment's.
    #[cfg_attr(feature = "flags", arg(skip))]
    pub route: Option<String>,
    /// Of a plan in a file: the candidates that take part in it, where that is not the experiment's list.
    #[cfg_attr(feature = "flags", arg(skip))]
    pub candidates: Option<Vec<String>>,
    /// Of a plan in a file: whose capacity a rate in percent is a share of, `amphp:opcache knee`.
    #[cfg_attr(feature = "flags", arg(skip))]
    pub of: Option<String>,
}

#[cfg(feature = "flags")]
fn one<N: TryFrom<u64>>(text: &str) -> Result<OneOrMany<N>, String> {
    count(text).map(OneOrMany::One)
}

#[cfg(feature = "flags")]
fn http2(_: &str) -> Result<Protocol, Infallible> {
    Ok(Protocol::Http2)
}

/// A header as it is written: `Name: value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    /// Its value, or `@env:NAME` for what the environment holds; `None` where no colon was written.
    pub value: Option<String>,
}

impl FromStr for Header {
    /// None: a parser of flags would repeat what is wrong, which may be a secret. [`LoadOptions::plan`] refuses it.
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Header, Infallible> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value.trim().to_owned())),
            None => (text, None),
        };
        Ok(Header { name: name.trim().to_owned(), value })
    }
}

impl Header {
    /// Its name, and its value: of `@env:NAME` that of the environment.
    fn pair(&self) -> Result<(String, Secret), PlanError> {
        let Some(value) = &self.value else {
            // Its first word only: what follows may be a secret.
            let first = self.name.split_whitespace().next().unwrap_or_default();
            return Err(PlanError(format!("-H {first:?} … has no colon: write -H 'Name: value'.")));
        };
        let value = Secret::of_header(&self.name, value).map_err(PlanError)?;
        Ok((self.name.clone(), value))
    }
}

mod header_table {
    use super::{BTreeMap, Deserialize, Deserializer, Header, Serializer};

    pub(super) fn serialize<S: Serializer>(given: &Option<Vec<Header>>, to: S) -> Result<S::Ok, S::Error> {
        let Some(headers) = given else { return to.serialize_none() };
        to.collect_map(headers.iter().map(|header| (&header.name, &header.value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Header>>, D::Error> {
        let table = Option::<BTreeMap<String, String>>::deserialize(from)?;
        Ok(table.map(|table| {
            table.into_iter().map(|(name, value)| Header { name, value: Some(value) }).collect()
        }))
    }
}

/// The protocol as a file says it: `protocol = "http2"` or `"http1"`, or as the flag, `http2 = true`.
mod protocol_or_flag {
    use super::{Deserialize, Deserializer, Protocol, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged, expecting = "protocol is \"http1\" or \"http2\", and http2 true or false")]
    enum Given {
        Flag(bool),
        Named(Protocol),
    }

    pub(super) fn serialize<S: Serializer>(given: &Option<Protocol>, to: S) -> Result<S::Ok, S::Error> {
        given.map(|protocol| protocol == Protocol::Http2).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Protocol>, D::Error> {
        Ok(Option::<Given>::deserialize(from)?.map(|given| match given {
            Given::Flag(true) => Protocol::Http2,
            Given::Flag(false) => Protocol::Http1,
            Given::Named(protocol) => protocol,
        }))
    }
}

impl LoadOptions {
    /// The names of the options that were given: keys of a file, and what flags are called in the code.
    pub fn given(&self) -> Vec<String> {
        self.table().keys().cloned().collect()
    }

    pub fn table(&self) -> serde_json::Map<String, serde_json::Value> {
        let serde_json::Value::Object(mut table) = serde_json::to_value(self).unwrap_or_default() else {
            return serde_json::Map::new();
        };
        table.retain(|_, value| !value.is_null());
        table
    }

    pub fn without(&self, option: &str) -> Result<LoadOptions, PlanError> {
        let mut table = self.table();
        table.remove(option);
        LoadOptions::of_table(table)
    }

    fn of_table(table: serde_json::Map<String, serde_json::Value>) -> Result<LoadOptions, PlanError> {
        let read = serde_json::from_value(serde_json::Value::Object(table));
        read.map_err(|why| PlanError(format!("The options cannot be put together: {why}.")))
    }

    /// These options, and those of `defaults` for what is not given here and not contradicted by what is: stages say
    /// themselves how much and how long, and a rate replaces stages.
    pub fn or(&self, defaults: &LoadOptions) -> Result<LoadOptions, PlanError> {
        let (own, mut merged) = (self.table(), defaults.table());
        for name in self.replaces() {
            merged.remove(name);
        }
        merged.extend(own);
        LoadOptions::of_table(merged)
    }

    /// What defaults may not say beside these options.
    pub fn replaces(&self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            LoadOptions { stages: Some(stages), .. }
                if matches!(parse_stages(stages), Ok(Arrivals::ConnectionStages(_))) =>
            {
                &["rate", "arrivals", "duration", "warmup", "requests", "connections"]
            }
            LoadOptions { stages: Some(_), .. } => &["rate", "arrivals", "duration", "warmup", "requests"],
            LoadOptions { replay: Some(_), .. } => &OF_OTHERS,
            LoadOptions { rate: Some(_), requests: Some(_), duration: None, .. } => &["stages", "duration"],
            LoadOptions { rate: Some(_), .. } => &["stages"],
            LoadOptions { requests: Some(_), duration: None, .. } => &["duration"],
            _ => &[],
        };
        let no_log = self.stages.is_some() || self.rate.is_some() || self.targets.is_some();
        let others: [(bool, &[&str]); 6] = [
            (no_log, &OF_LOGS),
            (self.bodies() > 0, &BODIES),
            (self.requests_per_connection.is_some_and(|requests| requests > 1), &["keepalive"]),
            (self.keepalive == Some(false), &["requests_per_connection"]),
            (self.ipv4 == Some(true), &["ipv6"]),
            (self.ipv6 == Some(true), &["ipv4"]),
        ];
        let others = others.into_iter().filter(|(given, _)| *given).flat_map(|(_, names)| names);
        own.iter().chain(others).copied().collect()
    }
}

/// What only a log is given.
const OF_LOGS: [&str; 4] = ["replay", "speed", "loop", "methods"];
/// What a log says itself.
#[rustfmt::skip]
const OF_OTHERS: [&str; 15] = [
    "rate", "arrivals", "stages", "duration", "warmup", "requests", "targets", "targets_format", "shuffle", "method", "body",
    "body_file", "form", "form_urlencoded", "chunked",
];
/// Of which a request has one.
const BODIES: [&str; 4] = ["body", "body_file", "form", "form_urlencoded"];

#[cfg(test)]
mod tests;
