//! An agent on a host that ssh reaches. One ssh runs it, with a tunnel back to this machine's nats-server: nothing
//! listens on the network. sshd chooses the tunnel's port and ssh says which; then the agent is told, over its standard
//! input, where its NATS server is and which keys to use. That input ends with ssh, and ssh with this process, so that
//! the agent ends with either. Where the host lacks the binary, another ssh copies it, under a name that is its hash.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use crate::agent_binary::AgentBinary;
use crate::agents::SshHost;
use crate::child::{ChildHandle, next_line};
use crate::die_with_parent::{die_with_parent, on_path};
use crate::ssh_copy::Copying;

const LINES_MAX: usize = 1_000;
/// What the script says before the agent is there, whatever else a login prints.
const MARK: &str = "prony-agent:";
#[derive(Debug)]
pub(crate) struct SshMeans {
    pub(crate) own: PathBuf,
    pub(crate) ssh: PathBuf,
    pub(crate) nats_port: u16,
    pub(crate) binaries: Vec<AgentBinary>,
}

impl SshMeans {
    /// What is there: ssh, and binaries by architecture, those of `others` before this one.
    pub(crate) fn of(own: PathBuf, others: &[PathBuf], nats_port: u16) -> Result<SshMeans, String> {
        let ssh = on_path("ssh").ok_or("ssh is not on PATH: install the package openssh-client.")?;
        let binaries =
            others.iter().chain([&own]).map(|path| AgentBinary::of(path)).collect::<Result<_, _>>()?;
        Ok(SshMeans { own, ssh, nats_port, binaries })
    }

    pub(crate) fn binary(&self, machine: &str) -> Option<&AgentBinary> {
        self.binaries.iter().find(|binary| binary.machine == machine)
    }

    /// What a host's shell is to do: become the agent by these arguments, or say that it is missing. In `sh -c '…'`, since a login shell may be
    /// another: so without single quotes.
    pub(crate) fn run_script(&self, arguments: &str) -> String {
        let case = |binary: &AgentBinary| format!("{}) h={};; ", names_of(binary.machine), binary.hash);
        // The first of an architecture counts, as in `case`.
        let cases: String = self.binaries.iter().map(case).collect();
        format!(
            "exec sh -c 'h=none; case $(uname -m) in {cases}esac; \
             f=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/prony/agent-$h\"; \
             if test -x \"$f\"; then echo {MARK} here; exec \"$f\" {arguments}; fi; \
             echo {MARK} missing $(uname -s) $(uname -m)'"
        )
    }

    pub(crate) fn ssh(&self, host: &SshHost, options: &[&str], script: &str) -> std::process::Command {
        let mut command = die_with_parent(&self.own, &self.ssh);
        // Nobody is there to answer a question, and a connection that others share would outlive this one.
        command.args([
            "-T",
            "-a",
            "-x",
            "-o",
            "BatchMode=yes",
            "-o",
            "ControlMaster=no",
            "-o",
            "ControlPath=none",
        ]);
        command.args([
            "-o",
            "ConnectTimeout=10",
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=3",
        ]);
        command.args(["-o", "LogLevel=INFO", "-o", "PermitLocalCommand=no"]).args(options);
        command.args(["--", &host.name, script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// What `uname -m` says of an architecture, as a pattern.
fn names_of(machine: &str) -> &str {
    match machine {
        "x86_64" => "x86_64|amd64",
        "aarch64" => "aarch64|arm64",
        other => other,
    }
}

/// What a host's shell is to do with a binary on its standard input. Of one that comes in part nothing stays.
pub(crate) fn copy_script(binary: &AgentBinary) -> String {
    let (hash, bytes) = (&binary.hash, binary.bytes);
    format!(
        "exec sh -c 'umask 077; d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/prony\"; t=\"$d/.agent-{hash}.$$\"; \
         trap \"rm -f \\\"$t\\\"\" EXIT HUP INT TERM; \
         mkdir -p \"$d\" && cat > \"$t\" && test $(($(wc -c < \"$t\"))) -eq {bytes} && chmod 700 \"$t\" && \
         mv -f \"$t\" \"$d/agent-{hash}\" && \
         find \"$d\" -name \"agent-*\" ! -name \"agent-{hash}\" -mtime +7 -exec rm -f {{}} +'"
    )
}

/// An ssh that becomes the agent, step by step. No step waits for an answer.
pub(crate) struct SshStart {
    means: Arc<SshMeans>,
    host: SshHost,
    has_tunnel: bool,
    arguments: String,
    ssh: ChildHandle,
    answers: Receiver<Heard>,
    copying: Option<Copying>,
    was_copied: bool,
}

impl SshStart {
    /// Begins to run `prony ARGUMENTS` on a host. The calling thread must live as long as the ssh, which ends with it.
    pub(crate) fn begin(
        means: &Arc<SshMeans>,
        host: &SshHost,
        has_tunnel: bool,
        arguments: &str,
    ) -> Result<SshStart, String> {
        let (ssh, answers) = connect(means, host, has_tunnel, arguments)?;
        Ok(SshStart {
            means: Arc::clone(means),
            host: host.clone(),
            has_tunnel,
            arguments: arguments.to_owned(),
            ssh,
            answers,
            copying: None,
            was_copied: false,
        })
    }

    /// Does what can be done by now: what the agent says, once it is there.
    pub(crate) fn proceed(&mut self) -> Result<Option<BufReader<ChildStdout>>, String> {
        if let Some(copying) = &mut self.copying {
            let Some(copied) = copying.look() else { return Ok(None) };
            copied?;
            self.copying = None;
            (self.ssh, self.answers) = connect(&self.means, &self.host, self.has_tunnel, &self.arguments)?;
            return Ok(None);
        }
        let (words, from_agent) = match self.answers.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty) => return Ok(None),
            Err(TryRecvError::Disconnected) => {
                self.ssh.end();
                return Err(self.lacks("ssh ended before the agent answered"));
            }
        };
        match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["missing", system, machine] if !self.was_copied => {
                self.ssh.kill();
                self.copying = Some(Copying::start(&self.means, &self.host, system, machine)?);
                self.was_copied = true;
                Ok(None)
            }
            ["missing", _, _] => Err(self.lacks("Prony was copied to it and cannot be executed there")),
            ["here"] => Ok(Some(from_agent)),
            _ => Err(self.lacks("its shell gave an answer that is none of Prony's script")),
        }
    }

    pub(crate) fn is_copying(&self) -> bool {
        self.copying.is_some()
    }

    pub(crate) fn ssh(&mut self) -> &mut ChildHandle {
        &mut self.ssh
    }

    pub(crate) fn into_ssh(self) -> ChildHandle {
        self.ssh
    }

    pub(crate) fn lacks(&mut self, what: &str) -> String {
        lacks(&self.host, what, &self.ssh.last_words())
    }
}

pub(crate) fn lacks(host: &SshHost, what: &str, said: &str) -> String {
    let said = if said.is_empty() { "it did not say why" } else { said };
    format!("No agent could be started on {}: {what} ({said}).", host.name)
}

/// The words of the script's line, and what the agent writes after it.
type Heard = (Vec<String>, BufReader<ChildStdout>);

/// An ssh with the script, and the words of its first marked line; none where it ends before.
fn connect(
    means: &SshMeans,
    host: &SshHost,
    has_tunnel: bool,
    arguments: &str,
) -> Result<(ChildHandle, Receiver<Heard>), String> {
    let tunnel = format!("127.0.0.1:0:127.0.0.1:{}", means.nats_port);
    let options = ["-o", "ExitOnForwardFailure=yes", "-R", &tunnel];
    let options = if has_tunnel { options.as_slice() } else { &[] };
    let started = ChildHandle::start(means.ssh(host, options, &means.run_script(arguments)));
    let (ssh, output) =
        started.map_err(|why| format!("{} could not be started: {why}.", means.ssh.display()))?;
    let (answered, answers) = sync_channel(1);
    thread::spawn(move || {
        let mut from_agent = BufReader::new(output?);
        for _ in 0..LINES_MAX {
            let line = next_line(&mut from_agent)?;
            let words: Vec<String> = marked(&line).into_iter().map(str::to_owned).collect();
            if !words.is_empty() {
                return answered.send((words, from_agent)).ok();
            }
        }
        None
    });
    Ok((ssh, answers))
}

/// The words after the script's mark; none of what else a login prints.
fn marked(line: &str) -> Vec<&str> {
    line.strip_prefix(MARK).map(|rest| rest.split_whitespace().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Command;

    use super::*;

    fn means() -> SshMeans {
        let own = std::env::current_exe().unwrap();
        SshMeans {
            binaries: vec![AgentBinary::of(&own).unwrap()],
            own,
            ssh: PathBuf::from("ssh"),
            nats_port: 4222,
        }
    }

    /// The scripts as a login shell would run them, with a home of their own.
    fn shell(home: &std::path::Path, script: &str, input: &[u8]) -> (bool, String) {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let done = child.wait_with_output().unwrap();
        (done.status.success(), String::from_utf8(done.stdout).unwrap())
    }

    #[test]
    fn a_missing_binary_is_copied_whole_and_a_part_never_stays() {
        let home = tempfile::tempdir().unwrap();
        let mut means = means();
        let (_, said) = shell(home.path(), &means.run_script("agent"), b"");
        assert!(said.starts_with("prony-agent: missing Linux "), "{said}");
        let program = b"#!/bin/sh\necho it runs as $1\n";
        means.binaries[0].bytes = program.len() as u64;
        let copies = copy_script(&means.binaries[0]);
        assert!(!shell(home.path(), &copies, &program[..9]).0, "a part");
        let cache = home.path().join(".cache/prony");
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
        assert!(shell(home.path(), &copies, program).0);
        let (_, said) = shell(home.path(), &means.run_script("agent"), b"");
        assert_eq!(said, "prony-agent: here\nit runs as agent\n");
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1);
    }
}
