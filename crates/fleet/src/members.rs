//! The agents of a fleet, as their controller has them: they start, agree on keys, are heard, and are told to go.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use prony_host::monotonic_ns;

use crate::agent_child::AgentChild;
use crate::agents::Agents;
use crate::controller::{Controller, Event};
use crate::fleet::Setup;
use crate::job::{Bootstrap, Frame, FromAgent, Job, Piece, channel, down};
use crate::keys::Keys;
use crate::nats::{Link, Message, connect};
use crate::pool::{self, Pool};
use crate::pool_agent::wall_s;
use crate::protocol::Order;
use crate::sealed::SealedMessages;
use crate::server::{self, Server, random_name};
use crate::session::{Greeting, Opening, Side, new_key, public_key};
use crate::ssh::SshMeans;

const INPUTS_MAX: usize = 4096;
/// How long agents have to be there, those left out to which the binary is copied.
const ASSEMBLE_TIMEOUT: Duration = Duration::from_secs(20);
const CALL_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked whether they are there, or have heard that they may go.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long an agent of a pool has to hear that it is free again.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) enum Transport {
    Local(Server),
    Ssh(Server, Arc<SshMeans>),
    Pool(Pool),
}

impl Transport {
    pub(crate) fn server(&mut self) -> Option<&mut Server> {
        match self {
            Transport::Local(server) | Transport::Ssh(server, _) => Some(server),
            Transport::Pool(_) => None,
        }
    }

    fn is_pool(&self) -> bool {
        matches!(self, Transport::Pool(_))
    }
}

#[derive(Default)]
pub(crate) struct AgentSlot {
    pub(crate) name: String,
    /// Its agent, as subjects name it; `None`: an agent of a pool that did not come yet.
    id: Option<String>,
    key: Vec<u8>,
    pub(crate) child: Option<AgentChild>,
    session: Option<SealedMessages>,
    /// The greeting that the session was made of, and its answer.
    greeted: Option<(Greeting, Vec<u8>)>,
    leaves: bool,
}

impl AgentSlot {
    /// Whether it lives, and does not know yet that it may go.
    fn is_to_be_told(&mut self) -> bool {
        let lives = self.child.as_mut().is_none_or(|child| child.process().is_running());
        self.session.is_some() && !self.leaves && lives
    }
}

enum Unwelcome {
    Forged,
    Because(String),
}

impl From<String> for Unwelcome {
    fn from(why: String) -> Unwelcome {
        Unwelcome::Because(why)
    }
}

pub(crate) struct Members {
    pub(crate) setup: Setup,
    run: String,
    pub(crate) transport: Transport,
    pub(crate) link: Link,
    pub(crate) taken: Receiver<Message>,
    key: Vec<u8>,
    pub(crate) slots: Vec<AgentSlot>,
    pub(crate) core: Controller<Job>,
    refused: Option<String>,
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members")
            .field("run", &self.run)
            .field("agents", &self.slots.len())
            .finish_non_exhaustive()
    }
}

impl Members {
    pub(crate) fn of(setup: Setup) -> Result<Members, String> {
        let (inputs, taken) = sync_channel(INPUTS_MAX);
        let (run, transport, address, key, peer) = match &setup.agents {
            Agents::Pool(pool, _) => {
                let keys = Keys::read(&setup.pool_key, Side::Controller)?;
                let address = pool.address(&setup.login)?;
                (pool.new_run()?, Transport::Pool(pool.clone()), address, keys.private, keys.peer)
            }
            Agents::Local(_) | Agents::Ssh(_) => {
                let run = random_name()?;
                let (program, _) = server::find(&setup.installed)?;
                let server = Server::start(&setup.own, &program, &run, setup.agents.count(), &setup.cpus)?;
                let address = server.controller()?;
                let transport = match &setup.agents {
                    Agents::Ssh(_) => {
                        let means = SshMeans::of(setup.own.clone(), &setup.agent_binaries, server.port())?;
                        Transport::Ssh(server, Arc::new(means))
                    }
                    _ => Transport::Local(server),
                };
                (run, transport, address, new_key()?.0, Vec::new())
            }
        };
        let link = connect(&address, &format!("prony.{run}.up.*"), |message| message, inputs)?;
        let is_pool = transport.is_pool();
        let slot = |(at, name): (usize, String)| AgentSlot {
            key: peer.clone(),
            name,
            id: (!is_pool).then(|| at.to_string()),
            ..AgentSlot::default()
        };
        let slots: Vec<AgentSlot> = setup.agents.names().into_iter().enumerate().map(slot).collect();
        let core = Controller::of(slots.len(), monotonic_ns());
        Ok(Members { setup, run, transport, link, taken, key, slots, core, refused: None })
    }

    pub(crate) fn hear(&mut self, (subject, bytes): &Message) -> Vec<Event<Piece>> {
        let Some(id) = subject.rsplit('.').next() else { return Vec::new() };
        let Some(agent) = self.slots.iter().position(|slot| slot.id.as_deref() == Some(id)) else {
            self.hear_stranger(id, bytes);
            return Vec::new();
        };
        let slot = &mut self.slots[agent];
        match Frame::of(bytes) {
            Some(Frame::Greeting(greeting)) => {
                match self.welcome(agent, greeting) {
                    // A stranger's is nobody's.
                    Ok(()) | Err(Unwelcome::Forged) => {}
                    Err(Unwelcome::Because(why)) => {
                        self.refused =
                            Some(format!("The agent {} is refused: {why}.", self.slots[agent].name));
                    }
                }
                Vec::new()
            }
            Some(Frame::Sealed(sealed)) => {
                let said = slot.session.as_mut().and_then(|session| session.open::<FromAgent>(sealed));
                let Some(said) = said else { return Vec::new() };
                let (answer, events) = self.core.hear(monotonic_ns(), agent, said);
                if let Some(answer) = answer {
                    slot.leaves |= matches!(answer.order, Order::Leave);
                    let subject = down(&self.run, id);
                    for frame in slot.session.iter_mut().flat_map(|session| session.seal(&answer)) {
                        self.link.send(subject.clone(), frame);
                    }
                }
                events
            }
            None => Vec::new(),
        }
    }

    /// An agent that has no slot: one of a pool is given what is free, if it is one.
    fn hear_stranger(&mut self, id: &str, bytes: &[u8]) {
        let free = self.slots.iter().position(|slot| slot.id.is_none());
        let (Some(agent), Some(Frame::Greeting(greeting))) = (free, Frame::of(bytes)) else { return };
        let name = self.name_of_its_own(&greeting.name);
        self.slots[agent].id = Some(id.to_owned());
        match self.welcome(agent, greeting) {
            Ok(()) => self.slots[agent].name = name,
            Err(why) => {
                let why = match why {
                    Unwelcome::Forged => {
                        "its greeting is not signed by the key that goes with this controller's".to_owned()
                    }
                    Unwelcome::Because(why) => why,
                };
                self.slots[agent].id = None;
                self.refused = Some(format!("{name} was refused: {why}"));
            }
        }
    }

    fn name_of_its_own(&self, name: &str) -> String {
        let plain: String =
            name.chars().filter(|c| c.is_alphanumeric() || "._-".contains(*c)).take(64).collect();
        let has = |name: &str| self.slots.iter().any(|slot| slot.id.is_some() && slot.name == name);
        let candidates = (2..).map(|nth| format!("{plain}-{nth}"));
        std::iter::once(plain.clone()).chain(candidates).find(|name| !has(name)).unwrap_or(plain)
    }

    /// Makes a session of an agent's greeting; the same greeting again has the same answer.
    fn welcome(&mut self, agent: usize, greeting: Greeting) -> Result<(), Unwelcome> {
        let slot = &mut self.slots[agent];
        let id = slot.id.clone().unwrap_or_default();
        let answer = match &slot.greeted {
            Some((before, answer)) if *before == greeting => answer.clone(),
            // One that is there is not replaced by whoever can write to its subject.
            Some(_) => return Ok(()),
            None => {
                let opening = Opening::new(Side::Controller, &channel(&self.run, &id))?;
                if !opening.is_genuine(&greeting, &slot.key) {
                    return Err(Unwelcome::Forged);
                }
                let answer = Frame::Greeting(opening.greeting(&self.key, "", &greeting.key)?).to_bytes();
                slot.session = Some(SealedMessages::of(opening.agree(&greeting, &slot.key)?));
                slot.greeted = Some((greeting, answer.clone()));
                self.core.restore(agent, monotonic_ns());
                answer
            }
        };
        self.link.send(down(&self.run, &id), answer);
        Ok(())
    }

    pub(crate) fn assemble(&mut self) -> Result<(), String> {
        if self.transport.server().is_some_and(|server| !server.is_running()) {
            return Err("The fleet's nats-server has ended: run the load again.".to_owned());
        }
        for agent in 0..self.slots.len() {
            let lost = self.core.lost().contains(&agent);
            let slot = &mut self.slots[agent];
            let is_there = match self.transport {
                Transport::Pool(_) => slot.session.is_some(),
                _ => slot.child.as_mut().is_some_and(|child| child.process().is_running()),
            };
            if lost || !is_there {
                self.start(agent)?;
            }
        }
        let mut began = Instant::now();
        let call = match self.transport {
            Transport::Pool(_) => Some(pool::call(&self.run, &self.key, wall_s())?),
            _ => None,
        };
        let mut called: Option<Instant> = None;
        while self.slots.iter().any(|slot| slot.session.is_none()) {
            let copies =
                self.slots.iter().any(|slot| slot.child.as_ref().is_some_and(AgentChild::is_copying));
            if copies {
                began = Instant::now();
            } else if began.elapsed() > ASSEMBLE_TIMEOUT {
                return Err(self.missing());
            }
            if let (Transport::Pool(pool), Some(call)) = (&self.transport, &call)
                && called.is_none_or(|called| called.elapsed() > CALL_EVERY)
            {
                called = Some(Instant::now());
                self.link.send(pool.calls(), call.clone());
            }
            if let Ok(message) = self.taken.recv_timeout(LOOK_EVERY) {
                self.hear(&message);
            }
            // Whoever stands in a pool may be of another version; whom this controller started may not.
            if !self.transport.is_pool()
                && let Some(why) = self.refused.take()
            {
                return Err(why);
            }
            for slot in self.slots.iter_mut().filter(|slot| slot.session.is_none()) {
                if let Some(child) = &mut slot.child {
                    child.proceed(&slot.name)?;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, agent: usize) -> Result<(), String> {
        let slot = &mut self.slots[agent];
        // A process that is stopped is ended before another has its place.
        slot.child = None;
        (slot.session, slot.greeted) = (None, None);
        let (ssh, server) = match &self.transport {
            Transport::Pool(_) => {
                slot.id = None;
                return Ok(());
            }
            Transport::Local(server) => (None, server),
            Transport::Ssh(server, ssh) => (Some(ssh), server),
        };
        let (agent_key, public) = new_key()?;
        slot.key = public;
        let (url, nkey) = server.agent(agent as u32)?;
        let bootstrap = Bootstrap {
            run: self.run.clone(),
            agent: agent.to_string(),
            url,
            nkey,
            cpus: self.setup.cpus.clone(),
            controller_key: public_key(&self.key)?,
            agent_key,
            allowed: self.setup.allowed.clone(),
        };
        slot.child = Some(match (&self.setup.agents, ssh) {
            (Agents::Ssh(hosts), Some(means)) => {
                let host = hosts.get(agent).ok_or("an agent has no host")?;
                AgentChild::ssh(means, host, bootstrap)?
            }
            _ => AgentChild::local(&self.setup.own, &bootstrap)?,
        });
        Ok(())
    }

    fn missing_of_pool(&self, pool: &Pool) -> String {
        let (all, missing) =
            (self.slots.len(), self.slots.iter().filter(|slot| slot.session.is_none()).count());
        let refused = self.refused.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        format!(
            "Of {all} agents, {missing} did not answer within {} s in the pool {} at {}{refused}: start them \
             with `prony agent --pool` and the key that goes with this controller's.",
            ASSEMBLE_TIMEOUT.as_secs(),
            pool.name,
            pool.url,
        )
    }

    fn missing(&mut self) -> String {
        if let Transport::Pool(pool) = &self.transport {
            return self.missing_of_pool(pool);
        }
        let all = self.slots.len();
        let mut names = Vec::new();
        for slot in self.slots.iter_mut().filter(|slot| slot.session.is_none()) {
            let said = slot.child.as_mut().map(|child| child.process().last_words()).unwrap_or_default();
            names.push(if said.is_empty() { slot.name.clone() } else { format!("{} ({said})", slot.name) });
        }
        format!(
            "Of {all} agents, {} did not answer within {} s: {}.",
            names.len(),
            ASSEMBLE_TIMEOUT.as_secs(),
            names.join(", ")
        )
    }

    /// Adds to an agent's loss what it, or its ssh, said last.
    pub(crate) fn tell_why(&mut self, event: &mut Event<Piece>) {
        let Event::Lost { agent, why } = event else { return };
        if !self.link.is_connected() && self.transport.is_pool() {
            *why = format!("{why}, since the connection to the NATS server is lost");
            return;
        }
        let Some(child) = self.slots.get_mut(*agent).and_then(|slot| slot.child.as_mut()) else { return };
        let process = child.process();
        if process.is_running() {
            return;
        }
        let said = process.last_words();
        let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
        *why = format!("{why}; its process had ended{said}");
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // They ask how things stand four times a second, and are told that all they measured is here and that they may go.
        self.core.leave();
        let began = Instant::now();
        while self.slots.iter_mut().any(AgentSlot::is_to_be_told) && began.elapsed() < LEAVE_TIMEOUT {
            if let Ok(message) = self.taken.recv_timeout(LOOK_EVERY) {
                self.hear(&message);
            }
        }
        self.link.flush();
        // All end at once, by the end of their standard input, and are waited for one by one.
        for child in self.slots.iter_mut().filter_map(|slot| slot.child.as_mut()) {
            drop(child.process().take_input());
        }
    }
}
