//! Any bytes as a log that is replayed (`--replay`): requests of the one server in the order of their instants, or sentences
//! with their lines.

use prony_model::list::{ERRORS_MAX, ListError};
use prony_model::plan::{Arrivals, Stop, Work};
use prony_model::replay::{Asked, read};
use prony_model::{Plan, Target};

/// Reads the bytes as a log, at two speeds, once and looped.
pub fn check(input: &[u8]) {
    let server = Target::parse("http://127.0.0.1:8080/").expect("a URL");
    for (speed, looped) in [(1.0, false), (0.5, true)] {
        let methods = ["GET", "HEAD"].map(str::to_owned).to_vec();
        let asked = Asked { server: &server, methods, speed, looped, seed: 1 };
        match read(input, &asked) {
            Err(all) => {
                assert!((1..=ERRORS_MAX).contains(&all.len()));
                all.iter().for_each(|e| is_sentence(e, input));
            }
            Ok((list, replay)) => {
                let lines = input.split(|byte| *byte == b'\n').count() as u64;
                let log = &replay.log;
                assert!(log.entries + log.left_out.values().sum::<u64>() <= lines);
                assert!(log.request_times <= log.entries && log.spread <= log.entries);
                assert_eq!((replay.due_ns(0), replay.entries()), (Some(0), list.lines.len() as u64));
                let due: Vec<u64> = (0..replay.entries()).filter_map(|k| replay.due_ns(k)).collect();
                assert!(due.len() == list.lines.len() && due.is_sorted());
                for request in &list.requests {
                    // All of it can stand in a request's first line.
                    let line = format!("{}{}", request.method, request.path);
                    assert!(
                        request.path.starts_with('/') && !line.contains(|c: char| c.is_control() || c == ' ')
                    );
                }
                let duration = Some(std::time::Duration::from_secs(1));
                let stop = Stop { duration, requests: Some(replay.entries()) };
                let (work, arrivals) = (Work::List(list), Arrivals::Replay(replay));
                let plan = Plan { work, arrivals, stop, ..Plan::closed(server.clone()) };
                // Only more requests a second than any client sends cannot be.
                if let Err(why) = plan.check() {
                    assert!(looped && why.0.contains("requests per second at this speed"), "{why}");
                }
            }
        }
    }
}

fn is_sentence(e: &ListError, input: &[u8]) {
    let said = e.to_string();
    assert!(said.contains(' ') && !said.contains(char::is_control), "{said:?} is no sentence");
    let lines = input.split(|byte| *byte == b'\n').count();
    assert!(e.line.is_none_or(|line| (1..=lines).contains(&line)), "{said}");
}
