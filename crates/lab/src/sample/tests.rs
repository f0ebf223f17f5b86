//! Trees of real processes, read; and a sampler whose readings the test sees one by one.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Child, Command};
use std::sync::mpsc;

use super::*;
use crate::supervise::testing::pid_in;
use prony_host::monotonic_ns;
use prony_host::testing::{PATIENCE, wait_until};

/// A shell that runs until it is dropped, with all below it.
struct Tree(Child);

impl Tree {
    fn of(script: &str, folder: &Path) -> Tree {
        Tree(Command::new("sh").args(["-c", script]).current_dir(folder).spawn().unwrap())
    }

    fn meter(&self) -> Meter {
        Meter::new(Watched { processes: Processes::Below(self.0.id()), cgroup: None })
    }

    /// The only process below the shell.
    fn only(&self) -> Option<ProcessStat> {
        let below = process::descendants(self.0.id());
        below.first().cloned().filter(|one| below.len() == 1 && !one.is_zombie)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let below = process::descendants(self.0.id());
        let _ = self.0.kill().and_then(|()| self.0.wait());
        below.iter().for_each(kill);
    }
}

fn kill(process: &ProcessStat) {
    process.identity().kill();
}

/// What a sampler saw of a server whose only worker ended, and whose number the next one has.
pub(crate) fn of_a_restart() -> Samples {
    let worker = process::stat(std::process::id()).unwrap();
    let mut tracker = ProcessTracker::default();
    let readings: Vec<Reading> = (0..6).map(|i| Reading { at_ns: i, ..Reading::default() }).collect();
    for reading in &readings {
        let start_ticks = if reading.at_ns < 3 { 1 } else { 2 };
        tracker.see(reading.at_ns, &[ProcessStat { start_ticks, ..worker.clone() }]);
    }
    Samples { cpu_method: "schedstat", readings, tracker, ..Samples::default() }
}

#[test]
fn schedstat_sees_a_busy_child_and_remembers_it_afterwards() {
    // A shell between, so that no other test's children are below the root.
    let folder = tempfile::tempdir().unwrap();
    let mut tree = Tree::of("sh -c 'while :; do :; done' & wait", folder.path());
    let mut meter = tree.meter();
    let mut busy = Reading::default();
    wait_until("20 ms of work", || {
        busy = meter.read();
        busy.cpu_ns > 20_000_000
    });
    assert_eq!((busy.processes, busy.threads), (1, 1));
    assert!(busy.rss_bytes > 100_000, "{}", busy.rss_bytes);
    process::descendants(tree.0.id()).iter().for_each(kill);
    tree.0.wait().unwrap();
    let after = meter.read();
    assert_eq!(after.processes, 0);
    assert!(after.cpu_ns >= busy.cpu_ns, "what was seen is not forgotten");
}

#[test]
fn a_worker_that_is_started_again_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    // Workers that execute nothing, so that each is the same from its first moment.
    let script = "mkfifo hold; while :; do (read x <>hold) & echo $! >pid.new; mv pid.new pid; wait $!; done";
    let tree = Tree::of(script, folder.path());
    let worker_after = |before: u32| {
        let mut worker = None;
        wait_until("a worker", || {
            worker = tree.only().filter(|one| one.pid != before);
            worker.as_ref().is_some_and(|one| pid_in(&folder.path().join("pid")) == one.pid)
        });
        worker.unwrap()
    };
    let (mut meter, mut taken) = (tree.meter(), Samples::default());
    let first = worker_after(0);
    meter.take(&mut taken);
    kill(&first);
    let second = worker_after(first.pid);
    meter.take(&mut taken);
    meter.take(&mut taken);
    let samples = taken;
    let changes = samples.changes(u64::MAX);
    let replaced: Vec<(u32, u32)> = changes.replaced.iter().map(|(old, new)| (old.pid, new.pid)).collect();
    assert_eq!((replaced, changes.lost), (vec![(first.pid, second.pid)], Vec::new()));
}

#[test]
fn proportional_memory_is_read() {
    let text = "Rss:  9 kB\nPss:                2056 kB\nPss_Anon: 1 kB\n";
    assert_eq!(memory_field(text, "Pss"), Some(2056 * 1024));
    assert_eq!(memory_field("Rss: 1 kB", "Pss"), None);
    let own = process::stat(std::process::id()).unwrap();
    assert!(pss_bytes(&[own]).is_some_and(|bytes| bytes > 100_000));
}

#[test]
fn cpu_time_is_not_lost_when_a_thread_id_is_reused() {
    let mut meter = Meter::new(Watched { processes: Processes::Below(1), cgroup: None });
    meter.see((1, 1), 500);
    meter.see((1, 1), 700);
    meter.see((1, 1), 20);
    assert_eq!(meter.seen_ns.values().sum::<u64>() + meter.replaced_ns, 720);
}

#[test]
fn a_late_reading_does_not_shift_those_after_it() {
    let due = Instant::now();
    let after = |late: Duration| next_due(due, due + late) - due;
    assert_eq!(after(Duration::ZERO), PERIOD);
    assert_eq!(after(PERIOD - Duration::from_nanos(1)), PERIOD);
    assert_eq!(after(PERIOD), PERIOD * 2);
    assert_eq!(after(PERIOD * 7 + PERIOD / 2), PERIOD * 8, "those that were missed are left out");
    assert_eq!(next_due(due + PERIOD, due), due + PERIOD, "not due yet");
}

#[test]
fn the_sampler_reads_at_its_start_and_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let child = Tree::of("while :; do :; done", folder.path());
    let before_ns = monotonic_ns();
    let sampler = Sampler::start(
        Watched { processes: Processes::Below(std::process::id()), cgroup: None },
        &[],
        &[0],
        WholeHost::default(),
    )
    .unwrap();
    let begun_ns = monotonic_ns();
    let samples = sampler.finish();
    let (first, last) = (samples.readings[0].at_ns, samples.readings[samples.readings.len() - 1].at_ns);
    assert!(before_ns <= first && first <= begun_ns && begun_ns <= last, "{samples:?}");
    assert!(samples.readings.is_sorted_by_key(|r| (r.at_ns, r.cpu_ns)));
    assert_eq!(samples.cpu_method, "schedstat");
    let window = samples.window(first, last, Duration::from_millis(7), &[1]).unwrap();
    assert_eq!(window.columns.at_ns.len(), samples.readings.len());
    assert_eq!((window.columns.at_ns[0], window.startup_ns), (0, 7_000_000));
    let columns = &window.columns;
    assert_eq!((columns.cores.as_slice(), columns.core_busy_ns.len()), (&[0][..], 1));
    assert_eq!(columns.core_busy_ns[0].len(), columns.at_ns.len());
    assert_eq!(columns.time_wait.len(), columns.at_ns.len());
    assert!(samples.tracker.lives().any(|life| life.pid == child.0.id() && life.name == "sh"), "{samples:?}");
}

/// Makes a folder a cgroup whose count is a pipe: a reading waits until it is given a number, the n-th one n µs. Tells
/// of each when it has begun. Ends with the test's process.
fn numbered_readings(folder: &Path) -> mpsc::Receiver<u64> {
    std::fs::write(folder.join("cgroup.procs"), "").unwrap();
    let (next, pipe) = (folder.join("next"), folder.join("cpu.stat"));
    let make = |next: &Path, pipe: &Path| {
        assert!(Command::new("mkfifo").arg(next).status().unwrap().success());
        std::fs::rename(next, pipe).unwrap();
    };
    make(&next, &pipe);
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for number in 1.. {
            // Opened as soon as somebody reads it; the next reader finds another.
            let mut reader = OpenOptions::new().write(true).open(&pipe).unwrap();
            make(&next, &pipe);
            tell.send(number).unwrap();
            writeln!(reader, "usage_usec {number}").unwrap();
        }
    });
    told
}

#[test]
fn the_sampler_goes_on_reading_until_it_is_told_to_finish() {
    let folder = tempfile::tempdir().unwrap();
    let told = numbered_readings(folder.path());
    let cgroup = Some(Cgroup { path: folder.path().to_owned(), version: CgroupVersion::V2 });
    let sampler =
        Sampler::start(Watched { processes: Processes::Below(1), cgroup }, &[], &[], WholeHost::default())
            .unwrap();
    for number in 1..=3 {
        assert_eq!(told.recv_timeout(PATIENCE), Ok(number), "at the start, and twice in time");
    }
    let samples = sampler.finish();
    assert_eq!(samples.cpu_method, "cgroup-v2");
    let seen: Vec<u64> = samples.readings.iter().map(|reading| reading.cpu_ns / 1_000).collect();
    let given: Vec<u64> = (1..=3).chain(told.try_iter()).collect();
    assert!(given.len() >= 4, "and once at its end");
    assert_eq!(seen, given);
}
