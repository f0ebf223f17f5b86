//! Agents start, and are waited for.

use std::time::{Duration, Instant};

use crate::agents::Agents;
use crate::fleet::State;
use crate::job::Bootstrap;
use crate::local::LocalAgent;
use crate::session::new_key;
use crate::ssh::SshAgent;

/// How long agents have to be there, those left out to which the binary is copied.
const ASSEMBLE_TIMEOUT: Duration = Duration::from_secs(20);
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
            // It is killed, and has nothing to keep.
            AgentProcess::Local(_) => {}
            AgentProcess::Ssh(agent) => agent.close(),
        }
    }

    /// What it, or its ssh, said last.
    pub(crate) fn last_words(&mut self) -> String {
        match self {
            // Its standard error is this process's.
            AgentProcess::Local(_) => String::new(),
            AgentProcess::Ssh(agent) => agent.last_words(),
        }
    }

    /// Does what its start needs by now.
    fn proceed(&mut self, name: &str) -> Result<(), String> {
        match self {
            AgentProcess::Local(agent) => match agent.is_running() {
                true => Ok(()),
                false => Err(format!("The agent {name} ended before it was there.")),
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
        for agent in 0..self.seats.len() {
            let lost = self.core.lost().contains(&agent);
            let seat = &mut self.seats[agent];
            if lost || !seat.process.as_mut().is_some_and(AgentProcess::is_running) {
                self.start(agent)?;
            }
        }
        let mut began = Instant::now();
        while self.seats.iter().any(|seat| seat.session.is_none()) {
            let copies =
                self.seats.iter().any(|seat| seat.process.as_ref().is_some_and(AgentProcess::is_copying));
            if copies {
                began = Instant::now();
            } else if began.elapsed() > ASSEMBLE_TIMEOUT {
                return Err(self.missing());
            }
            if let Ok(message) = self.taken.recv_timeout(LOOK_EVERY) {
                self.hear(&message);
            }
            if let Some(why) = self.refused.take() {
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
        let (agent_key, public) = new_key()?;
        (seat.session, seat.greeted, seat.key) = (None, None, public);
        let address = self.server.agent(agent as u32);
        let bootstrap = Bootstrap {
            run: self.run.clone(),
            agent: agent as u32,
            url: address.url,
            user: address.user,
            password: address.password,
            controller_key: self.key.1.clone(),
            agent_key,
            allowed: self.setup.allowed.clone(),
        };
        seat.process = Some(match (&self.setup.agents, &self.ssh) {
            (Agents::Ssh(hosts), Some(means)) => {
                let host = hosts.get(agent).ok_or("an agent has no host")?;
                AgentProcess::Ssh(Box::new(SshAgent::start(means, host, bootstrap)?))
            }
            _ => AgentProcess::Local(LocalAgent::start(&self.setup.own, &bootstrap)?),
        });
        Ok(())
    }

    fn missing(&mut self) -> String {
        let all = self.seats.len();
        let mut names = Vec::new();
        for seat in self.seats.iter_mut().filter(|seat| seat.session.is_none()) {
            let said = seat.process.as_mut().map(AgentProcess::last_words).unwrap_or_default();
            let said = said.trim_end_matches('.');
            names.push(if said.is_empty() { seat.name.clone() } else { format!("{} ({said})", seat.name) });
        }
        format!(
            "Of {all} agents {} did not come within {} s: {}.",
            names.len(),
            ASSEMBLE_TIMEOUT.as_secs(),
            names.join(", ")
        )
    }
}
