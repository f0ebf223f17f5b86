//! An ssh that runs, what it says, and one that copies this program to a host.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use prony_model::printable::harmless;

use crate::agent_binary::linux_name;
use crate::agents::SshHost;
use crate::ssh::{LINE_MAX_BYTES, SshMeans, copy_script};

/// How long ssh has to end by itself once the agent's standard input has ended.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A copy that takes longer is given up.
const COPY_TIMEOUT: Duration = Duration::from_secs(600);

/// An ssh that runs; it is ended when this is dropped.
pub struct SshProcess {
    child: Child,
    said: Arc<Mutex<String>>,
    listens: Option<JoinHandle<()>>,
}

impl SshProcess {
    /// Starts it; and what goes to it and comes from it.
    pub(crate) fn start(mut command: Command) -> io::Result<(SshProcess, ChildStdin, ChildStdout)> {
        let mut child = command.spawn()?;
        let (to, from, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let said = Arc::<Mutex<String>>::default();
        let keeps = Arc::clone(&said);
        let listens = errors.map(|errors| thread::spawn(move || keep_last_line(errors, &keeps)));
        let ssh = SshProcess { child, said, listens };
        let (to, from) = to.zip(from).ok_or_else(|| io::Error::other("it has no pipes"))?;
        Ok((ssh, to, from))
    }

    /// What it, or the agent, said last on standard error. Of one that has ended all is heard first, unless somebody else holds
    /// its end of the pipe.
    pub(crate) fn last_words(&mut self) -> String {
        let hears = |ssh: &mut SshProcess| {
            matches!(ssh.child.try_wait(), Ok(Some(_)))
                && ssh.listens.as_ref().is_some_and(|thread| !thread.is_finished())
        };
        let began = Instant::now();
        while hears(self) && began.elapsed() < END_TIMEOUT {
            thread::sleep(LOOK_EVERY);
        }
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits a moment for its end, and ends it where it does not.
    pub(crate) fn end(&mut self) {
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < END_TIMEOUT {
            thread::sleep(LOOK_EVERY);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for SshProcess {
    fn drop(&mut self) {
        self.end();
    }
}

fn keep_last_line(from: impl Read, said: &Mutex<String>) {
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

/// Why there is no agent, with what ssh said last.
pub(crate) fn lacks(host: &SshHost, what: &str, said: &str) -> String {
    let said = harmless(said);
    let said = said.trim().trim_end_matches('.');
    let said = if said.is_empty() { "it did not say why" } else { said };
    format!("No agent could be started on {}: {what} ({said}).", host.name)
}

/// The program on its way to a host that lacks it; it is given up when this is dropped.
pub(crate) struct Copying {
    host: SshHost,
    ssh: SshProcess,
    since: Instant,
    patience: Duration,
}

impl Copying {
    /// Begins to copy what runs on such a machine, as `uname -s` and `uname -m` call it.
    pub(crate) fn start(
        means: &SshMeans,
        host: &SshHost,
        system: &str,
        machine: &str,
    ) -> Result<Copying, String> {
        let machine = linux_name(machine);
        let binary = means.binary(machine).filter(|_| system == "Linux").ok_or_else(|| {
            let what = harmless(&format!("it is a {system} machine of the architecture {machine}"));
            format!(
                "No agent could be started on {}: {what}, and this binary of Prony is for another. Give one \
                 for it: --agent-binary FILE.",
                host.name
            )
        })?;
        let refused = |e: io::Error| format!("Prony could not be copied to {}: {e}.", host.name);
        let mut file = File::open(&binary.path).map_err(refused)?;
        let (ssh, mut to, mut from) =
            SshProcess::start(means.ssh(host, &[], &copy_script(binary))).map_err(refused)?;
        // Where it breaks off, the script and its status say so.
        thread::spawn(move || io::copy(&mut file, &mut to));
        // Whatever a login prints.
        thread::spawn(move || io::copy(&mut from, &mut io::sink()));
        Ok(Copying { host: host.clone(), ssh, since: Instant::now(), patience: COPY_TIMEOUT })
    }

    /// Whether it is there by now; `None` while it is on its way.
    pub(crate) fn look(&mut self) -> Option<Result<(), String>> {
        let why = match self.ssh.child.try_wait() {
            Ok(Some(status)) if status.success() => return Some(Ok(())),
            Ok(None) if self.since.elapsed() <= self.patience => return None,
            Ok(Some(_)) => "Prony could not be copied to it".to_owned(),
            Ok(None) => "copying Prony to it took too long".to_owned(),
            Err(e) => e.to_string(),
        };
        Some(Err(lacks(&self.host, &why, &self.ssh.last_words())))
    }

    /// Waits until it is there.
    pub(crate) fn wait(mut self) -> Result<(), String> {
        loop {
            match self.look() {
                Some(done) => return done,
                None => thread::sleep(LOOK_EVERY),
            }
        }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        let _ = self.ssh.child.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_binary::AgentBinary;

    #[test]
    fn a_copy_that_does_not_end_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let ssh = folder.path().join("ssh");
        // By another process: what a child of another test has open for writing at this moment cannot be executed.
        let script = r"printf '#!/bin/sh\nexec sleep 100\n' >$0 && chmod 755 $0";
        assert!(Command::new("sh").args(["-c", script]).arg(&ssh).status().unwrap().success());
        let binary = AgentBinary::of(&std::env::current_exe().unwrap()).unwrap();
        let machine = binary.machine;
        let means = SshMeans { own: ssh.clone(), ssh, nats_port: 0, binaries: vec![binary] };
        let host = SshHost::parse("far", "--fleet").unwrap();
        let mut copying = Copying::start(&means, &host, "Linux", machine).unwrap();
        copying.patience = Duration::ZERO;
        let why = copying.wait().unwrap_err();
        assert_eq!(
            why,
            "No agent could be started on far: copying Prony to it took too long (it did not say why)."
        );
    }
}
