//! What `--apply` changes, remembered so that `--restore` puts back exactly what was there, and only what was changed.
//!
//! The memory is written before each change, in case Prony is killed. Settings do not outlive a boot: a memory of
//! another one is worthless, and said to be so. Its folder is its user's alone, which is root.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Finding, Tree, kernel};

/// In the folder of `prony_host::state`.
pub(crate) const FILE: &str = "doctor-restore.json";
const SCHEMA: &str = "prony.doctor-restore/1";
/// As much of the memory as is read; it has some hundred bytes for each setting.
const READ_MAX: u64 = 1 << 20;
/// The longest name of a governor, by the kernel (`CPUFREQ_NAME_LEN`), and the longest number.
const GOVERNOR_MAX: usize = 15;
const DIGITS_MAX: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    schema: String,
    boot_id: String,
    changed: Vec<Change>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    path: PathBuf,
    was: String,
    set: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    pub changed: Vec<String>,
    pub left: Vec<String>,
}

/// Writes the settings of what distorts, and remembers what was there.
pub fn apply(tree: &Tree, findings: &[Finding], state: &Path, boot_id: &str) -> Result<Done, String> {
    let settings: Vec<_> = findings.iter().flat_map(|finding| &finding.settings).collect();
    let mut done = Done::default();
    let mut memory = match read(state)? {
        Some(memory) if memory.boot_id == boot_id => memory,
        _ => Memory { schema: SCHEMA.to_owned(), boot_id: boot_id.to_owned(), changed: Vec::new() },
    };
    if let Some(first) = settings.first() {
        may_write(tree, &first.path, "--apply")?;
    }
    for setting in settings {
        // What was there must be such that it can be put back.
        if !is_allowed(&setting.path, &setting.wanted) || !is_allowed(&setting.path, &setting.now) {
            done.left.push(no_setting(&setting.path));
            continue;
        }
        // Applied twice, what was there before the first time is what counts.
        let known = memory.changed.iter().position(|change| change.path == setting.path);
        match known {
            Some(at) => memory.changed[at].set.clone_from(&setting.wanted),
            None => memory.changed.push(Change {
                path: setting.path.clone(),
                was: setting.now.clone(),
                set: setting.wanted.clone(),
            }),
        }
        write(state, &memory)?;
        match fs::write(tree.place(&setting.path), &setting.wanted) {
            Ok(()) => {
                let path = setting.path.display();
                done.changed.push(format!("{path}: {} → {}", words(&setting.now), setting.wanted));
            }
            Err(why) => {
                done.left.push(format!("{}: {why}", setting.path.display()));
                if known.is_none() {
                    memory.changed.pop();
                    write(state, &memory)?;
                }
            }
        }
    }
    Ok(done)
}

/// Puts back what was there before `--apply`; what somebody changed since is left as it is.
pub fn restore(tree: &Tree, state: &Path, boot_id: &str) -> Result<Done, String> {
    let memory = read(state)?.ok_or(
        "There is nothing to restore: no `prony doctor --apply` of this user has changed anything since this \
         machine was started. `sudo prony doctor --restore` restores what root changed.",
    )?;
    let mut done = Done::default();
    if memory.boot_id != boot_id {
        remove(state)?;
        done.left.push(
            "There is nothing to restore: the machine was restarted since --apply, which undid it."
                .to_owned(),
        );
        return Ok(done);
    }
    if let Some(first) = memory.changed.first() {
        may_write(tree, &first.path, "--restore")?;
    }
    let mut left = Vec::new();
    for change in memory.changed.iter().rev() {
        let path = change.path.display();
        if !is_allowed(&change.path, &change.was) {
            done.left.push(no_setting(&change.path));
            continue;
        }
        let place = tree.place(&change.path);
        let now = fs::read_to_string(&place).unwrap_or_default();
        if words(&now) == words(&change.was) {
            continue;
        }
        if words(&now) != words(&change.set) {
            done.left.push(format!("{path}: is {} now, which --apply did not set", words(&now)));
            continue;
        }
        match fs::write(&place, &change.was) {
            Ok(()) => done.changed.push(format!("{path}: {} → {}", words(&now), words(&change.was))),
            Err(why) => {
                done.left.push(format!("{path}: {why}"));
                left.push(change.clone());
            }
        }
    }
    if left.is_empty() {
        remove(state)?;
    } else {
        write(state, &Memory { changed: left, ..memory })?;
    }
    Ok(done)
}

/// The kernel writes numbers of a setting apart by tabs, and takes blanks.
fn words(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `--apply` may change this file and the value is of its kind: a sysctl that the doctor judges, which holds
/// numbers, or the governor of a CPU, which is a word. Nothing else is ever written, whatever a damaged memory says.
pub(super) fn is_allowed(path: &Path, value: &str) -> bool {
    let Some(path) = path.to_str() else { return false };
    let words: Vec<&str> = value.split_ascii_whitespace().collect();
    let are = |count: usize, longest: usize, of: fn(&u8) -> bool| {
        let is = |word: &&str| word.len() <= longest && word.as_bytes().iter().all(of);
        words.len() == count && words.iter().all(is)
    };
    if let Some(numbers) = kernel::numbers_in(path) {
        return are(numbers, DIGITS_MAX, u8::is_ascii_digit);
    }
    let cpu = path.strip_prefix("/sys/devices/system/cpu/cpu");
    let cpu = cpu.and_then(|rest| rest.strip_suffix("/cpufreq/scaling_governor"));
    cpu.is_some_and(|number| number.parse::<u16>().is_ok()) && are(1, GOVERNOR_MAX, u8::is_ascii_lowercase)
}

fn no_setting(path: &Path) -> String {
    format!("{}: is not a setting that --apply changes, or not a value of one", path.display())
}

fn may_write(tree: &Tree, path: &Path, flag: &str) -> Result<(), String> {
    match OpenOptions::new().write(true).open(tree.place(path)) {
        Err(why)
            if matches!(why.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
        {
            let path = path.display();
            Err(format!(
                "{path} may not be written: settings of the kernel are root's. Run `sudo prony doctor {flag}`."
            ))
        }
        _ => Ok(()),
    }
}

fn read(state: &Path) -> Result<Option<Memory>, String> {
    let path = state.join(FILE);
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(refused(&path))?,
    };
    let mut text = Vec::new();
    file.take(READ_MAX).read_to_end(&mut text).map_err(refused(&path))?;
    let path = path.display();
    match serde_json::from_slice::<Memory>(&text) {
        Ok(memory) if memory.schema == SCHEMA => Ok(Some(memory)),
        Ok(memory) => Err(format!("{path}: its schema {:?} is not known to this version.", memory.schema)),
        Err(why) => Err(format!("{path}: it is damaged ({why}); look at it by hand, then remove it.")),
    }
}

fn write(state: &Path, memory: &Memory) -> Result<(), String> {
    let path = state.join(FILE);
    let unfinished = path.with_extension("json.new");
    let text = serde_json::to_vec_pretty(memory).unwrap_or_default();
    // One that a killed Prony left.
    let _ = fs::remove_file(&unfinished);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| fs::rename(&unfinished, &path))
        .map_err(refused(&path))
}

fn remove(state: &Path) -> Result<(), String> {
    let path = state.join(FILE);
    fs::remove_file(&path).map_err(refused(&path))
}

fn refused(path: &Path) -> impl Fn(io::Error) -> String {
    move |why| format!("{}: {why}.", path.display())
}
