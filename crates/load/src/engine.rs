//! From a plan to a measurement: resolves, connects, runs the workers, and
//! puts their books together.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::audit;
use crate::books::{ClosedBooks, Edges, SecondPart, SecondSink};
use crate::control::{Control, Gauge, Snapshot};
use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::expect::Expected;
use crate::idle::Idle;
use crate::merge;
use crate::net::Linux;
use crate::prepared::Prepared;
use crate::request;
use crate::sample::Samples;
use crate::series::Series;
use crate::so_far::SoFar;
use crate::sys;
use crate::tls;
use crate::turns::Turns;
use crate::worker::{Preconnected, Shared, Source, Worker};
use prony_model::histogram::Histogram;
use prony_model::measurement::{ClientCost, Measurement};
use prony_model::plan::{Arrivals, Plan};
use prony_model::plan_record::nanoseconds;

/// How often the observer is called.
const OBSERVE_EVERY: Duration = Duration::from_millis(100);
/// The clock starts this long after the last worker is ready, so that all see the instant coming.
const START_AHEAD_NS: u64 = 2_000_000;
/// Files the process needs beside its connections: standard streams, epolls, logs, libraries.
const FILES_BESIDE: u64 = 64;

/// What a worker tells the engine.
enum FromWorker {
    Ready(io::Result<Preconnected>),
    Done(usize, Box<io::Result<ClosedBooks>>),
    Panicked,
}

/// What the engine tells a worker: the first instant and the window, or nothing (give up).
type Go = Option<(u64, Edges)>;

struct Hand {
    thread: JoinHandle<()>,
    go: Sender<Go>,
    empty: Sender<Histogram>,
    gauge: Arc<Gauge>,
}

/// Applies the load and waits for its end. `observe` is called about ten
/// times a second, in the calling thread.
///
/// # Errors
/// When the plan cannot be run here, the target cannot be reached, or the
/// load was ended before its window opened.
pub fn run(
    plan: &Plan,
    control: &Control,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, LoadError> {
    // Whatever keeps this load from beginning, those that are to begin with it are told.
    let _expected = control.gate().map(crate::gate::Gate::expect);
    let open_files = check_open_files(plan)?;
    plan.check()?;
    let list = Prepared::of(plan)?.map(Arc::new);
    let request = if list.is_some() { Vec::new() } else { request::build(plan)? };
    let request_bytes = request.len() as u64;
    let tls = tls::Setup::of(plan)?;
    let endpoint = Endpoint::of(plan)?;
    let shared = Arc::new(Shared {
        requests: request.repeat(plan.pipeline as usize),
        request,
        pipeline: plan.pipeline,
        answers_head: plan.work.method() == "HEAD",
        spin: plan.spin,
        expect: Expected::of(&plan.expect),
        keepalive: plan.keepalive,
        timeout_ns: nanoseconds(plan.timeout),
        given_up: AtomicBool::new(false),
        linger_max: linger_max(plan, open_files),
        control: control.clone(),
        idle: Arc::new(Idle::of(plan.threads)),
        tls,
        list,
    });
    let (to_engine, from_workers) = mpsc::channel();
    let (finished_seconds, seconds) = mpsc::channel();
    let mut hands = Vec::new();
    for worker in 0..plan.threads {
        hands.push(start_worker(plan, worker, &endpoint, &shared, &to_engine, &finished_seconds)?);
    }
    drop((to_engine, finished_seconds));
    let result = conduct(plan, control, observe, &endpoint, &hands, &from_workers, &seconds);
    // Where one worker failed, the others need not go on: those that run see the flag within a
    // tenth of a second, those that were told nothing see their channel close.
    shared.given_up.store(result.is_err(), Ordering::Relaxed);
    let threads: Vec<JoinHandle<()>> = hands.into_iter().map(|hand| hand.thread).collect();
    for thread in threads {
        if thread.join().is_err() {
            return Err(PANICKED);
        }
    }
    let listed = listed(plan, shared.list.as_deref());
    result.map(|measurement| Measurement { request_bytes, listed, ..measurement })
}

/// What single requests of a list are called, and how long they are; only for those who keep them.
fn listed(plan: &Plan, prepared: Option<&Prepared>) -> Vec<(String, u64)> {
    let (Some(list), Some(prepared)) = (plan.work.list().filter(|_| plan.samples_max > 0), prepared) else {
        return Vec::new();
    };
    let length = |request| prepared.bytes(request).len() as u64;
    (0..).zip(&list.requests).map(|(number, request)| (request.name(), length(number))).collect()
}

/// What a panic in a worker is to who applies the load.
const PANICKED: LoadError = LoadError::Internal("a worker thread panicked");

/// The limit of open files, if the plan's connections fit into it.
fn check_open_files(plan: &Plan) -> Result<u64, LoadError> {
    let limit =
        sys::raise_open_files().map_err(|e| LoadError::System("reading the limit of open files", e))?;
    let needed = u64::from(plan.connections) + FILES_BESIDE;
    if needed > limit {
        return Err(LoadError::OpenFiles { connections: plan.connections, needed, limit });
    }
    Ok(limit)
}

/// How many connections each worker may leave to the server to close: as many
/// again as it loads, if the limit of open files has room for them.
fn linger_max(plan: &Plan, open_files: u64) -> usize {
    let connections = u64::from(plan.connections);
    let room = open_files.saturating_sub(FILES_BESIDE + connections).min(connections);
    usize::try_from(room / u64::from(plan.threads)).unwrap_or(usize::MAX)
}

/// What the first `workers` of all have of `total` together.
fn up_to(total: u64, workers: u32, of: u32) -> u64 {
    let share = u128::from(total) * u128::from(workers) / u128::from(of.max(1));
    u64::try_from(share).unwrap_or(total)
}

/// A worker's connections, and its requests of `-n`: as its connections are to
/// all, so that none is done long before the others.
pub(crate) fn shares(plan: &Plan, worker: u32) -> (u32, u64) {
    let connections = |workers| up_to(u64::from(plan.connections), workers, plan.threads) as u32;
    let (before, after) = (connections(worker), connections(worker + 1));
    let requests = plan.stop.requests.map_or(u64::MAX, |requests| {
        up_to(requests, after, plan.connections) - up_to(requests, before, plan.connections)
    });
    (after - before, requests)
}

/// The worker's requests of the plan's list.
pub(crate) fn turns(plan: &Plan, worker: u32, list: Option<&Arc<Prepared>>) -> Option<Turns> {
    let connections = up_to(u64::from(plan.connections), worker, plan.threads) as u32;
    let before = plan.stop.requests.map_or(0, |requests| up_to(requests, connections, plan.connections));
    list.map(|list| Turns::of(plan, worker, before, list))
}

/// How many single requests a worker keeps: of -n its requests' share, else an equal one.
fn samples_share(plan: &Plan, worker: u32) -> u64 {
    if plan.arrivals.are_open() {
        return plan.samples_max.div_ceil(u64::from(plan.threads));
    }
    let connections = |workers| up_to(u64::from(plan.connections), workers, plan.threads) as u32;
    let kept_by = |workers| up_to(plan.samples_max, connections(workers), plan.connections);
    kept_by(worker + 1) - kept_by(worker)
}

fn start_worker(
    plan: &Plan,
    worker: u32,
    endpoint: &Endpoint,
    shared: &Arc<Shared>,
    to_engine: &Sender<FromWorker>,
    seconds: &Sender<SecondPart>,
) -> Result<Hand, LoadError> {
    let (go, told) = mpsc::channel::<Go>();
    let (empty, empties) = mpsc::channel();
    let gauge = Arc::new(Gauge::default());
    let (connections, requests) = shares(plan, worker);
    let source = Source::of(plan, worker, requests);
    let connections = match &source {
        Source::Ramped { users, .. } => u32::try_from(users.slots()).unwrap_or(connections),
        Source::Closed { .. } | Source::Open(_) => connections,
    };
    let cpu = (!plan.cpus.is_empty()).then(|| plan.cpus[worker as usize % plan.cpus.len()]);
    // Users of a ramp connect when they come.
    let preconnects = plan.keepalive && !matches!(plan.arrivals, Arrivals::ConnectionStages(_));
    let samples_max = samples_share(plan, worker);
    let turns = turns(plan, worker, shared.list.as_ref());
    let stamps = !plan.user_clock;
    let (shared, to_engine, worker_gauge) = (Arc::clone(shared), to_engine.clone(), Arc::clone(&gauge));
    let sink = SecondSink { worker: worker as usize, finished: seconds.clone(), empty: empties };
    let to_engine_at_panic = to_engine.clone();
    let endpoint = endpoint.clone();
    let body = move || {
        let prepared = prepare_thread(cpu, endpoint, shared.tls.as_ref(), stamps)
            .and_then(|net| Ok((net, Samples::with_room(worker, samples_max)?)));
        let (net, samples) = match prepared {
            Ok(prepared) => prepared,
            Err(e) => return drop(to_engine.send(FromWorker::Ready(Err(e)))),
        };
        let mut hand = Worker::new(net, shared, worker_gauge, worker, connections, source, turns);
        let ready = if preconnects {
            hand.preconnect()
        } else {
            Ok(Preconnected { established: 0, first_failure: None })
        };
        // A closed channel on either side means that the engine gives the load up.
        let _ = to_engine.send(FromWorker::Ready(ready));
        match told.recv() {
            Ok(Some((start_ns, edges))) => {
                let books = hand.run(start_ns, edges, sink, samples);
                let _ = to_engine.send(FromWorker::Done(worker as usize, Box::new(books)));
            }
            Ok(None) | Err(_) => hand.abandon(),
        }
    };
    let thread = thread::Builder::new()
        .name(format!("prony-load-{worker}"))
        .spawn(move || {
            // Without this the engine would wait for ever for a worker that is gone.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
                let _ = to_engine_at_panic.send(FromWorker::Panicked);
                resume_unwind(panic);
            }
        })
        .map_err(|e| LoadError::System("starting a worker thread", e))?;
    Ok(Hand { thread, go, empty, gauge })
}

fn prepare_thread(
    cpu: Option<u32>,
    endpoint: Endpoint,
    tls: Option<&tls::Setup>,
    stamps: bool,
) -> io::Result<Linux> {
    if let Some(cpu) = cpu {
        sys::pin_thread(cpu)
            .map_err(|e| io::Error::new(e.kind(), format!("pinning a worker to CPU {cpu}: {e}")))?;
    }
    sys::tighten_timer_slack();
    Linux::new(endpoint, tls, stamps)
}

/// Waits until the workers are connected, starts the clock, and collects what they measure.
fn conduct(
    plan: &Plan,
    control: &Control,
    observe: &mut dyn FnMut(&Snapshot),
    endpoint: &Endpoint,
    hands: &[Hand],
    from_workers: &Receiver<FromWorker>,
    seconds: &Receiver<SecondPart>,
) -> Result<Measurement, LoadError> {
    let ready = wait_until_ready(plan, endpoint, hands.len(), from_workers);
    if control.stop_asked() {
        return Err(LoadError::Interrupted);
    }
    ready?;
    let mut series = Series::with_room(plan.stop.duration.map(nanoseconds));
    let start_ns = match control.gate() {
        None => sys::now_ns() + START_AHEAD_NS,
        Some(gate) => gate.pass(&|| control.stop_asked()).ok_or(LoadError::Interrupted)?,
    };
    let now_since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started_at_ns = nanoseconds(now_since_1970) + start_ns.saturating_sub(sys::now_ns());
    let window_start = start_ns + nanoseconds(plan.warmup);
    let window_end = plan.stop.duration.map_or(u64::MAX, |duration| window_start + nanoseconds(duration));
    let edges = Edges { start_ns: window_start, end_ns: window_end };
    for hand in hands {
        // A worker that is gone is found out below, by its missing books.
        let _ = hand.go.send(Some((start_ns, edges)));
    }

    let mut books: Vec<Option<ClosedBooks>> = hands.iter().map(|_| None).collect();
    let mut cpu = ProcessCpu::default();
    let mut last_second = None;
    let mut so_far = SoFar::default();
    while books.iter().any(Option::is_none) {
        match from_workers.recv_timeout(until_next_look(&cpu, edges)) {
            Ok(FromWorker::Done(worker, result)) => {
                books[worker] = Some(result.map_err(|e| LoadError::System("running the event loop", e))?);
            }
            Ok(FromWorker::Panicked) => return Err(PANICKED),
            Ok(FromWorker::Ready(_)) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(LoadError::Internal("a worker ended without its books"));
            }
        }
        cpu.look(edges);
        for part in seconds.try_iter() {
            series.add(part, |worker, histogram| {
                // A worker that is done needs no more.
                let _ = hands[worker].empty.send(histogram);
            });
        }
        let newest = series.last_second(hands.len(), last_second);
        if newest != last_second {
            (last_second, so_far) = (newest, series.so_far());
        }
        observe(&Snapshot { last_second, so_far, ..snapshot(hands, start_ns, edges) });
    }
    cpu.finish();
    for part in seconds.try_iter() {
        series.add(part, |_, _| {});
    }
    let closed: Vec<ClosedBooks> = books.into_iter().flatten().collect();
    let (process_cpu_ns, max_rss_bytes) = (cpu.window_ns(), sys::max_rss_bytes());
    let whole = Measurement {
        started_at_ns,
        address: endpoint.to_string(),
        schedule_start_ns: start_ns,
        interrupted: merge::was_interrupted(control.stop_asked(), &closed, window_end),
        client: ClientCost { process_cpu_ns, max_rss_bytes, ..ClientCost::default() },
        ..Measurement::default()
    };
    let measurement = merge::measurement(whole, plan, closed, series);
    if measurement.window_end_ns <= measurement.window_start_ns {
        return Err(if measurement.interrupted { LoadError::Interrupted } else { LoadError::WarmUpTookAll });
    }
    Ok(Measurement { broken_identities: audit::broken(&measurement, plan), ..measurement })
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

fn snapshot(hands: &[Hand], start_ns: u64, edges: Edges) -> Snapshot {
    let now = sys::now_ns();
    let mut snapshot = Snapshot {
        elapsed_ns: now.saturating_sub(start_ns),
        in_window: now >= edges.start_ns && now < edges.end_ns,
        ..Snapshot::default()
    };
    for hand in hands {
        hand.gauge.add_to(&mut snapshot);
    }
    snapshot
}

/// The process's CPU time at the window's edges, as nearly as the calling thread wakes.
#[derive(Default)]
struct ProcessCpu {
    at_start: Option<u64>,
    at_end: Option<u64>,
}

impl ProcessCpu {
    fn look(&mut self, edges: Edges) {
        let now = sys::now_ns();
        if self.at_start.is_none() && now >= edges.start_ns {
            self.at_start = Some(sys::process_cpu_ns());
        }
        if self.at_end.is_none() && now >= edges.end_ns {
            self.at_end = Some(sys::process_cpu_ns());
        }
    }

    fn finish(&mut self) {
        self.at_end.get_or_insert_with(sys::process_cpu_ns);
    }

    fn window_ns(&self) -> u64 {
        match (self.at_start, self.at_end) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => 0,
        }
    }
}

fn until_next_look(cpu: &ProcessCpu, edges: Edges) -> Duration {
    let now = sys::now_ns();
    let next_edge = if cpu.at_start.is_none() { edges.start_ns } else { edges.end_ns };
    let to_edge = Duration::from_nanos(next_edge.saturating_sub(now));
    if to_edge.is_zero() { OBSERVE_EVERY } else { OBSERVE_EVERY.min(to_edge) }
}
