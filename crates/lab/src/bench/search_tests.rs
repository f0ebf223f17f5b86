//! Searches for a capacity, as plans of a run over a real, small server; what it carries is made up.

use std::sync::atomic::{AtomicU32, Ordering};

use prony_analysis::testing::{Line, healthy};
use prony_host::process::Identity;
use prony_host::testing::wait_until;
use prony_load::{Control, Interrupt, LoadError, Loader};
use prony_model::run_log::TrialResult;
use prony_model::trial::Bound;
use prony_model::{Measurement, Plan};

use super::tests::{SERVE, assert_nothing_left, read, setup};
use super::*;
use crate::supervise::testing::pid_in;

/// A line whose head is taken 1,000 times a second: its figures, put into the present.
fn load(plan: &Plan, observe: &mut dyn FnMut(&Snapshot)) -> Result<Measurement, LoadError> {
    let start_ns = prony_host::monotonic_ns();
    observe(&Snapshot { in_window: true, ..Snapshot::default() });
    let mut m = match plan.arrivals.rate() {
        None => healthy(1, 1_000),
        Some(rate) => {
            let rate_per_s = rate.as_per_s().ceil() as u64;
            Line { rate_per_s, served_per_s: 1_000, stalls: Vec::new(), window_ns: 5_000_000_000 }.measure()
        }
    };
    // The window's figures are those of a line, its length the present's.
    let window_ns = m.window_end_ns - m.window_start_ns;
    (m.window_start_ns, m.window_end_ns) = (start_ns, start_ns + window_ns);
    Ok(m)
}

fn searched(setup: &mut BenchSetup, loader: &Loader<'_>) -> TrialResult {
    setup.experiment.plans[0].capacity = Some(Vec::new());
    setup.experiment.plans[0].load.stop.duration = Some(Duration::from_secs(5));
    let outcome = run(setup, Loads::new(loader), &Interrupt::new(), &mut |_| ()).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::Finished, 1));
    read(setup).results.remove(0)
}

#[test]
fn a_capacity_record_has_the_server_s_samples_and_costs() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[("a", SERVE)], 1);
    let result = searched(&mut setup, &|plan, _, observe| load(plan, observe));
    assert_eq!(result.failure, None, "{result:?}");
    let found = result.capacity.as_ref().unwrap();
    let point = found.capacity_per_s.as_ref().unwrap().point;
    assert!((point / 1_000.0 - 1.0).abs() < 0.03 && found.bound == Bound::Exact, "{found:#?}");
    let server = result.server.as_ref().unwrap();
    assert!(server.startup_ns > 0 && server.peak_memory_bytes > 0 && server.processes >= 1, "{server:?}");
    assert!(server.columns.at_ns.len() >= 2, "{server:?}");
    assert!(server.window_cpu_ns.checked_div(result.trial.unwrap().requests.completed).is_some());
    assert_nothing_left(root.path());
}

#[test]
fn a_server_that_dies_ends_a_capacity_search_without_a_result() {
    let root = tempfile::tempdir().unwrap();
    let pid_file = root.path().join("pid");
    let command = format!("echo $$ >{}; {SERVE}", pid_file.display());
    let mut setup = setup(root.path(), &[("mortal", &command)], 1);
    let loads = AtomicU32::new(0);
    let result =
        searched(&mut setup, &|plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
            if loads.fetch_add(1, Ordering::Relaxed) == 3 {
                assert!(Identity::of(pid_in(&pid_file)).unwrap().kill());
                wait_until("the end of the load", || {
                    observe(&Snapshot::default());
                    control.stop_asked()
                });
            }
            load(plan, observe)
        });
    assert_eq!(loads.into_inner(), 4, "nothing is loaded after it");
    let found = result.capacity.as_ref().unwrap();
    assert_eq!(found.capacity_per_s, None);
    let why = "mortal was ended by signal 9 while it was loaded.";
    assert_eq!(found.void.as_deref(), Some(why));
    assert_eq!(result.failure.unwrap(), format!("Its capacity was not found: {why}"));
    assert!(
        result.trial.unwrap().verdict.reasons.iter().any(|r| r.code == prony_model::code::Code::ServerDied)
    );
    assert_nothing_left(root.path());
}
