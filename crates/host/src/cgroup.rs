//! Control groups: a process's, and the CPU quotas of it and of all above it, which hold for it as well.

use std::path::{Component, Path, PathBuf};

use prony_model::host::CpuQuota;

/// Where no mounts can be read: the usual places of the older interface and of the newer.
const USUAL_MOUNTS: &str = "1 1 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
    2 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

/// By /proc/PID/mountinfo and cgroup: version 2's hierarchy, or that of version 1 with this controller. A group that
/// the mount does not show is the mount.
pub fn place(mountinfo: &str, cgroup: &str, v1_controller: Option<&str>) -> Option<(PathBuf, PathBuf)> {
    let has = |names: &str| v1_controller.is_some_and(|wanted| names.split(',').any(|name| name == wanted));
    // cgroups(7): `0::/path` is version 2, `2:cpu,cpuacct:/path` is version 1.
    let own = cgroup.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_v2 = number == "0" && controllers.is_empty();
        (has(controllers) || (v1_controller.is_none() && is_v2)).then_some(path)
    })?;
    // proc(5): `number parent device root mount-point options … - type source super-options`.
    let (root, mount) = mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (file_system, _source, options) = (kind.next()?, kind.next()?, kind.next()?);
        let is_v2 = v1_controller.is_none() && file_system == "cgroup2";
        let mut fields = mount.split(' ').skip(3);
        ((file_system == "cgroup" && has(options)) || is_v2).then_some((fields.next()?, fields.next()?))
    })?;
    let below = Path::new(own).strip_prefix(root).ok();
    let below = below.filter(|path| path.components().all(|part| matches!(part, Component::Normal(_))));
    Some((mount.into(), Path::new(mount).join(below.unwrap_or(Path::new("")))))
}

/// By the files that `read` gives, from this process's own group upwards, and what they did since the groups were made.
pub fn cpu_quotas(read: &dyn Fn(&Path) -> Option<String>) -> Vec<CpuQuota> {
    let cgroup = read(Path::new("/proc/self/cgroup")).unwrap_or_else(|| "0::/\n1:cpu:/\n".to_owned());
    let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_else(|| USUAL_MOUNTS.to_owned());
    let mut found = Vec::new();
    for controller in [None, Some("cpu")] {
        let Some((mount, own)) = place(&mounts, &cgroup, controller) else { continue };
        let groups = own.ancestors().take_while(|group| group.starts_with(&mount));
        found.extend(groups.filter_map(|group| cpu_quota(group, &|file| read(&group.join(file)))));
    }
    found
}

/// What the quota that stopped this process longest did between two readings; `None` without any.
pub fn throttled(before: &[CpuQuota], after: &[CpuQuota]) -> Option<CpuQuota> {
    let moved = after.iter().filter_map(|after| {
        let before = before.iter().find(|before| before.group == after.group)?;
        Some(CpuQuota {
            periods: after.periods.saturating_sub(before.periods),
            throttled_periods: after.throttled_periods.saturating_sub(before.throttled_periods),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
            ..after.clone()
        })
    });
    moved.max_by_key(|quota| (quota.throttled_ns, quota.throttled_periods))
}

pub fn own_cpu_quotas() -> Vec<CpuQuota> {
    cpu_quotas(&|path| std::fs::read_to_string(path).ok())
}

fn cpu_quota(group: &Path, read: &dyn Fn(&str) -> Option<String>) -> Option<CpuQuota> {
    let (quota, period) = match read("cpu.max") {
        Some(limit) => {
            let mut words = limit.split_ascii_whitespace();
            (words.next()?.parse().ok()?, words.next()?.parse().ok()?)
        }
        None => (number(&read("cpu.cfs_quota_us")?)?, number(&read("cpu.cfs_period_us")?)?),
    };
    let stat = read("cpu.stat").unwrap_or_default();
    let count =
        |name: &str| stat.lines().find_map(|line| number(line.strip_prefix(name)?.strip_prefix(' ')?));
    let throttled_us = count("throttled_usec").map(|us| us.saturating_mul(1_000));
    (period > 0).then(|| CpuQuota {
        group: group.display().to_string(),
        quota_us: quota,
        period_us: period,
        periods: count("nr_periods").unwrap_or(0),
        throttled_periods: count("nr_throttled").unwrap_or(0),
        throttled_ns: throttled_us.or(count("throttled_time")).unwrap_or(0),
    })
}

/// Not -1, which is no quota.
fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MOUNTS: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n\
        31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
    const OWN: &str = "4:memory:/m\n2:cpu,cpuacct:/a\n1:name=systemd:/s\n0::/user.slice/x\n";

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn quotas_below(root: &Path) -> Vec<CpuQuota> {
        cpu_quotas(&|path| fs::read_to_string(root.join(path.strip_prefix("/").unwrap())).ok())
    }

    fn seen(files: &[(&str, &str)]) -> Vec<(String, u64, u64, u64)> {
        let quotas = quotas_below(tree(files).path()).into_iter();
        quotas.map(|q| (q.group, q.quota_us, q.throttled_periods, q.throttled_ns)).collect()
    }

    #[test]
    fn mounts_and_groups_are_found() {
        let found =
            |v1| place(MOUNTS, OWN, v1).map(|(mount, own)| [mount, own].map(|p| p.display().to_string()));
        assert_eq!(found(None).unwrap(), ["/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/x"]);
        let v1 = "/sys/fs/cgroup/cpu,cpuacct";
        assert_eq!(found(Some("cpuacct")).unwrap(), [v1, &format!("{v1}/a")]);
        assert_eq!((found(Some("memory")), found(Some("blkio"))), (None, None));
        assert_eq!((place("", OWN, None), place(MOUNTS, "", None)), (None, None));
        // A container's mount shows its own group as the root; what is outside of it is not shown.
        let container = "31 24 0:27 /docker/abc /cg rw - cgroup cgroup rw,cpu\n32 24 0:28 / /cg2 rw - cgroup2 cgroup2 rw\n";
        for (own, controller, group) in [
            ("2:cpu:/docker/abc/x\n", Some("cpu"), "/cg/x"),
            ("2:cpu:/docker/abc\n", Some("cpu"), "/cg"),
            ("2:cpu:/\n", Some("cpu"), "/cg"),
            ("0::/../outside\n", None, "/cg2"),
        ] {
            assert_eq!(place(container, own, controller).unwrap().1, Path::new(group), "{own}");
        }
    }

    #[test]
    fn a_version_2_quota_is_found_at_every_level_up_to_the_mount() {
        let stat = "usage_usec 12\nnr_periods 36\nnr_throttled 34\nthrottled_usec 1500\n";
        let own = ("/proc/self/cgroup", "0::/pod/container/own\n");
        let mounts = ("/proc/self/mountinfo", "30 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n");
        for level in ["/cg", "/cg/pod", "/cg/pod/container", "/cg/pod/container/own"] {
            let [limit, counts] = ["cpu.max", "cpu.stat"].map(|file| format!("{level}/{file}"));
            let files = [own, mounts, (&limit, "50000 100000\n"), (&counts, stat)];
            assert_eq!(seen(&files), [(level.to_owned(), 50_000, 34, 1_500_000)]);
            assert_eq!(seen(&[own, mounts, (&limit, "max 100000\n"), (&counts, stat)]), []);
        }
        // Beside it, and above the mount, are others'.
        let files = [own, mounts, ("/cg/other/cpu.max", "1 2"), ("/cpu.max", "1 2"), ("/cg/pod/cpu.max", "")];
        assert_eq!(seen(&files), []);
        assert_eq!(seen(&[]), []);
    }

    #[test]
    fn a_version_1_quota_is_found_at_every_level_up_to_the_mount() {
        let stat = "nr_periods 36\nnr_throttled 34\nthrottled_time 1500\n";
        let own = ("/proc/self/cgroup", "3:cpu,cpuacct:/docker/abc\n0::/\n");
        let mounts = ("/proc/self/mountinfo", MOUNTS);
        let v1 = "/sys/fs/cgroup/cpu,cpuacct";
        for level in [v1.to_owned(), format!("{v1}/docker"), format!("{v1}/docker/abc")] {
            let file = |name: &str| format!("{level}/{name}");
            let (quota, period, counts) =
                (file("cpu.cfs_quota_us"), file("cpu.cfs_period_us"), file("cpu.stat"));
            let files =
                |quota_us| [own, mounts, (quota.as_str(), quota_us), (&period, "100000\n"), (&counts, stat)];
            assert_eq!(seen(&files("20000\n")), [(level.clone(), 20_000, 34, 1_500)]);
            assert_eq!(seen(&files("-1\n")), []);
        }
    }

    #[test]
    fn of_several_quotas_the_one_that_stopped_longest_counts() {
        let limits = |stats: [&str; 2]| {
            let files = [
                ("/proc/self/cgroup", "0::/pod/own\n"),
                ("/sys/fs/cgroup/pod/cpu.max", "300000 100000\n"),
                ("/sys/fs/cgroup/pod/cpu.stat", stats[0]),
                ("/sys/fs/cgroup/pod/own/cpu.max", "50000 100000\n"),
                ("/sys/fs/cgroup/pod/own/cpu.stat", stats[1]),
            ];
            quotas_below(tree(&files).path())
        };
        let before = limits([
            "nr_periods 9\nnr_throttled 9\nthrottled_usec 9000\n",
            "nr_periods 4\nthrottled_usec 1\n",
        ]);
        let after = limits([
            "nr_periods 45\nnr_throttled 9\nthrottled_usec 9000\n",
            "nr_periods 40\nnr_throttled 34\nthrottled_usec 101\n",
        ]);
        let quota = throttled(&before, &after).unwrap();
        assert_eq!(quota.group, "/sys/fs/cgroup/pod/own");
        assert_eq!((quota.periods, quota.throttled_periods, quota.throttled_ns), (36, 34, 100_000));
        assert_eq!(throttled(&[], &after), None);
        let cut = limits([
            "throttled_usec 99999999999999999999",
            "nr_periods\nnr_throttled x\nthrottled_usec 18446744073709551615",
        ]);
        assert_eq!(throttled(&cut, &after).map(|quota| quota.throttled_ns), Some(9_000_000));
    }
}
