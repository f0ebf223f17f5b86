//! An agent's process on this machine, or what is of it: the ssh to another host.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use prony_model::secret::names_asked_for;

use crate::agents::SshHost;
use crate::child::ChildHandle;
use crate::job::Bootstrap;
use crate::ssh::{SshMeans, SshStart};

pub const AGENT_ARGUMENT: &str = "agent";

/// It is ended when this is dropped.
pub(crate) enum AgentChild {
    Local(ChildHandle),
    Ssh { start: Box<SshStart>, is_here: bool, untold: Option<Bootstrap> },
}

impl AgentChild {
    pub(crate) fn local(own: &Path, bootstrap: &Bootstrap) -> Result<AgentChild, String> {
        let mut command = Command::new(own);
        // What the plan asked the environment for comes with the plan, sealed.
        for name in names_asked_for() {
            command.env_remove(name);
        }
        // A ctrl-C in the terminal is for the controller, which ends the load in order.
        command.arg(AGENT_ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let told = ChildHandle::start(command).and_then(|(mut child, _)| {
            child.say(&bootstrap.line()?)?;
            Ok(child)
        });
        told.map(AgentChild::Local).map_err(|e| format!("An agent could not be started: {e}."))
    }

    /// Starts ssh; [`AgentChild::proceed`] does the rest.
    pub(crate) fn ssh(
        means: &Arc<SshMeans>,
        host: &SshHost,
        bootstrap: Bootstrap,
    ) -> Result<AgentChild, String> {
        let start = Box::new(SshStart::begin(means, host, true, AGENT_ARGUMENT)?);
        Ok(AgentChild::Ssh { start, is_here: false, untold: Some(bootstrap) })
    }

    pub(crate) fn process(&mut self) -> &mut ChildHandle {
        match self {
            AgentChild::Local(child) => child,
            AgentChild::Ssh { start, .. } => start.ssh(),
        }
    }

    pub(crate) fn is_copying(&self) -> bool {
        matches!(self, AgentChild::Ssh { start, .. } if start.is_copying())
    }

    pub(crate) fn proceed(&mut self, name: &str) -> Result<(), String> {
        let AgentChild::Ssh { start, is_here, untold } = self else {
            let is_running = self.process().is_running();
            return is_running
                .then_some(())
                .ok_or_else(|| format!("The agent {name} ended before it was ready."));
        };
        if !*is_here {
            let Some(mut from_agent) = start.proceed()? else { return Ok(()) };
            *is_here = true;
            thread::spawn(move || io::copy(&mut from_agent, &mut io::sink()));
        }
        match (start.ssh().tunnel_port(), &mut *untold) {
            (Some(port), Some(bootstrap)) => {
                bootstrap.url = format!("nats://127.0.0.1:{port}");
                let told = bootstrap.line().and_then(|line| start.ssh().say(&line));
                *untold = None;
                told.map_err(|e| {
                    start.lacks(&format!("the controller's address could not be sent to it: {e}"))
                })
            }
            _ if start.ssh().is_running() => Ok(()),
            (_, None) => Err(start.lacks("the agent ended")),
            (None, Some(_)) => Err(start.lacks("ssh ended before the agent answered")),
        }
    }
}

impl Drop for AgentChild {
    fn drop(&mut self) {
        // An ssh that has not connected yet does not end with its standard input.
        if let AgentChild::Ssh { start, untold: Some(_), .. } = self {
            start.ssh().kill();
        }
    }
}
