//! Puts the workers' books together.

use std::collections::BTreeMap;

use crate::books::ClosedBooks;
use crate::by_request::ByRequest;
use crate::series::Series;
use prony_model::measurement::{
    Bin, Bins, ErrorKind, ErrorTally, Measurement, ReceiveClock, RequestCounts, Sample, Waits,
};
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

/// Whether somebody's stop ended the load before its plan did. Where a worker's count is reached
/// and all of it answered, a stop that came meanwhile has cut nothing of it.
pub(crate) fn was_interrupted(stop_asked: bool, books: &[ClosedBooks], window_end_ns: u64) -> bool {
    stop_asked && books.iter().any(|b| !b.all_done && b.edges.end_ns < window_end_ns)
}

/// One measurement of all workers: `whole` is what is known of the load without their books.
pub(crate) fn measurement(
    whole: Measurement,
    plan: &Plan,
    books: Vec<ClosedBooks>,
    series: Series,
) -> Measurement {
    // A worker whose share was answered within the warm-up has a window of its own, without length.
    let planned_start = whole.schedule_start_ns.saturating_add(nanoseconds(plan.warmup));
    let window_start_ns = match whole.interrupted {
        true => books.iter().map(|b| b.edges.start_ns).min().unwrap_or(planned_start),
        false => planned_start,
    };
    let window_end_ns = books.iter().map(|b| b.edges.end_ns).max().unwrap_or(0);
    let planned_end = plan.stop.duration.map(|duration| window_start_ns + nanoseconds(duration));
    let by_kernel = books.iter().all(|b| b.kernel_clock);
    let mut merged = Measurement {
        window_start_ns,
        window_end_ns,
        ended_by_count: plan.stop.requests.is_some()
            && !whole.interrupted
            && planned_end.is_none_or(|planned| window_end_ns < planned),
        series: series.finish(window_end_ns.saturating_sub(window_start_ns)),
        clock: if by_kernel { ReceiveClock::Kernel } else { ReceiveClock::User },
        ..whole
    };
    merged.client.threads = plan.threads;
    let mut by_request: Option<Box<ByRequest>> = None;
    for mut books in books {
        match (&mut by_request, books.by_request.take()) {
            (Some(sum), Some(from)) => sum.add(&from),
            (sum, from) => *sum = sum.take().or(from),
        }
        add_books(&mut merged, books);
    }
    merged.bins = Bins::of(merged.bins.each);
    if let (Some(by_request), Some(list)) = (by_request, plan.work.list()) {
        merged.by_request = by_request.figures(list);
    }
    if plan.threads > 1 {
        merged.samples.sort_unstable_by_key(Sample::end_ns);
    }
    merged
}

fn add_books(to: &mut Measurement, books: ClosedBooks) {
    add_counts(&mut to.requests, books.window);
    to.run_total.sent += books.run.sent;
    to.run_total.completed += books.run.completed;
    to.run_total.connections += books.run.connections;
    for (tolerance, count) in books.tolerated {
        *to.tolerated.entry(tolerance).or_default() += count;
    }
    to.read_bytes += books.read_bytes;
    to.sent_bytes += books.sent_bytes;
    for (status, count) in books.status {
        *to.status.entry(status).or_default() += count;
    }
    for (kind, tally) in books.errors {
        add_errors(&mut to.errors, kind, tally);
    }
    to.latency.add(&books.latency);
    let bins = &mut to.bins.each;
    if bins.len() < books.bins.len() {
        bins.resize(books.bins.len(), Bin::default());
    }
    for (sum, bin) in bins.iter_mut().zip(&books.bins) {
        sum.add(bin);
    }
    to.client.cpu_ns += books.cpu_ns;
    to.client.stamps_rejected += books.stamps_rejected;
    if books.waits != Waits::default() {
        to.client.waits = books.waits;
    }
    to.workers.push(books.audit);
    let (mut samples, dropped) = books.samples.into_parts();
    if to.samples.is_empty() {
        to.samples = samples;
    } else {
        to.samples.append(&mut samples);
    }
    to.samples_dropped += dropped;
    if let Some(from) = books.tls {
        let sum = to.tls.get_or_insert_default();
        sum.agreed = sum.agreed.take().or(from.agreed);
        sum.full += from.full;
        sum.resumed += from.resumed;
    }
}

fn add_counts(to: &mut RequestCounts, from: RequestCounts) {
    to.carried_in += from.carried_in;
    to.scheduled += from.scheduled;
    to.sent += from.sent;
    to.completed += from.completed;
    to.failed += from.failed;
    to.in_flight += from.in_flight;
    to.never_sent += from.never_sent;
}

fn add_errors(to: &mut BTreeMap<ErrorKind, ErrorTally>, kind: ErrorKind, tally: ErrorTally) {
    let sum = to.entry(kind).or_default();
    if sum.count == 0 {
        sum.first = tally.first;
    }
    sum.count += tally.count;
}
