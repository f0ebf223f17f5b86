//! Figures inside sentences.

use std::borrow::Borrow;

use prony_model::printable::thousands;
use prony_model::unit::Unit;

use crate::numbers::{real, rounded};

/// A duration with three significant digits and the unit that suits it: `53.0 ms`.
pub(crate) fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (real(ns) / 1e3, "µs"),
        1_000_000..1_000_000_000 => (real(ns) / 1e6, "ms"),
        _ => (real(ns) / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Three significant digits below a thousand, whole numbers with commas from there: `3.10`, `21,400`.
pub(crate) fn digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 999.5 {
        return grouped(value);
    }
    let decimals = match magnitude {
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// A ratio with two digits below ten: `3.1`, `0.94`, `12`.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        v if v >= 9.95 => grouped(v),
        v if v >= 0.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A share in percent: `1.20 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

fn grouped(value: f64) -> String {
    let whole = format!("{:.0}", value.abs());
    let whole = whole.parse().map_or(whole, thousands);
    if value < 0.0 { format!("-{whole}") } else { whole }
}

/// A figure's value as people read it: `1.20 ms`, `53.1 MB`, `416,100 req/s`.
pub(crate) fn with_unit(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Milliseconds | Unit::Microseconds => duration(rounded(value)),
        Unit::Share => percent(value),
        Unit::Megabytes | Unit::MegabytesPerS => format!("{} {}", digits(value / 1e6), unit.shown()),
        Unit::RequestsPerS | Unit::RequestsPerCpuS | Unit::Ratio | Unit::Count => {
            format!("{} {}", digits(value), unit.shown()).trim_end().to_owned()
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(words: &[impl Borrow<str>]) -> String {
    match words {
        [] => String::new(),
        [only] => only.borrow().to_owned(),
        [first @ .., last] => format!("{} and {}", first.join(", "), last.borrow()),
    }
}

/// [`list`] of few; of more than three, two and how many there are besides: `a, b and 4 more`.
pub(crate) fn shortened(words: &[impl Borrow<str>], besides: &str) -> String {
    match words {
        [a, b, _, _, ..] => format!("{}, {} and {} {besides}", a.borrow(), b.borrow(), words.len() - 2),
        few => list(few),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit_that_suits_them() {
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(53_000_000), "53.0 ms");
        assert_eq!(duration(1_500_000_000), "1.50 s");
        assert_eq!(duration(1_234), "1.23 µs");
        assert_eq!(digits(999.7), "1,000");
        assert_eq!(digits(21_400.4), "21,400");
        assert_eq!(digits(1_234_567.0), "1,234,567");
        assert_eq!(digits(99.97), "100");
        assert_eq!(ratio(3.104), "3.1");
        assert_eq!(ratio(0.936), "0.94");
        assert_eq!(ratio(12.4), "12");
        assert_eq!(percent(0.012), "1.20 %");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(shortened(&["a", "b", "c"], "more"), "a, b and c");
        assert_eq!(shortened(&["a", "b", "c", "d"], "more"), "a, b and 2 more");
    }
}
