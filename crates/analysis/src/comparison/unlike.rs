//! Whether two may be compared at all: the same host, plan, sampling and tool.

use std::collections::BTreeSet;
use std::fmt::Display;

use prony_model::host::Host;
use prony_model::plan_record::PlanRecord;
use prony_model::server_host::ServerHost;
use prony_model::target::path_of;
use prony_model::trial::{Clock, Trial};

use super::PlanPair;
use crate::cell::Cell;
use crate::text::duration;
use crate::way::way;

/// Differences named before "and N more".
const NAMED_MAX: usize = 6;
/// Stages of a plan that are all printed.
const STAGES_MAX: usize = 6;

/// In what the two are not comparable, each as a phrase with both values. Within one run, hosts and
/// plans are the same by its making.
pub(super) fn differences(
    plans: &[PlanPair<'_>],
    one_run: bool,
    [a, b]: [Option<&ServerHost>; 2],
) -> Vec<String> {
    let mut found = Differences::default();
    if let (Some(a), Some(b), false) = (a, b, one_run) {
        hosts(&mut found, "the servers' ", &[&a.host], &[&b.host]);
    }
    for plan in plans {
        let (a, b) = (plan.a.as_slice(), plan.b.as_slice());
        found.must_be_equal("Prony's version", a, b, |c| Some(c.trial.tool.version.clone()));
        if !one_run {
            let of = |cells: &[Cell<'_>]| cells.iter().map(|c| c.trial.host.clone()).collect::<Vec<_>>();
            let (of_a, of_b) = (of(a), of(b));
            let (of_a, of_b): (Vec<&Host>, Vec<&Host>) = (of_a.iter().collect(), of_b.iter().collect());
            hosts(&mut found, "the ", &of_a, &of_b);
            found.must_be_equal("the way to the server", a, b, |c| Some(way(c.trial)?.to_owned()));
            found.must_be_equal("who applies the load", a, b, |c| Some(loaders(c.trial)));
            // Also of trials of one side: a log of single loads may hold different ones.
            if let (Some(first), true) = (a.first(), !b.is_empty()) {
                for other in a.iter().chain(b) {
                    plan_fields(&mut found, plan, &first.trial.plan, &other.trial.plan);
                }
            }
            found.must_be_equal("the server's CPUs", a, b, |c| Some(listed("any", &c.server?.cpus)));
        }
        found.must_be_equal("how they were measured", a, b, |c| {
            Some(if c.planned.duet.is_some() { "two at once" } else { "in turn" }.to_owned())
        });
        found.must_be_equal("the clock that stamps responses", a, b, |c| Some(clock(c.trial)));
        found.must_be_equal("how the server's CPU was read", a, b, |c| Some(c.server?.cpu_method.clone()));
        found.must_be_equal("how the server's memory was read", a, b, |c| {
            Some(c.server?.memory_method.clone())
        });
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

    /// Every trial of both must have the same; where one side has none at all, nothing is said.
    fn must_be_equal(
        &mut self,
        what: &str,
        a: &[Cell<'_>],
        b: &[Cell<'_>],
        of: fn(&Cell<'_>) -> Option<String>,
    ) {
        let set = |cells: &[Cell<'_>]| cells.iter().filter_map(of).collect::<BTreeSet<String>>();
        let (a, b) = (set(a), set(b));
        if !a.is_empty() && !b.is_empty() && (a != b || a.len() > 1) {
            self.push(what, joined(a), joined(b));
        }
    }
}

/// One process of this machine, or so many agents.
fn loaders(trial: &Trial) -> String {
    match trial.fleet.as_ref().map(|fleet| fleet.agents.len()) {
        None => "one process".to_owned(),
        Some(1) => "a fleet of one agent".to_owned(),
        Some(agents) => format!("a fleet of {agents} agents"),
    }
}

fn joined(set: BTreeSet<String>) -> String {
    set.into_iter().collect::<Vec<_>>().join(" and ")
}

/// A property of a machine, as text.
type Described = fn(&Host) -> String;

/// `whose` machines they are: `the `, of the client where there is another.
fn hosts(found: &mut Differences, whose: &str, a: &[&Host], b: &[&Host]) {
    let all = || a.iter().chain(b).copied();
    // Also of trials of one side. Who has no id is left out, so that the first stands for all that have the same.
    if let Some(first) = all().find(|host| host.machine.is_some())
        && !a.is_empty()
        && !b.is_empty()
        && all().any(|host| first.is_another_machine(host))
    {
        found.say(format!("{whose}machine is a different one"));
    }
    let of: [(&str, Described); 6] = [
        ("CPU", |h| h.cpu_model.clone()),
        ("number of CPUs", |h| h.cpus_online.to_string()),
        ("kernel", |h| h.kernel.clone()),
        ("frequency governor", |h| h.governor.clone().unwrap_or_else(|| "none".to_owned())),
        ("virtualisation", |h| h.virtualisation.clone().unwrap_or_else(|| "none".to_owned())),
        // To a GiB: kernels differ in what they keep for themselves.
        ("memory in GiB", |h| (h.memory_bytes >> 30).to_string()),
    ];
    for (what, value) in of {
        let set = |hosts: &[&Host]| hosts.iter().map(|host| value(host)).collect::<BTreeSet<_>>();
        let (a, b) = (set(a), set(b));
        if a != b || a.len() > 1 {
            found.push(&format!("{whose}{what}"), joined(a), joined(b));
        }
    }
}

/// What is compared of a plan: everything but where it is aimed, the seed, and secrets that are not kept.
const FIELDS: [(&str, fn(&PlanRecord) -> String); 24] = [
    ("the plan's method", |p| p.method.clone()),
    ("the plan's path", |p| path_of(&p.url).to_owned()),
    ("the plan's scheme", |p| p.url.split_once("://").map_or("", |(scheme, _)| scheme).to_owned()),
    ("the plan's connections", |p| p.connections.to_string()),
    ("the plan's threads", |p| p.threads.to_string()),
    ("the plan's arrivals", |p| p.arrivals.to_string()),
    ("the plan's rate", |p| or_none(p.rate_per_s)),
    ("the plan's duration", |p| or_none(p.duration_ns.map(duration))),
    ("the plan's requests", |p| or_none(p.requests)),
    ("the plan's warm-up", |p| duration(p.warmup_ns)),
    ("the plan's timeout", |p| duration(p.timeout_ns)),
    ("the plan's keep-alive", |p| p.keepalive.to_string()),
    ("the plan's body in bytes", |p| p.body_bytes.to_string()),
    ("the plan's pipeline", |p| p.pipeline.to_string()),
    ("the plan's spin", |p| p.spin.to_string()),
    ("the plan's user clock", |p| p.user_clock.to_string()),
    ("the plan's protocol", |p| p.protocol.clone().unwrap_or_else(|| "http/1.1".to_owned())),
    ("the status that the plan expects", |p| or_none(p.expect_status)),
    ("whether the plan compares bodies", |p| p.expect_body.to_string()),
    ("the client's CPUs", |p| listed("any", &p.cpus)),
    ("the address that the plan connects from", |p| listed("the kernel's choice", &p.sources)),
    ("the plan's list of requests", |p| or_none(p.targets.as_ref().map(|list| &list.fingerprint))),
    ("the order of the plan's list", |p| or_none(p.targets.as_ref().map(|list| list.order))),
    ("the plan's TLS", |p| {
        or_none(p.tls.as_ref().map(|tls| {
            let certificate = if tls.client_certificate { "a" } else { "no" };
            format!("{}, resumption {}, {certificate} client certificate", tls.verify, tls.resumption)
        }))
    }),
];

fn plan_fields(found: &mut Differences, plan: &PlanPair<'_>, a: &PlanRecord, b: &PlanRecord) {
    let before = found.0.len();
    for (what, of) in FIELDS {
        let (of_a, of_b) = (of(a), of(b));
        if of_a != of_b {
            found.push(what, of_a, of_b);
        }
    }
    let bodies = a.body_fingerprint.as_ref().zip(b.body_fingerprint.as_ref());
    if a.body_bytes == b.body_bytes && bodies.is_some_and(|(a, b)| a != b) {
        found.say("the plan's body has other bytes, as many".to_owned());
    }
    headers(found, a, b);
    stages(found, a, b);
    if let (Some((name, other)), true) = (&plan.renamed, found.0.len() == before) {
        found.push("the plan", name, other);
    }
}

/// Their names; of those of one name that another value was sent, which may be nobody's to see.
fn headers(found: &mut Differences, a: &PlanRecord, b: &PlanRecord) {
    let names = |p: &PlanRecord| {
        let names: Vec<&str> = p.headers.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let (of_a, of_b) = (names(a), names(b));
    if !of_a.eq_ignore_ascii_case(&of_b) {
        found.push("the plan's headers", of_a, of_b);
        return;
    }
    for ((name, value), (_, other)) in a.headers.iter().zip(&b.headers) {
        if value != other {
            found.say(format!("the header {} has another value", name.to_ascii_lowercase()));
        }
    }
}

/// All of them where they are few; of many the first that is another.
fn stages(found: &mut Differences, a: &PlanRecord, b: &PlanRecord) {
    let first = a.stages.iter().zip(&b.stages).position(|(a, b)| a != b);
    let all = |p: &PlanRecord| listed("none", &p.stages).replace(',', " ");
    match first {
        None if a.stages.len() == b.stages.len() => {}
        Some(i) if a.stages.len() == b.stages.len() && a.stages.len() > STAGES_MAX => {
            found.push(&format!("stage {} of the plan", i + 1), a.stages[i], b.stages[i]);
        }
        _ if a.stages.len().max(b.stages.len()) > STAGES_MAX => {
            found.push("the number of the plan's stages", a.stages.len(), b.stages.len());
        }
        _ => found.push("the course of the plan's stages", all(a), all(b)),
    }
}

fn or_none<T: ToString>(value: Option<T>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

/// `0,2`, or this where there are none.
fn listed<T: ToString>(none: &str, all: &[T]) -> String {
    let all: Vec<String> = all.iter().map(T::to_string).collect();
    if all.is_empty() { none.to_owned() } else { all.join(",") }
}

fn clock(trial: &Trial) -> String {
    match trial.latency.response.clock {
        Clock::Kernel => "the kernel's",
        Clock::KernelUpper => "the kernel's, an upper bound",
        Clock::User => "Prony's own",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed_plan;
    use prony_model::list::Order;
    use prony_model::plan_record::{StageRecord, TlsPlanRecord};
    use prony_model::tls::VerifyKind;

    /// What is said of a plan and the same with a change.
    fn said(before: &dyn Fn(&mut PlanRecord), change: &dyn Fn(&mut PlanRecord)) -> Vec<String> {
        let mut a = closed_plan();
        before(&mut a);
        let mut b = a.clone();
        change(&mut b);
        let (name, describe) = (String::new(), String::new());
        let both =
            PlanPair { name, describe, a: vec![], b: vec![], died: [None; 2], duets: vec![], renamed: None };
        let mut found = Differences::default();
        plan_fields(&mut found, &both, &a, &b);
        found.0
    }

    fn header(p: &mut PlanRecord, name: &str, value: &str) {
        p.headers.push((name.to_owned(), value.to_owned()));
    }

    fn to_rate(seconds: u64, rate: f64) -> StageRecord {
        StageRecord { duration_ns: seconds * 1_000_000_000, to_rate_per_s: Some(rate), to_connections: None }
    }

    #[test]
    fn a_header_of_another_value_is_named_without_its_value() {
        let accept = |p: &mut PlanRecord| {
            header(p, "Accept", "text/html");
            header(p, "X-Own", "1");
        };
        assert_eq!(
            said(&accept, &|p| p.headers[0].1 = "*/*".to_owned()),
            ["the header accept has another value"]
        );
        assert_eq!(
            said(&accept, &|p| header(p, "X-More", "s3")),
            ["the plan's headers is Accept, X-Own in one and Accept, X-Own, X-More in the other"]
        );
        assert!(said(&accept, &|p| p.headers[0].0 = "accept".to_owned()).is_empty());
    }

    #[test]
    fn stages_are_compared_one_by_one() {
        let stages = |p: &mut PlanRecord| p.stages = vec![to_rate(30, 20_000.0)];
        assert_eq!(
            said(&stages, &|p| p.stages = vec![to_rate(40, 20_000.0)]),
            ["the course of the plan's stages is 30s:20000/s in one and 40s:20000/s in the other"]
        );
        let connections = StageRecord { to_rate_per_s: None, to_connections: Some(100), ..to_rate(30, 0.0) };
        assert_eq!(
            said(&stages, &|p| p.stages = vec![connections, to_rate(5, 10.0)]),
            ["the course of the plan's stages is 30s:20000/s in one and 30s:100c 5s:10/s in the other"]
        );
        let many = |p: &mut PlanRecord| p.stages = vec![to_rate(1, 50.0); 40];
        assert_eq!(
            said(&many, &|p| p.stages[36] = to_rate(2, 50.0)),
            ["stage 37 of the plan is 1s:50/s in one and 2s:50/s in the other"]
        );
        assert_eq!(
            said(&many, &|p| p.stages.truncate(39)),
            ["the number of the plan's stages is 40 in one and 39 in the other"]
        );
    }

    #[test]
    fn bodies_lists_sources_and_certificates_are_compared() {
        let body = |p: &mut PlanRecord| {
            (p.body_bytes, p.body_fingerprint) = (7, Some("00000001".to_owned()));
        };
        let other = |p: &mut PlanRecord| p.body_fingerprint = Some("00000002".to_owned());
        assert_eq!(said(&body, &other), ["the plan's body has other bytes, as many"]);
        // A record from before fingerprints were kept says nothing.
        assert!(said(&body, &|p| p.body_fingerprint = None).is_empty());
        let list = |p: &mut PlanRecord| {
            let (order, fingerprint) = (Order::InTurn, "00000000000000ff".to_owned());
            p.targets =
                Some(prony_model::plan_record::TargetsRecord { lines: 9, requests: 3, order, fingerprint });
        };
        let shuffled = |p: &mut PlanRecord| p.targets.as_mut().unwrap().order = Order::Shuffled;
        assert_eq!(
            said(&list, &shuffled),
            ["the order of the plan's list is in_turn in one and shuffled in the other"]
        );
        let none = |_: &mut PlanRecord| {};
        assert_eq!(
            said(&none, &|p| p.sources = vec!["127.0.0.2".to_owned(), "127.0.0.3".to_owned()]),
            [
                "the address that the plan connects from is the kernel's choice in one and 127.0.0.2,127.0.0.3 in the other"
            ]
        );
        let tls = |p: &mut PlanRecord| {
            p.tls = Some(TlsPlanRecord {
                verify: VerifyKind::System,
                resumption: "on".to_owned(),
                alpn: "http/1.1".to_owned(),
                client_certificate: false,
            });
        };
        let shown = |p: &mut PlanRecord| p.tls.as_mut().unwrap().client_certificate = true;
        assert_eq!(
            said(&tls, &shown),
            ["the plan's TLS is system, resumption on, no client certificate in one and \
              system, resumption on, a client certificate in the other"]
        );
    }
}
