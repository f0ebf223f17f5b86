//! The window in batches, and how surely they know what they have in common.

use prony_model::measurement::{BIN_NS, Measurement};
use prony_stats::CONFIDENCE;
use prony_stats::batch::{BATCHES_MIN, Remembered, batch_interval_with};
use prony_stats::interval::Interval;

use crate::batches::{Batch, merge};
use crate::dependence::Steps;

/// The most batches of a window: 20 to 30 keep a t interval's factor within
/// 7 % of its limit, and each batch as long as can be, so that neighbours
/// resemble each other little (Schmeiser (1982), *Batch size effects in the
/// analysis of simulation output*, Operations Research 30(3)). A short window
/// has as many batches of whole bins as it holds: resemblance can be estimated
/// and corrected for from many short batches, and not from few long ones.
const BATCHES: usize = 20;

/// A window's batches, and for how long its answers resemble each other.
pub(crate) struct Level {
    /// Empty where [`Level::interval`] has a reason to give none.
    pub(crate) batches: Vec<Batch>,
    window_ns: u64,
    steps: Option<Steps>,
}

/// Whose figure a batch's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// The times that answers took: what is known of their memory is known of it.
    Answers,
    /// Something that slow answers make less of, and other things too.
    Rate,
}

impl Level {
    /// Of the measurement's window, this long.
    pub(crate) fn of(m: &Measurement, window_ns: u64) -> Level {
        let whole_bins = usize::try_from(window_ns / BIN_NS).unwrap_or(usize::MAX);
        let count = (whole_bins / whole_bins.div_ceil(BATCHES).max(1)).max(BATCHES_MIN);
        Level { batches: merge(&m.bins, window_ns, count), window_ns, steps: Steps::of(m) }
    }

    /// The interval of the mean of these values, one of each batch. What is remembered is seen best in the answers'
    /// times, whose steps widen it.
    ///
    /// # Errors
    /// Why there is none, and what would give one.
    #[expect(clippy::cast_precision_loss, reason = "batches of a window, 20 at most")]
    pub(crate) fn interval(&self, values: &[f64], of: Of) -> Result<Interval, &'static str> {
        if self.window_ns < BATCHES_MIN as u64 * BIN_NS {
            return Err("the window is shorter than five batches of 100 ms: give -d at least 500ms");
        }
        let known = self.steps.map_or_else(Remembered::default, |steps| {
            let each = steps.count / values.len().max(1) as f64;
            let inflation = if of == Of::Answers { steps.memory.inflation(each) } else { 1.0 };
            Remembered { decay: steps.memory.decay(each), inflation }
        });
        batch_interval_with(values, known, CONFIDENCE)
            .ok_or("without -d only the first hour is kept in batches: give -d")
    }
}
