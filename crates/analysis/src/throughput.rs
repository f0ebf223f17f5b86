//! How much was carried, and how surely.

use prony_model::Estimate;
use prony_model::measurement::Measurement;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::trial::{Bound, Throughput};
use prony_stats::parts::PARTS;

use crate::interval::WindowParts;
use crate::numbers::real;

/// With an interval by the window's parts; `bound` is the verdict's word on whose limit it is.
pub(crate) fn throughput(
    m: &Measurement,
    plan: &RecordedPlan,
    parts: &WindowParts,
    bound: Bound,
) -> Throughput {
    let window_ns = m.window_end_ns.saturating_sub(m.window_start_ns);
    let seconds = real(window_ns) / 1e9;
    let per_s = |count: u64| if window_ns == 0 { 0.0 } else { real(count) / seconds };
    let point = per_s(m.requests.completed);
    Throughput {
        requests_per_s: if plan.varies() {
            // Its spread would be the stages' or the log's, not chance.
            Estimate::bare(point, 1, "the plan changes the load within the window")
        } else {
            let at_once = if plan.rate_per_s.is_some() { 1 } else { u64::from(plan.connections) };
            with_interval(point, parts, window_ns, at_once)
        },
        bound,
        read_bytes_per_s: per_s(m.read_bytes),
        sent_bytes_per_s: per_s(m.sent_bytes),
        decoded_bytes_per_s: plan.decode.then(|| per_s(m.decoded_bytes)),
        offered_per_s: plan.is_open().then(|| plan.rate_per_s.unwrap_or_else(|| per_s(m.requests.scheduled))),
    }
}

/// A window holds whole requests only: its count is off by up to one, or by the `at_once` that are answered together
/// where all parts are alike, which is how connections in step look.
fn with_interval(point: f64, parts: &WindowParts, window_ns: u64, at_once: u64) -> Estimate {
    match parts.throughput(point) {
        Ok(half) => {
            let whole = if half > 0.0 { 1 } else { at_once };
            let half = half.max(real(whole) / (real(window_ns) / 1e9));
            Estimate::new(point, (point - half).max(0.0), point + half, PARTS as u64)
        }
        Err(why) => Estimate::bare(point, 1, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closed_plan, healthy};

    fn of(m: &Measurement, plan: &RecordedPlan) -> Throughput {
        throughput(m, plan, &WindowParts::of(m), Bound::Exact)
    }

    #[test]
    fn a_steady_window_has_a_narrow_interval_about_its_rate() {
        let m = healthy(10, 1000);
        let t = of(&m, &closed_plan());
        let estimate = t.requests_per_s;
        assert_eq!((estimate.point, estimate.n), (1000.0, 5));
        assert!(estimate.ci_low.unwrap() <= 1000.0 && estimate.ci_high.unwrap() < 1010.0, "{estimate:?}");
        assert_eq!(t.offered_per_s, None);
    }

    #[test]
    fn no_half_width_is_under_one_request() {
        // Two in each 100 ms of a second: 20 a second, if not 19.2 or 20.8.
        let m = healthy(1, 20);
        let among = |connections: u32| of(&m, &RecordedPlan { connections, ..closed_plan() }).requests_per_s;
        let one = among(1);
        assert_eq!((one.point, one.ci_low, one.ci_high), (20.0, Some(19.0), Some(21.0)));
        assert_eq!(among(5).ci_low, Some(15.0), "five may be in step");
    }

    #[test]
    fn a_short_window_has_no_interval_and_says_what_would_give_one() {
        let mut m = healthy(1, 1000);
        assert!(of(&m, &closed_plan()).requests_per_s.ci_low.is_some());
        m.bins.each.truncate(4);
        m.requests.completed = 400;
        m.window_end_ns = m.window_start_ns + 400_000_000;
        let estimate = of(&m, &closed_plan()).requests_per_s;
        assert_eq!((estimate.point, estimate.ci_low), (1000.0, None));
        assert!(estimate.no_interval.unwrap().contains("500ms"));
    }

    #[test]
    fn an_empty_window_has_a_rate_of_zero() {
        let mut m = healthy(1, 1000);
        m.bins.each.clear();
        m.window_end_ns = m.window_start_ns;
        let t = of(&m, &closed_plan());
        assert_eq!((t.requests_per_s.point, t.read_bytes_per_s), (0.0, 0.0));
    }
}
