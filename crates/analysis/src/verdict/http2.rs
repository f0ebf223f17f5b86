//! What HTTP/2 lets a server hold a client to.

use prony_model::code::Code;
use prony_model::trial::Reason;

use super::facts::{Facts, share};
use crate::numbers::real;
use crate::text::percent;

/// The share of requests' time in flight that may be waits for the server's windows.
const STALLED_MAX: f64 = 0.05;

/// The server says how many requests a connection may carry at once.
pub(super) fn fewer_streams(f: &Facts<'_>) -> Option<Reason> {
    let allowed = f.m.http2.filter(|used| used.streams < u64::from(f.plan.pipeline))?.streams;
    let asked = f.plan.pipeline;
    Some(
        Code::FewerStreams
            .reason(format!("the server let a connection carry {allowed} streams at once, of -p {asked}"))
            .with("streams", real(allowed))
            .with("streams_asked", f64::from(asked)),
    )
}

/// A body is not sent faster than the server's windows allow.
pub(super) fn stalled_by_window(f: &Facts<'_>) -> Option<Reason> {
    let held_ns = f.m.http2?.held_ns;
    let stalled = share(held_ns, f.m.workers.iter().map(|worker| worker.in_flight_integral_ns).sum());
    (stalled > STALLED_MAX).then(|| {
        Code::StalledByWindow
            .reason(format!(
                "{} of the requests' time in flight was spent waiting for the server's windows with their bodies",
                percent(stalled)
            ))
            .with("held_ns", real(held_ns))
            .with("held_share", stalled)
    })
}
