//! An agent on a host that ssh reaches.
//!
//! One ssh runs the agent, with a tunnel back to this machine's nats-server: nothing listens on the network, on either side.
//! sshd chooses the tunnel's port on the host's loopback and ssh says which; only then is the agent told, over its standard input, where
//! its NATS server is and by which keys to speak. That input ends with ssh, and ssh with this process, so that the agent
//! ends with either. Where the host lacks the binary, another ssh copies it, under a name that is its hash.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent_binary::AgentBinary;
use crate::agents::SshHost;
use crate::job::Bootstrap;
use crate::ssh_process::{Copying, lacks};
use crate::tied::{on_path, tied};

/// Lines of ssh that wait to be read, and the longest of them.
const LINES_MAX: usize = 256;
pub(crate) const LINE_MAX_BYTES: u64 = 4096;
/// What the script says before the agent is there, whatever else a login prints.
const MARK: &str = "prony-agent:";
/// How long the agent has to end by itself once its standard input has.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What all ssh agents of a run have in common.
#[derive(Debug)]
pub(crate) struct SshMeans {
    pub(crate) own: PathBuf,
    pub(crate) ssh: PathBuf,
    /// The nats-server's port on this machine.
    pub(crate) nats_port: u16,
    /// One for each architecture.
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
        let mut command = tied(&self.own, &self.ssh);
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

enum Line {
    Out(String),
    Err(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// ssh connects, and says whether the agent is there.
    Connecting,
    /// The agent was told whom to serve.
    Told,
}

/// An agent on another host; its ssh is ended when this is dropped, and the agent by that.
pub(crate) struct SshAgent {
    means: Arc<SshMeans>,
    host: SshHost,
    bootstrap: Bootstrap,
    child: Child,
    /// The agent's standard input.
    input: Option<ChildStdin>,
    lines: Receiver<Line>,
    stage: Stage,
    /// The binary on its way, between two ssh.
    copying: Option<Copying>,
    /// The tunnel's port on the host.
    port: Option<u16>,
    is_there: bool,
    was_copied: bool,
    /// What ssh or the agent said last.
    said: String,
}

impl SshAgent {
    /// Starts ssh; [`SshAgent::proceed`] does the rest.
    pub(crate) fn start(
        means: &Arc<SshMeans>,
        host: &SshHost,
        bootstrap: Bootstrap,
    ) -> Result<SshAgent, String> {
        let (child, lines) = connect(means, host)?;
        Ok(SshAgent {
            means: Arc::clone(means),
            host: host.clone(),
            bootstrap,
            child,
            input: None,
            lines,
            stage: Stage::Connecting,
            copying: None,
            port: None,
            is_there: false,
            was_copied: false,
            said: String::new(),
        })
    }

    /// Does what can be done by now.
    pub(crate) fn proceed(&mut self) -> Result<(), String> {
        if let Some(done) = self.copying.as_mut().map(Copying::look) {
            return match done {
                Some(copied) => copied.and_then(|()| self.again()),
                None => Ok(()),
            };
        }
        let ended = self.child.try_wait().map_err(|e| self.lacks(&e.to_string()))?;
        // What it said before it ended is there by now, or soon.
        let mut missing = None;
        while let Some(line) = self.next_line(ended.is_some()) {
            match line {
                Line::Out(line) => match marked(&line).as_slice() {
                    ["here"] => self.is_there = true,
                    ["missing", system, machine] => {
                        missing = Some(((*system).to_owned(), (*machine).to_owned()));
                    }
                    _ => {}
                },
                Line::Err(line) => match allocated_port(&line) {
                    Some(port) => self.port = Some(port),
                    None => self.said = line,
                },
            }
        }
        match (self.stage, missing, ended) {
            (Stage::Connecting, Some((system, machine)), _) => self.copy(&system, &machine),
            (Stage::Connecting, None, Some(_)) => Err(self.lacks("ssh ended before the agent answered")),
            (Stage::Told, _, Some(_)) => Err(self.lacks("the agent ended")),
            (Stage::Connecting, None, None) if self.is_there && self.port.is_some() => self.tell(),
            _ => Ok(()),
        }
    }

    /// Whether the binary is on its way, which takes its time.
    pub(crate) fn is_copying(&self) -> bool {
        self.copying.is_some()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The process of its ssh.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends its standard input, so that it ends.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// What it said last, if anything.
    pub(crate) fn last_words(&mut self) -> String {
        while let Some(line) = self.next_line(false) {
            if let Line::Err(line) = line {
                self.said = line;
            }
        }
        self.said.clone()
    }

    /// The next line, if it is there; of an ssh that has ended, all come before none.
    fn next_line(&self, has_ended: bool) -> Option<Line> {
        match has_ended {
            true => self.lines.recv_timeout(END_TIMEOUT).ok(),
            false => self.lines.try_recv().ok(),
        }
    }

    fn lacks(&self, what: &str) -> String {
        lacks(&self.host, what, &self.said)
    }

    fn copy(&mut self, system: &str, machine: &str) -> Result<(), String> {
        if self.was_copied {
            return Err(self.lacks("Prony was copied to it and cannot be executed there"));
        }
        self.end();
        self.copying = Some(Copying::start(&self.means, &self.host, system, machine)?);
        self.was_copied = true;
        Ok(())
    }

    fn again(&mut self) -> Result<(), String> {
        self.copying = None;
        (self.child, self.lines) = connect(&self.means, &self.host)?;
        (self.stage, self.port, self.is_there) = (Stage::Connecting, None, false);
        Ok(())
    }

    fn tell(&mut self) -> Result<(), String> {
        let Some(port) = self.port else { return Ok(()) };
        self.bootstrap.url = format!("nats://127.0.0.1:{port}");
        let line = serde_json::to_string(&self.bootstrap).map_err(|e| self.lacks(&e.to_string()))? + "\n";
        let mut input = self.child.stdin.take().ok_or_else(|| self.lacks("it has no standard input"))?;
        let told = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        (self.input, self.stage) = (Some(input), Stage::Told);
        told.map_err(|e| self.lacks(&format!("the controller's address could not be sent to it: {e}")))
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        self.close();
        // ssh ends once the agent has; one that cannot, since it is stopped or cut off, is not waited for.
        let began = Instant::now();
        while self.stage == Stage::Told && self.is_running() && began.elapsed() < END_TIMEOUT {
            thread::sleep(LOOK_EVERY);
        }
        self.end();
    }
}

fn connect(means: &SshMeans, host: &SshHost) -> Result<(Child, Receiver<Line>), String> {
    let tunnel = format!("127.0.0.1:0:127.0.0.1:{}", means.nats_port);
    let options = ["-o", "ExitOnForwardFailure=yes", "-R", &tunnel];
    let child = means.ssh(host, &options, &means.run_script("agent")).spawn();
    let mut child = child.map_err(|e| format!("{} could not be started: {e}.", means.ssh.display()))?;
    let lines = lines_of(&mut child);
    Ok((child, lines))
}

/// All that it says.
fn lines_of(child: &mut Child) -> Receiver<Line> {
    let (to, lines) = sync_channel(LINES_MAX);
    if let Some(out) = child.stdout.take() {
        read_lines(out, to.clone(), Line::Out);
    }
    if let Some(err) = child.stderr.take() {
        read_lines(err, to, Line::Err);
    }
    lines
}

fn read_lines(from: impl Read + Send + 'static, to: SyncSender<Line>, kind: fn(String) -> Line) {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        while matches!(from.by_ref().take(LINE_MAX_BYTES).read_until(b'\n', &mut bytes), Ok(1..)) {
            let line = String::from_utf8_lossy(&bytes).trim().to_owned();
            bytes.clear();
            if !line.is_empty() && to.send(kind(line)).is_err() {
                break;
            }
        }
    });
}

/// The words after the script's mark; none of what else a login prints.
pub(crate) fn marked(line: &str) -> Vec<&str> {
    line.strip_prefix(MARK).map(|rest| rest.split_whitespace().collect()).unwrap_or_default()
}

/// The port that ssh says a tunnel was given: `Allocated port 40001 for remote forward to 127.0.0.1:4222`.
fn allocated_port(line: &str) -> Option<u16> {
    let port = line.strip_prefix("Allocated port ")?.split_whitespace().next()?;
    port.parse().ok().filter(|port| *port > 0)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_port_of_a_tunnel_is_read_from_what_ssh_says() {
        assert_eq!(allocated_port("Allocated port 40001 for remote forward to 127.0.0.1:4222"), Some(40_001));
        for other in ["Allocated port x for", "Allocated port 0 for", "Warning: Permanently added", ""] {
            assert_eq!(allocated_port(other), None);
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
    fn a_binary_is_missing_then_copied_whole_and_run_and_of_a_part_nothing_stays() {
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
