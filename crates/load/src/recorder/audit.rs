//! The arithmetic of every run, asserted in integers: a run whose own counts do not balance says so and is invalid.

use crate::recorder::by_request::are_fine;
use crate::recorder::window_delta::WindowDelta;
use prony_model::measurement::{Bin, Censored, ErrorKind, Measurement, Parts, RequestFigures};
use prony_model::plan::Plan;
use prony_model::units::nanoseconds;

/// The identities that a share breaks, as sentences: those that hold at every edge, whatever came after it.
pub(crate) fn of_share(share: &WindowDelta, plan: &Plan) -> Vec<String> {
    let mut broken = Vec::new();
    let mut equal = |what: &str, left: u64, right: u64| {
        if left != right {
            broken.push(format!("{what}: {left} ≠ {right}"));
        }
    };
    let r = &share.requests;
    equal(
        "carried in + scheduled = completed + failed + in flight + never sent",
        r.carried_in + r.scheduled,
        r.completed + r.failed + r.in_flight + r.never_sent,
    );
    let count = |kind| share.errors.get(&kind).map_or(0, |failures| failures.count);
    equal(
        "responses by status = completed + failed by status or body",
        share.status.values().sum(),
        r.completed + count(ErrorKind::UnexpectedStatus) + count(ErrorKind::BodyMismatch),
    );
    equal("failures by kind = failed", share.errors.values().map(|failures| failures.count).sum(), r.failed);
    let l = share.latency.parts();
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
    if plan.samples_max > 0 {
        let samples = share.samples.len() as u64 + share.samples_dropped;
        equal("samples kept and dropped = completed + failed", samples, r.completed + r.failed);
    }
    equal("the bins' sum = completed", share.bins.iter().map(|b| b.completed).sum(), r.completed);
    for (number, worker) in &share.workers {
        equal(
            &format!("worker {number}: ∫ in flight dt = Σ overlap of requests (Little)"),
            worker.in_flight_integral_ns,
            worker.overlap_sum_ns,
        );
        // One that is moved is in flight between its connections, too: the simulation holds it there.
        if !plan.protocol.multiplexes() {
            let most = worker.connections_integral_ns.saturating_mul(u64::from(plan.pipeline));
            equal(
                &format!("worker {number}: ∫ in flight dt ≤ ∫ connections dt × pipeline"),
                worker.in_flight_integral_ns.max(most),
                most,
            );
        }
    }
    if let Some(figures) = &share.by_request {
        by_request(share, figures, &l, plan, &mut equal);
    }
    broken
}

/// The identities of a whole window that a measurement breaks beside those of its share.
pub(crate) fn of_window(m: &Measurement, plan: &Plan) -> Vec<String> {
    let mut broken = Vec::new();
    let mut equal = |what: &str, left: u64, right: u64| {
        if left != right {
            broken.push(format!("{what}: {left} ≠ {right}"));
        }
    };
    let of_bins = |count: fn(&Bin) -> u64| m.bins.each.iter().map(count).sum();
    equal("the kept bins' sum = completed", of_bins(|bin| bin.completed), m.requests.completed);
    equal("the kept bins' sum of failures = failed", of_bins(|bin| bin.failed), m.requests.failed);
    equal("the series' sum = completed", m.series.iter().map(|s| s.completed).sum(), m.requests.completed);
    if !m.interrupted {
        let warmup = m.window_start_ns.saturating_sub(m.schedule_start_ns);
        equal("the warm-up is as long as asked", warmup, nanoseconds(plan.warmup));
    }
    let is_cut = m.interrupted || m.lost_agent();
    if let (Some(duration), false, false) = (plan.stop.duration, is_cut, m.ended_by_count) {
        let window = m.window_end_ns.saturating_sub(m.window_start_ns);
        equal("the window is as long as asked", window, nanoseconds(duration));
    }
    broken
}

/// What is counted for each request of a list adds up to the whole.
fn by_request(
    share: &WindowDelta,
    figures: &[RequestFigures],
    parts: &Parts,
    plan: &Plan,
    equal: &mut impl FnMut(&str, u64, u64),
) {
    let Some(list) = plan.work.list() else { return };
    let r = &share.requests;
    let of = |figure: fn(&RequestFigures) -> u64| figures.iter().map(figure).sum::<u64>();
    for (what, sum, whole) in [
        ("sent over the run", of(|f| f.run_sent), share.run_total.sent),
        ("completed", of(|f| f.completed), r.completed),
        ("failed", of(|f| f.failed), r.failed),
        ("unresolved at the end", of(|f| f.waiting), r.in_flight + r.never_sent),
        ("read bytes", of(|f| f.read_bytes) + share.protocol_bytes, share.read_bytes),
        ("answers", of(|f| f.status.values().sum()), share.status.values().sum()),
        ("lines", of(|f| f.lines), list.lines.len() as u64),
    ] {
        equal(&format!("Σ {what} over the list's requests = the whole's"), sum, whole);
    }
    for (status, count) in &share.status {
        let sum = figures.iter().filter_map(|f| f.status.get(status)).sum();
        equal(&format!("Σ answers of status {status} over the list's requests = the whole's"), sum, *count);
    }
    for (kind, failures) in &share.errors {
        let sum = figures.iter().filter_map(|f| f.errors.get(kind)).sum();
        equal(&format!("Σ failures {kind} over the list's requests = the whole's"), sum, failures.count);
    }
    let fine = are_fine(list.requests.len());
    for (name, part, whole) in [
        ("response", (|f| &f.response) as fn(&RequestFigures) -> &Censored, &parts.response),
        ("service", |f| &f.service, &parts.service),
    ] {
        let mut sum = Censored::default();
        for row in figures {
            let part = part(row);
            sum.add(part);
            let what = format!("the {name} histogram's count = completed, of {}", row.request);
            equal(&what, part.completed.len(), row.completed);
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
