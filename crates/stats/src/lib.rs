//! Prony's statistics: pure mathematics, no clock and no I/O. Each function cites its source; docs/statistics.md says
//! what each is held against.

pub mod batch;
pub mod change_point;
pub mod correlation;
pub mod crossing;
pub mod hodges_lehmann;
pub mod interval;
pub mod levels;
pub mod moderated;
pub mod order;
pub mod parts;
pub mod poisson;
pub mod power;
pub mod ranking;
pub mod search;
pub mod segmentation;
pub mod share;
pub mod student;
pub mod trend;

pub use interval::Interval;

pub const CONFIDENCE: f64 = 0.95;

/// A count as a float. Counts here are of samples, far below 2⁵³, where this is exact.
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

pub(crate) fn usable(values: &[f64], least: usize) -> bool {
    values.len() >= least && values.iter().all(|v| v.is_finite())
}
