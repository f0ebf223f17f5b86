//! Runs whose experiment replaces the contract, or leaves the number of workers to its source.

use std::path::Path;
use std::sync::Mutex;

use prony_load::{Control, Interrupt};
use prony_model::published::{Published, PublishedRow};
use prony_model::run_log::RunLog;
use prony_model::{Plan, Secret};

use super::tests::{assert_nothing_left, quick, read, setup};
use super::*;
use crate::catalogue::Catalogue;
use crate::check::CustomCheck;
use crate::experiment::WorkerPolicy;
use crate::supervise::testing::guard_exe;

/// A catalogue of two servers of the example: `lie`, which answers five bytes, and `many`, which takes workers.
fn catalogue(root: &Path) -> Catalogue {
    for (name, word, processes) in [("lie", "lie", "single"), ("many", "serve", "workers")] {
        let recipe = format!(
            "schema = \"prony.server/1\"\ntitle = \"{word}\"\nlanguage = \"Rust\"\nkind = \"runtime\"\n\
             routes = [\"text\"]\nprocesses = \"{processes}\"\nkeepalive = true\n\
             [start]\ncommand = [\"{}\", \"{word}\", \"{{port}}\"]\n",
            guard_exe().display()
        );
        let folder = root.join("servers").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("server.toml"), recipe).unwrap();
    }
    Catalogue::load(&[root.join("servers")])
}

/// A load's path, and the status and the body that every answer must have.
type Asked = (String, Option<u16>, Option<Vec<u8>>);

/// A run of one candidate, one block, and these checks; what its loads asked for.
fn checked(root: &Path, checks: Vec<CustomCheck>) -> (RunLog, Vec<Asked>) {
    let mut setup = setup(root, &[], 1);
    setup.experiment.candidates = vec!["lie".to_owned()];
    setup.experiment.baseline = None;
    setup.experiment.checks = checks;
    setup.experiment.redact = vec!["X-Own".to_owned()];
    let resolved = resolve(&setup.experiment, &catalogue(root), &setup.layout, None, None).unwrap();
    assert_eq!(resolved.skipped, []);
    setup.candidates = resolved.candidates;
    let asked = Mutex::new(Vec::new());
    let loader = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
        asked.lock().unwrap().push((plan.target.path.clone(), plan.expect.status, plan.expect.body.clone()));
        quick(plan, control, observe)
    };
    run(&setup, Loads::new(&loader), &Interrupt::new(), &mut |_| ()).unwrap();
    (read(&setup), asked.into_inner().unwrap())
}

#[test]
fn an_experiments_checks_are_what_is_asked_and_loaded() {
    let root = tempfile::tempdir().unwrap();
    // The contract would refuse it: it answers something else.
    let own = ("x-own".to_owned(), Secret::of_header("x-own", "s3cret").unwrap());
    let check = CustomCheck { status: Some(200), headers: vec![own], ..CustomCheck::answers("/?a=1") };
    let (log, asked) = checked(root.path(), vec![check]);
    assert_eq!(asked, [("/?a=1".to_owned(), Some(200), None)]);
    let trial = log.results[0].trial.as_ref().unwrap();
    assert_eq!((trial.requests.completed, trial.requests.failed), (20, 0));
    assert!(log.header.plans[0].describe.contains("GET /?a=1"), "{:?}", log.header.plans);
    // What is to be redacted is, wherever it came from.
    let redacted = [("x-own".to_owned(), "[redacted]".to_owned())];
    assert_eq!(
        (&log.header.plans[0].plan.headers[..], &trial.plan.headers[..]),
        (&redacted[..], &redacted[..])
    );
    assert_nothing_left(root.path());
}

#[test]
fn a_server_that_fails_an_experiments_check_is_left_out() {
    let root = tempfile::tempdir().unwrap();
    let check = CustomCheck { json: [("$.ok".to_owned(), true.into())].into(), ..CustomCheck::answers("/") };
    let (log, asked) = checked(root.path(), vec![check]);
    assert_eq!(asked, []);
    let failed = log.events.iter().find(|event| event.what == "check_failed").unwrap();
    assert!(failed.detail.contains("is not JSON"), "{}", failed.detail);
    assert_nothing_left(root.path());
}

#[test]
fn servers_get_the_source_s_workers_or_are_skipped() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[], 1);
    setup.experiment.candidates = vec!["lie".to_owned(), "many".to_owned()];
    setup.experiment.baseline = None;
    setup.experiment.workers = WorkerPolicy::Source;
    let catalogue = catalogue(root.path());
    let row = |workers| PublishedRow { candidate: "many".to_owned(), workers, ..PublishedRow::default() };
    let mut workers = |given| {
        setup.experiment.published = Some(Published { rows: vec![row(given)], ..Published::default() });
        let resolved = resolve(&setup.experiment, &catalogue, &setup.layout, None, None).unwrap();
        let skipped: Vec<String> = resolved.skipped.iter().map(|s| s.reason.clone()).collect();
        setup.candidates = resolved.candidates;
        let told: Vec<Option<u32>> = header(&setup).candidates.iter().map(|c| c.facts.workers).collect();
        (told, skipped)
    };
    assert_eq!(workers(Some(4)), (vec![Some(1), Some(4)], Vec::new()), "one process has one worker");
    let (told, skipped) = workers(None);
    assert_eq!(told, [Some(1)]);
    assert!(skipped[0].starts_with("Its source does not say how many workers it had"), "{skipped:?}");
}
