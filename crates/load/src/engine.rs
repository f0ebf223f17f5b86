//! From a plan to a measurement: resolves, connects, runs the workers, and puts together what they recorded.

mod probe;
mod process_cpu;
mod started;
mod worker_shares;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::codec::{self, Codec};
use crate::control::{Control, Gauge, Snapshot};
use crate::error::LoadError;
use crate::expect::Expectations;
use crate::http1::{Http1, RequestBytes};
use crate::http2::{self, Http2};
use crate::net::Linux;
use crate::net::endpoint::Endpoint;
use crate::recorder::latency::LatencyRecorder;
use crate::recorder::sample::Samples;
use crate::recorder::window_delta::Shard;
use crate::recorder::{Edges, End, Part, PartSink, TakePart};
use crate::ring::Ring;
use crate::sys;
use crate::tls;
use crate::values::Source as Values;
use crate::worker::idle::Idle;
use crate::worker::{Assignment, Preconnected, Shared, Source, Worker};
use prony_model::list::TargetList;
use prony_model::measurement::{CONNECTIONS_MAX, Measurement, RunTotal};
use prony_model::plan::{Arrivals, Plan, Protocol};
use prony_model::units::nanoseconds;
use prony_model::{PlanError, Target};

use started::Started;
pub(crate) use worker_shares::Division;

const OBSERVE_EVERY: Duration = Duration::from_millis(100);
/// Files the process needs beside its connections: standard streams, epolls, logs, libraries.
const FILES_BESIDE: u64 = 64;

enum FromWorker {
    Ready(usize, io::Result<Preconnected>),
    Done(io::Result<End>),
    Panicked,
    /// What a list's reader found, which ends the load.
    Failed(PlanError),
}

/// What the engine tells a worker: the first instant and the window, or nothing (give up).
type Go = Option<(u64, Edges)>;

struct Origin {
    endpoint: Endpoint,
    tls: Option<tls::Setup>,
    idle: Arc<Idle>,
}

struct WorkerHandle {
    thread: JoinHandle<()>,
    go: Sender<Go>,
    empty: Sender<LatencyRecorder>,
    gauge: Arc<Gauge>,
}

struct Outlets {
    to_engine: Sender<FromWorker>,
    parts: Sender<Box<Part>>,
    parts_asked: bool,
}

struct Inlets {
    from_workers: Receiver<FromWorker>,
    parts: Receiver<Box<Part>>,
}

/// Applies the load and waits for its end. `observe` is called about ten times a second, in the calling thread.
pub fn run(
    plan: &Plan,
    control: &Control,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, LoadError> {
    run_shard(plan, Shard::whole(plan), None, control, observe)
}

/// The same of some of the plan's workers. Where `take_part` is given, it hears of what all of them measured in each whole
/// second of the window, in order, and in what is left of it at its end, with whether it is the last.
pub fn run_shard(
    plan: &Plan,
    shard: Shard,
    take_part: Option<TakePart<'_>>,
    control: &Control,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, LoadError> {
    // Whatever keeps this load from beginning, those that are to begin with it are told.
    let _expected = control.start_barrier().map(crate::start_barrier::StartBarrier::expect);
    plan.check()?;
    let division = Division::of(plan, shard.of);
    let connections = shard.workers().map(|worker| division.connections(worker)).sum();
    let open_files = check_open_files(connections)?;
    let requests = Requests::of(plan)?;
    let origins = origins(plan, &division, shard, control)?;
    let mut before = match &requests {
        Requests::Http1([bytes, _]) => {
            probe::probe(plan, bytes, &origins[0].endpoint, origins[0].tls.as_ref())
        }
        Requests::Http2(..) => RunTotal::default(),
    };
    let shared = Arc::new(Shared {
        // Whose responses are not one each is asked one at a time: what more comes shows at once then, and counts nowhere.
        pipeline: if before.unasked > 0 { 1 } else { plan.pipeline },
        spin: plan.spin,
        expect: Expectations::of(plan),
        life: plan.life().map_or(u64::MAX, u64::from),
        timeout_ns: nanoseconds(plan.timeout),
        given_up: AtomicBool::new(false),
        closing_max: closing_max(connections, shard, open_files),
        control: control.clone(),
    });
    let (to_engine, from_workers) = mpsc::channel();
    let (parts, finished_parts) = mpsc::channel();
    let outlets = Outlets { to_engine, parts, parts_asked: take_part.is_some() };
    let inlets = Inlets { from_workers, parts: finished_parts };
    let is_plain = codec::is_plain(plan);
    let (mut handles, mut readers) = (Vec::new(), Vec::new());
    let long = plan.work.list().is_some_and(|list| list.long().is_some()).then(|| Arc::new(plan.clone()));
    for worker in shard.workers() {
        // The first worker counts them as its own.
        let before = std::mem::take(&mut before);
        let origin = &origins[division.origin_of(worker)];
        let start =
            Starting { division: &division, shard, worker, origin, shared: &shared, outlets: &outlets };
        let handle = match &requests {
            Requests::Http1(bytes) => {
                let at_once = division.connections(worker) as usize * plan.pipeline as usize;
                if is_plain {
                    start.with(Http1::<true>::new(bytes, at_once, None), before)
                } else {
                    let ring =
                        long.as_ref().map(|long| list_reader(long, &division, worker, at_once, &outlets));
                    let (ring, reader) = ring.transpose()?.unzip();
                    readers.extend(reader);
                    start.with(Http1::<false>::new(bytes, at_once, ring), before)
                }
            }
            Requests::Http2(blocks, templates) => {
                // The plan's check has bounded it.
                let streams = u16::try_from(plan.pipeline).unwrap_or(u16::MAX);
                let (by_address, templates) = (plan.connect.all_addresses, templates.as_ref());
                if is_plain {
                    start.with(Http2::<true>::new(blocks, by_address, streams, templates), before)
                } else {
                    start.with(Http2::<false>::new(blocks, by_address, streams, templates), before)
                }
            }
        };
        handles.push(handle?);
    }
    drop(outlets);
    let addresses = if plan.connect.all_addresses { origins[0].endpoint.addresses() } else { Vec::new() };
    let started =
        Started { plan, shard, control, origins: &origins, addresses, handles: &handles, inlets: &inlets };
    let renewing = renew_meanwhile(plan, &origins, control);
    let result =
        renewing.and_then(|_until_the_end| started.to_the_end(take_part.unwrap_or(&mut |_, _| {}), observe));
    // Where one worker failed, the others need not go on: those that run see the flag within a
    // tenth of a second, those that were told nothing see their channel close.
    shared.given_up.store(result.is_err(), Ordering::Relaxed);
    let threads: Vec<JoinHandle<()>> = handles.into_iter().map(|handle| handle.thread).collect();
    for thread in threads.into_iter().chain(readers) {
        if thread.join().is_err() {
            return Err(PANICKED);
        }
    }
    let failed = |told| if let FromWorker::Failed(why) = told { Some(why) } else { None };
    if let Some(why) = inlets.from_workers.try_iter().find_map(failed) {
        return Err(why.into());
    }
    if let Requests::Http1([bytes, _]) = &requests {
        bytes.check_file()?;
    }
    let request_bytes = if plan.work.list().is_none() { requests.length(0) as u64 } else { 0 };
    let listed = listed(plan, &requests);
    result.map(|measurement| Measurement { request_bytes, listed, ..measurement })
}

/// Resolves the origins' names as often as the plan says, on a thread of its own, until what this gives is dropped. The
/// load does not wait for a lookup that is under way then.
fn renew_meanwhile(
    plan: &Plan,
    origins: &[Origin],
    control: &Control,
) -> Result<Option<Sender<()>>, LoadError> {
    let Some(every) = plan.connect.resolve_every else { return Ok(None) };
    let (load, ended) = mpsc::channel();
    let targets = plan.origins().iter().cloned();
    let each: Vec<_> = targets.zip(origins.iter().map(|origin| origin.endpoint.clone())).collect();
    // What says where connections go, without the plan's requests.
    let (connect, sources) = (plan.connect.clone(), plan.sources.clone());
    let (plan, control) = (Plan { connect, sources, ..Plan::closed(plan.target.clone()) }, control.clone());
    let renew = move || {
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            each.iter().for_each(|(target, endpoint)| endpoint.renew(&plan, target, control.allowed()));
        }
    };
    let thread = thread::Builder::new().name("prony-resolve".to_owned()).spawn(renew);
    thread.map(|_| Some(load)).map_err(|e| LoadError::System("starting the thread that resolves names", e))
}

/// The plan's origins, those of HTTPS with what TLS needs.
fn origins(
    plan: &Plan,
    division: &Division<'_>,
    shard: Shard,
    control: &Control,
) -> Result<Vec<Origin>, LoadError> {
    let origins = plan.origins();
    let setups = tls::Setup::of_each(plan, origins)?;
    let origin = |(origin, tls): (&Target, Option<tls::Setup>)| {
        let idle = Arc::new(Idle::new(division.of_origin(shard.count)));
        Ok(Origin { endpoint: Endpoint::of(plan, origin, control.allowed())?, tls, idle })
    };
    origins.iter().zip(setups).map(origin).collect()
}

enum Requests {
    Http1([Arc<RequestBytes>; 2]),
    Http2(Arc<prony_http2::client::Requests>, Option<Arc<http2::Templates>>),
}

impl Requests {
    fn of(plan: &Plan) -> Result<Requests, PlanError> {
        Ok(match plan.protocol {
            Protocol::Http1 => Requests::Http1(RequestBytes::of_both(plan)?),
            Protocol::Http2 => {
                let templates = Values::of(plan)?.map(|source| http2::Templates::of(plan, source));
                Requests::Http2(Arc::new(http2::build(plan)), templates.map(Arc::new))
            }
        })
    }

    /// A request's length, by its number in the list if there is one; 0 where it is not the same each time. HTTP/2: not of a connection's first; with frames.
    fn length(&self, request: u32) -> usize {
        match self {
            Requests::Http1([bytes, _]) => bytes.length(request),
            Requests::Http2(_, Some(_)) => 0,
            Requests::Http2(blocks, None) => blocks.length(request),
        }
    }
}

/// What single requests of a list are called, and how long they are; only for those who keep them.
fn listed(plan: &Plan, requests: &Requests) -> Vec<(String, u64)> {
    let is_here = |list: &&TargetList| plan.samples_max > 0 && list.long().is_none();
    let Some(list) = plan.work.list().filter(is_here) else { return Vec::new() };
    let length = |request| requests.length(request) as u64;
    (0..).zip(&list.requests).map(|(number, request)| (list.name(request), length(number))).collect()
}

/// The thread that has a worker's requests ready, where the list stays in its file.
fn list_reader(
    plan: &Arc<Plan>,
    division: &Division<'_>,
    worker: u32,
    places: usize,
    outlets: &Outlets,
) -> Result<(Ring, JoinHandle<()>), LoadError> {
    let to_engine = outlets.to_engine.clone();
    // A closed channel means that the load is over.
    let failed = move |why| drop(to_engine.send(FromWorker::Failed(why)));
    let order = division.request_order(worker).ok_or(LoadError::Internal("a list without an order"))?;
    Ring::start(plan, order, places, failed)
        .map_err(|e| LoadError::System("starting the thread that reads a list", e))
}

const PANICKED: LoadError = LoadError::Internal("a worker thread panicked");

fn check_open_files(connections: u32) -> Result<u64, LoadError> {
    let limit = sys::raise_open_files();
    let needed = u64::from(connections) + FILES_BESIDE;
    if needed > limit {
        return Err(LoadError::OpenFiles { connections, needed, limit });
    }
    Ok(limit)
}

/// Connections each worker may leave to the server to close: as many as it loads, if the open files allow.
fn closing_max(connections: u32, shard: Shard, open_files: u64) -> usize {
    let connections = u64::from(connections);
    let room = open_files.saturating_sub(FILES_BESIDE + connections).min(connections);
    usize::try_from(room / u64::from(shard.count.max(1))).unwrap_or(usize::MAX)
}

/// A worker that is to be started.
struct Starting<'a> {
    division: &'a Division<'a>,
    shard: Shard,
    worker: u32,
    origin: &'a Origin,
    shared: &'a Arc<Shared>,
    outlets: &'a Outlets,
}

impl Starting<'_> {
    /// Starts it; `before` is what was counted already.
    fn with(self, codec: impl Codec + Send + 'static, before: RunTotal) -> Result<WorkerHandle, LoadError> {
        let Starting { division, shard, worker, origin, shared, outlets } = self;
        let (plan, number, place) = (division.plan, division.origin_of(worker), worker - shard.first);
        let (go, told) = mpsc::channel::<Go>();
        let (empty, recorders) = mpsc::channel();
        let gauge = Arc::new(Gauge::default());
        let connections = division.connections(worker);
        let source = Source::of(division, worker, shard);
        let connections = match &source {
            Source::Ramped { users, .. } => u32::try_from(users.slots()).unwrap_or(connections),
            Source::Closed { .. } | Source::Open(_) => connections,
        };
        let cpu = (!plan.cpus.is_empty()).then(|| plan.cpus[place as usize % plan.cpus.len()]);
        // Users of a ramp connect when they come.
        let preconnects = plan.keepalive && !matches!(plan.arrivals, Arrivals::ConnectionStages(_));
        let samples_max = division.samples(worker);
        let first_place = division.first_place(worker);
        let assignment = Assignment {
            place: division.of_origin(place),
            idle: Arc::clone(&origin.idle),
            connections,
            addresses: if plan.connect.all_addresses { origin.endpoint.addresses().len() as u32 } else { 0 },
            first_place,
            first_lives: division.first_lives(worker),
            source,
            request_order: division.request_order(worker),
            before,
        };
        let stamps = !plan.user_clock;
        let (shared, to_engine, worker_gauge) =
            (Arc::clone(shared), outlets.to_engine.clone(), Arc::clone(&gauge));
        let sink = PartSink {
            worker,
            place: place as usize,
            counts_waits: outlets.parts_asked,
            connections_max: CONNECTIONS_MAX.div_ceil(shard.of.max(1) as usize),
            finished: outlets.parts.clone(),
            empty: recorders,
        };
        let (endpoint, tls) = (origin.endpoint.clone(), origin.tls.clone());
        let body = move || {
            let prepared = prepare_thread(cpu, endpoint, tls.as_ref(), stamps)
                .and_then(|net| Ok((net, Samples::with_room(worker, samples_max)?)));
            let (net, samples) = match prepared {
                Ok(prepared) => prepared,
                Err(e) => return drop(to_engine.send(FromWorker::Ready(number, Err(e)))),
            };
            let mut worker = Worker::new(net, codec, shared, worker_gauge, assignment);
            let ready = if preconnects {
                worker.preconnect()
            } else {
                Ok(Preconnected { established: 0, first_failure: None })
            };
            // A closed channel on either side means that the engine gives the load up.
            let _ = to_engine.send(FromWorker::Ready(number, ready));
            match told.recv() {
                Ok(Some((start_ns, edges))) => {
                    let ended = worker.run(start_ns, edges, sink, samples);
                    let _ = to_engine.send(FromWorker::Done(ended));
                }
                Ok(None) | Err(_) => worker.abandon(),
            }
        };
        let thread = spawn(worker, outlets.to_engine.clone(), body)?;
        Ok(WorkerHandle { thread, go, empty, gauge })
    }
}

/// A worker's thread. The engine is told of its panic: it would wait for ever for a worker that is gone.
fn spawn(
    worker: u32,
    to_engine: Sender<FromWorker>,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, LoadError> {
    thread::Builder::new()
        .name(format!("prony-load-{worker}"))
        .spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
                let _ = to_engine.send(FromWorker::Panicked);
                resume_unwind(panic);
            }
        })
        .map_err(|e| LoadError::System("starting a worker thread", e))
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
