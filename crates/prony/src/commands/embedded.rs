//! The embedded target: a `prony target` of our own as a child process, so that its work is not charged to the client.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use prony_model::{Plan, Target};

use crate::failure::Failure;

/// A running embedded target; it ends when this is dropped, or this process dies.
#[derive(Debug)]
pub(crate) struct Embedded {
    child: Child,
}

impl Embedded {
    pub(crate) fn start_for(plan: &mut Plan) -> Result<Embedded, Failure> {
        let refused =
            |what: &str| Failure::not_measured(format!("The embedded target could not be started: {what}."));
        let mut child = std::env::current_exe()
            .and_then(|own| {
                Command::new(own)
                    // The load's workers need the other CPUs more.
                    .args(["target", "--port", "0", "--threads", "1", "--until-stdin-ends"])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
            })
            .map_err(|e| refused(&e.to_string()))?;
        let mut url = String::new();
        let read = child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut url));
        match read {
            Some(Ok(length)) if length > 0 => {
                let embedded = Embedded { child };
                plan.target = Target::parse(url.trim()).map_err(Failure::not_measured)?;
                Ok(embedded)
            }
            _ => {
                // Its own message is on stderr already.
                let _ = child.wait();
                Err(refused("it exited before it listened"))
            }
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // Its standard input ends, and with it the server; waiting leaves no zombie.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
