//! What the machine did to a trial: time kept from the client's work, connects that the kernel turned away.

use prony_model::code::Code;
use prony_model::measurement::WorkerAudit;
use prony_model::trial::Reason;

use super::facts::{Facts, share};
use super::fleet::THROTTLED_MAX;
use crate::numbers::real;
use crate::text::{duration, percent};

/// The share of the window that the loops' gaps over 1 ms may sum to, over all workers.
const GAPS_MAX: f64 = 0.01;

/// A shorter window is not judged for noise: one switch of tasks would be over [`GAPS_MAX`].
pub(super) const NOISE_WINDOW_MIN_NS: u64 = 500_000_000;

/// From this share of the window outside `epoll_wait` on, a worker's long turns can be its own work.
const LONG_TURNS_FROM: f64 = 0.5;

/// The share of a used CPU's time that the hypervisor may give to others.
pub const STEAL_MAX: f64 = 0.01;

/// The share of a CPU that other programs may take over a load.
pub const OTHERS_MAX: f64 = 0.05;

/// Less stolen time is not judged: the kernel counts it in steps of 10 ms, of which one may be chance.
const STEAL_MIN_NS: u64 = 50_000_000;

/// The share of the window that a worker may be ready to run and have no CPU.
const RUN_QUEUE_WAIT_MAX: f64 = 0.02;

/// The share of the packets that a server's host sends that may be sent again: beyond it the network loses some.
const RETRANSMITS_MAX: f64 = 0.001;

/// Something that kept the client from its work, as a share of the window.
struct Disturbance {
    name: &'static str,
    share: f64,
    detail: String,
}

pub(super) fn host_noisy(f: &Facts<'_>) -> Option<Reason> {
    if f.window_ns < NOISE_WINDOW_MIN_NS {
        return None;
    }
    // A quota that is used up shows as gaps and waits, too.
    let unless_throttled =
        |of: fn(&Facts<'_>) -> Option<Disturbance>| throttled(f).is_none().then(|| of(f)).flatten();
    let seen = [unless_throttled(gaps), steal(f), others(f), unless_throttled(run_queue_wait)];
    let seen: Vec<Disturbance> = seen.into_iter().flatten().collect();
    let details: Vec<&str> = seen.iter().map(|seen| seen.detail.as_str()).collect();
    let reason = Code::HostNoisy.reason(details.join("; "));
    (!seen.is_empty()).then(|| seen.iter().fold(reason, |reason, seen| reason.with(seen.name, seen.share)))
}

/// A quota stops all that is in its group for the rest of each period once it is used up. Agents say it of themselves.
pub(super) fn throttled(f: &Facts<'_>) -> Option<Reason> {
    let quota = f.o.host_window.as_ref()?.cpu_quota.as_ref().filter(|_| f.m.fleet.is_none())?;
    (share(quota.throttled_ns, f.window_ns) > THROTTLED_MAX).then(|| {
        Code::Throttled
            .reason(format!(
                "the CPU quota of a control group or container ({} CPUs) was used up in {} of {} periods, in which \
                 Prony and all else in it was stopped until the next, for {} in all",
                (share(quota.quota_us, quota.period_us) * 100.0).round() / 100.0,
                quota.throttled_periods,
                quota.periods,
                duration(quota.throttled_ns)
            ))
            .with("throttled_periods_share", share(quota.throttled_periods, quota.periods))
            .with("throttled_periods", real(quota.throttled_periods))
            .with("throttled_ns", real(quota.throttled_ns))
    })
}

/// A worker's gaps are long turns, late wake-ups, and time off its CPU. A loop that is busy most of the window handles
/// hundreds of events a turn: of its gaps only what its CPU time does not explain is the host's.
fn gaps(f: &Facts<'_>) -> Option<Disturbance> {
    let sum = |of: fn(&WorkerAudit) -> u64| f.m.workers.iter().map(of).sum::<u64>();
    let workers = f.m.workers.len() as u64;
    let (gaps, busy) = (sum(|w| w.gaps_over_1ms_sum_ns), sum(|w| w.busy_ns));
    let own_turns = share(busy, workers * f.window_ns) > LONG_TURNS_FROM;
    let away = if own_turns { gaps.min(busy.saturating_sub(f.m.client.cpu_ns)) } else { gaps };
    let away = share(away, workers * f.window_ns);
    let longest = f.m.workers.iter().map(|w| w.longest_gap_ns).max()?;
    (away > GAPS_MAX).then(|| Disturbance {
        name: "gaps_share",
        share: away,
        detail: format!(
            "the client's workers were held up for over 1 ms at a time, for {} of the window in all (limit \
             {}), {} the longest",
            percent(away),
            percent(GAPS_MAX),
            duration(longest)
        ),
    })
}

fn steal(f: &Facts<'_>) -> Option<Disturbance> {
    let host = f.o.host_window.as_ref()?;
    let (steal, steal_ns) = (host.steal?, host.steal_ns?);
    (steal > STEAL_MAX && steal_ns >= STEAL_MIN_NS).then(|| Disturbance {
        name: "steal_share",
        share: steal,
        detail: format!(
            "the hypervisor gave {} of a CPU's time to other machines, {} (limit {})",
            percent(steal),
            duration(steal_ns),
            percent(STEAL_MAX)
        ),
    })
}

fn others(f: &Facts<'_>) -> Option<Disturbance> {
    let others = f.o.host_window.as_ref()?.others.filter(|others| *others > OTHERS_MAX)?;
    Some(Disturbance {
        name: "others_share",
        share: others,
        detail: format!("other programs used {} of a CPU (limit {})", percent(others), percent(OTHERS_MAX)),
    })
}

/// A server of this machine shares the client's CPUs unless they are kept apart: such waits are no noise. Judged where
/// the workers are pinned, or the server is another machine's; never with Prony's own target.
fn run_queue_wait(f: &Facts<'_>) -> Option<Disturbance> {
    let host = f.o.host_window.as_ref()?;
    let apart = !f.o.embedded_target && (!host.target_is_local || !f.plan.cpus.is_empty());
    let wait = host.run_queue_wait.filter(|_| apart)?;
    (wait > RUN_QUEUE_WAIT_MAX).then(|| Disturbance {
        name: "run_queue_wait_share",
        share: wait,
        detail: format!(
            "a worker was ready to run and had no CPU for {} of the window (limit {})",
            percent(wait),
            percent(RUN_QUEUE_WAIT_MAX)
        ),
    })
}

/// Said only of targets of this machine, or of a host that an agent looks at: another one's counters are not read.
pub(super) fn listen_overflow(f: &Facts<'_>) -> Option<Reason> {
    let server = f.o.server.as_ref().and_then(|server| server.host.as_ref());
    let (counted, whose, limit) = match server {
        Some(host) => ((host.listen_overflows, host.listen_drops), "the server's", 0),
        None => {
            let host = f.o.host_window.as_ref().filter(|host| host.target_is_local)?;
            ((host.listen_overflows, host.listen_drops), "this", f.host.somaxconn)
        }
    };
    let (overflows, drops) = (counted.0.unwrap_or(0), counted.1.unwrap_or(0));
    let limit = match limit {
        0 => String::new(),
        limit => format!(" (net.core.somaxconn is {limit})"),
    };
    (overflows.max(drops) > 0).then(|| {
        Code::ListenOverflow.reason(format!(
            "a listening socket of {whose} machine turned connects away in the window: ListenOverflows moved \
             by {overflows}, ListenDrops by {drops}{limit}; connects that were refused, or repeated after a \
             second or more, were turned away by the kernel and not by the server"
        ))
        .with("listen_overflows", real(overflows))
        .with("listen_drops", real(drops))
    })
}

/// What was lost between client and server, of what the server's host counts.
pub(super) fn packets_lost(f: &Facts<'_>) -> Option<Reason> {
    let host = f.o.server.as_ref()?.host.as_ref()?;
    let (dropped, again) = (host.packets_dropped.unwrap_or(0), host.tcp_retransmits.unwrap_or(0));
    let sent_again = share(again, host.packets_sent.unwrap_or(0));
    (dropped > 0 || sent_again > RETRANSMITS_MAX).then(|| {
        Code::PacketsLost
            .reason(format!(
                "the server's host dropped {dropped} packets in the window and sent {again} TCP segments again ({} of its \
                 packets); a response that waited for one is late by a round trip at least, by 200 ms and more where nothing followed it",
                percent(sent_again)
            ))
            .with("packets_dropped", real(dropped))
            .with("retransmits_share", sent_again)
    })
}

/// What a container, or the virtual machine in which Docker Desktop has them, puts in a request's way or hides.
pub(super) fn container(f: &Facts<'_>) -> Option<Reason> {
    f.host.virtualisation.as_ref()?;
    let local = f.o.embedded_target || f.o.host_window.as_ref().is_some_and(|host| host.target_is_local);
    let bridged = (f.host.container_network && !local).then_some(
        "the container has a network of its own, so that every packet passed its bridge or proxy, which is in the figures",
    );
    let desktop = ["linuxkit", "microsoft"].into_iter().any(|name| f.host.kernel.contains(name)).then_some(
        "this Linux is the virtual machine of Docker Desktop or WSL: what the computer around it did meanwhile is not \
         seen, and the computer's own addresses are reached through a proxy",
    );
    let seen: Vec<&str> = [bridged, desktop].into_iter().flatten().collect();
    (!seen.is_empty()).then(|| Code::Container.reason(seen.join("; ")))
}
