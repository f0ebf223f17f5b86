//! Supervision of real, small processes.

use std::path::Path;
use std::process::Command;

use super::testing::{container, guard_exe, pid_in, shell_spec, supervision};
use super::*;
use crate::launch::run_dir::log_path;
use prony_host::cpus;
use prony_host::testing::{PATIENCE, wait_until};

fn lives(pid: u32) -> bool {
    process::stat(pid).is_some_and(|s| !s.is_zombie)
}

/// The processes that were started, helpers first.
fn pids(running: &Running) -> Vec<u32> {
    running.entry.processes.iter().map(|process| process.pid).collect()
}

fn kill(pid: u32) {
    assert!(Identity::of(pid).unwrap().kill());
}

fn start(root: &Path, scripts: &[&str]) -> Result<Running, StartError> {
    Running::start(&shell_spec(root, scripts), &supervision(root), &mut || true, &|| false)
}

/// Waits for the guard's word of an end that comes after the start, and takes it in with all before it.
fn take_end(running: &mut Running) -> GuardEvent {
    loop {
        let event = running.events.recv_timeout(PATIENCE).expect("the guard tells of the end");
        running.take_event(event.clone());
        if matches!(event, GuardEvent::Exited { .. }) {
            return event;
        }
    }
}

fn journal_files(root: &Path) -> usize {
    std::fs::read_dir(root.join("journal")).unwrap().count()
}

#[test]
fn a_server_is_started_and_ended_with_nothing_left() {
    let root = tempfile::tempdir().unwrap();
    let mut asked = 0;
    let spec = shell_spec(root.path(), &["echo \"$GIVEN\"; exec sleep 300"]);
    let mut ready = || {
        asked += 1;
        asked >= 3 && std::fs::read_to_string(log_path(&spec.run_dir, 0)).is_ok_and(|t| t == "value\n")
    };
    let mut running = Running::start(&spec, &supervision(root.path()), &mut ready, &|| false).unwrap();
    assert!(asked >= 3);
    let pids = pids(&running);
    assert_eq!((pids.len(), journal_files(root.path())), (1, 1));
    assert!(lives(pids[0]) && running.died().is_none());
    assert!(running.startup() > Duration::ZERO);
    let cgroup = running.cgroup().cloned();
    if let Some(cgroup) = &cgroup {
        assert_eq!(cgroup.pids(), pids);
    }
    assert_eq!(running.stop(), StopReport::default());
    assert!(!lives(pids[0]) && !spec.run_dir.exists());
    assert_eq!(journal_files(root.path()), 0);
    assert!(cgroup.is_none_or(|c| !c.path.exists()));
    assert_eq!(running.stop(), StopReport::default(), "a second stop says the same");
}

#[test]
fn a_server_s_environment_is_given_or_inherited_and_no_more() {
    let root = tempfile::tempdir().unwrap();
    let seen = |inherits_all_but: Option<Vec<String>>| {
        let mut spec = LaunchSpec { inherits_all_but, ..shell_spec(root.path(), &[""]) };
        spec.processes[0].argv = ["/bin/sleep", "300"].map(str::to_owned).to_vec();
        let mut running = Running::start(&spec, &supervision(root.path()), &mut || true, &|| false).unwrap();
        let environ = std::fs::read(format!("/proc/{}/environ", pids(&running)[0])).unwrap();
        running.stop();
        String::from_utf8_lossy(&environ).into_owned()
    };
    assert_eq!(seen(None), "GIVEN=value\0");
    // What every test process has of cargo.
    let all = seen(Some(Vec::new()));
    assert!(all.contains("GIVEN=value\0") && all.contains("CARGO_MANIFEST_DIR="), "{all}");
    let less = seen(Some(vec!["CARGO_MANIFEST_DIR".to_owned()]));
    assert!(less.contains("GIVEN=value\0") && less.contains("PATH="), "{less}");
    assert!(!less.contains("CARGO_MANIFEST_DIR="), "{less}");
}

#[test]
fn a_server_that_ignores_sigterm_is_killed() {
    let root = tempfile::tempdir().unwrap();
    let script = "trap '' TERM INT HUP; echo $$ >pid.new; mv pid.new pid; while :; do sleep 1; done";
    let supervision = Supervision { stop_timeout: Duration::from_millis(50), ..supervision(root.path()) };
    let spec = shell_spec(root.path(), &[script]);
    let mut running = Running::start(&spec, &supervision, &mut || true, &|| false).unwrap();
    let pid = pid_in(&root.path().join("run/test/pid")); // the trap is set by now
    let report = running.stop();
    assert!(report.killed && report.leftovers.is_empty(), "{report:?}");
    assert!(!lives(pid));
}

#[test]
fn a_daemon_that_detached_twice_is_found() {
    let root = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'sleep 300 & echo $! >pid.new; mv pid.new pid' & \
                  until [ -e go ]; do sleep 0.01; done; exit 0";
    let mut running = start(root.path(), &[script]).unwrap();
    let daemon = pid_in(&root.path().join("run/test/pid"));
    let guard = running.entry.guard.pid;
    wait_until("the guard's adoption", || process::stat(daemon).is_some_and(|s| s.parent == guard));
    std::fs::write(root.path().join("run/test/go"), "").unwrap();
    let end = take_end(&mut running);
    assert!(matches!(end, GuardEvent::Exited { process: 0, code: Some(0), detached: true, .. }), "{end:?}");
    assert_eq!(running.died(), None, "it has left its work to a daemon");
    assert_eq!(running.stop().leftovers, Vec::<String>::new());
    assert!(!lives(daemon));
}

#[test]
fn the_death_of_a_detached_daemon_counts_as_the_server_s() {
    let root = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ >pid.new; mv pid.new pid; exec sleep 300' & \
                  until [ -e go ]; do sleep 0.01; done; exit 0";
    let mut running = start(root.path(), &[script]).unwrap();
    let daemon = pid_in(&root.path().join("run/test/pid"));
    std::fs::write(root.path().join("run/test/go"), "").unwrap();
    take_end(&mut running);
    assert_eq!(running.died(), None);
    kill(daemon);
    take_end(&mut running);
    assert_eq!(running.died().unwrap().how, "was ended by signal 9");
}

#[test]
fn helpers_come_first_and_are_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let mut spec = shell_spec(
        root.path(),
        &["sleep 0.05; touch socket; exec sleep 300", "test -e socket && touch right; exec sleep 300"],
    );
    spec.processes[0].wait_for = Some(spec.run_dir.join("socket"));
    let right = spec.run_dir.join("right");
    let running =
        Running::start(&spec, &supervision(root.path()), &mut || right.exists(), &|| false).unwrap();
    assert_eq!(pids(&running).len(), 2);
    drop(running);
    assert!(!spec.run_dir.exists(), "dropping stops");

    let mut spec = shell_spec(root.path(), &["echo no socket today; exec sleep 300", "exec sleep 300"]);
    spec.processes[0].wait_for = Some(spec.run_dir.join("socket"));
    spec.ready_timeout = Duration::from_millis(1);
    let log = log_path(&spec.run_dir, 0);
    // Asked before the time is looked at: it is over when the helper has said all that it says.
    let said = || {
        wait_until("the helper's words", || std::fs::read(&log).is_ok_and(|text| text.ends_with(b"\n")));
        false
    };
    let why = Running::start(&spec, &supervision(root.path()), &mut || true, &said).unwrap_err();
    assert!(matches!(why.kind, StartErrorKind::NoPath(_)), "{why}");
    assert!(why.to_string().contains("socket did not appear in time. It wrote:\n  no socket today"), "{why}");
}

#[test]
fn a_server_that_ends_at_its_start_is_reported_with_its_output() {
    let root = tempfile::tempdir().unwrap();
    let spec = shell_spec(root.path(), &["echo bind: address in use >&2; exit 7"]);
    let why = Running::start(&spec, &supervision(root.path()), &mut || false, &|| false).unwrap_err();
    let expected = "shell ended with exit code 7 before it responded. It wrote:\n  bind: address in use";
    assert_eq!(why.to_string(), expected);
    assert!(!spec.run_dir.exists());
    assert_eq!(journal_files(root.path()), 0);
}

#[test]
fn a_server_or_guard_that_cannot_start_is_reported_with_why() {
    let root = tempfile::tempdir().unwrap();
    let mut spec = shell_spec(root.path(), &[""]);
    spec.processes[0].argv = vec!["/no/such/server".to_owned()];
    let why = Running::start(&spec, &supervision(root.path()), &mut || true, &|| false).unwrap_err();
    assert!(why.to_string().contains("\"/no/such/server\" cannot be started: No such file"), "{why}");
    let spec = shell_spec(root.path(), &["exit 0"]);
    let supervision = Supervision { guard_exe: "/no/such/guard".into(), ..supervision(root.path()) };
    let why = Running::start(&spec, &supervision, &mut || true, &|| false).unwrap_err();
    assert!(matches!(why.kind, StartErrorKind::Guard(_)), "{why}");
    assert!(!spec.run_dir.exists());
}

#[test]
fn waiting_for_readiness_ends_by_its_timeout_or_an_interrupt() {
    let root = tempfile::tempdir().unwrap();
    let mut spec = shell_spec(root.path(), &["exec sleep 300"]);
    spec.ready_timeout = Duration::from_millis(50);
    let why = Running::start(&spec, &supervision(root.path()), &mut || false, &|| false).unwrap_err();
    assert_eq!(why.to_string(), "shell gave no valid response within 50ms.");
    let spec = shell_spec(root.path(), &["exec sleep 300"]);
    let why = Running::start(&spec, &supervision(root.path()), &mut || false, &|| true).unwrap_err();
    assert!(matches!(why.kind, StartErrorKind::Interrupted));
}

#[test]
fn the_death_of_a_running_server_is_seen_with_its_last_output() {
    let root = tempfile::tempdir().unwrap();
    let mut running = start(root.path(), &["echo last words; exec sleep 300"]).unwrap();
    wait_until("the words", || {
        std::fs::read(log_path(&root.path().join("run/test"), 0)).is_ok_and(|t| t.len() == 11)
    });
    kill(pids(&running)[0]);
    take_end(&mut running);
    let expected = Death { how: "was ended by signal 9".to_owned(), log_tail: vec!["last words".to_owned()] };
    assert_eq!(running.died(), Some(expected));
    assert_eq!(running.stop(), StopReport::default());
}

#[test]
fn a_killed_guard_leaves_no_process_and_no_folder() {
    let root = tempfile::tempdir().unwrap();
    let script = "setsid sleep 301 & echo $! >pid.new; mv pid.new pid; exec sleep 302";
    let mut running = start(root.path(), &[script]).unwrap();
    let other = pid_in(&root.path().join("run/test/pid"));
    let server = pids(&running)[0];
    kill(running.entry.guard.pid);
    wait_until("the word of its end", || running.died().is_some());
    assert_eq!(running.stop().leftovers, Vec::<String>::new());
    wait_until("their end", || !lives(server) && !lives(other));
    assert!(!root.path().join("run/test").exists());
}

#[test]
fn the_guard_ignores_a_terminal_s_signals_and_servers_do_not() {
    let root = tempfile::tempdir().unwrap();
    let running = start(root.path(), &["exec sleep 300"]).unwrap();
    let ignored = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).unwrap().trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap()
    };
    let group_signals = [1, 2, 15].map(|signal: u32| 1_u64 << (signal - 1)).iter().sum::<u64>();
    assert_eq!(ignored(running.entry.guard.pid) & group_signals, group_signals);
    wait_until("the exec", || ignored(pids(&running)[0]) & group_signals == 0);
    // A session of its own: Ctrl-C in Prony's terminal goes to Prony alone.
    let session = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(session(running.entry.guard.pid), running.entry.guard.pid);
    assert_ne!(session(std::process::id()), running.entry.guard.pid);
}

#[test]
fn a_server_runs_on_its_own_cpus_and_the_guard_on_the_client_s() {
    let allowed = cpus::affinity(0).unwrap();
    let (Some(first), Some(last)) = (allowed.first(), allowed.last()) else { return };
    let root = tempfile::tempdir().unwrap();
    let mut spec = shell_spec(root.path(), &["exec sleep 300"]);
    spec.cpus = vec![*last];
    let supervision = Supervision { guard_cpus: vec![*first], ..supervision(root.path()) };
    let running = Running::start(&spec, &supervision, &mut || true, &|| false).unwrap();
    assert_eq!(cpus::affinity(pids(&running)[0]).unwrap(), [*last]);
    assert_eq!(cpus::affinity(running.entry.guard.pid).unwrap(), [*first]);
    drop(running);
    // Not pinned: the server gets what Prony has, though its guard is pinned.
    let spec = shell_spec(root.path(), &["exec sleep 300"]);
    let running = Running::start(&spec, &supervision, &mut || true, &|| false).unwrap();
    assert_eq!(cpus::affinity(pids(&running)[0]).unwrap(), allowed);
}

#[test]
fn kill_9_of_prony_leaves_no_process_and_a_clean_journal() {
    let root = tempfile::tempdir().unwrap();
    let script = "trap '' HUP; setsid sleep 300 & echo $! >pid.new; mv pid.new pid; exec sleep 300";
    let spec = shell_spec(root.path(), &[script]);
    let mut prony = Command::new(guard_exe())
        .args(["hold", root.path().to_str().unwrap(), &serde_json::to_string(&spec).unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(prony.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "up\n");
    let daemon = pid_in(&spec.run_dir.join("pid"));
    let below = process::descendants(prony.id());
    assert!(below.len() >= 2 && below.iter().any(|p| p.pid == daemon), "{below:?}");
    assert!(clean_up(root.path()).is_empty(), "its owner lives: hands off");
    assert!(lives(daemon));
    prony.kill().unwrap(); // SIGKILL
    prony.wait().unwrap();
    wait_until("the end of all", || below.iter().all(|p| !lives(p.pid)));
    wait_until("the removal", || !spec.run_dir.exists());
    let cleaned = clean_up(root.path());
    assert_eq!((cleaned.len(), journal_files(root.path())), (1, 0), "{cleaned:?}");
}

/// The engine is a script here: what matters is that it is told, after every process is gone.
#[test]
fn a_container_is_removed_by_its_engine_after_the_stop() {
    let root = tempfile::tempdir().unwrap();
    let mut spec = shell_spec(root.path(), &["exec sleep 300"]);
    let mark = root.path().join("removed");
    spec.container = Some(container(root.path(), &format!("touch {}", mark.display()), None));
    let mut running = Running::start(&spec, &supervision(root.path()), &mut || true, &|| false).unwrap();
    assert!(!mark.exists());
    // An engine that does not tell the container's pid: what is below the guard is watched.
    assert_eq!(running.entry.guard.pid, process::stat(pids(&running)[0]).unwrap().parent);
    assert_eq!(running.stop(), StopReport::default());
    wait_until("the engine's removal", || mark.exists());
}

/// docker's service makes a container whose client was killed meanwhile: it is not there at first, and then it is.
#[test]
fn a_container_that_was_being_made_is_removed_once_it_is_there() {
    let root = tempfile::tempdir().unwrap();
    let said = root.path().join("said");
    let remove = format!("echo asked >>{0}; [ $(wc -l <{0}) -lt 3 ] || echo its-name", said.display());
    let asked = |made: Option<PathBuf>| {
        let _ = std::fs::remove_file(&said);
        let mut spec = shell_spec(root.path(), &["exec sleep 300"]);
        spec.container = Some(container(root.path(), &remove, made));
        let mut running = Running::start(&spec, &supervision(root.path()), &mut || true, &|| false).unwrap();
        assert_eq!(running.stop(), StopReport::default());
        std::fs::read_to_string(&said).unwrap().lines().count()
    };
    let mark = root.path().join("made");
    assert_eq!(asked(Some(mark.clone())), 3);
    std::fs::write(&mark, "0123456789ab").unwrap();
    assert_eq!(asked(Some(mark)), 1, "it was made: it is gone");
    assert_eq!(asked(None), 1, "its client made it");
}

/// An engine may leave a helper behind that keeps its output open.
#[test]
fn a_helper_that_the_engine_leaves_running_is_not_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let mut spec = shell_spec(root.path(), &["exec sleep 300"]);
    let helper = root.path().join("helper");
    let remove = format!("sleep 600 & echo $! >{0}.new; mv {0}.new {0}", helper.display());
    spec.container = Some(container(root.path(), &remove, None));
    let mut running = Running::start(&spec, &supervision(root.path()), &mut || true, &|| false).unwrap();
    assert_eq!(running.stop(), StopReport::default());
    let helper = pid_in(&helper);
    assert!(lives(helper), "the stop took as long as the helper lives");
    kill(helper);
}

/// Where no cgroup of this machine is ours to limit, that is what must be said.
#[test]
fn a_server_has_no_more_memory_than_its_limit() {
    let root = tempfile::tempdir().unwrap();
    // A text that is doubled up to 256 MB, and then kept.
    let grows = "until [ -e go ]; do sleep 0.01; done; \
                 i=0; x=0123456789abcdef; while [ $i -lt 24 ]; do x=$x$x; i=$((i+1)); done; exec sleep 300";
    let spec = shell_spec(root.path(), &[grows]);
    let supervision = Supervision { memory_bytes: Some(32 << 20), ..supervision(root.path()) };
    let started = Running::start(&spec, &supervision, &mut || true, &|| false);
    if crate::sample::can_limit().is_err() {
        let said = started.unwrap_err().to_string();
        assert!(said.contains("--memory needs a cgroup") && said.contains("--runtime container"), "{said}");
        return;
    }
    let mut running = started.unwrap();
    std::fs::write(spec.run_dir.join("go"), "").unwrap();
    let cgroup = running.entry.memory_cgroup.clone().unwrap();
    take_end(&mut running);
    assert_eq!(running.died().unwrap().how, "was ended by signal 9 for lack of memory, at its limit,");
    assert_eq!(running.stop().leftovers, [""; 0]);
    assert!(!cgroup.path.exists(), "{}", cgroup.path.display());
    assert_eq!(journal_files(root.path()), 0);
}

/// A monitor that is told itself ends without its word, for which the client would wait until it is killed.
#[test]
fn only_the_engine_s_client_gets_a_containers_stop_signal() {
    let root = tempfile::tempdir().unwrap();
    let told = root.path().join("told");
    let monitor = format!(
        "trap 'touch {}; exit 1' TERM; touch ready; while [ ! -e over ]; do sleep 0.02; done",
        told.display()
    );
    let client = format!(
        "sh -c \"{monitor}\" & until [ -e ready ]; do sleep 0.01; done; \
         trap 'touch over; wait; exit 0' TERM; echo $$ >pid.new; mv pid.new pid; wait"
    );
    let mut spec = shell_spec(root.path(), &[&client]);
    spec.container = Some(container(root.path(), "true", None));
    let mut running = Running::start(&spec, &supervision(root.path()), &mut || true, &|| false).unwrap();
    pid_in(&root.path().join("run/test/pid"));
    assert_eq!(running.stop(), StopReport::default());
    assert!(!told.exists(), "the monitor got a signal of its own");
}
