//! The controller's process: agents that are there, and loads that they apply as one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prony_host::monotonic_ns;
use prony_load::{Control, LoadError, Shard, Snapshot};
use prony_model::fleet::LiveAgent;
use prony_model::measurement::Measurement;
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

use crate::agents::Agents;
use crate::assemble::AgentProcess;
use crate::controller::{Controller, Event};
use crate::fragments::{Joining, split};
use crate::job::{Frame, FromAgent, Job, Piece, channel, down};
use crate::keys::Keys;
use crate::nats::{Link, Message, SILENT, connect};
use crate::pool::{NatsLogin, Pool};
use crate::protocol::Order;
use crate::server::{self, Server, random_name};
use crate::session::{Greeting, Opening, Session, Side, new_key};
use crate::ssh::SshMeans;
use crate::suitable::check;
use crate::trial::Trial;

/// Messages that wait to be heard.
const INPUTS_MAX: usize = 4096;
/// How often the observer is called, and the clock looked at: with the first message that comes so long after the last time,
/// so that the process wakes for both at once (each agent sends four a second) …
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// … and without one, after so long.
const LOOK_AT_LAST: Duration = Duration::from_millis(300);
/// Why nobody is heard of any more.
const SERVER_ENDED: &str = "the fleet's nats-server ended, and with it all connections to agents";
/// How long an agent of a pool has to hear that it is free again.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);
/// How much longer than the plan's timeout agents may take to be ready.
const PATIENCE_NS: u64 = 15_000_000_000;

#[derive(Debug)]
pub struct Fleet {
    state: Mutex<State>,
    live: Mutex<Vec<LiveAgent>>,
}

/// What a fleet is to be.
#[derive(Debug)]
pub struct Setup {
    pub agents: Agents,
    /// The flags that say so.
    pub flags: Vec<String>,
    pub own: PathBuf,
    /// Where nats-server is if it is not on PATH.
    pub installed: PathBuf,
    /// This program for hosts of other architectures, or in place of this binary.
    pub agent_binaries: Vec<PathBuf>,
    /// The load's CPUs: what carries messages runs on them; empty: on any.
    pub cpus: Vec<u32>,
    /// What agents may load that this controller starts; port 0 stands for every port.
    pub allowed: Vec<SocketAddr>,
    /// The key by which agents of a pool know this controller, `prony fleet key`'s.
    pub pool_key: PathBuf,
    /// As whom to speak with a pool's NATS server.
    pub login: NatsLogin,
}

pub(crate) struct Seat {
    pub(crate) name: String,
    /// Its agent, as subjects name it; `None`: an agent of a pool that did not come yet.
    pub(crate) id: Option<String>,
    /// The public key of its agent.
    pub(crate) key: Vec<u8>,
    pub(crate) process: Option<AgentProcess>,
    pub(crate) session: Option<Session>,
    /// The greeting that the session was made of, and its answer.
    pub(crate) greeted: Option<(Greeting, Vec<u8>)>,
    joining: Joining,
    messages: u64,
    pub(crate) leaves: bool,
}

impl Seat {
    pub(crate) fn of(name: String, id: Option<String>) -> Seat {
        Seat {
            name,
            id,
            key: Vec::new(),
            process: None,
            session: None,
            greeted: None,
            joining: Joining::default(),
            messages: 0,
            leaves: false,
        }
    }

    /// Whether it lives, and does not know yet that it may go.
    fn is_to_be_told(&mut self) -> bool {
        let lives = self.process.as_mut().is_none_or(AgentProcess::is_running);
        self.session.is_some() && !self.leaves && lives
    }
}

/// Why an agent gets no session.
enum Unwelcome {
    /// Its greeting is not signed by the key that it must be.
    Forged,
    Because(String),
}

impl From<String> for Unwelcome {
    fn from(why: String) -> Unwelcome {
        Unwelcome::Because(why)
    }
}

pub(crate) enum Means {
    /// This process starts them here, over a nats-server of its own.
    Local(Server),
    /// By ssh, over a nats-server of this process's.
    Ssh(Server, Arc<SshMeans>),
    /// They stand by in a pool, and are called.
    Pool(Pool),
}

impl Means {
    /// The nats-server of this process.
    pub(crate) fn server(&mut self) -> Option<&mut Server> {
        match self {
            Means::Local(server) | Means::Ssh(server, _) => Some(server),
            Means::Pool(_) => None,
        }
    }
}

pub(crate) struct State {
    pub(crate) setup: Setup,
    pub(crate) run: String,
    pub(crate) means: Means,
    pub(crate) link: Link,
    pub(crate) taken: Receiver<Message>,
    /// The controller's signing key.
    pub(crate) key: Vec<u8>,
    pub(crate) seats: Vec<Seat>,
    pub(crate) core: Controller<Job>,
    pub(crate) refused: Option<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("run", &self.run)
            .field("agents", &self.seats.len())
            .finish_non_exhaustive()
    }
}

impl Fleet {
    /// Starts agents. To be called in a thread that lives as long as the fleet.
    pub fn start(setup: Setup) -> Result<Fleet, String> {
        let mut state = State::of(setup)?;
        state.assemble()?;
        Ok(Fleet { state: Mutex::new(state), live: Mutex::default() })
    }

    /// Applies a load as [`prony_load::run`] does, by all agents together; one of fewer connections than the agents have
    /// threads, by as many of them as have one each.
    pub fn load(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, LoadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let most = state.seats.len() as u32;
        let agents = (plan.connections / plan.threads.max(1)).clamp(1, most);
        check(plan, agents)?;
        state.assemble().map_err(LoadError::Fleet)?;
        state.load(plan, agents, control, &mut |trial, seats| {
            *self.live.lock().unwrap_or_else(PoisonError::into_inner) = trial.live(seats);
            observe(&trial.snapshot());
        })
    }

    /// How each agent stands; what a load's observer may ask.
    pub fn live(&self) -> Vec<LiveAgent> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The process ids of its agents, in their order, and of its nats-server at last. Those of other machines are ssh's.
    pub fn pids(&self) -> Vec<u32> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let server = state.means.server().map(|server| server.pid());
        let agents = state.seats.iter().filter_map(|seat| seat.process.as_ref().map(AgentProcess::pid));
        agents.chain(server).collect()
    }
}

impl State {
    /// A controller, and no agents yet.
    fn of(setup: Setup) -> Result<State, String> {
        let (inputs, taken): (SyncSender<Message>, _) = sync_channel(INPUTS_MAX);
        let (run, means, address, key, peer) = match &setup.agents {
            Agents::Pool(pool, _) => {
                let keys = Keys::read(&setup.pool_key, Side::Controller)?;
                let address = pool.address(&setup.login)?;
                (pool.new_run()?, Means::Pool(pool.clone()), address, keys.private, keys.peer)
            }
            Agents::Local(_) | Agents::Ssh(_) => {
                let run = random_name()?;
                let (program, _) = server::find(&setup.installed)?;
                let server = Server::start(&setup.own, &program, &run, setup.agents.count(), &setup.cpus)?;
                let address = server.controller()?;
                let means = match &setup.agents {
                    Agents::Ssh(_) => {
                        let means = SshMeans::of(setup.own.clone(), &setup.agent_binaries, server.port())?;
                        Means::Ssh(server, Arc::new(means))
                    }
                    _ => Means::Local(server),
                };
                (run, means, address, new_key()?.0, Vec::new())
            }
        };
        let link = connect(&address, &format!("prony.{run}.up.*"), |message| message, inputs)?;
        let is_pool = matches!(means, Means::Pool(_));
        let seat = |(at, name): (usize, String)| Seat {
            key: peer.clone(),
            ..Seat::of(name, (!is_pool).then(|| at.to_string()))
        };
        let seats: Vec<Seat> = setup.agents.names().into_iter().enumerate().map(seat).collect();
        let core = Controller::of(seats.len(), monotonic_ns());
        Ok(State { setup, run, means, link, taken, key, seats, core, refused: None })
    }

    /// Takes a message of an agent's.
    pub(crate) fn hear(&mut self, (subject, bytes): &Message) -> Vec<Event<Piece>> {
        let Some(id) = subject.rsplit('.').next() else { return Vec::new() };
        let Some(agent) = self.seats.iter().position(|seat| seat.id.as_deref() == Some(id)) else {
            self.hear_stranger(id, bytes);
            return Vec::new();
        };
        let seat = &mut self.seats[agent];
        match Frame::of(bytes) {
            Some(Frame::Greeting(greeting)) => {
                match self.welcome(agent, greeting) {
                    // A stranger's is nobody's.
                    Ok(()) | Err(Unwelcome::Forged) => {}
                    Err(Unwelcome::Because(why)) => {
                        self.refused =
                            Some(format!("The agent {} is refused: {why}.", self.seats[agent].name));
                    }
                }
                Vec::new()
            }
            Some(Frame::Sealed(sealed)) => {
                let piece = seat.session.as_ref().and_then(|session| session.open(sealed));
                let text = piece.and_then(|piece| seat.joining.add(&piece));
                let said = text.and_then(|text| serde_json::from_slice::<FromAgent>(&text).ok());
                let Some(said) = said else { return Vec::new() };
                let (answer, events) = self.core.hear(monotonic_ns(), agent, said);
                if let Some(answer) = answer {
                    seat.leaves |= matches!(answer.order, Order::Leave);
                    if let Ok(text) = serde_json::to_vec(&answer) {
                        self.send(agent, &text);
                    }
                }
                events
            }
            None => Vec::new(),
        }
    }

    /// An agent that has no seat: one of a pool is given what is free, if it is one.
    fn hear_stranger(&mut self, id: &str, bytes: &[u8]) {
        let free = self.seats.iter().position(|seat| seat.id.is_none());
        let (Some(agent), Some(Frame::Greeting(greeting))) = (free, Frame::of(bytes)) else { return };
        let name = self.name_of_its_own(&greeting.name);
        self.seats[agent].id = Some(id.to_owned());
        match self.welcome(agent, greeting) {
            Ok(()) => self.seats[agent].name = name,
            Err(why) => {
                let why = match why {
                    Unwelcome::Forged => {
                        "its greeting is not signed by the key that goes with this controller's".to_owned()
                    }
                    Unwelcome::Because(why) => why,
                };
                self.seats[agent].id = None;
                self.refused = Some(format!("{name} was refused: {why}"));
            }
        }
    }

    /// A name that no other agent has.
    fn name_of_its_own(&self, name: &str) -> String {
        let plain: String =
            name.chars().filter(|c| c.is_alphanumeric() || "._-".contains(*c)).take(64).collect();
        let has = |name: &str| self.seats.iter().any(|seat| seat.id.is_some() && seat.name == name);
        let candidates = (2..).map(|nth| format!("{plain}-{nth}"));
        std::iter::once(plain.clone()).chain(candidates).find(|name| !has(name)).unwrap_or(plain)
    }

    /// Makes a session of an agent's greeting; the same greeting again has the same answer.
    fn welcome(&mut self, agent: usize, greeting: Greeting) -> Result<(), Unwelcome> {
        let seat = &mut self.seats[agent];
        let id = seat.id.clone().unwrap_or_default();
        let answer = match &seat.greeted {
            Some((before, answer)) if *before == greeting => answer.clone(),
            // One that is there is not replaced by whoever can write to its subject.
            Some(_) => return Ok(()),
            None => {
                let opening = Opening::new(Side::Controller, &channel(&self.run, &id))?;
                if !opening.is_genuine(&greeting, &seat.key) {
                    return Err(Unwelcome::Forged);
                }
                let answer = Frame::Greeting(opening.greeting(&self.key, "", &greeting.key)?).to_bytes();
                seat.session = Some(opening.agree(&greeting, &seat.key)?);
                seat.joining = Joining::default();
                seat.greeted = Some((greeting, answer.clone()));
                self.core.restore(agent, monotonic_ns());
                answer
            }
        };
        self.link.send(down(&self.run, &id), answer);
        Ok(())
    }

    fn send(&mut self, agent: usize, text: &[u8]) {
        let seat = &mut self.seats[agent];
        let subject = down(&self.run, seat.id.as_deref().unwrap_or_default());
        seat.messages += 1;
        // Sealing fails beyond 256 GiB; what is not sent is said again.
        for sealed in
            split(seat.messages, text).into_iter().filter_map(|piece| seat.session.as_mut()?.seal(piece).ok())
        {
            self.link.send(subject.clone(), Frame::Sealed(sealed).to_bytes());
        }
    }

    fn load(
        &mut self,
        plan: &Plan,
        agents: u32,
        control: &Control,
        observe: &mut dyn FnMut(&Trial<'_>, &[Seat]),
    ) -> Result<Measurement, LoadError> {
        let jobs = jobs(plan, agents, &self.setup.agents)?;
        // What was said between two loads is of none.
        while self.taken.try_recv().is_ok() {}
        self.core.begin(monotonic_ns(), jobs, PATIENCE_NS.saturating_add(nanoseconds(plan.timeout)));
        let mut trial = Trial::of(plan, agents as usize);
        let (mut observed, mut heard) = (Instant::now(), Instant::now());
        while !trial.is_over {
            let mut events = match self.taken.recv_timeout(LOOK_AT_LAST.saturating_sub(observed.elapsed())) {
                Ok(message) => {
                    heard = Instant::now();
                    self.hear(&message)
                }
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return Err(self.without_server()),
            };
            if observed.elapsed() >= LOOK_EVERY {
                observed = Instant::now();
                events.extend(self.core.look(monotonic_ns()));
                if heard.elapsed() > SILENT {
                    self.link.renew();
                }
                if self.means.server().is_some_and(|server| !server.is_running()) {
                    events.extend(self.core.cut_off(SERVER_ENDED));
                }
                if control.stop_asked() {
                    self.core.stop(monotonic_ns());
                    if trial.start_ns.is_none() {
                        return Err(LoadError::Interrupted);
                    }
                }
                observe(&trial, &self.seats[..agents as usize]);
            }
            for mut event in events {
                self.tell_why(&mut event);
                trial.take(event, &self.seats)?;
            }
        }
        let members = &self.seats[..agents as usize];
        let bound_ns = |agent| self.core.clock(agent).map_or(0, |clock| clock.bound_ns);
        let clocks: Vec<u64> = (0..members.len()).map(bound_ns).collect();
        trial.finish(members, &clocks, self.setup.flags.clone(), self.link.version(), control.stop_asked())
    }

    /// Adds to an agent's loss what it, or its ssh, said last.
    fn tell_why(&mut self, event: &mut Event<Piece>) {
        let Event::Lost { agent, why } = event else { return };
        if !self.link.is_connected() && matches!(self.means, Means::Pool(_)) {
            *why = format!("{why}, since the connection to the NATS server is lost");
            return;
        }
        let process = self.seats.get_mut(*agent).and_then(|seat| seat.process.as_mut());
        let Some(process) = process else { return };
        if process.is_running() {
            return;
        }
        let said = process.last_words();
        let said = said.trim_end_matches('.');
        let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
        *why = format!("{why}; its process had ended{said}");
    }

    fn without_server(&mut self) -> LoadError {
        LoadError::Fleet(
            "The connection to the fleet's nats-server has ended: run the load again.".to_owned(),
        )
    }
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

impl Drop for State {
    fn drop(&mut self) {
        // They ask how things stand four times a second, and are told that all they measured is here and that they may go.
        self.core.leave();
        let began = Instant::now();
        while self.seats.iter_mut().any(Seat::is_to_be_told) && began.elapsed() < LEAVE_TIMEOUT {
            if let Ok(message) = self.taken.recv_timeout(LOOK_EVERY) {
                self.hear(&message);
            }
        }
        self.link.flush();
        // All end at once, by the end of their standard input, and are waited for one by one.
        self.seats.iter_mut().filter_map(|seat| seat.process.as_mut()).for_each(AgentProcess::close);
    }
}
