//! The line that applies a load: again, or the next one.

use crate::list::Order;
use crate::plan::{ArrivalKind, TIMEOUT};
use crate::plan_record::{PlanRecord, StageRecord, nanoseconds};
use crate::printable::harmless;
use crate::secret::{REDACTED, asked_for, is_secret_by_custom};
use crate::tls::VerifyKind;

/// What `prony load` calls the target it starts itself.
pub const EMBEDDED: &str = "embedded target";
/// What an address begins with that is a Unix socket's path.
const UNIX: &str = "unix:";

/// `prony load http://127.0.0.1:8080/ -c 100 -d 30s`: flags where they are not the defaults, of a plan
/// that was applied to an `address` (`127.0.0.1:8080`, `unix:/run/app.sock`). What the record does not
/// hold (a body, a secret, a certificate) stands in it as what is to be put there: `@BODY`, `@env:NAME`.
pub fn command(plan: &PlanRecord, address: &str, candidate: &str) -> String {
    // The embedded target has another port each time, and is what is loaded without a URL.
    let url = if candidate == EMBEDDED { "" } else { &plan.url };
    let warmup = format!("--warmup {}", time(plan.warmup_ns));
    words("prony load", plan, address, url, Some(warmup)).join(" ")
}

/// The line that applies a plan which comes after one that was applied to `address`: with the usual warm-up, and with
/// `url` as somebody wrote it, nothing for the embedded target. In pieces that belong together (`-c 100`), for who has
/// to break it.
pub fn next(plan: &PlanRecord, address: &str, url: &str) -> Vec<String> {
    words("prony load", plan, address, url, None)
}

/// As [`next`], the line that searches for the highest rate at which `slo` (`p99<20ms`) is kept, with a plan's
/// connections and requests.
pub fn capacity(plan: &PlanRecord, address: &str, url: &str, slo: &str) -> Vec<String> {
    let plan = PlanRecord { rate_per_s: None, duration_ns: None, requests: None, ..plan.clone() };
    words("prony capacity", &plan, address, url, Some(format!("--slo {}", quoted(slo))))
}

/// The flags of a plan that was applied to `address`, without the URL, the warm-up included: what `prony load` and
/// `prony bench --candidate` both take.
pub fn flags(plan: &PlanRecord, address: &str) -> Vec<String> {
    let warmup = format!("--warmup {}", time(plan.warmup_ns));
    words("", plan, address, "", Some(warmup)).into_iter().filter(|word| !word.is_empty()).collect()
}

fn words(program: &str, plan: &PlanRecord, address: &str, url: &str, also: Option<String>) -> Vec<String> {
    let mut words = vec![program.to_owned()];
    words.extend((!url.is_empty()).then(|| quoted(url)));
    words.extend(load(plan));
    words.extend(also);
    words.extend(request(plan));
    words.extend(address.strip_prefix(UNIX).map(|path| format!("--unix {}", quoted(path))));
    words.extend(client(plan));
    words.extend(tls(plan));
    words
}

/// Of words, each beside whether it is to be said, those that are.
fn said(words: impl IntoIterator<Item = (bool, String)>) -> Vec<String> {
    words.into_iter().filter(|(is_said, _)| *is_said).map(|(_, word)| word).collect()
}

/// How much, when and how long.
fn load(plan: &PlanRecord) -> Vec<String> {
    // Stages of connections say how many themselves, and -c beside them is refused.
    let of_connections = plan.stages.iter().any(|stage| stage.to_connections.is_some());
    let poisson = plan.arrivals == ArrivalKind::Poisson;
    let shuffled = plan.targets.as_ref().is_some_and(|list| list.order == Order::Shuffled);
    let mut words = said([
        (!of_connections, format!("-c {}", plan.connections)),
        (plan.threads != 1, format!("-t {}", plan.threads)),
    ]);
    words.extend(plan.rate_per_s.map(|rate| format!("-R {rate}")));
    words.extend(said([
        (poisson, "--arrivals poisson".to_owned()),
        (poisson || shuffled, format!("--seed {}", plan.seed)),
    ]));
    words.extend(plan.stages.iter().map(|s| format!("--stage {}", stage(s))));
    words.extend(plan.requests.map(|n| format!("-n {n}")));
    let window_ns = plan.duration_ns.filter(|_| plan.stages.is_empty());
    words.extend(window_ns.map(|ns| format!("-d {}", time(ns))));
    words
}

/// What is asked, and what answer is right.
fn request(plan: &PlanRecord) -> Vec<String> {
    let usual = if plan.body_bytes > 0 { "POST" } else { "GET" };
    let mut words = said([(plan.method != usual, format!("-m {}", quoted(&plan.method)))]);
    for (name, value) in &plan.headers {
        if value != REDACTED {
            words.push(format!("-H {}", quoted(&format!("{name}: {value}"))));
            continue;
        }
        words.push(format!("-H {}", quoted(&asked_for(name))));
        // It was asked for, and without it the value would be written now.
        if !is_secret_by_custom(name) {
            words.push(format!("--redact {}", quoted(name)));
        }
    }
    let order =
        plan.targets.as_ref().map(|list| if list.order == Order::Shuffled { " --shuffle" } else { "" });
    words.extend(said([(plan.body_bytes > 0, "-b @BODY".to_owned())]));
    words.extend(order.map(|order| format!("--targets FILE{order}")));
    words.extend(plan.expect_status.map(|status| format!("--expect-status {status}")));
    words.extend(said([(plan.expect_body, "--expect-body @EXPECTED".to_owned())]));
    words
}

/// How the client goes about it.
fn client(plan: &PlanRecord) -> Vec<String> {
    let cpus: Vec<String> = plan.cpus.iter().map(ToString::to_string).collect();
    said([
        (plan.timeout_ns != nanoseconds(TIMEOUT), format!("--timeout {}", time(plan.timeout_ns))),
        (!plan.keepalive, "--no-keepalive".to_owned()),
        (plan.pipeline > 1, format!("-p {}", plan.pipeline)),
        (plan.spin, "--spin".to_owned()),
        (plan.user_clock, "--user-clock".to_owned()),
        (plan.protocol.is_some(), "--http2".to_owned()),
        (!plan.sources.is_empty(), format!("--source {}", quoted(&plan.sources.join(",")))),
        (!plan.cpus.is_empty(), format!("--pin {}", cpus.join(","))),
    ])
}

fn tls(plan: &PlanRecord) -> Vec<String> {
    let Some(tls) = &plan.tls else { return Vec::new() };
    said([
        (tls.verify == VerifyKind::None, "-k".to_owned()),
        (tls.verify == VerifyKind::Cacert, "--cacert FILE".to_owned()),
        (tls.client_certificate, "--cert FILE".to_owned()),
        (tls.resumption == "off", "--tls-resumption off".to_owned()),
    ])
}

/// `30s:20000/s`, `60s:5000c`, as `--stage` takes it.
pub fn stage(stage: &StageRecord) -> String {
    match (stage.to_rate_per_s, stage.to_connections) {
        (Some(rate), _) => format!("{}:{rate}/s", time(stage.duration_ns)),
        (None, connections) => format!("{}:{}c", time(stage.duration_ns), connections.unwrap_or(0)),
    }
}

/// A duration as flags take it, whole in the largest unit that has it whole.
fn time(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let whole = units.into_iter().find(|(_, unit)| ns.is_multiple_of(*unit));
    match whole {
        Some((unit, size)) if ns > 0 => format!("{}{unit}", ns / size),
        _ => "0".to_owned(),
    }
}

/// A word of a shell's line, printable.
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
