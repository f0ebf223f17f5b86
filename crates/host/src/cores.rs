//! What the used CPUs did and which sockets there were, by sample.

use std::fs;

use crate::cpu_ticks::{self, TICK_NS};

/// CPUs whose columns are kept: one is 8 bytes a sample in memory and about as many in the log.
pub(crate) const CORES_MAX: usize = 64;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    pub cores: Vec<u32>,
    /// By sample, each CPU's busy time since the machine's start.
    busy_ns: Vec<Vec<u64>>,
    pub time_wait: Vec<u64>,
}

impl Machine {
    /// Nothing read yet of these CPUs, of which the first are looked at.
    pub fn of(cores: &[u32]) -> Machine {
        let cores = cores.iter().copied().take(CORES_MAX).collect();
        Machine { cores, busy_ns: Vec::new(), time_wait: Vec::new() }
    }

    pub fn read(&mut self) {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let busy = busy_ns(&text("/proc/stat"), &self.cores);
        self.busy_ns.push(busy);
        self.time_wait.push(time_wait(&text("/proc/net/sockstat")));
    }

    /// A column for each CPU: its busy time since the first sample.
    pub fn columns(&self) -> Vec<Vec<u64>> {
        let of = |core: usize| {
            let first = self.busy_ns.first().map_or(0, |sample| sample[core]);
            self.busy_ns.iter().map(|sample| sample[core].saturating_sub(first)).collect()
        };
        (0..self.cores.len()).map(of).collect()
    }
}

/// Busy is all but idle and iowait; stolen time was not this machine's. 0 for a CPU that is not there.
pub(crate) fn busy_ns(stat: &str, cores: &[u32]) -> Vec<u64> {
    let cpus = cpu_ticks::cpus(stat);
    cores.iter().map(|core| cpus.get(core).map_or(0, |cpu| cpu.busy().saturating_mul(TICK_NS))).collect()
}

/// `TCP: inuse 5 orphan 0 tw 7 alloc 6 mem 1`.
fn time_wait(sockstat: &str) -> u64 {
    let tcp = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"));
    let mut words = tcp.unwrap_or_default().split_ascii_whitespace();
    words.find(|word| *word == "tw").and_then(|_| words.next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_all_ticks_but_idle_iowait_and_steal() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 100 200 4 5 50 7 7\ncpu1 0 0 0 9 0 0 0 0 0 0\ncpu10 1 0 0 0 0 0 0 0\n";
        assert_eq!(busy_ns(stat, &[0, 1, 10, 7]), [15 * TICK_NS, 0, TICK_NS, 0]);
        assert_eq!(busy_ns("cpu0 1 2", &[0]), [0]);
        assert_eq!(time_wait("sockets: used 1\nTCP: inuse 5 orphan 0 tw 7 alloc 6 mem 1\nUDP: inuse 0\n"), 7);
        assert_eq!(time_wait(""), 0);
    }

    #[test]
    fn columns_of_cores_begin_at_zero_and_are_cumulative() {
        let machine = Machine {
            cores: vec![0, 3],
            busy_ns: vec![vec![100, 7], vec![160, 7], vec![190, 9]],
            time_wait: vec![0; 3],
        };
        assert_eq!(machine.columns(), [[0, 60, 90], [0, 0, 2]]);
        assert_eq!(Machine::of(&[]).columns(), Vec::<Vec<u64>>::new());
    }

    #[test]
    fn every_reading_of_this_machine_has_all_columns() {
        let mut machine = Machine::of(&[0, 1]);
        (0..3).for_each(|_| machine.read());
        assert_eq!(machine.time_wait.len(), 3);
        let columns = machine.columns();
        assert_eq!(columns.len(), 2);
        assert!(
            columns.iter().all(|core| core.len() == 3 && core[0] == 0 && core.is_sorted()),
            "{columns:?}"
        );
    }
}
