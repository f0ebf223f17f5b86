//! What the machine does beside a load, over its window: stolen time, workers' waits for a CPU, CPU quotas, and what
//! the kernel did to connects. What cannot be read stays unknown.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use prony_model::host::{CpuQuota, HostWindow};

use crate::cpu_ticks::{self, CpuTicks, TICK_NS, spent};
use crate::process::{scheduled, workers};
use crate::{cgroup, cpus, listen_queue, monotonic_ns};

/// Threads that have ended can be asked no more: to be called with every snapshot of a load, and at its end.
#[derive(Debug)]
pub struct HostWatch {
    cpus: Vec<u32>,
    first: Option<Counters>,
    last: Option<Counters>,
    workers: Workers,
}

#[derive(Debug, Clone, Default)]
struct Counters {
    cpus: BTreeMap<u32, CpuTicks>,
    listen_overflows: Option<u64>,
    listen_drops: Option<u64>,
    tcp_retransmits: Option<u64>,
    cpu_quotas: Vec<CpuQuota>,
}

#[derive(Debug, Default)]
struct Workers {
    /// By thread: its wait when the window opened, and at the last look.
    waits_ns: BTreeMap<u32, (u64, u64)>,
    first_at_ns: u64,
    last_at_ns: u64,
}

impl HostWatch {
    /// Watches these CPUs; empty: all that this process may use.
    pub fn on(cpus: &[u32]) -> HostWatch {
        let cpus = if cpus.is_empty() { cpus::allowed() } else { cpus.to_vec() };
        HostWatch { cpus, first: None, last: None, workers: Workers::default() }
    }

    /// Looks, as far as the instant asks for it: within the window, or not.
    pub fn look(&mut self, in_window: bool) {
        match (in_window, &self.first, &self.last) {
            (true, None, _) => {
                self.workers.begin();
                self.first = Some(Counters::read());
            }
            (true, Some(_), _) => self.workers.look(),
            (false, Some(_), None) => {
                // The window has just closed; workers may still be there.
                self.workers.look();
                self.last = Some(Counters::read());
            }
            (false, ..) => {}
        }
    }

    /// What was seen of a load of this address (`IP:PORT`, several with `, ` between them, or a path); `None` where the window was never seen open.
    pub fn finish(self, address: &str) -> Option<HostWindow> {
        let first = self.first?;
        let last = self.last.unwrap_or_else(Counters::read);
        let stolen = steal(&first.cpus, &last.cpus, &self.cpus);
        let moved = |of: fn(&Counters) -> Option<u64>| Some(of(&last)?.saturating_sub(of(&first)?));
        Some(HostWindow {
            others: None,
            steal: stolen.map(|(share, _)| share),
            steal_ns: stolen.map(|(_, ns)| ns),
            run_queue_wait: self.workers.wait_share(),
            listen_overflows: moved(|c| c.listen_overflows),
            listen_drops: moved(|c| c.listen_drops),
            tcp_retransmits: moved(|c| c.tcp_retransmits),
            cpu_quota: cgroup::throttled(&first.cpu_quotas, &last.cpu_quotas),
            target_is_local: is_local(address),
            listening: address.parse().ok().and_then(|address| listen_queue::of(&address)),
        })
    }
}

impl Counters {
    fn read() -> Counters {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let netstat = text("/proc/net/netstat");
        Counters {
            cpus: cpu_ticks::cpus(&text("/proc/stat")),
            listen_overflows: counter(&netstat, "TcpExt", "ListenOverflows"),
            listen_drops: counter(&netstat, "TcpExt", "ListenDrops"),
            tcp_retransmits: counter(&text("/proc/net/snmp"), "Tcp", "RetransSegs"),
            cpu_quotas: cgroup::own_cpu_quotas(),
        }
    }
}

impl Workers {
    fn begin(&mut self) {
        let waits = workers().filter_map(|thread| {
            let wait_ns = wait_ns(thread)?;
            Some((thread, (wait_ns, wait_ns)))
        });
        self.waits_ns = waits.collect();
        self.first_at_ns = monotonic_ns();
        self.last_at_ns = self.first_at_ns;
    }

    fn look(&mut self) {
        let mut all = !self.waits_ns.is_empty();
        for (thread, (_, last)) in &mut self.waits_ns {
            match wait_ns(*thread) {
                Some(now) => *last = now,
                None => all = false,
            }
        }
        // Where one has ended, the share is of the time until then.
        if all {
            self.last_at_ns = monotonic_ns();
        }
    }

    /// The largest share of the time that a worker waited; `None` where none was seen twice.
    fn wait_share(&self) -> Option<f64> {
        let span = self.last_at_ns - self.first_at_ns;
        let longest = self.waits_ns.values().map(|(first, last)| last.saturating_sub(*first)).max()?;
        (span > 0).then(|| (longest as f64 / span as f64).min(1.0))
    }
}

/// How long a thread of this process has been ready to run without running.
fn wait_ns(thread: u32) -> Option<u64> {
    scheduled("self", thread).map(|counted| counted.waited_ns)
}

/// The largest share of one of these CPUs' time that was stolen between two readings, and that time.
fn steal(
    first: &BTreeMap<u32, CpuTicks>,
    last: &BTreeMap<u32, CpuTicks>,
    cpus: &[u32],
) -> Option<(f64, u64)> {
    let stolen = cpus.iter().filter_map(|cpu| spent(first, last, *cpu, |ticks| ticks.steal));
    stolen.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(share, ticks)| (share, ticks * TICK_NS))
}

/// A counter of /proc/net/netstat or snmp: a line of names and a line of numbers of the same group.
pub(crate) fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut of_group = text.lines().filter_map(|line| line.strip_prefix(group)?.strip_prefix(':'));
    let (names, numbers) = (of_group.next()?, of_group.next()?);
    let at = names.split_ascii_whitespace().position(|n| n == name)?;
    numbers.split_ascii_whitespace().nth(at)?.parse().ok()
}

/// Whether an address, or one of several, is one of this machine's, which a socket may then be bound to.
fn is_local(addresses: &str) -> bool {
    let is_own = |ip: IpAddr| ip.is_loopback() || UdpSocket::bind(SocketAddr::new(ip, 0)).is_ok();
    let parsed = addresses.split(", ").filter_map(|address| address.parse::<SocketAddr>().ok());
    parsed.map(|address| address.ip()).any(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpStream};
    use std::time::Duration;

    use crate::process::WORKER;
    use crate::testing::{Busy, wait_until};

    const STAT: &str = "cpu  4 0 6 100 0 0 0 9 0 0\n\
        cpu0 2 0 3 50 0 0 0 0 7 7\ncpu1 2 0 3 50 0 0 0 9 7 7\nintr 5 1 2\nctxt 99\n";

    #[test]
    fn steal_time_is_that_of_the_worst_cpu_in_use() {
        let first = cpu_ticks::cpus(STAT);
        let last = cpu_ticks::cpus(
            "cpu0 102 0 3 950 0 0 0 0 7 7\ncpu1 82 0 3 950 0 0 0 29 7 7\ncpu2 0 0 0 0 0 0 0 999 0 0\n",
        );
        assert_eq!(steal(&first, &last, &[0, 1, 2, 3]), Some((0.02, 200_000_000)));
        assert_eq!(steal(&first, &last, &[0]), Some((0.0, 0)));
        assert_eq!(steal(&first, &first, &[0, 1]), None);
    }

    #[test]
    fn counters_are_found_by_their_names() {
        let text =
            "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 22 333\nIpExt: A B\nIpExt: 4 5\n";
        assert_eq!(counter(text, "TcpExt", "ListenOverflows"), Some(22));
        assert_eq!(counter(text, "IpExt", "B"), Some(5));
        assert_eq!(counter(text, "TcpExt", "B"), None);
        assert_eq!(counter("TcpExt: A B\nTcpExt: 1\n", "TcpExt", "B"), None);
        assert_eq!(counter("", "TcpExt", "A"), None);
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        assert!(is_local("127.0.0.1:80") && is_local("[::1]:80") && is_local("127.9.9.9:1"));
        assert!(is_local("192.0.2.1:80, 127.0.0.1:80") && !is_local("192.0.2.1:80, 192.0.2.1:81"));
        assert!(!is_local("192.0.2.1:80") && !is_local("/run/x.sock"));
    }

    /// A listening socket with room for one connection that nobody accepts.
    #[test]
    fn a_full_accept_queue_is_seen() {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut watch = HostWatch::on(&[]);
        watch.look(false);
        assert!(watch.first.is_none());
        watch.look(true);
        // The queue takes one; the SYNs of those that follow are dropped.
        let before = watch.first.as_ref().unwrap().listen_overflows.unwrap();
        wait_until("an overflow", || {
            let _ = TcpStream::connect_timeout(&address, Duration::from_millis(20));
            Counters::read().listen_overflows.unwrap() > before
        });
        watch.look(false);
        let seen = watch.finish(&address.to_string()).unwrap();
        assert!(seen.target_is_local && seen.listen_overflows.unwrap() > 0, "{seen:?}");
        assert!(seen.listen_drops.unwrap() > 0 && seen.listening.is_some(), "{seen:?}");
    }

    #[test]
    fn without_workers_or_a_window_there_is_no_run_queue_wait() {
        assert_eq!(HostWatch::on(&[]).finish("127.0.0.1:1"), None);
        let workers = Workers::default();
        assert_eq!(workers.wait_share(), None);
        let workers = Workers {
            waits_ns: BTreeMap::from([(1, (5, 25)), (2, (100, 105))]),
            first_at_ns: 1000,
            last_at_ns: 2000,
        };
        assert_eq!(workers.wait_share(), Some(0.02));
    }

    #[test]
    fn run_queue_wait_of_a_worker_is_measured() {
        let cpu = cpus::allowed()[0];
        // Two threads of a worker's name on one CPU: while one runs, the other waits.
        let busy = [8, 9].map(|number| Busy::named(&format!("{WORKER}{number}"), &[cpu]));
        let mut watch = HostWatch::on(&[cpu]);
        watch.look(true);
        let waits = &mut watch.workers.waits_ns;
        assert!(busy.iter().all(|thread| waits.contains_key(&thread.id)), "{waits:?}");
        // Those of other tests may end meanwhile.
        waits.retain(|id, _| busy.iter().any(|thread| thread.id == *id));
        let first = watch.first.clone().unwrap();
        wait_until("a wait, and a tick of the CPU's clock", || {
            watch.look(true);
            let waited = watch.workers.wait_share().is_some_and(|share| share > 0.0);
            waited && steal(&first.cpus, &Counters::read().cpus, &[cpu]).is_some()
        });
        drop(busy);
        let seen = watch.finish("127.0.0.1:1").unwrap();
        assert!(seen.run_queue_wait.unwrap() > 0.0, "{seen:?}");
        assert!(seen.steal.is_some(), "{seen:?}");
    }
}
