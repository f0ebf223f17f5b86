//! Duets over real, small servers with loads of a tenth of a second.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use prony_load::{Control, Interrupt};
use prony_model::Plan;
use prony_model::duet::{DuetShared, DuetSide};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_model::run_log::RunLog;
use prony_model::trial::Validity;

use super::tests::{SERVE, assert_nothing_left, counted, events, read, setup, wait_for_log};
use super::*;

/// Two places without pins, so that it works on any machine.
fn duet(root: &Path, commands: &[(&str, &str)], blocks: u32) -> BenchSetup {
    let mut setup = setup(root, commands, blocks);
    for plan in &mut setup.experiment.plans {
        plan.load.arrivals = Arrivals::Constant(Rate::per_s(200.0).unwrap());
        plan.load.connections = 2;
        plan.load.stop.duration = Some(Duration::from_millis(100));
        plan.load.warmup = Duration::from_millis(20);
    }
    let anywhere = Pins::default();
    let halves = CpuHalves { left: anywhere.clone(), right: anywhere, shared: DuetShared::Servers };
    setup.duet = Some(halves);
    setup
}

fn run_plain(setup: &BenchSetup) -> Result<BenchOutcome, BenchError> {
    if setup.resume {
        wait_for_log(setup);
    }
    run(setup, Loads::new(&prony_load::run), &Interrupt::new(), &mut |_| ())
}

/// Neighbours in the log are one half of a duet, with windows of the same length.
fn assert_at_once(log: &RunLog) {
    for pair in log.results.chunks(2) {
        let [one, other] = pair else { panic!("{pair:?}") };
        let (a, b) = (one.trial.as_ref().unwrap(), other.trial.as_ref().unwrap());
        assert_eq!(a.window, b.window);
        assert_ne!(one.planned.candidate, other.planned.candidate);
        assert_eq!(
            (one.planned.duet.unwrap().half, one.planned.block),
            (other.planned.duet.unwrap().half, other.planned.block)
        );
        // 200 a second for 100 ms: what is due does not depend on what was answered.
        assert_eq!((a.requests.scheduled, b.requests.scheduled), (20, 20));
    }
}

#[test]
fn both_servers_of_a_duet_run_at_once_and_swap_sides() {
    let root = tempfile::tempdir().unwrap();
    let setup = duet(root.path(), &[("a", SERVE), ("b", SERVE)], 2);
    let (under_way, most) = (Mutex::new(0), Mutex::new(0));
    let (ports, windows) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let load = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        ports.lock().unwrap().push(plan.target.port);
        let now = {
            let mut now = under_way.lock().unwrap();
            *now += 1;
            *now
        };
        let mut seen = most.lock().unwrap();
        *seen = now.max(*seen);
        drop(seen);
        let measured = prony_load::run(plan, control, observe)?;
        windows.lock().unwrap().push((measured.window_start_ns, measured.window_end_ns));
        *under_way.lock().unwrap() -= 1;
        Ok(measured)
    };
    let outcome = run(&setup, Loads::new(&load), &Interrupt::new(), &mut |_| ()).unwrap();
    assert_eq!(*most.lock().unwrap(), 2, "two at a time, and no more");
    let log = read(&setup);
    assert_eq!((outcome.end, outcome.trials, counted(&log)), (End::Finished, 8, 8));
    assert_at_once(&log);
    for half in windows.into_inner().unwrap().chunks(2) {
        assert_eq!(half[0], half[1], "the same first instant and the same last, of one clock");
    }
    assert!(log.header.duet.is_some());
    let side = |candidate: &str, side| {
        let is = |r: &&TrialResult| r.planned.candidate == candidate && r.planned.duet.unwrap().side == side;
        log.results.iter().filter(is).count()
    };
    for candidate in ["a", "b"] {
        assert_eq!((side(candidate, DuetSide::Left), side(candidate, DuetSide::Right)), (2, 2));
    }
    let mut ports = ports.into_inner().unwrap();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 8, "a fresh server for each");
    for result in &log.results {
        let trial = result.trial.as_ref().unwrap();
        assert_eq!(
            trial.verdict.validity,
            Validity::Suspect,
            "what is shared is marked: {:?}",
            trial.verdict
        );
        assert!(trial.verdict.reasons.iter().any(|r| r.code == prony_model::code::Code::DuetSharesCpus));
        assert!(result.server.as_ref().unwrap().peak_memory_bytes > 0);
    }
    assert_nothing_left(root.path());
}

#[test]
fn a_duet_is_not_measured_if_one_server_does_not_start() {
    let root = tempfile::tempdir().unwrap();
    let setup = duet(root.path(), &[("a", SERVE), ("dead", "exit 3 # {port}")], 6);
    let outcome = run_plain(&setup).unwrap();
    let log = read(&setup);
    assert_eq!((outcome.end, counted(&log)), (End::Finished, 0));
    assert_eq!(log.results.len(), 4, "two attempts of the one, and the other beside it");
    for result in &log.results {
        let why = result.failure.as_deref().unwrap();
        let expected = if result.planned.candidate == "a" {
            "dead, the other candidate of the duet"
        } else {
            "exit code 3"
        };
        assert!(why.contains(expected), "{why}");
    }
    assert_eq!(events(&log), ["start_failed", "finished"]);
    assert_nothing_left(root.path());
}

#[test]
fn a_server_that_dies_in_a_duet_ends_it_and_is_named() {
    let root = tempfile::tempdir().unwrap();
    let (stop, me) = (root.path().join("stop"), root.path().display());
    let command = format!(
        "cd {me}; SELF serve {{port}} & while [ ! -e stop ]; do sleep 0.01; done; kill $!; echo out of memory; exit 9"
    );
    let mut setup = duet(root.path(), &[("a", SERVE), ("mortal", &command)], 1);
    for plan in &mut setup.experiment.plans {
        plan.load.stop.duration = Some(Duration::from_secs(600)); // ends by the server's death alone
    }
    // When both windows are open, so that both have been measured.
    let open = Mutex::new(BTreeSet::new());
    let load = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        prony_load::run(plan, control, &mut |snapshot| {
            if snapshot.in_window && snapshot.completed > 0 {
                let mut open = open.lock().unwrap();
                open.insert(plan.target.port);
                if open.len() == 2 {
                    std::fs::write(&stop, "").unwrap();
                }
            }
            observe(snapshot);
        })
    };
    let outcome = run(&setup, Loads::new(&load), &Interrupt::new(), &mut |_| ()).unwrap();
    let log = read(&setup);
    assert_eq!((outcome.end, counted(&log)), (End::Finished, 0));
    let of = |name: &str| log.results.iter().find(|r| r.planned.candidate == name).unwrap();
    let mortal = of("mortal").trial.as_ref().unwrap();
    assert!(
        mortal.verdict.reasons.iter().any(|r| r.code == prony_model::code::Code::ServerDied),
        "{:?}",
        mortal.verdict
    );
    assert_eq!(
        of("a").failure.as_deref(),
        Some("Not measured: mortal, the other candidate of the duet, died.")
    );
    assert_nothing_left(root.path());
}

#[test]
fn an_interrupt_ends_both_loads_and_resume_repeats_the_half() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = duet(root.path(), &[("a", SERVE), ("b", SERVE)], 1);
    let interrupt = Interrupt::new();
    let loads = Mutex::new(0);
    let load = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        let nth = {
            let mut loads = loads.lock().unwrap();
            *loads += 1;
            *loads
        };
        let mut plan = plan.clone();
        if nth > 2 {
            plan.stop.duration = Some(Duration::from_secs(600)); // ends by the interrupt alone
        }
        prony_load::run(&plan, control, &mut |snapshot| {
            if nth > 2 && snapshot.in_window {
                interrupt.ask();
            }
            observe(snapshot);
        })
    };
    let outcome = run(&setup, Loads::new(&load), &interrupt, &mut |_| ()).unwrap();
    assert_eq!((outcome.end, counted(&read(&setup))), (End::Interrupted, 2));
    assert_nothing_left(root.path());
    // As if a crash had cut the log between the two results of a half.
    let text = std::fs::read_to_string(&setup.log).unwrap();
    let results: Vec<usize> = text.match_indices("{\"type\":\"result\"").map(|(at, _)| at).collect();
    std::fs::write(&setup.log, &text[..results[1]]).unwrap();
    setup.resume = true;
    let outcome = run_plain(&setup).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::Finished, 4), "half a pair is no pair");
    let log = read(&setup);
    let mut indices: Vec<u32> = log.results.iter().map(|r| r.planned.index).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 0, 1, 2, 3]);
    assert_nothing_left(root.path());
    let mut elsewhere = setup.clone();
    elsewhere.duet = None;
    assert!(matches!(
        run(&elsewhere, Loads::new(&prony_load::run), &Interrupt::new(), &mut |_| ()),
        Err(BenchError::Resume { .. })
    ));
}
