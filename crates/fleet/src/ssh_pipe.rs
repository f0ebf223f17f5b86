//! An agent on another host that is spoken to over ssh's own standard input and output: one pipe, and no tunnel.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use prony_model::printable::harmless;

use crate::agent_binary::linux_name;
use crate::agents::SshHost;
use crate::ssh::{LINE_MAX_BYTES, SshMeans, copy_script, marked};

/// Lines that a login may print before the agent is there.
const LINES_MAX: usize = 1_000;
/// How long ssh has to end by itself once the agent's standard input has ended.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A pipe to an agent.
pub struct SshPipe {
    /// To it; it ends when this is dropped.
    pub to_agent: ChildStdin,
    /// From it.
    pub from_agent: BufReader<ChildStdout>,
    /// ssh, which is ended when this is dropped.
    pub ssh: SshProcess,
}

/// An ssh that runs.
pub struct SshProcess {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl SshProcess {
    /// What it, or the agent, said last on standard error.
    fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SshProcess {
    fn drop(&mut self) {
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < END_TIMEOUT {
            thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `prony ARGUMENTS` on a host, and copies the binary there where it is missing: `own`, or of `others` one for the
/// host's architecture. It must be called by a thread that lives as long as the pipe: ssh ends with it.
///
/// # Errors
/// A sentence.
pub fn open(own: PathBuf, others: &[PathBuf], host: &SshHost, arguments: &str) -> Result<SshPipe, String> {
    let means = SshMeans::of(own, others, 0)?;
    let mut was_copied = false;
    loop {
        let (mut pipe, words) = begin(&means, host, &means.run_script(arguments))?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["here"] => return Ok(pipe),
            ["missing", system, machine] if !was_copied => {
                drop(pipe.to_agent);
                let _ = pipe.ssh.child.wait();
                copy(&means, host, system, linux_name(machine))?;
                was_copied = true;
            }
            ["missing", ..] => {
                return Err(lacks(host, "Prony was copied to it and cannot be executed there", &pipe.ssh));
            }
            _ => return Err(lacks(host, "ssh ended before the agent was there", &pipe.ssh)),
        }
    }
}

fn lacks(host: &SshHost, what: &str, ssh: &SshProcess) -> String {
    let said = harmless(&ssh.said());
    let said = said.trim().trim_end_matches('.');
    let said = if said.is_empty() { "it did not say why" } else { said };
    format!("There is no agent on {}: {what} ({said}).", host.name)
}

/// ssh with this script, and the words of its first marked line; none where it ended before.
fn begin(means: &SshMeans, host: &SshHost, script: &str) -> Result<(SshPipe, Vec<String>), String> {
    let refused = |why: &str| format!("{} could not be started: {why}.", means.ssh.display());
    let mut child = means.ssh(host, &[], script).spawn().map_err(|e| refused(&e.to_string()))?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let said = Arc::<Mutex<String>>::default();
    let listens = errors.map(|errors| {
        let said = Arc::clone(&said);
        thread::spawn(move || keep_last_line(errors, &said))
    });
    let mut ssh = SshProcess { child, said };
    let (Some(to_agent), Some(output)) = (input, output) else { return Err(refused("it has no pipes")) };
    let mut from_agent = BufReader::new(output);
    let mut words = Vec::new();
    for _ in 0..LINES_MAX {
        let mut line = Vec::new();
        let read = from_agent.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            // It has ended: what it said of that is to be heard.
            let _ = ssh.child.wait();
            let _ = listens.map(thread::JoinHandle::join);
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

fn keep_last_line(from: ChildStderr, said: &Mutex<String>) {
    let mut from = BufReader::new(from);
    let mut bytes = Vec::new();
    while matches!(from.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut bytes), Ok(1..)) {
        let line = String::from_utf8_lossy(&bytes).trim().to_owned();
        bytes.clear();
        if !line.is_empty() {
            *said.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }
}

fn copy(means: &SshMeans, host: &SshHost, system: &str, machine: &str) -> Result<(), String> {
    let binary = means.binary(machine).filter(|_| system == "Linux").ok_or_else(|| {
        let what = harmless(&format!("it is a {system} machine of the architecture {machine}"));
        format!(
            "There is no agent on {}: {what}, for which this Prony is not; give one that is, --agent-binary FILE.",
            host.name
        )
    })?;
    let refused = |e: &dyn std::fmt::Display| format!("Prony could not be copied to {}: {e}.", host.name);
    let mut file = File::open(&binary.path).map_err(|e| refused(&e))?;
    let mut child = means.ssh(host, &[], &copy_script(binary)).spawn().map_err(|e| refused(&e))?;
    let (input, errors) = (child.stdin.take(), child.stderr.take());
    let ssh = SshProcess { child, said: Arc::default() };
    let said = Arc::clone(&ssh.said);
    let listens = errors.map(|errors| thread::spawn(move || keep_last_line(errors, &said)));
    // Where it breaks off, the script and its status say so.
    let _ = input.map(|mut input| std::io::copy(&mut file, &mut input));
    let mut ssh = ssh;
    let status = ssh.child.wait().map_err(|e| refused(&e))?;
    let _ = listens.map(thread::JoinHandle::join);
    if status.success() { Ok(()) } else { Err(lacks(host, "Prony could not be copied to it", &ssh)) }
}
