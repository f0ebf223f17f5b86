//! The line that applies a load: again, or the next one.

use std::fmt;
use std::time::Duration;

use crate::list::Order;
use crate::plan::{ArrivalKind, TIMEOUT};
use crate::printable::harmless;
use crate::recorded_plan::{RecordedPlan, RecordedStage, RecordedTls};
use crate::replay::RecordedReplay;
use crate::secret::{REDACTED, asked_for, is_secret_by_custom};
use crate::tls::VerifyKind;
use crate::units::{nanoseconds, show_duration};

/// What `prony load` calls the target it starts itself.
pub const EMBEDDED: &str = "embedded target";
const UNIX: &str = "unix:";

/// `prony load http://127.0.0.1:8080/ -c 100 -d 30s`: the flags that are not defaults of a plan applied to an `address`
/// (`127.0.0.1:8080`, `unix:/run/app.sock`); for what the record does not hold: `@BODY`, `@env:NAME`.
pub fn command(plan: &RecordedPlan, address: &str, candidate: &str) -> String {
    // The embedded target has another port each time, and is what is loaded without a URL.
    let url = if candidate == EMBEDDED { "" } else { &plan.url };
    let warmup = format!("--warmup {}", time(plan.warmup_ns));
    words("prony load", plan, address, url, Some(warmup)).join(" ")
}

/// The line of a plan after one applied to `address`: with the usual warm-up, `url` as written, nothing for the
/// embedded target. In pieces that belong together (`-c 100`), for who breaks it.
pub fn next(plan: &RecordedPlan, address: &str, url: &str) -> Vec<String> {
    words("prony load", plan, address, url, None)
}

/// As [`next`], the line that searches for the highest rate at which `slo` (`p99<20ms`) is kept, with a plan's
/// connections and requests.
pub fn capacity(plan: &RecordedPlan, address: &str, url: &str, slo: &str) -> Vec<String> {
    let plan = RecordedPlan { rate_per_s: None, duration_ns: None, requests: None, ..plan.clone() };
    words("prony capacity", &plan, address, url, Some(format!("--slo {}", quoted(slo))))
}

/// A plan's flags without the URL, with the warm-up: what `prony load` and `prony bench --candidate` both take.
pub fn flags(plan: &RecordedPlan, address: &str) -> Vec<String> {
    let warmup = format!("--warmup {}", time(plan.warmup_ns));
    words("", plan, address, "", Some(warmup)).into_iter().filter(|word| !word.is_empty()).collect()
}

fn words(program: &str, plan: &RecordedPlan, address: &str, url: &str, also: Option<String>) -> Vec<String> {
    let when = |is_so: bool, flag: &str| is_so.then(|| flag.to_owned());
    let list = plan.targets.as_ref().filter(|_| plan.replay.is_none());
    let list = list.map(|list| list.order == Order::Shuffled);
    // Only a list without a URL beside it names several servers.
    let url = if plan.servers() > 1 { "" } else { url };
    let tls = |is_so: fn(&RecordedTls) -> bool| plan.tls.as_ref().is_some_and(is_so);
    let poisson = plan.arrivals == ArrivalKind::Poisson;
    // Of a log's instants, which a block's own seed would move.
    let spread_seed = plan.replay.as_ref().and_then(|log| log.spread_seed);
    let usual = if plan.body_bytes > 0 { "POST" } else { "GET" };
    let mut words = vec![Some(program.to_owned()), (!url.is_empty()).then(|| quoted(url))];
    words.extend([
        // Stages of connections say how many themselves, and -c beside them is refused.
        (!plan.stages.iter().any(|stage| stage.to_connections.is_some()))
            .then(|| format!("-c {}", plan.connections)),
        (plan.threads != 1).then(|| format!("-t {}", plan.threads)),
        plan.rate_per_s.map(|rate| format!("-R {rate}")),
        when(poisson, "--arrivals poisson"),
        (poisson || list == Some(true) || !plan.values.is_empty() || plan.replay.is_some())
            .then(|| format!("--seed {}", spread_seed.unwrap_or(plan.seed))),
    ]);
    words.extend(plan.stages.iter().map(|stage| Some(format!("--stage {stage}"))));
    words.extend([
        plan.requests.map(|n| format!("-n {n}")),
        plan.duration_ns.filter(|_| plan.stages.is_empty()).map(|ns| format!("-d {}", time(ns))),
        also,
        (plan.method != usual).then(|| format!("-m {}", quoted(&plan.method))),
    ]);
    words.extend(plan.headers.iter().flat_map(|(name, value)| header(name, value)).map(Some));
    let value = |one: &String| format!("--expect-json {}", quoted(&one.replace(REDACTED, "@env:EXPECTED")));
    words.extend(plan.expect_json.iter().map(value).map(Some));
    words.extend(plan.connect_to.iter().map(|rule| Some(format!("--connect-to {}", quoted(rule)))));
    let generate = |one: &String| format!("--generate {}", quoted(&one.replace(REDACTED, "…")));
    words.extend(plan.values.iter().map(generate).map(Some));
    words.extend(plan.replay.iter().flat_map(replay).map(Some));
    let cpus: Vec<String> = plan.cpus.iter().map(ToString::to_string).collect();
    words.extend([
        when(plan.body_bytes > 0, if plan.body_file { "--body-file BODY" } else { "-b @BODY" }),
        when(plan.chunked, "--chunked"),
        when(plan.decode, "--decode"),
        plan.data.as_ref().map(|_| "--data FILE.csv".to_owned()),
        plan.targets
            .as_ref()
            .filter(|list| !list.format.is_plain())
            .map(|list| format!("--targets-format {}", list.format)),
        list.map(|shuffled| format!("--targets FILE{}", if shuffled { " --shuffle" } else { "" })),
        plan.expect_status.map(|status| format!("--expect-status {status}")),
        when(plan.expect_body && plan.expect_json.is_empty(), "--expect-body @EXPECTED"),
        address.strip_prefix(UNIX).map(|path| format!("--unix {}", quoted(path))),
        when(plan.all_addresses, "--all-addresses"),
        plan.ip_version.map(|version| format!("-{version}")),
        plan.resolve_every_ns.map(|ns| format!("--resolve-every {}", time(ns))),
        plan.sni.as_ref().map(|name| format!("--sni {}", quoted(name))),
        (plan.timeout_ns != nanoseconds(TIMEOUT)).then(|| format!("--timeout {}", time(plan.timeout_ns))),
        when(!plan.keepalive, "--no-keepalive"),
        plan.requests_per_connection.map(|requests| format!("--requests-per-connection {requests}")),
        (plan.pipeline > 1).then(|| format!("-p {}", plan.pipeline)),
        when(plan.spin, "--spin"),
        when(plan.user_clock, "--user-clock"),
        when(!plan.protocol.is_http1(), "--http2"),
        (!plan.sources.is_empty()).then(|| format!("--source {}", quoted(&plan.sources.join(",")))),
        (!cpus.is_empty()).then(|| format!("--pin {}", cpus.join(","))),
        when(tls(|tls| tls.verify == VerifyKind::None), "-k"),
        when(tls(|tls| tls.verify == VerifyKind::Cacert), "--cacert FILE"),
        when(tls(|tls| tls.client_certificate), "--cert FILE"),
        when(tls(|tls| tls.resumption == "off"), "--tls-resumption off"),
    ]);
    words.into_iter().flatten().collect()
}

/// Of a log, which the record does not hold.
fn replay(log: &RecordedReplay) -> Vec<String> {
    let methods = log.methods.join(",");
    let words = [
        Some("--replay FILE".to_owned()),
        (log.speed != 1.0).then(|| format!("--speed {}", log.speed)),
        log.looped.then(|| "--loop".to_owned()),
        (methods != "GET,HEAD").then(|| format!("--methods {}", quoted(&methods))),
    ];
    words.into_iter().flatten().collect()
}

/// A header; of one whose value is not kept, that the environment holds it.
fn header(name: &str, value: &str) -> Vec<String> {
    if value != REDACTED {
        return vec![format!("-H {}", quoted(&format!("{name}: {value}")))];
    }
    let mut words = vec![format!("-H {}", quoted(&asked_for(name)))];
    // It was asked for, and without it the value would be written now.
    if !is_secret_by_custom(name) {
        words.push(format!("--redact {}", quoted(name)));
    }
    words
}

impl fmt::Display for RecordedStage {
    /// `30s:20000/s`, `60s:5000c`, as `--stage` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = time(self.duration_ns);
        match (self.to_rate_per_s, self.to_connections.unwrap_or(0)) {
            (Some(rate), _) => write!(f, "{time}:{rate}/s"),
            (None, connections) => write!(f, "{time}:{connections}c"),
        }
    }
}

fn time(ns: u64) -> String {
    show_duration(Duration::from_nanos(ns))
}

fn quoted(word: &str) -> String {
    shell_word(&harmless(word))
}

pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
