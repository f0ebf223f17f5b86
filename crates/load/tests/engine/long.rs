//! Lists that stay in their file: what is sent, against the same list in memory, and files that change.

use std::io::Write;
use std::net::SocketAddr;

use prony_load::{Control, LoadError};
use prony_model::Plan;
use prony_model::list::{Order, TargetList};
use prony_model::plan::{Arrivals, Work};
use prony_model::rate::Rate;
use prony_target::{Config, Target};
use tempfile::NamedTempFile;

use crate::targets::{paths, recording};
use crate::{HANGS, plan, run, run_until, settled};

fn written(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn long(address: SocketAddr, file: &NamedTempFile) -> Plan {
    let mut plan = plan(address);
    plan.work = Work::List(TargetList::pass(file.path(), None, Some(&plan.target), "GET").unwrap().1);
    plan
}

#[test]
fn requests_come_in_the_order_that_they_have_in_memory() {
    let rate = Arrivals::Constant(Rate::per_s(20_000.0).unwrap());
    let text: String = (0..3_001).map(|i| format!("/a/{i}\n")).collect();
    let file = written(&text);
    for (arrivals, threads, pipeline, requests) in [
        (Arrivals::Closed, 1, 1, Some(9_500)),
        (Arrivals::Closed, 2, 1, Some(6_000)),
        (Arrivals::Closed, 1, 16, Some(7_000)),
        (rate.clone(), 1, 1, Some(3_100)),
        (rate, 3, 4, Some(9_100)),
        (Arrivals::Closed, 2, 1, None),
    ] {
        let seen = [false, true].map(|is_long| {
            let (address, seen) = recording();
            let mut p = long(address, &file);
            if !is_long {
                let list = TargetList::parse(text.as_bytes(), Some(&p.target), "GET", Order::InTurn);
                p.work = Work::List(list.unwrap().1);
            }
            (p.arrivals, p.threads, p.connections) = (arrivals.clone(), threads, threads);
            (p.pipeline, p.stop.requests) = (pipeline, requests);
            let m = match requests {
                Some(_) => run(&p).unwrap(),
                None => run_until(&p, |so_far| so_far.completed >= 4_000),
            };
            assert_eq!((m.requests.failed, m.by_request.is_empty()), (0, is_long));
            let mut each = paths(&seen);
            // Which worker's connection is accepted first is chance.
            each.sort();
            each
        });
        let [memory, file] = &seen;
        let count = |each: &[Vec<String>]| each.iter().map(Vec::len).sum::<usize>() as u64;
        match requests {
            Some(requests) => {
                assert_eq!(memory, file, "{threads} {pipeline}");
                assert_eq!(count(file), requests);
            }
            None => {
                for (one, other) in memory.iter().zip(file) {
                    assert!(one.iter().zip(other).all(|(one, other)| one == other));
                }
            }
        }
    }
}

#[test]
fn each_line_has_its_own_expectation_and_body() {
    let text = concat!(
        "{\"url\":\"/\",\"method\":\"HEAD\",\"headers\":{\"X\":\"1\"}}\n",
        "{\"url\":\"/echo\",\"body\":\"one\",\"expect\":{\"body\":\"one\"}}\n",
        "{\"url\":\"/nope\",\"expect\":{\"status\":404}}\n",
        "{\"url\":\"/echo\",\"body\":\"two\",\"chunked\":true,\"expect\":{\"body\":\"one\"}}\n",
        "{\"url\":\"/json\"}\n",
    );
    let file = written(text);
    for (threads, pipeline) in [(1, 1), (2, 8)] {
        let target = Target::start(&Config::default()).unwrap();
        let mut p = long(target.address(), &file);
        (p.threads, p.connections, p.pipeline, p.stop.requests) = (threads, 4, pipeline, Some(5_000));
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (4_000, 1_000));
        let ledger = settled(target, 4);
        let counts = ["/", "/echo", "/json", "other"].map(|path| ledger.requests_by_path[path]);
        assert_eq!((counts, ledger.requests_received), ([1_000, 2_000, 1_000, 1_000], 5_000));
    }
}

#[test]
fn a_file_that_changes_under_the_load_ends_it() {
    let text: String = (0..300_000).map(|i| format!("/?{i}\n")).collect();
    let target = Target::start(&Config::default()).unwrap();
    let changes: [&dyn Fn(&NamedTempFile); 3] = [
        &|file| file.as_file().set_len(9_000).unwrap(),
        &|file| file.as_file().set_len(0).unwrap(),
        &|file| std::fs::write(file.path(), "no request\n".repeat(200_000)).unwrap(),
    ];
    for change in changes {
        let file = written(&text);
        let mut p = long(target.address(), &file);
        (p.threads, p.connections, p.stop.requests, p.stop.duration) = (2, 2, None, Some(HANGS));
        let mut is_changed = false;
        let ended = prony_load::run(&p, &Control::new(), &mut |so_far| {
            if so_far.completed > 0 && !std::mem::replace(&mut is_changed, true) {
                change(&file);
            }
        });
        let Err(LoadError::Plan(why)) = ended else { panic!("{ended:?}") };
        assert!(why.0.contains("has changed while it was used"), "{why}");
        // And before it.
        let Err(LoadError::Plan(why)) = run(&p) else { panic!("it is not what it was") };
        assert!(why.0.contains("has changed"), "{why}");
    }
}

#[test]
fn a_file_that_was_only_touched_is_no_list_any_more() {
    let target = Target::start(&Config::default()).unwrap();
    let file = written(&"/\n/json\n".repeat(100));
    let mut p = long(target.address(), &file);
    (p.stop.requests, p.stop.duration) = (None, Some(HANGS));
    let control = Control::new();
    let ended = prony_load::run(&p, &control, &mut |so_far| {
        if so_far.completed > 0 && !control.stop_asked() {
            // As long as before, and as right.
            std::fs::write(file.path(), "/json\n/\n".repeat(100)).unwrap();
            control.stop();
        }
    });
    assert!(matches!(&ended, Err(LoadError::Plan(why)) if why.0.contains("has changed")), "{ended:?}");
}
