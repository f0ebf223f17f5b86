//! Agents start, and are waited for.

use std::time::{Duration, Instant};

use prony_model::printable::harmless;

use crate::agents::Agents;
use crate::fleet::{Means, State};
use crate::job::Bootstrap;
use crate::local::LocalAgent;
use crate::pool::{self, Pool};
use crate::session::{new_key, public_key};
use crate::ssh::SshAgent;
use crate::standing::wall_s;

/// How long agents have to be there, those left out to which the binary is copied.
const ASSEMBLE_TIMEOUT: Duration = Duration::from_secs(20);
/// How often a pool is called, for agents that come meanwhile.
const CALL_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked whether they are.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// An agent's process, or what is of it on this machine. It is ended when this is dropped.
pub(crate) enum AgentProcess {
    Local(LocalAgent),
    Ssh(Box<SshAgent>),
}

impl AgentProcess {
    pub(crate) fn pid(&self) -> u32 {
        match self {
            AgentProcess::Local(agent) => agent.pid(),
            AgentProcess::Ssh(agent) => agent.pid(),
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        match self {
            AgentProcess::Local(agent) => agent.is_running(),
            AgentProcess::Ssh(agent) => agent.is_running(),
        }
    }

    /// Ends its standard input, so that it ends.
    pub(crate) fn close(&mut self) {
        match self {
            AgentProcess::Local(agent) => agent.close(),
            AgentProcess::Ssh(agent) => agent.close(),
        }
    }

    /// What it, or its ssh, said last.
    pub(crate) fn last_words(&mut self) -> String {
        match self {
            // Its standard error is this process's.
            AgentProcess::Local(_) => String::new(),
            AgentProcess::Ssh(agent) => harmless(&agent.last_words()),
        }
    }

    /// Does what its start needs by now.
    fn proceed(&mut self, name: &str) -> Result<(), String> {
        match self {
            AgentProcess::Local(agent) => match agent.is_running() {
                true => Ok(()),
                false => Err(format!("The agent {name} ended before it was ready.")),
            },
            AgentProcess::Ssh(agent) => agent.proceed(),
        }
    }

    fn is_copying(&self) -> bool {
        matches!(self, AgentProcess::Ssh(agent) if agent.is_copying())
    }
}

impl State {
    /// Starts the agents that are not there, and waits for them.
    pub(crate) fn assemble(&mut self) -> Result<(), String> {
        if self.means.server().is_some_and(|server| !server.is_running()) {
            return Err("The fleet's nats-server has ended: run the load again.".to_owned());
        }
        for agent in 0..self.seats.len() {
            let lost = self.core.lost().contains(&agent);
            let seat = &mut self.seats[agent];
            let is_there = match self.means {
                Means::Pool(_) => seat.session.is_some(),
                _ => seat.process.as_mut().is_some_and(AgentProcess::is_running),
            };
            if lost || !is_there {
                self.start(agent)?;
            }
        }
        let mut began = Instant::now();
        let call = match self.means {
            Means::Pool(_) => Some(pool::call(&self.run, &self.key, wall_s())?),
            _ => None,
        };
        let mut called: Option<Instant> = None;
        while self.seats.iter().any(|seat| seat.session.is_none()) {
            let copies =
                self.seats.iter().any(|seat| seat.process.as_ref().is_some_and(AgentProcess::is_copying));
            if copies {
                began = Instant::now();
            } else if began.elapsed() > ASSEMBLE_TIMEOUT {
                return Err(self.missing());
            }
            if let (Means::Pool(pool), Some(call)) = (&self.means, &call)
                && called.is_none_or(|called| called.elapsed() > CALL_EVERY)
            {
                called = Some(Instant::now());
                self.link.send(pool.calls(), call.clone());
            }
            if let Ok(message) = self.taken.recv_timeout(LOOK_EVERY) {
                self.hear(&message);
            }
            // Whoever stands in a pool may be of another version; whom this controller started may not.
            if !matches!(self.means, Means::Pool(_))
                && let Some(why) = self.refused.take()
            {
                return Err(why);
            }
            for seat in self.seats.iter_mut().filter(|seat| seat.session.is_none()) {
                if let Some(process) = &mut seat.process {
                    process.proceed(&seat.name)?;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, agent: usize) -> Result<(), String> {
        let seat = &mut self.seats[agent];
        // A process that is stopped is ended before another has its place.
        seat.process = None;
        (seat.session, seat.greeted) = (None, None);
        let (ssh, server) = match &self.means {
            Means::Pool(_) => {
                seat.id = None;
                return Ok(());
            }
            Means::Local(server) => (None, server),
            Means::Ssh(server, ssh) => (Some(ssh), server),
        };
        let (agent_key, public) = new_key()?;
        seat.key = public;
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
        seat.process = Some(match (&self.setup.agents, ssh) {
            (Agents::Ssh(hosts), Some(means)) => {
                let host = hosts.get(agent).ok_or("an agent has no host")?;
                AgentProcess::Ssh(Box::new(SshAgent::start(means, host, bootstrap)?))
            }
            _ => AgentProcess::Local(LocalAgent::start(&self.setup.own, &bootstrap)?),
        });
        Ok(())
    }

    fn missing_of_pool(&self, pool: &Pool) -> String {
        let (all, missing) =
            (self.seats.len(), self.seats.iter().filter(|seat| seat.session.is_none()).count());
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
        if let Means::Pool(pool) = &self.means {
            return self.missing_of_pool(pool);
        }
        let all = self.seats.len();
        let mut names = Vec::new();
        for seat in self.seats.iter_mut().filter(|seat| seat.session.is_none()) {
            let said = seat.process.as_mut().map(AgentProcess::last_words).unwrap_or_default();
            let said = said.trim_end_matches('.');
            names.push(if said.is_empty() { seat.name.clone() } else { format!("{} ({said})", seat.name) });
        }
        format!(
            "Of {all} agents, {} did not answer within {} s: {}.",
            names.len(),
            ASSEMBLE_TIMEOUT.as_secs(),
            names.join(", ")
        )
    }
}
