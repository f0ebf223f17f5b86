//! What ends a command early: a sentence and an exit code.

use prony_load::LoadError;

/// A threshold asked for was missed.
pub(crate) const MISSED: u8 = 1;
/// The command or a file is wrong.
pub(crate) const USAGE: u8 = 2;
/// The target could not be loaded, or nothing valid was measured.
pub(crate) const NOT_MEASURED: u8 = 3;
/// Interrupted by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) struct Failure {
    /// For the user; empty when everything was said already.
    pub(crate) sentence: String,
    /// The exit code.
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn usage(sentence: impl std::fmt::Display) -> Failure {
        Failure { sentence: sentence.to_string(), code: USAGE }
    }

    pub(crate) fn not_measured(sentence: impl std::fmt::Display) -> Failure {
        Failure { sentence: sentence.to_string(), code: NOT_MEASURED }
    }

    /// Interrupted, and everything said.
    pub(crate) fn interrupted() -> Failure {
        Failure { sentence: String::new(), code: INTERRUPTED }
    }

    /// A threshold asked for was missed, and everything said.
    pub(crate) fn missed() -> Failure {
        Failure { sentence: String::new(), code: MISSED }
    }

    /// Nothing valid was measured, and everything said.
    pub(crate) fn nothing_valid() -> Failure {
        Failure { sentence: String::new(), code: NOT_MEASURED }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        let code = match error {
            LoadError::Plan(_) | LoadError::OpenFiles { .. } => USAGE,
            LoadError::Interrupted => INTERRUPTED,
            LoadError::Resolve { .. }
            | LoadError::Unreachable { .. }
            | LoadError::WarmUpTookAll
            | LoadError::System(..)
            | LoadError::Internal(_) => NOT_MEASURED,
        };
        Failure { sentence: error.to_string(), code }
    }
}

impl From<prony_model::units::UnitError> for Failure {
    fn from(error: prony_model::units::UnitError) -> Failure {
        Failure::usage(error)
    }
}

impl From<prony_model::run_log::RunLogError> for Failure {
    fn from(error: prony_model::run_log::RunLogError) -> Failure {
        Failure::usage(error)
    }
}
