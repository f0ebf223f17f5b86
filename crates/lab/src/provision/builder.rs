//! Whose rights the programs have that fetch and build servers: not root's, where another user can do it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_host::process;
use prony_host::state::sudo_user;
use rustix::process::geteuid;

use super::local_sources::{self, stand_in};
use crate::programs::{capture, find_command};

/// Numbers that neither distributions nor systemd give to users or groups.
const SPARE: Range<u32> = 60_800..60_900;
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// A process may start another while it is being ended.
const ROUNDS: usize = 20;
const FOLDERS: [&str; 4] = ["COMPOSER_HOME", "HEX_HOME", "MIX_ARCHIVES", "MIX_HOME"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Builder {
    Own,
    /// Those of the user and the group who called sudo, to whom belongs what is built.
    Caller(u32, u32),
    /// Those of a user and a group of this number, whom nobody else is, until the step ends.
    Spare(u32),
    /// Root's, and why: a sentence without a full stop.
    Root(String),
}

impl Builder {
    pub(super) fn of(needed: &[PathBuf]) -> Builder {
        if !geteuid().is_root() {
            return Builder::Own;
        }
        match sudo_user() {
            Some((user, group)) => Builder::Caller(user, group),
            None => spare(needed).map_or_else(Builder::Root, Builder::Spare),
        }
    }

    pub(super) fn user(&self) -> Option<(u32, u32)> {
        match *self {
            Builder::Own | Builder::Root(_) => None,
            Builder::Caller(user, group) => Some((user, group)),
            Builder::Spare(number) => Some((number, number)),
        }
    }
}

/// What `setpriv` is told, so that a command has a user's rights, none of root's groups, and no way to more (sudo).
pub(super) fn as_user((user, group): (u32, u32)) -> [String; 5] {
    let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
    [user, group, "--clear-groups".to_owned(), "--no-new-privs".to_owned(), "--".to_owned()]
}

/// A number that no user, group or process has, where such a user can use what is needed.
fn spare(needed: &[PathBuf]) -> Result<u32, String> {
    if let Some(variable) = local_sources::ALL.into_iter().find(|variable| stand_in(variable).is_some()) {
        return Err(format!("{variable} names sources on this machine, which only root may be able to read"));
    }
    let setpriv = find_command("setpriv").ok_or("setpriv is missing: apt-get install util-linux")?;
    let mut numbers = SPARE;
    let number = numbers.find(|number| !is_taken(*number)).ok_or("no number of a user is free")?;
    let enter = "for path; do test -x \"$path\" || { echo \"$path\"; exit 1; }; done";
    let mut argv = vec![setpriv.to_string_lossy().into_owned()];
    argv.extend(as_user((number, number)));
    argv.extend(["sh", "-c", enter, "sh"].map(str::to_owned));
    let folders = FOLDERS.into_iter().filter_map(stand_in);
    argv.extend(needed.iter().cloned().chain(folders).map(|path| path.to_string_lossy().into_owned()));
    let said = capture(&argv, Path::new("/"), &[], PROBE_TIMEOUT).unwrap_or_default();
    let path = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    match said.success {
        true => Ok(number),
        false if path.is_empty() => Err("setpriv cannot act as another user here".to_owned()),
        false => Err(format!("no other user can use {path}")),
    }
}

fn is_taken(number: u32) -> bool {
    let known = |database: &str| {
        let argv = ["getent", database, &number.to_string()].map(str::to_owned);
        // 2: there is none. Whatever else it says, it is not known.
        capture(&argv, Path::new("/"), &[], PROBE_TIMEOUT).and_then(|said| said.code) != Some(2)
    };
    known("passwd") || known("group") || process::pids().into_iter().any(|pid| is_of(pid, number))
}

/// Whether a process has a user's rights, in any of the four ways in which it can.
fn is_of(pid: u32, user: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.is_some_and(|users| users.split_whitespace().any(|word| word.parse() == Ok(user)))
}

/// Ends what a step has left behind, so that nothing writes any more to what is root's again.
pub(super) fn end_all(user: u32) -> Result<(), String> {
    for _ in 0..ROUNDS {
        let left: Vec<u32> = process::pids().into_iter().filter(|pid| is_of(*pid, user)).collect();
        let living: Vec<_> =
            left.into_iter().filter_map(process::stat).filter(|stat| stat.identity().lives()).collect();
        if living.is_empty() {
            return Ok(());
        }
        for process in living {
            process.identity().kill();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("Processes of user {user}, who built it, live on: end them, and install it again."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn root_builds_as_an_unused_user_who_can_use_what_is_needed() {
        if !geteuid().is_root() || sudo_user().is_some() || find_command("setpriv").is_none() {
            return eprintln!("not tested: only root itself can act as another user");
        }
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let set = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        let why = format!("no other user can use {}", inner.display());
        assert_eq!(Builder::of(&[PathBuf::from("/bin/sh"), inner.clone()]), Builder::Root(why));
        set(0o755);
        let Builder::Spare(number) = Builder::of(&[PathBuf::from("/bin/sh"), inner]) else { panic!() };
        assert!(SPARE.contains(&number));
        // A process makes a number taken, until it is ended.
        let mut sleep = std::process::Command::new("setpriv");
        let mut sleep = sleep.args(as_user((number, number))).args(["sleep", "600"]).spawn().unwrap();
        prony_host::testing::wait_until("the number is taken", || is_taken(number));
        let reaped = std::thread::spawn(move || sleep.wait().unwrap());
        end_all(number).unwrap();
        reaped.join().unwrap();
        assert!(!is_taken(number));
    }

    #[test]
    fn users_that_exist_are_taken() {
        assert!(is_taken(0));
    }
}
