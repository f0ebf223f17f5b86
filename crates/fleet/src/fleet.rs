//! The controller's process: agents that are there, and loads that they apply as one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use prony_load::{Control, LoadError, Shard, Snapshot};
use prony_model::measurement::Measurement;
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

use crate::agents::Agents;
use crate::assemble::AgentProcess;
use crate::controller::{Controller, Event};
use crate::fragments::{Joining, split};
use crate::job::{Frame, FromAgent, Job, Piece, channel, down};
use crate::nats::{Link, Message, connect};
use crate::now_ns;
use crate::server::{self, Server, random_name};
use crate::session::{Greeting, Opening, Session, Side, new_key};
use crate::ssh::SshMeans;
use crate::suitable::check;
use crate::trial::Trial;

/// Messages that wait to be heard.
const INPUTS_MAX: usize = 4096;
/// How often the observer is called, and the clock looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How much longer than the plan's timeout agents may take to be ready.
const PATIENCE_NS: u64 = 15_000_000_000;

/// Agents that are there.
#[derive(Debug)]
pub struct Fleet {
    state: Mutex<State>,
}

/// What a fleet is to be.
#[derive(Debug)]
pub struct Setup {
    /// Its agents.
    pub agents: Agents,
    /// This binary.
    pub own: PathBuf,
    /// Where nats-server is if it is not on PATH.
    pub installed: PathBuf,
    /// This program for hosts of other architectures, or in place of this binary.
    pub agent_binaries: Vec<PathBuf>,
    /// What agents may load.
    pub allowed: Vec<SocketAddr>,
}

pub(crate) struct Seat {
    pub(crate) name: String,
    /// The public key of its agent.
    pub(crate) key: Vec<u8>,
    pub(crate) process: Option<AgentProcess>,
    pub(crate) session: Option<Session>,
    /// The greeting that the session was made of, and its answer.
    pub(crate) greeted: Option<(Greeting, Vec<u8>)>,
    joining: Joining,
    messages: u64,
}

impl Seat {
    fn of(name: String) -> Seat {
        Seat {
            name,
            key: Vec::new(),
            process: None,
            session: None,
            greeted: None,
            joining: Joining::default(),
            messages: 0,
        }
    }
}

pub(crate) struct State {
    pub(crate) setup: Setup,
    pub(crate) run: String,
    pub(crate) server: Server,
    pub(crate) ssh: Option<Arc<SshMeans>>,
    link: Link,
    pub(crate) taken: Receiver<Message>,
    /// The controller's signing key and its public half.
    pub(crate) key: (Vec<u8>, Vec<u8>),
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
    ///
    /// # Errors
    /// A sentence: no nats-server, or an agent that did not come.
    pub fn start(setup: Setup) -> Result<Fleet, String> {
        let mut state = State::of(setup)?;
        state.assemble()?;
        Ok(Fleet { state: Mutex::new(state) })
    }

    /// Applies a load as [`prony_load::run`] does, by all agents together; one of fewer connections than the agents have
    /// threads, by as many of them as have one each.
    ///
    /// # Errors
    /// As there; and where agents were lost before the load started, or before all had given a part of the window.
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
        state.load(plan, agents, control, observe)
    }

    /// The process ids of its agents, in their order, and of its nats-server at last. Those of other machines are ssh's.
    pub fn pids(&self) -> Vec<u32> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let agents = state.seats.iter().filter_map(|seat| seat.process.as_ref().map(AgentProcess::pid));
        agents.chain([state.server.pid()]).collect()
    }
}

impl State {
    /// A controller with a nats-server, and no agents yet.
    fn of(setup: Setup) -> Result<State, String> {
        let program = server::find(&setup.installed).ok_or_else(|| {
            format!(
                "A fleet needs nats-server, which is neither on PATH nor at {}: run `prony fleet install`, or install the \
                 package nats-server.",
                setup.installed.display()
            )
        })?;
        let names = setup.agents.names();
        let run = random_name()?;
        let server = Server::start(&setup.own, &program, &run, setup.agents.count())?;
        let ssh = match &setup.agents {
            Agents::Ssh(_) => {
                Some(Arc::new(SshMeans::of(setup.own.clone(), &setup.agent_binaries, server.port())?))
            }
            Agents::Local(_) => None,
        };
        let (inputs, taken): (SyncSender<Message>, _) = sync_channel(INPUTS_MAX);
        let link = connect(&server.controller(), &format!("prony.{run}.up.*"), |message| message, inputs)?;
        let seats: Vec<Seat> = names.into_iter().map(Seat::of).collect();
        let core = Controller::of(seats.len(), now_ns());
        Ok(State { setup, run, server, ssh, link, taken, key: new_key()?, seats, core, refused: None })
    }

    /// Takes a message of an agent's.
    pub(crate) fn hear(&mut self, (subject, bytes): &Message) -> Vec<Event<Piece>> {
        let agent = subject.rsplit('.').next().and_then(|agent| agent.parse::<usize>().ok());
        let Some((agent, seat)) = agent.and_then(|agent| Some((agent, self.seats.get_mut(agent)?))) else {
            return Vec::new();
        };
        let Some(frame) = seat.joining.add(bytes).and_then(|bytes| Frame::of(&bytes)) else {
            return Vec::new();
        };
        match frame {
            Frame::Greeting(greeting) => {
                if let Err(why) = self.welcome(agent, greeting) {
                    self.refused = Some(format!("The agent {} is refused: {why}.", self.seats[agent].name));
                }
                Vec::new()
            }
            Frame::Sealed(sealed) => {
                let open = seat.session.as_ref().and_then(|session| session.open(sealed));
                let said = open.and_then(|text| serde_json::from_slice::<FromAgent>(&text).ok());
                let Some(said) = said else { return Vec::new() };
                let (answer, events) = self.core.hear(now_ns(), agent, said);
                if let Some(answer) = answer {
                    let sealed = serde_json::to_vec(&answer).ok();
                    let sealed = sealed.zip(seat.session.as_mut()).and_then(|(text, s)| s.seal(text).ok());
                    if let Some(sealed) = sealed {
                        self.send(agent, &Frame::Sealed(sealed));
                    }
                }
                events
            }
        }
    }

    /// Makes a session of an agent's greeting; the same greeting again has the same answer.
    fn welcome(&mut self, agent: usize, greeting: Greeting) -> Result<(), String> {
        let seat = &mut self.seats[agent];
        let answer = match &seat.greeted {
            Some((before, answer)) if *before == greeting => answer.clone(),
            // One that is there is not replaced by whoever can write to its subject.
            Some(_) => return Ok(()),
            None => {
                let opening = Opening::new(Side::Controller, &channel(&self.run, agent as u32))?;
                let answer = Frame::Greeting(opening.greeting(&self.key.0, &greeting.key)?).to_bytes();
                seat.session = Some(opening.agree(&greeting, &seat.key)?);
                seat.greeted = Some((greeting, answer.clone()));
                self.core.restore(agent, now_ns());
                answer
            }
        };
        let subject = down(&self.run, agent as u32);
        split(0, &answer).into_iter().for_each(|piece| self.link.send(subject.clone(), piece));
        Ok(())
    }

    fn send(&mut self, agent: usize, frame: &Frame) {
        let subject = down(&self.run, agent as u32);
        self.seats[agent].messages += 1;
        for piece in split(self.seats[agent].messages, &frame.to_bytes()) {
            self.link.send(subject.clone(), piece);
        }
    }

    fn load(
        &mut self,
        plan: &Plan,
        agents: u32,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Measurement, LoadError> {
        let jobs = jobs(plan, agents, &self.setup.agents)?;
        // What was said between two loads is of none.
        while self.taken.try_recv().is_ok() {}
        self.core.begin(now_ns(), jobs, PATIENCE_NS.saturating_add(nanoseconds(plan.timeout)));
        let mut trial = Trial::of(plan, agents as usize);
        let mut observed = Instant::now();
        while !trial.is_over {
            let mut events = match self.taken.recv_timeout(LOOK_EVERY.saturating_sub(observed.elapsed())) {
                Ok(message) => self.hear(&message),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return Err(self.without_server()),
            };
            if observed.elapsed() >= LOOK_EVERY {
                observed = Instant::now();
                events.extend(self.core.look(now_ns()));
                if !self.server.is_running() {
                    events.extend(
                        self.core
                            .cut_off("the fleet's nats-server ended, and with it all connections to agents"),
                    );
                }
                if control.stop_asked() {
                    self.core.stop(now_ns());
                    if trial.start_ns.is_none() {
                        return Err(LoadError::Interrupted);
                    }
                }
                observe(&trial.snapshot());
            }
            for mut event in events {
                self.tell_why(&mut event);
                trial.take(event, &self.seats)?;
            }
        }
        let members = &self.seats[..agents as usize];
        let bound_ns = |agent| self.core.clock(agent).map_or(0, |clock| clock.bound_ns);
        let clocks: Vec<u64> = (0..members.len()).map(bound_ns).collect();
        trial.finish(members, &clocks, control.stop_asked())
    }

    /// Adds to an agent's loss what it, or its ssh, said last.
    fn tell_why(&mut self, event: &mut Event<Piece>) {
        let Event::Lost { agent, why } = event else { return };
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
        // All end at once, by the end of their standard input, and are waited for one by one.
        self.seats.iter_mut().filter_map(|seat| seat.process.as_mut()).for_each(AgentProcess::close);
    }
}
