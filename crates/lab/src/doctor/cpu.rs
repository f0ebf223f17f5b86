//! The CPUs: whether they keep one speed, and whose they are.

use prony_host::cgroup::cpu_quotas;
use std::collections::BTreeSet;

use prony_host::cpus::{parse_list, show_list};

#[cfg(test)]
use super::State;
use super::{Asked, Finding, Setting, Tree};

const CPUS: &str = "/sys/devices/system/cpu";
/// A core that sleeps this deep is late for requests at low rates by as much.
const WAKE_MAX_US: u64 = 100;

pub(super) fn findings(tree: &Tree, asked: &Asked) -> Vec<Finding> {
    let cpus = asked.cpus();
    let all = [
        Some(sides(asked)),
        siblings(tree, asked),
        governor(tree, &cpus),
        turbo(tree),
        range(tree, &cpus),
        idle_states(tree, &cpus),
        clock_source(tree),
        Some(virtualisation(asked)),
        quota(tree),
        throttled(tree, &cpus),
        battery(tree),
    ];
    all.into_iter().flatten().collect()
}

fn sides(asked: &Asked) -> Finding {
    if asked.load_is_elsewhere {
        let why = "With other cores left, sampling the server takes none of the server's CPU time.";
        let value = match asked.server_cpus.as_slice() {
            [] => "one for everything".to_owned(),
            of_server => format!("{} for a server", show_list(of_server)),
        };
        return Finding::new("cpus", "cores", value, why);
    }
    let why = "Server and client on the same core slow each other down: the figure is that of both together.";
    if asked.server_cpus.is_empty() || asked.client_cpus.is_empty() {
        let found = Finding::new("cpus", "cores", "one for both sides", why);
        return found.distorts("use a machine, or give this process, two cores at least");
    }
    let value = format!("server {}, client {}", show_list(&asked.server_cpus), show_list(&asked.client_cpus));
    Finding::new("cpus", "cores", value, why)
}

/// Two hardware threads of one core are no two cores.
fn siblings(tree: &Tree, asked: &Asked) -> Option<Finding> {
    if asked.load_is_elsewhere {
        return None;
    }
    let of = |cpu: u32| -> BTreeSet<u32> {
        let text = tree.text(format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list")).unwrap_or_default();
        parse_list(&text).unwrap_or_default().into_iter().collect()
    };
    let sharing: Vec<String> = asked
        .server_cpus
        .iter()
        .flat_map(|server| of(*server).into_iter().map(move |sibling| (*server, sibling)))
        .filter(|(server, sibling)| server != sibling && asked.client_cpus.contains(sibling))
        .map(|(server, client)| format!("{server} and {client}"))
        .collect();
    if of(asked.cpus().first().copied()?).is_empty() {
        return None;
    }
    let why = "Two hardware threads of one core share its units and caches: either side is slower while the other works.";
    if sharing.is_empty() {
        return Some(Finding::new("smt", "hardware threads", "no core serves both sides", why));
    }
    let found =
        Finding::new("smt", "hardware threads", format!("CPUs {} are one core", sharing.join("; ")), why);
    // Whole cores: the server's last one keeps its siblings, the client has the rest.
    let server: BTreeSet<u32> = asked.server_cpus.iter().flat_map(|cpu| of(*cpu)).collect();
    let client: Vec<u32> = asked.cpus().into_iter().filter(|cpu| !server.contains(cpu)).collect();
    Some(if client.is_empty() {
        found.distorts("echo off > /sys/devices/system/cpu/smt/control, on a machine of two cores at least")
    } else {
        found.distorts(format!(
            "--pin server={} --pin client={}",
            show_list(&asked.server_cpus),
            show_list(&client)
        ))
    })
}

fn governor(tree: &Tree, cpus: &[u32]) -> Option<Finding> {
    let path = |cpu: &u32| format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor");
    let found: Vec<(String, String)> =
        cpus.iter().filter_map(|cpu| Some((path(cpu), tree.text(path(cpu))?))).collect();
    if found.is_empty() {
        return None;
    }
    let why = "All governors but performance set a core's clock by how busy it was just before: at a low \
               rate a slower machine is measured.";
    let kinds: BTreeSet<&str> = found.iter().map(|(_, governor)| governor.as_str()).collect();
    let value = kinds.iter().copied().collect::<Vec<_>>().join(", ");
    let finding = Finding::new("governor", "frequency governor", value, why);
    let has_performance = tree
        .text(format!("{CPUS}/cpu{}/cpufreq/scaling_available_governors", cpus.first()?))
        .is_none_or(|all| all.split_ascii_whitespace().any(|governor| governor == "performance"));
    if kinds.iter().all(|governor| *governor == "performance") {
        return Some(finding);
    }
    let mut finding = finding.distorts("cpupower frequency-set -g performance");
    if has_performance {
        let wanted = || "performance".to_owned();
        let other = found.into_iter().filter(|(_, governor)| governor != "performance");
        finding.settings =
            other.map(|(path, now)| Setting { path: path.into(), now, wanted: wanted() }).collect();
    }
    Some(finding)
}

fn turbo(tree: &Tree) -> Option<Finding> {
    let intel = format!("{CPUS}/intel_pstate/no_turbo");
    let other = format!("{CPUS}/cpufreq/boost");
    let (on, mend) = match (tree.text(&intel), tree.text(&other)) {
        (Some(off), _) => (off == "0", format!("echo 1 > {intel}")),
        (None, Some(on)) => (on == "1", format!("echo 0 > {other}")),
        (None, None) => return None,
    };
    let why = "With it a core's speed depends on how warm the chip is and how many others work: later trials are slower.";
    let finding = Finding::new("turbo", "turbo", if on { "on" } else { "off" }, why);
    Some(finding.distorts_if(on, mend))
}

fn range(tree: &Tree, cpus: &[u32]) -> Option<Finding> {
    let of = |cpu: &u32, name: &str| tree.number(format!("{CPUS}/cpu{cpu}/cpufreq/{name}"));
    let lowest = cpus.iter().filter_map(|cpu| of(cpu, "scaling_min_freq")).min()?;
    let highest = cpus.iter().filter_map(|cpu| of(cpu, "scaling_max_freq")).max()?;
    let able = cpus.iter().filter_map(|cpu| of(cpu, "cpuinfo_max_freq")).max().unwrap_or(highest);
    let why = "If the limits differ, the speed may change within a trial; if the upper one is below the \
               CPU's maximum, something (a battery, a policy) limits it.";
    let value = format!("{} to {} MHz of {}", lowest / 1000, highest / 1000, able / 1000);
    let finding = Finding::new("frequency", "frequency scaling", value, why);
    let mend = format!("cpupower frequency-set -d {highest}kHz -u {highest}kHz");
    Some(finding.note_if(lowest != highest, Some(mend)))
}

fn idle_states(tree: &Tree, cpus: &[u32]) -> Option<Finding> {
    let cpu = cpus.first()?;
    let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
    let deepest = tree
        .names(&folder)
        .into_iter()
        .filter(|state| tree.number(format!("{folder}/{state}/disable")).unwrap_or(0) == 0)
        .filter_map(|state| {
            let latency = tree.number(format!("{folder}/{state}/latency"))?;
            Some((latency, tree.text(format!("{folder}/{state}/name")).unwrap_or(state)))
        })
        .max()?;
    let why = "A core that sleeps deep wakes up late, so that at low rates every response waits for it.";
    let value = format!("{} wakes after {} µs", deepest.1, deepest.0);
    let finding = Finding::new("idle_states", "idle states", value, why);
    Some(finding.distorts_if(deepest.0 >= WAKE_MAX_US, format!("cpupower idle-set -D {}", WAKE_MAX_US - 1)))
}

fn clock_source(tree: &Tree) -> Option<Finding> {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let now = tree.text(format!("{folder}/current_clocksource"))?;
    let available = tree.text(format!("{folder}/available_clocksource")).unwrap_or_default();
    let why = "If user space cannot read it, reading the clock is a system call of about 1 µs, for servers \
               too.";
    // These are read by the vDSO; hyperv's by a page of the hypervisor's.
    let fast = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];
    let finding = Finding::new("clock_source", "clock source", now.clone(), why);
    Some(if fast.contains(&now.as_str()) {
        finding
    } else if available.split_ascii_whitespace().any(|clock| clock == "tsc") {
        finding.distorts(format!("echo tsc > {folder}/current_clocksource"))
    } else {
        finding.distorts(
            "none from within: the kernel found the processor's own clock unsteady (dmesg | grep -i tsc)",
        )
    })
}

fn virtualisation(asked: &Asked) -> Finding {
    let why = "The hypervisor may run other machines on these cores, which shows as stolen time or not at \
               all.";
    let value = asked.virtualisation.clone().unwrap_or_else(|| "none seen".to_owned());
    let finding = Finding::new("virtualisation", "virtualisation", value, why);
    let mend = "use a machine that is not shared; on this one, run more blocks".to_owned();
    finding.note_if(asked.virtualisation.is_some(), Some(mend))
}

/// A container's share of CPU time is taken away in slices of some ten milliseconds.
fn quota(tree: &Tree) -> Option<Finding> {
    let quotas = cpu_quotas(&|path| tree.text(path));
    let tightest = quotas.iter().min_by(|a, b| {
        (u128::from(a.quota_us) * u128::from(b.period_us))
            .cmp(&(u128::from(b.quota_us) * u128::from(a.period_us)))
    });
    let why = "Once a limit on CPU time is used up, everything stops for the rest of the period: pauses of \
               some 10 ms.";
    let value = tightest.map(|q| format!("{} µs of each {} µs ({})", q.quota_us, q.period_us, q.group));
    let found = Finding::new("cpu_quota", "CPU quota", value.as_deref().unwrap_or("none"), why);
    let mend = "start the container without --cpus (give it cores: --cpuset-cpus)";
    Some(found.distorts_if(value.is_some(), mend))
}

fn throttled(tree: &Tree, cpus: &[u32]) -> Option<Finding> {
    let of = |cpu: &u32| tree.number(format!("{CPUS}/cpu{cpu}/thermal_throttle/core_throttle_count"));
    let count: u64 = cpus.iter().map(of).sum::<Option<u64>>()?;
    let why = "A core that is too hot is clocked down until it has cooled off.";
    let found =
        Finding::new("throttling", "thermal throttling", format!("{count} times since the start"), why);
    Some(found.note_if(count > 0, Some("better cooling, or turbo off".to_owned())))
}

fn battery(tree: &Tree) -> Option<Finding> {
    let folder = "/sys/class/power_supply";
    let mains: Vec<u64> = tree
        .names(folder)
        .iter()
        .filter(|name| tree.text(format!("{folder}/{name}/type")).as_deref() == Some("Mains"))
        .filter_map(|name| tree.number(format!("{folder}/{name}/online")))
        .collect();
    let on_battery = !mains.is_empty() && mains.iter().all(|online| *online == 0);
    let why = "On battery a laptop lowers its CPU clock, more so as the battery runs out.";
    let found = Finding::new("power", "power", if on_battery { "battery" } else { "mains" }, why);
    (!mains.is_empty()).then(|| found.distorts_if(on_battery, "plug it in"))
}

#[cfg(test)]
pub(super) fn distorts(findings: &[Finding], code: &str) -> bool {
    findings.iter().any(|finding| finding.code == code && finding.state == State::Distorts)
}
