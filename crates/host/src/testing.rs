//! What the tests of this crate and of the laboratory share.
#![allow(clippy::missing_panics_doc, clippy::unwrap_used, reason = "for tests alone")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cpus;

/// How long something may take that must come to be: only what hangs takes so long.
pub const PATIENCE: Duration = Duration::from_secs(300);

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what} did not come to be");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A thread of this process that never waits, until it is dropped.
#[derive(Debug)]
pub struct Busy {
    pub id: u32,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    /// One of this name, on these CPUs (empty: any).
    pub fn named(name: &str, cpus: &[u32]) -> Busy {
        let (tell, told) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let (ends, cpus) = (Arc::clone(&over), cpus.to_vec());
        let spin = move || {
            cpus::set_affinity(0, &cpus).unwrap();
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
