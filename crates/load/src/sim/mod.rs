//! A whole worker under a simulated clock and network. The worker, its recorder, the merge and the audit are the real
//! ones; the clock moves when a call costs time or a wait passes it, the server does what a seed says. So what every
//! run must have counted is known: `truth` keeps it from the network's side, `check` compares it with what was
//! recorded, exactly.
//!
//! `PRONY_SIM_SEEDS=100000 cargo test -p prony-load sim` plays more random cases than usual, with `PRONY_SIM_FIRST=N`
//! those from N on; a failure prints the seed, and `PRONY_SIM_SEED=N` plays that one alone.

#![allow(
    clippy::needless_pass_by_value,
    reason = "a value said or compared once reads better than its reference"
)]

mod answer;
mod any_order;
mod chance;
mod check;
mod connection;
mod lines;
mod nature;
mod net;
mod random;
mod server;
mod shares;
mod stages;
mod streams;
mod tests;
mod truth;
mod world;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

use crate::codec::{Codec, is_plain};
use crate::control::{Control, Gauge};
use crate::engine::Division;
use crate::error::LoadError;
use crate::expect::Expectations;
use crate::http1::{Http1, RequestBytes};
use crate::net::Net;
use crate::recorder::merge;
use crate::recorder::sample::Samples;
use crate::recorder::window_delta::{Shard, WindowDelta};
use crate::recorder::{Edges, End, Gathered, PartSink};
use crate::worker::idle::Idle;
use crate::worker::{Assignment, Shared, Source, Worker};
use prony_model::measurement::{CONNECTIONS_MAX, Measurement, RunTotal};
use prony_model::plan::{Arrivals, Plan};
use prony_model::target::Target;
use prony_model::units::nanoseconds;

use any_order::{Network, Servers};
use nature::Nature;
use net::SimNet;
use stages::InUse;
use truth::Truth;
use world::World;

/// As in the engine: the clock starts this long after the last worker is ready.
const START_AHEAD_NS: u64 = 2_000_000;

#[derive(Debug, Clone)]
pub(super) struct Case {
    plan: Plan,
    nature: Nature,
    /// When somebody asks for the end, after the workers are told to start.
    stop_after_ns: Option<u64>,
    lease_ns: Option<u64>,
    closing_max: usize,
    /// Who else has a free connection: nobody, unless a test says so.
    idle: Arc<Idle>,
    /// What stands at every whole second is asked for.
    in_parts: bool,
}

struct Played {
    measurement: Result<Measurement, LoadError>,
    worlds: Vec<Rc<RefCell<World>>>,
    parts: Vec<Vec<WindowDelta>>,
    /// Where what a worker recorded differs from what its network saw.
    differences: Vec<String>,
}

impl Case {
    /// A closed load of one connection for a second, without warm-up, in this world.
    fn closed(nature: Nature) -> Case {
        let mut plan = Plan::closed(Target::parse("http://simulated/").unwrap());
        plan.connections = 1;
        plan.warmup = Duration::ZERO;
        plan.stop.duration = Some(Duration::from_secs(1));
        Case {
            plan,
            nature,
            stop_after_ns: None,
            lease_ns: None,
            closing_max: 8,
            idle: Arc::default(),
            in_parts: false,
        }
    }

    /// Plays it as the engine does, a worker after the other: they share nothing but the stop.
    fn play(&self) -> Played {
        if is_plain(&self.plan) { self.play_as::<true>() } else { self.play_as::<false>() }
    }

    fn play_as<const PLAIN: bool>(&self) -> Played {
        self.plan.check().unwrap();
        let workers: Vec<SimWorker<PLAIN>> =
            (0..self.plan.threads).map(|worker| SimWorker::new(self, worker)).collect();
        let ready_ns = workers.iter().map(|worker| worker.world.borrow().now_ns).max().unwrap_or(0);
        let start_ns = ready_ns + START_AHEAD_NS;
        let window_start = start_ns + nanoseconds(self.plan.warmup);
        let duration = self.plan.stop.duration;
        let window_end = duration.map_or(u64::MAX, |duration| window_start + nanoseconds(duration));
        let edges = Edges { start_ns: window_start, end_ns: window_end };
        let lease_ends = self.lease_ns.map(|ns| start_ns + ns);
        let stop_at = self.stop_after_ns.map(|after| ready_ns + after);
        let mut played = Played {
            measurement: Err(LoadError::Interrupted),
            worlds: Vec::new(),
            parts: Vec::new(),
            differences: Vec::new(),
        };
        let mut ends = Vec::new();
        for (number, worker) in workers.into_iter().enumerate() {
            let (world, control) = (Rc::clone(&worker.world), worker.control.clone());
            if let Some(at) = lease_ends {
                control.lend(at);
            }
            worker.starts(ready_ns, start_ns, stop_at);
            let (end, parts) = self.run(worker.worker, number, start_ns, edges);
            ends.push((end, control.stop_asked() || lease_ends.is_some()));
            let found = shares::differences(&parts, self.in_parts, &world.borrow());
            played.differences.extend(found.into_iter().map(|what| format!("worker {number}: {what}")));
            played.worlds.push(world);
            played.parts.push(parts);
        }
        played.measurement = self.measurement(start_ns, window_end, &ends, &played.parts);
        played
    }

    /// Plays it over another protocol, each worker with its own network and codec; gives the networks, too.
    fn play_over<S: Servers, C: Codec>(
        &self,
        network: impl Fn(u32, u32) -> Network<S>,
        codec: impl Fn() -> C,
    ) -> (Played, Vec<Network<S>>) {
        let plan = &self.plan;
        plan.check().unwrap();
        let division = Division::of(plan, plan.threads);
        let (mut workers, mut networks) = (Vec::new(), Vec::new());
        for number in 0..plan.threads {
            let connections = division.connections(number);
            let assignment = self.assignment(&division, number, connections);
            let shared = self.shared(Control::new());
            let network = network(number, connections);
            let gauge = Arc::new(Gauge::default());
            let mut worker = Worker::new(network.clone(), codec(), shared, gauge, assignment);
            worker.preconnect().unwrap();
            workers.push(worker);
            networks.push(network);
        }
        let ready_ns = networks.iter_mut().map(Net::now_ns).max().unwrap_or(0);
        let start_ns = ready_ns + START_AHEAD_NS;
        let window_end = start_ns + nanoseconds(plan.stop.duration.unwrap());
        let edges = Edges { start_ns, end_ns: window_end };
        let (mut ends, mut parts) = (Vec::new(), Vec::new());
        for (number, worker) in workers.into_iter().enumerate() {
            networks[number].advance_to(ready_ns);
            let (end, own) = self.run(worker, number, start_ns, edges);
            ends.push((end, false));
            parts.push(own);
        }
        let measurement = self.measurement(start_ns, window_end, &ends, &parts);
        (Played { measurement, worlds: Vec::new(), parts, differences: Vec::new() }, networks)
    }

    fn assignment(&self, division: &Division<'_>, number: u32, connections: u32) -> Assignment {
        Assignment {
            place: 0,
            idle: Arc::clone(&self.idle),
            connections,
            addresses: 0,
            first_place: 0,
            first_lives: division.first_lives(number),
            source: Source::of(division, number, Shard::whole(&self.plan)),
            request_order: division.request_order(number),
            before: RunTotal::default(),
        }
    }

    fn shared(&self, control: Control) -> Arc<Shared> {
        let plan = &self.plan;
        Arc::new(Shared {
            pipeline: plan.pipeline,
            spin: plan.spin,
            expect: Expectations::of(plan),
            life: plan.life().map_or(u64::MAX, u64::from),
            timeout_ns: nanoseconds(plan.timeout),
            given_up: AtomicBool::new(false),
            closing_max: self.closing_max,
            control,
        })
    }

    fn run<N: Net, C: Codec>(
        &self,
        worker: Worker<N, C>,
        number: usize,
        start_ns: u64,
        edges: Edges,
    ) -> (End, Vec<WindowDelta>) {
        let (finished, parts) = mpsc::channel();
        // No recorder comes back: each part is recorded in a new one.
        let (_, empty) = mpsc::channel();
        let counts_waits = self.in_parts;
        let sink = PartSink {
            worker: number as u32,
            place: number,
            counts_waits,
            connections_max: CONNECTIONS_MAX,
            finished,
            empty,
        };
        let end = worker.run(start_ns, edges, sink, Samples::default()).unwrap();
        let parts = parts.try_iter().map(|part| part.finish(self.plan.work.list(), &[]).0).collect();
        (end, parts)
    }

    /// What the engine makes of its workers' parts, whose ends come with whether a stop was asked of them.
    fn measurement(
        &self,
        start_ns: u64,
        window_end: u64,
        ends: &[(End, bool)],
        parts: &[Vec<WindowDelta>],
    ) -> Result<Measurement, LoadError> {
        let mut gathered = Gathered::of_workers(&self.plan, parts.len());
        for (number, parts) in parts.iter().enumerate() {
            for (i, part) in parts.iter().enumerate() {
                gathered.add(number, part.clone(), i + 1 == parts.len());
            }
        }
        let stop_asked = ends.iter().any(|(_, asked)| *asked);
        let ends: Vec<End> = ends.iter().map(|(end, _)| *end).collect();
        let known = Measurement {
            address: "simulated".to_owned(),
            schedule_start_ns: start_ns,
            interrupted: merge::was_interrupted(stop_asked, &ends, window_end - start_ns),
            ..Measurement::default()
        };
        let interrupted = known.interrupted;
        gathered.finish(known).ok_or(match interrupted {
            true => LoadError::Interrupted,
            false => LoadError::WarmUpTookAll,
        })
    }
}

impl Played {
    #[track_caller]
    fn sound(&self) -> &Measurement {
        assert!(self.differences.is_empty(), "{}", self.differences.join("\n"));
        let measurement = self.measurement.as_ref().unwrap();
        assert_eq!(measurement.broken_identities, Vec::<String>::new());
        measurement
    }

    /// When each worker's window ended: with its share of a count, or with the load.
    fn window_ends(&self, m: &Measurement) -> Vec<u64> {
        let ends = self.parts.iter().map(|parts| parts.last().map_or(0, |part| part.end_ns));
        ends.map(|end_ns| m.schedule_start_ns + end_ns).collect()
    }
}

/// A worker that is connected and waits for the start.
struct SimWorker<const PLAIN: bool> {
    worker: Worker<SimNet, Http1<PLAIN>>,
    world: Rc<RefCell<World>>,
    control: Control,
}

impl<const PLAIN: bool> SimWorker<PLAIN> {
    fn new(case: &Case, number: u32) -> SimWorker<PLAIN> {
        assert!(!PLAIN || is_plain(&case.plan));
        let plan = &case.plan;
        let division = Division::of(plan, plan.threads);
        let connections = division.connections(number);
        let connections = InUse::of(plan, number).map_or(connections, |in_use| in_use.slots() as u32);
        let mut truth = Truth::new(connections as usize, &division, number);
        truth.kernel_clock = case.nature.stamps.is_some();
        let assignment = case.assignment(&division, number, connections);
        let bytes = RequestBytes::of_both(plan).unwrap();
        let different = plan.work.list().map_or(1, |list| list.requests.len());
        let requests =
            bytes.each_ref().map(|all| (0..different).map(|i| all.bytes(i as u32).to_vec()).collect());
        let nature = Nature { seed: case.nature.seed ^ u64::from(number) << 32, ..case.nature.clone() };
        let world = Rc::new(RefCell::new(World::new(nature, requests, truth)));
        world.borrow_mut().request_order.clone_from(&assignment.request_order);
        world.borrow_mut().list = plan.work.list().cloned();
        world.borrow_mut().life = plan.life().map_or(u64::MAX, u64::from);
        world.borrow_mut().left = assignment.first_lives.clone();
        world.borrow_mut().left.resize(connections as usize, plan.life().map_or(u64::MAX, u64::from));
        let control = if case.lease_ns.is_some() { Control::leased(&[]) } else { Control::new() };
        let shared = case.shared(control.clone());
        let gauge = Arc::new(Gauge::default());
        let mut worker =
            Worker::new(SimNet::new(&world), Http1::new(&bytes, 0, None), shared, gauge, assignment);
        if plan.keepalive && !matches!(plan.arrivals, Arrivals::ConnectionStages(_)) {
            worker.preconnect().unwrap();
        }
        SimWorker { worker, world, control }
    }

    /// Its load starts.
    fn starts(&self, ready_ns: u64, start_ns: u64, stop_at: Option<u64>) {
        let mut world = self.world.borrow_mut();
        world.advance_to(ready_ns);
        world.truth.start(start_ns);
        world.running = true;
        world.stop = stop_at.map(|at| (at, self.control.clone()));
    }
}
