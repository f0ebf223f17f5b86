//! From one raw measurement to the stored trial: estimates, summaries, verdict.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use prony_model::histogram::SparseHistogram;
use prony_model::host::Host;
use prony_model::measurement::{Censored, Measurement, Parts, ReceiveClock, Second};
use prony_model::observed::Observed;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::trial::{
    Bound, Client, Clock, Latencies, Outcome, SCHEMA, SeriesPoint, TargetRecord, Trial, Window,
};
use prony_model::{Tool, rfc3339};

use crate::by_request::targets;
use crate::growth::overload;
use crate::interval::WindowParts;
use crate::numbers::{real, real_len};
use crate::steady::{drifts, rise};
use crate::summary::{BEYOND_MIN, OrderStatistics, of_values, with_percentiles};
use crate::throughput::throughput;
use crate::verdict::{BUSY_MAX, Facts, busiest_worker, verdict};

/// The share of ended requests that may fail before a trial is `broken`.
const BROKEN_SHARE: f64 = 0.5;

/// A server that used this share of its cores was the limit itself: `client_saturated` then does not apply.
const SERVER_SATURATED: f64 = 0.95;

/// `host` is the machine where the observation names no other. Pure: a run log judged again gives the same to the byte.
pub fn judge(observed: &Observed, host: &Host) -> Trial {
    let (m, plan) = (&observed.measurement, &observed.plan);
    let host = observed.host.as_ref().unwrap_or(host);
    let parts = m.latency.parts();
    let window_ns = m.window_end_ns.saturating_sub(m.window_start_ns);
    let growth = overload(m, plan, window_ns);
    let outcome = outcome(m, growth.is_some());
    let ranked = OrderStatistics::at_percentiles(&parts.response);
    let window = WindowParts::of(m);
    let latency = latencies(observed, &parts, &ranked, window_ns, &window);
    let server_saturated = server_saturated(observed, window_ns);
    let client_limits = !observed.embedded_target
        && server_saturated != Some(true)
        && busiest_worker(m, window_ns) >= BUSY_MAX;
    // Stages and logs change by plan.
    let drifts = if plan.varies() { Vec::new() } else { drifts(m, window_ns, growth.is_some()) };
    let bound = if client_limits { Bound::Lower } else { Bound::Exact };
    let throughput = throughput(m, plan, &window, bound);
    let verdict = verdict(&Facts {
        m,
        o: observed,
        plan,
        parts: &parts,
        window_ns,
        server_saturated,
        client_limits,
        outcome,
        response: &latency.response,
        throughput: &throughput.requests_per_s,
        growth,
        drifts: &drifts,
        host,
    });
    Trial {
        schema: SCHEMA.to_owned(),
        tool: observed.tool.clone(),
        judged_by: Some(Tool::this().version).filter(|version| *version != observed.tool.version),
        started_at: rfc3339(UNIX_EPOCH + Duration::from_nanos(m.started_at_ns)),
        interrupted: observed.interrupted(),
        target: TargetRecord { url: plan.url.clone(), address: m.address.clone() },
        plan: plan.clone(),
        host: host.clone(),
        window: Window {
            warmup_ns: m.window_start_ns.saturating_sub(m.schedule_start_ns),
            duration_ns: window_ns,
        },
        outcome,
        requests: m.requests,
        run_total: m.run_total,
        throughput,
        latency,
        status: m.status.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
        errors: m.errors.iter().map(|(kind, tally)| (kind.name().to_owned(), tally.count)).collect(),
        first_errors: first_errors(m),
        series: m.series.iter().map(series_point).collect(),
        client: Client { columns: observed.client_columns.clone(), ..client(m, window_ns) },
        verdict,
        tls: m.tls.as_ref().map(Into::into),
        http2: m.http2,
        fleet: m.fleet.clone(),
        server: observed.server.as_ref().filter(|server| server.startup_ns == 0).cloned(),
        host_window: observed.host_window.clone(),
        monitor: observed.monitor.clone(),
        targets: targets(m, arrival_clocks(m, plan).0, window_ns),
        goodput_per_s: None,
        rise: if plan.varies() { None } else { rise(m, window_ns, plan.rate_per_s.is_none()) },
        slo: Vec::new(),
    }
}

/// `None` where nobody looked, or where it was not pinned: its cores are then nobody's in particular.
fn server_saturated(observed: &Observed, window_ns: u64) -> Option<bool> {
    let server = observed.server.as_ref().filter(|server| !server.cpus.is_empty())?;
    Some(real(server.window_cpu_ns) >= SERVER_SATURATED * real_len(server.cpus.len()) * real(window_ns))
}

/// A load of which nothing was answered is broken, too: none has failed yet because the timeout is longer than the
/// window.
fn outcome(m: &Measurement, growing: bool) -> Outcome {
    let (failed, completed) = (m.requests.failed, m.requests.completed);
    let mostly_failed = real(failed) > BROKEN_SHARE * real(failed + completed);
    if mostly_failed || (completed == 0 && m.requests.sent + m.requests.in_flight + m.requests.never_sent > 0)
    {
        Outcome::Broken
    } else if growing {
        Outcome::Overloaded
    } else {
        Outcome::Carried
    }
}

fn latencies(
    observed: &Observed,
    parts: &Parts,
    response: &OrderStatistics,
    window_ns: u64,
    window: &WindowParts,
) -> Latencies {
    let (m, plan) = (&observed.measurement, &observed.plan);
    let (arrival, first_arrival) = arrival_clocks(m, plan);
    // Of most loads the first byte is the last one's.
    let own = of_values(&parts.response.completed);
    let values = |h: &SparseHistogram| if *h == own.hdr { own.clone() } else { of_values(h) };
    let whole = |h: &SparseHistogram, clock| {
        let all = Censored { completed: h.clone(), ..Censored::default() };
        with_percentiles(values(h), &OrderStatistics::at_percentiles(&all), clock, window_ns, None)
    };
    let known = window.percentiles(response);
    let of = |part: &Censored, ranked: &OrderStatistics| {
        with_percentiles(values(&part.completed), ranked, arrival, window_ns, known.as_ref())
    };
    let mut responses = of(&parts.response, response);
    // In a closed loop they are the same.
    let service = if parts.service == parts.response {
        responses.clone()
    } else {
        of(&parts.service, &OrderStatistics::at_percentiles(&parts.service))
    };
    // Under stages and in a replay the level moves by plan, and parts tell nothing of chance.
    if !plan.varies() {
        window.add_mean(&mut responses);
    }
    Latencies {
        response: responses,
        service,
        first_byte: whole(&parts.first_byte, first_arrival),
        connect_wait: whole(&parts.connect_wait, Clock::User),
        send_lag: whole(&parts.send_lag, Clock::User),
        connection_wait: whole(&parts.connection_wait, Clock::User),
        client_delay: (m.clock == ReceiveClock::Kernel)
            .then(|| whole(&m.latency.client_delay, Clock::Kernel)),
        waiting: parts.response.waiting.clone(),
    }
}

/// Whose clock the last byte's arrival is by, and the first one's.
fn arrival_clocks(m: &Measurement, plan: &RecordedPlan) -> (Clock, Clock) {
    match m.clock {
        // Answers of a pipeline are read together, under the last one's stamp.
        ReceiveClock::Kernel if plan.pipeline > 1 => (Clock::KernelUpper, Clock::KernelUpper),
        // A first byte that was read with more than its head has the stamp of what came last of it.
        ReceiveClock::Kernel if m.latency.first_bytes_upper > 0 => (Clock::Kernel, Clock::KernelUpper),
        ReceiveClock::Kernel => (Clock::Kernel, Clock::Kernel),
        ReceiveClock::User => (Clock::User, Clock::User),
    }
}

fn first_errors(m: &Measurement) -> BTreeMap<String, String> {
    m.errors
        .iter()
        .filter(|(_, tally)| !tally.first.is_empty())
        .map(|(kind, tally)| (kind.name().to_owned(), tally.first.clone()))
        .collect()
}

/// A second's percentiles are of its answers only: they are for looking at, not for inference.
fn series_point(second: &Second) -> SeriesPoint {
    let response = &second.response;
    let [p50, p99, longest] = response.values_at_quantiles([0.50, 0.99, 1.0]);
    let from = |least: u64, value: u64| (response.len() >= least).then_some(value);
    SeriesPoint {
        at_ns: second.at_ns,
        length_ns: second.length_ns,
        completed: second.completed,
        failed: second.failed,
        connections: second.connections,
        p50_ns: from(1, p50),
        p99_ns: from(BEYOND_MIN, p99),
        max_ns: from(1, longest),
        hdr: response.clone(),
    }
}

fn client(m: &Measurement, window_ns: u64) -> Client {
    Client {
        cpu_ns: m.client.cpu_ns,
        process_cpu_ns: m.client.process_cpu_ns,
        cpu_per_request_ns: m.client.cpu_ns.checked_div(m.requests.completed + m.requests.failed),
        threads: m.client.threads,
        busiest_worker: busiest_worker(m, window_ns),
        max_rss_bytes: m.client.max_rss_bytes,
        stamps_rejected: m.client.stamps_rejected,
        waited_beside_free: m.workers.iter().map(|w| w.waited_beside_free).sum(),
        waited_beside_free_ns: m.workers.iter().map(|w| w.waited_beside_free_ns).sum(),
        waits: m.client.waits.name().to_owned(),
        columns: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Line, closed_plan, constant_plan, healthy};
    use prony_model::code::Code;
    use prony_model::measurement::RequestCounts;
    use prony_model::trial::Validity;

    fn judged_as(m: &Measurement, plan: &RecordedPlan) -> Trial {
        judge(&Observed::new(m.clone(), plan.clone()), &Host::default())
    }

    fn judged(m: &Measurement) -> Trial {
        judged_as(m, &closed_plan())
    }

    #[test]
    fn a_load_that_was_carried_steadily_is_a_valid_trial() {
        let trial = judged(&healthy(10, 2000));
        assert_eq!((trial.outcome, trial.verdict.validity), (Outcome::Carried, Validity::Valid));
        assert_eq!(trial.verdict.reasons, [], "{:?}", trial.verdict);
        assert_eq!(trial.throughput.requests_per_s.point, 2000.0);
        assert_eq!((trial.window.warmup_ns, trial.window.duration_ns), (1_000_000_000, 10_000_000_000));
        assert_eq!(trial.client.cpu_per_request_ns, Some(5_000));
        assert_eq!(trial.started_at, "2025-06-15T15:06:40.000Z");
        assert_eq!(trial.status["200"], 20_000);
        assert_eq!(trial.series.len(), 10);
        assert!(trial.series[0].p99_ns.is_some());
        let response = &trial.latency.response;
        let p50 = response.p50_ns.unwrap();
        assert!((900_000..1_100_000).contains(&p50), "{p50}");
        let (low, high) = response.ci95["p50_ns"];
        let high = high.unwrap();
        assert!(low <= p50 && p50 <= high && high - low < 100_000, "{low} {high}");
    }

    #[test]
    fn more_than_half_failed_is_broken_and_half_is_not() {
        let mut m = healthy(10, 100);
        m.requests.failed = 1_001;
        assert_eq!(judged(&m).outcome, Outcome::Broken);
        m.requests.failed = 1_000;
        assert_eq!(judged(&m).outcome, Outcome::Carried);
    }

    #[test]
    fn a_load_without_answers_is_broken_unless_it_sent_no_request() {
        let mut m = healthy(10, 0);
        m.requests = RequestCounts { scheduled: 50, sent: 50, in_flight: 50, ..Default::default() };
        assert_eq!(judged(&m).outcome, Outcome::Broken);
        m.requests = RequestCounts::default();
        assert_eq!(judged(&m).outcome, Outcome::Carried);
    }

    #[test]
    fn an_overload_is_an_outcome_and_a_reason() {
        let m = Line { rate_per_s: 2000, served_per_s: 1900, ..Line::default() }.measure();
        let trial = judged_as(&m, &constant_plan(2000.0));
        assert_eq!((trial.outcome, trial.verdict.validity), (Outcome::Overloaded, Validity::Valid));
        assert_eq!(trial.verdict.reasons[0].code, Code::Overload);
        assert_eq!(trial.throughput.offered_per_s, Some(2000.0));
    }

    #[test]
    fn empty_measurements_serialise_without_nan() {
        let mut empty = healthy(1, 0);
        empty.window_end_ns = empty.window_start_ns;
        empty.bins.each.clear();
        empty.series.clear();
        empty.workers.clear();
        for m in [empty, healthy(1, 0), healthy(12, 1)] {
            for plan in [closed_plan(), constant_plan(1.0)] {
                let trial = judged_as(&m, &plan);
                // serde_json writes NaN and infinities as null: where a number must stand that does
                // not read, and where it may be absent something is lost.
                let text = serde_json::to_string(&trial).unwrap();
                let back: Trial = serde_json::from_str(&text).unwrap();
                let (back, rate) = (back.throughput.requests_per_s, trial.throughput.requests_per_s);
                assert_eq!(
                    (back.ci_low.is_some(), back.ci_high.is_some()),
                    (rate.ci_low.is_some(), rate.ci_high.is_some())
                );
                assert!((back.point - rate.point).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn first_bytes_are_exact_where_the_kernel_stamped_heads_alone() {
        let mut m = healthy(10, 2000);
        m.clock = ReceiveClock::Kernel;
        let clocks = |m: &Measurement, pipeline| {
            let latency = judged_as(m, &RecordedPlan { pipeline, ..closed_plan() }).latency;
            (latency.first_byte.clock, latency.service.clock)
        };
        assert_eq!(clocks(&m, 1), (Clock::Kernel, Clock::Kernel));
        assert_eq!(clocks(&m, 2), (Clock::KernelUpper, Clock::KernelUpper));
        m.latency.first_bytes_upper = 1;
        assert_eq!(clocks(&m, 1), (Clock::KernelUpper, Clock::Kernel));
        m.clock = ReceiveClock::User;
        assert_eq!(clocks(&m, 1), (Clock::User, Clock::User));
    }

    #[test]
    fn the_throughput_of_a_saturated_client_is_a_lower_bound() {
        let mut m = healthy(10, 2000);
        m.workers[0].busy_ns = 9_500_000_000;
        m.clock = ReceiveClock::Kernel;
        let trial = judged(&m);
        assert_eq!((trial.throughput.bound, trial.verdict.validity), (Bound::Lower, Validity::Valid));
        assert_eq!(trial.client.busiest_worker, 0.95);
    }
}
