//! Packages of the distribution, installed as root or through sudo.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use prony_host::bench_lock::{NotLocked, lock};
use rustix::process::geteuid;

use super::install::timed;
use super::packages;
use super::policy::{self, Policy};
use super::services::{Enabled, disable_new};
use crate::programs::{Run, TIMEOUT, find_command};

/// Lists older than this name versions that the archive may no longer have.
const LISTS_AGE_MAX: Duration = Duration::from_secs(24 * 3600);
const UPDATE_TIMEOUT: Duration = Duration::from_secs(600);
/// An installation that is ended half-way leaves dpkg to be mended: only what hangs is ended.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(1800);
const TOOL_TIMEOUT: Duration = Duration::from_secs(60);
/// Between SIGTERM and SIGKILL, where `timeout` sends them; twice as long it is waited for.
const KILL_AFTER: Duration = Duration::from_secs(10);
/// The folder of the switch against services, which only one Prony at a time may have: it is locked and not written to.
const LOCKED: &str = "/usr/sbin";

/// Unasked-for removals are refused; another apt that is running is waited for.
const INSTALL: [&str; 8] = [
    "install",
    "-y",
    "--no-install-recommends",
    "--no-remove",
    "-o",
    "Dpkg::Options::=--force-confold",
    "-o",
    "DPkg::Lock::Timeout=120",
];

pub(super) struct Root {
    prefix: Vec<String>,
    log: PathBuf,
}

impl Root {
    fn find(log: &Path) -> Option<Root> {
        let log = log.to_owned();
        if geteuid().is_root() {
            return Some(Root { prefix: Vec::new(), log });
        }
        let sudo = find_command("sudo")?;
        let may = Command::new(&sudo)
            .args(["-n", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let prefix = vec![sudo.to_string_lossy().into_owned(), "-n".to_owned()];
        may.is_ok_and(|status| status.success()).then_some(Root { prefix, log })
    }

    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        self.run_for(program, arguments, TOOL_TIMEOUT)
    }

    pub(super) fn quietly(&self, program: &str, arguments: &[&str]) {
        let _ = self.run(program, arguments);
    }

    fn run_for(&self, program: &str, arguments: &[&str], timeout: Duration) -> Result<(), String> {
        let said = program;
        let program = find_command(program).unwrap_or_else(|| PathBuf::from(program));
        let mut argv = self.prefix.clone();
        let mut limit = timeout;
        if !argv.is_empty() {
            // What sudo started is root's, and Prony may not end it. In the foreground, so that Ctrl-C reaches it.
            let kill_after = format!("--kill-after={}", KILL_AFTER.as_secs());
            let seconds = timeout.as_secs_f64().to_string();
            argv.extend([TIMEOUT.to_owned(), "--foreground".to_owned(), kill_after, seconds]);
            limit += 2 * KILL_AFTER;
        }
        // By `env`, since sudo passes on no environment.
        let env = ["/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"].map(String::from);
        argv.extend(env);
        argv.push(program.to_string_lossy().into_owned());
        argv.extend(arguments.iter().map(ToString::to_string));
        let words = arguments.iter().filter(|a| !INSTALL[1..].contains(a) && **a != "--");
        let name = std::iter::once(&said).chain(words).copied().collect::<Vec<_>>().join(" ");
        // Whatever is asked for meanwhile: dpkg that is ended half-way is to be mended by hand.
        let run = Run { name, argv, cwd: Path::new("/"), env: vec![], log: &self.log, timeout: limit };
        run.run_unless(|| false)
    }
}

/// Waits until no other Prony installs packages, and keeps others from it as long as the file is open.
fn turn(
    folder: &Path,
    cancelled: &dyn Fn() -> bool,
    on_progress: &mut dyn FnMut(&str),
) -> Result<File, String> {
    let shown = folder.display();
    let folder = File::open(folder).map_err(|e| format!("{shown} cannot be opened: {e}."))?;
    let mut waits = || {
        on_progress(&format!(
            "Another Prony installs packages on this machine (it has locked {shown}): waiting for its end."
        ));
    };
    match lock(&folder, Some(INSTALL_TIMEOUT), cancelled, &mut waits) {
        Ok(()) => Ok(folder),
        Err(NotLocked::Cancelled) => Err("Interrupted while another Prony installed packages.".to_owned()),
        Err(NotLocked::Taken) => Err(format!(
            "{shown} is locked by another process, as `prony servers install` does while it installs packages, for \
             {} s: see which by `lslocks`, and end it.",
            INSTALL_TIMEOUT.as_secs()
        )),
        Err(NotLocked::Refused(why)) => Err(format!("{shown} cannot be locked: {why}.")),
    }
}

/// Installs what each candidate lacks: all at once, and if that fails, one after the other, so
/// that only the culprit is without. The errors, by label.
pub(super) fn install(
    of: &[(String, Vec<String>)],
    log: &Path,
    cancelled: &dyn Fn() -> bool,
    on_progress: &mut dyn FnMut(&str),
) -> BTreeMap<String, String> {
    let mut wanted: Vec<&str> = of.iter().flat_map(|(_, p)| p.iter().map(String::as_str)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return BTreeMap::new();
    }
    let all = |why: &str| {
        let lacking = of.iter().filter(|(_, packages)| !packages.is_empty());
        lacking.map(|(label, _)| (label.clone(), why.to_owned())).collect()
    };
    if find_command("apt-get").is_none() {
        return all(&format!(
            "This host has no apt-get: install what corresponds to {} with its own package manager.",
            wanted.join(", ")
        ));
    }
    let Some(root) = Root::find(log) else {
        return all(&format!(
            "Packages are installed by root: sudo apt-get install --no-install-recommends {}",
            wanted.join(" ")
        ));
    };
    let _turn = match turn(Path::new(LOCKED), cancelled, on_progress) {
        Ok(turn) => turn,
        Err(why) => return all(&why),
    };
    let before = Enabled::read(Path::new("/"));
    let policy = match Policy::forbid(&root) {
        Ok(policy) => policy,
        Err(why) => {
            return all(&format!(
                "Services could not be kept from starting, so nothing was installed: {why}"
            ));
        }
    };
    let errors = install_guarded(of, &wanted, &root, cancelled, on_progress);
    let (disabled, left) = disable_new(&before, &root);
    drop(policy);
    if let Some(why) = policy::left_behind() {
        on_progress(&why);
    }
    if !disabled.is_empty() {
        on_progress(&format!("Disabled, since its package enabled it: {}.", disabled.join(", ")));
    }
    for link in left {
        on_progress(&format!(
            "{} was enabled by a package and could not be disabled: remove the link.",
            link.display()
        ));
    }
    errors
}

fn install_guarded(
    of: &[(String, Vec<String>)],
    wanted: &[&str],
    root: &Root,
    cancelled: &dyn Fn() -> bool,
    on_progress: &mut dyn FnMut(&str),
) -> BTreeMap<String, String> {
    if lists_are_old() {
        // A source of many may be unreachable: what the others have is enough, or apt-get install says so.
        if let Err(why) = timed("apt-get update", on_progress, || {
            root.run_for("apt-get", &["update", "-o", "DPkg::Lock::Timeout=120"], UPDATE_TIMEOUT)
        }) {
            on_progress(&why);
        }
    }
    let apt_get = |packages: &[&str], on_progress: &mut dyn FnMut(&str)| {
        if cancelled() {
            return Err("Interrupted: run the same command again to continue.".to_owned());
        }
        let arguments = [&INSTALL[..], &["--"], packages].concat();
        timed(&format!("apt-get install {}", packages.join(" ")), on_progress, || {
            root.run_for("apt-get", &arguments, INSTALL_TIMEOUT)
        })
    };
    let together = apt_get(wanted, on_progress);
    let mut errors = BTreeMap::new();
    let Err(why) = together else { return errors };
    let lacking: Vec<_> = of.iter().filter(|(_, packages)| !packages.is_empty()).collect();
    for (label, packages) in &lacking {
        let installed = packages::installed(packages).unwrap_or_default();
        let packages: Vec<&str> =
            packages.iter().map(String::as_str).filter(|p| !installed.contains(*p)).collect();
        if packages.is_empty() {
            continue;
        }
        // One alone has just failed; it would again.
        let result = if lacking.len() == 1 { Err(why.clone()) } else { apt_get(&packages, on_progress) };
        if let Err(why) = result {
            errors.insert(label.clone(), why);
        }
    }
    errors
}

fn lists_are_old() -> bool {
    let newest = fs::read_dir("/var/lib/apt/lists")
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
        .filter_map(|entry| entry.metadata().ok()?.modified().ok())
        .max();
    // The file's own time is the archive's: the folder's tells when it was last fetched.
    let fetched = fs::metadata("/var/lib/apt/lists/partial").and_then(|m| m.modified()).ok();
    let age = |time: SystemTime| SystemTime::now().duration_since(time).unwrap_or_default();
    newest.is_none() || fetched.max(newest).is_none_or(|time| age(time) > LISTS_AGE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_installation_waits_for_the_first_and_says_so_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = Some(turn(dir.path(), &|| false, &mut |_| ()).unwrap());
        let mut told = Vec::new();
        let cancelled = turn(dir.path(), &|| true, &mut |progress| told.push(progress.to_owned()));
        assert!(cancelled.unwrap_err().starts_with("Interrupted") && told.is_empty());
        let next = turn(dir.path(), &|| false, &mut |progress| {
            told.push(progress.to_owned());
            // The first one ends. A child of another test may have a copy of its descriptor until it executes.
            first.take().unwrap().unlock().unwrap();
        });
        assert!(next.is_ok());
        assert!(told.len() == 1 && told[0].contains("Another Prony installs packages"), "{told:?}");
        let none = turn(&dir.path().join("no"), &|| false, &mut |_| ());
        assert!(none.unwrap_err().contains("cannot be opened"));
    }

    /// In place of sudo, whose commands Prony may not end, a program that only executes what it is given.
    #[test]
    fn what_sudo_starts_is_ended_by_a_timeout_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root { prefix: vec!["/usr/bin/env".to_owned()], log: dir.path().join("apt.log") };
        let error = root.run_for("sleep", &["600"], Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("`sleep 600` did not end within"), "{error}");
        let log = fs::read_to_string(dir.path().join("apt.log")).unwrap();
        let limited = "$ /usr/bin/env /usr/bin/timeout --foreground --kill-after=10 0.05 /usr/bin/env ";
        assert!(log.starts_with(limited), "{log}");
    }
}
