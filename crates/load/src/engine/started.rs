//! From workers that are started to what they measured: the start, what comes in meanwhile, the end.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::control::{Control, Snapshot};
use crate::error::LoadError;
use crate::recorder::merge;
use crate::recorder::window_delta::Shard;
use crate::recorder::{Edges, End, Gathered, TakePart};
use crate::sys;
use prony_model::measurement::{ClientCost, Measurement};
use prony_model::plan::Plan;
use prony_model::units::nanoseconds;

use super::process_cpu::{ProcessCpu, until_next_look};
use super::{FromWorker, Inlets, Origin, PANICKED, WorkerHandle};

/// The clock starts this long after the last worker is ready, so that all see the instant coming.
const START_AHEAD_NS: u64 = 2_000_000;

pub(super) struct Started<'a> {
    pub(super) plan: &'a Plan,
    pub(super) shard: Shard,
    pub(super) control: &'a Control,
    pub(super) origins: &'a [Origin],
    /// Of a load of all of a name's addresses: these.
    pub(super) addresses: Vec<String>,
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

impl Started<'_> {
    /// Waits until the workers are connected, starts the clock, and collects what they measure.
    pub(super) fn to_the_end(
        &self,
        take_part: TakePart<'_>,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, LoadError> {
        let Started { plan, control, handles, inlets, .. } = *self;
        let ready = wait_until_ready(plan, self.origins, handles.len(), &inlets.from_workers);
        if control.stop_asked() {
            return Err(LoadError::Interrupted);
        }
        ready?;
        // Before the clock starts: it allocates some megabytes.
        let mut gathered = Gathered::of_workers(plan, handles.len());
        let clock = self.start_clock()?;
        let mut cpu = ProcessCpu::default();
        let ends = self.collect(&clock, &mut gathered, &mut cpu, take_part, observe)?;
        let known = self.known(&clock, &ends, &cpu);
        let interrupted = known.interrupted;
        gathered.finish(known).ok_or(match interrupted {
            true => LoadError::Interrupted,
            false => LoadError::WarmUpTookAll,
        })
    }

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

    fn collect(
        &self,
        clock: &Clock,
        gathered: &mut Gathered<'_>,
        cpu: &mut ProcessCpu,
        take_part: TakePart<'_>,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Vec<End>, LoadError> {
        let Started { plan, handles, inlets, .. } = *self;
        let edges = clock.edges;
        let mut ends = Vec::new();
        while ends.len() < handles.len() {
            let from_worker = inlets.from_workers.recv_timeout(until_next_look(cpu, edges));
            cpu.look(edges);
            for part in inlets.parts.try_iter() {
                let (place, is_last) = (part.place, part.is_last);
                let (share, recorder) = part.finish(plan.work.list(), &self.addresses);
                // A worker that is done needs no more.
                let _ = handles[place].empty.send(recorder);
                gathered.add_and_tell(place, share, is_last, take_part);
            }
            match from_worker {
                // Its parts came before it.
                Ok(FromWorker::Done(ended)) => {
                    ends.push(ended.map_err(|e| LoadError::System("running the event loop", e))?);
                }
                Ok(FromWorker::Panicked) => return Err(PANICKED),
                Ok(FromWorker::Failed(why)) => return Err(why.into()),
                Ok(FromWorker::Ready(..)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LoadError::Internal("a worker ended without its result"));
                }
            }
            observe(&gathered.seen(snapshot(handles, clock.start_ns, edges)));
        }
        cpu.finish();
        Ok(ends)
    }

    fn address(&self) -> String {
        let each = self.origins.iter().map(|origin| origin.endpoint.to_string());
        each.collect::<Vec<_>>().join(", ")
    }

    fn known(&self, clock: &Clock, ends: &[End], cpu: &ProcessCpu) -> Measurement {
        // Of this process, and of none that loads beside it.
        let client = ClientCost {
            process_cpu_ns: cpu.window_ns(),
            threads: self.shard.count,
            max_rss_bytes: sys::max_rss_bytes(),
            waits: ends.iter().map(|end| end.waits).max().unwrap_or_default(),
            ..ClientCost::default()
        };
        let window_end_ns = clock.edges.end_ns - clock.start_ns;
        Measurement {
            started_at_ns: clock.started_at_ns,
            address: self.address(),
            schedule_start_ns: clock.start_ns,
            interrupted: merge::was_interrupted(self.control.end_asked(), ends, window_end_ns),
            client,
            ..Measurement::default()
        }
    }
}

fn wait_until_ready(
    plan: &Plan,
    origins: &[Origin],
    workers: usize,
    from_workers: &Receiver<FromWorker>,
) -> Result<(), LoadError> {
    let mut all = vec![(0, None); origins.len()];
    for _ in 0..workers {
        match from_workers.recv() {
            Ok(FromWorker::Ready(origin, Ok(ready))) => {
                let (established, first_failure) = &mut all[origin];
                *established += ready.established;
                *first_failure = first_failure.take().or(ready.first_failure);
            }
            Ok(FromWorker::Ready(_, Err(e))) => return Err(LoadError::System("preparing a worker", e)),
            Ok(FromWorker::Panicked) => return Err(PANICKED),
            Ok(FromWorker::Failed(why)) => return Err(why.into()),
            Ok(FromWorker::Done(..)) | Err(_) => {
                return Err(LoadError::Internal("a worker ended before it began"));
            }
        }
    }
    for ((target, origin), ready) in plan.origins().iter().zip(origins).zip(all) {
        if let (0, Some((kind, reason))) = ready {
            let (url, address) = (target.display_url(), origin.endpoint.to_string());
            return Err(LoadError::Unreachable { url, address, kind, reason });
        }
    }
    Ok(())
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
