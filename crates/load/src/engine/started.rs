//! From workers that are started to what they measured: the start, what comes in meanwhile, the end.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::control::{Control, Snapshot};
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::recorder::live_summary::LiveSummary;
use crate::recorder::merge::{self, Merge};
use crate::recorder::series::Series;
use crate::recorder::share::{Shard, Share};
use crate::recorder::{Edges, End};
use crate::sys;
use prony_model::measurement::{ClientCost, Measurement};
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

use super::process_cpu::{ProcessCpu, until_next_look};
use super::{FromWorker, Inlets, PANICKED, TakePart, WorkerHandle};

/// The clock starts this long after the last worker is ready, so that all see the instant coming.
const START_AHEAD_NS: u64 = 2_000_000;

/// A load whose workers are started.
pub(super) struct Started<'a> {
    pub(super) plan: &'a Plan,
    pub(super) shard: Shard,
    pub(super) control: &'a Control,
    pub(super) endpoint: &'a Endpoint,
    pub(super) handles: &'a [WorkerHandle],
    pub(super) inlets: &'a Inlets,
}

/// When a load started, and its window. Instants are CLOCK_MONOTONIC, in nanoseconds.
struct Clock {
    start_ns: u64,
    /// The start in nanoseconds since 1970.
    started_at_ns: u64,
    edges: Edges,
}

/// What the workers of a load recorded.
struct Collected {
    ends: Vec<End>,
    /// All their parts, merged.
    whole: Share,
    cpu: ProcessCpu,
    series: Series,
}

impl Started<'_> {
    /// Waits until the workers are connected, starts the clock, and collects what they measure.
    pub(super) fn to_the_end(
        &self,
        take_part: TakePart<'_>,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, LoadError> {
        let Started { plan, control, handles, inlets, .. } = *self;
        let ready = wait_until_ready(plan, self.endpoint, handles.len(), &inlets.from_workers);
        if control.stop_asked() {
            return Err(LoadError::Interrupted);
        }
        ready?;
        let series = Series::with_room(plan.stop.duration.map(nanoseconds));
        let clock = self.start_clock()?;
        let collected = self.collect(&clock, series, take_part, observe)?;
        let measurement = self.measurement(&clock, collected);
        if measurement.window_end_ns <= measurement.window_start_ns {
            return Err(if measurement.interrupted {
                LoadError::Interrupted
            } else {
                LoadError::WarmUpTookAll
            });
        }
        Ok(measurement)
    }

    /// Tells the workers the first instant and the window.
    fn start_clock(&self) -> Result<Clock, LoadError> {
        let Started { plan, control, handles, .. } = *self;
        let start_ns = match control.start_barrier() {
            None => sys::now_ns() + START_AHEAD_NS,
            Some(barrier) => barrier.pass(&|| control.stop_asked()).ok_or(LoadError::Interrupted)?,
        };
        let now_since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_at_ns = nanoseconds(now_since_1970) + start_ns.saturating_sub(sys::now_ns());
        let window_start = start_ns + nanoseconds(plan.warmup);
        let window_end = plan.stop.duration.map_or(u64::MAX, |duration| window_start + nanoseconds(duration));
        let edges = Edges { start_ns: window_start, end_ns: window_end };
        for handle in handles {
            // A worker that is gone is found out when its result is missing.
            let _ = handle.go.send(Some((start_ns, edges)));
        }
        Ok(Clock { start_ns, started_at_ns, edges })
    }

    /// Takes what the workers record until all have ended.
    fn collect(
        &self,
        clock: &Clock,
        mut series: Series,
        take_part: TakePart<'_>,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Collected, LoadError> {
        let Started { plan, handles, inlets, .. } = *self;
        let edges = clock.edges;
        let mut ends = Vec::new();
        let (mut merge, mut whole) = (Merge::new(handles.len()), None);
        let mut cpu = ProcessCpu::default();
        let mut last_second = None;
        let mut so_far = LiveSummary::default();
        while ends.len() < handles.len() {
            let from_worker = inlets.from_workers.recv_timeout(until_next_look(&cpu, edges));
            cpu.look(edges);
            self.take_seconds(&mut series);
            self.take_parts(&mut merge);
            match from_worker {
                Ok(FromWorker::Done(place, closed)) => {
                    let closed = closed.map_err(|e| LoadError::System("running the event loop", e))?;
                    ends.push(closed.end());
                    // The worker's other parts came before it.
                    merge.add(place, closed.into_share(plan.work.list()), true);
                }
                Ok(FromWorker::Panicked) => return Err(PANICKED),
                Ok(FromWorker::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LoadError::Internal("a worker ended without its result"));
                }
            }
            while let Some(part) = merge.next_part() {
                take_part(&part, merge.is_over());
                merge::join(&mut whole, part, Share::then);
            }
            let newest = series.last_second(handles.len(), last_second);
            if newest != last_second {
                (last_second, so_far) = (newest, series.so_far());
            }
            observe(&Snapshot { last_second, so_far, ..snapshot(handles, clock.start_ns, edges) });
        }
        cpu.finish();
        self.take_seconds(&mut series);
        Ok(Collected { ends, whole: whole.unwrap_or_default(), cpu, series })
    }

    fn measurement(&self, clock: &Clock, collected: Collected) -> Measurement {
        let Collected { ends, whole, cpu, series } = collected;
        // Of this process, and of none that loads beside it.
        let client = ClientCost {
            process_cpu_ns: cpu.window_ns(),
            threads: self.shard.count,
            max_rss_bytes: sys::max_rss_bytes(),
            waits: ends.iter().map(|end| end.waits).max().unwrap_or_default(),
            ..ClientCost::default()
        };
        let window_end_ns = clock.edges.end_ns - clock.start_ns;
        let known = Measurement {
            started_at_ns: clock.started_at_ns,
            address: self.endpoint.to_string(),
            schedule_start_ns: clock.start_ns,
            interrupted: merge::was_interrupted(self.control.end_asked(), &ends, window_end_ns),
            client,
            ..Measurement::default()
        };
        merge::measurement(known, self.plan, whole, series)
    }

    /// Adds the seconds that workers have finished, and gives their histograms back.
    fn take_seconds(&self, series: &mut Series) {
        for part in self.inlets.seconds.try_iter() {
            series.add(part, |place, histogram| {
                // A worker that is done needs no more.
                let _ = self.handles[place].empty.send(histogram);
            });
        }
    }

    /// The same of parts that are asked for.
    fn take_parts(&self, merge: &mut Merge) {
        for part in self.inlets.parts.try_iter() {
            let place = part.place;
            let (share, recorder) = part.finish();
            let _ = self.handles[place].empty_recorders.send(recorder);
            merge.add(place, share, false);
        }
    }
}

fn wait_until_ready(
    plan: &Plan,
    endpoint: &Endpoint,
    workers: usize,
    from_workers: &Receiver<FromWorker>,
) -> Result<(), LoadError> {
    let mut established = 0;
    let mut first_failure = None;
    for _ in 0..workers {
        match from_workers.recv() {
            Ok(FromWorker::Ready(Ok(ready))) => {
                established += ready.established;
                first_failure = first_failure.or(ready.first_failure);
            }
            Ok(FromWorker::Ready(Err(e))) => return Err(LoadError::System("preparing a worker", e)),
            Ok(FromWorker::Panicked) => return Err(PANICKED),
            Ok(FromWorker::Done(..)) | Err(_) => {
                return Err(LoadError::Internal("a worker ended before it began"));
            }
        }
    }
    match first_failure {
        Some((kind, reason)) if established == 0 => Err(LoadError::Unreachable {
            url: plan.target.display_url(),
            address: endpoint.to_string(),
            kind,
            reason,
        }),
        _ => Ok(()),
    }
}

fn snapshot(handles: &[WorkerHandle], start_ns: u64, edges: Edges) -> Snapshot {
    let now = sys::now_ns();
    let mut snapshot = Snapshot {
        elapsed_ns: now.saturating_sub(start_ns),
        in_window: now >= edges.start_ns && now < edges.end_ns,
        ..Snapshot::default()
    };
    for handle in handles {
        handle.gauge.add_to(&mut snapshot);
    }
    snapshot
}
