//! Whether two may be compared at all: the same host, plan, sampling and tool.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::SocketAddr;

use prony_model::host::Host;
use prony_model::recorded_plan::{RecordedPlan, RecordedTls};
use prony_model::replay::RecordedReplay;
use prony_model::server_host::ServerHost;
use prony_model::target::path_of;
use prony_model::trial::{Clock, Trial};

use super::PlanPair;
use crate::cell::Cell;
use crate::text::duration;

const NAMED_MAX: usize = 6;

type OfHost = fn(&Host) -> String;

/// What a machine is told by. Memory to a GiB: kernels differ in what they keep for themselves.
const OF_HOST: [(&str, OfHost); 6] = [
    ("CPU", |h| h.cpu_model.clone()),
    ("number of CPUs", |h| h.cpus_online.to_string()),
    ("kernel", |h| h.kernel.clone()),
    ("frequency governor", |h| or_none(h.governor.as_ref())),
    ("virtualisation", |h| or_none(h.virtualisation.as_ref())),
    ("memory in GiB", |h| (h.memory_bytes >> 30).to_string()),
];

type OfTrial = fn(&Cell<'_>) -> Option<String>;

/// What trials of two runs must have alike; within one run it is so by its making.
const OF_RUNS: [(&str, OfTrial); 3] = [
    ("the way to the server", |c| Some(transport(c.trial)?.to_owned())),
    ("who applies the load", |c| Some(loaders(c.trial))),
    ("the server's CPUs", |c| Some(joined(&c.server?.cpus, ",", "any"))),
];

const OF_TRIALS: [(&str, OfTrial); 5] = [
    ("Prony's version", |c| Some(c.trial.tool.version.clone())),
    ("how they were measured", |c| {
        Some(if c.planned.duet.is_some() { "two at once" } else { "in turn" }.to_owned())
    }),
    ("the clock that stamps responses", |c| Some(clock(c.trial).to_owned())),
    ("how the server's CPU was read", |c| Some(c.server?.cpu_method.clone())),
    ("how the server's memory was read", |c| Some(c.server?.memory_method.clone())),
];

/// In what the two differ, as phrases with both values. Within one run, hosts and plans are the same by its making.
pub(super) fn differences(
    plans: &[PlanPair<'_>],
    one_run: bool,
    [a, b]: [Option<&ServerHost>; 2],
) -> Vec<String> {
    let mut found = Differences::default();
    if let (Some(a), Some(b), false) = (a, b, one_run) {
        found.hosts("the servers' ", [&[&a.host], &[&b.host]]);
    }
    for plan in plans {
        let sides = [plan.a.counted.as_slice(), &plan.b.counted];
        if !one_run {
            let [a, b] = sides.map(|cells| cells.iter().map(|c| &c.trial.host).collect::<Vec<&Host>>());
            found.hosts("the ", [&a, &b]);
            OF_RUNS.iter().for_each(|(what, of)| found.must_be_equal(what, sides, of));
            found.plans(plan);
        }
        OF_TRIALS.iter().for_each(|(what, of)| found.must_be_equal(what, sides, of));
    }
    let mut all = found.0;
    if all.len() > NAMED_MAX {
        let more = all.len() - NAMED_MAX;
        all.truncate(NAMED_MAX);
        all.push(format!("and {more} more"));
    }
    all
}

#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn push(&mut self, what: &str, a: impl Display, b: impl Display) {
        self.say(format!("{what} is {a} in one and {b} in the other"));
    }

    fn say(&mut self, phrase: String) {
        if !self.0.contains(&phrase) {
            self.0.push(phrase);
        }
    }

    /// All of both sides must have the same; where one side has none at all, nothing is said.
    fn must_be_equal<T>(&mut self, what: &str, sides: [&[T]; 2], of: impl Fn(&T) -> Option<String>) {
        let [a, b] = sides.map(|side| side.iter().filter_map(&of).collect::<BTreeSet<String>>());
        if !a.is_empty() && !b.is_empty() && (a != b || a.len() > 1) {
            self.push(what, joined(&a, " and ", ""), joined(&b, " and ", ""));
        }
    }

    /// `whose` machines they are: `the `, of the client where there is another.
    fn hosts(&mut self, whose: &str, sides: [&[&Host]; 2]) {
        let all = || sides.into_iter().flatten();
        // Also of trials of one side. Who has no id is left out, so that the first stands for all that have the same.
        if let Some(first) = all().find(|host| host.machine.is_some())
            && all().any(|host| first.is_another_machine(host))
        {
            self.say(format!("{whose}machine is a different one"));
        }
        for (what, of) in OF_HOST {
            self.must_be_equal(&format!("{whose}{what}"), sides, |host| Some(of(host)));
        }
    }

    /// Every trial's plan against the first's, also of one side: a log of single loads may hold different ones.
    fn plans(&mut self, plan: &PlanPair<'_>) {
        let before = self.0.len();
        let mut plans = plan.a.counted.iter().chain(&plan.b.counted).map(|cell| &cell.trial.plan);
        let Some(first) = plans.next() else { return };
        plans.for_each(|other| self.plan(first, other));
        if let (Some((name, other)), true) = (&plan.renamed, self.0.len() == before) {
            self.push("the plan", name, other);
        }
    }

    fn plan(&mut self, a: &RecordedPlan, b: &RecordedPlan) {
        for ((what, own), (_, other)) in plan_fields(a).into_iter().zip(plan_fields(b)) {
            if own != other {
                self.push(what, own, other);
            }
        }
        if let Some((own, other)) = a.targets.as_ref().zip(b.targets.as_ref())
            && own.order != other.order
        {
            self.push("the order of the plan's list", own.order, other.order);
        }
        let bodies = a.body_fingerprint.as_ref().zip(b.body_fingerprint.as_ref());
        if a.body_bytes == b.body_bytes && bodies.is_some_and(|(a, b)| a != b) {
            self.say("the plan's bodies differ (same length)".to_owned());
        }
        // The values may be nobody's to see.
        for ((name, value), (same, other)) in a.headers.iter().zip(&b.headers) {
            if name.eq_ignore_ascii_case(same) && value != other {
                self.say(format!("the header {} has another value", name.to_ascii_lowercase()));
            }
        }
        let stages = 0..a.stages.len().max(b.stages.len());
        if let Some(i) = stages.into_iter().find(|i| a.stages.get(*i) != b.stages.get(*i)) {
            let [a, b] = [a, b].map(|plan| or_none(plan.stages.get(i)));
            self.push(&format!("stage {} of the plan", i + 1), a, b);
        }
    }
}

/// Everything of a plan but where it is aimed, the seed, stages, and what may be secret.
fn plan_fields(p: &RecordedPlan) -> Vec<(&'static str, String)> {
    let body = match p.expect_json.as_slice() {
        [] if p.expect_body => "compared".to_owned(),
        [] => "any".to_owned(),
        values => values.join(", "),
    };
    let headers = p.headers.iter().map(|(name, _)| name.to_ascii_lowercase());
    let tls = |t: &RecordedTls| {
        let certificate = if t.client_certificate { "a" } else { "no" };
        format!("{}, resumption {}, {certificate} client certificate", t.verify, t.resumption)
    };
    vec![
        ("the plan's method", p.method.clone()),
        ("the plan's path", path_of(&p.url).to_owned()),
        ("the plan's scheme", or_none(p.url.split_once("://").map(|(scheme, _)| scheme))),
        ("the plan's connections", p.connections.to_string()),
        ("the plan's threads", p.threads.to_string()),
        ("the plan's arrivals", p.arrivals.to_string()),
        ("the plan's rate", or_none(p.rate_per_s)),
        ("the plan's duration", or_none(p.duration_ns.map(duration))),
        ("the plan's requests", or_none(p.requests)),
        ("the plan's warm-up", duration(p.warmup_ns)),
        ("the plan's timeout", duration(p.timeout_ns)),
        ("the plan's keep-alive", p.keepalive.to_string()),
        ("the plan's requests per connection", or_none(p.requests_per_connection)),
        ("where the plan connects to", joined(&p.connect_to, ", ", "the URL's host")),
        ("whether the plan loads all addresses", p.all_addresses.to_string()),
        ("the plan's version of IP", or_none(p.ip_version)),
        ("how often the plan resolves names", or_none(p.resolve_every_ns.map(duration))),
        ("the plan's name in TLS", or_none(p.sni.as_ref())),
        ("the plan's body in bytes", p.body_bytes.to_string()),
        ("whether bodies are decoded", p.decode.to_string()),
        ("how the plan's body is sent", if p.chunked { "in chunks" } else { "whole" }.to_owned()),
        ("the plan's pipeline", p.pipeline.to_string()),
        ("the plan's spin", p.spin.to_string()),
        ("the plan's user clock", p.user_clock.to_string()),
        ("the plan's protocol", p.protocol.to_string()),
        ("what the plan expects", format!("status {}, body {body}", or_none(p.expect_status))),
        ("the client's CPUs", joined(&p.cpus, ",", "any")),
        ("the plan's headers", joined(headers, ", ", "none")),
        ("the address that the plan connects from", joined(&p.sources, ",", "the kernel's choice")),
        ("the plan's list of requests", or_none(p.targets.as_ref().map(|t| &t.fingerprint))),
        ("the plan's values", joined(&p.values, ", ", "none")),
        ("the plan's table of values", or_none(p.data.as_ref().map(|data| &data.fingerprint))),
        ("the plan's replay", or_none(p.replay.as_ref().map(replay))),
        ("the plan's TLS", or_none(p.tls.as_ref().map(tls))),
    ]
}

/// Which log, and how it is replayed.
fn replay(log: &RecordedReplay) -> String {
    let looped = if log.looped { ", looped" } else { "" };
    format!("{} at {}x{looped}, {}", log.fingerprint, log.speed, log.methods.join(","))
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

fn joined<T: ToString>(all: impl IntoIterator<Item = T>, between: &str, none: &str) -> String {
    let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    if all.is_empty() { none.to_owned() } else { all.join(between) }
}

/// Over loopback packets cost other things than over a network. `None` of an address that says nothing.
pub(crate) fn transport(trial: &Trial) -> Option<&'static str> {
    let address = &trial.target.address;
    if address.starts_with('/') {
        return Some("a Unix socket");
    }
    let addresses: Vec<SocketAddr> = address.split(", ").map(str::parse).collect::<Result<_, _>>().ok()?;
    let is_loopback = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
    Some(if addresses.iter().all(is_loopback) { "loopback" } else { "a network" })
}

fn loaders(trial: &Trial) -> String {
    match trial.fleet.as_ref().map(|fleet| fleet.agents.len()) {
        None => "one process".to_owned(),
        Some(1) => "a fleet of one agent".to_owned(),
        Some(agents) => format!("a fleet of {agents} agents"),
    }
}

fn clock(trial: &Trial) -> &'static str {
    match trial.latency.response.clock {
        Clock::Kernel => "the kernel's",
        Clock::KernelUpper => "the kernel's, an upper bound",
        Clock::User => "Prony's own",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_plan;
    use prony_model::list::Order;
    use prony_model::recorded_plan::{RecordedList, RecordedStage};
    use prony_model::tls::VerifyKind;

    fn said(before: &dyn Fn(&mut RecordedPlan), change: &dyn Fn(&mut RecordedPlan)) -> Vec<String> {
        let mut a = closed_plan();
        before(&mut a);
        let mut b = a.clone();
        change(&mut b);
        let mut found = Differences::default();
        found.plan(&a, &b);
        found.0
    }

    fn header(p: &mut RecordedPlan, name: &str, value: &str) {
        p.headers.push((name.to_owned(), value.to_owned()));
    }

    fn to_rate(seconds: u64, rate: f64) -> RecordedStage {
        RecordedStage {
            duration_ns: seconds * 1_000_000_000,
            to_rate_per_s: Some(rate),
            to_connections: None,
        }
    }

    #[test]
    fn a_headers_value_is_never_named() {
        let two = |p: &mut RecordedPlan| {
            header(p, "Accept", "text/html");
            header(p, "X-Own", "s1");
        };
        assert_eq!(
            said(&two, &|p| p.headers[0].1 = "*/*".to_owned()),
            ["the header accept has another value"]
        );
        assert_eq!(
            said(&two, &|p| header(p, "X-More", "s3")),
            ["the plan's headers is accept, x-own in one and accept, x-own, x-more in the other"]
        );
        assert!(said(&two, &|p| p.headers[0].0 = "accept".to_owned()).is_empty());
    }

    #[test]
    fn the_first_stage_that_differs_is_named() {
        let one = |p: &mut RecordedPlan| p.stages = vec![to_rate(30, 20_000.0)];
        assert_eq!(
            said(&one, &|p| p.stages = vec![to_rate(40, 20_000.0)]),
            ["stage 1 of the plan is 30s:20000/s in one and 40s:20000/s in the other"]
        );
        let connections =
            RecordedStage { to_rate_per_s: None, to_connections: Some(100), ..to_rate(30, 0.0) };
        assert_eq!(
            said(&one, &|p| p.stages = vec![connections, to_rate(5, 10.0)]),
            ["stage 1 of the plan is 30s:20000/s in one and 30s:100c in the other"]
        );
        let many = |p: &mut RecordedPlan| p.stages = vec![to_rate(1, 50.0); 40];
        assert_eq!(
            said(&many, &|p| p.stages[36] = to_rate(2, 50.0)),
            ["stage 37 of the plan is 1s:50/s in one and 2s:50/s in the other"]
        );
        assert_eq!(
            said(&many, &|p| p.stages.truncate(39)),
            ["stage 40 of the plan is 1s:50/s in one and none in the other"]
        );
    }

    #[test]
    fn bodies_of_one_length_are_told_apart() {
        let body = |p: &mut RecordedPlan| {
            (p.body_bytes, p.body_fingerprint) = (7, Some("00000001".to_owned()));
        };
        let other = |p: &mut RecordedPlan| p.body_fingerprint = Some("00000002".to_owned());
        assert_eq!(said(&body, &other), ["the plan's bodies differ (same length)"]);
        // A record from before fingerprints were kept says nothing.
        assert!(said(&body, &|p| p.body_fingerprint = None).is_empty());
        assert_eq!(
            said(&body, &|p| p.body_bytes = 8),
            ["the plan's body in bytes is 7 in one and 8 in the other"]
        );
    }

    #[test]
    fn lists_differ_by_their_lines_and_by_their_order() {
        let none = |_: &mut RecordedPlan| {};
        let list = |p: &mut RecordedPlan| {
            let (order, fingerprint) = (Order::InTurn, "00000000000000ff".to_owned());
            p.targets = Some(RecordedList {
                format: prony_model::list::Format::Plain,
                lines: 9,
                requests: 3,
                order,
                fingerprint,
                expecting: 0,
                servers: Vec::new(),
            });
        };
        let shuffled = |p: &mut RecordedPlan| p.targets.as_mut().unwrap().order = Order::Shuffled;
        assert_eq!(
            said(&list, &shuffled),
            ["the order of the plan's list is in_turn in one and shuffled in the other"]
        );
        assert_eq!(
            said(&none, &list),
            ["the plan's list of requests is none in one and 00000000000000ff in the other"]
        );
    }

    #[test]
    fn sources_and_certificates_are_compared() {
        let none = |_: &mut RecordedPlan| {};
        assert_eq!(
            said(&none, &|p| p.sources = vec!["127.0.0.2".to_owned(), "127.0.0.3".to_owned()]),
            [
                "the address that the plan connects from is the kernel's choice in one and 127.0.0.2,127.0.0.3 in the other"
            ]
        );
        let tls = |p: &mut RecordedPlan| {
            p.tls = Some(RecordedTls {
                verify: VerifyKind::System,
                resumption: "on".to_owned(),
                alpn: prony_model::plan::ProtocolId::Http1,
                client_certificate: false,
            });
        };
        let shown = |p: &mut RecordedPlan| p.tls.as_mut().unwrap().client_certificate = true;
        assert_eq!(
            said(&tls, &shown),
            ["the plan's TLS is system, resumption on, no client certificate in one and \
              system, resumption on, a client certificate in the other"]
        );
    }
}
