//! What ends a command early: a message and an exit code.

use prony_load::LoadError;

pub(crate) const MISSED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const NOT_MEASURED: u8 = 3;
/// A figure that a gate names was withheld or missing: nothing was held to its limit.
pub(crate) const NOT_JUDGED: u8 = 4;
pub(crate) const INTERRUPTED: u8 = 130;

#[derive(Debug)]
pub(crate) struct Failure {
    /// A sentence for the user; empty where everything is printed already.
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn usage(message: impl std::fmt::Display) -> Failure {
        Failure { message: message.to_string(), code: USAGE }
    }

    pub(crate) fn not_measured(message: impl std::fmt::Display) -> Failure {
        Failure { message: message.to_string(), code: NOT_MEASURED }
    }

    pub(crate) fn code(code: u8) -> Failure {
        Failure { message: String::new(), code }
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
            | LoadError::Fleet(_)
            | LoadError::AgentLost(_)
            | LoadError::System(..)
            | LoadError::Internal(_) => NOT_MEASURED,
        };
        Failure { message: error.to_string(), code }
    }
}

impl From<prony_model::PlanError> for Failure {
    fn from(error: prony_model::PlanError) -> Failure {
        Failure::usage(error)
    }
}

impl From<prony_model::run_log::RunLogError> for Failure {
    fn from(error: prony_model::run_log::RunLogError) -> Failure {
        Failure::usage(error)
    }
}
