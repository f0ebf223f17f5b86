//! Values that may be secret: sent as they are, and printed and stored only as far as they may be.

use std::fmt;

/// What is written instead of a secret.
pub const REDACTED: &str = "[redacted]";
/// What begins a value that is taken from the environment; the variable's name follows.
const ASKED: &str = "@env:";

/// A value that may be secret. Only [`Secret::value`] gives it; `Display` and `Debug` write `@env:NAME` for one that the
/// environment holds, [`REDACTED`] for another secret, and the value itself where it is none.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret {
    value: String,
    source: Source,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Source {
    /// No secret.
    Open,
    /// A secret that was written out where it was given.
    Given,
    /// This variable of the environment.
    Environment(String),
}

impl Secret {
    /// A header's value as it was written: `@env:NAME` is that variable's, and what carries credentials by custom is
    /// secret.
    ///
    /// # Errors
    /// A sentence, where the environment has no such variable.
    pub fn of_header(header: &str, written: &str) -> Result<Secret, String> {
        let Some(variable) = written.strip_prefix(ASKED) else {
            let source = if is_secret_by_custom(header) { Source::Given } else { Source::Open };
            return Ok(Secret { value: written.to_owned(), source });
        };
        let value = std::env::var(variable).map_err(|_| {
            format!(
                "The header {header} asks for the variable {variable}, which the environment does not have (or it is \
                 not text): set it."
            )
        })?;
        Ok(Secret { value, source: Source::Environment(variable.to_owned()) })
    }

    /// A value that is never written.
    pub fn hidden(value: impl Into<String>) -> Secret {
        Secret { value: value.into(), source: Source::Given }
    }

    /// The value itself: to be sent, and nothing else.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Keeps it from being written from now on.
    pub fn hide(&mut self) {
        if self.source == Source::Open {
            self.source = Source::Given;
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Open => f.write_str(&self.value),
            Source::Given => f.write_str(REDACTED),
            Source::Environment(variable) => write!(f, "{ASKED}{variable}"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// Hides the values of the headers of these names, in any case.
pub fn hide_headers(headers: &mut [(String, Secret)], names: &[String]) {
    let asked = |header: &str| names.iter().any(|name| name.eq_ignore_ascii_case(header));
    headers.iter_mut().filter(|(name, _)| asked(name)).for_each(|(_, value)| value.hide());
}

/// Whether a header carries credentials by custom.
pub fn is_secret_by_custom(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    matches!(lower.as_str(), "authorization" | "proxy-authorization" | "cookie")
        || ["key", "token", "secret", "password"].iter().any(|word| lower.contains(word))
}

/// Whether a header's value is never written: by custom, or because somebody asked for it (`--redact`).
pub fn is_secret(name: &str, redact: &[String]) -> bool {
    is_secret_by_custom(name) || redact.iter().any(|r| r.eq_ignore_ascii_case(name))
}

/// Whether a header's value is asked of the environment.
pub fn is_asked_for(value: &str) -> bool {
    value.trim().starts_with(ASKED)
}

/// A header whose value is asked of the environment instead of written: `X-Api-Key: @env:X_API_KEY`.
pub fn asked_for(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{name}: {ASKED}{}", name.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_as_its_source_and_never_as_its_value() {
        // What every test process has.
        let path = std::env::var("PATH").unwrap();
        let from_environment = Secret::of_header("X-Own", "@env:PATH").unwrap();
        assert_eq!(
            (from_environment.value(), from_environment.to_string()),
            (&*path, "@env:PATH".to_owned())
        );
        let given = Secret::of_header("authorization", "Bearer s3").unwrap();
        assert_eq!(
            (given.value(), format!("{given} {given:?}")),
            ("Bearer s3", "[redacted] \"[redacted]\"".into())
        );
        let mut open = Secret::of_header("Accept", "*/*").unwrap();
        assert_eq!((open.value(), open.to_string()), ("*/*", "*/*".to_owned()));
        open.hide();
        assert_eq!((open.value(), open.to_string()), ("*/*", "[redacted]".to_owned()));
        let unset = Secret::of_header("A", "@env:PRONY_NO_SUCH_VARIABLE").unwrap_err();
        assert!(unset.contains("PRONY_NO_SUCH_VARIABLE"), "{unset}");
    }
}
