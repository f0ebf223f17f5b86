//! What the interface does that loads come in by, where they come from another machine. What is not in files is asked
//! of ethtool, where installed: ring sizes, offloads, coalescing, a cloud's counters.

use std::path::Path;
use std::time::Duration;

use super::{Finding, Tree};
use crate::programs::{capture, find_command};

const TIMEOUT: Duration = Duration::from_secs(5);
const LOST: [&str; 5] = ["rx_dropped", "tx_dropped", "rx_missed_errors", "rx_fifo_errors", "tx_fifo_errors"];

type Judge = fn(&str, &str) -> Option<Finding>;

pub(crate) fn network(tree: &Tree, interface: &str) -> Vec<Finding> {
    let ask = |flag: &str| {
        let argv =
            [find_command("ethtool")?.to_string_lossy().into_owned(), flag.to_owned(), interface.to_owned()];
        let said = capture(&argv, Path::new("/"), &[], TIMEOUT).filter(|said| said.success)?;
        Some(String::from_utf8_lossy(&said.stdout).into_owned())
    };
    let mut findings = vec![described(tree, interface), lost(tree, interface)];
    findings.extend(slow_start(tree));
    let answers: [(&str, Judge); 4] =
        [("-g", rings), ("-k", offloads), ("-c", coalescing), ("-S", allowances)];
    findings.extend(answers.iter().filter_map(|(flag, judge)| judge(&ask(flag)?, interface)));
    findings
}

fn described(tree: &Tree, interface: &str) -> Finding {
    let at = |name: &str| tree.text(format!("/sys/class/net/{interface}/{name}"));
    let speed = at("speed").filter(|speed| !speed.starts_with('-')).map(|mbit| format!("{mbit} Mbit/s"));
    let mtu = at("mtu").map(|mtu| format!("MTU {mtu}"));
    let queues = tree.names(format!("/sys/class/net/{interface}/queues"));
    let receiving = queues.iter().filter(|name| name.starts_with("rx-")).count();
    let queues = Some(format!("receive queues {receiving}"));
    let value: Vec<String> = [speed, mtu, queues].into_iter().flatten().collect();
    let why = "Each receive queue interrupts one CPU: with a single one, one CPU receives every packet.";
    Finding::new("interface", &format!("the interface {interface}"), value.join(", "), why)
}

fn lost(tree: &Tree, interface: &str) -> Finding {
    let counted = |name: &&str| {
        let lost = tree.number(format!("/sys/class/net/{interface}/statistics/{name}"))?;
        (lost > 0).then(|| format!("{name} {lost}"))
    };
    let all: Vec<String> = LOST.iter().filter_map(counted).collect();
    let why = "Packets that the interface lost since it went up: each is sent again after a round trip, or \
               after 200 ms and more where nothing follows it. A trial's own are in its record.";
    let value = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    let mend = format!("larger rings if the interface allows: ethtool -G {interface} rx N");
    Finding::new("packets_lost", "lost packets", value, why).note_if(!all.is_empty(), Some(mend))
}

fn slow_start(tree: &Tree) -> Option<Finding> {
    let found = tree.text("/proc/sys/net/ipv4/tcp_slow_start_after_idle")?;
    let why = "At 1 a connection that was idle for 200 ms or more begins again with ten packets: a response of more than 14 KB \
               takes a round trip longer then.";
    let mend = "sysctl -w net.ipv4.tcp_slow_start_after_idle=0".to_owned();
    let finding =
        Finding::new("slow_start_after_idle", "net.ipv4.tcp_slow_start_after_idle", found.clone(), why);
    Some(finding.note_if(found != "0", Some(mend)))
}

/// The value of a line `name: value`, of the n-th that has this name.
fn value<'a>(text: &'a str, name: &str, nth: usize) -> Option<&'a str> {
    let values = text.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
    values.map(str::trim).nth(nth)
}

fn number(text: &str, name: &str, nth: usize) -> Option<u64> {
    value(text, name, nth)?.split_ascii_whitespace().next()?.parse().ok()
}

/// `ethtool -g`: the largest that there can be, then those that there are.
fn rings(text: &str, interface: &str) -> Option<Finding> {
    let (most, now) = (number(text, "RX", 0)?, number(text, "RX", 1)?);
    let why = "Packets that wait for the kernel; what comes beyond them is lost.";
    let finding = Finding::new("rings", "receive ring", format!("{now} of at most {most} packets"), why);
    Some(finding.note_if(now < most, Some(format!("ethtool -G {interface} rx {most}"))))
}

fn offloads(text: &str, interface: &str) -> Option<Finding> {
    const NAMES: [(&str, &str); 3] = [
        ("generic-receive-offload", "gro"),
        ("tcp-segmentation-offload", "tso"),
        ("generic-segmentation-offload", "gso"),
    ];
    let known = NAMES.iter().filter_map(|(name, short)| {
        let is_on = value(text, name, 0)?.starts_with("on");
        Some((*short, is_on))
    });
    let known: Vec<(&str, bool)> = known.collect();
    let said = |(name, is_on): &(&str, bool)| format!("{name} {}", if *is_on { "on" } else { "off" });
    let value = known.iter().map(said).collect::<Vec<_>>().join(", ");
    let off: Vec<&str> = known.iter().filter(|(_, is_on)| !is_on).map(|(name, _)| *name).collect();
    let why = "An interface that handles many packets at once takes less CPU time; without this, large \
               bodies cost more on both sides.";
    let mend = format!("ethtool -K {interface} {} on", off.join(" on "));
    (!known.is_empty())
        .then(|| Finding::new("offloads", "offloads", value, why).note_if(!off.is_empty(), Some(mend)))
}

fn coalescing(text: &str, interface: &str) -> Option<Finding> {
    let waits = number(text, "rx-usecs", 0)?;
    let adaptive = value(text, "Adaptive RX", 0).is_some_and(|found| found.starts_with("on"));
    let word = if adaptive { "adaptive, " } else { "" };
    let why = "An interrupt waits this long for more packets, which is added to every response; an adaptive \
               wait changes with the rate.";
    let mend = format!("for the least latency: ethtool -C {interface} adaptive-rx off rx-usecs 0");
    let finding = Finding::new("coalescing", "interrupt coalescing", format!("{word}{waits} µs"), why);
    Some(finding.note_if(adaptive || waits > 0, Some(mend)))
}

/// `ethtool -S`: what a cloud held back, by AWS's names.
fn allowances(text: &str, _: &str) -> Option<Finding> {
    let counted = text.lines().filter_map(|line| {
        let (name, count) = line.trim().split_once(':')?;
        let count: u64 = count.trim().parse().ok()?;
        name.ends_with("_allowance_exceeded").then(|| (name.to_owned(), count))
    });
    let all: Vec<(String, u64)> = counted.collect();
    let exceeded: Vec<String> =
        all.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}")).collect();
    let why = "Packets that the cloud delayed or dropped, because they exceeded the allowance of this \
               machine's size.";
    let value = if exceeded.is_empty() { "none exceeded".to_owned() } else { exceeded.join(", ") };
    let finding = Finding::new("cloud_allowances", "packets over the cloud's allowance", value, why);
    (!all.is_empty()).then(|| finding.distorts_if(!exceeded.is_empty(), "a larger machine, or a lower rate"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn an_interface_is_described_by_its_files_with_its_losses() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/class/net/eth7/speed", "25000\n");
        write("sys/class/net/eth7/mtu", "1500\n");
        write("sys/class/net/eth7/queues/rx-0/x", "");
        write("sys/class/net/eth7/statistics/rx_dropped", "0\n");
        write("sys/class/net/eth7/statistics/rx_missed_errors", "12\n");
        write("proc/sys/net/ipv4/tcp_slow_start_after_idle", "1\n");
        let findings = network(&Tree::below(root.path()), "eth7");
        let said = |code: &str| {
            let found = findings.iter().find(|finding| finding.code == code).unwrap();
            (found.value.as_str(), found.state)
        };
        assert_eq!(said("interface"), ("25000 Mbit/s, MTU 1500, receive queues 1", State::Good));
        assert_eq!(said("packets_lost"), ("rx_missed_errors 12", State::Note));
        assert_eq!(said("slow_start_after_idle"), ("1", State::Note));
    }

    #[test]
    fn what_ethtool_says_is_judged() {
        let rings_said = "Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t4096\nRX Mini:\tn/a\nTX:\t4096\n\
                          Current hardware settings:\nRX:\t\t512\nTX:\t\t512\n";
        let found = rings(rings_said, "eth0").unwrap();
        assert_eq!((found.value.as_str(), found.state), ("512 of at most 4096 packets", State::Note));
        assert_eq!(found.mend.as_deref(), Some("ethtool -G eth0 rx 4096"));
        assert_eq!(rings("RX: n/a\n", "eth0"), None);
        let found =
            offloads("tcp-segmentation-offload: on\ngeneric-receive-offload: off [fixed]\n", "eth0").unwrap();
        assert_eq!(
            (found.value.as_str(), found.mend.as_deref()),
            ("gro off, tso on", Some("ethtool -K eth0 gro on"))
        );
        assert_eq!(offloads("", "eth0"), None);
        let found = coalescing("Adaptive RX: on  TX: off\nrx-usecs:\t20\n", "eth0").unwrap();
        assert_eq!((found.value.as_str(), found.state), ("adaptive, 20 µs", State::Note));
        assert_eq!(coalescing("Adaptive RX: n/a\nrx-usecs: 0\n", "eth0").unwrap().state, State::Good);
        let cloud = |count| format!("NIC statistics:\n  rx_bytes: 5\n  bw_in_allowance_exceeded: {count}\n");
        assert_eq!(allowances(&cloud(0), "eth0").unwrap().state, State::Good);
        assert_eq!(allowances(&cloud(3), "eth0").unwrap().state, State::Distorts);
        assert_eq!(allowances("rx_bytes: 5\n", "eth0"), None);
    }
}
