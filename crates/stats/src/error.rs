//! Why there is no answer: every input that a method cannot be used on.

/// What stands in a method's way. Nothing here is ever returned as NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StatsError {
    /// Fewer values than the method's own least.
    #[error("{have} values are too few: this needs {need}")]
    TooFew {
        /// Values there are.
        have: usize,
        /// Values that it takes.
        need: usize,
    },
    /// More values than are worth their time.
    #[error("{have} values are too many: this takes {limit} at most")]
    TooMany {
        /// Values there are.
        have: usize,
        /// The most it takes.
        limit: usize,
    },
    /// A value is NaN or infinite.
    #[error("a value is not a finite number")]
    NotFinite,
    /// All values are equal.
    #[error("all values are equal: there is no spread to judge by")]
    NoSpread,
    /// Two lists that belong together differ in length.
    #[error("the lists differ in length: {left} and {right}")]
    Lengths {
        /// Length of the first.
        left: usize,
        /// Length of the other.
        right: usize,
    },
    /// A setting is outside its range.
    #[error("{what} must be {range}")]
    OutOfRange {
        /// The setting.
        what: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// The result is beyond what a float holds.
    #[error("the values are so far apart that the result is beyond a float's range")]
    Overflow,
}

/// What a method gives.
pub type Result<T> = std::result::Result<T, StatsError>;

/// Refuses fewer than `need` values and such as are not finite.
pub(crate) fn checked(values: &[f64], need: usize) -> Result<()> {
    if values.len() < need {
        return Err(StatsError::TooFew { have: values.len(), need });
    }
    if values.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(StatsError::NotFinite) }
}

/// Refuses more than `limit` values.
pub(crate) fn bounded(have: usize, limit: usize) -> Result<()> {
    if have > limit { Err(StatsError::TooMany { have, limit }) } else { Ok(()) }
}

/// Refuses a result that overflowed on the way.
pub(crate) fn finite(value: f64) -> Result<f64> {
    if value.is_finite() { Ok(value) } else { Err(StatsError::Overflow) }
}

/// Refuses what is no probability strictly between 0 and 1.
pub(crate) fn open_share(what: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(StatsError::OutOfRange { what, range: "between 0 and 1" })
    }
}

/// Refuses what is not above 0 and finite.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(StatsError::OutOfRange { what, range: "above 0 and finite" })
    }
}
