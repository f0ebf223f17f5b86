//! An agent on another host that is spoken to over ssh's own standard input and output: one pipe, and no tunnel.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::thread;

use crate::agents::SshHost;
pub use crate::child::ChildHandle;
use crate::child::LOOK_EVERY;
use crate::ssh::{SshMeans, SshStart};

pub struct SshPipe {
    /// To it; it ends when this is dropped.
    pub to_agent: ChildStdin,
    pub from_agent: BufReader<ChildStdout>,
    pub ssh: ChildHandle,
}

/// Starts `prony ARGUMENTS` on a host, and copies the binary there where it is missing: `own`, or of `others` one for the
/// host's architecture. It must be called by a thread that lives as long as the pipe: ssh ends with it.
pub fn open(own: PathBuf, others: &[PathBuf], host: &SshHost, arguments: &str) -> Result<SshPipe, String> {
    let means = Arc::new(SshMeans::of(own, others, 0)?);
    let mut start = SshStart::begin(&means, host, false, arguments)?;
    let from_agent = loop {
        match start.proceed()? {
            Some(from_agent) => break from_agent,
            None => thread::sleep(LOOK_EVERY),
        }
    };
    let to_agent = start.ssh().take_input().ok_or_else(|| start.lacks("it has no standard input"))?;
    Ok(SshPipe { to_agent, from_agent, ssh: start.into_ssh() })
}
