//! A fleet: loads that its agents apply as one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use prony_host::monotonic_ns;
use prony_load::{Control, LoadError, Shard, Snapshot};
use prony_model::fleet::LiveAgent;
use prony_model::measurement::Measurement;
use prony_model::plan::Plan;
use prony_model::units::nanoseconds;

use crate::agents::Agents;
use crate::job::Job;
use crate::members::Members;
use crate::nats::SILENT;
use crate::pool::NatsLogin;
use crate::trial::Trial;
use crate::validate::validate;

/// How often the observer is called, and the clock looked at: with the first message that comes so long after the last time,
/// so that the process wakes for both at once (each agent sends four a second) …
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// … and without one, after so long.
const LOOK_AT_LAST: Duration = Duration::from_millis(300);
const SERVER_ENDED: &str = "the fleet's nats-server ended, and with it all connections to agents";
/// How much longer than the plan's timeout agents may take to be ready.
const PATIENCE_NS: u64 = 15_000_000_000;
/// And for each byte of a list that they read themselves: 1 MB a second.
const PATIENCE_NS_PER_BYTE: u64 = 1_000;

#[derive(Debug)]
pub struct Fleet {
    members: Mutex<Members>,
    live: Mutex<Vec<LiveAgent>>,
}

#[derive(Debug)]
pub struct Setup {
    pub agents: Agents,
    pub flags: Vec<String>,
    pub own: PathBuf,
    pub installed: PathBuf,
    /// This program for hosts of other architectures, or in place of this binary.
    pub agent_binaries: Vec<PathBuf>,
    /// The load's CPUs: what carries messages runs on them; empty: on any.
    pub cpus: Vec<u32>,
    /// What agents may load that this controller starts; port 0 stands for every port.
    pub allowed: Vec<SocketAddr>,
    /// The key by which agents of a pool know this controller, `prony fleet key`'s.
    pub pool_key: PathBuf,
    pub login: NatsLogin,
}

impl Fleet {
    pub fn start(setup: Setup) -> Result<Fleet, String> {
        let mut members = Members::of(setup)?;
        members.assemble()?;
        Ok(Fleet { members: Mutex::new(members), live: Mutex::default() })
    }

    /// Applies a load as [`prony_load::run`] does, by all agents together, or by as many as there are connections for.
    pub fn load(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, LoadError> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let most = members.slots.len() as u32;
        let agents = (plan.connections / plan.threads.max(1)).clamp(1, most);
        validate(plan, agents)?;
        members.assemble().map_err(LoadError::Fleet)?;
        apply(&mut members, plan, agents, control, &mut |trial| {
            *self.live.lock().unwrap_or_else(PoisonError::into_inner) = trial.live();
            observe(&trial.snapshot());
        })
    }

    pub fn live(&self) -> Vec<LiveAgent> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The process ids of its agents, in their order, and of its nats-server at last. Those of other machines are ssh's.
    pub fn pids(&self) -> Vec<u32> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let Members { transport, slots, .. } = &mut *members;
        let server = transport.server().map(|server| server.pid());
        let agents = slots.iter_mut().filter_map(|slot| Some(slot.child.as_mut()?.process().pid()));
        agents.chain(server).collect()
    }
}

fn apply(
    members: &mut Members,
    plan: &Plan,
    agents: u32,
    control: &Control,
    observe: &mut dyn FnMut(&Trial<'_>),
) -> Result<Measurement, LoadError> {
    let jobs = jobs(plan, agents, &members.setup.agents)?;
    // What was said between two loads is of none.
    while members.taken.try_recv().is_ok() {}
    let list_bytes = plan.work.list().and_then(|list| list.file.as_ref()).map_or(0, |file| file.bytes);
    let patience_ns = PATIENCE_NS.saturating_add(list_bytes.saturating_mul(PATIENCE_NS_PER_BYTE));
    members.core.begin(monotonic_ns(), jobs, patience_ns.saturating_add(nanoseconds(plan.timeout)));
    let names = members.slots.iter().take(agents as usize).map(|slot| slot.name.clone());
    let mut trial = Trial::of(plan, names.collect());
    let (mut observed, mut heard) = (Instant::now(), Instant::now());
    while !trial.is_over {
        let mut events = match members.taken.recv_timeout(LOOK_AT_LAST.saturating_sub(observed.elapsed())) {
            Ok(message) => {
                heard = Instant::now();
                members.hear(&message)
            }
            Err(RecvTimeoutError::Timeout) => Vec::new(),
            Err(RecvTimeoutError::Disconnected) => {
                let why = "The connection to the fleet's nats-server has ended: run the load again.";
                return Err(LoadError::Fleet(why.to_owned()));
            }
        };
        if observed.elapsed() >= LOOK_EVERY {
            observed = Instant::now();
            events.extend(members.core.look(monotonic_ns()));
            if heard.elapsed() > SILENT {
                members.link.renew();
            }
            if members.transport.server().is_some_and(|server| !server.is_running()) {
                events.extend(members.core.cut_off(SERVER_ENDED));
            }
            if control.stop_asked() {
                members.core.stop(monotonic_ns());
                if trial.start_ns.is_none() {
                    return Err(LoadError::Interrupted);
                }
            }
            observe(&trial);
        }
        for mut event in events {
            members.tell_why(&mut event);
            trial.take(event)?;
        }
    }
    let bound_ns = |agent| members.core.clock(agent).map_or(0, |clock| clock.bound_ns);
    let clocks: Vec<u64> = (0..agents as usize).map(bound_ns).collect();
    trial.finish(&clocks, members.setup.flags.clone(), members.link.version(), control.stop_asked())
}

/// What each agent is given: the plan, with the address of its own from which it loads, and its part of it.
fn jobs(plan: &Plan, count: u32, agents: &Agents) -> Result<Vec<Job>, LoadError> {
    let wire = |plan: &Plan| {
        String::from_utf8(plan.to_wire()?).map_err(|_| LoadError::Internal("a plan is no text"))
    };
    let text = wire(plan)?;
    let job = |agent: u32| {
        let plan_text = match agents.data(agent) {
            Some(data) => wire(&Plan { sources: vec![data], ..plan.clone() })?,
            None => text.clone(),
        };
        let shard = Shard { first: agent * plan.threads, count: plan.threads, of: count * plan.threads };
        Ok(Job { plan: plan_text, shard })
    };
    (0..count).map(job).collect()
}
