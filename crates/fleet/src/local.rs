//! An agent that is a process on this machine.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prony_model::secret::names_asked_for;

use crate::job::Bootstrap;

/// The argument by which the binary becomes an agent.
pub const AGENT_ARGUMENT: &str = "agent";

/// How long an agent may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running agent; it is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct LocalAgent {
    child: Child,
}

impl LocalAgent {
    /// Starts it by this binary, and tells it whom to serve.
    pub(crate) fn start(own: &Path, bootstrap: &Bootstrap) -> Result<LocalAgent, String> {
        let refused = |why: String| format!("An agent could not be started: {why}.");
        let mut command = Command::new(own);
        // What the plan asked the environment for comes with the plan, sealed.
        for name in names_asked_for() {
            command.env_remove(name);
        }
        let child = command
            .arg(AGENT_ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // A ctrl-C in the terminal is for the controller, which ends the load in order.
            .process_group(0)
            .spawn()
            .map_err(|e| refused(e.to_string()))?;
        let mut agent = LocalAgent { child };
        let line = serde_json::to_string(bootstrap).map_err(|e| refused(e.to_string()))? + "\n";
        let input =
            agent.child.stdin.as_mut().ok_or_else(|| refused("it has no standard input".to_owned()))?;
        input.write_all(line.as_bytes()).map_err(|e| refused(e.to_string()))?;
        Ok(agent)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends its standard input, so that it ends.
    pub(crate) fn close(&mut self) {
        drop(self.child.stdin.take());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for LocalAgent {
    fn drop(&mut self) {
        // It ends with its standard input; one that is stopped (SIGSTOP) does not, and is not waited for.
        self.close();
        let began = Instant::now();
        while self.is_running() && began.elapsed() < END_TIMEOUT {
            thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
