//! One bench at a time on a machine: two would load each other's servers. An advisory lock (flock) on one file for the
//! whole machine, which the kernel lets go of when its holder ends: it is never stale. What the file says (pid, start
//! time, boot, experiment) is only for people, and is believed only if that very process lives.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::boot_id;
use crate::process::Identity;

/// Names another file: for benches that share a machine and not its CPUs.
pub const VARIABLE: &str = "PRONY_TURN";
/// Not in a folder of a user's own (TMPDIR, XDG_RUNTIME_DIR): others' benches are to be seen.
const DEFAULT: &str = "/tmp/prony-bench.turn";
/// In a folder where everybody may put files: no link is followed, and no named pipe waited for.
const FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;
/// How often a bench that waits looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// As much of the file as is read: anybody may write to it.
const READ_MAX: u64 = 4 << 10;
const NAME_MAX: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub process: Identity,
    /// Its boot: a pid means nothing in another.
    pub boot_id: String,
    /// RFC 3339: since when.
    pub since: String,
    pub experiment: String,
}

#[derive(Debug)]
pub struct BenchLock {
    file: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another bench runs on this machine{}: wait for its end, or end it.", described(.0.as_ref()))]
    Taken(Option<Holder>),
    #[error("interrupted")]
    Interrupted,
}

#[derive(Debug)]
pub enum NotLocked {
    Taken,
    Cancelled,
    Refused(io::Error),
}

pub fn path() -> PathBuf {
    std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from)
}

/// Waits for so long (`None`: as long as it takes); `waits` hears once who has it. Where the file cannot be had at all
/// (a read-only machine), there is nothing to lock and the bench may go on.
pub fn take(
    path: &Path,
    experiment: &str,
    since: &str,
    patience: Option<Duration>,
    cancelled: &dyn Fn() -> bool,
    waits: &mut dyn FnMut(Option<&Holder>),
) -> Result<BenchLock, LockError> {
    let Ok(mut file) = open(path) else { return Ok(BenchLock { file: None }) };
    match lock(&file, patience, cancelled, &mut || waits(holder(path).as_ref())) {
        Ok(()) => {}
        Err(NotLocked::Taken) => return Err(LockError::Taken(holder(path))),
        Err(NotLocked::Cancelled) => return Err(LockError::Interrupted),
        Err(NotLocked::Refused(_)) => return Ok(BenchLock { file: None }),
    }
    if let Some(process) = Identity::of(std::process::id()) {
        let holder = Holder {
            process,
            boot_id: boot_id(),
            since: since.to_owned(),
            experiment: experiment.chars().take(NAME_MAX).collect(),
        };
        // Only for people: the lock holds without it.
        let _ = write(&mut file, &holder);
    }
    Ok(BenchLock { file: Some(file) })
}

/// Until the file is closed, waiting for so long (`None`: as long as it takes); `waits` hears once where another has
/// it.
pub fn lock(
    file: &File,
    patience: Option<Duration>,
    cancelled: &dyn Fn() -> bool,
    waits: &mut dyn FnMut(),
) -> Result<(), NotLocked> {
    let begun = Instant::now();
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(why)) => return Err(NotLocked::Refused(why)),
            Err(TryLockError::WouldBlock) if cancelled() => return Err(NotLocked::Cancelled),
            Err(TryLockError::WouldBlock) => {}
        }
        if patience.is_some_and(|patience| begun.elapsed() >= patience) {
            return Err(NotLocked::Taken);
        }
        if !told {
            waits();
            told = true;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

pub fn holder(path: &Path) -> Option<Holder> {
    let mut text = String::new();
    let file = OpenOptions::new().read(true).custom_flags(FLAGS).open(path).ok()?;
    file.take(READ_MAX).read_to_string(&mut text).ok()?;
    let holder: Holder = serde_json::from_str(&text).ok()?;
    (holder.boot_id == boot_id() && holder.process.lives()).then_some(holder)
}

/// ` (process 12, "quickstart", since 20:01:02 UTC)`, or how to find out where nobody is known.
pub fn described(holder: Option<&Holder>) -> String {
    let Some(Holder { process, since, experiment, .. }) = holder else {
        let path = path();
        return format!(
            " (`lslocks` shows which process has locked {}; {VARIABLE}=FILE names another lock file)",
            path.display()
        );
    };
    let printable =
        |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(NAME_MAX).collect() };
    let time: String = printable(since).chars().skip(11).take(8).collect();
    format!(" (process {}, {:?}, since {time} UTC)", process.pid, printable(experiment))
}

impl BenchLock {
    /// Whether there is a lock; without one another bench may run at the same time.
    pub fn is_held(&self) -> bool {
        self.file.is_some()
    }
}

impl Drop for BenchLock {
    fn drop(&mut self) {
        // The words would only mislead. The lock would go with the descriptor, of which a child that another thread
        // starts at this moment has a copy until it executes.
        if let Some(file) = &self.file {
            let _ = file.set_len(0).and_then(|()| file.unlock());
        }
    }
}

/// Anybody may lock it, so that root's bench and a user's keep apart. Opened first without creating: in a sticky folder
/// the kernel may refuse to create what is another's (sysctl fs.protected_regular). A file of several names is refused:
/// what is written to it may be meant for another.
fn open(path: &Path) -> io::Result<File> {
    let open = |write: bool, new: bool| {
        OpenOptions::new().read(true).write(write).create_new(new).custom_flags(FLAGS).open(path)
    };
    let file = open(true, false).or_else(|_| match open(true, true) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(0o666))?;
            Ok(file)
        }
        // Another made it meanwhile, or it may only be read: a lock needs no more.
        Err(_) => open(true, false).or_else(|_| open(false, false)),
    })?;
    let found = file.metadata()?;
    if found.is_file() && found.nlink() == 1 { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&serde_json::to_vec(holder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(path: &Path) -> Result<BenchLock, LockError> {
        take(path, "e", "2026-01-01T20:01:02.000Z", Some(Duration::ZERO), &|| false, &mut |_| ())
    }

    #[test]
    fn the_lock_is_held_by_one_bench_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turn");
        let first = now(&path).unwrap();
        let known = holder(&path).unwrap();
        assert_eq!((known.process.pid, known.experiment.as_str()), (std::process::id(), "e"));
        let refused = now(&path).unwrap_err().to_string();
        let expected = format!(
            "another bench runs on this machine (process {}, \"e\", since 20:01:02 UTC): wait for its end, or end it.",
            std::process::id()
        );
        assert_eq!(refused, expected);
        drop(first);
        assert_eq!(holder(&path), None);
        drop(now(&path).unwrap());
    }

    #[test]
    fn a_waiting_bench_is_told_once_and_gets_the_lock_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turn");
        let first = now(&path).unwrap();
        let held = std::sync::Mutex::new(Some(first));
        let mut told = 0;
        let next = take(&path, "next", "", None, &|| false, &mut |holder| {
            assert!(holder.is_some());
            told += 1;
            held.lock().unwrap().take(); // the first one ends
        });
        assert_eq!((next.is_ok(), told), (true, 1));
        drop(next);
        let _first = now(&path).unwrap();
        let interrupted = take(&path, "next", "", None, &|| true, &mut |_| ());
        assert!(matches!(interrupted, Err(LockError::Interrupted)));
    }

    #[test]
    fn a_lock_file_left_by_a_dead_process_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turn");
        let mut gone = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let process = Identity::of(gone.id()).unwrap();
        let left =
            Holder { process, boot_id: boot_id(), since: String::new(), experiment: "x\x1b[31m".to_owned() };
        std::fs::write(&path, serde_json::to_vec(&left).unwrap()).unwrap();
        assert_eq!(holder(&path).as_ref(), Some(&left));
        assert!(!described(Some(&left)).contains('\x1b'));
        gone.kill().unwrap();
        gone.wait().unwrap();
        assert_eq!(holder(&path), None, "its process is gone");
        drop(now(&path).unwrap());
        for hostile in ["", "{", "[]", &"9".repeat(100_000)] {
            std::fs::write(&path, hostile).unwrap();
            assert_eq!(holder(&path), None);
            drop(now(&path).unwrap());
        }
    }

    #[test]
    fn a_lock_path_that_is_no_file_takes_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert!(now(folder.path()).unwrap().file.is_none());
        assert!(now(&folder.path().join("no/such/folder")).unwrap().file.is_none());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("precious"), &link).unwrap();
        assert!(!now(&link).unwrap().is_held());
        assert!(!folder.path().join("precious").exists(), "a link is not followed to make a file");
    }

    #[test]
    fn a_prepared_link_or_pipe_is_neither_written_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let process = Identity::of(std::process::id()).unwrap();
        let holds = Holder { process, boot_id: boot_id(), since: String::new(), experiment: "e".to_owned() };
        let precious = serde_json::to_vec(&holds).unwrap();
        std::fs::write(at("precious"), &precious).unwrap();
        std::os::unix::fs::symlink(at("precious"), at("link")).unwrap();
        std::fs::hard_link(at("precious"), at("name")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for name in ["link", "name", "pipe"] {
            assert!(!now(&at(name)).unwrap().is_held(), "{name}");
        }
        assert_eq!((holder(&at("link")), holder(&at("pipe"))), (None, None));
        assert_eq!(std::fs::read(at("precious")).unwrap(), precious);
    }

    #[test]
    fn a_lock_of_somebody_unknown_says_how_to_find_out_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turn");
        let somebody = File::create(&path).unwrap();
        somebody.lock().unwrap();
        let refused = now(&path).unwrap_err().to_string();
        assert!(refused.contains("`lslocks` shows") && refused.contains("PRONY_TURN=FILE"), "{refused}");
    }
}
