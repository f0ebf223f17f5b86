//! How much was carried, and how surely.

use prony_model::Estimate;
use prony_model::measurement::Measurement;
use prony_model::plan::{Arrivals, Plan};
use prony_model::trial::{Bound, Throughput};

use crate::batches::Batch;
use crate::level::{Level, Of};

/// Completed requests per second with the interval of batch means; `bound`
/// is the verdict's word on whose limit it is.
#[expect(clippy::cast_precision_loss, reason = "counts of a run, far below 2^53")]
pub(crate) fn throughput(m: &Measurement, plan: &Plan, window_ns: u64, bound: Bound) -> Throughput {
    let seconds = window_ns as f64 / 1e9;
    let per_s = |count: u64| if window_ns == 0 { 0.0 } else { count as f64 / seconds };
    let point = per_s(m.requests.completed);
    Throughput {
        requests_per_s: if plan.arrivals.stages().is_some() {
            // Its spread would be the stages', not chance.
            Estimate::bare(point, 1, "the load changes by plan within the window")
        } else {
            let at_once = if plan.arrivals.rate().is_some() { 1 } else { u64::from(plan.connections) };
            with_interval(point, m, window_ns, at_once)
        },
        bound,
        read_bytes_per_s: per_s(m.read_bytes),
        offered_per_s: match &plan.arrivals {
            Arrivals::Closed | Arrivals::ConnectionStages(_) => None,
            Arrivals::Constant(rate) | Arrivals::Poisson(rate) => Some(rate.as_per_s()),
            Arrivals::RateStages(_) => Some(per_s(m.requests.scheduled)),
        },
    }
}

/// The window's rate, about which the interval of its batches is laid. A window holds whole requests only, so that its
/// count is off by up to one however steady it is; by up to the `at_once` that may be answered together where all
/// batches are alike, which is how connections in step look.
#[expect(clippy::cast_precision_loss, reason = "counts of a run, far below 2^53")]
fn with_interval(point: f64, m: &Measurement, window_ns: u64, at_once: u64) -> Estimate {
    let level = Level::of(m, window_ns);
    let rates: Vec<f64> = level.batches.iter().map(Batch::rate_per_s).collect();
    match level.interval(&rates, Of::Rate) {
        Ok(interval) => {
            let half = (interval.high - interval.low) / 2.0;
            let whole = if half > 0.0 { 1 } else { at_once };
            let half = half.max(whole as f64 / (window_ns as f64 / 1e9));
            Estimate::new(point, (point - half).max(0.0), point + half, rates.len() as u64)
        }
        Err(why) => Estimate::bare(point, 1, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_plan, healthy};

    #[test]
    fn a_steady_window_has_a_narrow_interval_about_its_rate() {
        let m = healthy(10, 1000);
        let t = throughput(&m, &closed_plan(), 10_000_000_000, Bound::Exact);
        let estimate = t.requests_per_s;
        assert_eq!((estimate.point, estimate.n), (1000.0, 20));
        assert!(estimate.ci_low.unwrap() <= 1000.0 && estimate.ci_high.unwrap() < 1010.0, "{estimate:?}");
        assert_eq!(t.offered_per_s, None);
    }

    #[test]
    fn a_count_of_whole_requests_is_no_better_known_than_to_one() {
        // Two in each 100 ms of a second: 20 a second, if not 19.2 or 20.8.
        let m = healthy(1, 20);
        let of = |connections: u32| {
            let plan = Plan { connections, ..closed_plan() };
            throughput(&m, &plan, 1_000_000_000, Bound::Exact).requests_per_s
        };
        let one = of(1);
        assert_eq!((one.point, one.ci_low, one.ci_high), (20.0, Some(19.0), Some(21.0)));
        assert_eq!(of(5).ci_low, Some(15.0), "five may be in step");
    }

    #[test]
    fn short_windows_have_fewer_batches_and_shorter_ones_no_interval() {
        let mut m = healthy(1, 1000);
        let estimate = throughput(&m, &closed_plan(), 1_000_000_000, Bound::Exact).requests_per_s;
        assert_eq!(estimate.n, 10);
        assert!(estimate.ci_low.is_some());
        m.bins.truncate(4);
        m.requests.completed = 400;
        let estimate = throughput(&m, &closed_plan(), 400_000_000, Bound::Exact).requests_per_s;
        assert_eq!((estimate.point, estimate.ci_low), (1000.0, None));
        assert!(estimate.no_interval.unwrap().contains("500ms"));
    }

    #[test]
    fn a_window_beyond_its_bins_has_no_interval() {
        let m = healthy(10, 1000);
        let estimate = throughput(&m, &closed_plan(), 11_000_000_000, Bound::Exact).requests_per_s;
        assert_eq!(estimate.ci_low, None);
        assert!(estimate.no_interval.unwrap().contains("first hour"));
    }

    #[test]
    fn no_window_is_no_rate_and_no_nan() {
        let mut m = healthy(1, 1000);
        m.bins.clear();
        let t = throughput(&m, &closed_plan(), 0, Bound::Exact);
        assert_eq!((t.requests_per_s.point, t.read_bytes_per_s), (0.0, 0.0));
    }
}
