//! The test suite again and again, in random order, beside a process that takes each core half of the time, and on one
//! core. A test that fails here depends on speed, quiet or chance, or finds a fault; one that takes over ten times its
//! quiet time waits for something that noise takes away.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::page::{date, table};
use crate::programs::{Running, commit};
use crate::suite::{self, Binary, Ran};

/// A test may take so many times its quiet time.
const SLOWER_MAX: f64 = 10.0;
/// Quiet times below are counted as this: a single turn of the busy process is a multiple of them.
const QUIET_LEAST: Duration = Duration::from_millis(100);
/// The busy process is at work for so long, and then as long idle.
const BUSY: Duration = Duration::from_millis(25);
/// The results are stored anew this often, so that an end from outside loses little.
const STORED_EVERY: Duration = Duration::from_secs(300);

/// Tests that read a clock, sleep, start processes or load a socket: a binary, and how the tests' names begin.
const TIMED: &[(&str, &str)] = &[
    ("host", "bench_lock::"),
    ("host", "client_watch"),
    ("host", "cpus::tests::affinity"),
    ("host", "host_watch"),
    ("host", "process::"),
    ("lab", "bench::"),
    ("lab", "candidate::tests::frankenphp"),
    ("lab", "check::"),
    ("lab", "container"),
    ("lab", "doctor::programs"),
    ("lab", "provision::"),
    ("lab", "sample::"),
    ("lab", "supervise::"),
    ("load", "net::"),
    ("load", "start_barrier::"),
    ("load", "sys::"),
    ("load", "tls::"),
    ("load allocations", ""),
    ("load engine", ""),
    ("load hostile", ""),
    ("prony cli", ""),
    ("prony main", "tui::"),
    ("prony main", "web::"),
    ("target", "sys::"),
    ("target server", ""),
    ("xtask floor", ""),
];

#[derive(Parser)]
pub(crate) struct Asked {
    /// How often the whole suite is run beside the busy process
    #[arg(long, default_value_t = 10)]
    suites: u64,
    /// For how long the tests that wait for the world are run in random order at the same time
    #[arg(long, default_value_t = 120)]
    minutes: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the results in docs/benchmarks/
    #[arg(long)]
    store: bool,
}

#[derive(Default)]
struct Fared {
    runs: u64,
    failures: Vec<String>,
    /// Its quiet time and the longest beside the busy process, in the suite and by itself.
    in_suite: Times,
    alone: Times,
}

#[derive(Clone, Copy, Default)]
struct Times {
    quiet: Duration,
    longest: Duration,
}

impl Times {
    fn slower(&self) -> f64 {
        self.longest.as_secs_f64() / self.quiet.max(QUIET_LEAST).as_secs_f64()
    }
}

struct Found {
    tests: BTreeMap<String, Fared>,
    suites: u64,
    random_runs: u64,
    random_took: Duration,
    seed: u64,
    commit: String,
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let binaries = suite::build(root, &["--workspace"])?;
    let mut found = Found {
        tests: BTreeMap::new(),
        suites: 0,
        random_runs: 0,
        random_took: Duration::ZERO,
        seed: asked.seed,
        commit: commit(root),
    };
    let store = |found: &Found| if asked.store { store(root, found) } else { Ok(()) };
    println!("quiet: the suite once, and each of the timed tests once by itself");
    for binary in &binaries {
        found.take("quiet", binary, &binary.run_all()?, |fared| &mut fared.in_suite.quiet);
    }
    let timed = timed(&binaries)?;
    for (binary, test) in &timed {
        found.take("quiet", binary, &binary.run_one(test)?, |fared| &mut fared.alone.quiet);
    }
    println!("on one core: the suite once");
    for binary in &binaries {
        let ran = binary.on_cpus("0").run_all()?;
        found.take("one core", binary, &ran, |fared| &mut fared.in_suite.longest);
    }
    // This very program, also where the suite's build has replaced its file.
    let _busy = Running::start(Command::new("/proc/self/exe").arg("busy").stdin(Stdio::piped()))?;
    let (found, given_up) = (Mutex::new(found), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let random = scope.spawn(|| random(&found, &timed, asked, &given_up, &store));
        let suites = suites(&found, &binaries, asked, &store);
        given_up.store(suites.is_err(), Ordering::Relaxed);
        let random = random.join().map_err(|_| "the runs in random order ended with a panic".to_owned())?;
        suites.and(random)
    })?;
    let found = held(&found);
    store(&found)?;
    println!("{}", found.page());
    found.verdict()
}

fn suites(
    found: &Mutex<Found>,
    binaries: &[Binary],
    asked: &Asked,
    store: &impl Fn(&Found) -> Result<(), String>,
) -> Result<(), String> {
    for number in 1..=asked.suites {
        for binary in binaries {
            let ran = binary.run_all()?;
            held(found).take("busy", binary, &ran, |fared| &mut fared.in_suite.longest);
        }
        let mut found = held(found);
        found.suites = number;
        println!("beside a busy process: suite {number} of {}, {} failures", asked.suites, found.failures());
        store(&found)?;
    }
    Ok(())
}

/// Runs the timed tests in random order, each by itself, until the time is over or the suites are given up.
fn random(
    found: &Mutex<Found>,
    timed: &[(&Binary, String)],
    asked: &Asked,
    given_up: &AtomicBool,
    store: &impl Fn(&Found) -> Result<(), String>,
) -> Result<(), String> {
    let mut chance = ChaCha8Rng::seed_from_u64(asked.seed);
    let (begun, mut stored) = (Instant::now(), Instant::now());
    let goes_on = || begun.elapsed().as_secs() < asked.minutes * 60 && !given_up.load(Ordering::Relaxed);
    while goes_on() && !timed.is_empty() {
        let (binary, test) = &timed[(chance.next_u64() % timed.len() as u64) as usize];
        let ran = binary.run_one(test)?;
        let mut found = held(found);
        found.take("busy, random order", binary, &ran, |fared| &mut fared.alone.longest);
        found.random_runs += 1;
        found.random_took = begun.elapsed();
        if stored.elapsed() > STORED_EVERY {
            stored = Instant::now();
            println!("{} runs in random order, {} failures", found.random_runs, found.failures());
            store(&found)?;
        }
    }
    Ok(())
}

/// Whoever held it before and panicked left whole entries.
fn held(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

fn timed(binaries: &[Binary]) -> Result<Vec<(&Binary, String)>, String> {
    let mut timed = Vec::new();
    for binary in binaries {
        let begins: Vec<&str> =
            TIMED.iter().filter(|(name, _)| *name == binary.name).map(|(_, b)| *b).collect();
        if begins.is_empty() {
            continue;
        }
        let tests = binary.tests()?;
        let chosen = tests.into_iter().filter(|test| begins.iter().any(|begin| test.starts_with(begin)));
        timed.extend(chosen.map(|test| (binary, test)));
    }
    let has_test = |(name, begins): &&(&str, &str)| {
        timed.iter().any(|(binary, test)| binary.name == *name && test.starts_with(begins))
    };
    match TIMED.iter().find(|entry| !has_test(entry)) {
        Some((name, begins)) => Err(format!("no test of {name} begins with {begins:?}: correct TIMED")),
        None => Ok(timed),
    }
}

impl Found {
    /// Takes what tests of a binary did; the time of each goes where `time` says, if it is the longest yet.
    fn take(
        &mut self,
        when: &str,
        binary: &Binary,
        Ran { outcomes, text, status }: &Ran,
        time: impl Fn(&mut Fared) -> &mut Duration,
    ) {
        if !status.success() {
            println!("{text}");
        }
        if !status.success() && outcomes.values().all(|o| o.passed) {
            self.tests.entry(binary.name.clone()).or_default().failures.push(format!("{when}: {status}"));
        }
        for (name, outcome) in outcomes {
            let fared = self.tests.entry(name.clone()).or_default();
            fared.runs += 1;
            let longest = time(fared);
            *longest = (*longest).max(outcome.took);
            if !outcome.passed {
                println!("FAILED  {name} ({when})");
                fared.failures.push(when.to_owned());
            }
        }
    }

    fn failures(&self) -> usize {
        self.tests.values().map(|fared| fared.failures.len()).sum()
    }

    fn slow(&self) -> impl Iterator<Item = (&String, &Fared)> {
        self.tests.iter().filter(|(_, f)| f.in_suite.slower().max(f.alone.slower()) > SLOWER_MAX)
    }

    fn verdict(&self) -> Result<(), String> {
        let slow = self.slow().count();
        if self.failures() == 0 && slow == 0 {
            return Ok(());
        }
        Err(format!("{} failures, {slow} tests over {SLOWER_MAX} times their quiet time", self.failures()))
    }

    fn page(&self) -> String {
        let mut page = format!(
            "# The tests, hammered: {}\n\n`cargo xtask hammer`, commit {}, {} CPUs, seed {}.\n\n\
             - once quietly; once on a single core; {} times beside a process that takes each core half of the time: \
             {} tests, all of the workspace\n\
             - {} runs of single tests that read a clock, sleep, start processes or load a socket, in random order at the \
             same time, in {:.0} min\n\
             - {} failures; {} tests over {SLOWER_MAX} times their quiet time (quiet times under {:.1} s count as that)\n\n",
            date(),
            self.commit,
            std::thread::available_parallelism().map_or(1, usize::from),
            self.seed,
            self.suites,
            self.tests.len(),
            self.random_runs,
            self.random_took.as_secs_f64() / 60.0,
            self.failures(),
            self.slow().count(),
            QUIET_LEAST.as_secs_f64(),
        );
        for (name, fared) in self.tests.iter().filter(|(_, f)| !f.failures.is_empty()) {
            page.push_str(&format!("- failed: `{name}`: {}\n", fared.failures.join("; ")));
        }
        page.extend(self.slow().map(|(name, _)| format!("- too slow: `{name}`\n")));
        page.push_str(
            "\nTests that were run by themselves, too, by their longest time beside the busy process (times in seconds; \
             \"suite\" includes the run on a single core):\n\n",
        );
        let mut rows: Vec<(&String, &Fared)> =
            self.tests.iter().filter(|(_, f)| f.alone.quiet > Duration::ZERO).collect();
        rows.sort_by_key(|(_, f)| std::cmp::Reverse(f.alone.longest.max(f.in_suite.longest)));
        let rows = rows.into_iter().map(|(name, f)| {
            let [a, b, c, d] = [f.in_suite.quiet, f.in_suite.longest, f.alone.quiet, f.alone.longest]
                .map(|time| format!("{:.2}", time.as_secs_f64()));
            [format!("`{name}`"), f.runs.to_string(), f.failures.len().to_string(), a, b, c, d]
        });
        let heads = "test | runs | failures | suite, quiet | suite, longest | alone, quiet | alone, longest";
        page + &table(heads, "---|---|---|---|---|---|---", rows)
    }
}

fn store(root: &Path, found: &Found) -> Result<(), String> {
    crate::page::store(root, &format!("hammer-{}", date()), &found.page(), None)
}

/// Takes each core half of the time until standard input ends: `cargo xtask busy`.
pub(crate) fn busy() -> Result<(), String> {
    let cpus = sched_getaffinity(Pid::from_raw(0)).map_err(|e| e.to_string())?;
    for cpu in (0..CpuSet::count()).filter(|cpu| cpus.is_set(*cpu).unwrap_or(false)) {
        std::thread::spawn(move || {
            let mut own = CpuSet::new();
            // Where it may not be pinned, the kernel spreads the threads.
            let _ = own.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &own));
            loop {
                let begun = Instant::now();
                while begun.elapsed() < BUSY {
                    std::hint::spin_loop();
                }
                std::thread::sleep(BUSY);
            }
        });
    }
    // Whoever started this has ended when nothing can be read any more.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(|e| e.to_string())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(quiet_ms: u64, longest_ms: u64, failures: usize) -> Found {
        let [quiet, longest] = [quiet_ms, longest_ms].map(Duration::from_millis);
        let failures = vec!["busy".to_owned(); failures];
        let fared = Fared { runs: 2, failures, in_suite: Times { quiet, longest }, alone: Times::default() };
        let tests = BTreeMap::from([("load a_test".to_owned(), fared)]);
        let (suites, random_runs, random_took, seed, commit) = (1, 0, Duration::ZERO, 1, String::new());
        Found { tests, suites, random_runs, random_took, seed, commit }
    }

    #[test]
    fn a_failure_or_ten_times_the_quiet_time_fails_the_hammer() {
        assert!(found(200, 2_000, 0).verdict().is_ok());
        assert!(found(1, 1_000, 0).verdict().is_ok(), "a millisecond counts as a tenth of a second");
        assert!(found(200, 2_001, 0).verdict().is_err());
        assert!(found(200, 200, 1).verdict().is_err());
        assert!(
            found(200, 2_001, 1).page().contains("- failed: `load a_test`: busy\n- too slow: `load a_test`")
        );
    }

    #[test]
    fn the_line_is_read() {
        assert!(Asked::try_parse_from(["hammer", "--minutes", "x"]).is_err());
        assert_eq!(Asked::try_parse_from(["hammer", "--suites", "3"]).unwrap().suites, 3);
    }
}
