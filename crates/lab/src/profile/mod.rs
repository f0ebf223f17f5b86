//! `perf`, the kernel's profiler: whether it can be used here, and one recording of a server's processes. It samples the
//! CPU clock, which is there where a virtual machine has no counters.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prony_model::printable::harmless;
use prony_model::profile::Profile;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::programs::{capture, find_command};

mod script;

pub use script::fold;

const PACKAGES: &str =
    "install linux-perf (Debian), linux-tools-$(uname -r) (Ubuntu) or perf (Fedora, Alpine, Arch)";
/// Samples of a CPU second: a number that no timer of a server's runs at. Stacks that are copied (8 KiB each) are taken
/// half as often.
const POINTERS: [&str; 2] = ["fp", "997"];
const COPIES: [&str; 2] = ["dwarf", "499"];
/// What is recorded at most: `perf` then ends, and nothing is made of it.
const SIZE_MAX: &str = "1G";
const TIMEOUT: Duration = Duration::from_secs(30);
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(20);

/// What servers find in their environment in a trial under `perf`: without it, Python (from 3.12) and Node have no names for
/// what they compile.
pub(crate) fn environment(node_options: Option<&str>) -> [(String, String); 2] {
    let node = format!("{} --perf-basic-prof", node_options.unwrap_or_default());
    [("PYTHONPERFSUPPORT", "1"), ("NODE_OPTIONS", node.trim())]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// A `perf` that can sample here.
#[derive(Debug, Clone)]
pub struct Perf(PathBuf);

impl Perf {
    /// The one of this machine; or why there is none, in a sentence with what to do.
    pub fn find() -> Result<Perf, String> {
        let program = find_command("perf").ok_or_else(|| format!("perf is not installed: {PACKAGES}."))?;
        let folder = folder()?;
        let perf = Perf(program);
        let mut probe = perf.record(POINTERS, &folder.path().join("probe"));
        probe.extend(["--", "true"].map(str::to_owned));
        let said = capture(&probe, Path::new("/"), &[], TIMEOUT)
            .ok_or_else(|| format!("{} does not run here.", perf.0.display()))?;
        if said.success {
            return Ok(perf);
        }
        let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        let paranoid = paranoid.trim().parse::<i32>().unwrap_or(0);
        if paranoid > 1 && !geteuid().is_root() {
            return Err(format!(
                "perf may not sample here, since kernel.perf_event_paranoid is {paranoid}: run `sudo sysctl \
                 kernel.perf_event_paranoid=1`, or Prony as root."
            ));
        }
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        let first =
            text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it does not say why");
        Err(format!(
            "perf cannot sample here: {} (a container needs the capability PERFMON; else {PACKAGES}).",
            harmless(first)
        ))
    }

    /// The command of a recording, but for whom: on the clock of loads, without a cache in the user's home.
    fn record(&self, [unwinding, frequency]: [&str; 2], file: &Path) -> Vec<String> {
        let how = format!(
            "record --no-buildid --no-buildid-cache --clockid monotonic --event cpu-clock --max-size {SIZE_MAX} \
             --freq {frequency} --call-graph {unwinding} --output"
        );
        let words = how.split(' ').map(str::to_owned);
        let program = self.0.to_string_lossy().into_owned();
        [program].into_iter().chain(words).chain([file.to_string_lossy().into_owned()]).collect()
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        // Nothing of the user's changes what it prints, and it asks no server for symbols. A signal to Prony is not its.
        command.args(&words[1..]).env("PERF_CONFIG", "/dev/null").env_remove("DEBUGINFOD_URLS");
        command.stdin(Stdio::null()).process_group(0);
        command
    }

    pub(crate) fn start(&self, pids: &[u32]) -> Result<Recording, String> {
        let (folder, how) = (folder()?, unwinding(pids));
        let file = folder.path().join("samples");
        let mut words = self.record(how, &file);
        words.extend(["--pid".to_owned(), pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")]);
        let failed = |why: io::Error| format!("perf record could not be run: {why}.");
        let said = File::create(folder.path().join("said")).map_err(failed)?;
        let child = self.command(&words).stdout(Stdio::null()).stderr(said).spawn().map_err(failed)?;
        let mut recording = Recording { perf: self.clone(), child, folder, unwinding: how[0] };
        // It has begun to write once it is attached.
        let begun = Instant::now();
        while fs::metadata(&file).map_or(0, |m| m.len()) == 0 {
            if recording.ended() || begun.elapsed() > TIMEOUT {
                return Err(recording.failed("perf record did not begin"));
            }
            thread::sleep(POLL);
        }
        thread::sleep(POLL * 5);
        Ok(recording)
    }
}

/// How callers are found: by frame pointers where a server's programs have them for sure (Go, Node), else by copies of stacks and
/// the unwinding tables of C, C++ and Rust.
fn unwinding(pids: &[u32]) -> [&'static str; 2] {
    let has_pointers = |pid: &u32| {
        let exe = format!("/proc/{pid}/exe");
        let is_node =
            fs::read_link(&exe).is_ok_and(|path| path.file_name().is_some_and(|name| name == "node"));
        let mut head = Vec::new();
        let read = File::open(&exe).and_then(|file| file.take(8 << 10).read_to_end(&mut head));
        // A note of Go's linker (kind 4, by "Go"): cmd/internal/buildid.
        is_node || read.is_ok() && head.windows(8).any(|bytes| bytes == *b"\x04\0\0\0Go\0\0")
    };
    if pids.iter().any(has_pointers) { POINTERS } else { COPIES }
}

fn folder() -> Result<TempDir, String> {
    TempDir::with_prefix("prony-perf-").map_err(|e| format!("No folder for perf's files could be made: {e}."))
}

/// A `perf record` that runs. Dropping it ends it, and removes what it wrote.
#[derive(Debug)]
pub(crate) struct Recording {
    perf: Perf,
    child: Child,
    folder: TempDir,
    unwinding: &'static str,
}

impl Recording {
    fn ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn failed(&self, what: &str) -> String {
        let said = fs::read_to_string(self.folder.path().join("said")).unwrap_or_default();
        let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        format!(
            "{what}{}.",
            last.map_or(String::new(), |line| format!(": {}", harmless(line).trim_end_matches('.')))
        )
    }

    pub(crate) fn stop(&mut self) -> Result<(), String> {
        if self.ended() {
            return Err(self.failed("perf record ended before the load did"));
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        // It may have ended meanwhile, and is not taken in before it is waited for.
        let _ = pid.map(|pid| kill_process(pid, Signal::INT));
        match killed_after(TIMEOUT, &mut self.child) {
            // It ends by the signal that it was told by, or with 0.
            Ok(status) if status.success() || status.signal() == Some(Signal::INT.as_raw()) => Ok(()),
            _ => Err(self.failed("perf record failed")),
        }
    }

    /// What was sampled between two instants of CLOCK_MONOTONIC; whose it is the caller knows.
    pub(crate) fn profile(&self, window: (u64, u64)) -> Result<Profile, String> {
        let failed = |why: &dyn Display| format!("perf script could not be run: {why}.");
        let file = self.folder.path().join("samples");
        let words = format!("script --ns --no-inline --fields {} --input", script::FIELDS);
        let mut command = self.perf.command(&[self.perf.0.to_string_lossy().into_owned()]);
        let command = command.args(words.split(' ')).arg(file).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| failed(&e))?;
        let text = child.stdout.take();
        let (status, read) = thread::scope(|scope| {
            let read = scope.spawn(|| text.map(|text| fold(BufReader::new(text), window.0..window.1)));
            (killed_after(SCRIPT_TIMEOUT, &mut child), read.join().ok().flatten())
        });
        let status = status.map_err(|e| failed(&e))?;
        let profile = read.unwrap_or_else(|| Err(failed(&status)))?;
        match profile.samples {
            _ if !status.success() => Err(failed(&status)),
            0 => Err("perf took no sample of the server in the window.".to_owned()),
            _ => Ok(Profile {
                unwinding: self.unwinding.to_owned(),
                window_ns: window.1 - window.0,
                ..profile
            }),
        }
    }
}

/// How it ends: by itself, or after so long by SIGKILL.
fn killed_after(limit: Duration, child: &mut Child) -> io::Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None if begun.elapsed() > limit => child.kill()?,
            None => thread::sleep(POLL),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.ended() {
            let _ = self.child.kill().and_then(|()| self.child.wait());
        }
    }
}

/// Removes the names that interpreters left in `/tmp` for these processes.
pub(crate) fn remove_maps(pids: &[u32]) {
    for pid in pids {
        let _ = fs::remove_file(format!("/tmp/perf-{pid}.map"));
    }
}
