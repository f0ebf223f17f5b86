//! How long a CPU quota has kept this process from running, as its control group counts it.

use std::fs;
use std::path::Path;

/// Where control groups are (version 2).
const GROUPS: &str = "/sys/fs/cgroup";

/// In nanoseconds since the group was made; `None` without a quota, or without control groups of version 2.
pub(crate) fn throttled_ns() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = Path::new(GROUPS).join(group);
    let limit = fs::read_to_string(folder.join("cpu.max")).ok()?;
    has_quota(&limit).then(|| throttled(&fs::read_to_string(folder.join("cpu.stat")).ok()?)).flatten()
}

/// Of `cpu.max`: `200000 100000`, or `max 100000`.
fn has_quota(limit: &str) -> bool {
    limit.split_whitespace().next().is_some_and(|quota| quota != "max")
}

/// Of `cpu.stat`.
fn throttled(stat: &str) -> Option<u64> {
    let us: u64 = stat.lines().find_map(|line| line.strip_prefix("throttled_usec "))?.trim().parse().ok()?;
    us.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_quota_took_is_read_where_there_is_one() {
        assert!(has_quota("200000 100000\n") && !has_quota("max 100000\n") && !has_quota(""));
        let stat = "usage_usec 12\nnr_periods 3\nnr_throttled 2\nthrottled_usec 1500\n";
        assert_eq!((throttled(stat), throttled("usage_usec 12\n")), (Some(1_500_000), None));
    }
}
