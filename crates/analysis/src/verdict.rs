//! Why figures can or cannot be trusted: rule and thresholds of each code of [`Code`], whose table has what it affects.

use prony_model::code::Code;
use prony_model::measurement::{Censored, ErrorKind, ErrorTally, Measurement, ReceiveClock, Tolerance};
use prony_model::plan::ArrivalKind;
use prony_model::trial::{Effect, Outcome, Reason, Validity, Verdict};
use prony_stats::order::Quantile;

use crate::numbers::{real, rounded};
use crate::steady::Drift;
use crate::summary::{BEYOND_MIN, OrderStatistics, Sample};
use crate::text::{digits, duration, percent};

mod causes;
mod connections;
pub(crate) mod facts;
mod fleet;
mod host;
mod http2;
mod server;

pub(crate) use facts::Facts;
use facts::share;
pub use host::{OTHERS_MAX, STEAL_MAX};

/// A worker outside `epoll_wait` for this share has no room left: what it did not carry may be its own fault.
pub const BUSY_MAX: f64 = 0.90;

/// A p50 of the client's own lateness above this, and above a tenth of the response's, is late.
const LATE_P50_NS: u64 = 100_000;

/// A p99 of the client's own lateness above this, and above a tenth of the response's, is late.
const LATE_P99_NS: u64 = 1_000_000;

/// The share of the response time that may be the client's own lateness.
const LATE_SHARE: f64 = 0.10;

/// The share of what is due that may be missing from what was sent.
const UNSENT_MAX: f64 = 0.01;

/// Connections are taken to be free while fewer than this share carry a request, on average over the window.
const IN_FLIGHT_FULL: f64 = 0.95;

/// The share of requests that may fail before it is the first thing said.
const FAILED_MAX: f64 = 0.01;

/// The share of requests that may wait while another worker has a free connection.
const WAITED_BESIDE_MAX: f64 = 0.01;

/// A throughput's interval that is wider tells little: half its width, as a share.
const HALF_WIDTH_MAX: f64 = 0.10;

/// All reasons, errors first, then by the table's order, and the worst of their effects.
pub(crate) fn verdict(facts: &Facts<'_>) -> Verdict {
    let single = [
        errors(facts),
        arithmetic(facts),
        wrong_answer(facts),
        unasked_responses(facts),
        ports_exhausted(facts),
        client_saturated(facts),
        client_queue(facts),
        late_sends(facts),
        uneven_workers(facts),
        rate_not_reached(facts),
        host::throttled(facts),
        host::host_noisy(facts),
        not_steady(facts),
        overload(facts),
        too_few_samples(facts),
        wide_interval(facts),
        host::listen_overflow(facts),
        host::packets_lost(facts),
        tolerated_responses(facts),
        http2::fewer_streams(facts),
        http2::stalled_by_window(facts),
        host::container(facts),
    ];
    let reasons: Vec<Reason> = single
        .into_iter()
        .flatten()
        .chain(server::reasons(facts))
        .chain(fleet::reasons(facts))
        .chain(causes::reasons(facts))
        .chain(connections::reasons(facts))
        .collect();
    Verdict { validity: validity(&reasons), reasons }
}

/// The worst effect in a word: notes, lower bounds and withheld figures leave a trial valid.
pub fn validity(reasons: &[Reason]) -> Validity {
    match reasons.iter().map(|r| r.effect).max() {
        Some(Effect::Invalid) => Validity::Invalid,
        Some(Effect::Suspect) => Validity::Suspect,
        Some(Effect::Note | Effect::Withheld | Effect::LowerBound) | None => Validity::Valid,
    }
}

fn errors(f: &Facts<'_>) -> Option<Reason> {
    let (failed, ended) = (f.m.requests.failed, f.m.requests.failed + f.m.requests.completed);
    let failing = share(failed, ended);
    let waiting = f.m.requests.in_flight + f.m.requests.never_sent;
    if ended == 0 && waiting > 0 {
        let reason =
            Code::Errors.reason(format!("none of {waiting} requests had a response when the load ended"));
        return Some(with_hint(f, reason.with("failed", 0.0).with("ended", 0.0)));
    }
    (failing > FAILED_MAX).then(|| {
        let kinds: Vec<String> =
            f.m.errors.iter().map(|(kind, tally)| format!("{kind} {}", tally.count)).collect();
        let reason = Code::Errors
            .reason(format!(
                "{failed} of {ended} requests failed, {} (limit {}): {}",
                percent(failing),
                percent(FAILED_MAX),
                kinds.join(", ")
            ))
            .with("failed", real(failed))
            .with("ended", real(ended))
            .with("failed_share", failing);
        with_hint(f, reason)
    })
}

/// Where nothing was completed: what may be spoken there instead, as far as the failures allow it.
fn with_hint(f: &Facts<'_>, mut reason: Reason) -> Reason {
    let (https, http2) = (f.plan.url.starts_with("https:"), !f.plan.protocol.is_http1());
    let of = |kinds: &[ErrorKind]| f.m.errors.keys().all(|kind| kinds.contains(kind));
    let is_silent = f.m.requests.completed == 0
        && f.m.status.is_empty()
        && of(&[ErrorKind::ClosedEarly, ErrorKind::Reset, ErrorKind::RequestTimeout]);
    let refuses = f.m.status.keys().all(|status| *status == 400) && of(&[ErrorKind::UnexpectedStatus]);
    let hint = match (https, http2) {
        _ if f.m.requests.completed > 0 => return reason,
        (false, false) if is_silent => {
            "Is this a port of HTTPS (write https://), or of HTTP/2 alone (give --http2)? See what curl -v URL is told."
        }
        (true, false) if is_silent => {
            "Is HTTP/2 alone spoken there (give --http2)? See what curl -v URL is told."
        }
        (false, true) if is_silent => {
            "Is this a port of HTTPS (write https://), or of HTTP/1.1 alone (leave --http2 out)? See what curl -v URL is told."
        }
        (false, false) if refuses => {
            "Is this a port of HTTPS (write https://)? nginx, Apache and Go answer plain HTTP there with status 400. See \
             what curl -v URL is told."
        }
        _ => return reason,
    };
    hint.clone_into(&mut reason.advice);
    reason
}

fn arithmetic(f: &Facts<'_>) -> Option<Reason> {
    let broken = &f.m.broken_identities;
    (!broken.is_empty()).then(|| Code::Arithmetic.reason(broken.join("; ")))
}

/// A server that answers more than it was asked is measured by responses that are nobody's.
fn unasked_responses(f: &Facts<'_>) -> Option<Reason> {
    let connections = f.m.run_total.unasked;
    (connections > 0).then(|| {
        let on =
            if connections == 1 { "a connection".to_owned() } else { format!("{connections} connections") };
        Code::UnaskedResponses
            .reason(format!("on {on} the server sent what no request asked for"))
            .with("connections", real(connections))
    })
}

fn wrong_answer(f: &Facts<'_>) -> Option<Reason> {
    let tally = |kind| f.m.errors.get(&kind).filter(|tally| tally.count > 0);
    let body = tally(ErrorKind::BodyMismatch).filter(|_| f.plan.expect_body);
    let status = f.plan.expect_status.and_then(|_| tally(ErrorKind::UnexpectedStatus));
    let seen: Vec<String> = [("body", body), ("status", status)]
        .into_iter()
        .filter_map(|(what, tally)| {
            tally.map(|t| format!("{} responses had another {what} than expected: {}", t.count, t.first))
        })
        .collect();
    let count = |tally: Option<&ErrorTally>| real(tally.map_or(0, |tally| tally.count));
    (!seen.is_empty()).then(|| {
        let reason = Code::WrongAnswer.reason(seen.join("; "));
        reason.with("other_body", count(body)).with("other_status", count(status))
    })
}

fn ports_exhausted(f: &Facts<'_>) -> Option<Reason> {
    let tally = f.m.errors.get(&ErrorKind::NoPorts).filter(|tally| tally.count > 0)?;
    Some(
        Code::PortsExhausted
            .reason(format!("{} requests found no local port to connect from: {}", tally.count, tally.first))
            .with("requests", real(tally.count)),
    )
}

/// The largest share of the window that a worker spent outside `epoll_wait`, 0 to 1.
pub(crate) fn busiest_worker(m: &Measurement, window_ns: u64) -> f64 {
    m.workers.iter().map(|w| share(w.busy_ns, window_ns)).fold(0.0, f64::max).min(1.0)
}

/// ` of load2`, of a fleet's agents whose workers were busy; empty where one process loads.
fn saturated_agents(m: &Measurement) -> String {
    let agents = m.fleet.iter().flat_map(|fleet| &fleet.agents);
    let busy = agents.filter(|agent| real(agent.busiest_worker_ppm) >= BUSY_MAX * 1e6);
    let names: Vec<&str> = busy.map(|agent| agent.name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) }
}

fn client_saturated(f: &Facts<'_>) -> Option<Reason> {
    f.client_limits.then(|| {
        let server = match f.server_saturated {
            Some(_) => " while the server had CPU to spare",
            None => "",
        };
        let whose = saturated_agents(f.m);
        Code::ClientSaturated
            .reason(format!(
                "a worker{whose} was busy for {} of the window (from {}){server}: the server carries at least this",
                percent(busiest_worker(f.m, f.window_ns)),
                percent(BUSY_MAX)
            ))
            .with("busiest_worker_share", busiest_worker(f.m, f.window_ns))
    })
}

/// Answers that wait for a busy client are stamped by the kernel when they arrive, and by Prony when it gets to them.
fn client_queue(f: &Facts<'_>) -> Option<Reason> {
    (f.client_limits && f.m.clock == ReceiveClock::User).then(|| {
        Code::ClientQueue.reason(format!(
            "responses were stamped by Prony's own clock, and a worker was busy for {} of the window: times include the \
             client's own queue",
            percent(busiest_worker(f.m, f.window_ns))
        ))
        .with("busiest_worker_share", busiest_worker(f.m, f.window_ns))
    })
}

/// Workers do not share connections: what waits for one beside another worker's free one waits for the client.
fn uneven_workers(f: &Facts<'_>) -> Option<Reason> {
    let waited: u64 = f.m.workers.iter().map(|w| w.waited_beside_free).sum();
    let ns: u64 = f.m.workers.iter().map(|w| w.waited_beside_free_ns).sum();
    let begun = f.m.requests.completed + f.m.requests.failed + f.m.requests.in_flight;
    (share(waited, begun) > WAITED_BESIDE_MAX).then(|| {
        Code::UnevenWorkers.reason(format!(
            "{} of the requests waited for a connection while another worker had a free one, {} on average",
            percent(share(waited, begun)),
            duration(ns / waited.max(1))
        ))
        .with("waited_share", share(waited, begun))
        .with("mean_wait_ns", real(ns / waited.max(1)))
    })
}

/// Send lag without the waits for a free connection, against the response's percentile of the same name (or what that
/// is longer than; where it is withheld, nothing is said).
fn late_sends(f: &Facts<'_>) -> Option<Reason> {
    let order = OrderStatistics::of_completed(&f.parts.lateness);
    let late = |name, quantile: f64, floor: u64| {
        let field = format!("{name}_ns");
        let response =
            f.response.percentile(&field).or_else(|| f.response.censored_at_ns.get(&field).copied())?;
        let Sample::Exact(late_ns) = order.quantile(Quantile::new(quantile)?)? else { return None };
        let limit = floor.max(rounded(LATE_SHARE * real(response)));
        (late_ns > limit).then_some((name, late_ns, limit))
    };
    let seen: Vec<(&str, u64, u64)> = [("p50", 0.50, LATE_P50_NS), ("p99", 0.99, LATE_P99_NS)]
        .into_iter()
        .filter_map(|(name, quantile, floor)| late(name, quantile, floor))
        .collect();
    let said: Vec<String> = seen
        .iter()
        .map(|(name, ns, most)| {
            format!("{name} of the client's own lateness is {} (limit {})", duration(*ns), duration(*most))
        })
        .collect();
    let reason = (!seen.is_empty()).then(|| {
        Code::LateSends.reason(format!("{}; waits for a connection are not in it", said.join(", ")))
    })?;
    Some(seen.iter().fold(reason, |reason, (name, ns, limit)| {
        reason.with(&format!("{name}_ns"), real(*ns)).with(&format!("{name}_limit_ns"), real(*limit))
    }))
}

fn rate_not_reached(f: &Facts<'_>) -> Option<Reason> {
    if !f.plan.is_open() {
        return None;
    }
    // What found no connection was tried in time: that nobody took it is the server's doing.
    let unconnected =
        |(kind, tally): (&ErrorKind, &ErrorTally)| kind.is_before_sending().then_some(tally.count);
    let tried = f.m.requests.sent + f.m.errors.iter().filter_map(unconnected).sum::<u64>();
    let missing = f.m.requests.scheduled.saturating_sub(tried);
    let unsent = share(missing, f.m.requests.scheduled);
    let in_flight: f64 = f.m.workers.iter().map(|w| share(w.in_flight_integral_ns, f.window_ns)).sum();
    let a_connection = f.m.http2.map_or(f.plan.pipeline.into(), |used| used.streams);
    let free = f.outcome != Outcome::Overloaded
        && in_flight < IN_FLIGHT_FULL * f64::from(f.plan.connections) * real(a_connection);
    (free && unsent > UNSENT_MAX).then(|| {
        Code::RateNotReached.reason(format!(
            "{missing} of {} due requests were not sent, {} (limit {}), while {} of {} connections were in \
             use on average",
            f.m.requests.scheduled,
            percent(unsent),
            percent(UNSENT_MAX),
            digits(in_flight),
            f.plan.connections
        ))
        .with("missing", real(missing))
        .with("due", real(f.m.requests.scheduled))
        .with("unsent_share", unsent)
    })
}

fn not_steady(f: &Facts<'_>) -> Option<Reason> {
    if f.drifts.is_empty() {
        return None;
    }
    let details: Vec<&str> = f.drifts.iter().map(|d| d.detail.as_str()).collect();
    let reason = Code::NotSteady.reason(details.join("; "));
    let drifted = |reason: Reason, d: &Drift| reason.with(&format!("{}_drift_share", d.affects), d.share);
    let mut reason = f.drifts.iter().fold(reason, drifted);
    reason.affects = f.drifts.iter().map(|d| d.affects.to_owned()).collect();
    reason.affects.dedup();
    Some(reason)
}

fn overload(f: &Facts<'_>) -> Option<Reason> {
    let growth = f.growth?;
    let reason = Code::Overload.reason(format!(
        "the wait for a connection grew by {} per second, to {} at the end",
        duration(rounded(growth.per_s_ns)),
        duration(rounded(growth.last_ns))
    ));
    Some(reason.with("growth_per_s_ns", growth.per_s_ns).with("wait_at_end_ns", growth.last_ns))
}

fn too_few_samples(f: &Facts<'_>) -> Option<Reason> {
    // Where no request completes, a longer load has no percentile either.
    let none_completed = f.m.requests.completed == 0 && f.m.requests.failed > 0;
    if none_completed || f.response.p99_ns.is_some() || f.response.censored_at_ns.contains_key("p99_ns") {
        return None;
    }
    let Censored { completed, waiting, failed } = &f.parts.response;
    let n = completed.len() + waiting.len() + failed.len();
    let beyond = Quantile::new(0.99).map_or(0.0, |p99| p99.beyond(n)).floor();
    let needs = match (f.plan.duration_ns, f.response.needs_duration_ns.get("p99_ns")) {
        _ if f.plan.arrivals == ArrivalKind::Stages => ": make the stages longer".to_owned(),
        (Some(_), Some(ns)) => format!(": -d {}s", ns.div_ceil(1_000_000_000)),
        (None, _) => format!(": -n {}", BEYOND_MIN * 100),
        (Some(_), None) => String::new(),
    };
    Some(
        Code::TooFewSamples
            .reason(format!("p99 has {beyond:.0} samples beyond it, {BEYOND_MIN} are needed{needs}"))
            .with("samples_beyond", beyond)
            .with("samples_needed", real(BEYOND_MIN)),
    )
}

/// A window that knows its throughput so badly was too short; an interval narrows with the square root of the length.
fn wide_interval(f: &Facts<'_>) -> Option<Reason> {
    let half = f.throughput.relative_half_width().filter(|half| *half > HALF_WIDTH_MAX)?;
    let times = (half / HALF_WIDTH_MAX).powi(2);
    let needed_s = (real(f.window_ns) / 1e9 * times).ceil();
    let needed = match f.plan.duration_ns {
        Some(_) => format!("-d {needed_s}s"),
        None => format!("-n {:.0}", real(f.m.run_total.sent) * times),
    };
    let reason = Code::WideInterval.reason(format!(
        "throughput is known to ±{} only: about {needed} would give ±{}, if it varies as it did",
        percent(half),
        percent(HALF_WIDTH_MAX)
    ));
    Some(reason.with("half_width_share", half).with("needed_ns", needed_s * 1e9))
}

/// What of the answers a strict reading refuses, over the whole run.
fn tolerated_responses(f: &Facts<'_>) -> Option<Reason> {
    let words = |tolerance: Tolerance| match tolerance {
        Tolerance::RepeatedLength => "one Content-Length several times",
        Tolerance::LengthBesideCoding => "Content-Length beside Transfer-Encoding",
        Tolerance::RepeatedChunked => "chunked several times in Transfer-Encoding",
        Tolerance::Folded => "a header folded over several lines",
        Tolerance::Long => "a header section over 64 KiB",
        Tolerance::BareLineFeed => "lines of chunks that end in LF alone",
    };
    let seen = &f.m.tolerated;
    let said: Vec<String> = seen.iter().map(|(why, count)| format!("{count} with {}", words(*why))).collect();
    let reason = Code::ToleratedResponses.reason(format!(
        "responses that a strict client refuses, and curl and browsers take: {}",
        said.join(", ")
    ));
    (!said.is_empty())
        .then(|| seen.iter().fold(reason, |reason, (why, count)| reason.with(why.name(), real(*count))))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
