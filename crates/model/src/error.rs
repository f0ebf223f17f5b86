//! Why what somebody asked for cannot be done.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

pub(crate) fn wrong<T>(sentence: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError(sentence.into()))
}
