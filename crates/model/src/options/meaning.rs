//! What options mean: defaults, files, and what does not go together.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use strum::VariantNames;

use super::{Header, LoadOptions, ReadFile};
use crate::connect::{Connect, IpVersion};
use crate::error::{PlanError, wrong};
use crate::input::sha256;
use crate::json_value::JsonValue;
use crate::list::long::sha256_of;
use crate::list::{Format, ListError, ListFile, Order, TargetList, is_folder};
use crate::plan::{
    Arrivals, CONNECTIONS_AT_A_RATE, CONNECTIONS_CLOSED, DURATION, Expect, PROBE_WARMUP, Plan, Protocol,
    SEED, Stop, TIMEOUT, Work, default_warmup,
};
use crate::rate::Rate;
use crate::secret::{ASKED, Secret, gives, remember_body, text_or_variable};
use crate::target::Target;
use crate::tls::{Identity, IdentityError, IdentityFiles, Roots, Tls, Verify};
use crate::units::{DurationValue, OneOrMany, RateValue, WindowValue, most_connections, parse_stages};
use crate::values::{self, Generator, Values};

/// Each has tens of thousands of ports.
const SOURCES_MAX: usize = 1024;
/// The largest body that is read from a file, for a request or to compare with; the largest list, too.
pub(super) const FILE_MAX_BYTES: u64 = 256 << 20;
/// The largest PEM file that is read. A system's whole trust is a quarter of a megabyte.
const PEM_MAX_BYTES: u64 = 16 << 20;
/// What `--expect-body` says before a hash.
const SHA256: &str = "sha256:";
/// The shortest window of a search's probe.
const PROBE_MIN: Duration = Duration::from_millis(200);

impl LoadOptions {
    /// The plan that these options mean, checked; without a target, of the server that the list of `targets` names.
    pub fn plan(&self, target: Option<Target>, read: ReadFile<'_>) -> Result<Plan, PlanError> {
        let mut plan = self.plan_for_agents(target, read)?;
        let files = plan.tls.identity_files.as_ref();
        plan.tls.identity = files.map(|files| files.read(read)).transpose()?;
        Ok(plan)
    }

    /// The same, whose client certificate and key are read by those who apply it, on their own hosts.
    pub fn plan_for_agents(&self, target: Option<Target>, read: ReadFile<'_>) -> Result<Plan, PlanError> {
        let (target, work, arrivals) = match self.replayed(target.as_ref(), read)? {
            Some((server, list, replay)) => (server, Work::List(list), Arrivals::Replay(replay)),
            None => {
                let arrivals = self.arrivals()?;
                let (target, work) = self.work(target, read)?;
                (target, work, arrivals)
            }
        };
        let (stop, warmup) = ending(&arrivals, self.window()?, self.requests, self.warmup.map(|w| w.0));
        let origins = work.origins(&target);
        // Each server has as many threads.
        let threads = self.threads.unwrap_or(1);
        let threads = threads.checked_next_multiple_of(origins.len() as u32).unwrap_or(threads);
        let connections = match (single(self.connections.as_ref(), "-c")?, &arrivals) {
            (_, staged @ Arrivals::ConnectionStages(_)) => most_connections(staged),
            (Some(given), _) => given,
            (None, open) if open.are_open() => CONNECTIONS_AT_A_RATE,
            (None, _) => CONNECTIONS_CLOSED,
        };
        let (expected, sha256) = expected_body(self.expect_body.as_deref(), read)?;
        let values = self.expect_json.iter().flatten().map(|text| JsonValue::parse(text));
        let json = values.collect::<Result<Vec<_>, _>>()?;
        let given = self.headers.iter().flatten().map(Header::pair).collect::<Result<Vec<_>, _>>()?;
        let body = self.body(&given, read)?;
        let asks_for_codings = (self.decode == Some(true) && !gives(&given, "accept-encoding"))
            .then(|| Secret::of_header("Accept-Encoding", "gzip, br"))
            .transpose()
            .map_err(PlanError)?
            .map(|value| ("Accept-Encoding".to_owned(), value));
        let plan = Plan {
            tls: self.tls(origins.iter().any(|origin| origin.tls), read)?,
            work,
            headers: given.into_iter().chain(body.content_type).chain(asks_for_codings).collect(),
            decode: self.decode.unwrap_or(false),
            body: body.bytes,
            body_file_fingerprint: body.file.as_ref().map(|(_, fingerprint)| *fingerprint),
            body_file: body.file.map(|(file, _)| file),
            chunked: self.chunked.unwrap_or(false),
            connections,
            threads,
            arrivals,
            stop,
            warmup,
            timeout: self.timeout.map_or(TIMEOUT, |t| t.0),
            keepalive: self.keepalive.unwrap_or(true) && self.requests_per_connection != Some(1),
            requests_per_connection: self.requests_per_connection.filter(|requests| *requests != 1),
            expect: Expect { status: self.expect_status, body: expected, sha256, json },
            seed: self.seed.unwrap_or(SEED),
            protocol: self.protocol.unwrap_or(Protocol::Http1),
            pipeline: self.pipeline.unwrap_or(1),
            spin: self.spin.unwrap_or(false),
            user_clock: self.user_clock.unwrap_or(false),
            sources: self.source.as_deref().map_or(Ok(Vec::new()), sources)?,
            unix: self.unix.as_ref().map(PathBuf::from),
            connect: self.connect()?,
            values: self.values(read)?,
            ..Plan::closed(target)
        };
        plan.check()?;
        Ok(plan)
    }

    fn connect(&self) -> Result<Connect, PlanError> {
        let ip = match (self.ipv4.unwrap_or(false), self.ipv6.unwrap_or(false)) {
            (true, true) => return wrong("-4 and -6 exclude each other: give one of them."),
            (v4, v6) => v4.then_some(IpVersion::V4).or(v6.then_some(IpVersion::V6)),
        };
        Ok(Connect {
            to: self.connect_to.iter().flatten().map(|rule| rule.parse()).collect::<Result<_, _>>()?,
            ip,
            all_addresses: self.all_addresses.unwrap_or(false),
            resolve_every: self.resolve_every.map(|every| every.0),
            sni: self.sni.clone(),
        })
    }

    fn window(&self) -> Result<Option<Duration>, PlanError> {
        match self.duration {
            Some(WindowValue::Auto) => wrong(
                "-d auto is for prony load, bench --candidate and ci compare: give a time here, as 10s.",
            ),
            Some(WindowValue::Time(time)) => Ok(Some(time.0)),
            None => Ok(None),
        }
    }

    pub fn is_auto(&self) -> bool {
        self.duration == Some(WindowValue::Auto)
    }

    /// Of `-d auto`: these options with the window of its pilot, which a fleet does not make; `None` where it is not asked for.
    /// (Stages are refused with any -d.)
    pub fn pilot(&self, window: Duration, by_fleet: bool) -> Result<Option<LoadOptions>, PlanError> {
        if self.is_auto() && self.requests.is_some() {
            return wrong(
                "-d auto cannot be used with -n, which says when the load ends: leave one of them out.",
            );
        }
        if self.is_auto() && by_fleet && self.rate.is_none() {
            return wrong(
                "-d auto cannot be used with --fleet unless -R says the rate: give a time, as 10s.",
            );
        }
        if self.is_auto() && self.replay.is_some() {
            return wrong(if self.looped == Some(true) {
                "-d auto cannot be used with --replay, whose load changes as its log does: give a time, as 10s."
            } else {
                "-d auto cannot be used with --replay, whose log says how long it lasts: leave -d out."
            });
        }
        let duration = Some(WindowValue::Time(DurationValue(window)));
        Ok(self.is_auto().then(|| LoadOptions { duration, ..self.clone() }))
    }

    /// What a search for a capacity, whose probes are loads at rates of its own, cannot take: which option, and why, in a
    /// sentence behind the option's name.
    pub fn unfit_for_search(&self) -> Option<(&'static str, String)> {
        let pipelined = self.pipeline.is_some() && !self.protocol.is_some_and(Protocol::multiplexes);
        let unfit = [
            ("requests", self.requests.is_some(), "its probes end after a time, which -d sets. Leave it out"),
            ("stages", self.stages.is_some(), "it finds its own rates. Leave it out"),
            ("replay", self.replay.is_some(), "it finds its own rates. Leave it out"),
            ("warmup", self.warmup.is_some(), "each of its probes has its own short warm-up. Leave it out"),
            (
                "pipeline",
                pipelined,
                "over HTTP/1.1 each response waits for those before it on its connection, and the search would take \
                 that wait for the server's limit. Leave it out, or use HTTP/2, whose streams do not wait for each other",
            ),
        ];
        let unfit = unfit.into_iter().find(|(_, given, _)| *given);
        let unfit = unfit
            .map(|(option, _, why)| (option, format!("cannot be used in a search for a capacity: {why}.")));
        let short = self.window().ok().flatten().filter(|length| *length < PROBE_MIN);
        unfit.or(short.map(|_| ("duration", "is too short for a probe: give at least 200ms.".to_owned())))
    }

    /// These, where a search gives the load its rates: connections as at a rate, any rate in place of those that it finds,
    /// and arrivals at random unless it is said otherwise: a limit that holds with even ones at 90 % of what a queue carries
    /// is passed by users at 80 %.
    #[must_use]
    pub fn for_search(&self) -> LoadOptions {
        let any = || Rate::per_s(1.0).map(RateValue::PerS).map(OneOrMany::One);
        LoadOptions {
            arrivals: self.arrivals.clone().or_else(|| Some("poisson".to_owned())),
            rate: self.rate.clone().or_else(any),
            warmup: Some(DurationValue(PROBE_WARMUP)),
            connections: self.connections.clone().or(Some(OneOrMany::One(CONNECTIONS_AT_A_RATE))),
            ..self.clone()
        }
    }

    /// The method of requests that name none themselves.
    pub(super) fn method(&self) -> &str {
        let by_body = if self.bodies() > 0 { "POST" } else { "GET" };
        self.method.as_deref().unwrap_or(by_body)
    }

    fn arrivals(&self) -> Result<Arrivals, PlanError> {
        if let Some(stages) = &self.stages {
            let beside = [
                ("-R", self.rate.is_some()),
                ("-d", self.duration.is_some()),
                ("--arrivals", self.arrivals.is_some()),
            ];
            if let Some((flag, _)) = beside.iter().find(|(_, given)| *given) {
                return wrong(format!(
                    "{flag} cannot be used with --stage: the stages say how long and how much."
                ));
            }
            let arrivals = parse_stages(stages)?;
            if matches!(arrivals, Arrivals::ConnectionStages(_)) && self.connections.is_some() {
                return wrong("-c cannot be used with stages of connections: the stages say how many.");
            }
            return Ok(arrivals);
        }
        let rate = match single(self.rate.as_ref(), "-R")? {
            None => None,
            Some(RateValue::PerS(rate)) => Some(rate),
            Some(RateValue::Share(_)) => {
                return wrong(
                    "A rate in percent is a share of what a search finds: write requests per second, 5k.",
                );
            }
        };
        match (self.arrivals.as_deref(), rate) {
            (None | Some("closed"), None) => Ok(Arrivals::Closed),
            (None | Some("constant"), Some(rate)) => Ok(Arrivals::Constant(rate)),
            (Some("poisson"), Some(rate)) => Ok(Arrivals::Poisson(rate)),
            (Some(kind @ ("constant" | "poisson")), None) => {
                wrong(format!("{kind} arrivals need a rate: give -R (in a file: rate = …)"))
            }
            (Some("closed"), Some(_)) => wrong(
                "closed arrivals have no rate, since each connection waits for its last response: leave the rate or \
                 --arrivals out.",
            ),
            (Some(other), _) => {
                wrong(format!("{other:?} is not a kind of arrivals: write constant or poisson."))
            }
        }
    }

    pub(super) fn work(
        &self,
        target: Option<Target>,
        read: ReadFile<'_>,
    ) -> Result<(Target, Work), PlanError> {
        let Some(path) = self.targets.as_deref() else {
            let of_lists = [
                ("--shuffle", self.shuffle == Some(true)),
                ("--targets-format", self.targets_format.is_some()),
            ];
            if let Some((flag, _)) = of_lists.into_iter().find(|(_, given)| *given) {
                return wrong(format!("{flag} is for the lines of a list: give --targets FILE with it."));
            }
            let missing = || PlanError("Nothing says which server is loaded: give its URL.".to_owned());
            return Ok((target.ok_or_else(missing)?, Work::Request(self.method().to_owned())));
        };
        if let Some(url) = target.as_ref().filter(|url| url.path != "/") {
            let server = Target { path: String::new(), ..url.clone() }.display_url();
            return wrong(format!(
                "With --targets the URL says only which server, and the list says what is asked of it: write {server}."
            ));
        }
        let order = if self.shuffle == Some(true) { Order::Shuffled } else { Order::InTurn };
        let format = self.targets_format.as_deref().map(format).transpose()?;
        let (format, text) = match (is_folder(path), format) {
            (true, None | Some(Format::Raw)) => (Some(Format::Raw), path.as_bytes().to_vec()),
            (true, Some(other)) => {
                return wrong(format!(
                    "--targets {path} is a folder, which is no list of {other}: leave --targets-format out."
                ));
            }
            (false, Some(Format::Raw)) => {
                return wrong(format!(
                    "--targets {path} is no folder of *.raw files: name one, or leave --targets-format out."
                ));
            }
            (false, format) => match self.list_or_text(path, format, target.as_ref(), read)? {
                Ok((server, list)) => return Ok((server, Work::List(list))),
                Err(text) => (format, text),
            },
        };
        let read = TargetList::read(&text, format, target.as_ref(), self.method(), order, read);
        let (server, mut list) = read.map_err(|errors| said_of_list("--targets", path, &errors))?;
        if list.format != Format::Raw && path != "-" {
            let (bytes, sha256) = (text.len() as u64, sha256_of(&text));
            list.file = Some(Box::new(ListFile { path: path.into(), bytes, sha256, long: None }));
        }
        Ok((server, Work::List(list)))
    }

    fn values(&self, read: ReadFile<'_>) -> Result<Values, PlanError> {
        let generators = self.generate.iter().flatten().map(|text| Generator::parse(text));
        let table = |path: &String| {
            let is_csv = |why: PlanError| {
                PlanError(format!("{why} It is a CSV file whose columns are values; a request's body is -b."))
            };
            values::table(path, &file("--data", path, FILE_MAX_BYTES, read).map_err(is_csv)?)
        };
        Ok(Values {
            generators: generators.collect::<Result<_, _>>()?,
            table: self.data.as_ref().map(table).transpose()?.unwrap_or_default(),
        })
    }

    fn tls(&self, is_spoken: bool, read: ReadFile<'_>) -> Result<Tls, PlanError> {
        let insecure = self.insecure == Some(true);
        if self.key.is_some() && self.cert.is_none() {
            return wrong("--key is the key of a certificate: give --cert FILE with it.");
        }
        let given = [
            ("-k", insecure),
            ("--cacert", self.cacert.is_some()),
            ("--cert", self.cert.is_some()),
            ("--key", self.key.is_some()),
            ("--tls-resumption", self.tls_resumption.is_some()),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given && !is_spoken) {
            let ab = if *flag == "-k" { " (ab's -k, keep-alive, is the default here.)" } else { "" };
            return wrong(format!(
                "{flag} is for https:// targets, and none is loaded here: leave it out.{ab}"
            ));
        }
        let verify = match &self.cacert {
            Some(_) if insecure => {
                return wrong("-k checks no certificate and --cacert says which to trust: give one of them.");
            }
            _ if insecure => Verify::Nothing,
            None => Verify::System,
            Some(path) => {
                let roots = Roots::from_pem(&file("--cacert", path, PEM_MAX_BYTES, read)?);
                Verify::Roots(roots.map_err(unusable("--cacert", path))?)
            }
        };
        let identity_files =
            self.cert.as_ref().map(|cert| IdentityFiles { cert: cert.clone(), key: self.key.clone() });
        let resumption = match self.tls_resumption.as_deref() {
            None | Some("on") => true,
            Some("off") => false,
            Some(other) => return wrong(format!("--tls-resumption {other:?}: write on or off.")),
        };
        Ok(Tls { verify, identity: None, identity_files, resumption })
    }
}

impl IdentityFiles {
    pub fn read(&self, read: ReadFile<'_>) -> Result<Identity, PlanError> {
        let (key_flag, key) = self.key.as_ref().map_or(("--cert", &self.cert), |key| ("--key", key));
        let pem = |flag, path: &str| file(flag, path, PEM_MAX_BYTES, read);
        let identity = Identity::from_pem(&pem("--cert", &self.cert)?, &pem(key_flag, key)?);
        identity.map_err(|wrong| match wrong {
            IdentityError::Chain(why) => unusable("--cert", &self.cert)(why),
            IdentityError::Key(why) => unusable(key_flag, key)(why),
        })
    }
}

/// All that is wrong with a file of lines.
pub(super) fn said_of_list(flag: &str, path: &str, errors: &[ListError]) -> PlanError {
    let name = if path == "-" { "standard input" } else { path };
    let said = |e: &ListError| format!("{flag} {name}{} {e}", if e.line.is_some() { "," } else { ":" });
    PlanError(errors.iter().map(said).collect::<Vec<_>>().join("\n"))
}

fn format(name: &str) -> Result<Format, PlanError> {
    let names = || Format::VARIANTS.join(", ");
    name.parse().map_err(|_| PlanError(format!("--targets-format {name:?}: write one of {}.", names())))
}

/// What is said of a file whose content is not what its flag means.
fn unusable(flag: &str, path: &str) -> impl FnOnce(String) -> PlanError {
    move |why| PlanError(format!("{flag} {path} cannot be used: {why}."))
}

fn single<T: Copy>(given: Option<&OneOrMany<T>>, flag: &str) -> Result<Option<T>, PlanError> {
    match given {
        None => Ok(None),
        Some(OneOrMany::One(value)) => Ok(Some(*value)),
        Some(OneOrMany::Many(_)) => {
            wrong(format!("{flag} takes one value here: a list is a sweep, for experiments."))
        }
    }
}

fn ending(
    arrivals: &Arrivals,
    duration: Option<Duration>,
    requests: Option<u64>,
    warmup: Option<Duration>,
) -> (Stop, Duration) {
    if let Some(stages) = arrivals.stages() {
        let length: Duration = stages.iter().fold(Duration::ZERO, |sum, s| sum.saturating_add(s.duration));
        let warmup = warmup.unwrap_or_default();
        return (Stop { duration: Some(length.saturating_sub(warmup)), requests }, warmup);
    }
    if let Some(replay) = arrivals.replay() {
        let all = (!replay.is_looped()).then(|| replay.entries());
        return (Stop { duration, requests: requests.or(all) }, warmup.unwrap_or_default());
    }
    let duration = duration.or((requests.is_none()).then_some(DURATION));
    let warmup = warmup.or(duration.map(default_warmup)).unwrap_or_default();
    (Stop { duration, requests }, warmup)
}

pub(super) fn file(flag: &str, path: &str, most: u64, read: ReadFile<'_>) -> Result<Vec<u8>, PlanError> {
    let space = if flag.ends_with('@') { "" } else { " " };
    let refused = |why: String| PlanError(format!("{flag}{space}{path} could not be read: {why}."));
    let bytes = read(path, most + 1).map_err(refused)?;
    if bytes.len() as u64 > most {
        return Err(refused(format!("it is larger than {} MiB", most >> 20)));
    }
    Ok(bytes)
}

/// `TEXT`, `@FILE`'s bytes, or what the environment holds of `@env:NAME`.
pub(super) fn text_or_file(flag: &str, text: &str, read: ReadFile<'_>) -> Result<Vec<u8>, PlanError> {
    let bytes = match text.strip_prefix('@').filter(|_| !text.starts_with(ASKED)) {
        Some(path) => file(&format!("{flag} @"), path, FILE_MAX_BYTES, read)?,
        None => text_or_variable(flag, text).map_err(PlanError)?.into_bytes(),
    };
    remember_body(&bytes, text.starts_with('@'));
    Ok(bytes)
}

type ExpectedBody = (Option<Vec<u8>>, Option<[u8; 32]>);

fn expected_body(text: Option<&str>, read: ReadFile<'_>) -> Result<ExpectedBody, PlanError> {
    let Some(text) = text else { return Ok((None, None)) };
    let Some(hex) = text.strip_prefix(SHA256) else {
        return Ok((Some(text_or_file("--expect-body", text, read)?), None));
    };
    let hash = sha256(hex).ok_or_else(|| {
        PlanError(format!(
            "--expect-body {SHA256}{hex:?} is not a SHA-256, which has 64 hexadecimal digits: write what \
             `curl -s URL | sha256sum` prints. A body that begins so is given as @FILE."
        ))
    })?;
    Ok((None, Some(hash)))
}

/// Addresses, and ranges of IPv4 addresses, separated by commas.
pub(super) fn sources(text: &str) -> Result<Vec<IpAddr>, PlanError> {
    let not_an_address = |part: &str| {
        PlanError(format!(
            "--source {part:?} is neither an address nor a range: write 127.0.0.2 or 127.0.0.2-127.0.0.9."
        ))
    };
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once('-') {
            None => all.push(part.parse().map_err(|_| not_an_address(part))?),
            Some((first, last)) => {
                let number = |text: &str| {
                    text.trim().parse::<Ipv4Addr>().map(u32::from).map_err(|_| not_an_address(part))
                };
                let range = number(first)?..=number(last)?;
                if range.is_empty() {
                    return Err(not_an_address(part));
                }
                all.extend(range.take(SOURCES_MAX + 1).map(|address| IpAddr::from(Ipv4Addr::from(address))));
            }
        }
        if all.len() > SOURCES_MAX {
            return wrong(format!("--source: give at most {SOURCES_MAX} addresses."));
        }
    }
    Ok(all)
}
