//! What the tests of supervision share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::launch::{LaunchSpec, ProcessSpec};
use crate::supervise::Supervision;

/// The example that becomes a guard: `cargo test` builds it beside the tests.
pub(crate) fn guard_exe() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let exe = tests.parent().unwrap().parent().unwrap().join("examples/lab_guard");
    assert!(exe.exists(), "{} is missing: run `cargo test -p prony-lab` without --lib", exe.display());
    exe
}

/// How long something may take that must come to be: only what hangs takes so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Supervision below `root` by the example; as slow as the machine may be, nobody is killed who ends by himself.
pub(crate) fn supervision(root: &Path) -> Supervision {
    Supervision { guard_exe: guard_exe(), stop_timeout: PATIENCE, ..Supervision::new(root, &[]) }
}

/// A spec whose processes are shell scripts, with a run folder below `root`.
pub(crate) fn shell_spec(root: &Path, scripts: &[&str]) -> LaunchSpec {
    let run_dir = root.join("run/test");
    std::fs::create_dir_all(&run_dir).unwrap();
    let process = |script: &&str| ProcessSpec {
        argv: ["sh", "-c", *script].map(str::to_owned).to_vec(),
        wait_for: None,
    };
    LaunchSpec {
        label: "shell".to_owned(),
        processes: scripts.iter().map(process).collect(),
        cwd: run_dir.clone(),
        env: vec![("GIVEN".to_owned(), "value".to_owned())],
        run_dir,
        cpus: Vec::new(),
        ready_timeout: PATIENCE,
        container: None,
    }
}

/// Waits for something that must come to be, however long a busy machine takes.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what} did not come to be");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The number that a script wrote to a file.
pub(crate) fn pid_in(file: &Path) -> u32 {
    let read = || std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
    let mut pid = None;
    wait_until("a pid file", || {
        pid = read();
        pid.is_some()
    });
    pid.unwrap()
}

/// A thread of this process that never waits, until it is dropped.
pub(crate) struct Busy {
    /// Its number.
    pub(crate) id: u32,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    /// One of this name, on these CPUs (empty: any).
    pub(crate) fn named(name: &str, cpus: &[u32]) -> Busy {
        let (tell, told) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let (ends, cpus) = (Arc::clone(&over), cpus.to_vec());
        let spin = move || {
            crate::sys::set_affinity(0, &cpus).unwrap();
            let own = std::fs::read_link("/proc/thread-self").unwrap();
            tell.send(own.file_name().unwrap().to_str().unwrap().parse().unwrap()).unwrap();
            while !ends.load(Ordering::Relaxed) {}
        };
        let thread = Some(std::thread::Builder::new().name(name.to_owned()).spawn(spin).unwrap());
        Busy { id: told.recv().unwrap(), over, thread }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
