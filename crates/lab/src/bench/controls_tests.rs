//! Twins of candidates.

use super::tests::*;
use super::*;

#[test]
fn a_twin_is_started_measured_and_resumed_like_a_candidate() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[("a", SERVE), ("b", SERVE)], 2);
    assert!(setup.twin().is_none());
    setup.experiment.controls = true;
    assert_eq!(setup.twin().unwrap().candidate.label(), "a");
    setup.baseline = Some("b".to_owned());
    assert_eq!(setup.twin().unwrap().candidate.label(), "b");
    assert_eq!(setup.loads_of_a_block().len(), 3);
    let outcome = run_quick(&setup).unwrap();
    assert_eq!((outcome.end, outcome.trials), (End::Finished, 6));
    let whole = read(&setup);
    assert_eq!((whole.results.len(), whole.controls.len(), whole.header.candidates.len()), (4, 2, 2));
    for twin in &whole.controls {
        assert_eq!((twin.planned.candidate.as_str(), twin.planned.who().as_str()), ("b", "twin of b"));
        assert!(twin.trial.as_ref().unwrap().throughput.requests_per_s.point > 0.0);
        assert!(twin.server.as_ref().unwrap().startup_ns > 0, "a start of its own");
    }
    let text = std::fs::read_to_string(&setup.log).unwrap();
    // Header, then a start and a result per trial: cut within the third result.
    let third: usize = text.split_inclusive('\n').take(7).map(str::len).sum();
    std::fs::write(&setup.log, &text[..third - 40]).unwrap();
    setup.resume = true;
    assert_eq!(run_quick(&setup).unwrap().trials, 4, "controls that are done are not run again");
    assert_eq!((read(&setup).results.len(), read(&setup).controls.len()), (4, 2));
    assert_eq!(run_quick(&setup).unwrap().trials, 0, "nothing is left");
    assert_nothing_left(root.path());
}

#[test]
fn a_search_has_no_twin() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[("a", SERVE), ("b", SERVE)], 3);
    setup.experiment.controls = true;
    let mut search = setup.experiment.plans[0].clone();
    (search.name, search.capacity) = ("knee".to_owned(), Some(Vec::new()));
    setup.experiment.plans.push(search);
    let order = header(&setup).order;
    let twins: Vec<_> = order.iter().filter(|planned| planned.control.is_some()).collect();
    assert_eq!((order.len(), twins.len()), (15, 3));
    assert!(twins.iter().all(|twin| twin.plan != "knee"));
    assert!(order.iter().enumerate().all(|(at, planned)| planned.index as usize == at));
    assert_eq!(setup.loads_of_a_block().len(), 5);
}
