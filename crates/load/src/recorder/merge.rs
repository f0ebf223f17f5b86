//! Puts the workers' shares together.

use std::collections::VecDeque;

use crate::recorder::audit;
use crate::recorder::series::Series;
use crate::recorder::share::Share;
use crate::recorder::{End, SecondPart};
use prony_model::histogram::Histogram;
use prony_model::measurement::{Bins, ClientCost, ErrorTally, Http2Use, Measurement, ReceiveClock, TlsUse};
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

/// Whether somebody's stop ended the load before its plan did. Where a worker's count is reached
/// and all of it answered, a stop that came meanwhile has cut nothing of it. The window's end is since the start.
pub(crate) fn was_interrupted(stop_asked: bool, ends: &[End], window_end_ns: u64) -> bool {
    stop_asked && ends.iter().any(|end| !end.all_done && end.at_ns < window_end_ns)
}

/// The parts of some workers, put together part by part: each worker's come in their order, those of several in any.
pub(crate) struct Merge {
    workers: Vec<WorkerParts>,
    /// What stands of workers that have ended.
    ended: Option<Share>,
}

/// A worker's parts that others do not have yet.
#[derive(Default)]
struct WorkerParts {
    waiting: VecDeque<Share>,
    /// No more will come.
    ended: bool,
}

impl Merge {
    pub(crate) fn new(workers: usize) -> Merge {
        Merge { workers: (0..workers).map(|_| WorkerParts::default()).collect(), ended: None }
    }

    /// Takes the next part of the worker at this place.
    pub(crate) fn add(&mut self, place: usize, part: Share, is_last: bool) {
        let parts = &mut self.workers[place];
        parts.waiting.push_back(part);
        parts.ended = is_last;
    }

    /// Whether all workers have ended, and all of their parts were given.
    pub(crate) fn is_over(&self) -> bool {
        self.workers.iter().all(|worker| worker.ended && worker.waiting.is_empty())
    }

    /// The next part that all workers have finished, as one.
    pub(crate) fn next_part(&mut self) -> Option<Share> {
        self.next_part_of_each(&mut |_, _| {})
    }

    /// The same; `each` hears of the part of every worker that has one.
    pub(crate) fn next_part_of_each(&mut self, each: &mut dyn FnMut(usize, &Share)) -> Option<Share> {
        if self.workers.iter().any(|worker| worker.waiting.is_empty() && !worker.ended) {
            return None;
        }
        let (mut whole, mut ended) = (None, None);
        for (place, worker) in self.workers.iter_mut().enumerate() {
            let Some(part) = worker.waiting.pop_front() else { continue };
            each(place, &part);
            if worker.ended && worker.waiting.is_empty() {
                join(&mut ended, part.standing(), Share::beside);
            }
            join(&mut whole, part, Share::beside);
        }
        let mut whole = whole?;
        if let Some(standing) = &self.ended {
            let (start_ns, end_ns) = (whole.start_ns, whole.start_ns);
            whole.beside(Share { start_ns, end_ns, ..standing.clone() });
        }
        if let Some(ended) = ended {
            join(&mut self.ended, ended, Share::beside);
        }
        Some(whole)
    }
}

/// Joins a share to what there is.
pub(crate) fn join(sum: &mut Option<Share>, share: Share, joining: fn(&mut Share, Share)) {
    match sum {
        Some(sum) => joining(sum, share),
        None => *sum = Some(share),
    }
}

/// The measurement of a whole window, audited: `whole` is what is known of the load without its workers.
pub(crate) fn measurement(
    whole: Measurement,
    plan: &Plan,
    mut share: Share,
    mut series: Series,
) -> Measurement {
    let start_ns = whole.schedule_start_ns;
    // A worker whose share was answered within the warm-up has a window of its own, without length.
    let window_start_ns =
        start_ns + if whole.interrupted { share.start_ns } else { nanoseconds(plan.warmup) };
    let window_end_ns = start_ns + share.end_ns;
    // Workers that are stopped before their windows begin have windows without length, at instants of their own.
    if series.is_empty() && window_end_ns > window_start_ns {
        let nothing = SecondPart::begin(0, 0, Histogram::default());
        series.add(SecondPart { connections: share.connections, ..nothing }, |_, _| {});
    }
    let planned_end = plan.stop.duration.map(|duration| window_start_ns + nanoseconds(duration));
    // In place, since there may be millions.
    share.samples.sort_unstable_by_key(|sample| (sample.end_ns(), sample.worker, *sample));
    let broken_identities = audit::of_share(&share, plan);
    let mut merged = Measurement {
        broken_identities,
        window_start_ns,
        window_end_ns,
        ended_by_count: plan.stop.requests.is_some()
            && !whole.interrupted
            && !whole.lost_agent()
            && planned_end.is_none_or(|planned| window_end_ns < planned),
        requests: share.requests,
        run_total: share.run_total,
        tolerated: share.tolerated,
        read_bytes: share.read_bytes,
        sent_bytes: share.sent_bytes,
        status: share.status,
        errors: share
            .errors
            .into_iter()
            .map(|(kind, failures)| (kind, ErrorTally { count: failures.count, first: failures.first.what }))
            .collect(),
        latency: share.latency,
        series: series.finish(window_end_ns.saturating_sub(window_start_ns)),
        bins: Bins::of(share.bins),
        clock: if share.user_clock { ReceiveClock::User } else { ReceiveClock::Kernel },
        client: ClientCost { cpu_ns: share.cpu_ns, stamps_rejected: share.stamps_rejected, ..whole.client },
        workers: share.workers.into_values().collect(),
        samples: share.samples,
        samples_dropped: share.samples_dropped,
        tls: share.tls.map(|tls| TlsUse {
            agreed: tls.agreed.map(|first| first.what),
            full: tls.full,
            resumed: tls.resumed,
        }),
        http2: share.fewest_permits.map(|streams| Http2Use {
            streams,
            moved: share.moved,
            no_stream: share.no_permit,
            no_connection: share.no_connection,
            held_ns: share.held_ns,
            own: crate::http2::OWN_SETTINGS,
        }),
        by_request: share.by_request.unwrap_or_default(),
        ..whole
    };
    merged.broken_identities.extend(audit::of_window(&merged, plan));
    merged
}
