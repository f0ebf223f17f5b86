//! What a machine did second by second while it was loaded: its CPUs, its memory, its network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{few, numbers};
use crate::server::ServerSamples;
use crate::trial::Trial;

/// An hour in seconds; a longer load has longer spans.
pub const SPANS_MAX: usize = 3_600;
/// CPUs with columns of their own; a machine of more has those of all together.
pub const CPUS_MAX: usize = 256;
/// What a CPU's time is for, in the order of /proc/stat; user holds nice.
pub const CLASSES: [&str; 7] = ["user", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// A CPU's time of one span by [`CLASSES`], in ticks of 10 ms.
pub type Ticks = [u64; CLASSES.len()];

/// A machine in spans of a second, by column. A column that could not be read is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Monitor {
    /// The start of the first span, from the window's start; the warm-up is negative.
    pub from_ms: i64,
    /// The end of each span, likewise. A load of over an hour, or on over 18 CPUs of some minutes, has spans of 2, 4 … s.
    pub at_ms: Vec<i64>,
    /// Each CPU, or one entry of all together where they are more than 256.
    pub cpus: Vec<CpuColumns>,
    /// Memory at each span's end that is none of the following three, which it adds up to `MemTotal` with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_used_bytes: Vec<u64>,
    /// `Buffers` of /proc/meminfo.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_buffers_bytes: Vec<u64>,
    /// `Cached` and `SReclaimable`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_cached_bytes: Vec<u64>,
    /// `MemFree`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_free_bytes: Vec<u64>,
    /// What all interfaces but `lo` received in each span, in this network namespace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub received_bytes: Vec<u64>,
    /// What they sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sent_bytes: Vec<u64>,
    /// What passed over `lo`, counted once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loopback_bytes: Vec<u64>,
}

/// A CPU's ticks of 10 ms in each span, which add up to its length as exactly as the kernel counts. An empty column is
/// all zeros.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuColumns {
    /// Its number; none: all CPUs of the machine together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Programs, also those of low priority (`nice`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user: Vec<u32>,
    /// The kernel for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<u32>,
    /// Nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idle: Vec<u32>,
    /// Nothing, while something waited for a disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub iowait: Vec<u32>,
    /// Interrupts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub irq: Vec<u32>,
    /// What follows from them: packets, above all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub softirq: Vec<u32>,
    /// The hypervisor ran others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steal: Vec<u32>,
}

impl CpuColumns {
    pub fn of(cpu: Option<u32>, spans: impl Iterator<Item = Ticks>) -> CpuColumns {
        let mut columns: [Vec<u32>; CLASSES.len()] = Default::default();
        for ticks in spans {
            columns.iter_mut().zip(ticks).for_each(|(c, n)| c.push(u32::try_from(n).unwrap_or(u32::MAX)));
        }
        let [user, system, idle, iowait, irq, softirq, steal] =
            columns.map(|column| if column.iter().all(|n| *n == 0) { Vec::new() } else { column });
        CpuColumns { cpu, user, system, idle, iowait, irq, softirq, steal }
    }

    fn columns(&self) -> [&Vec<u32>; CLASSES.len()] {
        [&self.user, &self.system, &self.idle, &self.iowait, &self.irq, &self.softirq, &self.steal]
    }

    pub fn ticks(&self, from: usize, to: usize) -> Ticks {
        let within = |column: &Vec<u32>| column.iter().take(to).skip(from).map(|n| u64::from(*n)).sum();
        self.columns().map(within)
    }
}

impl Monitor {
    pub fn start_ms(&self, span: usize) -> i64 {
        span.checked_sub(1).and_then(|before| self.at_ms.get(before)).copied().unwrap_or(self.from_ms)
    }

    /// How long it took from the start of one span to that of another; at least 1.
    pub fn length_ms(&self, from: usize, to: usize) -> u64 {
        self.start_ms(to).saturating_sub(self.start_ms(from)).max(1).unsigned_abs()
    }

    pub fn together(&self, from: usize, to: usize) -> Ticks {
        self.cpus.iter().fold(Ticks::default(), |mut sum, cpu| {
            sum.iter_mut().zip(cpu.ticks(from, to)).for_each(|(sum, n)| *sum += n);
            sum
        })
    }

    /// Memory at the end of a span: used, buffers, cached, free; `None` where it could not be read.
    pub fn memory(&self, span: usize) -> Option<[u64; 4]> {
        let at = |column: &Vec<u64>| column.get(span).copied();
        let (used, buffers) = (at(&self.memory_used_bytes)?, at(&self.memory_buffers_bytes)?);
        Some([used, buffers, at(&self.memory_cached_bytes)?, at(&self.memory_free_bytes)?])
    }

    /// Bytes received and sent by all interfaces but `lo`, and over `lo`, from one span up to another.
    pub fn network(&self, from: usize, to: usize) -> Option<[u64; 3]> {
        let columns = [&self.received_bytes, &self.sent_bytes, &self.loopback_bytes];
        let known = columns.iter().all(|column| column.len() >= to);
        known.then(|| columns.map(|column| column.iter().take(to).skip(from).sum()))
    }

    pub fn check(&self) -> Result<(), String> {
        let spans = self.at_ms.len();
        few("seconds of a machine", spans, SPANS_MAX)?;
        few("CPUs of a machine", self.cpus.len(), CPUS_MAX)?;
        let instants = [self.from_ms].into_iter().chain(self.at_ms.iter().copied());
        numbers(instants.clone().map(i64::unsigned_abs))?;
        let of_all = [
            &self.memory_used_bytes,
            &self.memory_buffers_bytes,
            &self.memory_cached_bytes,
            &self.memory_free_bytes,
            &self.received_bytes,
            &self.sent_bytes,
            &self.loopback_bytes,
        ];
        numbers(of_all.iter().copied().flatten().copied())?;
        let lengths = of_all.map(Vec::len).into_iter();
        let mut lengths = lengths.chain(self.cpus.iter().flat_map(|cpu| cpu.columns().map(Vec::len)));
        if !instants.is_sorted_by(|a, b| a < b) || lengths.any(|length| length != 0 && length != spans) {
            return Err(
                "the seconds of a machine are in no order, or its columns have other lengths".to_owned()
            );
        }
        Ok(())
    }
}

/// What was seen of the machines of a trial whose server cost this: the server's, where it is another, and the client's;
/// the only one has no name.
pub fn of_trial<'a>(
    trial: &'a Trial,
    server: Option<&'a ServerSamples>,
) -> impl Iterator<Item = (&'static str, &'a Monitor)> {
    let there = server.and_then(|server| server.host.as_ref());
    let name = if there.is_some() { "client" } else { "" };
    let there = there.and_then(|host| host.monitor.as_ref()).map(|monitor| ("server", monitor));
    there.into_iter().chain(trial.monitor.as_ref().map(|monitor| (name, monitor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Monitor {
        let cpu = |cpu: u32, busy: u64| {
            CpuColumns::of(Some(cpu), [[busy, 2, 98 - busy, 0, 0, 0, 0], [0, 0, 49, 0, 0, 1, 0]].into_iter())
        };
        Monitor {
            from_ms: -1_000,
            at_ms: vec![0, 500],
            cpus: vec![cpu(0, 90), cpu(1, 0)],
            memory_used_bytes: vec![5, 6],
            memory_buffers_bytes: vec![1, 1],
            memory_cached_bytes: vec![2, 2],
            memory_free_bytes: vec![3, 2],
            received_bytes: vec![10, 20],
            sent_bytes: vec![1, 2],
            loopback_bytes: vec![0, 0],
        }
    }

    #[test]
    fn columns_of_zeros_are_left_out_of_the_log() {
        let json = serde_json::to_string(&seen()).unwrap();
        assert!(json.contains(r#"{"cpu":1,"system":[2,0],"idle":[98,49],"softirq":[0,1]}"#), "{json}");
        assert_eq!(serde_json::from_str::<Monitor>(&json).unwrap(), seen());
        assert_eq!(serde_json::from_str::<Monitor>("{}").unwrap(), Monitor::default());
        // Ten minutes of four CPUs, with as many digits as there are.
        let cpus = (0..4).map(|cpu| CpuColumns::of(Some(cpu), [[23, 11, 56, 0, 0, 10, 0]; 600].into_iter()));
        let (at_ms, bytes) = ((1..=600).map(|s| s * 1_000).collect(), || vec![4_000_000_000; 600]);
        let (memory_used_bytes, memory_cached_bytes, sent_bytes) = (bytes(), bytes(), bytes());
        let long = Monitor {
            at_ms,
            cpus: cpus.collect(),
            memory_used_bytes,
            memory_cached_bytes,
            sent_bytes,
            ..seen()
        };
        let a_second = serde_json::to_string(&long).unwrap().len() / 600;
        assert!(a_second < 100, "{a_second} bytes");
    }

    #[test]
    fn all_cpus_together_are_their_sum_and_have_the_span_s_ticks() {
        let seen = seen();
        assert_eq!(seen.check(), Ok(()));
        assert_eq!(seen.together(0, 1), [90, 4, 106, 0, 0, 0, 0]);
        assert_eq!(seen.cpus[1].ticks(0, 2), [0, 2, 147, 0, 0, 1, 0]);
        for span in 0..2 {
            let ticks: u64 = seen.together(span, span + 1).iter().sum();
            assert_eq!(ticks, 2 * seen.length_ms(span, span + 1) / 10);
        }
        assert_eq!((seen.memory(1), seen.memory(2)), (Some([6, 1, 2, 2]), None));
        assert_eq!((seen.network(0, 2), seen.network(0, 3)), (Some([30, 3, 0]), None));
    }

    #[test]
    fn what_no_machine_can_have_done_is_refused() {
        let with = |change: fn(&mut Monitor)| {
            let mut seen = seen();
            change(&mut seen);
            seen.check()
        };
        assert!(with(|m| m.at_ms = vec![0, 0]).unwrap_err().contains("no order"));
        assert!(with(|m| m.from_ms = 1).unwrap_err().contains("no order"));
        assert!(with(|m| m.from_ms = i64::MIN).unwrap_err().contains("number"));
        assert!(with(|m| m.sent_bytes = vec![1]).unwrap_err().contains("lengths"));
        assert!(with(|m| m.cpus[0].user.push(1)).unwrap_err().contains("lengths"));
        assert!(with(|m| m.memory_free_bytes[0] = u64::MAX).unwrap_err().contains("number"));
        assert!(with(|m| m.cpus = vec![CpuColumns::default(); CPUS_MAX + 1]).unwrap_err().contains("CPUs"));
        assert!(with(|m| m.at_ms = (0..4_000).collect()).unwrap_err().contains("seconds"));
        assert_eq!(with(|m| m.sent_bytes.clear()), Ok(()));
    }
}
