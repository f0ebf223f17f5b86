//! Child processes that end with this one, however it does.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use prony_model::secret::names_asked_for;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

pub const DIE_WITH_PARENT_ARGUMENT: &str = "__tied";

/// Becomes a program that the kernel ends when its parent is, also by kill -9. It returns only what keeps it from that.
pub fn run_dying_with_parent(arguments: &[OsString]) -> String {
    let Some((parent, arguments)) = arguments.split_first() else { return "no parent is named".to_owned() };
    if let Err(e) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return format!("{e}");
    }
    // The parent was gone before the kernel knew.
    if getppid().map(|now| now.as_raw_pid().to_string().into()).as_ref() != Some(parent) {
        return "its parent has ended".to_owned();
    }
    let Some((program, rest)) = arguments.split_first() else { return "no program is named".to_owned() };
    Command::new(program).args(rest).exec().to_string()
}

/// `program`, to be started by `own`, this binary, and ended with this thread. It is in a process group of its own: a ctrl-C in the
/// terminal is for the controller, which ends the load in order.
pub(crate) fn die_with_parent(own: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(own);
    for name in names_asked_for() {
        command.env_remove(name);
    }
    command.arg(DIE_WITH_PARENT_ARGUMENT).arg(std::process::id().to_string()).arg(program).process_group(0);
    command
}

pub(crate) fn on_path(name: &str) -> Option<std::path::PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| path.is_file())
}
