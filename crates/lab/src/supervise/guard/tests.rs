//! What the tests of supervision share.

use std::path::{Path, PathBuf};
use std::process::Command;

use prony_host::testing::{PATIENCE, wait_until};

use crate::launch::run_dir::MARK;
use crate::launch::{ContainerSpec, LaunchSpec, ProcessSpec};
use crate::supervise::Supervision;

/// The example that becomes a guard: `cargo test` builds it beside the tests.
pub(crate) fn guard_exe() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let exe = tests.parent().unwrap().parent().unwrap().join("examples/lab_guard");
    assert!(exe.exists(), "{} is missing: run `cargo test -p prony-lab` without --lib", exe.display());
    exe
}

/// Supervision below `root` by the example; as slow as the machine may be, nobody is killed who ends by himself.
pub(crate) fn supervision(root: &Path) -> Supervision {
    Supervision { guard_exe: guard_exe(), stop_timeout: PATIENCE, ..Supervision::new(root, &[], None) }
}

/// A spec whose processes are shell scripts, with a run folder below `root`.
pub(crate) fn shell_spec(root: &Path, scripts: &[&str]) -> LaunchSpec {
    let run_dir = root.join("run/test");
    std::fs::create_dir_all(&run_dir).unwrap();
    std::fs::write(run_dir.join(MARK), "").unwrap();
    let process = |script: &&str| ProcessSpec {
        argv: ["sh", "-c", *script].map(str::to_owned).to_vec(),
        wait_for: None,
        ends: false,
    };
    LaunchSpec {
        label: "shell".to_owned(),
        processes: scripts.iter().map(process).collect(),
        cwd: run_dir.clone(),
        env: vec![("GIVEN".to_owned(), "value".to_owned())],
        inherits_all_but: Some(Vec::new()),
        run_dir,
        cpus: Vec::new(),
        ready_timeout: PATIENCE,
        container: None,
    }
}

/// A container whose engine is a script below `root`: it does this when it is to remove it, and knows no first process.
pub(crate) fn container(root: &Path, remove: &str, made: Option<PathBuf>) -> ContainerSpec {
    let engine = root.join("podman");
    let script = format!("#!/bin/sh\ncase $1 in rm) {remove};; *) echo 0123456789ab;; esac\n");
    // By another process: what a child of another test has open for writing at this moment cannot be executed.
    let written = Command::new("sh")
        .args(["-c", "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(&engine)
        .arg(script)
        .status();
    assert!(written.unwrap().success());
    ContainerSpec { engine, name: "prony-test".to_owned(), made }
}

/// The number that a script wrote to a file.
pub(crate) fn pid_in(file: &Path) -> u32 {
    let read = || std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
    let mut pid = None;
    wait_until("a pid file", || {
        pid = read();
        pid.is_some()
    });
    pid.unwrap()
}
