//! Installed programs that fetch and build what servers need: whose rights they have, and where their sources come from.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::builder::{Builder, as_user, end_all};
use super::packages;
use crate::candidate::Layout;
use crate::programs::{Run, find_command};

/// A whole Rust server with its dependencies takes two minutes on two free cores, over ten beside other builds.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_secs(1800);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Registry,
    /// From sources on this machine, which stand in for it.
    Local,
}

pub(super) struct Site<'a> {
    pub(super) server: &'a str,
    pub(super) dir: &'a Path,
    pub(super) layout: &'a Layout,
    /// The user and the group whose rights its commands have, if not those of Prony.
    pub(super) user: Option<(u32, u32)>,
    pub(super) log: PathBuf,
}

impl Site<'_> {
    /// A command of an installed program; its path may be its name, by which errors call it. Its home is Prony's.
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
        if let Some(user) = self.user {
            self.hand_over(user)?;
            argv.push(found("setpriv")?);
            argv.extend(as_user(user));
        }
        argv.push(found(program)?);
        argv.extend(arguments.iter().map(ToString::to_string));
        let env = vec![("HOME".to_owned(), home.to_string_lossy().into_owned())];
        Ok(Run { name, argv, cwd, env, log: &self.log, timeout: STEP_TIMEOUT })
    }

    /// Copies what was built with its builder's rights: it may hold links. A file in use is replaced, not written to.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> Result<(), String> {
        let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
        self.tool("install", &["-D", "--", &from, &to], self.layout.root())?.run()
    }

    /// Makes root's again what a step has built with the rights of a user whom nobody else is, once nothing of it runs.
    pub(super) fn take_back(&self, builder: &Builder) -> Result<(), String> {
        let Builder::Spare(number) = *builder else { return Ok(()) };
        end_all(number).and_then(|()| self.hand_over((0, 0)))
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
        // Not ended by an interrupt: what is built must not stay another user's.
        Run { name, argv, cwd, env: Vec::new(), log: &self.log, timeout: STEP_TIMEOUT }.run_unless(|| false)
    }
}

pub(super) fn not_written(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |why| format!("{} cannot be written: {why}.", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn site<'a>(layout: &'a Layout, dir: &'a Path, user: Option<(u32, u32)>) -> Site<'a> {
        Site { server: "s", dir, layout, user, log: layout.install_log("s") }
    }

    #[test]
    fn a_build_step_has_only_the_rights_of_its_user() {
        let argv = as_user((1000, 100));
        assert_eq!(argv, ["--reuid=1000", "--regid=100", "--clear-groups", "--no-new-privs", "--"]);
        if find_command("setpriv").is_none() || !geteuid().is_root() {
            return eprintln!("not tested: only root can act as another user");
        }
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let work = layout.work("s");
        fs::create_dir_all(&work).unwrap();
        fs::write(work.join("file"), "").unwrap();
        let precious = dir.path().join("precious");
        fs::write(&precious, "").unwrap();
        symlink(&precious, work.join("link")).unwrap();
        let script = "id -u; id -g; id -G; grep -E '^(CapPrm|NoNewPrivs)' /proc/self/status";
        let site = site(&layout, &work, Some((12_345, 12_346)));
        site.tool("sh", &["-c", script], Path::new("/")).unwrap().run().unwrap();
        let log = fs::read_to_string(&site.log).unwrap();
        let (_, said) = log.split_once("\n12345\n").unwrap_or_else(|| panic!("{log}"));
        let said: Vec<&str> = said.lines().collect();
        assert_eq!(said, ["12346", "12346", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"]);
        for (path, owner) in
            [(work.join("file"), 12_345), (work.join("link"), 12_345), (layout.home(), 12_345), (precious, 0)]
        {
            assert_eq!(fs::symlink_metadata(&path).unwrap().uid(), owner, "{}", path.display());
        }
    }

    #[test]
    fn files_built_as_the_unused_user_become_root_s_afterwards() {
        if find_command("setpriv").is_none() || !geteuid().is_root() {
            return eprintln!("not tested: only root can act as another user");
        }
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let work = layout.work("s");
        fs::create_dir_all(&work).unwrap();
        let number = 60_899;
        let site = site(&layout, &work, Some((number, number)));
        let script = "touch built; setsid sleep 600 > /dev/null 2>&1 & echo $! > pid";
        site.tool("sh", &["-c", script], &work).unwrap().run().unwrap();
        assert_eq!(fs::metadata(work.join("built")).unwrap().uid(), number);
        site.take_back(&Builder::Spare(number)).unwrap();
        let sleep = fs::read_to_string(work.join("pid")).unwrap().trim().parse().unwrap();
        assert!(prony_host::process::stat(sleep).is_none_or(|stat| !stat.identity().lives()));
        for path in [work.join("built"), work, layout.home()] {
            assert_eq!(fs::metadata(&path).unwrap().uid(), 0, "{}", path.display());
        }
    }

    #[test]
    fn a_link_is_replaced_by_what_was_built_and_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let [built, precious, link] = ["built", "precious", "link"].map(|name| dir.path().join(name));
        fs::write(&built, "new").unwrap();
        fs::write(&precious, "whole").unwrap();
        symlink(&precious, &link).unwrap();
        let site = site(&layout, dir.path(), None);
        for to in [link, dir.path().join("bin/server")] {
            site.copy(&built, &to).unwrap();
            let found = fs::symlink_metadata(&to).unwrap();
            assert!(found.is_file() && found.mode() & 0o111 == 0o111, "{}", to.display());
            assert_eq!(fs::read_to_string(&to).unwrap(), "new");
        }
        assert_eq!(fs::read_to_string(&precious).unwrap(), "whole");
    }

    #[test]
    fn a_tool_has_a_home_of_prony_s() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let site = site(&layout, dir.path(), None);
        let run = site.tool("sh", &["-c", "env"], dir.path()).unwrap();
        assert_eq!((run.name.as_str(), run.env.len()), ("sh -c env", 1));
        assert_eq!(run.env[0], ("HOME".to_owned(), layout.home().to_string_lossy().into_owned()));
        assert!(layout.home().is_dir());
        let missing = site.tool("prony-no-such-program", &[], dir.path()).err().unwrap();
        assert!(missing.starts_with("prony-no-such-program is missing: "), "{missing}");
    }
}
