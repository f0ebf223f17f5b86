//! From readings to a window's figures: pure.

use prony_model::server::SampleColumns;

use super::{Reading, Samples};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) cpu_ns: u64,
    pub(super) peak_rss_bytes: u64,
    pub(super) processes: u32,
    pub(super) threads: u32,
}

/// The figures of a window; `None` without readings. CPU time is interpolated linearly at both edges, and flat beyond
/// the first and last reading; the peak is over readings within the window, and those next to it where it holds none.
pub(super) fn figures(readings: &[Reading], start_ns: u64, end_ns: u64) -> Option<Figures> {
    let first = readings.first()?;
    let upto_end = readings.partition_point(|r| r.at_ns <= end_ns);
    let before_start = readings.partition_point(|r| r.at_ns < start_ns);
    let mut within = readings.get(before_start..upto_end).unwrap_or_default();
    if within.is_empty() {
        within = &readings[before_start.saturating_sub(1)..(upto_end + 1).min(readings.len())];
    }
    let at_end = readings[..upto_end].last().unwrap_or(first);
    Some(Figures {
        cpu_ns: cpu_at(readings, end_ns).saturating_sub(cpu_at(readings, start_ns)),
        peak_rss_bytes: within.iter().map(|r| r.rss_bytes).max().unwrap_or(0),
        processes: at_end.processes,
        threads: at_end.threads,
    })
}

fn cpu_at(readings: &[Reading], at_ns: u64) -> u64 {
    let after = readings.partition_point(|r| r.at_ns <= at_ns);
    match (after.checked_sub(1).map(|i| readings[i]), readings.get(after)) {
        (Some(before), Some(after)) => {
            let (grown, part) = (after.cpu_ns.saturating_sub(before.cpu_ns), at_ns - before.at_ns);
            let span = after.at_ns - before.at_ns; // above 0: `after` is past `at_ns`, `before` is not
            let share = u128::from(grown) * u128::from(part) / u128::from(span);
            before.cpu_ns + u64::try_from(share).unwrap_or(u64::MAX)
        }
        (Some(only), None) => only.cpu_ns,
        (None, Some(only)) => only.cpu_ns,
        (None, None) => 0,
    }
}

pub(super) fn columns(samples: &Samples, start_ns: u64) -> SampleColumns {
    let from_start = |at_ns: u64| i64::try_from(i128::from(at_ns) - i128::from(start_ns)).unwrap_or(i64::MAX);
    let readings = &samples.readings;
    SampleColumns {
        at_ns: readings.iter().map(|r| from_start(r.at_ns)).collect(),
        cpu_ns: readings.iter().map(|r| r.cpu_ns).collect(),
        rss_bytes: readings.iter().map(|r| r.rss_bytes).collect(),
        cores: samples.machine.cores.clone(),
        core_busy_ns: samples.machine.columns(),
        time_wait: samples.machine.time_wait.clone(),
        pss_at_ns: samples.pss.iter().map(|(at_ns, _)| from_start(*at_ns)).collect(),
        pss_bytes: samples.pss.iter().map(|(_, bytes)| *bytes).collect(),
    }
}

/// The highest proportional memory within a window; `None` where it was not read in it.
pub(super) fn peak_pss(pss: &[(u64, u64)], start_ns: u64, end_ns: u64) -> Option<u64> {
    pss.iter().filter(|(at, _)| (start_ns..=end_ns).contains(at)).map(|(_, bytes)| *bytes).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::process_tracker::ProcessTracker;

    fn readings() -> Vec<Reading> {
        [(1000, 0, 10), (1100, 50, 90), (1200, 150, 20), (1300, 150, 30), (1400, 250, 80)]
            .map(|(at_ns, cpu_ns, rss_bytes)| Reading {
                at_ns,
                cpu_ns,
                rss_bytes,
                processes: 2,
                threads: at_ns as u32 / 100,
            })
            .to_vec()
    }

    #[test]
    fn edges_between_readings_are_interpolated() {
        let f = figures(&readings(), 1150, 1350).unwrap();
        assert_eq!(f.cpu_ns, 200 - 100);
        assert_eq!(f.peak_rss_bytes, 30, "the peaks before and after the window are not its own");
        assert_eq!((f.processes, f.threads), (2, 13));
    }

    #[test]
    fn edges_on_readings_are_exact() {
        let f = figures(&readings(), 1100, 1200).unwrap();
        assert_eq!((f.cpu_ns, f.peak_rss_bytes), (100, 90));
    }

    #[test]
    fn a_window_between_two_readings_takes_both_for_its_peak() {
        let f = figures(&readings(), 1120, 1130).unwrap();
        assert_eq!((f.cpu_ns, f.peak_rss_bytes), (10, 90));
    }

    #[test]
    fn nothing_is_extrapolated_beyond_the_readings() {
        assert_eq!(figures(&readings(), 0, 9999).unwrap().cpu_ns, 250);
        assert_eq!(figures(&readings(), 5000, 9999).unwrap().cpu_ns, 0);
        assert_eq!(figures(&readings(), 5000, 9999).unwrap().peak_rss_bytes, 80);
        assert_eq!(
            figures(&readings(), 0, 10).unwrap(),
            Figures { cpu_ns: 0, peak_rss_bytes: 10, processes: 2, threads: 10 }
        );
        assert_eq!(figures(&[], 0, 10), None);
    }

    #[test]
    fn times_before_the_window_are_negative_in_the_columns() {
        let samples = Samples {
            cpu_method: "schedstat",
            readings: readings(),
            tracker: ProcessTracker::default(),
            machine: Default::default(),
            pss: vec![(1000, 70), (1300, 50)],
            host: Default::default(),
        };
        let c = columns(&samples, 1200);
        assert_eq!((c.pss_at_ns, c.pss_bytes), (vec![-200, 100], vec![70, 50]));
        assert_eq!(peak_pss(&samples.pss, 1200, 1400), Some(50));
        assert_eq!(peak_pss(&samples.pss, 1301, 1400), None);
        assert_eq!(c.at_ns, [-200, -100, 0, 100, 200]);
        assert_eq!((c.cpu_ns.len(), c.rss_bytes[4]), (5, 80));
    }
}
