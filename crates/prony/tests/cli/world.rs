//! A folder of its own for each test, and the binary run in it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_prony");

/// A test's folder.
pub struct World {
    dir: TempDir,
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        Said {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl World {
    pub fn new() -> World {
        World { dir: TempDir::new().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.dir.path()).stdin(Stdio::null());
        // Tests do not take turns with each other, nor with benches of this machine.
        command.env(prony_lab::turn::VARIABLE, self.path("turn"));
        command
    }

    pub fn prony(&self, arguments: &[&str]) -> Said {
        self.command(arguments).output().unwrap().into()
    }

    /// A line of shell in which `prony` is the binary.
    pub fn shell(&self, line: &str) -> Said {
        let path = PathBuf::from(BINARY);
        let folder = path.parent().unwrap().display().to_string();
        let all = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("PATH", all).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env(prony_lab::turn::VARIABLE, self.path("turn"));
        command.output().unwrap().into()
    }
}

/// A `prony target` of the binary's own; it ends with the test.
pub struct TargetProcess {
    child: Child,
    pub address: SocketAddr,
}

impl TargetProcess {
    pub fn start(flags: &[&str]) -> TargetProcess {
        let mut child = Command::new(BINARY)
            .args(["target", "--port", "0", "--until-stdin-ends"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        TargetProcess { child, address }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub fn ledger(&self) -> serde_json::Value {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(b"GET /-/ledger HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
