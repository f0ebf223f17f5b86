//! An agent on another host that is spoken to over ssh's own standard input and output: one pipe, and no tunnel.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout};

use crate::agents::SshHost;
use crate::ssh::{LINE_MAX_BYTES, SshMeans, marked};
pub use crate::ssh_process::SshProcess;
use crate::ssh_process::{Copying, lacks};

/// Lines that a login may print before the agent is there.
const LINES_MAX: usize = 1_000;

pub struct SshPipe {
    /// To it; it ends when this is dropped.
    pub to_agent: ChildStdin,
    pub from_agent: BufReader<ChildStdout>,
    /// ssh, which is ended when this is dropped.
    pub ssh: SshProcess,
}

/// Starts `prony ARGUMENTS` on a host, and copies the binary there where it is missing: `own`, or of `others` one for the
/// host's architecture. It must be called by a thread that lives as long as the pipe: ssh ends with it.
pub fn open(own: PathBuf, others: &[PathBuf], host: &SshHost, arguments: &str) -> Result<SshPipe, String> {
    let means = SshMeans::of(own, others, 0)?;
    let mut was_copied = false;
    loop {
        let (mut pipe, words) = begin(&means, host, &means.run_script(arguments))?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["here"] => return Ok(pipe),
            ["missing", system, machine] if !was_copied => {
                drop(pipe);
                Copying::start(&means, host, system, machine)?.wait()?;
                was_copied = true;
            }
            ["missing", ..] => {
                let what = "Prony was copied to it and cannot be executed there";
                return Err(lacks(host, what, &pipe.ssh.last_words()));
            }
            _ => return Err(lacks(host, "ssh ended before the agent answered", &pipe.ssh.last_words())),
        }
    }
}

/// ssh with this script, and the words of its first marked line; none where it ended before.
fn begin(means: &SshMeans, host: &SshHost, script: &str) -> Result<(SshPipe, Vec<String>), String> {
    let started = SshProcess::start(means.ssh(host, &[], script));
    let (mut ssh, to_agent, output) =
        started.map_err(|why| format!("{} could not be started: {why}.", means.ssh.display()))?;
    let mut from_agent = BufReader::new(output);
    let mut words = Vec::new();
    for _ in 0..LINES_MAX {
        let mut line = Vec::new();
        let read = from_agent.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            // It has ended, or is about to.
            ssh.end();
            break;
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        words = marked(&line).into_iter().map(str::to_owned).collect();
        if !words.is_empty() {
            break;
        }
    }
    Ok((SshPipe { to_agent, from_agent, ssh }, words))
}
