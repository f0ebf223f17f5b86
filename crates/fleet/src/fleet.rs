//! The controller's process: agents that are there, and loads that they apply as one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use prony_load::{Control, LoadError, Shard, Snapshot};
use prony_model::fleet::AGENTS_MAX;
use prony_model::measurement::Measurement;
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

use crate::controller::{Controller, Event};
use crate::fragments::{Joining, split};
use crate::job::{Bootstrap, Frame, FromAgent, Job, Piece, channel, down};
use crate::local::LocalAgent;
use crate::nats::{Link, Message, connect};
use crate::now_ns;
use crate::server::{self, Server, random_name};
use crate::session::{Greeting, Opening, Session, Side, new_key};
use crate::suitable::check;
use crate::trial::Trial;

/// Messages that wait to be heard.
const INPUTS_MAX: usize = 4096;
/// How often the observer is called, and the clock looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long agents have to be there.
const ASSEMBLE_TIMEOUT: Duration = Duration::from_secs(20);
/// How much longer than the plan's timeout agents may take to be ready.
const PATIENCE_NS: u64 = 15_000_000_000;

/// What `--fleet` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agents {
    /// So many processes on this machine.
    Local(u32),
}

impl std::str::FromStr for Agents {
    type Err = String;

    fn from_str(text: &str) -> Result<Agents, String> {
        let wrong = || format!("--fleet {text:?} is no fleet: write local:N, with 1 to {AGENTS_MAX} agents.");
        let count = text.strip_prefix("local:").and_then(|count| count.parse().ok());
        count.filter(|count| (1..=AGENTS_MAX).contains(count)).map(Agents::Local).ok_or_else(wrong)
    }
}

/// Agents that are there.
#[derive(Debug)]
pub struct Fleet {
    state: Mutex<State>,
}

pub(crate) struct Seat {
    pub(crate) name: String,
    key: (Vec<u8>, Vec<u8>),
    process: Option<LocalAgent>,
    session: Option<Session>,
    /// The greeting that the session was made of, and its answer.
    greeted: Option<(Greeting, Vec<u8>)>,
    joining: Joining,
    messages: u64,
}

struct State {
    run: String,
    own: PathBuf,
    server: Server,
    link: Link,
    taken: Receiver<Message>,
    key: (Vec<u8>, Vec<u8>),
    allowed: Vec<SocketAddr>,
    seats: Vec<Seat>,
    core: Controller<Job>,
    refused: Option<String>,
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
    /// Starts agents for loads of these addresses. `own` is this binary, `installed` where nats-server is if it is not on
    /// PATH. To be called in a thread that lives as long as the fleet.
    ///
    /// # Errors
    /// A sentence: no nats-server, or an agent that did not come.
    pub fn start(
        agents: &Agents,
        own: &Path,
        installed: &Path,
        allowed: Vec<SocketAddr>,
    ) -> Result<Fleet, String> {
        let Agents::Local(count) = agents;
        let program = server::find(installed).ok_or_else(|| {
            format!(
                "A fleet needs nats-server, which is neither on PATH nor at {}: run `prony fleet install`, or install the \
                 package nats-server.",
                installed.display()
            )
        })?;
        let run = random_name()?;
        let server = Server::start(own, &program, &run, *count)?;
        let (inputs, taken): (SyncSender<Message>, _) = sync_channel(INPUTS_MAX);
        let link = connect(&server.controller(), &format!("prony.{run}.up.*"), |message| message, inputs)?;
        let seat = |agent: u32| -> Result<Seat, String> {
            Ok(Seat {
                name: format!("local-{}", agent + 1),
                key: new_key()?,
                process: None,
                session: None,
                greeted: None,
                joining: Joining::default(),
                messages: 0,
            })
        };
        let seats: Vec<Seat> = (0..*count).map(seat).collect::<Result<_, _>>()?;
        let core = Controller::of(seats.len(), now_ns());
        let key = new_key()?;
        let mut state =
            State { run, own: own.to_owned(), server, link, taken, key, allowed, seats, core, refused: None };
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

    /// The process ids of its agents, in their order, and of its nats-server at last.
    pub fn pids(&self) -> Vec<u32> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let agents = state.seats.iter().filter_map(|seat| seat.process.as_ref().map(LocalAgent::pid));
        agents.chain([state.server.pid()]).collect()
    }
}

impl State {
    /// Starts the agents that are not there, and waits for them.
    fn assemble(&mut self) -> Result<(), String> {
        for agent in 0..self.seats.len() {
            let lost = self.core.lost().contains(&agent);
            let seat = &mut self.seats[agent];
            if !lost && seat.process.as_mut().is_some_and(LocalAgent::is_running) {
                continue;
            }
            // A process that is stopped is ended before another has its place.
            seat.process = None;
            (seat.session, seat.greeted, seat.key) = (None, None, new_key()?);
            let address = self.server.agent(agent as u32);
            seat.process = Some(LocalAgent::start(
                &self.own,
                &Bootstrap {
                    run: self.run.clone(),
                    agent: agent as u32,
                    url: address.url,
                    user: address.user,
                    password: address.password,
                    controller_key: self.key.1.clone(),
                    agent_key: seat.key.0.clone(),
                    allowed: self.allowed.clone(),
                },
            )?);
        }
        let began = Instant::now();
        while self.seats.iter().any(|seat| seat.session.is_none()) {
            if began.elapsed() > ASSEMBLE_TIMEOUT {
                let missing = self.seats.iter().filter(|seat| seat.session.is_none());
                let names: Vec<&str> = missing.map(|seat| seat.name.as_str()).collect();
                return Err(format!(
                    "Of {} agents {} did not come within {} s: {}.",
                    self.seats.len(),
                    names.len(),
                    ASSEMBLE_TIMEOUT.as_secs(),
                    names.join(", ")
                ));
            }
            if let Ok(message) = self.taken.recv_timeout(LOOK_EVERY) {
                self.hear(&message);
            }
            if let Some(why) = self.refused.take() {
                return Err(why);
            }
            for seat in &mut self.seats {
                if seat.session.is_none() && !seat.process.as_mut().is_some_and(LocalAgent::is_running) {
                    return Err(format!("The agent {} ended before it was there.", seat.name));
                }
            }
        }
        Ok(())
    }

    /// Takes a message of an agent's.
    fn hear(&mut self, (subject, bytes): &Message) -> Vec<Event<Piece>> {
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
                seat.session = Some(opening.agree(&greeting, &seat.key.1)?);
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
        let text =
            String::from_utf8(plan.to_wire()?).map_err(|_| LoadError::Internal("a plan is no text"))?;
        let shard =
            |agent| Shard { first: agent * plan.threads, count: plan.threads, of: agents * plan.threads };
        let jobs = (0..agents).map(|agent| Job { plan: text.clone(), shard: shard(agent) }).collect();
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
                if control.stop_asked() {
                    self.core.stop(now_ns());
                    if trial.start_ns.is_none() {
                        return Err(LoadError::Interrupted);
                    }
                }
                observe(&trial.snapshot());
            }
            for event in events {
                trial.take(event, &self.seats)?;
            }
        }
        let members = &self.seats[..agents as usize];
        let bound_ns = |agent| self.core.clock(agent).map_or(0, |clock| clock.bound_ns);
        let clocks: Vec<u64> = (0..members.len()).map(bound_ns).collect();
        trial.finish(members, &clocks, control.stop_asked())
    }

    fn without_server(&mut self) -> LoadError {
        LoadError::Fleet(
            "The connection to the fleet's nats-server has ended: run the load again.".to_owned(),
        )
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.core.leave();
        // Whoever does not hear it ends with its standard input.
        for seat in &mut self.seats {
            seat.process = None;
        }
    }
}
