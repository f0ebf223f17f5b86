//! The arithmetic of every run, asserted in integers.
//!
//! Published tables fail arithmetic that anyone can check: more answers than
//! connections and time allow, histograms that miss what was counted. A run
//! whose own books don't balance says so and is invalid.

use crate::by_request::are_fine;
use prony_model::measurement::{Censored, ErrorKind, Measurement, Parts, RequestFigures};
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

/// The identities that a measurement breaks, as sentences.
pub(crate) fn broken(m: &Measurement, plan: &Plan) -> Vec<String> {
    let mut broken = Vec::new();
    let mut equal = |what: &str, left: u64, right: u64| {
        if left != right {
            broken.push(format!("{what}: {left} ≠ {right}"));
        }
    };
    let r = &m.requests;
    equal(
        "carried in + scheduled = completed + failed + in flight + never sent",
        r.carried_in + r.scheduled,
        r.completed + r.failed + r.in_flight + r.never_sent,
    );
    let count = |kind| m.errors.get(&kind).map_or(0, |tally| tally.count);
    equal(
        "answers by status = completed + failed by status or body",
        m.status.values().sum(),
        r.completed + count(ErrorKind::UnexpectedStatus) + count(ErrorKind::BodyMismatch),
    );
    equal("failures by kind = failed", m.errors.values().map(|tally| tally.count).sum(), r.failed);
    let l = m.latency.parts();
    for (name, histogram) in [
        ("response", &l.response.completed),
        ("service", &l.service.completed),
        ("first byte", &l.first_byte),
        ("connect wait", &l.connect_wait),
        ("send lag", &l.send_lag),
        ("connection wait", &l.connection_wait),
    ] {
        equal(&format!("the {name} histogram's count = completed"), histogram.len(), r.completed);
    }
    equal("failed waits = failed", l.response.failed.len(), r.failed);
    equal("waits at the end = in flight + never sent", l.response.waiting.len(), r.in_flight + r.never_sent);
    equal("the series' sum = completed", m.series.iter().map(|s| s.completed).sum(), r.completed);
    if plan.samples_max > 0 {
        let samples = m.samples.len() as u64 + m.samples_dropped;
        equal("samples kept and dropped = completed + failed", samples, r.completed + r.failed);
    }
    equal("the bins' sum = completed", m.bins.each.iter().map(|b| b.completed).sum(), r.completed);
    for (i, worker) in m.workers.iter().enumerate() {
        equal(
            &format!("worker {i}: ∫ in flight dt = Σ overlap of requests (Little)"),
            worker.in_flight_integral_ns,
            worker.overlap_sum_ns,
        );
        let most = worker.connections_integral_ns.saturating_mul(u64::from(plan.pipeline));
        equal(
            &format!("worker {i}: ∫ in flight dt ≤ ∫ connections dt × pipeline"),
            worker.in_flight_integral_ns.max(most),
            most,
        );
    }
    if !m.interrupted {
        let warmup = m.window_start_ns.saturating_sub(m.schedule_start_ns);
        equal("the warm-up is as long as asked", warmup, nanoseconds(plan.warmup));
    }
    if let (Some(duration), false, false) = (plan.stop.duration, m.interrupted, m.ended_by_count) {
        let window = m.window_end_ns.saturating_sub(m.window_start_ns);
        equal("the window is as long as asked", window, nanoseconds(duration));
    }
    by_request(m, &l, plan, &mut equal);
    broken
}

/// What is counted for each request of a list adds up to the whole.
fn by_request(m: &Measurement, parts: &Parts, plan: &Plan, equal: &mut impl FnMut(&str, u64, u64)) {
    let Some(list) = plan.work.list() else { return };
    let r = &m.requests;
    let of = |figure: fn(&RequestFigures) -> u64| m.by_request.iter().map(figure).sum::<u64>();
    for (what, sum, whole) in [
        ("sent over the run", of(|f| f.run_sent), m.run_total.sent),
        ("completed", of(|f| f.completed), r.completed),
        ("failed", of(|f| f.failed), r.failed),
        ("unresolved at the end", of(|f| f.waiting), r.in_flight + r.never_sent),
        ("read bytes", of(|f| f.read_bytes), m.read_bytes),
        ("answers", of(|f| f.status.values().sum()), m.status.values().sum()),
        ("lines", of(|f| f.lines), list.lines.len() as u64),
    ] {
        equal(&format!("Σ {what} over the list's requests = the whole's"), sum, whole);
    }
    for (status, count) in &m.status {
        let sum = m.by_request.iter().filter_map(|f| f.status.get(status)).sum();
        equal(&format!("Σ answers of status {status} over the list's requests = the whole's"), sum, *count);
    }
    for (kind, tally) in &m.errors {
        let sum = m.by_request.iter().filter_map(|f| f.errors.get(kind)).sum();
        equal(&format!("Σ failures {kind} over the list's requests = the whole's"), sum, tally.count);
    }
    let fine = are_fine(list.requests.len());
    for (name, part, whole) in [
        ("response", (|f| &f.response) as fn(&RequestFigures) -> &Censored, &parts.response),
        ("service", |f| &f.service, &parts.service),
    ] {
        let mut sum = Censored::default();
        for figures in &m.by_request {
            let part = part(figures);
            sum.add(part);
            let what = format!("the {name} histogram's count = completed, of {}", figures.request);
            equal(&what, part.completed.len(), figures.completed);
        }
        for (of, sum, whole) in [
            ("completed", &sum.completed, &whole.completed),
            ("waiting", &sum.waiting, &whole.waiting),
            ("failed", &sum.failed, &whole.failed),
        ] {
            equal(&format!("Σ {name} of the {of} over the list's requests"), sum.len(), whole.len());
            let differs = fine && sum != whole;
            equal(
                &format!("{name} of the {of}: the list's requests have the whole's buckets"),
                differs.into(),
                0,
            );
        }
    }
}
