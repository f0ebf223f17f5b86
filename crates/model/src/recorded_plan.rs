//! The effective plan of a trial as it is stored: defaults filled in, secrets out.

use crate::connect::IpVersion;
use crate::fnv::{fnv1a, folded};
use crate::json_value::VALUES_MAX;
use crate::limits::{few, numbers};
use crate::list::{Format, ORIGINS_MAX, Order};
use crate::plan::{ArrivalKind, Arrivals, CONNECTIONS_MAX, DURATION_MAX, Plan, ProtocolId, STAGES_MAX};
use crate::rate::{Rate, Stage};
use crate::replay::RecordedReplay;
use crate::secret::{REDACTED, is_asked_for, is_secret_by_custom, redacted_command};
use crate::target::Target;
use crate::tls::VerifyKind;
use crate::units::nanoseconds;
use crate::values::Generator;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

pub(crate) const LIST_MAX: usize = 10_000;

/// A plan, as JSON has it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RecordedPlan {
    /// The URL without userinfo.
    pub url: String,
    /// The request's method.
    pub method: String,
    /// Headers as given; of a secret `@env:NAME` or `[redacted]`.
    pub headers: Vec<(String, String)>,
    /// The request body's length.
    pub body_bytes: u64,
    /// Of the request body's bytes, so that two of one length can be told apart: FNV-1a (64 bits) folded to 32, 8
    /// hexadecimal digits; of a file's both ends (1 MiB each) and its length. `None` without a body, and in records from
    /// before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_fingerprint: Option<String>,
    /// Whether the body is read from its file while it is sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub body_file: bool,
    /// Whether bodies are sent in chunks, without their length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chunked: bool,
    /// Connections over all workers.
    pub connections: u32,
    /// Worker threads.
    pub threads: u32,
    /// When requests are due.
    pub arrivals: ArrivalKind,
    /// Requests per second asked for; `None` in closed arrivals and stages.
    pub rate_per_s: Option<f64>,
    /// The window's length; `None` where only a count ends the load.
    pub duration_ns: Option<u64>,
    /// Requests scheduled in all; `None` where only a duration ends the load.
    pub requests: Option<u64>,
    /// Traffic before the window.
    pub warmup_ns: u64,
    /// A request's and a connect's timeout.
    pub timeout_ns: u64,
    /// Whether connections serve more than one request.
    pub keepalive: bool,
    /// After how many requests a connection is closed, where it serves more than one; `None`: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u32>,
    /// The status expected; `None`: any 2xx or 3xx.
    pub expect_status: Option<u16>,
    /// Whether every response's body is compared.
    pub expect_body: bool,
    /// Values that every body must have as JSON, `/id=17`; of a secret one `@env:NAME` or `[redacted]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect_json: Vec<String>,
    /// Whether bodies are decoded before they are compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decode: bool,
    /// CPUs the workers are pinned to.
    #[schemars(with = "Vec<usize>")]
    pub cpus: Vec<u32>,
    /// The seed.
    pub seed: u64,
    /// Requests that a connection may carry at once.
    pub pipeline: u32,
    /// `h2` where HTTP/2 is spoken over TLS, `h2c` without; left out of HTTP/1.1.
    #[serde(default, skip_serializing_if = "ProtocolId::is_http1", deserialize_with = "null_is_http1")]
    #[schemars(with = "Option<ProtocolId>")]
    pub protocol: ProtocolId,
    /// Whether workers stay awake before a request is due.
    pub spin: bool,
    /// Whether arrivals are timed when they are read, though the kernel would stamp them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_clock: bool,
    /// The stages, where there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<RecordedStage>,
    /// Local addresses that connections come from; empty: the kernel's choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Where connections go instead of the URL's host and port: `127.0.0.1:8080`, `a:80:b:81`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect_to: Vec<String>,
    /// Whether connections are spread over all addresses of a name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_addresses: bool,
    /// The only version of IP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<IpVersion>,
    /// How often names are resolved anew; `None`: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolve_every_ns: Option<u64>,
    /// The name that TLS asks for, where it is not the URL's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
    /// How TLS is spoken; `None` with an `http://` URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RecordedTls>,
    /// The list of requests, where there is one; `url` is then the (first) server's, and `method` that of lines without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<RecordedList>,
    /// Values that each request has anew, `id=int:1..1000`; of a secret choice `token=choice:[redacted]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The table of such values, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RecordedData>,
    /// The log whose requests are replayed, which are then the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<RecordedReplay>,
}

/// A table of values, as it can be told from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedData {
    /// The columns' names.
    pub columns: Vec<String>,
    /// Rows below them.
    pub rows: u64,
    /// Of all cells, in hexadecimal: a part of FNV-1a, as short as a body's.
    pub fingerprint: String,
}

/// A list of requests, as it can be told from another. The requests themselves are the trial's `targets`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedList {
    /// Lines with a request.
    pub lines: u64,
    /// Different requests among them; where it stays in its file, all.
    pub requests: u64,
    /// In which order lines are taken.
    pub order: Order,
    /// Of the lines in their order, in hexadecimal: FNV-1a, 64 bits; folded to 32 where a line has more of its own than
    /// its method and URL.
    pub fingerprint: String,
    /// In which format it was written.
    #[serde(default, skip_serializing_if = "Format::is_plain")]
    pub format: Format,
    /// Requests whose responses are held against an expectation of their own, not the plan's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub expecting: u64,
    /// The URLs of all servers where lines name several; the plan's `url` is the first's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
}

/// A stage: a linear change from the level before, 0 at first, to its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedStage {
    /// How long it takes; 0 is a jump.
    pub duration_ns: u64,
    /// Requests per second at its end; `None` in stages of connections.
    pub to_rate_per_s: Option<f64>,
    /// Connections at its end; `None` in stages of a rate.
    pub to_connections: Option<u64>,
}

fn null_is_http1<'de, D: Deserializer<'de>>(from: D) -> Result<ProtocolId, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// How TLS is spoken, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedTls {
    /// Against what the server's certificate is checked.
    pub verify: VerifyKind,
    /// Whether sessions are resumed: `on` or `off`.
    pub resumption: String,
    /// The protocol offered by ALPN.
    pub alpn: ProtocolId,
    /// Whether the client has a certificate to show.
    pub client_certificate: bool,
}

impl RecordedPlan {
    /// How many connections have a user at this instant of the schedule: in a ramp of connections those that have begun and
    /// not ended, else all of them.
    pub fn users_at(&self, at_ns: u64) -> u64 {
        let (mut level, mut start_ns) = (0, 0u64);
        let Some(stages) =
            self.stages.iter().map(|s| Some((s.duration_ns, s.to_connections?))).collect::<Option<Vec<_>>>()
        else {
            return self.connections.into();
        };
        if stages.is_empty() {
            return self.connections.into();
        }
        for (length_ns, to) in stages {
            let passed_ns = at_ns.saturating_sub(start_ns);
            start_ns = start_ns.saturating_add(length_ns);
            if at_ns < start_ns {
                let moved = u128::from(to.abs_diff(level)) * u128::from(passed_ns) / u128::from(length_ns);
                let moved = u64::try_from(moved).unwrap_or(u64::MAX);
                // The next one begins at the instant at which the level reaches the one before.
                return if to > level { (level + moved + 1).min(to) } else { level - moved };
            }
            level = to;
        }
        level
    }

    pub fn servers(&self) -> u32 {
        self.targets.as_ref().map_or(1, |list| list.servers.len().max(1) as u32)
    }

    pub fn check(&self) -> Result<(), String> {
        self.check_numbers()?;
        match self.arrivals() {
            Some(_) => Ok(()),
            None if self.arrivals == ArrivalKind::Replay && self.replay.is_some() => Ok(()),
            None => Err(format!("its plan's arrivals, {}, lack their rate or stages", self.arrivals)),
        }
    }

    pub(crate) fn check_numbers(&self) -> Result<(), String> {
        for (what, count, most) in [
            ("headers", self.headers.len(), LIST_MAX),
            ("JSON values", self.expect_json.len(), VALUES_MAX),
            ("CPUs", self.cpus.len(), LIST_MAX),
            ("addresses", self.sources.len(), LIST_MAX),
            ("rules of where to connect", self.connect_to.len(), LIST_MAX),
            ("values", self.values.len(), LIST_MAX),
            ("columns", self.data.as_ref().map_or(0, |data| data.columns.len()), LIST_MAX),
            ("stages", self.stages.len(), STAGES_MAX),
            ("servers", self.targets.as_ref().map_or(0, |list| list.servers.len()), ORIGINS_MAX),
        ] {
            few(what, count, most)?;
        }
        self.replay.as_ref().map_or(Ok(()), RecordedReplay::check)?;
        let lengths = [
            self.duration_ns.unwrap_or(0),
            self.warmup_ns,
            self.timeout_ns,
            self.body_bytes,
            self.resolve_every_ns.unwrap_or(0),
        ];
        numbers(lengths.into_iter().chain(self.stages.iter().map(|stage| stage.duration_ns)))?;
        let lasts_ns: u64 = self.stages.iter().map(|stage| stage.duration_ns).sum();
        let beyond = |stage: &RecordedStage| {
            stage.to_connections.is_some_and(|to| to > u64::from(CONNECTIONS_MAX))
                || stage.to_rate_per_s.is_some_and(|to| !(0.0..=Rate::MAX_PER_S).contains(&to))
        };
        if lasts_ns > nanoseconds(DURATION_MAX) || self.stages.iter().any(beyond) {
            return Err("its plan has stages that last over a day, or that no client can follow".to_owned());
        }
        Ok(())
    }

    /// Takes out what is secret by today's rules in the record of an older Prony.
    pub(crate) fn redact(&mut self) {
        self.url = redacted_command(&self.url);
        for (name, value) in &mut self.headers {
            let is_secret = is_secret_by_custom(name) && !is_asked_for(value);
            *value = if is_secret { REDACTED.to_owned() } else { redacted_command(value) };
        }
        for expected in &mut self.expect_json {
            let Some((pointer, value)) = expected.split_once('=') else { continue };
            let is_secret = is_secret_by_custom(pointer) && !is_asked_for(value);
            let value = if is_secret { REDACTED.to_owned() } else { redacted_command(value) };
            *expected = format!("{pointer}={value}");
        }
        for one in &mut self.values {
            let Some((name, value)) = one.split_once('=') else { continue };
            let is_secret = value.starts_with("choice:") && is_secret_by_custom(name);
            let value = if is_secret { format!("choice:{REDACTED}") } else { redacted_command(value) };
            *one = format!("{name}={value}");
        }
        for server in self.targets.iter_mut().flat_map(|list| &mut list.servers) {
            *server = redacted_command(server);
        }
    }

    /// `None` where the record lacks its rate, as a search's plan does, its stages, or a log's instants.
    pub fn arrivals(&self) -> Option<Arrivals> {
        let rate = || self.rate_per_s.and_then(Rate::per_s);
        let stages = |to: fn(&RecordedStage) -> Option<u64>| {
            let stage =
                |s: &RecordedStage| Some(Stage { duration: Duration::from_nanos(s.duration_ns), to: to(s)? });
            self.stages.iter().map(stage).collect::<Option<Vec<_>>>().filter(|stages| !stages.is_empty())
        };
        match self.arrivals {
            ArrivalKind::Closed => Some(Arrivals::Closed),
            ArrivalKind::Constant => rate().map(Arrivals::Constant),
            ArrivalKind::Poisson => rate().map(Arrivals::Poisson),
            ArrivalKind::Stages => stages(|s| s.to_connections)
                .map(Arrivals::ConnectionStages)
                .or_else(|| stages(|s| s.to_rate_per_s.map(micro_per_s)).map(Arrivals::RateStages)),
            ArrivalKind::Replay => None,
        }
    }

    pub fn is_open(&self) -> bool {
        match self.arrivals {
            ArrivalKind::Closed => false,
            ArrivalKind::Constant | ArrivalKind::Poisson | ArrivalKind::Replay => true,
            ArrivalKind::Stages => self.stages.iter().any(|stage| stage.to_rate_per_s.is_some()),
        }
    }

    /// Whether the load changes by plan, so that how it spreads over time tells nothing of chance.
    pub fn varies(&self) -> bool {
        !self.stages.is_empty() || matches!(self.arrivals, ArrivalKind::Stages | ArrivalKind::Replay)
    }

    pub fn of(plan: &Plan) -> RecordedPlan {
        // With the user and the password of the URL, which `url` has not.
        let headers = plan.target.headers(plan.headers.clone());
        RecordedPlan {
            url: plan.target.display_url(),
            method: plan.work.method().to_owned(),
            headers: headers.into_iter().map(|(name, value)| (name, value.to_string())).collect(),
            body_bytes: plan.body_file.as_ref().map_or(plan.body.len() as u64, |file| file.bytes),
            body_file: plan.body_file.is_some(),
            chunked: plan.chunked,
            body_fingerprint: (plan.body_file_fingerprint.map(|of_file| format!("{of_file:08x}")))
                .or_else(|| (!plan.body.is_empty()).then(|| fingerprint(&plan.body))),
            connections: plan.connections,
            threads: plan.threads,
            arrivals: plan.arrivals.kind(),
            rate_per_s: plan.arrivals.rate().map(Rate::as_per_s),
            duration_ns: plan.stop.duration.map(nanoseconds),
            requests: plan.stop.requests,
            warmup_ns: nanoseconds(plan.warmup),
            timeout_ns: nanoseconds(plan.timeout),
            keepalive: plan.keepalive,
            requests_per_connection: plan.requests_per_connection,
            expect_status: plan.expect.status,
            expect_body: plan.expect.checks_body(),
            decode: plan.decode,
            expect_json: plan
                .expect
                .json
                .iter()
                .map(|one| format!("{}={}", one.pointer, one.value))
                .collect(),
            cpus: plan.cpus.clone(),
            seed: plan.seed,
            protocol: plan.protocol.id(plan.speaks_tls()),
            pipeline: plan.pipeline,
            spin: plan.spin,
            user_clock: plan.user_clock,
            stages: stages(&plan.arrivals),
            sources: plan.sources.iter().map(ToString::to_string).collect(),
            connect_to: plan.connect.to.iter().map(ToString::to_string).collect(),
            all_addresses: plan.connect.all_addresses,
            ip_version: plan.connect.ip,
            resolve_every_ns: plan.connect.resolve_every.map(nanoseconds),
            sni: plan.connect.sni.clone(),
            tls: plan.speaks_tls().then(|| RecordedTls {
                verify: plan.tls.verify.kind(),
                resumption: if plan.tls.resumption { "on" } else { "off" }.to_owned(),
                alpn: plan.protocol.id(true),
                client_certificate: plan.tls.identity_files.is_some(),
            }),
            replay: plan.arrivals.replay().map(|replay| replay.log.clone()),
            targets: plan.work.list().map(|list| RecordedList {
                lines: list.count(),
                requests: list.long().map_or(list.requests.len() as u64, |long| long.requests),
                order: list.order,
                format: list.format,
                fingerprint: format!("{:016x}", list.fingerprint()),
                expecting: list.expecting(),
                servers: list.origins.iter().map(Target::display_url).collect(),
            }),
            values: plan.values.generators.iter().map(Generator::shown).collect(),
            data: (!plan.values.table.columns.is_empty()).then(|| RecordedData {
                columns: plan.values.table.columns.clone(),
                rows: plan.values.table.rows() as u64,
                fingerprint: fingerprint(plan.values.table.cells.join("\n").as_bytes()),
            }),
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Millionths of requests per second, as stages have them; a float's cast saturates.
fn micro_per_s(per_s: f64) -> u64 {
    (per_s * 1e6).round() as u64
}

fn fingerprint(bytes: &[u8]) -> String {
    format!("{:08x}", folded(fnv1a(bytes.iter().copied())))
}

/// The stages. A rate is at most 1e14 millionths, exact in an f64.
fn stages(arrivals: &Arrivals) -> Vec<RecordedStage> {
    let of_rate = matches!(arrivals, Arrivals::RateStages(_));
    let record = |stage: &Stage| RecordedStage {
        duration_ns: nanoseconds(stage.duration),
        to_rate_per_s: of_rate.then_some(stage.to as f64 / 1e6),
        to_connections: (!of_rate).then_some(stage.to),
    };
    arrivals.stages().unwrap_or_default().iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn secrets_never_reach_a_record() {
        let mut plan = Plan::closed(Target::parse("http://me:pw@h/").unwrap());
        plan.headers = [
            ("Authorization", "Bearer s3"),
            ("COOKIE", "s3"),
            ("X-Api-Key", "s3"),
            ("X-Own", "s3"),
            ("Accept", "*/*"),
        ]
        .map(|(n, v)| (n.to_owned(), Secret::of_header(n, v).unwrap()))
        .to_vec();
        plan.hide_headers(&["x-own".to_owned()]);
        let text = serde_json::to_string(&RecordedPlan::of(&plan)).unwrap();
        assert!(!text.contains("s3") && !text.contains("pw"), "{text}");
        assert!(text.contains("*/*"));
        plan.headers.clear();
        let credentials = [("Authorization".to_owned(), "[redacted]".to_owned())];
        assert_eq!(RecordedPlan::of(&plan).headers, credentials, "of the URL");
    }

    #[test]
    fn an_older_records_values_lose_their_secrets() {
        let values = ["token=choice:s3|s4", "key=int:1..9", "id=choice:http://me:s3@h/"];
        let mut plan = RecordedPlan { values: values.map(str::to_owned).to_vec(), ..RecordedPlan::default() };
        plan.redact();
        let shown = ["token=choice:[redacted]", "key=int:1..9", "id=choice:http://[redacted]@h/"];
        assert_eq!(plan.values, shown);
    }

    #[test]
    fn bodies_of_one_length_are_told_apart_without_being_kept() {
        let of = |body: &'static [u8]| {
            let mut plan = Plan::closed(Target::parse("http://h/").unwrap());
            plan.body = body.into();
            RecordedPlan::of(&plan)
        };
        let (one, other, none) = (of(b"{\"a\":1}"), of(b"{\"a\":2}"), of(b""));
        assert_eq!(one.body_bytes, other.body_bytes);
        assert_eq!(one.body_fingerprint.as_deref().map(str::len), Some(8));
        assert_ne!(one.body_fingerprint, other.body_fingerprint);
        assert_eq!(none.body_fingerprint, None);
    }
}
