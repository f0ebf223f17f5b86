//! Known causes of slow answers, each by what it alone leaves in the figures.

use prony_model::code::Code;
use prony_model::histogram::{SparseHistogram, middle_ns};
use prony_model::server::SampleColumns;
use prony_model::trial::Reason;
use prony_stats::trend::median;

use super::facts::{Facts, share};
use crate::numbers::{real, rounded};
use crate::text::{duration, percent};

/// Linux delays an acknowledgement by 40 ms (TCP_DELACK_MIN); what waits for one comes this much after the first byte.
const DELAYED_ACK_NS: (u64, u64) = (38_000_000, 50_000_000);
/// Service times just below it; a server that is slow for another reason has as many there.
const BELOW_DELAYED_ACK_NS: (u64, u64) = (26_000_000, 38_000_000);
/// And just above.
const ABOVE_DELAYED_ACK_NS: (u64, u64) = (50_000_000, 62_000_000);
/// The share of requests that must wait so.
const DELAYED_MIN: f64 = 0.2;
/// A larger response may be in flight that long.
const SMALL_RESPONSE_BYTES: u64 = 64 * 1024;

/// A tenth of a second with fewer responses than this share of the median is a part of a stall.
const STALLED_BELOW: f64 = 0.6;
/// The median tenth of a second must have so many, below which chance makes gaps.
const STALL_MEDIAN_MIN: f64 = 20.0;
/// Stalls that a period is read from: with five, four gaps that are alike by chance are below 1 in 1,000.
const STALLS_MIN: usize = 5;
/// What a gap may differ from the median gap: this share of it, or the width of a bin and a half.
const PERIOD_TOLERANCE: f64 = 0.1;
const PERIOD_TOLERANCE_BINS: f64 = 1.5;
/// Gaps of a few bins are alike whatever they are.
const PERIOD_MIN_BINS: f64 = 6.0;

/// From this share of its usual CPU time on, a server that answers nothing computes something else.
const COMPUTES_FROM: f64 = 0.75;
/// Up to this share it waits. The samples are as far apart as a bin is wide: what it used just before is in it.
const WAITS_UP_TO: f64 = 0.5;

pub(super) fn reasons(f: &Facts<'_>) -> impl Iterator<Item = Reason> {
    [delayed_ack(f), periodic_stalls(f)].into_iter().flatten()
}

/// Head and body written apart: Nagle's algorithm keeps the second until the client has acknowledged the first, which
/// it does 40 ms later (RFC 896, RFC 1122 4.2.3.2).
fn delayed_ack(f: &Facts<'_>) -> Option<Reason> {
    let completed = f.m.requests.completed;
    // Nobody waited so long: the usual case, told without a look at each time.
    f.response.max_ns.filter(|longest| *longest >= DELAYED_ACK_NS.0)?;
    let (service, first) = (&f.parts.service.completed, &f.parts.first_byte);
    let within = |times: &SparseHistogram, (from, to): (u64, u64)| -> u64 {
        let inside = |bucket: u64| (from..to).contains(&middle_ns(bucket));
        times.buckets().filter(|(bucket, _)| inside(*bucket)).map(|(_, count)| count).sum()
    };
    // Those whose first byte was late already wait for something else.
    let waiting = within(service, DELAYED_ACK_NS).saturating_sub(within(first, DELAYED_ACK_NS));
    let is_peak = [BELOW_DELAYED_ACK_NS, ABOVE_DELAYED_ACK_NS]
        .iter()
        .all(|beside| within(service, *beside) < waiting / 4);
    let delayed = share(waiting, completed);
    let is_small = f.m.read_bytes / completed.max(1) < SMALL_RESPONSE_BYTES;
    (delayed >= DELAYED_MIN && is_peak && is_small).then(|| {
        let first_ns = first.value_at_quantile(0.5);
        Code::DelayedAck
            .reason(format!(
                "the last byte of {} of the responses came about 40 ms after they were sent for, while the first byte took {} \
                 (p50): the server writes a response in two parts, and the kernel keeps the second until the first is \
                 acknowledged (Nagle's algorithm against a delayed acknowledgement)",
                percent(delayed),
                duration(first_ns)
            ))
            .with("delayed_share", delayed)
            .with("first_byte_p50_ns", real(first_ns))
    })
}

fn periodic_stalls(f: &Facts<'_>) -> Option<Reason> {
    let bins = &f.m.bins;
    // Connections of a closed loop that are answered together: bins with fewer than two rounds differ by that alone.
    let round_ns = f.parts.service.completed.value_at_quantile(0.5);
    let in_rounds = !f.plan.is_open() && round_ns.saturating_mul(2) > bins.width_ns;
    // Stages and logs may ask for less at equal distances.
    if in_rounds || f.plan.varies() {
        return None;
    }
    let whole = bins.each.len().saturating_sub(1);
    let completed: Vec<f64> = bins.each.iter().take(whole).map(|bin| real(bin.completed)).collect();
    let typical = median(&completed).filter(|typical| *typical >= STALL_MEDIAN_MIN)?;
    // Each run of low bins: where its middle is, by what is missing, and how long nothing was served.
    let mut stalls: Vec<(f64, f64)> = Vec::new();
    let mut stalled: Vec<bool> = vec![false; completed.len()];
    let mut run: Option<(f64, f64)> = None;
    for (i, count) in (0_u32..).zip(&completed) {
        let missing = 1.0 - count / typical;
        if missing > 1.0 - STALLED_BELOW {
            let (moment, sum) = run.unwrap_or((0.0, 0.0));
            stalled[i as usize] = true;
            run = Some((moment + missing * (f64::from(i) + 0.5), sum + missing));
        } else if let Some((moment, sum)) = run.take() {
            stalls.push((moment / sum, sum));
        }
    }
    let gaps: Vec<f64> = stalls.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    let period = median(&gaps)?;
    let tolerance = (PERIOD_TOLERANCE * period).max(PERIOD_TOLERANCE_BINS);
    let in_ns = |of_bins: f64| of_bins * real(bins.width_ns);
    let length = in_ns(median(&stalls.iter().map(|stall| stall.1).collect::<Vec<_>>())?);
    let alike = gaps.iter().all(|gap| (gap - period).abs() <= tolerance);
    (stalls.len() >= STALLS_MIN && period >= PERIOD_MIN_BINS && alike).then(|| {
        let cpu = f.o.server.as_ref().and_then(|server| cpu_by(&server.columns, &stalled, bins.width_ns));
        let reason = Code::PeriodicStalls.reason(format!(
            "every {} fewer responses came, as if none had been sent for {}: {} times in the window{}",
            duration(rounded(in_ns(period))),
            duration(rounded(length)),
            stalls.len(),
            cpu.map_or(String::new(), |(during, between)| format!(
                "; the server used {} of a CPU meanwhile, and {} between: {}",
                percent(during),
                percent(between),
                match during / between.max(f64::MIN_POSITIVE) {
                    ratio if ratio >= COMPUTES_FROM => "it computed something else",
                    ratio if ratio <= WAITS_UP_TO => "it waited, or was stopped",
                    _ => "it did less",
                }
            ))
        ));
        let reason = match cpu {
            Some((during, between)) => {
                reason.with("cpu_in_stalls_share", during).with("cpu_between_share", between)
            }
            None => reason,
        };
        reason
            .with("period_ns", in_ns(period))
            .with("stall_ns", length)
            .with("stalls", real(stalls.len() as u64))
    })
}

/// The CPU time that a server used per time, in the stalled bins and in the others; `None` where samples miss some of them.
fn cpu_by(columns: &SampleColumns, stalled: &[bool], width_ns: u64) -> Option<(f64, f64)> {
    let used_by = |at_ns: u64| {
        let at_ns = i64::try_from(at_ns).ok()?;
        let after = columns.at_ns.partition_point(|sampled| *sampled < at_ns);
        let to_ns = *columns.at_ns.get(after)?;
        let before = after.saturating_sub(usize::from(to_ns > at_ns));
        let from_ns = columns.at_ns[before];
        if from_ns > at_ns {
            return None;
        }
        let (from, to) = (real(*columns.cpu_ns.get(before)?), real(*columns.cpu_ns.get(after)?));
        let share = real(at_ns.abs_diff(from_ns)) / real(to_ns.abs_diff(from_ns).max(1));
        Some(from + (to - from) * share)
    };
    let edges: Vec<f64> = (0..=stalled.len() as u64).map(|i| used_by(i * width_ns)).collect::<Option<_>>()?;
    let mut sums = [(0.0, 0.0); 2];
    for (used, stalled) in edges.windows(2).zip(stalled) {
        let (cpu_ns, ns) = &mut sums[usize::from(!stalled)];
        (*cpu_ns, *ns) = (*cpu_ns + used[1] - used[0], *ns + real(width_ns));
    }
    let [(during, stalled_ns), (between, ns)] = sums;
    (stalled_ns > 0.0 && ns > 0.0).then(|| (during / stalled_ns, between / ns))
}
