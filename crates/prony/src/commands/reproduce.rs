//! The command line of a run, for its record: what is secret is not in it.

use prony_model::secret::{REDACTED, typed};
use prony_report::command::shell_word;

use crate::failure::Failure;
use crate::words;

/// This process' own, without its secrets and the values of the headers called in `redact`.
pub(crate) fn own(redact: &[String]) -> String {
    typed(words::all().iter().skip(1).cloned(), redact)
}

/// This process' own with this window in the place of `-d auto`.
pub(crate) fn with_window(redact: &[String], window: &str) -> String {
    typed(windowed(words::all().iter().skip(1), window).into_iter(), redact)
}

fn windowed<'a>(words: impl Iterator<Item = &'a String>, window: &str) -> Vec<String> {
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('d');
    let mut before = "";
    let in_place = |word: &'a String| {
        let is_value = before == "--duration" || is_short(before);
        before = word;
        match word.strip_suffix("auto") {
            Some("") if is_value => window.to_owned(),
            Some(flag) if flag == "--duration=" || is_short(flag) => format!("{flag}{window}"),
            _ => word.clone(),
        }
    };
    words.map(in_place).collect()
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
    fn a_chosen_window_replaces_only_auto_however_it_is_written() {
        for auto in [
            &["-d", "auto"][..],
            &["-dauto"],
            &["--duration", "auto"],
            &["--duration=auto"],
            &["-kd", "auto"],
        ] {
            let line =
                [&["bench", "--candidate", "a=php -d auto_prepend_file=x {port}", "auto"], auto].concat();
            let line: Vec<String> = line.iter().map(ToString::to_string).collect();
            let said = windowed(line.iter(), "5s").join(" ");
            let expected = line.join(" ");
            let (kept, end) = expected.rsplit_once("auto").unwrap();
            assert_eq!(said, format!("{kept}5s{end}"));
        }
    }

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
