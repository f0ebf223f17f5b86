//! The machine, as far as figures depend on it. What cannot be told stays empty.

use std::path::Path;

use prony_model::fnv::hash_of;
use prony_model::host::Host;
use rustix::process::{Resource, getrlimit};

use crate::cpus;

pub fn read() -> Host {
    let cpuinfo = text("/proc/cpuinfo");
    let open_files = getrlimit(Resource::Nofile);
    let (ephemeral_port_low, ephemeral_port_high) =
        port_range(&text("/proc/sys/net/ipv4/ip_local_port_range")).unwrap_or_default();
    Host {
        kernel: [text("/proc/sys/kernel/ostype"), text("/proc/sys/kernel/osrelease")].map(trimmed).join(" "),
        os: os_name(&text("/etc/os-release")),
        cpu_model: cpu_model(&cpuinfo),
        cpus_online: cpus_online(&text("/sys/devices/system/cpu/online")),
        cpus_allowed: cpus::allowed(),
        governor: non_empty(text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        virtualisation: virtualisation(&cpuinfo),
        container_network: container().is_some() && has_network_of_its_own(Path::new("/sys/class/net")),
        memory_bytes: memory_field(&text("/proc/meminfo"), "MemTotal").unwrap_or(0),
        open_files_soft: open_files.current.unwrap_or(u64::MAX),
        open_files_hard: open_files.maximum.unwrap_or(u64::MAX),
        ephemeral_port_low,
        ephemeral_port_high,
        somaxconn: text("/proc/sys/net/core/somaxconn").trim().parse().unwrap_or(0),
        boot_id: boot_id(),
        machine: machine(&text("/etc/machine-id")),
    }
}

/// machine-id(5) asks for a hash with a word of the application's. 64 bits are left: too few to find the id by trying,
/// enough to tell two machines apart.
fn machine(id: &str) -> Option<String> {
    let id = id.trim().to_ascii_lowercase();
    // An image's is empty, or says `uninitialized`, until somebody boots it.
    let is_id = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) && id.bytes().any(|b| b != b'0');
    is_id.then(|| format!("{:016x}", hash_of([b"prony".as_slice(), id.as_bytes()])))
}

/// The kernel's id of this boot; empty where it cannot be read.
pub fn boot_id() -> String {
    trimmed(text("/proc/sys/kernel/random/boot_id"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[expect(clippy::needless_pass_by_value, reason = "to be mapped over owned texts")]
fn trimmed(text: String) -> String {
    text.trim().to_owned()
}

fn non_empty(text: String) -> Option<String> {
    Some(trimmed(text)).filter(|t| !t.is_empty())
}

pub fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut ends = text.split_ascii_whitespace().map(str::parse);
    Some((ends.next()?.ok()?, ends.next()?.ok()?))
}

/// os-release(5): shell-like assignments.
fn os_name(os_release: &str) -> String {
    let value = |key: &str| {
        let assigned = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        assigned.map(|v| v.trim().trim_matches(['"', '\'']).to_owned())
    };
    value("PRETTY_NAME").or_else(|| value("NAME")).unwrap_or_default()
}

/// x86 says `model name`; ARM servers say only part numbers, so theirs is put together.
fn cpu_model(cpuinfo: &str) -> String {
    let value = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
        })
    };
    value("model name").or_else(|| value("Model")).or_else(|| value("Hardware")).unwrap_or_else(|| {
        match (value("CPU implementer"), value("CPU part")) {
            (Some(implementer), Some(part)) => format!("implementer {implementer} part {part}"),
            _ => String::new(),
        }
    })
}

fn cpus_online(list: &str) -> u32 {
    cpus::parse_list(list).map_or(0, |cpus| u32::try_from(cpus.len()).unwrap_or(u32::MAX))
}

/// A field of /proc/meminfo or of a process's status or smaps_rollup, `Pss:  12 kB`, in bytes.
pub fn memory_field(text: &str, name: &str) -> Option<u64> {
    let kilobytes = |line: &str| {
        line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    text.lines().find_map(kilobytes).map(|kilobytes: u64| kilobytes * 1024)
}

fn container() -> Option<String> {
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let marked =
        marks.into_iter().find(|(mark, _)| Path::new(mark).exists()).map(|(_, name)| name.to_owned());
    marked.or_else(|| non_empty(text("/run/systemd/container")))
}

/// Whether there are interfaces beside the loopback one, and all are virtual: a machine's own has a device.
fn has_network_of_its_own(interfaces: &Path) -> bool {
    let entries = std::fs::read_dir(interfaces).into_iter().flatten().flatten();
    let mut beside = entries.filter(|entry| entry.file_name() != "lo" && entry.path().is_dir()).peekable();
    beside.peek().is_some() && beside.all(|entry| !entry.path().join("device").exists())
}

/// A container's name if it is one (it says more of limits), else the hypervisor's by the board's vendor, else that
/// there is one.
fn virtualisation(cpuinfo: &str) -> Option<String> {
    if let Some(container) = container() {
        return Some(container);
    }
    let board = text("/sys/class/dmi/id/sys_vendor") + &text("/sys/class/dmi/id/product_name");
    if let Some(name) = hypervisor(&board) {
        return Some(name.to_owned());
    }
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    let guest = flags.is_some_and(|f| f.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    guest.then(|| "virtual machine".to_owned())
}

fn hypervisor(board: &str) -> Option<&'static str> {
    const KNOWN: [(&str, &str); 8] = [
        ("QEMU", "kvm"),
        ("KVM", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("Virtual Machine", "hyper-v"), // "Microsoft Corporation" alone also builds laptops
        ("Amazon EC2", "amazon"),
        ("Google Compute Engine", "google"),
        ("Xen", "xen"),
    ];
    KNOWN.into_iter().find(|(vendor, _)| board.contains(vendor)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_without_any_device_is_a_containers_own() {
        let interfaces = tempfile::tempdir().unwrap();
        let at = |name: &str| interfaces.path().join(name);
        std::fs::create_dir(at("lo")).unwrap();
        assert!(!has_network_of_its_own(interfaces.path()), "none at all is no way to elsewhere");
        std::fs::create_dir(at("eth0")).unwrap();
        assert!(has_network_of_its_own(interfaces.path()));
        std::fs::create_dir_all(at("ens3/device")).unwrap();
        assert!(!has_network_of_its_own(interfaces.path()), "a bridge beside the machine's own");
        assert!(!has_network_of_its_own(&at("none")));
    }

    #[test]
    fn facts_of_this_host_are_read() {
        let host = read();
        assert!(host.kernel.starts_with("Linux "), "{}", host.kernel);
        assert!(host.cpus_online >= 1 && !host.cpus_allowed.is_empty());
        assert!(host.memory_bytes > 1 << 20);
        assert!(host.open_files_hard >= host.open_files_soft && host.open_files_soft > 0);
        assert!(host.ephemeral_port_low < host.ephemeral_port_high);
        assert_eq!(host.boot_id.len(), 36);
        assert!(host.somaxconn > 0);
    }

    #[test]
    fn a_machine_id_is_hashed_and_an_invalid_one_is_none() {
        let (one, other) = ("0123456789abcdef0123456789abcdef\n", "0123456789abcdef0123456789abcdee\n");
        let hash = machine(one).unwrap();
        assert_eq!(hash.len(), 16);
        assert!(!one.contains(&hash) && machine(other).is_some_and(|other| other != hash));
        assert_eq!(machine(&one.to_uppercase()), Some(hash));
        for none in ["", "uninitialized\n", "00000000000000000000000000000000", "0123"] {
            assert_eq!(machine(none), None, "{none:?}");
        }
    }

    #[test]
    fn host_facts_are_read_from_files_of_other_machines() {
        assert_eq!(
            os_name("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)"
        );
        assert_eq!(os_name("NAME=Alpine\n"), "Alpine");
        assert_eq!(os_name(""), "");
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: Intel(R)  Xeon(R)   CPU\n"),
            "Intel(R) Xeon(R) CPU"
        );
        assert_eq!(cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"), "implementer 0x41 part 0xd0c");
        assert_eq!((cpus_online("0-2,5\n"), cpus_online("")), (4, 0));
        let memory = "MemTotal:       16318 kB\nMemFree: 1 kB\nPss: x kB\n";
        assert_eq!(memory_field(memory, "MemTotal"), Some(16318 * 1024));
        assert_eq!((memory_field(memory, "Mem"), memory_field(memory, "Pss")), (None, None));
        assert_eq!(port_range("32768\t60999\n"), Some((32768, 60999)));
        assert_eq!((port_range("32768"), port_range("1 70000")), (None, None));
        assert_eq!(hypervisor("Microsoft Corporation\nSurface Laptop\n"), None);
        assert_eq!(hypervisor("Microsoft Corporation\nVirtual Machine\n"), Some("hyper-v"));
    }
}
