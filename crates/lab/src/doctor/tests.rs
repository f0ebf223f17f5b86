//! Judges over machines laid out in folders.

use std::fs;

use super::cpu::distorts;
use super::restore::{FILE, apply, is_allowed, restore};
use super::*;

/// A machine of these files.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(machine.state()).unwrap();
        files.iter().for_each(|(path, text)| machine.set(path, text));
        machine
    }

    fn set(&self, path: &str, text: &str) {
        let place = self.tree().place(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    fn get(&self, path: &str) -> String {
        fs::read_to_string(self.tree().place(path)).unwrap()
    }

    fn tree(&self) -> Tree {
        Tree::below(self.folder.path())
    }

    /// Where its root's settings from before `--apply` are.
    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }
}

fn asked() -> Asked {
    Asked { server_cpus: vec![1], client_cpus: vec![0], open_files: (65_536, 65_536), ..Asked::default() }
}

const GOVERNOR: &str = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";
const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";
/// Files that `--apply` never writes.
const PRECIOUS: &str = "/etc/precious";
const CORE_PATTERN: &str = "/proc/sys/kernel/core_pattern";
const MODPROBE: &str = "/proc/sys/kernel/modprobe";
const SMT: &str = "/sys/devices/system/cpu/smt/control";

const GOOD: [(&str, &str); 25] = [
    ("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"),
    ("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    (GOVERNOR, "performance\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq", "3000000\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "3000000\n"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("/sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "2\n"),
    ("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "0\n"),
    ("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "0\n"),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet\n"),
    ("/sys/fs/cgroup/cpu.max", "max 100000\n"),
    (SOMAXCONN, "4096\n"),
    ("/proc/sys/net/ipv4/tcp_max_syn_backlog", "2048\n"),
    ("/proc/sys/net/ipv4/tcp_syncookies", "1\n"),
    (PORTS, "32768\t60999\n"),
    ("/proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
    ("/proc/sys/net/ipv4/tcp_max_tw_buckets", "131072\n"),
    ("/proc/sys/net/core/netdev_max_backlog", "1000\n"),
    ("/proc/net/softnet_stat", "0000ffff 00000000 00000000\n0000ffff 00000000 00000000\n"),
    ("/proc/sys/kernel/numa_balancing", "1\n"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("/sys/class/net/lo/mtu", "65536\n"),
    ("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"),
];

#[test]
fn a_well_configured_machine_has_no_findings() {
    let machine = Machine::new(&GOOD);
    let findings = examine(&machine.tree(), &asked());
    let wrong: Vec<&Finding> = findings.iter().filter(|f| f.state != State::Good).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(findings.len() >= 18, "{}", findings.len());
    // A machine that tells nothing is not accused of anything but what was asked for it.
    let findings = examine(&Machine::new(&[]).tree(), &asked());
    assert!(findings.iter().all(|f| f.state == State::Good), "{findings:#?}");
}

#[test]
fn each_distorting_setting_is_found_with_its_mending_command() {
    let cases = [
        ("governor", GOVERNOR, "powersave\n", "cpupower frequency-set -g performance"),
        ("turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", "echo 1 > "),
        ("smt", "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n", "smt/control"),
        ("idle_states", "/sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "133\n", "idle-set -D 99"),
        (
            "clock_source",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "hpet\n",
            "echo tsc",
        ),
        ("cpu_quota", "/sys/fs/cgroup/cpu.max", "150000 100000\n", "--cpuset-cpus"),
        ("somaxconn", SOMAXCONN, "128\n", "sysctl -w net.core.somaxconn=4096"),
        ("syn_backlog", "/proc/sys/net/ipv4/tcp_max_syn_backlog", "128\n", "sysctl -w"),
        ("syn_cookies", "/proc/sys/net/ipv4/tcp_syncookies", "0\n", "sysctl -w"),
        ("ephemeral_ports", PORTS, "32768\t40000\n", "ip_local_port_range='16384 65535'"),
        ("ephemeral_ports", PORTS, "1024\t65000\n", "ip_local_port_range='16384 65535'"),
        ("time_wait_reuse", "/proc/sys/net/ipv4/tcp_tw_reuse", "0\n", "tcp_tw_reuse=2"),
        ("time_wait_buckets", "/proc/sys/net/ipv4/tcp_max_tw_buckets", "4096\n", "sysctl -w"),
        ("packet_backlog", "/proc/net/softnet_stat", "00ff 0000000a 0\n", "netdev_max_backlog=10000"),
        ("numa_balancing", "/sys/devices/system/node/online", "0-1\n", "numa_balancing=0"),
        ("memory", "/proc/meminfo", "MemAvailable: 80000 kB\n", "end other programs"),
    ];
    for (code, path, text, mend) in cases {
        let machine = Machine::new(&GOOD);
        machine.set(path, text);
        let findings = examine(&machine.tree(), &asked());
        assert!(distorts(&findings, code), "{code}: {findings:#?}");
        let found = findings.iter().find(|f| f.code == code).unwrap();
        assert!(found.mend.as_ref().is_some_and(|m| m.contains(mend)), "{found:?}");
        assert!(found.why.ends_with('.'), "{found:?}");
        let allowed = |s: &Setting| is_allowed(&s.path, &s.wanted) && is_allowed(&s.path, &s.now);
        assert!(found.settings.iter().all(allowed), "{found:?}");
        let others = findings.iter().filter(|f| f.state == State::Distorts).count();
        assert_eq!(others, 1, "{code} alone: {findings:#?}");
        assert_eq!(findings[0].code, code, "what distorts comes first");
    }
}

#[test]
fn the_process_s_own_limits_build_and_machine_are_judged() {
    let tree = Machine::new(&GOOD).tree();
    let one = Asked { server_cpus: vec![], client_cpus: vec![], ..asked() };
    assert!(distorts(&examine(&tree, &one), "cpus"));
    let of_servers = Asked { load_is_elsewhere: true, ..one };
    assert!(!distorts(&examine(&tree, &of_servers), "cpus"), "nobody loads from there");
    let few = Asked { open_files: (1_024, 1_048_576), ..asked() };
    let findings = examine(&tree, &few);
    let found = findings.iter().find(|f| f.code == "open_files").unwrap();
    assert_eq!(found.mend.as_deref(), Some("ulimit -n 65536 in this shell"));
    assert!(distorts(&examine(&tree, &Asked { open_files: (1_024, 1_024), ..asked() }), "open_files"));
    assert!(distorts(&examine(&tree, &Asked { debug_build: true, ..asked() }), "prony_build"));
    let guest = Asked { virtualisation: Some("kvm".to_owned()), ..asked() };
    let findings = examine(&tree, &guest);
    assert_eq!(findings[0].code, "virtualisation");
    assert_eq!(findings[0].state, State::Note);
}

#[test]
fn a_small_mtu_of_loopback_is_noted_and_never_changed() {
    let machine = Machine::new(&GOOD);
    let found = |machine: &Machine| {
        let findings = examine(&machine.tree(), &asked());
        let found = findings.into_iter().find(|f| f.code == "loopback_mtu").unwrap();
        (found.value, found.state, found.mend, found.settings.len())
    };
    assert_eq!(found(&machine), ("65536".to_owned(), State::Good, None, 0));
    machine.set("/sys/class/net/lo/mtu", "1500\n");
    assert_eq!(found(&machine), ("1500".to_owned(), State::Note, None, 0));
}

#[test]
fn pins_to_whole_cores_are_proposed_where_threads_share_one() {
    let siblings = |cpu: u32, list: &str| {
        (format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), list.to_owned())
    };
    let machine = Machine::new(&[]);
    for (path, list) in [siblings(0, "0,2"), siblings(1, "1,3"), siblings(2, "0,2"), siblings(3, "1,3")] {
        machine.set(&path, &list);
    }
    let asked = Asked { server_cpus: vec![3], client_cpus: vec![0, 1, 2], ..asked() };
    let findings = examine(&machine.tree(), &asked);
    let found = findings.iter().find(|f| f.code == "smt").unwrap();
    assert_eq!(found.value, "CPUs 3 and 1 are one core");
    assert_eq!(found.mend.as_deref(), Some("--pin server=3 --pin client=0,2"));
}

#[test]
fn other_programs_and_stolen_time_are_named() {
    let machine = Machine::new(&[
        ("/proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 0 0 0 200 0 0 0 0 0 0\n"),
        ("/proc/77/stat", "77 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 10 5 0 0 20 0 1 0 1 1 1\n"),
        ("/proc/99/stat", "99 (prony) R 1 1 1 0 -1 0 0 0 0 0 10 5 0 0 20 0 1 0 1 1 1\n"),
        ("/proc/pressure/cpu", "some avg10=62.04 avg60=75.33 avg300=83.36 total=5\nfull avg10=0.00\n"),
    ]);
    let watch = Watch::begin(&machine.tree());
    machine.set("/proc/stat", "cpu0 150 0 0 145 0 0 0 5 0 0\ncpu1 0 0 0 300 0 0 0 0 0 0\n");
    machine.set("/proc/77/stat", "77 (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 40 15 0 0 20 0 1 0 1 1 1\n");
    machine.set("/proc/99/stat", "99 (prony) R 1 1 1 0 -1 0 0 0 0 0 90 5 0 0 20 0 1 0 1 1 1\n");
    let findings = watch.end(&machine.tree(), &[0, 1], 99);
    let found = |code: &str| findings.iter().find(|f| f.code == code).unwrap();
    assert_eq!(found("other_load").value, "50 % of a used core: a (b) c (process 77) 40 %");
    assert_eq!(found("steal").value, "5.0 %");
    assert!(distorts(&findings, "other_load") && distorts(&findings, "steal"));
    assert!(distorts(&findings, "cpu_pressure"));
    // The same machine, at rest.
    machine.set("/proc/pressure/cpu", "some avg10=0.50 avg60=75.33\n");
    let watch = Watch::begin(&machine.tree());
    machine.set("/proc/stat", "cpu0 151 0 0 244 0 0 0 5 0 0\ncpu1 0 0 0 400 0 0 0 0 0 0\n");
    let findings = watch.end(&machine.tree(), &[0, 1], 99);
    assert!(findings.iter().all(|f| f.state == State::Good), "{findings:#?}");
}

#[test]
fn restore_puts_back_exactly_what_was_there_and_no_more() {
    let machine = Machine::new(&GOOD);
    for (path, text) in [(SOMAXCONN, "128\n"), (GOVERNOR, "powersave\n"), (PORTS, "32768\t40000\n")] {
        machine.set(path, text);
    }
    let root = machine.state();
    let tree = machine.tree();
    let before = examine(&tree, &asked());
    let done = apply(&tree, &before, &root, "boot").unwrap();
    assert_eq!((done.changed.len(), done.left.len()), (3, 0), "{done:?}");
    assert_eq!((machine.get(SOMAXCONN), machine.get(GOVERNOR)), ("4096".into(), "performance".into()));
    assert!(examine(&tree, &asked()).iter().all(|f| f.state != State::Distorts));
    // Applied again there is nothing to do, and what was there first is what is remembered.
    assert_eq!(apply(&tree, &examine(&tree, &asked()), &root, "boot").unwrap().changed, Vec::<String>::new());
    // Somebody changes one of them, and another that was never ours.
    machine.set(GOVERNOR, "schedutil\n");
    machine.set("/proc/sys/net/ipv4/tcp_tw_reuse", "1\n");
    let done = restore(&tree, &root, "boot").unwrap();
    assert_eq!((done.changed.len(), done.left.len()), (2, 1), "{done:?}");
    assert!(done.left[0].contains("schedutil"), "{done:?}");
    assert_eq!(
        (machine.get(SOMAXCONN), machine.get(PORTS)),
        ("128\n".into(), "32768\t40000\n".into()).map_trim()
    );
    assert_eq!(machine.get(GOVERNOR), "schedutil\n");
    assert_eq!(machine.get("/proc/sys/net/ipv4/tcp_tw_reuse"), "1\n");
    assert!(!root.join(FILE).exists());
    assert!(restore(&tree, &root, "boot").unwrap_err().starts_with("There is nothing to restore"));
}

/// What is remembered is a setting's text without the line's end.
trait MapTrim {
    fn map_trim(self) -> (String, String);
}

impl MapTrim for (String, String) {
    fn map_trim(self) -> (String, String) {
        (self.0.trim().to_owned(), self.1.trim().to_owned())
    }
}

#[test]
fn an_old_or_forged_restore_file_changes_nothing() {
    let machine = Machine::new(&GOOD);
    machine.set(SOMAXCONN, "128\n");
    let root = machine.state();
    let tree = machine.tree();
    apply(&tree, &examine(&tree, &asked()), &root, "boot").unwrap();
    let done = restore(&tree, &root, "another boot").unwrap();
    assert_eq!((done.changed.len(), done.left.len()), (0, 1));
    assert_eq!(machine.get(SOMAXCONN), "4096");
    // Each holds what is said to have been set: only what it is keeps it from being written.
    let forged = [
        (PRECIOUS, "x"),
        ("/proc/sys/../../etc/precious", "x"),
        ("/proc/sys/net/core/../../../../etc/precious", "1"),
        (CORE_PATTERN, "|/tmp/evil"),
        (MODPROBE, "/tmp/evil"),
        (SMT, "off"),
        (SOMAXCONN, "|/tmp/evil"),
        (SOMAXCONN, "1 2"),
        (SOMAXCONN, ""),
        (PORTS, "1"),
        (GOVERNOR, "power save"),
        (GOVERNOR, "/tmp"),
    ];
    for path in [PRECIOUS, CORE_PATTERN, MODPROBE, SMT, SOMAXCONN, PORTS, GOVERNOR] {
        machine.set(path, "whole");
    }
    for (path, was) in forged {
        let memory = format!(
            "{{\"schema\":\"prony.doctor-restore/1\",\"boot_id\":\"boot\",\"changed\":[{{\"path\":{path:?},\"was\":{was:?},\
             \"set\":\"whole\"}}]}}"
        );
        fs::write(root.join(FILE), memory).unwrap();
        let done = restore(&tree, &root, "boot").unwrap();
        assert!(done.changed.is_empty() && done.left.len() == 1, "{path} {was:?}: {done:?}");
        assert_eq!(machine.get(path), "whole", "{path} {was:?}");
    }
    fs::write(root.join(FILE), "{\"schema\":").unwrap();
    assert!(restore(&tree, &root, "boot").unwrap_err().contains("damaged"));
    assert!(apply(&tree, &examine(&tree, &asked()), &root, "boot").unwrap_err().contains("damaged"));
}

#[test]
fn settings_that_could_not_be_restored_are_not_changed() {
    let machine = Machine::new(&GOOD);
    machine.set(GOVERNOR, "power-2\n");
    let (tree, state) = (machine.tree(), machine.state());
    let done = apply(&tree, &examine(&tree, &asked()), &state, "boot").unwrap();
    assert!(
        done.changed.is_empty() && done.left[0].contains("is not a setting that --apply changes"),
        "{done:?}"
    );
    assert_eq!(machine.get(GOVERNOR), "power-2\n");
}

#[test]
fn a_link_in_place_of_the_saved_settings_is_not_followed() {
    let machine = Machine::new(&GOOD);
    machine.set(SOMAXCONN, "128\n");
    let (tree, state) = (machine.tree(), machine.state());
    let found = || examine(&machine.tree(), &asked());
    machine.set(PRECIOUS, "whole");
    let precious = tree.place(PRECIOUS);
    std::os::unix::fs::symlink(&precious, state.join(FILE)).unwrap();
    assert!(apply(&tree, &found(), &state, "boot").is_err() && restore(&tree, &state, "boot").is_err());
    assert_eq!((machine.get(SOMAXCONN), machine.get(PRECIOUS)), ("128\n".into(), "whole".into()));
    // Nor where the file that is about to take its place should be.
    fs::remove_file(state.join(FILE)).unwrap();
    std::os::unix::fs::symlink(&precious, state.join("doctor-restore.json.new")).unwrap();
    assert_eq!(apply(&tree, &found(), &state, "boot").unwrap().changed.len(), 1);
    assert_eq!(machine.get(PRECIOUS), "whole");
    assert!(fs::symlink_metadata(state.join(FILE)).unwrap().is_file());
}

/// As root every file may be written, so the refusal is tested where this user is not root.
#[test]
fn without_permission_nothing_is_changed_and_sudo_is_named() {
    let machine = Machine::new(&GOOD);
    machine.set(SOMAXCONN, "128\n");
    let root = machine.state();
    let place = machine.tree().place(SOMAXCONN);
    fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(&place).is_ok() {
        return;
    }
    let refused = apply(&machine.tree(), &examine(&machine.tree(), &asked()), &root, "boot").unwrap_err();
    assert!(refused.contains("sudo prony doctor --apply"), "{refused}");
    assert!(!root.join(FILE).exists());
}
