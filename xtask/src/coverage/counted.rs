//! A count of simulated runs, held against what is promised of it.

use serde::Serialize;

use super::trials::real;

/// What is promised of a share of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// Shown, and promised nothing of.
    None,
}

/// In how many of some runs something happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Counted {
    pub(crate) situation: String,
    /// What was counted.
    pub(crate) what: &'static str,
    /// The runs in which it could have happened.
    pub(crate) runs: u64,
    pub(crate) count: u64,
    pub(crate) bar: Bar,
}

/// A count misses its bar where it would be so far off in under 1 % of cases at exactly the bar.
const BEYOND_CHANCE: f64 = 0.01;

impl Counted {
    /// The share of runs.
    pub(crate) fn share(&self) -> f64 {
        real(self.count) / real(self.runs.max(1))
    }

    /// Whether the bar is missed by more than chance explains. A row that counted no run at all has shown nothing.
    pub(crate) fn is_missed(&self) -> bool {
        let at_most = |k: u64, p: f64| at_most(k, self.runs, p);
        match self.bar {
            Bar::None => false,
            _ if self.runs == 0 => true,
            Bar::AtLeast(p) => at_most(self.count, p) < BEYOND_CHANCE,
            Bar::AtMost(p) => {
                self.count > 0 && 1.0 - at_most(self.count - 1, p) < BEYOND_CHANCE
            }
        }
    }
}

/// P(X ≤ k) for X binomial of n and p, by its terms' logarithms.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let odds = (p / (1.0 - p)).ln();
    let mut term = real(n) * (1.0 - p).ln();
    let mut sum = 0.0;
    for i in 0..=k.min(n) {
        sum += term.exp();
        term += (real(n - i) / real(i + 1)).ln() + odds;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_misses_its_bar_only_beyond_chance() {
        let of = |count, runs, bar| Counted { situation: String::new(), what: "", runs, count, bar };
        // Of 20,000 at 5 %: 1,000 ± 31, and 1 % beyond 1,072.
        assert!(!of(1_070, 20_000, Bar::AtMost(0.05)).is_missed());
        assert!(of(1_076, 20_000, Bar::AtMost(0.05)).is_missed());
        assert!(!of(18_600, 20_000, Bar::AtLeast(0.93)).is_missed());
        assert!(of(18_500, 20_000, Bar::AtLeast(0.93)).is_missed());
        assert!(!of(0, 20_000, Bar::AtMost(0.05)).is_missed() && of(0, 20_000, Bar::AtLeast(0.05)).is_missed());
        assert!(of(0, 0, Bar::AtMost(0.05)).is_missed() && !of(0, 0, Bar::None).is_missed());
        assert!((at_most(2, 10, 0.5) - 56.0 / 1024.0).abs() < 1e-12);
    }
}
