//! From what all workers measured to the measurement.

use crate::recorder::End;
use crate::recorder::audit;
use crate::recorder::series::Series;
use crate::recorder::window_delta::WindowDelta;
use prony_model::measurement::{
    Bins, ByConnection, ClientCost, ErrorTally, Http2Use, Measurement, ReceiveClock, TlsUse,
};
use prony_model::plan::Plan;
use prony_model::units::nanoseconds;

/// Whether a stop cut the load short (not after a count was reached and answered). The window's end is since the start.
pub(crate) fn was_interrupted(stop_asked: bool, ends: &[End], window_end_ns: u64) -> bool {
    stop_asked && ends.iter().any(|end| !end.all_done && end.at_ns < window_end_ns)
}

pub(crate) fn join(
    sum: &mut Option<WindowDelta>,
    share: WindowDelta,
    joining: fn(&mut WindowDelta, WindowDelta),
) {
    match sum {
        Some(sum) => joining(sum, share),
        None => *sum = Some(share),
    }
}

/// The measurement of a whole window, audited: `whole` is what is known of the load without its workers.
pub(crate) fn measurement(
    whole: Measurement,
    plan: &Plan,
    mut share: WindowDelta,
    bins: Bins,
    series: Series,
) -> Measurement {
    let start_ns = whole.schedule_start_ns;
    // A worker whose share was answered within the warm-up has a window of its own, without length.
    let window_start_ns =
        start_ns + if whole.interrupted { share.start_ns } else { nanoseconds(plan.warmup) };
    let window_end_ns = start_ns + share.end_ns;
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
        decoded_bytes: share.decoded_bytes,
        sent_bytes: share.sent_bytes,
        status: share.status,
        errors: share
            .errors
            .into_iter()
            .map(|(kind, failures)| (kind, ErrorTally { count: failures.count, first: failures.first.what }))
            .collect(),
        latency: share.latency,
        series: series.finish(window_end_ns.saturating_sub(window_start_ns)),
        bins,
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
        http2: share.lowest_stream_limit.map(|streams| Http2Use {
            streams,
            moved: share.moved,
            no_stream: share.no_stream,
            no_connection: share.no_connection,
            held_ns: share.held_ns,
            own: crate::http2::OWN_SETTINGS,
        }),
        by_request: share.by_request.unwrap_or_default(),
        by_connection: ByConnection::of_workers(share.by_connection.into_values()),
        ..whole
    };
    merged.broken_identities.extend(audit::of_window(&merged, plan));
    merged
}
