//! Any files of control groups: no panic, quotas of groups below a mount that have the files of one, and none that two equal
//! readings moved.

use std::path::Path;

use prony_host::cgroup::{cpu_quotas, place, throttled};

/// Files with a `%` between them: a path, a line break, and what the file holds.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let files: Vec<(&str, &str)> = text.split('%').filter_map(|file| file.split_once('\n')).collect();
    let read = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    let of = |name: &str| read(Path::new(name)).unwrap_or_default();
    for controller in [None, Some("cpu"), Some("memory")] {
        let found = place(&of("/proc/self/mountinfo"), &of("/proc/self/cgroup"), controller);
        assert!(found.is_none_or(|(mount, own)| own.starts_with(mount)));
    }
    let quotas = cpu_quotas(&read);
    for quota in &quotas {
        let has = |file: &str| read(&Path::new(&quota.group).join(file)).is_some();
        assert!(quota.period_us > 0 && (has("cpu.max") || has("cpu.cfs_quota_us")), "{quota:?}");
    }
    let still = throttled(&quotas, &quotas);
    let is_still =
        |q: &prony_model::host::CpuQuota| (q.periods, q.throttled_periods, q.throttled_ns) == (0, 0, 0);
    assert!(still.as_ref().is_none_or(is_still) && still.is_some() != quotas.is_empty());
    assert_eq!(throttled(&[], &quotas), None);
}
