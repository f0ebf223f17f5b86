//! The command line of a run, for its record: what is secret is not in it.

use prony_model::secret::{REDACTED, typed};
use prony_report::command::shell_word;

use crate::failure::Failure;
use crate::words;

/// This process' own, without its secrets and the values of the headers called in `redact`.
pub(crate) fn own(redact: &[String]) -> String {
    typed(words::all().iter().skip(1).cloned(), redact)
}

/// Refuses this process' own, if Prony has printed it and a secret is still to be written in it.
pub(crate) fn check_own() -> Result<(), Failure> {
    check(words::all().iter().skip(1).cloned())
}

fn check(mut arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    match arguments.find(|argument| argument.contains(REDACTED)) {
        None => Ok(()),
        Some(argument) => Err(Failure::usage(format!(
            "{REDACTED} stands for a secret in {}: write the secret there again, or, to read it from the \
             environment, @env:NAME in a URL or a body and $NAME in a command.",
            shell_word(&argument)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_secret_to_be_written_is_refused_naming_where() {
        let checked = |arguments: &[&str]| check(arguments.iter().map(ToString::to_string));
        assert!(checked(&["load", "http://h/?key=@env:KEY", "-b", "a"]).is_ok());
        let refused = checked(&["load", "http://h/?key=[redacted]"]).unwrap_err();
        assert_eq!(refused.code, crate::failure::USAGE);
        assert!(
            refused.message.contains("in 'http://h/?key=[redacted]': write the secret"),
            "{}",
            refused.message
        );
    }
}
