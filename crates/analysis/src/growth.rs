//! Whether the wait for a connection grew to the end of the window: overload.

use prony_load::pace::Schedule;
use prony_model::measurement::Measurement;
use prony_model::plan::{ArrivalKind, Arrivals};
use prony_model::recorded_plan::RecordedPlan;
use prony_stats::CONFIDENCE;
use prony_stats::trend::{median, theil_sen};

use crate::batches::merge;
use crate::numbers::real;

const BATCHES: usize = 20;

/// Fewer batches than this (under 0.8 s) have no trend: see [`UNSENT_MIN_SHARE`].
const BATCHES_MIN: usize = 8;

/// The growth that counts, as a share of the window. A wait that grows by g seconds a second is a server that carries 1
/// − g of what is due. Less cannot be told from the slow swings of a queue near its capacity in windows of 10 s.
pub(crate) const GROWTH_MIN_SHARE: f64 = 0.002;

/// And at the least this, which one scheduling delay may cost.
pub(crate) const GROWTH_MIN_NS: f64 = 1e6;

/// Unsent of all that was due, in a window too short for a trend: no stall does that but one of a tenth of the window.
const UNSENT_MIN_SHARE: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Growth {
    /// Nanoseconds of wait gained per second.
    pub(crate) per_s_ns: f64,
    pub(crate) last_ns: f64,
}

/// The growth that makes a trial `overloaded`; `None` when it is none. All of these: the Theil–Sen slope over 20
/// batches is surely above 0; it amounts to a material growth; the *least* wait of the last quarter exceeds the typical
/// one of the first by as much (a stall that recovers leaves quiet batches behind it); and requests were left unsent at
/// the end, unless the load ended by count.
pub(crate) fn overload(m: &Measurement, plan: &RecordedPlan, window_ns: u64) -> Option<Growth> {
    let course = plan.arrivals().map(|arrivals| match arrivals {
        // What is due of a Poisson process in a batch is its rate's, give or take a root.
        Arrivals::Poisson(rate) => Arrivals::Constant(rate),
        other => other,
    });
    let schedule = course.and_then(|course| Schedule::new(&course, 0, 1, plan.requests, plan.seed));
    // The record of a replay has no instants.
    let is_replay = plan.arrivals == ArrivalKind::Replay;
    let is_judged = m.requests.never_sent > 0 || m.ended_by_count;
    if !is_judged || (schedule.is_none() && !is_replay) {
        return None;
    }
    let waits = waits(m, schedule.as_ref(), window_ns);
    let is_short = waits.len() < BATCHES_MIN;
    let trend = if is_short { None } else { growing(&waits, window_ns) };
    trend.or_else(|| unsent_growth(m, window_ns).filter(|_| is_short || is_replay))
}

fn growing(waits: &[(f64, f64)], window_ns: u64) -> Option<Growth> {
    let slope = theil_sen(waits, CONFIDENCE)?;
    let quarter = waits.len() / 4;
    let values: Vec<f64> = waits.iter().map(|(_, wait)| *wait).collect();
    let before = median(&values[..quarter])?;
    let least_after = values[values.len() - quarter..].iter().copied().fold(f64::INFINITY, f64::min);
    let material = (GROWTH_MIN_SHARE * real(window_ns)).max(GROWTH_MIN_NS);
    let grows = slope.low > 0.0
        && slope.point * real(window_ns) / 1e9 >= material
        && least_after - before >= material;
    grows.then(|| Growth { per_s_ns: slope.point, last_ns: values.last().copied().unwrap_or_default() })
}

/// A window too short for a trend, and a log's, tells by what it leaves unsent: a line that is a tenth of all that was due.
fn unsent_growth(m: &Measurement, window_ns: u64) -> Option<Growth> {
    let (unsent, due) = (real(m.requests.never_sent), real(m.requests.scheduled));
    let seconds = real(window_ns) / 1e9;
    let last_ns = unsent / due * real(window_ns);
    (due > 0.0 && unsent >= UNSENT_MIN_SHARE * due).then(|| Growth { per_s_ns: last_ns / seconds, last_ns })
}

/// (middle in seconds, wait in nanoseconds) of each batch: the mean wait of those given a connection in it, or where
/// none was, of the request at the head of the line, whose length over the rate it is. A batch without either is left
/// out; without a schedule each in which none was.
fn waits(m: &Measurement, schedule: Option<&Schedule>, window_ns: u64) -> Vec<(f64, f64)> {
    let whole_bins = usize::try_from(window_ns / m.bins.width_ns).unwrap_or(usize::MAX);
    let batches = merge(&m.bins, window_ns, whole_bins.min(BATCHES));
    let before_window = m.window_start_ns.saturating_sub(m.schedule_start_ns);
    let due_before = |at_ns: u64| schedule.map_or(0, |schedule| schedule.due_before(before_window + at_ns));
    let per_s = real(m.requests.scheduled) / (real(window_ns.max(1)) / 1e9);
    // The line's length is known at the window's end, and walked back from there.
    let mut unsent = m.requests.never_sent;
    let mut waits = Vec::with_capacity(batches.len());
    for batch in batches.iter().rev() {
        let wait_ns = match (batch.sum.dispatched, unsent) {
            (0, unsent) if unsent == 0 || schedule.is_none() => None,
            (0, unsent) => Some(real(unsent) / per_s.max(1e-6) * 1e9),
            (dispatched, _) => Some(real(batch.sum.connection_wait_sum_ns) / real(dispatched)),
        };
        waits.extend(wait_ns.map(|wait| (batch.middle_s(), wait)));
        let due = due_before(batch.end_ns).saturating_sub(due_before(batch.start_ns));
        unsent = (unsent + batch.sum.dispatched).saturating_sub(due);
    }
    waits.reverse();
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Line, constant_plan, healthy, noise};

    const S: u64 = 1_000_000_000;

    fn growth(line: &Line) -> Option<Growth> {
        overload(&line.measure(), &constant_plan(line.rate_per_s as f64), line.window_ns)
    }

    #[test]
    fn a_server_at_95_percent_of_the_rate_is_overloaded() {
        let growth = growth(&Line { rate_per_s: 2000, served_per_s: 1900, ..Line::default() }).unwrap();
        assert!((growth.per_s_ns / 1e6 - 50.0).abs() < 3.0, "50 ms a second: {growth:?}");
        assert!((growth.last_ns / 1e6 - 500.0).abs() < 30.0, "{growth:?}");
    }

    #[test]
    fn a_server_at_99_percent_is_overloaded_and_at_101_is_not() {
        assert!(growth(&Line { rate_per_s: 2000, served_per_s: 1980, ..Line::default() }).is_some());
        assert!(growth(&Line { rate_per_s: 2000, served_per_s: 2020, ..Line::default() }).is_none());
    }

    #[test]
    fn a_stall_that_recovers_is_not_overload() {
        // 200 ms of silence every 2 s, wherever the window ends within the period.
        for phase in 0..10 {
            let stalls = (0..6).map(|i| (i * 2 * S + phase * S / 5, 200_000_000)).collect();
            let line = Line { rate_per_s: 2000, served_per_s: 4000, stalls, ..Line::default() };
            assert_eq!(growth(&line), None, "phase {phase}");
        }
    }

    #[test]
    fn an_overload_with_stalls_is_overloaded() {
        let stalls = (0..5).map(|i| (i * 2 * S + S / 2, 200_000_000)).collect();
        assert!(growth(&Line { rate_per_s: 2000, served_per_s: 1900, stalls, ..Line::default() }).is_some());
    }

    #[test]
    fn a_server_that_stops_half_way_is_overloaded() {
        let line =
            Line { rate_per_s: 2000, served_per_s: 4000, stalls: vec![(5 * S, 60 * S)], ..Line::default() };
        let growth = growth(&line).unwrap();
        assert!(growth.last_ns > 4e9, "nothing was dispatched, yet the head of the line waits: {growth:?}");
    }

    #[test]
    fn a_request_a_second_and_a_closed_loop_are_not_overloaded() {
        assert_eq!(growth(&Line { rate_per_s: 1, served_per_s: 1000, ..Line::default() }), None);
        let overloaded = Line { rate_per_s: 2000, served_per_s: 1000, ..Line::default() };
        assert_eq!(overload(&overloaded.measure(), &crate::testing::closed_plan(), 10 * S), None);
    }

    #[test]
    fn a_replay_is_overloaded_by_its_waits_or_by_what_it_leaves_unsent() {
        let plan = RecordedPlan { arrivals: ArrivalKind::Replay, rate_per_s: None, ..constant_plan(2000.0) };
        let of = |served_per_s, stalls, by_count| {
            let line = Line { rate_per_s: 2000, served_per_s, stalls, ..Line::default() };
            let mut m = line.measure();
            if by_count {
                (m.requests.never_sent, m.ended_by_count) = (0, true);
            }
            overload(&m, &plan, 10 * S)
        };
        for by_count in [false, true] {
            assert!(of(1900, Vec::new(), by_count).is_some_and(|growth| growth.last_ns > 4e8));
            assert_eq!(of(2020, Vec::new(), by_count), None);
        }
        assert!(of(4000, vec![(5 * S, 60 * S)], false).is_some(), "nothing was sent in its second half");
    }

    #[test]
    fn a_short_window_is_overloaded_by_its_unsent_requests() {
        let short = |served_per_s| {
            growth(&Line { rate_per_s: 2000, served_per_s, window_ns: S / 2, ..Line::default() })
        };
        let half = short(1000).unwrap();
        assert!((half.last_ns / 1e6 - 250.0).abs() < 10.0, "half of half a second: {half:?}");
        assert_eq!((short(1950), short(4000)), (None, None));
    }

    #[test]
    fn a_load_by_count_is_overloaded_without_unsent_requests() {
        let mut m = Line { rate_per_s: 2000, served_per_s: 1900, ..Line::default() }.measure();
        m.requests.never_sent = 0;
        assert_eq!(overload(&m, &constant_plan(2000.0), 10 * S), None);
        m.ended_by_count = true;
        assert!(overload(&m, &constant_plan(2000.0), 10 * S).is_some());
    }

    /// How many of 40 windows of a queue with exponential service times, at `offered` of its capacity, are called
    /// overloaded.
    fn flagged_of_40(offered: f64) -> u32 {
        const RATE: f64 = 2000.0;
        let flagged = |seed: u64| {
            let mut m = healthy(10, 0);
            m.schedule_start_ns = m.window_start_ns - S; // a second of warm-up
            let mut normal = noise(1000 + seed);
            let mut exponential = || (normal.next().unwrap().powi(2) + normal.next().unwrap().powi(2)) / 2.0;
            let mut free = 0.0f64;
            for k in 0..11 * 2000 {
                let due = f64::from(k) / RATE;
                let at = due.max(free);
                free = at + exponential() * offered / RATE;
                if at >= 11.0 {
                    m.requests.never_sent += 1;
                } else if at >= 1.0 {
                    let bin = &mut m.bins.each[((at - 1.0) * 10.0) as usize];
                    bin.dispatched += 1;
                    bin.connection_wait_sum_ns += ((at - due) * 1e9) as u64;
                }
            }
            overload(&m, &constant_plan(RATE), 10 * S).is_some()
        };
        (0..40).map(|seed| u32::from(flagged(seed))).sum()
    }

    #[test]
    fn a_queue_is_overloaded_above_its_capacity_and_not_below() {
        assert_eq!(flagged_of_40(0.95), 0);
        assert!(flagged_of_40(1.05) >= 39);
    }
}
