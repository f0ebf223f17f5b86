//! Whole runs over real, small servers with loads of some milliseconds.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use prony_load::{Control, Interrupt, LoadError};
use prony_model::fleet::FleetRecord;
use prony_model::plan::Stop;
use prony_model::run_log::{CandidateRecord, Line, RunLog};
use prony_model::trial::{Trial, Validity};
use prony_model::{Measurement, Plan, Target};

use super::runner::Runner;
use super::*;
use crate::candidate::Listens;
use crate::catalogue::Catalogue;
use crate::check::Route;
use crate::experiment::ExperimentPlan;
use crate::supervise::testing::{guard_exe, supervision};
use prony_host::testing::{PATIENCE, wait_until};

/// A setup below `root` of commands: `NAME` and what is run, `SELF` being the example.
pub(crate) fn setup(root: &Path, commands: &[(&str, &str)], blocks: u32) -> BenchSetup {
    let me = guard_exe().display().to_string();
    let candidate = |(name, command): &(&str, &str)| {
        let candidate = Candidate::command(name, &command.replace("SELF", &me), Listens::default());
        BenchCandidate::new(candidate.unwrap(), None)
    };
    let names = commands.iter().map(|(name, _)| (*name).to_owned()).collect();
    BenchSetup {
        // However slow the machine is, no request fails by it.
        experiment: Experiment::of_candidates(
            names,
            ExperimentPlan::of(Plan {
                timeout: PATIENCE,
                ..Plan::closed(Target::parse("http://127.0.0.1/").unwrap())
            }),
            blocks,
            7,
        ),
        candidates: commands.iter().map(candidate).collect(),
        skipped: Vec::new(),
        baseline: None,
        layout: Layout::new(root).unwrap(),
        log: root.join("runs/test.jsonl"),
        resume: false,
        reproduce: "prony bench".to_owned(),
        host: Host { cpu_model: "a CPU".to_owned(), ..Host::default() },
        pins: Pins::default(),
        supervision: supervision(root),
        service_cpus: Vec::new(),
        duet: None,
        server_host: None,
        repeats_disturbed: false,
        fleet: Vec::new(),
        slo: Vec::new(),
    }
}

pub(crate) const SERVE: &str = "exec SELF serve {port}";

/// A real load in place of the plan's long one, which ends by its count: however slow the machine is, all of it
/// is answered.
pub(crate) fn quick(
    plan: &Plan,
    control: &Control,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, LoadError> {
    let mut short = plan.clone();
    (short.connections, short.warmup) = (1, Duration::ZERO);
    short.stop = Stop { duration: Some(Duration::from_secs(600)), requests: Some(20) };
    observe(&Snapshot::default());
    prony_load::run(&short, control, observe)
}

/// Waits until nobody has the log of a run that has ended, which is to be gone on with: a child that another test
/// starts at this moment has this process's descriptors, and with them the log's lock, until it executes.
pub(crate) fn wait_for_log(setup: &BenchSetup) {
    wait_until("the run log", || {
        let log = std::fs::File::open(&setup.log).unwrap();
        log.try_lock().is_ok() && log.unlock().is_ok()
    });
}

pub(super) fn run_quick(setup: &BenchSetup) -> Result<BenchOutcome, BenchError> {
    if setup.resume {
        wait_for_log(setup);
    }
    run(setup, Loads::new(&quick), &Interrupt::new(), &mut |_| ())
}

pub(crate) fn read(setup: &BenchSetup) -> RunLog {
    prony_analysis::run_log::read(&setup.log).unwrap()
}

pub(crate) fn events(log: &RunLog) -> Vec<&str> {
    log.events.iter().map(|e| e.what.as_str()).collect()
}

pub(super) fn indices(log: &RunLog) -> Vec<u32> {
    log.results.iter().map(|r| r.planned.index).collect()
}

/// How many trials have figures that count.
pub(crate) fn counted(log: &RunLog) -> usize {
    let counts = |trial: &Trial| trial.verdict.validity != Validity::Invalid && !trial.interrupted;
    log.results.iter().filter(|result| result.trial.as_ref().is_some_and(counts)).count()
}

/// No server is left, and nothing that would tell of one.
pub(crate) fn assert_nothing_left(root: &Path) {
    assert_eq!(std::fs::read_dir(root.join("journal")).map_or(0, Iterator::count), 0);
}

#[test]
fn every_trial_runs_on_a_fresh_server_and_is_recorded() {
    let root = tempfile::tempdir().unwrap();
    let setup = setup(root.path(), &[("a", SERVE), ("b", SERVE)], 2);
    let mut told = Vec::new();
    let ports = Mutex::new(Vec::new());
    let loader = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        ports.lock().unwrap().push(plan.target.port);
        quick(plan, control, observe)
    };
    let interrupt = Interrupt::new();
    let mut tell = |event: &BenchEvent<'_>| {
        told.push(match event {
            BenchEvent::Begun { total, remaining, .. } => format!("begun {remaining}/{total}"),
            BenchEvent::Note(event) => event.what.clone(),
            BenchEvent::TrialBegins { planned, done, remaining, .. } => {
                format!("begins {} {done}/{remaining}", planned.index)
            }
            BenchEvent::Load { .. } => "load".to_owned(),
            BenchEvent::TrialEnded { result, done, remaining, .. } => {
                assert!(result.trial.as_ref().unwrap().throughput.requests_per_s.point > 0.0);
                format!("ended {done}/{remaining}")
            }
        });
    };
    let outcome = run(&setup, Loads::new(&loader), &interrupt, &mut tell).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::Finished, 4));
    told.retain(|t| t != "load");
    let expected = "begun 4/4, begins 0 0/4, ended 1/4, begins 1 1/4, ended 2/4, begins 2 2/4, ended 3/4, \
                    begins 3 3/4, ended 4/4, finished";
    assert_eq!(told.join(", "), expected);
    let log = read(&setup);
    assert_eq!(indices(&log), [0, 1, 2, 3]);
    assert_eq!(log.header.order.len(), 4);
    let mut ports = ports.into_inner().unwrap();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4, "each server on a port of its own");
    for result in &log.results {
        let (trial, server) = (result.trial.as_ref().unwrap(), result.server.as_ref().unwrap());
        assert_eq!((trial.requests.completed, trial.requests.failed), (20, 0));
        assert!(server.startup_ns > 0 && server.peak_memory_bytes > 0 && server.processes >= 1, "{server:?}");
        assert!(server.columns.at_ns.len() >= 2);
    }
    assert_nothing_left(root.path());
    assert!(matches!(run_quick(&setup), Err(BenchError::Open(_))), "a log is never overwritten");
}

#[test]
fn the_share_under_load_leaves_out_starts_of_servers() {
    let root = tempfile::tempdir().unwrap();
    // Of each of the two trials 200 ms at least are a start, and as much as the loader takes a load.
    let slow_start = format!("sleep 0.2; {SERVE}");
    let setup = setup(root.path(), &[("a", &slow_start)], 2);
    let starts = 2 * Duration::from_millis(200);
    let loads = Mutex::new(Duration::ZERO);
    let loader = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        let begun = std::time::Instant::now();
        let measured = quick(plan, control, observe);
        *loads.lock().unwrap() += begun.elapsed();
        measured
    };
    let begun = std::time::Instant::now();
    let outcome = run(&setup, Loads::new(&loader), &Interrupt::new(), &mut |_| ()).unwrap();
    let (took, loads) = (begun.elapsed(), loads.into_inner().unwrap());
    assert!(outcome.under_load >= loads, "{outcome:?}, {loads:?}");
    assert!(outcome.elapsed >= outcome.under_load + starts && outcome.elapsed <= took, "{outcome:?}");
    let share = outcome.under_load.as_secs_f64() / outcome.elapsed.as_secs_f64();
    assert_eq!(outcome.share_under_load(), Some(share));
    let said = read(&setup).events.iter().find(|e| e.what == "finished").unwrap().detail.clone();
    assert!(said.contains("servers were under load for "), "{said}");
    let of = |trials, elapsed, under_load| {
        let [elapsed, under_load] = [elapsed, under_load].map(Duration::from_secs);
        BenchOutcome { trials, elapsed, under_load, ..outcome.clone() }.share_under_load()
    };
    assert_eq!(of(4, 200, 170), Some(0.85));
    assert_eq!((of(4, 0, 0), of(0, 200, 0)), (None, None));
}

#[test]
fn a_run_log_cut_within_a_line_is_resumed() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[("a", SERVE), ("b", SERVE)], 2);
    run_quick(&setup).unwrap();
    let text = std::fs::read_to_string(&setup.log).unwrap();
    // Header, then a start and a result per trial: cut within the third result.
    let third: usize = text.split_inclusive('\n').take(7).map(str::len).sum();
    std::fs::write(&setup.log, &text[..third - 40]).unwrap();
    setup.resume = true;
    let outcome = run_quick(&setup).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::Finished, 2));
    let log = read(&setup);
    assert_eq!((indices(&log), log.truncated), (vec![0, 1, 2, 3], false));
    assert_eq!(events(&log), ["resumed", "finished"]);
    let again = run_quick(&setup).unwrap();
    assert_eq!((again.end, again.trials), (End::Finished, 0), "nothing is left");
}

#[test]
fn a_run_with_other_plans_host_or_candidates_is_not_resumed() {
    let root = tempfile::tempdir().unwrap();
    let mut first = setup(root.path(), &[("a", SERVE)], 1);
    run_quick(&first).unwrap();
    first.resume = true;
    let refused = |setup: &BenchSetup| match run_quick(setup) {
        Err(BenchError::Resume { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let mut other = first.clone();
    other.experiment.plans[0].load.connections = 51;
    assert!(refused(&other).contains("plans"));
    let mut other = first.clone();
    other.host.cpu_model = "another CPU".to_owned();
    assert!(refused(&other).contains("another CPU"));
    let mut other = setup(root.path(), &[("b", SERVE)], 1);
    other.resume = true;
    assert!(refused(&other).contains("its candidate a cannot run here now"));
    let mut other = setup(root.path(), &[("a", "exec SELF serve {port} # http://me:s3cret@h/")], 1);
    other.resume = true;
    let why = refused(&other);
    assert!(why.contains("give the --candidate that it was begun with") && !why.contains("s3cret"), "{why}");
}

#[test]
fn an_interrupt_ends_the_load_and_resume_repeats_the_trial() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[("a", SERVE)], 3);
    let interrupt = Interrupt::new();
    let loads = AtomicU32::new(0);
    let loader = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        if loads.fetch_add(1, Ordering::Relaxed) == 0 {
            return quick(plan, control, observe);
        }
        let mut long = plan.clone();
        (long.connections, long.warmup) = (1, Duration::ZERO);
        long.stop.duration = Some(Duration::from_secs(600)); // ends by the interrupt alone
        let asked = interrupt.clone();
        prony_load::run(&long, control, &mut |snapshot| {
            asked.ask();
            observe(snapshot);
        })
    };
    let outcome = run(&setup, Loads::new(&loader), &interrupt, &mut |_| ()).unwrap();
    let log = read(&setup);
    assert_eq!((outcome.end, outcome.trials, counted(&log)), (End::Interrupted, 2, 1));
    let marks: Vec<bool> = log.results.iter().map(|r| r.trial.as_ref().unwrap().interrupted).collect();
    assert_eq!((marks, events(&log)), (vec![false, true], vec!["interrupted"]));
    assert_nothing_left(root.path());
    setup.resume = true;
    assert_eq!(run_quick(&setup).unwrap().trials, 2);
    assert_eq!(indices(&read(&setup)), [0, 1, 1, 2]);
}

#[test]
fn an_interrupt_while_a_server_starts_ends_the_run() {
    let root = tempfile::tempdir().unwrap();
    let setup = setup(root.path(), &[("mute", "sleep 300 # {port}")], 1);
    let interrupt = Interrupt::new();
    let asked = interrupt.clone();
    // Asked as soon as the trial has begun: its server never answers.
    let mut tell = |event: &BenchEvent<'_>| {
        if matches!(event, BenchEvent::TrialBegins { .. }) {
            asked.ask();
        }
    };
    let outcome = run(&setup, Loads::new(&quick), &interrupt, &mut tell).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::Interrupted, 0));
    let log = read(&setup);
    assert_eq!((log.results.len(), log.unfinished.len()), (0, 1));
    assert_nothing_left(root.path());
}

#[test]
fn no_block_begins_after_the_budget_is_spent() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[("a", SERVE), ("b", SERVE)], 50);
    setup.experiment.budget = Some(Duration::from_nanos(1));
    let outcome = run_quick(&setup).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::BudgetSpent, 2), "the first block always runs");
    let log = read(&setup);
    assert_eq!(events(&log), ["budget_spent"]);
    assert!(log.events[0].detail.starts_with("Block 2 would end after the budget"), "{:?}", log.events);
}

#[test]
fn a_server_that_does_not_start_is_recorded_and_given_up() {
    let root = tempfile::tempdir().unwrap();
    let setup = setup(root.path(), &[("bad", "echo no config >&2; exit 3 # {port}"), ("good", SERVE)], 4);
    let outcome = run_quick(&setup).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::Finished, 6));
    let log = read(&setup);
    let bad: Vec<&TrialResult> = log.results.iter().filter(|r| r.planned.candidate == "bad").collect();
    assert_eq!(bad.len(), 2, "two attempts, then it is given up");
    let expected = "bad ended with exit code 3 before it responded. It wrote:\n  no config";
    assert_eq!(bad[0].failure.as_deref(), Some(expected));
    assert_eq!(events(&log), ["start_failed", "finished"]);
    assert_nothing_left(root.path());
}

#[test]
fn a_server_that_dies_under_load_makes_its_trial_invalid() {
    let root = tempfile::tempdir().unwrap();
    let (stop, me) = (root.path().join("stop"), root.path().display());
    let command = format!(
        "cd {me}; SELF serve {{port}} & while [ ! -e stop ]; do sleep 0.01; done; kill $!; echo out of memory; exit 9"
    );
    let setup = setup(root.path(), &[("mortal", &command)], 1);
    let loader = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        let mut long = plan.clone();
        (long.connections, long.warmup) = (1, Duration::ZERO);
        long.stop.duration = Some(Duration::from_secs(600)); // ends by the server's death alone
        prony_load::run(&long, control, &mut |snapshot| {
            std::fs::write(&stop, "").unwrap();
            observe(snapshot);
        })
    };
    let outcome = run(&setup, Loads::new(&loader), &Interrupt::new(), &mut |_| ()).unwrap();
    let log = read(&setup);
    assert_eq!((outcome.end, outcome.trials, counted(&log)), (End::Finished, 1, 0));
    let trial = log.results[0].trial.as_ref().unwrap();
    assert_eq!((trial.verdict.validity, trial.interrupted), (Validity::Invalid, false));
    let died = trial.verdict.reasons.iter().find(|r| r.code == prony_model::code::Code::ServerDied).unwrap();
    let expected = "mortal ended with exit code 9 while it was loaded. It wrote:\n  out of memory";
    assert_eq!(died.detail, expected);
    assert_nothing_left(root.path());
}

#[test]
fn rows_of_a_source_are_recorded_under_the_labels_of_the_run() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[], 1);
    setup.experiment = Experiment::find("app-servers-2018").unwrap();
    // Whether they are installed is no matter here, and takes seconds to ask.
    setup.experiment.candidates.clear();
    let resolved = resolve(&setup.experiment, &Catalogue::load(&[]), &setup.layout, None, None).unwrap();
    setup.experiment = resolved.experiment;
    let published = header(&setup).published.unwrap();
    let labels: Vec<&str> = published.rows.iter().map(|row| row.candidate.as_str()).collect();
    assert!(labels.contains(&"cowboy-plug") && !labels.contains(&"cowboy-plug:v2"), "{labels:?}");
    assert_eq!(published.rows[1].name, "cowboy2 + plug");
}

#[test]
fn a_server_with_wrong_answers_fails_its_check_and_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    let servers = root.path().join("servers");
    for word in ["serve", "lie"] {
        let recipe = format!(
            "schema = \"prony.server/1\"\ntitle = \"{word}\"\nlanguage = \"Rust\"\nkind = \"runtime\"\n\
             routes = [\"text\", \"json\"]\nprocesses = \"single\"\nkeepalive = true\n\
             [start]\ncommand = [\"{}\", \"{word}\", \"{{port}}\"]\n",
            guard_exe().display()
        );
        std::fs::create_dir_all(servers.join(word)).unwrap();
        std::fs::write(servers.join(word).join("server.toml"), recipe).unwrap();
    }
    let catalogue = Catalogue::load(&[servers]);
    let mut setup = setup(root.path(), &[], 2);
    setup.experiment.candidates = vec!["lie".to_owned(), "serve".to_owned()];
    setup.experiment.baseline = Some("serve".to_owned());
    let resolved = resolve(&setup.experiment, &catalogue, &setup.layout, None, None).unwrap();
    assert_eq!((resolved.skipped.as_slice(), resolved.baseline.as_deref()), ([].as_slice(), Some("serve")));
    setup.candidates = resolved.candidates;
    for (route, path) in [(Route::Text, "/"), (Route::Json, "/json")] {
        setup.experiment.route = route;
        setup.log = root.path().join(format!("{route}.jsonl"));
        let loader = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
            assert_eq!((plan.target.path.as_str(), plan.expect.status), (path, Some(200)));
            assert!(
                plan.expect.body.as_ref().is_some_and(|body| body.ends_with(b"Hello, World!") || path != "/")
            );
            quick(plan, control, observe)
        };
        run(&setup, Loads::new(&loader), &Interrupt::new(), &mut |_| ()).unwrap();
        let log = read(&setup);
        assert_eq!(events(&log), ["check_failed", "finished"], "{:?}", log.events);
        assert!(log.events[0].detail.starts_with("does not respond as every server"), "{:?}", log.events);
        assert_eq!(log.events[0].candidate(), Some("lie"));
        let count = |name: &str| log.results.iter().filter(|r| r.planned.candidate == name).count();
        assert_eq!((count("lie"), count("serve")), (1, 2));
        let measured = log.results.iter().filter_map(|r| r.trial.as_ref());
        assert!(measured.into_iter().all(|t| (t.requests.completed, t.requests.failed) == (20, 0)));
    }
}

#[test]
fn a_full_disk_ends_the_run_with_the_server_down() {
    let root = tempfile::tempdir().unwrap();
    let setup = setup(root.path(), &[("a", SERVE)], 2);
    let mut lines = 0;
    let mut append = |line: Line| {
        lines += 1;
        if !matches!(line, Line::Result(_)) {
            return Ok(());
        }
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        Err(RunLogError::new(Path::new("run.jsonl"), source))
    };
    let order = header(&setup).order;
    let (interrupt, mut tell) = (Interrupt::new(), |_: &BenchEvent<'_>| ());
    let why = Runner::new(&setup, Loads::new(&quick), &interrupt, &mut tell, &mut append)
        .run(&order, false)
        .unwrap_err();
    assert_eq!(
        why.to_string(),
        "run.jsonl: no storage space. What was measured before is in the log: fix this and continue with --resume."
    );
    assert_eq!(lines, 2, "the trial's start and its result, and nothing after");
    assert_nothing_left(root.path());
}

#[test]
fn a_run_whose_fleet_failed_goes_on_by_the_same_fleet_alone() {
    let root = tempfile::tempdir().unwrap();
    let fleet = vec!["--fleet".to_owned(), "ssh:a".to_owned()];
    let loads = AtomicU32::new(0);
    let loader = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        if loads.fetch_add(1, Ordering::Relaxed) == 1 {
            return Err(LoadError::Fleet("No agent is there.".to_owned()));
        }
        let measured = quick(plan, control, observe)?;
        Ok(Measurement {
            fleet: Some(FleetRecord { flags: fleet.clone(), ..FleetRecord::default() }),
            ..measured
        })
    };
    let setup = BenchSetup { fleet: fleet.clone(), ..setup(root.path(), &[("a", SERVE)], 3) };
    let why = run(&setup, Loads::new(&loader), &Interrupt::new(), &mut |_| ()).unwrap_err();
    let says = "No agent is there. What was measured before is in the log: continue with --resume.";
    assert_eq!((why.to_string().as_str(), read(&setup).results.len()), (says, 1));
    assert_nothing_left(root.path());

    let setup = BenchSetup { resume: true, ..setup };
    let why = run_quick(&BenchSetup { fleet: Vec::new(), ..setup.clone() }).unwrap_err().to_string();
    assert!(why.contains("its loads were applied by --fleet ssh:a: give the same"), "{why}");
    wait_for_log(&setup);
    run(&setup, Loads::new(&loader), &Interrupt::new(), &mut |_| ()).unwrap();
    let log = read(&setup);
    assert_eq!((indices(&log), counted(&log)), (vec![0, 1, 2], 3));
}

#[test]
fn a_url_is_checked_and_loaded_without_a_server_of_the_lab() {
    let root = tempfile::tempdir().unwrap();
    let target = prony_target::Target::start(&prony_target::Config::default()).unwrap();
    let url = |name, url: &str| {
        BenchCandidate::new(Candidate::url(name, Target::parse(url).unwrap()).unwrap(), None)
    };
    let mut setup = setup(root.path(), &[], 1);
    // A port that is no web server's, and that nobody is given by chance.
    let gone = url("gone", "http://127.0.0.1:1/");
    setup.candidates = vec![url("here", &format!("http://{}/json", target.address())), gone];
    assert_eq!(run_quick(&setup).unwrap().trials, 2);
    let log = read(&setup);
    let of = |name: &str| log.results.iter().find(|r| r.planned.candidate == name).unwrap();
    let (here, gone) = (of("here"), of("gone"));
    assert!(here.server.is_none(), "not the lab's to watch");
    let sent = here.trial.as_ref().unwrap().run_total.sent;
    assert!(gone.trial.is_none() && gone.failure.is_some(), "{gone:?}");
    // One for readiness, some for the check, and every request of the load.
    assert!(target.stop().requests_received > sent);
    let workers: Vec<Option<u32>> =
        log.header.candidates.iter().map(|c: &CandidateRecord| c.facts.workers).collect();
    assert_eq!(workers, [None, None]);
}

#[test]
fn a_run_without_usable_candidates_is_refused_with_reasons() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[], 1);
    setup.skipped.push(Skipped {
        candidate: "x".to_owned(),
        reason: "Not installed.".to_owned(),
        mend: None,
    });
    let said = run_quick(&setup).unwrap_err().to_string();
    assert_eq!(said, "None of the candidates can run here: x: Not installed.");
    assert!(!setup.log.exists());
}

#[path = "seed_tests.rs"]
mod seeds;
