//! What a machine does as a whole while one of its servers is loaded: interrupts, network, TCP. Over a network the
//! kernel's work for a packet is the server's cost, and is in no process's CPU time.

use std::fs;
use std::net::Ipv4Addr;

use prony_model::server_host::ServerHostWindow;

use crate::cpu_ticks::TICK_NS;
use crate::host_watch::counter;
use crate::{MonitorWatch, monotonic_ns};

const TIMES: usize = 3;
/// Times first, then packets received and sent, then events.
const COUNTERS: usize = 9;
const PACKETS: usize = TIMES + 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    at_ns: u64,
    /// irq, softirq and steal in ns; packets received, sent; packets dropped, segments sent again, overflows, drops.
    counters: [Option<u64>; COUNTERS],
}

#[derive(Debug, Default)]
pub struct WholeHost {
    /// Nothing is read without.
    interface: Option<String>,
    readings: Vec<Reading>,
    monitor: MonitorWatch,
}

impl WholeHost {
    pub fn reached_by(interface: &str) -> WholeHost {
        WholeHost { interface: Some(interface.to_owned()), ..WholeHost::default() }
    }

    pub fn read(&mut self) {
        let Some(interface) = &self.interface else { return };
        self.monitor.look();
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let at_ns = monotonic_ns();
        let [irq, softirq, steal] = times(&text("/proc/stat"));
        let [received, sent, dropped] = packets(&text("/proc/net/dev"), interface);
        let netstat = text("/proc/net/netstat");
        let counters = [
            irq,
            softirq,
            steal,
            received,
            sent,
            dropped,
            counter(&text("/proc/net/snmp"), "Tcp", "RetransSegs"),
            counter(&netstat, "TcpExt", "ListenOverflows"),
            counter(&netstat, "TcpExt", "ListenDrops"),
        ];
        self.readings.push(Reading { at_ns, counters });
    }

    pub fn end(&mut self) {
        if self.interface.is_some() {
            self.monitor.end();
        }
    }

    /// `None` where nothing was read. Times and packets are interpolated at the edges; of events all count that may be
    /// in it.
    pub fn window(&self, start_ns: u64, end_ns: u64) -> Option<ServerHostWindow> {
        self.readings.first()?;
        let moved = |at: usize| {
            let (start, end) = if at < PACKETS {
                (self.between(at, start_ns)?, self.between(at, end_ns)?)
            } else {
                let before = self.readings.iter().rev().find(|r| r.at_ns <= start_ns);
                let after = self.readings.iter().find(|r| r.at_ns >= end_ns);
                let (first, last) = (self.readings.first()?, self.readings.last()?);
                (before.unwrap_or(first).counters[at]?, after.unwrap_or(last).counters[at]?)
            };
            Some(end.saturating_sub(start))
        };
        Some(ServerHostWindow {
            clock_bound_ns: 0,
            irq_ns: moved(0),
            softirq_ns: moved(1),
            steal_ns: moved(2),
            packets_received: moved(3),
            packets_sent: moved(4),
            packets_dropped: moved(5),
            tcp_retransmits: moved(6),
            listen_overflows: moved(7),
            listen_drops: moved(8),
            monitor: self.monitor.columns(start_ns),
        })
    }

    /// A counter at an instant, flat beyond the first and last reading.
    fn between(&self, counter: usize, at_ns: u64) -> Option<u64> {
        let after = self.readings.partition_point(|r| r.at_ns <= at_ns);
        let before = self.readings[after.saturating_sub(1)];
        let known = before.counters[counter]?;
        let Some(next) = self.readings.get(after).filter(|_| after > 0) else { return Some(known) };
        let grown = next.counters[counter]?.saturating_sub(known);
        // Above 0: the next one is past the instant, the one before is not.
        let (part, span) = (at_ns - before.at_ns, next.at_ns - before.at_ns);
        let share = u128::from(grown) * u128::from(part) / u128::from(span);
        Some(known + u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// irq, softirq and steal of all CPUs in nanoseconds: the line `cpu` of /proc/stat.
fn times(stat: &str) -> [Option<u64>; TIMES] {
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    let fields: Vec<&str> = all.unwrap_or_default().split_ascii_whitespace().collect();
    [5, 6, 7].map(|at| fields.get(at)?.parse::<u64>().ok().map(|ticks| ticks.saturating_mul(TICK_NS)))
}

/// Packets that an interface received, sent, and dropped or had no room for: its line of /proc/net/dev.
fn packets(dev: &str, interface: &str) -> [Option<u64>; 3] {
    let line = dev.lines().find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'));
    let fields: Vec<u64> =
        line.unwrap_or_default().split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
    // Received: bytes packets errs drop fifo …; sent from the ninth on, likewise.
    let at = |at: usize| fields.get(at).copied();
    let dropped = || [3, 4, 11, 12].into_iter().try_fold(0_u64, |sum, n| Some(sum.saturating_add(at(n)?)));
    [at(1), at(9), dropped()]
}

/// Of the most specific route that holds the address (`/proc/net/route`), or the loopback one.
pub fn interface_of(address: Ipv4Addr) -> Option<String> {
    if address.is_loopback() {
        return Some("lo".to_owned());
    }
    by_route(&fs::read_to_string("/proc/net/route").unwrap_or_default(), address)
}

fn by_route(table: &str, address: Ipv4Addr) -> Option<String> {
    let address = u32::from_ne_bytes(address.octets());
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
        let (network, mask) = (hex(1)?, hex(7)?);
        (address & mask == network).then_some((mask.count_ones(), (*fields.first()?).to_owned()))
    };
    table.lines().skip(1).filter_map(route).max_by_key(|(bits, _)| *bits).map(|(_, interface)| interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_and_packets_are_read_by_their_names() {
        let stat = "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(times(stat), [Some(60_000_000), Some(70_000_000), Some(80_000_000)]);
        assert_eq!(times("cpu0 1 2"), [None; 3]);
        let dev = "Inter-| Receive\n    lo: 1 2 0 0 0 0 0 0 1 2 0 0 0 0 0 0\n  eth0:500 40 0 3 2 0 0 0 700 60 0 1 0 0 0 0\n";
        assert_eq!(packets(dev, "eth0"), [Some(40), Some(60), Some(6)]);
        assert_eq!(packets(dev, "eth"), [None; 3]);
    }

    #[test]
    fn an_address_is_its_most_specific_routes_interface() {
        let order = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let line = |name: &str, network: [u8; 4], mask: [u8; 4]| {
            format!("{name}\t{}\t00000000\t0001\t0\t0\t0\t{}\t0\t0\t0\n", order(network), order(mask))
        };
        let table = [
            "Iface\tDestination\tGateway\n".to_owned(),
            line("wan", [0; 4], [0; 4]),
            line("lan", [10, 77, 2, 0], [255, 255, 255, 0]),
            "nonsense\n".to_owned(),
        ]
        .concat();
        assert_eq!(by_route(&table, Ipv4Addr::new(10, 77, 2, 9)).as_deref(), Some("lan"));
        assert_eq!(by_route(&table, Ipv4Addr::new(10, 77, 3, 9)).as_deref(), Some("wan"));
        assert_eq!(by_route("", Ipv4Addr::new(10, 77, 3, 9)), None);
        assert_eq!(interface_of(Ipv4Addr::LOCALHOST).as_deref(), Some("lo"));
    }

    #[test]
    fn a_window_has_its_share_of_times_and_every_possible_event() {
        let mut host = WholeHost::reached_by("eth0");
        assert_eq!(host.window(0, 9), None);
        host.readings = [(1_000, 0), (1_100, 100), (1_200, 200)]
            .map(|(at_ns, counted)| Reading { at_ns, counters: [Some(counted); COUNTERS] })
            .to_vec();
        let seen = host.window(1_050, 1_150).unwrap();
        assert_eq!(
            (seen.softirq_ns, seen.packets_sent, seen.packets_dropped),
            (Some(100), Some(100), Some(200))
        );
        let seen = host.window(0, 5_000).unwrap();
        assert_eq!((seen.irq_ns, seen.tcp_retransmits), (Some(200), Some(200)));
        host.readings[1].counters = [None; COUNTERS];
        assert_eq!(host.window(1_050, 1_150).unwrap().irq_ns, None);
    }

    #[test]
    fn this_machine_is_read() {
        let mut host = WholeHost::reached_by("lo");
        host.read();
        let seen = host.window(0, u64::MAX).unwrap();
        assert_eq!((seen.softirq_ns, seen.packets_received), (Some(0), Some(0)));
        WholeHost::default().read();
    }
}
