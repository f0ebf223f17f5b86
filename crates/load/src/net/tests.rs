use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use prony_target::{Config, Target};

use super::*;
use crate::Control;
use prony_model::plan::Plan;

fn plan(target: &Target) -> Plan {
    let mut plan =
        Plan::closed(prony_model::Target::parse(&format!("http://{}/", target.address())).unwrap());
    plan.connections = 3;
    plan.warmup = Duration::ZERO;
    plan
}

fn wall_ns() -> i64 {
    let passed = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    i64::try_from(passed.as_nanos()).unwrap()
}

#[test]
fn a_step_of_the_wall_clock_is_corrected_and_is_no_event() {
    let target = Target::start(&Config::default()).unwrap();
    let endpoint = Endpoint::of(&plan(&target), &plan(&target).target, None).unwrap();
    let mut net = Linux::new(endpoint, None, true).unwrap();
    assert!(net.stamps() && net.steps.is_some());
    for _ in 0..3 {
        // As if the clock had been an hour off when it was last read.
        net.offset_ns += 3_600_000_000_000;
        net.steps.as_ref().unwrap().pretend();
        let now = net.now_ns();
        // It is read anew every tenth of a second, too; this is not that.
        net.offset_read_ns = now;
        let (wall, monotonic) = (wall_ns(), net.now_ns());
        assert_eq!(net.wait(now, now + 600_000_000_000).unwrap(), 0);
        // Both clocks were read within the call.
        let least = wall - net.now_ns().cast_signed();
        let most = wall_ns() - monotonic.cast_signed();
        assert!((least..=most).contains(&net.offset_ns), "{} is not in {least}..={most}", net.offset_ns);
    }
    // Nothing is left that would end a wait early.
    let now = net.now_ns();
    net.wait(now, now + 3_000_000).unwrap();
    assert!(net.now_ns() >= now + 3_000_000);
}

#[test]
fn a_load_runs_where_the_limit_of_open_files_cannot_be_raised() {
    let target = Target::start(&Config::default()).unwrap();
    let mut plan = plan(&target);
    plan.stop = prony_model::plan::Stop { duration: None, requests: Some(100) };
    let load = thread::spawn(move || {
        // What sets a limit names a new one; without it, it is read.
        sys::refuse_here(libc::SYS_prlimit64, 2, libc::EPERM);
        crate::run(&Arc::new(plan), &Control::new(), &mut |_| {}).unwrap()
    });
    assert_eq!(load.join().unwrap().requests.completed, 100);
}

#[test]
fn a_load_without_pwait2_is_the_same_load_and_says_so() {
    let target = Target::start(&Config::default()).unwrap();
    let (open, closed) = (plan(&target), plan(&target));
    let rate = prony_model::rate::Rate::per_s(500.0).unwrap();
    let open = Plan { arrivals: prony_model::plan::Arrivals::Constant(rate), ..open };
    for mut plan in [open, closed] {
        plan.stop = prony_model::plan::Stop { duration: None, requests: Some(100) };
        let plan = Arc::new(plan);
        let refused = Arc::clone(&plan);
        // Threads inherit what their parent is refused.
        let load = thread::spawn(move || {
            sys::refuse_here(libc::SYS_epoll_pwait2, 0, libc::ENOSYS);
            crate::run(&refused, &Control::new(), &mut |_| {}).unwrap()
        });
        let refused = load.join().unwrap();
        let usual = crate::run(&plan, &Control::new(), &mut |_| {}).unwrap();
        for (m, waits) in [(refused, Waits::Timerfd), (usual, Waits::Pwait2)] {
            assert_eq!(m.client.waits, waits);
            assert_eq!((m.requests.completed, m.requests.failed), (100, 0));
            assert_eq!(m.broken_identities, Vec::<String>::new());
        }
    }
}
