//! `-d auto`: the shortest window in which each percentile that a run names has its samples at a pilot's rate.

use std::time::Duration;

use prony_model::units::show_duration;

use crate::figure::Figure;
use crate::numbers::real;
use crate::slo::{Objective, Slo};
use crate::summary::BEYOND_MIN;
use crate::text::digits;

/// The windows to choose from.
const WINDOWS: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
];

/// A pilot's window.
pub const PILOT: Duration = WINDOWS[0];

/// Blocks that are to fit the budget: as many as a comparison is advised to have.
pub const BLOCKS: u32 = 6;

/// So many times the requests that are needed: a window may be slower than the pilot.
const RESERVE: f64 = 1.2;

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub window: Duration,
    /// By what, in a sentence.
    pub why: String,
}

/// Chooses for a rate of requests per second that a `source` gives; `fits` says whether six blocks of a window fit the
/// budget. p50 and p99 are in every first line: where no window that fits has their samples the longest is taken, and what
/// they will lack is said. Where a threshold's percentile would lack them there is none, which is the sentence.
pub fn choose(
    (rate_per_s, source): (f64, &str),
    slos: &[Slo],
    fits: &dyn Fn(Duration) -> bool,
) -> Result<Chosen, String> {
    let rate = format!("{} requests/s, {source}", digits(rate_per_s));
    if rate_per_s <= 0.0 {
        return Err(
            "-d auto: no request ended in the load before the run: give a time, as -d 10s.".to_owned()
        );
    }
    let Some(longest) = WINDOWS.into_iter().rev().find(|window| fits(*window)) else {
        return Err(format!(
            "-d auto: {BLOCKS} blocks of {} do not fit the budget: give more --budget, or fewer --blocks and a -d.",
            show_duration(WINDOWS[0])
        ));
    };
    let of_slos = slos.iter().filter_map(|slo| match slo.objective {
        Objective::Percentile { quantile, .. } => Some(quantile),
        Objective::Figure(figure) => figure.quantile(),
        Objective::Max => None,
    });
    // What the highest needs is enough for the others.
    let asked = of_slos.fold(0.0, f64::max);
    let all = Figure::P99.quantile().unwrap_or_default().max(asked);
    let requests = |quantile: f64| real(BEYOND_MIN) / (1.0 - quantile);
    let needs = |quantile: f64| Duration::from_secs_f64((RESERVE * requests(quantile) / rate_per_s).min(1e9));
    let name = |quantile: f64| format!("p{}", (quantile * 1e8).round() / 1e6);
    let takes = |quantile: f64| {
        let whole = requests(quantile).round();
        format!("{} takes {} requests, -d {}s", name(quantile), digits(whole), needs(quantile).as_secs() + 1)
    };
    let enough = WINDOWS.into_iter().find(|window| fits(*window) && *window >= needs(all));
    if let Some(window) = enough {
        let why = format!("-d auto: {}, by {rate}", show_duration(window));
        return Ok(Chosen { window, why });
    }
    if longest < needs(asked) {
        return Err(format!(
            "-d auto: at {rate}, {}; the longest window that fits is {}: give that -d, or leave the threshold out.",
            takes(asked),
            show_duration(longest)
        ));
    }
    let why = format!(
        "-d auto: {}, the longest that fits; at {rate}, {}, and it is withheld",
        show_duration(longest),
        takes(all)
    );
    Ok(Chosen { window: longest, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rate: f64, slos: &[&str], longest_s: u64) -> Result<(u64, String), String> {
        let slos: Vec<Slo> = slos.iter().map(|text| Slo::parse(text).unwrap()).collect();
        let fits = |window: Duration| window.as_secs() <= longest_s;
        choose((rate, "by the pilot"), &slos, &fits).map(|chosen| (chosen.window.as_secs(), chosen.why))
    }

    #[test]
    fn the_shortest_window_is_taken_in_which_each_named_percentile_has_its_samples() {
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
        assert_eq!(chosen(2_500.0, &[], 30).unwrap().1, "-d auto: 5s, by 2,500 requests/s, by the pilot");
    }

    #[test]
    fn what_no_window_has_samples_for_is_said_and_of_a_threshold_refused() {
        let (window, why) = chosen(100.0, &[], 30).unwrap();
        assert_eq!(window, 30);
        assert!(why.contains("p99 takes 10,000 requests, -d 121s, and it is withheld"), "{why}");
        assert_eq!(chosen(2_400.0, &[], 2).unwrap().0, 2, "the longest that the budget allows");
        let refused = chosen(100.0, &["p99<50ms"], 30).unwrap_err();
        assert!(refused.contains("-d 121s; the longest window that fits is 30s"), "{refused}");
        assert!(chosen(100.0, &[], 0).unwrap_err().contains("6 blocks of 1s do not fit the budget"));
        assert!(chosen(0.0, &[], 30).unwrap_err().contains("no request ended"));
    }
}
