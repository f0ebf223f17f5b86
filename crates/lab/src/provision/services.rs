//! Which services start at boot, so that those a package enabled can be disabled again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::apt::Root;
use crate::programs::find_command;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Enabled(BTreeSet<PathBuf>);

impl Enabled {
    /// Reads them: `*.wants/`, `*.requires/` and aliases of systemd, and `rc?.d/S*` of System V. Units of the package
    /// `systemd` itself, which a server's package may bring to a machine without it, are no server's and left out.
    pub(super) fn read(root: &Path) -> Enabled {
        let mut links = BTreeSet::new();
        let of_systemd = fs::read_to_string(root.join("var/lib/dpkg/info/systemd.list")).unwrap_or_default();
        let list = |dir: &Path| -> Vec<PathBuf> {
            fs::read_dir(dir).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect()
        };
        for entry in list(&root.join("etc/systemd/system")) {
            let dir = entry.extension().is_some_and(|e| e == "wants" || e == "requires");
            if dir {
                links.extend(list(&entry));
            } else if entry.is_symlink() && !masks(&entry) {
                links.insert(entry);
            }
        }
        for level in ["0", "1", "2", "3", "4", "5", "6", "S"] {
            let started = list(&root.join(format!("etc/rc{level}.d")));
            links.extend(started.into_iter().filter(|path| file_name(path).starts_with('S')));
        }
        links.retain(|link| {
            // `getty@tty1.service` is a link to `getty@.service`.
            let Ok(unit) = fs::read_link(link) else { return true };
            !of_systemd.lines().any(|file| Path::new(file).file_name() == unit.file_name())
        });
        Enabled(links)
    }

    fn since(&self, before: &Enabled) -> Vec<PathBuf> {
        self.0.difference(&before.0).cloned().collect()
    }
}

/// A link to `/dev/null` forbids a unit: the contrary of enabling it.
fn masks(link: &Path) -> bool {
    fs::read_link(link).is_ok_and(|to| to == Path::new("/dev/null"))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Disables what has been enabled since: the names of what was disabled, and the links that would not go.
pub(super) fn disable_new(before: &Enabled, access: &Root) -> (Vec<String>, Vec<PathBuf>) {
    let root = Path::new("/");
    let new = Enabled::read(root).since(before);
    // A service has a link in each run level it is started in: once is enough.
    let scripts: BTreeSet<String> = new
        .iter()
        .filter(|link| !in_systemd(link))
        .filter_map(|link| Some(rc_name(&file_name(link))?.to_owned()))
        .collect();
    let units: BTreeSet<String> =
        new.iter().filter(|link| in_systemd(link)).map(|link| file_name(link)).collect();
    for script in &scripts {
        access.quietly("update-rc.d", &[script, "disable"]);
    }
    // Works without a running systemd. deb-systemd-helper does not: it serves dpkg's scripts only.
    if find_command("systemctl").is_some() {
        units.iter().for_each(|unit| access.quietly("systemctl", &["disable", "--quiet", unit]));
    }
    let mut names = scripts;
    names.extend(units.iter().map(|unit| unit.trim_end_matches(".service").to_owned()));
    // What the tools left: they are links that were not there, and removing them is what disabling is.
    for link in Enabled::read(root).since(before) {
        access.quietly("rm", &["-f", &link.to_string_lossy()]);
    }
    let left = Enabled::read(root).since(before);
    (names.into_iter().collect(), left)
}

fn in_systemd(link: &Path) -> bool {
    link.starts_with("/etc/systemd")
}

/// `S01nginx` → `nginx`.
fn rc_name(link: &str) -> Option<&str> {
    let rest = link.strip_prefix('S')?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() - name.len() == 2 && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn newly_enabled_services_are_found_but_not_masked_ones() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for made in ["etc/systemd/system/multi-user.target.wants", "etc/rc2.d", "var/lib/dpkg/info"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        fs::write(at("var/lib/dpkg/info/systemd.list"), "/.\n/usr/lib/systemd/system/getty@.service\n")
            .unwrap();
        symlink("/lib/x", at("etc/systemd/system/multi-user.target.wants/old.service")).unwrap();
        let before = Enabled::read(dir.path());
        symlink("/lib/x", at("etc/systemd/system/multi-user.target.wants/new.service")).unwrap();
        symlink("/lib/x", at("etc/systemd/system/alias.service")).unwrap();
        symlink("/dev/null", at("etc/systemd/system/masked.service")).unwrap();
        symlink("/lib/systemd/system/getty@.service", at("etc/systemd/system/getty@tty1.service")).unwrap();
        symlink("../init.d/new", at("etc/rc2.d/S01new")).unwrap();
        symlink("../init.d/off", at("etc/rc2.d/K01off")).unwrap();
        let new = Enabled::read(dir.path()).since(&before);
        let names: Vec<String> = new.iter().map(|p| file_name(p)).collect();
        assert_eq!(names, ["S01new", "alias.service", "new.service"]);
        assert_eq!(rc_name("S01new"), Some("new"));
        assert_eq!(rc_name("Snew"), None);
    }
}
