//! Why what somebody asked for cannot be done.

/// Why a plan, its URL or a part of it as it was written, cannot be: a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

pub(crate) fn wrong<T>(sentence: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError(sentence.into()))
}
