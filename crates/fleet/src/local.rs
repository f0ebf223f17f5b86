//! An agent that is a process on this machine.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::job::Bootstrap;

/// The argument by which the binary becomes an agent.
pub const AGENT_ARGUMENT: &str = "agent";

/// A running agent; it is ended when this is dropped.
#[derive(Debug)]
pub struct LocalAgent {
    child: Child,
}

impl LocalAgent {
    /// Starts it by this binary, and tells it whom to serve.
    ///
    /// # Errors
    /// A sentence, where it cannot be started.
    pub fn start(own: &Path, bootstrap: &Bootstrap) -> Result<LocalAgent, String> {
        let refused = |why: String| format!("An agent could not be started: {why}.");
        let child = Command::new(own)
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

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for LocalAgent {
    fn drop(&mut self) {
        // Nothing of it is needed any more, and one that is stopped (SIGSTOP) reacts to nothing else.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
