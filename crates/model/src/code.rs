//! The one table of verdicts' codes: names, affected figures, advice, values. Every view shows an entry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::trial::{Effect, Reason};
use crate::unit::Unit;

#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    VariantArray,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Code {
    Errors,
    Arithmetic,
    WrongAnswer,
    UnaskedResponses,
    PortsExhausted,
    ClientSaturated,
    ClientQueue,
    LateSends,
    UnevenWorkers,
    RateNotReached,
    Throttled,
    HostNoisy,
    NotSteady,
    Overload,
    TooFewSamples,
    WideInterval,
    ListenOverflow,
    PacketsLost,
    ToleratedResponses,
    FewerStreams,
    StalledByWindow,
    Container,
    ServerDied,
    ServerRestarted,
    WorkerLost,
    MemoryGrows,
    DuetSharesClient,
    DuetSharesCpus,
    ServiceSharesCpus,
    AgentLost,
    LateAgents,
    ThrottledAgents,
    DelayedAck,
    ConnectionsClosed,
    PeriodicStalls,
    ConnectsRetried,
    ConnectionGroups,
    FewAtOnce,
}

#[derive(Debug)]
pub struct Entry {
    /// The figures that it affects: `throughput`, `response.p99_ns`.
    pub affects: &'static [&'static str],
    pub effect: Effect,
    pub advice: &'static str,
    /// What it may come with, the most telling first.
    pub values: &'static [Value],
}

#[derive(Debug)]
pub struct Value {
    /// Its name in JSON, which ends in its unit's unless it is a count.
    pub name: &'static str,
    pub unit: Unit,
    pub is_limit: bool,
}

impl Value {
    /// Its name for people, without the unit: `busiest worker`.
    pub fn words(&self) -> String {
        let bare = self.name.strip_suffix(self.unit.stored()).unwrap_or(self.name);
        bare.trim_end_matches('_').replace('_', " ")
    }
}

const fn in_unit(name: &'static str, unit: Unit) -> Value {
    Value { name, unit, is_limit: false }
}

const fn count(name: &'static str) -> Value {
    in_unit(name, Unit::Count)
}

const fn share(name: &'static str) -> Value {
    in_unit(name, Unit::Share)
}

const fn time(name: &'static str) -> Value {
    in_unit(name, Unit::Milliseconds)
}

const fn limit(name: &'static str, unit: Unit) -> Value {
    Value { name, unit, is_limit: true }
}

impl Code {
    #[rustfmt::skip]
    pub fn entry(self) -> Entry {
        let entry = |affects, effect, values, advice| Entry { affects, effect, advice, values };
        match self {
            Code::Errors => entry(&["throughput", "response"], Effect::Note,
                const { &[share("failed_share"), count("failed"), count("ended")] },
                "Read the first message of each kind; do not compare servers by their successful requests alone."),
            Code::Arithmetic => entry(&["throughput", "response", "service"], Effect::Invalid, &[],
                "This is a fault of Prony's: please report it with the run log."),
            Code::WrongAnswer => entry(&["throughput", "response", "service"], Effect::Invalid,
                const { &[count("other_body"), count("other_status")] },
                "Look at one response (curl -i URL); correct the server, or --expect-status and --expect-body."),
            Code::UnaskedResponses => entry(&["throughput", "response", "service"], Effect::Invalid, const { &[count("connections")] },
                "Look at what follows one response on its connection (curl -v says `Excess found`), and correct the server: where requests follow each other, a response that nobody asked for is taken for the next one's."),
            Code::PortsExhausted => entry(&["throughput"], Effect::Invalid, const { &[count("requests")] },
                "Keep connections alive, connect from more addresses (--source) or widen net.ipv4.ip_local_port_range: this measured \
                 the client's ports."),
            Code::ClientSaturated => entry(&["throughput"], Effect::LowerBound, const { &[share("busiest_worker_share")] },
                "Give the client more cores and workers (-t), or the server fewer."),
            Code::ClientQueue => entry(&["response", "service"], Effect::Suspect, const { &[share("busiest_worker_share")] },
                "Give the client more cores and workers (-t), or let the kernel stamp responses (over TCP, without --user-clock)."),
            Code::LateSends => entry(&["response"], Effect::Suspect,
                const { &[time("p50_ns"), limit("p50_limit_ns", Unit::Milliseconds), time("p99_ns"), limit("p99_limit_ns", Unit::Milliseconds)] },
                "Give the client a core of its own (--pin), or ask for a lower rate; service times are not affected."),
            Code::UnevenWorkers => entry(&["response"], Effect::Suspect, const { &[share("waited_share"), time("mean_wait_ns")] },
                "Use one worker (without -t), which sends over 100,000 requests per second, or more connections (-c)."),
            Code::RateNotReached => entry(&["response", "throughput"], Effect::Suspect,
                const { &[share("unsent_share"), count("missing"), count("due")] },
                "Ask for a lower rate, or give the client more workers (-t)."),
            Code::Throttled => entry(&["throughput", "response", "service"], Effect::Suspect,
                const { &[share("throttled_periods_share"), count("throttled_periods"), time("throttled_ns")] },
                "Lift the quota, or give whole CPUs instead (--cpuset-cpus of a container, AllowedCPUs of a service), and repeat."),
            Code::HostNoisy => entry(&["throughput", "response", "service"], Effect::Suspect,
                const { &[share("gaps_share"), share("steal_share"), share("others_share"), share("run_queue_wait_share")] },
                "Stop other programs or give the client a core of its own (--pin), and repeat."),
            Code::NotSteady => entry(&[], Effect::Suspect, const { &[share("throughput_drift_share"), share("response_drift_share")] },
                "Give a longer --warmup and a longer -d; if the figures still drift, it is the server that does."),
            Code::Overload => entry(&["response"], Effect::Note, const { &[time("growth_per_s_ns"), time("wait_at_end_ns")] },
                "Response times grow with the load's length: compare throughput, or ask for a lower rate."),
            Code::TooFewSamples => entry(&["response.p99_ns"], Effect::Withheld,
                const { &[count("samples_beyond"), limit("samples_needed", Unit::Count)] },
                "Let the load last longer (-d, or -n)."),
            Code::WideInterval => entry(&["throughput"], Effect::Note,
                const { &[share("half_width_share"), time("needed_ns")] },
                "Let the load last longer (-d, or -n): an interval so wide tells little."),
            Code::ListenOverflow => entry(&["throughput", "response"], Effect::Note,
                const { &[count("listen_overflows"), count("listen_drops")] },
                "Raise the server's backlog and net.core.somaxconn, or open fewer connections at once."),
            Code::PacketsLost => entry(&["throughput", "response"], Effect::Note,
                const { &[share("retransmits_share"), count("packets_dropped")] },
                "Run `prony doctor` on the server's host, or `prony doctor --host ssh:HOST` here."),
            Code::ToleratedResponses => entry(&[], Effect::Note,
                const { &[count("repeated_length"), count("length_beside_coding"), count("repeated_chunked"), count("folded"),
                    count("long"), count("bare_line_feed")] },
                "The figures are not affected; a stricter client or a proxy may refuse such responses, so correct the server's headers."),
            Code::FewerStreams => entry(&["throughput"], Effect::Note, const { &[count("streams"), limit("streams_asked", Unit::Count)] },
                "Lower -p to the server's limit, or raise that limit; more connections (-c) carry more requests at once."),
            Code::StalledByWindow => entry(&["throughput", "service"], Effect::Note, const { &[share("held_share"), time("held_ns")] },
                "Raise the server's windows (SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_UPDATE) if they are not what you measure."),
            Code::Container => entry(&[], Effect::Note, &[],
                "Start the container with --network host, on Linux; compare only what was measured in the same way."),
            Code::ServerDied => entry(&["throughput", "response", "service"], Effect::Invalid, &[],
                "Read its last output, and load it by hand with `prony load`; the trial does not count."),
            Code::ServerRestarted => entry(&["throughput", "response", "service"], Effect::Invalid, &[],
                "Find out why it ended. If a setting ends workers after a number of requests, switch it off, or write recycles = true in its recipe. The trial does not count."),
            Code::WorkerLost => entry(&[], Effect::Note, const { &[count("processes")] },
                "If it was a worker, fewer workers served than were configured: read the server's log."),
            Code::MemoryGrows => entry(&[], Effect::Note, const { &[in_unit("growth_bytes_per_s", Unit::MegabytesPerS)] },
                "Give a longer -d to see whether it ends; memory figures are those of this window only."),
            Code::DuetSharesClient => entry(&[], Effect::Note, &[],
                "With one more CPU each client would have its own; each server has its own already."),
            Code::DuetSharesCpus => entry(&["response", "service"], Effect::Suspect, &[],
                "Compare by the duet's ratio: both sides contain their client's work alike, but each figure by itself contains it, too. With four CPUs each server and each client has its own."),
            Code::ServiceSharesCpus => entry(&[], Effect::Note, &[],
                "The figures contain that they wait for each other, as they do where both run on one machine. With one more CPU services have their own; --pin names it."),
            Code::AgentLost => entry(&["throughput", "response", "service"], Effect::Suspect,
                const { &[share("kept_share"), time("window_ns")] },
                "Find out why the agent was lost, and repeat the load."),
            Code::LateAgents => entry(&["response"], Effect::Suspect, const { &[count("late_agents")] },
                "Give these agents a core of their own (--pin), or leave them out; service times are not affected."),
            Code::ThrottledAgents => entry(&["throughput", "response", "service"], Effect::Suspect, const { &[count("throttled_agents")] },
                "Give these agents whole CPUs of their own instead of a quota (in Kubernetes the static CPU manager)."),
            Code::DelayedAck => entry(&["response", "service"], Effect::Note, const { &[share("delayed_share"), time("first_byte_p50_ns")] },
                "Set TCP_NODELAY on the server's connections, or write head and body in one call."),
            Code::ConnectionsClosed => entry(&["throughput", "response"], Effect::Note,
                const { &[count("opened"), count("requests_per_connection"), time("mean_connect_wait_ns"), count("closed_after"), time("closed_after_ns")] },
                "Raise the server's limit of requests or seconds per connection (keepalive_requests, max_requests), or give --no-keepalive if that is what you measure."),
            Code::PeriodicStalls => entry(&["response"], Effect::Note, const { &[time("period_ns"), time("stall_ns"), count("stalls"), share("cpu_in_stalls_share"), share("cpu_between_share")] },
                "Look for what a timer of this period does in the server: collections, flushes, log rotation, cache expiry; or on its machine."),
            Code::ConnectsRetried => entry(&["throughput", "response"], Effect::Note,
                const { &[count("retried"), count("connections"), count("queue_max"), limit("somaxconn", Unit::Count)] },
                "Raise the backlog that the server gives to listen(2), and net.core.somaxconn, which bounds it; have it accept in a thread of its own, or open fewer connections at once."),
            Code::ConnectionGroups => entry(&["response"], Effect::Note,
                const { &[time("slowest_mean_ns"), time("fastest_mean_ns"), count("slowest"), count("fastest"), count("groups"), count("listening_sockets")] },
                "Give each worker its share of the connections (one that accepts and hands them out, or more connections than workers by far), or take percentiles for a mixture."),
            Code::FewAtOnce => entry(&["throughput"], Effect::Note,
                const { &[count("at_once"), share("carried_share"), share("server_cpu_share")] },
                "Look for what its requests wait for in turn: too few workers or threads, a lock, a pool of connections to a service, a limit of rate."),
        }
    }

    pub fn reason(self, detail: String) -> Reason {
        let Entry { affects, effect, advice, .. } = self.entry();
        let affects = affects.iter().map(|figure| (*figure).to_owned()).collect();
        Reason { code: self, affects, effect, detail, advice: advice.to_owned(), values: BTreeMap::new() }
    }

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// `not steady`.
    pub fn words(self) -> String {
        self.name().replace('_', " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_named_after_its_unit_and_counts_after_none() {
        let units =
            [Unit::Share, Unit::Milliseconds, Unit::MegabytesPerS].map(|u| format!("_{}", u.stored()));
        for value in Code::VARIANTS.iter().flat_map(|code| code.entry().values) {
            let named = units.iter().find(|unit| value.name.ends_with(*unit));
            let own = (value.unit != Unit::Count).then(|| format!("_{}", value.unit.stored()));
            assert_eq!(named, own.as_ref(), "{value:?}");
        }
    }
}
