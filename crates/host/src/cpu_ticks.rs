//! What each CPU did since the machine's start: the `cpuN` lines of /proc/stat (proc(5)).

use std::collections::BTreeMap;

use prony_model::monitor::Ticks;

/// They count in hundredths of a second, whatever the kernel's own tick is (proc(5), `USER_HZ`).
pub const TICKS_PER_S: u32 = 100;
pub(crate) const TICK_NS: u64 = 1_000_000_000 / TICKS_PER_S as u64;

/// A CPU's ticks, which never run back but for a repair of the kernel's own sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// With nice, and with guest time, which the kernel counts in user, too.
    pub user: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
}

impl CpuTicks {
    /// In the order of [`prony_model::monitor::CLASSES`].
    pub fn by_class(&self) -> Ticks {
        [self.user, self.system, self.idle, self.iowait, self.irq, self.softirq, self.steal]
    }

    pub fn busy(&self) -> u64 {
        sum([self.user, self.system, self.irq, self.softirq])
    }

    /// All of them: the time that went by.
    pub fn total(self) -> u64 {
        sum(self.by_class())
    }
}

/// The ticks of each CPU; a line of another form is left out.
pub fn cpus(stat: &str) -> BTreeMap<u32, CpuTicks> {
    stat.lines().filter_map(cpu).collect()
}

/// How much of a CPU's time between two readings was spent so: the share and the ticks. `None` where no time went by.
pub fn spent(
    first: &BTreeMap<u32, CpuTicks>,
    last: &BTreeMap<u32, CpuTicks>,
    cpu: u32,
    of: fn(&CpuTicks) -> u64,
) -> Option<(f64, u64)> {
    let (first, last) = (first.get(&cpu)?, last.get(&cpu)?);
    let (total, ticks) = (last.total().checked_sub(first.total())?, of(last).saturating_sub(of(first)));
    (total > 0).then(|| (ticks as f64 / total as f64, ticks))
}

/// `cpu0 2 0 3 50 0 0 0 9 0 0`; `cpu` without a number is the sum of all.
fn cpu(line: &str) -> Option<(u32, CpuTicks)> {
    let mut fields = line.split_ascii_whitespace();
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> = fields.take(8).map_while(|n| n.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else { return None };
    let user = sum([user, nice]);
    Some((cpu, CpuTicks { user, system, idle, iowait, irq, softirq, steal }))
}

fn sum<const N: usize>(parts: [u64; N]) -> u64 {
    parts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_per_cpu_and_guest_time_is_not_counted_twice() {
        let stat =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 100 200 4 5 50 7 7\ncpu10 0 0 0 9 0 0 0 0\nintr 5 1 2\n";
        let cpus = cpus(stat);
        assert_eq!(cpus.len(), 2, "{cpus:?}");
        assert_eq!(cpus[&0].by_class(), [3, 3, 100, 200, 4, 5, 50]);
        assert_eq!((cpus[&0].busy(), cpus[&0].total(), cpus[&10].total()), (15, 365, 9));
    }

    #[test]
    fn lines_of_proc_stat_in_another_form_are_left_out() {
        assert!(cpus("cpu0 1 2 3\ncpux 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 -8\ncpu\n\n").is_empty());
        let most = format!("cpu2 {}", vec![u64::MAX.to_string(); 8].join(" "));
        assert_eq!(cpus(&most)[&2].total(), u64::MAX);
    }

    #[test]
    fn ticks_of_this_machine_are_read() {
        let cpus = cpus(&std::fs::read_to_string("/proc/stat").unwrap());
        assert!(cpus.values().any(|cpu| cpu.busy() > 0 && cpu.total() > cpu.busy()), "{cpus:?}");
    }
}
