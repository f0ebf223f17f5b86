//! A load's snapshots over time, in bounded memory: cumulative
//! counts, from which the rate of any span follows, and finished seconds. Pure.

use prony_load::Snapshot;

use crate::thinned::Thinned;

/// More points than a screen has columns. At ten a second: a minute's.
const POINTS_MAX: usize = 600;
const SECONDS_MAX: usize = 600;
/// The rate now is that of so long: shorter spans jump, longer ones lag.
const NOW_NS: u64 = 1_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Point {
    at_ns: u64,
    completed: f64,
    busy_ns: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Second {
    at_ns: u64,
    p99_ns: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct Timeline {
    /// Of several the last one stays.
    points: Thinned<Point>,
    /// Those of the last second, whatever the load's length.
    recent: Vec<Point>,
    /// Of several the worst stays: a bad second must not vanish from a long load's picture.
    seconds: Thinned<Second>,
    window_ns: Option<u64>,
    newest_second_ns: Option<u64>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            points: Thinned::new(POINTS_MAX),
            recent: vec![Point::default()],
            seconds: Thinned::new(SECONDS_MAX),
            window_ns: None,
            newest_second_ns: None,
        }
    }
}

impl Timeline {
    /// Takes in how the load stands; instants that go back are left out.
    pub(super) fn take(&mut self, snapshot: &Snapshot, warmup_ns: u64) {
        let point = Point {
            at_ns: snapshot.elapsed_ns,
            completed: snapshot.completed as f64,
            busy_ns: snapshot.busy_ns as f64,
        };
        if self.end_ns() < point.at_ns {
            self.points.add(point, |_, _, later| *later);
            self.recent.push(point);
            // The first one stays a second behind the last.
            while self.recent.len() > 2 && self.recent[1].at_ns + NOW_NS <= point.at_ns {
                self.recent.remove(0);
            }
        }
        if snapshot.in_window {
            self.window_ns.get_or_insert(warmup_ns);
        }
        let newest = snapshot.last_second.filter(|second| Some(second.at_ns) > self.newest_second_ns);
        if let Some(second) = newest {
            self.newest_second_ns = Some(second.at_ns);
            let second = Second { at_ns: warmup_ns + second.at_ns, p99_ns: second.p99_ns };
            self.seconds.add(second, |_, one, later| Second { p99_ns: one.p99_ns.max(later.p99_ns), ..*one });
        }
    }

    fn end_ns(&self) -> u64 {
        self.points.all().last().map_or(0, |point| point.at_ns)
    }

    /// Counts at an instant, between two points as if they grew evenly.
    fn at(&self, at_ns: u64) -> Point {
        let points = self.points.all();
        let after = points.partition_point(|point| point.at_ns < at_ns);
        // Before the first one is the load's start.
        let left = after.checked_sub(1).map_or(Point::default(), |i| points[i]);
        let Some(right) = points.get(after).filter(|right| right.at_ns > left.at_ns) else { return left };
        let share = (at_ns - left.at_ns) as f64 / (right.at_ns - left.at_ns) as f64;
        Point {
            at_ns,
            completed: left.completed + share * (right.completed - left.completed),
            busy_ns: left.busy_ns + share * (right.busy_ns - left.busy_ns),
        }
    }

    /// Completed requests per second of a span; `None` where nothing of it has been seen.
    fn rate(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let to_ns = to_ns.min(self.end_ns());
        let span = to_ns.checked_sub(from_ns).filter(|span| *span > 0)?;
        Some((self.at(to_ns).completed - self.at(from_ns).completed) * 1e9 / span as f64)
    }

    pub(super) fn rate_now(&self) -> Option<f64> {
        let (first, last) = (self.recent.first()?, self.recent.last()?);
        let span = last.at_ns.checked_sub(first.at_ns).filter(|span| *span > 0)?;
        Some((last.completed - first.completed) * 1e9 / span as f64)
    }

    /// Completed requests per second since the window opened; `None` before.
    pub(super) fn rate_of_window(&self) -> Option<f64> {
        self.rate(self.window_ns?, self.end_ns())
    }

    /// The share of the last second (within the window) that workers were busy, each worker counted as one.
    pub(super) fn busy_now(&self, workers: u32) -> Option<f64> {
        let (first, last) = (self.recent.first()?, self.recent.last()?);
        // Before the window nothing was counted.
        let from_ns = first.at_ns.max(self.window_ns?);
        let span = last.at_ns.checked_sub(from_ns).filter(|span| *span > 0)?;
        let busy = last.busy_ns - first.busy_ns;
        Some((busy / span as f64 / f64::from(workers.max(1))).clamp(0.0, 1.0))
    }

    /// Completed requests per second in each of so many columns of a time axis of this length.
    pub(super) fn rates(&self, columns: usize, axis_ns: u64) -> Vec<Option<f64>> {
        (0..columns)
            .map(|column| {
                let (from, to) = span(column, columns, axis_ns);
                // The newest column waits until a good part of it is there: a sliver's rate jumps.
                (self.end_ns() >= from + (to - from) / 3).then(|| self.rate(from, to)).flatten()
            })
            .collect()
    }

    /// The highest 99th percentile of the seconds that each column touches.
    pub(super) fn p99s(&self, columns: usize, axis_ns: u64) -> Vec<Option<f64>> {
        let touched = |column: usize| {
            let (from, to) = span(column, columns, axis_ns);
            let all = self.seconds.all();
            let begun = all.partition_point(|second| second.at_ns <= from).saturating_sub(1);
            let ends = |i: usize| {
                all.get(i + 1).map_or(all[i].at_ns + self.seconds.each() * SECOND_NS, |next| next.at_ns)
            };
            let seconds = (begun..all.len()).take_while(|i| all[*i].at_ns < to);
            let highest = seconds.filter(|i| ends(*i) > from).filter_map(|i| all[i].p99_ns).max();
            highest.map(|ns| ns as f64)
        };
        (0..columns).map(touched).collect()
    }
}

fn span(column: usize, columns: usize, axis_ns: u64) -> (u64, u64) {
    let edge = |n: usize| (u128::from(axis_ns) * n as u128 / columns.max(1) as u128) as u64;
    (edge(column), edge(column + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::LastSecond;

    const MS: u64 = 1_000_000;

    fn snapshot(ms: u64, completed: u64) -> Snapshot {
        Snapshot {
            elapsed_ns: ms * MS,
            completed,
            in_window: ms >= 1_000,
            busy_ns: ms.saturating_sub(1_000) * MS / 4,
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_follow_from_counts_at_irregular_snapshots() {
        let mut timeline = Timeline::default();
        // 2,000/s for three seconds, then 500/s; looked at every 130 ms.
        let completed = |ms: u64| if ms <= 3_000 { 2 * ms } else { 6_000 + (ms - 3_000) / 2 };
        for ms in (130..=5_070).step_by(130) {
            timeline.take(&snapshot(ms, completed(ms)), 1_000 * MS);
        }
        assert!((timeline.rate_now().unwrap() - 500.0).abs() < 5.0);
        let window = timeline.rate_of_window().unwrap();
        assert!((window - 5_035.0 / 4.07).abs() < 5.0, "{window}");
        assert!((timeline.busy_now(1).unwrap() - 0.25).abs() < 0.01);
        assert!((timeline.busy_now(2).unwrap() - 0.125).abs() < 0.01);
        let rates = timeline.rates(10, 10_000 * MS);
        assert!(rates[..3].iter().all(|rate| (rate.unwrap() - 2_000.0).abs() < 70.0), "{rates:?}");
        assert!((rates[4].unwrap() - 500.0).abs() < 5.0, "{rates:?}");
        assert!(rates[5..].iter().all(Option::is_none), "{rates:?}");
    }

    #[test]
    fn a_long_loads_memory_is_bounded_and_keeps_its_worst_seconds() {
        let mut timeline = Timeline::default();
        for second in 0..5_000 {
            let last_second = LastSecond {
                at_ns: second * SECOND_NS,
                p99_ns: Some(if second == 1_234 { 9_000_000 } else { 1_000_000 }),
                ..LastSecond::default()
            };
            let elapsed_ns = (second + 1) * SECOND_NS;
            let snapshot = Snapshot {
                elapsed_ns,
                completed: second * 7,
                last_second: Some(last_second),
                ..Snapshot::default()
            };
            timeline.take(&snapshot, 0);
            timeline.take(&snapshot, 0);
            assert_eq!(timeline.end_ns(), elapsed_ns);
            assert!(timeline.points.all().len() <= POINTS_MAX && timeline.seconds.all().len() <= SECONDS_MAX);
        }
        assert_eq!(
            timeline.p99s(50, 5_000 * SECOND_NS).iter().flatten().filter(|p99| **p99 > 8e6).count(),
            1
        );
        let rates = timeline.rates(50, 5_000 * SECOND_NS);
        assert!(rates.iter().all(|rate| (rate.unwrap() - 7.0).abs() < 1.0), "{rates:?}");
    }

    #[test]
    fn an_empty_timeline_has_no_figures() {
        let timeline = Timeline::default();
        assert_eq!(
            (timeline.rate_now(), timeline.rate_of_window(), timeline.busy_now(1)),
            (None, None, None)
        );
        assert_eq!(timeline.rates(3, 9), [None, None, None]);
        assert_eq!(timeline.p99s(2, 9), [None, None]);
    }
}
