//! Installed programs that fetch and build what servers need: whose rights they have, and where their sources come from.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;

use super::packages;
use crate::candidate::Layout;
use crate::programs::{Run, find_command};

/// A whole Rust server with its dependencies takes minutes on one core.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// Where what is built came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// From where its publisher keeps it.
    Registry,
    /// From sources on this machine, which stand in for it.
    Local,
}

/// The folder or file that somebody names in the environment, to stand in for a registry.
pub(super) fn stand_in(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where a step of one server's installation is done.
pub(super) struct Site<'a> {
    /// The server's name.
    pub(super) server: &'a str,
    /// What it makes.
    pub(super) dir: &'a Path,
    pub(super) layout: &'a Layout,
    /// What its commands print.
    pub(super) log: PathBuf,
}

impl Site<'_> {
    /// A command of an installed program, called by both in errors; the path of one may be its name. Its home is a folder
    /// of Prony's, and where Prony was started by sudo, it has the rights of the user who did that.
    pub(super) fn tool<'b>(
        &'b self,
        program: &str,
        arguments: &[&str],
        cwd: &'b Path,
    ) -> Result<Run<'b>, String> {
        let found = |program: &str| {
            let missing = || format!("{program} is missing: {}", packages::mend(program));
            find_command(program).map(|path| path.to_string_lossy().into_owned()).ok_or_else(missing)
        };
        let name = [&[program], arguments].concat().join(" ");
        let home = self.layout.home();
        fs::create_dir_all(&home).map_err(not_written(&home))?;
        let mut argv = Vec::new();
        if let Some(user) = sudo_user() {
            self.hand_over(user)?;
            argv.push(found("setpriv")?);
            argv.extend(as_user(user));
        }
        argv.push(found(program)?);
        argv.extend(arguments.iter().map(ToString::to_string));
        let env = vec![("HOME".to_owned(), home.to_string_lossy().into_owned())];
        Ok(Run { name, argv, cwd, env, log: &self.log, timeout: STEP_TIMEOUT })
    }

    /// Gives a user what is built, the folder it is built in, and the caches; links as such, whatever they lead to.
    fn hand_over(&self, (user, group): (u32, u32)) -> Result<(), String> {
        let (layout, server) = (self.layout, self.server);
        let build = layout.server_dir(server).join("build");
        let folders = [self.dir.to_owned(), layout.work(server), build, layout.home(), layout.downloads()];
        let mut argv: Vec<String> = ["chown", "-R", "-h", "--"].map(str::to_owned).to_vec();
        argv.push(format!("{user}:{group}"));
        let there = folders.iter().filter(|folder| folder.is_dir());
        argv.extend(there.map(|folder| folder.to_string_lossy().into_owned()));
        let (name, cwd) = ("chown".to_owned(), layout.root());
        Run { name, argv, cwd, env: Vec::new(), log: &self.log, timeout: STEP_TIMEOUT }.run()
    }
}

/// What `setpriv` is told, so that a command has a user's rights, none of root's groups, and no way to more (sudo).
fn as_user((user, group): (u32, u32)) -> [String; 5] {
    let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
    [user, group, "--clear-groups".to_owned(), "--no-new-privs".to_owned(), "--".to_owned()]
}

/// The user and the group who started Prony by sudo.
fn sudo_user() -> Option<(u32, u32)> {
    let number = |name: &str| -> Option<u32> { env::var(name).ok()?.parse().ok() };
    of_sudo(geteuid().is_root(), number("SUDO_UID"), number("SUDO_GID"))
}

/// Nobody but root can act as another user, and what root started by sudo is root's own.
fn of_sudo(is_root: bool, user: Option<u32>, group: Option<u32>) -> Option<(u32, u32)> {
    let user = user.filter(|user| is_root && *user != 0)?;
    Some((user, group?))
}

/// Whether what builds servers has root's rights: there is no user to give them to.
pub(super) fn builds_as_root() -> bool {
    geteuid().is_root() && sudo_user().is_none()
}

/// What is said of a file that cannot be written.
pub(super) fn not_written(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |why| format!("{} cannot be written: {why}.", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_host::testing::PATIENCE;

    #[test]
    fn only_root_by_sudo_builds_as_the_user_who_started_it() {
        assert_eq!(of_sudo(true, Some(1000), Some(100)), Some((1000, 100)));
        assert_eq!(of_sudo(true, Some(0), Some(0)), None, "root by sudo is root");
        assert_eq!(of_sudo(true, None, None), None);
        assert_eq!(of_sudo(true, Some(1000), None), None);
        assert_eq!(of_sudo(false, Some(1000), Some(100)), None, "who is not root is themselves");
    }

    #[test]
    fn a_build_step_of_sudo_has_the_user_s_rights_and_no_way_to_more() {
        let argv = as_user((1000, 100));
        assert_eq!(argv, ["--reuid=1000", "--regid=100", "--clear-groups", "--no-new-privs", "--"]);
        let Some(setpriv) = find_command("setpriv").filter(|_| geteuid().is_root()) else { return };
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut command = vec![setpriv.to_string_lossy().into_owned()];
        command.extend(as_user((12_345, 12_346)));
        let script = "id -u; id -g; id -G; grep -E '^(CapPrm|NoNewPrivs)' /proc/self/status";
        command.extend(["/bin/sh", "-c", script].map(str::to_owned));
        let run = Run {
            name: "id".to_owned(),
            argv: command,
            cwd: Path::new("/"),
            env: Vec::new(),
            log: &log,
            timeout: PATIENCE,
        };
        run.run().unwrap();
        let said = fs::read_to_string(&log).unwrap();
        let said: Vec<&str> = said.lines().skip(1).collect();
        assert_eq!(said, ["12345", "12346", "12346", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"]);
    }

    #[test]
    fn a_tool_has_a_home_of_prony_s() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let site = Site { server: "s", dir: dir.path(), layout: &layout, log: layout.install_log("s") };
        let run = site.tool("sh", &["-c", "env"], dir.path()).unwrap();
        assert_eq!((run.name.as_str(), run.env.len()), ("sh -c env", 1));
        assert_eq!(run.env[0], ("HOME".to_owned(), layout.home().to_string_lossy().into_owned()));
        assert!(layout.home().is_dir());
        let missing = site.tool("prony-no-such-program", &[], dir.path()).err().unwrap();
        assert!(missing.starts_with("prony-no-such-program is missing: "), "{missing}");
    }
}
