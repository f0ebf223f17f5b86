//! A folder of its own for each test, and the binary run in it.

use prony_analysis::testing::carried;
use prony_model::Measurement;
use prony_model::observed::Observed;
use prony_model::server::{SampleColumns, ServerSamples};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_prony");

/// The end of a wait for what is to come on every machine: it only keeps a test from hanging.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process does this with a signal: `SigCgt`, it has a handler; `SigIgn`, nothing.
pub fn treats(pid: u32, how: &str, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix(how)?.strip_prefix(':')).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal as i32 - 1)) != 0
}

/// A server on this port (0: any), each of whose connections `each` serves on a thread of its own until the test's process
/// ends.
pub fn serve(port: u16, each: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(stream));
        }
    });
    address
}

/// Waits until a process handles SIGINT by itself: until then the signal ends it as it ends any program.
#[track_caller]
pub fn wait_for_its_handler(pid: u32) {
    wait_until("the process catches SIGINT", || treats(pid, "SigCgt", Signal::SIGINT));
}

/// Sends a signal.
pub fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}

/// Sends SIGINT.
pub fn interrupt(pid: u32) {
    send(pid, Signal::SIGINT);
}

/// The command lines that name this text, the test's own left out.
pub fn processes_naming(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()) && *name != own)
        .filter_map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(mark))
        .collect()
}

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

    pub fn write_bytes(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The lines of this type in a run log; results judged. One that was cut off in the middle is none.
    pub fn lines(&self, log: &str, kind: &str) -> Vec<Value> {
        if kind == "result" {
            let Ok(read) = prony_analysis::run_log::read(&self.path(log)) else { return Vec::new() };
            return read.results.iter().map(|result| serde_json::to_value(result).unwrap()).collect();
        }
        let text = std::fs::read_to_string(self.path(log)).unwrap_or_default();
        let parsed = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        parsed.filter(|line| line["type"] == kind).collect()
    }

    /// Gives the trials of a run log these requests per second and this median of response instead of what was measured,
    /// and no difference in anything else, so that a verdict on them is arithmetic. `of` is told a trial's candidate and
    /// how many of this candidate's stand before it.
    pub fn set_figures(&self, log: &str, of: impl Fn(&str, usize) -> (f64, u64)) {
        let mut before = std::collections::BTreeMap::<String, usize>::new();
        let text = self.read(log);
        let lines = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            if line["type"] == "result" {
                let candidate = line["candidate"].as_str().unwrap().to_owned();
                let nth = before.entry(candidate.clone()).or_default();
                set_figures(&mut line, of(&candidate, *nth));
                *nth += 1;
            }
            format!("{line}\n")
        });
        self.write(log, &lines.collect::<String>());
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.dir.path()).stdin(Stdio::null());
        // Tests do not take turns with each other, nor with benches of this machine.
        command.env(prony_host::bench_lock::VARIABLE, self.path("turn"));
        // What one test's Pronys leave is no other test's to clean up.
        command.env(prony_host::state::VARIABLE, self.path("state"));
        // Tests run beside each other.
        command.env("PRONY_DISTURBED", "keep").env("PRONY_PROFILE", "never");
        // Where agents write down what they measure.
        command.env("XDG_STATE_HOME", self.path("state"));
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
        command.env(prony_host::bench_lock::VARIABLE, self.path("turn"));
        command.env(prony_host::state::VARIABLE, self.path("state")).env("PRONY_DISTURBED", "keep");
        command.env("PRONY_PROFILE", "never");
        command.output().unwrap().into()
    }
}

fn set_figures(result: &mut Value, (rate_per_s, p50_ns): (f64, u64)) {
    let before: Observed = serde_json::from_value(result["observed"].take()).unwrap();
    let made = carried(before.plan, rate_per_s, Some(p50_ns));
    let completed = made.measurement.requests.completed;
    let server = before.server.map(|server| ServerSamples {
        window_cpu_ns: completed * 20_000,
        peak_memory_bytes: 10_000_000,
        startup_ns: 10_000_000,
        columns: SampleColumns::default(),
        ..server
    });
    let started_at_ns = before.measurement.started_at_ns;
    let measurement = Measurement { started_at_ns, ..made.measurement.clone() };
    result["observed"] = serde_json::to_value(Observed { server, measurement, ..made }).unwrap();
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

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Waits until so many requests have come.
    #[track_caller]
    pub fn wait_for_requests(&self, count: u64) {
        wait_until("the target's requests", || self.ledger()["requests_received"].as_u64().unwrap() >= count);
    }

    pub fn ledger(&self) -> Value {
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
