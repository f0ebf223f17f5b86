//! `-d auto`: the shortest window in which each percentile that a run names has its samples at a pilot's rate.

use std::time::Duration;

use prony_model::units::show_duration;

use crate::numbers::real;
use crate::slo::{Objective, Slo};
use crate::summary::BEYOND_MIN;
use crate::text::digits;

/// The windows to choose from, in seconds.
const WINDOWS_S: [u64; 5] = [1, 2, 5, 10, 30];

pub const PILOT: Duration = Duration::from_secs(WINDOWS_S[0]);

pub const BLOCKS: u32 = 6;

/// So many times the requests that are needed: a window may be slower than the pilot.
const RESERVE: f64 = 1.2;

/// The highest percentile of every first line.
const USUAL: f64 = 0.99;

/// Chooses for a rate per second and says by what; `fits`: whether six blocks fit the budget. Where no window that fits
/// has the samples of p99, the longest is taken and the lack said; of a threshold's percentile there is none, and the
/// sentence.
pub fn choose(
    rate_per_s: f64,
    slos: &[Slo],
    fits: &dyn Fn(Duration) -> bool,
) -> Result<(Duration, String), String> {
    let longest = WINDOWS_S.into_iter().rev().find(|s| fits(Duration::from_secs(*s)));
    let Some(longest) = longest.filter(|_| rate_per_s > 0.0) else {
        let why = match longest {
            Some(_) => "no request ended in the load before the run: give a time, as -d 10s".to_owned(),
            None => "windows of 1s are too long for the budget: give a larger --budget, or fewer --blocks"
                .to_owned(),
        };
        return Err(format!("-d auto: {why}."));
    };
    let quantiles = slos.iter().filter_map(|slo| match slo.objective {
        Objective::Percentile { quantile, .. } => Some(quantile),
        Objective::Figure(figure) => figure.quantile(),
        Objective::Max => None,
    });
    // What the highest needs is enough for the others.
    let asked = quantiles.fold(0.0, f64::max);
    let all = asked.max(USUAL);
    let needed_s = |quantile: f64| (RESERVE * real(BEYOND_MIN) / (1.0 - quantile) / rate_per_s).ceil();
    let enough = WINDOWS_S.into_iter().find(|s| *s <= longest && real(*s) >= needed_s(all));
    let window = Duration::from_secs(enough.unwrap_or(longest));
    let mut why = format!("-d auto: {}, by {} requests/s", show_duration(window), digits(rate_per_s));
    if enough.is_none() {
        why += &format!("; p{} takes -d {}s", (all * 1e8).round() / 1e6, needed_s(all));
    }
    if asked > 0.0 && real(longest) < needed_s(asked) {
        return Err(format!("{why}: give that -d, or leave the threshold out."));
    }
    Ok((window, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rate: f64, slos: &[&str], longest_s: u64) -> Result<(u64, String), String> {
        let slos: Vec<Slo> = slos.iter().map(|text| Slo::parse(text).unwrap()).collect();
        let fits = |window: Duration| window.as_secs() <= longest_s;
        choose(rate, &slos, &fits).map(|(window, why)| (window.as_secs(), why))
    }

    #[test]
    fn the_shortest_window_that_serves_each_percentile_is_taken() {
        // p99 needs 10,000 requests, and a fifth more in reserve.
        for (rate, window) in [
            (50_000.0, 1),
            (12_000.0, 1),
            (11_999.0, 2),
            (6_000.0, 2),
            (2_400.0, 5),
            (1_200.0, 10),
            (400.0, 30),
        ] {
            assert_eq!(chosen(rate, &[], 30).unwrap().0, window, "{rate}");
        }
        assert_eq!(
            chosen(12_000.0, &["p99.9<50ms"], 30).unwrap().0,
            10,
            "a threshold's percentile needs more"
        );
        assert_eq!(chosen(12_000.0, &["errors<1%", "p90<50ms"], 30).unwrap().0, 1);
        assert_eq!(chosen(2_500.0, &[], 30).unwrap().1, "-d auto: 5s, by 2,500 requests/s");
    }

    #[test]
    fn a_threshold_that_no_window_has_samples_for_is_refused() {
        assert_eq!(chosen(3.0, &[], 30).unwrap().0, 30, "nobody asked for a percentile");
        assert_eq!(chosen(3.0, &["errors<1%"], 30).unwrap().0, 30);
        let (window, why) = chosen(100.0, &[], 30).unwrap();
        assert_eq!(window, 30);
        assert!(why.ends_with("; p99 takes -d 120s"), "{why}");
        assert_eq!(chosen(2_400.0, &[], 2).unwrap().0, 2, "the longest that the budget allows");
        let refused = chosen(100.0, &["p99<50ms"], 30).unwrap_err();
        assert!(refused.contains("; p99 takes -d 120s: give that -d, or leave"), "{refused}");
        assert!(chosen(100.0, &[], 0).unwrap_err().contains("windows of 1s are too long"));
        assert!(chosen(0.0, &[], 30).unwrap_err().contains("no request ended"));
    }
}
