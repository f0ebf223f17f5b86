//! What an installed server takes on this machine: Debian packages with all that they depend on, and what was built.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::candidate::{Candidate, Layout};

/// One line a package; Installed-Size is in KiB (deb-control(5)).
const FIELDS: &str = "${db:Status-Status}\\t${Package}\\t${Installed-Size}\\t${Priority}\\t${Provides}\\t${Pre-Depends}, ${Depends}\\n";
/// Every Debian has packages of these priorities (Debian Policy 2.5): no server needs them to be installed.
const ON_EVERY_SYSTEM: [&str; 2] = ["required", "important"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    pub debian_packages: u32,
    pub bytes: u64,
}

/// `None` in a container, and where one of the packages is not installed since something from elsewhere stands in for it.
pub fn footprint(candidate: &Candidate, layout: &Layout) -> Option<Footprint> {
    let server = candidate.server().filter(|_| candidate.engine().is_none())?;
    let requires = candidate.requires();
    let wanted: Vec<&str> = requires.apt.iter().chain(&requires.apt_build).map(String::as_str).collect();
    let (debian_packages, of_packages) = if wanted.is_empty() {
        (0, 0)
    } else {
        let listed = Command::new("/usr/bin/dpkg-query")
            .args(["-W", "-f", FIELDS])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        closure(&String::from_utf8_lossy(&listed.stdout), &wanted)?
    };
    Some(Footprint { debian_packages, bytes: of_packages + on_disk(&layout.server_dir(&server.name)) })
}

struct Package<'a> {
    bytes: u64,
    on_every_system: bool,
    depends: &'a str,
}

/// How many packages these and all that they depend on are, and their bytes; `None` where one of these is not installed.
fn closure(listed: &str, wanted: &[&str]) -> Option<(u32, u64)> {
    let mut packages: HashMap<&str, Package<'_>> = HashMap::new();
    let mut provided: HashMap<&str, &str> = HashMap::new();
    for line in listed.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let ["installed", name, kib, priority, provides, depends] = fields[..] else { continue };
        provides.split(',').map(bare).filter(|name| !name.is_empty()).for_each(|virtual_name| {
            provided.entry(virtual_name).or_insert(name);
        });
        let bytes = kib.parse::<u64>().unwrap_or(0).saturating_mul(1024);
        let on_every_system = ON_EVERY_SYSTEM.contains(&priority);
        packages.insert(name, Package { bytes, on_every_system, depends });
    }
    let find =
        |name: &str| packages.get_key_value(name).or_else(|| packages.get_key_value(provided.get(name)?));
    let mut to_see = wanted.iter().map(|name| find(name)).collect::<Option<Vec<_>>>()?;
    let (mut seen, mut bytes) = (BTreeSet::new(), 0_u64);
    while let Some((name, package)) = to_see.pop() {
        if !package.on_every_system && seen.insert(*name) {
            bytes = bytes.saturating_add(package.bytes);
            // Of alternatives the one that is there.
            let needed = package.depends.split(',');
            to_see.extend(needed.filter_map(|any| any.split('|').map(bare).find_map(find)));
        }
    }
    Some((u32::try_from(seen.len()).unwrap_or(u32::MAX), bytes))
}

/// `libc6` of ` libc6:any (>= 2.36)`.
fn bare(name: &str) -> &str {
    name.split(['(', ':']).next().unwrap_or_default().trim()
}

/// The sum of the lengths of a folder's files; links are not followed.
fn on_disk(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(what) if what.is_dir() => on_disk(&entry.path()),
        Ok(what) => what.len(),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "installed\tnginx\t100\toptional\thttpd, httpd-cgi\tinit-helpers (>= 1) | x, nginx-common:any (= 1)\n\
        installed\tnginx-common\t50\toptional\t\t, libc6 (>= 2), nginx, not-there\n\
        installed\tlibc6\t9000\trequired\t\t, libgcc\n\
        installed\tlibgcc\t70\toptional\t\t, \n\
        not-installed\tapache2\t\toptional\thttpd\t, \nnonsense\n\
        installed\tphp8.2-cli\tx\toptional\tphp-cli (= 2)\t, libgcc\n";

    #[test]
    fn packages_are_counted_with_all_that_they_depend_on() {
        assert_eq!(closure(LISTED, &["nginx"]), Some((2, 150 * 1024)));
        assert_eq!(closure(LISTED, &["php-cli", "nginx"]), Some((4, 220 * 1024)), "and by what it provides");
        assert_eq!(closure(LISTED, &["libc6"]), Some((0, 0)), "on every system");
        assert_eq!(closure(LISTED, &["apache2"]), None);
        assert_eq!(closure("", &["nginx"]), None);
    }

    #[test]
    fn a_folder_takes_what_its_files_take_and_no_link_counts() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), vec![1; 10_000]).unwrap();
        let own = on_disk(folder.path());
        assert_eq!(own, 10_000);
        std::os::unix::fs::symlink("/", folder.path().join("c")).unwrap();
        assert!(on_disk(folder.path()) < own + 10_000);
        assert_eq!(on_disk(Path::new("/nonexistent")), 0);
    }
}
