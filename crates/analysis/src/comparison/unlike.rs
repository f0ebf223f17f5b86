//! Whether two may be compared at all: the same host, plan, sampling and tool.

use std::collections::BTreeSet;
use std::fmt::Display;

use prony_record::host::Host;
use prony_record::plan::PlanRecord;
use prony_record::trial::{Clock, Trial};

use super::Both;
use crate::row::Cell;

/// Differences named before "and N more".
const NAMED_MAX: usize = 6;

/// In what the two are not comparable, each as a phrase with both values. Within one run, hosts and
/// plans are the same by its making.
pub(super) fn differences(plans: &[Both<'_>], one_run: bool) -> Vec<String> {
    let mut found = Found::default();
    for plan in plans {
        let (a, b) = (plan.a.as_slice(), plan.b.as_slice());
        found.sets("Prony's version", a, b, |c| Some(c.trial.tool.version.clone()));
        if !one_run {
            hosts(&mut found, a, b);
            // Also of trials of one side: a log of single loads may hold different ones.
            if let (Some(first), true) = (a.first(), !b.is_empty()) {
                for other in a.iter().chain(b) {
                    of_plans(&mut found, plan, &first.trial.plan, &other.trial.plan);
                }
            }
            found.sets("the server's CPUs", a, b, |c| Some(cpus(&c.server?.cpus)));
        }
        found.sets("how they were measured", a, b, |c| {
            Some(if c.planned.duet.is_some() { "two at once" } else { "in turn" }.to_owned())
        });
        found.sets("the clock of answers", a, b, |c| Some(clock(c.trial)));
        found.sets("how the server's CPU was read", a, b, |c| Some(c.server?.cpu_method.clone()));
        found.sets("how the server's memory was read", a, b, |c| Some(c.server?.memory_method.clone()));
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
struct Found(Vec<String>);

impl Found {
    fn push(&mut self, what: &str, a: impl Display, b: impl Display) {
        let phrase = format!("{what} is {a} there and {b} here");
        if !self.0.contains(&phrase) {
            self.0.push(phrase);
        }
    }

    /// Every trial of both must have the same; where one side has none at all, nothing is said.
    fn sets(&mut self, what: &str, a: &[Cell<'_>], b: &[Cell<'_>], of: fn(&Cell<'_>) -> Option<String>) {
        let set = |cells: &[Cell<'_>]| cells.iter().filter_map(of).collect::<BTreeSet<String>>();
        let (a, b) = (set(a), set(b));
        if !a.is_empty() && !b.is_empty() && (a != b || a.len() > 1) {
            self.push(what, joined(a), joined(b));
        }
    }

    fn field<T: PartialEq + Display>(&mut self, what: &str, a: &T, b: &T) {
        if a != b {
            self.push(what, a, b);
        }
    }
}

fn joined(set: BTreeSet<String>) -> String {
    set.into_iter().collect::<Vec<_>>().join(" and ")
}

/// A property of a machine, as text.
type Described = fn(&Host) -> String;

fn hosts(found: &mut Found, a: &[Cell<'_>], b: &[Cell<'_>]) {
    let of: [(&str, Described); 6] = [
        ("the CPU", |h| h.cpu_model.clone()),
        ("the number of CPUs", |h| h.cpus_online.to_string()),
        ("the kernel", |h| h.kernel.clone()),
        ("the frequency governor", |h| h.governor.clone().unwrap_or_else(|| "none".to_owned())),
        ("the virtualisation", |h| h.virtualisation.clone().unwrap_or_else(|| "none".to_owned())),
        // To a GiB: kernels differ in what they keep for themselves.
        ("the memory in GiB", |h| (h.memory_bytes >> 30).to_string()),
    ];
    for (what, value) in of {
        let set = |cells: &[Cell<'_>]| cells.iter().map(|c| value(&c.trial.host)).collect::<BTreeSet<_>>();
        let (a, b) = (set(a), set(b));
        if a != b || a.len() > 1 {
            found.push(what, joined(a), joined(b));
        }
    }
}

/// Everything of a plan but where it is aimed, the seed, and secrets that are not kept.
fn of_plans(found: &mut Found, plan: &Both<'_>, a: &PlanRecord, b: &PlanRecord) {
    let before = found.0.len();
    found.field("the plan's method", &a.method, &b.method);
    found.field("the plan's path", &path(&a.url), &path(&b.url));
    found.field("the plan's scheme", &scheme(&a.url), &scheme(&b.url));
    found.field("the plan's connections", &a.connections, &b.connections);
    found.field("the plan's threads", &a.threads, &b.threads);
    found.field("the plan's arrivals", &a.arrivals, &b.arrivals);
    found.field("the plan's rate", &or_none(a.rate_per_s.as_ref()), &or_none(b.rate_per_s.as_ref()));
    found.field("the plan's duration", &seconds(a.duration_ns), &seconds(b.duration_ns));
    found.field("the plan's requests", &or_none(a.requests.as_ref()), &or_none(b.requests.as_ref()));
    found.field("the plan's warm-up", &seconds(Some(a.warmup_ns)), &seconds(Some(b.warmup_ns)));
    found.field("the plan's timeout", &seconds(Some(a.timeout_ns)), &seconds(Some(b.timeout_ns)));
    found.field("the plan's keep-alive", &a.keepalive, &b.keepalive);
    found.field("the plan's body in bytes", &a.body_bytes, &b.body_bytes);
    found.field("the plan's pipeline", &a.pipeline, &b.pipeline);
    found.field("the plan's spin", &a.spin, &b.spin);
    found.field("the plan's user clock", &a.user_clock, &b.user_clock);
    let checks = |p: &PlanRecord| {
        format!(
            "status {}, body {}",
            or_none(p.expect_status.as_ref()),
            if p.expect_body { "compared" } else { "any" }
        )
    };
    found.field("what the plan expects", &checks(a), &checks(b));
    let client = |p: &PlanRecord| cpus(&p.cpus);
    found.field("the client's CPUs", &client(a), &client(b));
    let headers = |p: &PlanRecord| {
        let names: Vec<&str> = p.headers.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    if a.headers != b.headers {
        found.push("the plan's headers", headers(a), headers(b));
    }
    if a.stages != b.stages {
        found.push("the plan's stages", a.stages.len(), b.stages.len());
    }
    let list = |p: &PlanRecord| p.targets.as_ref().map_or("none".to_owned(), |t| t.fingerprint.clone());
    found.field("the plan's list of requests", &list(a), &list(b));
    let tls = |p: &PlanRecord| {
        p.tls.as_ref().map_or("none".to_owned(), |t| format!("{}, resumption {}", t.verify, t.resumption))
    };
    found.field("the plan's TLS", &tls(a), &tls(b));
    if let (Some((name, other)), true) = (&plan.renamed, found.0.len() == before) {
        found.push("the plan", name, other);
    }
}

fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |at| &rest[at..])
}

fn scheme(url: &str) -> &str {
    url.split_once("://").map_or("", |(scheme, _)| scheme)
}

fn or_none<T: Display>(value: Option<&T>) -> String {
    value.map_or("none".to_owned(), T::to_string)
}

fn seconds(ns: Option<u64>) -> String {
    ns.map_or("none".to_owned(), crate::text::duration)
}

fn cpus<T: Display>(cpus: &[T]) -> String {
    if cpus.is_empty() {
        "any".to_owned()
    } else {
        cpus.iter().map(T::to_string).collect::<Vec<_>>().join(",")
    }
}

fn clock(trial: &Trial) -> String {
    match trial.latency.response.clock {
        Clock::Kernel => "the kernel's",
        Clock::KernelUpper => "the kernel's, an upper bound",
        Clock::User => "Prony's own",
    }
    .to_owned()
}
