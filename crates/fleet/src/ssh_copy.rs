//! This program on its way to a host that lacks it.

use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use prony_model::printable::harmless;

use crate::agent_binary::linux_name;
use crate::agents::SshHost;
use crate::child::ChildHandle;
use crate::ssh::{SshMeans, copy_script, lacks};

const COPY_TIMEOUT: Duration = Duration::from_secs(600);

/// The program on its way to a host that lacks it; it is given up when this is dropped.
pub(crate) struct Copying {
    host: SshHost,
    ssh: ChildHandle,
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
        let (mut ssh, from) =
            ChildHandle::start(means.ssh(host, &[], &copy_script(binary))).map_err(refused)?;
        // Where it breaks off, the script and its status say so.
        let to = ssh.take_input();
        thread::spawn(move || to.map(|mut to| io::copy(&mut file, &mut to)));
        // Whatever a login prints.
        thread::spawn(move || from.map(|mut from| io::copy(&mut from, &mut io::sink())));
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
}

impl Drop for Copying {
    fn drop(&mut self) {
        let _ = self.ssh.child.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

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
        let why = loop {
            if let Some(done) = copying.look() {
                break done.unwrap_err();
            }
        };
        assert_eq!(
            why,
            "No agent could be started on far: copying Prony to it took too long (it did not say why)."
        );
    }
}
