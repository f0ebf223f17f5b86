//! From a value to a place on an axis, and which values an axis names.

use prony_model::unit::Unit;

use crate::{format, words};

const TICKS: f64 = 4.0;
/// Decades of a percentile's axis: to p99.9999.
const DECADES: i32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Quantiles from 0 to 1, each decade ten times rarer.
    Percentile,
    /// Nanoseconds, by logarithm.
    Duration,
    Seconds,
    /// Seconds since 1970.
    Time,
    /// A figure, from 0 or over the range that it has.
    Figure(Unit, bool),
}

pub(crate) struct Axis {
    scale: Scale,
    /// Both as [`Scale::even`] has them; they differ.
    low: f64,
    high: f64,
}

impl Scale {
    /// What is evenly spaced on it; `None` where it has no place for a value.
    fn even(self, value: f64) -> Option<f64> {
        let even = match self {
            Scale::Percentile => -(1.0 - value).log10(),
            Scale::Duration => value.log10(),
            Scale::Seconds | Scale::Time | Scale::Figure(..) => value,
        };
        even.is_finite().then_some(even)
    }

    pub(super) fn over(self, values: impl Iterator<Item = f64>) -> Option<Axis> {
        let ends = values.filter_map(|value| self.even(value));
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            return None;
        }
        let spread = if high > low { high - low } else { high.abs().max(1.0) };
        let (low, high) = match self {
            Scale::Percentile | Scale::Seconds => (low.min(0.0), high.max(low + spread)),
            Scale::Time => (low, high.max(low + 1.0)),
            Scale::Duration => (low - 0.05 * spread, high + 0.05 * spread),
            Scale::Figure(_, true) => (low.min(0.0), high + 0.05 * spread),
            Scale::Figure(_, false) => (low - 0.15 * spread, high + 0.15 * spread),
        };
        // Beyond what a double tells apart there is no axis.
        (high > low && (high - low).is_finite()).then_some(Axis { scale: self, low, high })
    }
}

impl Axis {
    /// A share of the axis, 0 to 1.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let share = (self.scale.even(value)? - self.low) / (self.high - self.low);
        (-1e-6..=1.0 + 1e-6).contains(&share).then_some(share.clamp(0.0, 1.0))
    }

    /// The values that are named, each with its name.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Percentile => {
                const NAMES: [&str; DECADES as usize + 1] =
                    ["p0", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999"];
                let named = (0..=DECADES).zip(NAMES);
                named.map(|(nines, name)| (1.0 - 10_f64.powi(-nines), name.to_owned())).collect()
            }
            Scale::Duration => self.logarithmic(),
            Scale::Seconds => self.even_steps().map(|at| (at, format!("{} s", format::si(at)))).collect(),
            Scale::Time => {
                let ends = [self.low, self.high];
                ends.into_iter().filter_map(|at| Some((at, words::day(at)?))).collect()
            }
            Scale::Figure(unit, _) => self.even_steps().map(|at| (at, short(unit, at))).collect(),
        }
    }

    /// 1, 2 or 5 times a power of ten, so that about [`TICKS`] of them fit.
    fn even_steps(&self) -> impl Iterator<Item = f64> {
        let rough = (self.high - self.low) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough).max(f64::MIN_POSITIVE);
        let (low, high, first) = (self.low, self.high, (self.low / step).ceil());
        (0..=10).map(move |nth| (first + f64::from(nth)) * step).filter(move |at| (low..=high).contains(at))
    }

    /// Powers of ten; within few of them also 2 and 5 times each.
    fn logarithmic(&self) -> Vec<(f64, String)> {
        let decades = self.high - self.low;
        let factors: &[f64] = match decades {
            few if few < 1.2 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            some if some < 2.5 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let every = (decades / TICKS).ceil().max(1.0);
        let shown = powers.filter(|power| f64::from(*power).rem_euclid(every) < 0.5);
        let values = shown.flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        let within = values.filter(|value| (self.low..=self.high).contains(&value.log10()));
        within.map(|value| (value, format::short_duration(value))).collect()
    }
}

/// `13.6k`, `1.2 ms`: within the room of an axis.
fn short(unit: Unit, value: f64) -> String {
    match unit {
        Unit::RequestsPerS | Unit::RequestsPerCpuS | Unit::Count => format::si(value),
        Unit::Milliseconds | Unit::Microseconds => format::short_duration(value),
        _ => words::with_unit(unit, value),
    }
}
