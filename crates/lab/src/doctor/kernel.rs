//! Sysctls, limits and other settings of the kernel that loads run into.

use prony_host::port_range;

use super::{Asked, Finding, Setting, Tree};

/// The kernel's own default width is 28,232 ports.
const PORTS_MIN: u16 = 28_000;
/// Servers get ports from 10,000 up, below the range of ephemeral ones.
const SERVER_PORTS_END: u16 = 11_000;
/// Enough for a thousand connections at once on both sides of one machine, and files beside.
const OPEN_FILES_MIN: u64 = 10_000;

const LOOPBACK_MTU: u64 = 65_536;

struct Sysctl {
    code: &'static str,
    name: &'static str,
    why: &'static str,
    /// What it should be instead; `None`: it is well.
    wanted: fn(&str, &Tree) -> Option<String>,
}

fn at_least(found: &str, least: u64, wanted: u64) -> Option<String> {
    found.parse::<u64>().ok().filter(|found| *found < least).map(|_| wanted.to_string())
}

/// Settings that the labs and load generators studied name, with what each does here. Sources:
/// Linux, Documentation/networking/ip-sysctl.rst and Documentation/admin-guide/sysctl.
const SYSCTLS: [Sysctl; 9] = [
    Sysctl {
        code: "somaxconn",
        name: "net.core.somaxconn",
        why: "The longest accept queue: connections opened at once beyond it are dropped, and tried again \
              after 1 s.",
        wanted: |found, _| at_least(found, 4_096, 4_096),
    },
    Sysctl {
        code: "syn_backlog",
        name: "net.ipv4.tcp_max_syn_backlog",
        why: "Half-open connections that are remembered where SYN cookies are off; those beyond are dropped.",
        wanted: |found, _| at_least(found, 1_024, 4_096),
    },
    Sysctl {
        code: "syn_cookies",
        name: "net.ipv4.tcp_syncookies",
        why: "Without them a burst of connects that fills the queue is dropped, and tried again after 1 s.",
        wanted: |found, _| (found == "0").then(|| "1".to_owned()),
    },
    Sysctl {
        code: "ephemeral_ports",
        name: "net.ipv4.ip_local_port_range",
        why: "Every connection of the client takes a port, without keep-alive until a minute after its end. \
              Prony's servers listen on ports from 10,000 up, which must lie below this range.",
        wanted: |found, _| {
            let (low, high) = port_range(found)?;
            let few = high.saturating_sub(low) < PORTS_MIN - 1 || low < SERVER_PORTS_END;
            few.then(|| "16384 65535".to_owned())
        },
    },
    Sysctl {
        code: "time_wait_reuse",
        name: "net.ipv4.tcp_tw_reuse",
        why: "At 0 a port in TIME_WAIT waits for a minute even on loopback: without keep-alive a load runs out of ports.",
        wanted: |found, _| (found == "0").then(|| "2".to_owned()),
    },
    Sysctl {
        code: "time_wait_buckets",
        name: "net.ipv4.tcp_max_tw_buckets",
        why: "Connections in TIME_WAIT beyond this number are removed early, and late packets for them are \
              answered with resets.",
        wanted: |found, _| at_least(found, 32_768, 131_072),
    },
    Sysctl {
        code: "packet_backlog",
        name: "net.core.netdev_max_backlog",
        why: "Packets that wait for a CPU, on loopback too; since the start of this machine some were dropped, each of \
              which is sent again after 200 ms or more.",
        wanted: |found, tree| {
            let drops = dropped_packets(&tree.text("/proc/net/softnet_stat").unwrap_or_default());
            if drops > 0 { at_least(found, 10_000, 10_000) } else { None }
        },
    },
    Sysctl {
        code: "file_handles",
        name: "fs.file-max",
        why: "Open files of the whole machine: each connection is two of them.",
        wanted: |found, _| at_least(found, 200_000, 1_048_576),
    },
    Sysctl {
        code: "numa_balancing",
        name: "kernel.numa_balancing",
        why: "On a machine with several NUMA nodes the kernel unmaps pages of servers to see which CPU uses \
              them.",
        wanted: |found, tree| {
            let several = tree.text("/sys/devices/system/node/online").is_some_and(|list| list != "0");
            (found != "0" && several).then(|| "0".to_owned())
        },
    },
];

pub(super) fn findings(tree: &Tree, asked: &Asked) -> Vec<Finding> {
    let mut findings: Vec<Finding> = SYSCTLS.iter().filter_map(|sysctl| judged(sysctl, tree)).collect();
    findings.extend(open_files(asked));
    findings.extend(huge_pages(tree));
    findings.extend(connection_tracking(tree));
    findings.extend(loopback_mtu(tree));
    findings
}

fn file_of(sysctl: &Sysctl) -> String {
    format!("/proc/sys/{}", sysctl.name.replace('.', "/"))
}

pub(super) fn numbers_in(path: &str) -> Option<usize> {
    let count = |sysctl: &Sysctl| if sysctl.name.ends_with("_range") { 2 } else { 1 };
    SYSCTLS.iter().find(|sysctl| file_of(sysctl) == path).map(count)
}

fn judged(sysctl: &Sysctl, tree: &Tree) -> Option<Finding> {
    let path = file_of(sysctl);
    let now = tree.text(&path)?;
    let value = now.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let found = Finding::new(sysctl.code, sysctl.name, value.clone(), sysctl.why);
    Some(match (sysctl.wanted)(&value, tree) {
        None => found,
        Some(wanted) => {
            let quoted = if wanted.contains(' ') { format!("'{wanted}'") } else { wanted.clone() };
            let mut found = found.distorts(format!("sysctl -w {}={quoted}", sysctl.name));
            found.settings = vec![Setting { path: path.into(), now, wanted }];
            found
        }
    })
}

/// The second column of /proc/net/softnet_stat, in hexadecimal, over all CPUs.
fn dropped_packets(softnet_stat: &str) -> u64 {
    let dropped = |line: &str| u64::from_str_radix(line.split_ascii_whitespace().nth(1)?, 16).ok();
    softnet_stat.lines().filter_map(dropped).sum()
}

fn open_files(asked: &Asked) -> Option<Finding> {
    let (soft, hard) = asked.open_files;
    if hard == 0 {
        return None;
    }
    let why = "Each connection is one open file of the client and one of the server; this shell's limit \
               applies to both.";
    let found = Finding::new("open_files", "open files (ulimit -n)", format!("{soft}, at most {hard}"), why);
    Some(if soft >= OPEN_FILES_MIN {
        found
    } else if hard >= OPEN_FILES_MIN {
        found.distorts(format!("ulimit -n {} in this shell", hard.min(65_536)))
    } else {
        found.distorts("raise nofile in /etc/security/limits.conf, and log in again")
    })
}

fn huge_pages(tree: &Tree) -> Option<Finding> {
    let text = tree.text("/sys/kernel/mm/transparent_hugepage/enabled")?;
    let chosen = text.split_once('[')?.1.split_once(']')?.0.to_owned();
    let why = "At always, memory grows in steps of 2 MB whether it is used or not, and a process is held up while one is made.";
    let found = Finding::new("huge_pages", "transparent huge pages", chosen.clone(), why);
    let mend = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled".to_owned();
    Some(found.note_if(chosen == "always", Some(mend)))
}

fn connection_tracking(tree: &Tree) -> Option<Finding> {
    let max = tree.number("/proc/sys/net/netfilter/nf_conntrack_max")?;
    let count = tree.number("/proc/sys/net/netfilter/nf_conntrack_count")?;
    let why = "The firewall remembers each connection for minutes, on loopback too where its rules say so; once the table is \
               full, new ones are dropped.";
    let found = Finding::new("conntrack", "tracked connections", format!("{count} of {max}"), why);
    let mend = "sysctl -w net.netfilter.nf_conntrack_max=262144, or exempt lo: iptables -t raw -A PREROUTING -i lo -j \
                CT --notrack";
    Some(found.distorts_if(max < 65_536 || count > max / 2, mend))
}

/// Linux gives loopback 65,536 bytes; a lab lowers it to an Ethernet's. Prony does not: all traffic of the machine would
/// change, and nobody's clients are on loopback in earnest.
fn loopback_mtu(tree: &Tree) -> Option<Finding> {
    let mtu = tree.number("/sys/class/net/lo/mtu")?;
    let why = "A response of more bytes than this travels in several packets. At 65536, loopback's own, one of up to 64 KiB \
               is one packet; a network's is 1500. Figures of large bodies are compared at one of them.";
    let found = Finding::new("loopback_mtu", "MTU of loopback", mtu.to_string(), why);
    Some(found.note_if(mtu != LOOPBACK_MTU, None))
}
