//! Values that may be secret: sent as they are, printed and stored only as far as they may be. A [`Secret`] is written
//! as where it came from; this process's secrets are known, too, so that texts from outside lose them: see
//! [`redacted`].

mod known;
mod named;
mod typed;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use known::names_asked_for;
pub(crate) use known::{percent_bytes, remember_body, remember_credentials, remember_listed, remember_url};
pub use typed::typed;
pub(crate) use typed::typed_again;

/// What is written instead of a secret.
pub const REDACTED: &str = "[redacted]";
/// What begins a value that is taken from the environment; the variable's name follows.
pub(crate) const ASKED: &str = "@env:";
/// What has a name with one of these parts, in any case, is secret: a header, a parameter, a field.
const SECRET_PARTS: [&str; 13] = [
    "auth",
    "cookie",
    "credential",
    "jwt",
    "key",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "secret",
    "session",
    "signature",
    "token",
];

/// Whether headers, whose values may be secret, have one of this name.
pub fn gives<V>(headers: &[(String, V)], name: &str) -> bool {
    headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
}

/// Only [`Secret::value`] gives it; `Display` and `Debug` write `@env:NAME`, [`REDACTED`], or an open value as
/// [`redacted_command`] does.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret {
    value: String,
    source: SecretSource,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum SecretSource {
    Open,
    /// A secret that was written out where it was given.
    Given,
    Environment(String),
}

impl Secret {
    /// A header's value: `@env:NAME` is that variable's, and what carries credentials by custom is secret.
    pub fn of_header(header: &str, written: &str) -> Result<Secret, String> {
        Secret::of(header, written, remember_credentials)
    }

    /// The same of a list, which may have a million: the first of them are looked for in texts.
    pub(crate) fn of_listed(header: &str, written: &str) -> Result<Secret, String> {
        Secret::of(header, written, remember_listed)
    }

    fn of(header: &str, written: &str, remember: fn(&str)) -> Result<Secret, String> {
        if let Some(variable) = written.strip_prefix(ASKED) {
            let value = from_environment(&format!("The header {header}"), variable)?;
            remember(&value);
            return Ok(Secret { value, source: SecretSource::Environment(variable.to_owned()) });
        }
        let mut secret = Secret { value: written.to_owned(), source: SecretSource::Open };
        if is_secret_by_custom(header) {
            secret.hide_by(remember);
        }
        Ok(secret)
    }

    pub fn hidden(value: impl Into<String>) -> Secret {
        Secret { value: value.into(), source: SecretSource::Given }
    }

    pub(crate) fn from_parts(value: String, source: SecretSource) -> Secret {
        Secret { value, source }
    }

    pub(crate) fn source(&self) -> &SecretSource {
        &self.source
    }

    pub fn value(&self) -> &str {
        &self.value
    }

    pub fn is_hidden(&self) -> bool {
        self.source != SecretSource::Open
    }

    /// Keeps it from being written from now on.
    pub fn hide(&mut self) {
        self.hide_by(remember_credentials);
    }

    fn hide_by(&mut self, remember: fn(&str)) {
        if self.source == SecretSource::Open {
            self.source = SecretSource::Given;
            remember(&self.value);
        }
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            // It may be a URL (`Referer`).
            SecretSource::Open => f.write_str(&redacted_command(&self.value)),
            SecretSource::Given => f.write_str(REDACTED),
            SecretSource::Environment(variable) => write!(f, "{ASKED}{variable}"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

pub(crate) fn hide_headers(headers: &mut [(String, Secret)], names: &[String], remember: fn(&str)) {
    let named = headers.iter_mut().filter(|(name, _)| is_secret(name, names));
    named.for_each(|(_, value)| value.hide_by(remember));
}

/// Whether what is called so is secret by custom.
pub fn is_secret_by_custom(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    // `dbPass` has it as a word, too.
    let is_word = words.any(|word| word == "pass") || name.ends_with("Pass");
    is_word || SECRET_PARTS.iter().any(|part| lower.contains(part))
}

/// Whether a header's value is never written: by custom, or because somebody asked for it (`--redact`).
pub fn is_secret(name: &str, redact: &[String]) -> bool {
    is_secret_by_custom(name) || redact.iter().any(|r| r.eq_ignore_ascii_case(name))
}

pub fn is_asked_for(value: &str) -> bool {
    value.trim().starts_with(ASKED)
}

/// A header whose value is asked of the environment instead of written: `X-Api-Key: @env:X_API_KEY`.
pub(crate) fn asked_for(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{name}: {ASKED}{}", name.chars().map(plain).collect::<String>())
}

fn from_environment(asker: &str, variable: &str) -> Result<String, String> {
    let value = std::env::var(variable).map_err(|_| {
        format!(
            "{asker} needs the environment variable {variable}, which is not set (or is not text): set it."
        )
    })?;
    known::remember_variable(variable, &value);
    Ok(value)
}

/// A text as somebody wrote it, or what the environment holds of `@env:NAME`, which `asker` (`-b`) asks for.
pub fn text_or_variable(asker: &str, written: &str) -> Result<String, String> {
    match written.strip_prefix(ASKED) {
        Some(variable) => from_environment(asker, variable),
        None => Ok(written.to_owned()),
    }
}

/// A part of a URL with each `@env:NAME`'s value; percent-encoded in a path, so that any value can stand there.
pub fn filled_in(url: &str, is_path: bool) -> Result<String, String> {
    let mut out = String::with_capacity(url.len());
    let mut rest = url;
    while let Some((before, after)) = rest.split_once(ASKED) {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (variable, behind) = after.split_at(end);
        let value = from_environment("The URL", variable)?;
        out.push_str(before);
        if is_path {
            out.push_str(&percent_encoded(&value));
        } else if value.contains(|c: char| "/?#@".contains(c) || c.is_whitespace() || c.is_control()) {
            return Err(format!(
                "The value of {variable} cannot stand before a URL's path (it has a blank or one of / ? # @): give it as \
                 -H 'Authorization: @env:NAME'."
            ));
        } else {
            // It stands for itself, and a user and password are decoded.
            out.push_str(&value.replace('%', "%25"));
        }
        rest = behind;
    }
    Ok(out + rest)
}

/// All but RFC 3986's unreserved characters as `%2F`.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A text from outside as it may be shown and stored: without this process' secrets, URLs' user and password, and
/// values of fields with secret names (`token=…`, `"password": "…"`). The same again when it is done twice.
pub fn redacted(text: &str) -> String {
    without_fields(&known::without(text))
}

/// A command or a header as it may be shown and stored: the same, but of fields only those in URLs.
pub fn redacted_command(command: &str) -> String {
    in_urls(&known::without(command))
}

/// What is secret in the URLs of a command: its server may say it.
pub fn remember_command(command: &str) {
    for (at, sign) in command.match_indices("://") {
        if let Some((userinfo, _)) = authority(&command[at + sign.len()..]).rsplit_once('@') {
            remember_credentials(userinfo);
        }
    }
}

/// A text without the user and password of URLs, and without the values of fields with secret names.
pub(crate) fn without_fields(text: &str) -> String {
    named::without(&in_urls(text))
}

pub fn has_secret_field(text: &str) -> bool {
    named::values(text).next().is_some()
}

/// The header lines of a request or an answer without the values of those that are secret.
pub fn redacted_head(head: &str) -> String {
    let mut out = String::with_capacity(head.len());
    let mut is_secret = false;
    for line in head.split_inclusive('\n') {
        // A folded line goes on with the value before it.
        if !line.starts_with([' ', '\t']) {
            let name = line.split_once(':').map_or("", |(name, _)| name);
            let is_token = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            is_secret = is_token && is_secret_by_custom(name);
            if is_secret {
                let end = &line[line.trim_end_matches(['\r', '\n']).len()..];
                out.push_str(&format!("{name}: {REDACTED}{end}"));
            }
        }
        if !is_secret {
            out.push_str(line);
        }
    }
    out
}

/// URLs, wherever they stand in a text, without user and password, and without the values of parameters with secret
/// names. A user and a password that the environment is asked for stay.
fn in_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let authority = authority(after);
        let behind = &after[authority.len()..];
        match authority.rsplit_once('@') {
            Some((userinfo, host)) if !userinfo.contains(ASKED) => {
                out.push_str(&format!("{REDACTED}@{host}"));
            }
            _ => out.push_str(authority),
        }
        let end = behind.find(|c: char| "'\"".contains(c) || c.is_whitespace()).unwrap_or(behind.len());
        // A URL may stand in another's query.
        let (path, behind) = behind.split_at(behind.find("://").map_or(end, |at| at.min(end)));
        out.push_str(&named::without(path));
        rest = behind;
    }
    out + rest
}

/// What stands between a URL's `://` and its path.
fn authority(url: &str) -> &str {
    let end = url.find(|c: char| "/?#".contains(c) || c.is_whitespace()).unwrap_or(url.len());
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_by_their_parts_in_any_case() {
        let headers = ["Authorization", "X-AUTHORIZATION", "x-auth", "Set-Cookie", "X-Signature"];
        let fields = ["session_id", "credentials", "jwt", "access_token", "apiKey", "Password", "SECRET"];
        let passwords = ["passwd", "DB_PASSWD", "pwd", "pgPwd", "pass", "user-pass", "dbPass", "passphrase"];
        for name in headers.into_iter().chain(fields).chain(passwords) {
            assert!(is_secret_by_custom(name), "{name}");
        }
        for name in ["Accept", "Host", "User-Agent", "Content-Type", "X-Own", "passage", "bypass", ""] {
            assert!(!is_secret_by_custom(name), "{name}");
        }
    }

    #[test]
    fn texts_from_outside_are_shown_without_passwords_and_secrets() {
        for (text, shown) in [
            ("no postgres://me:s3cret@h/db", "no postgres://[redacted]@h/db"),
            ("http://me:@env:PW@h/?token=s&a=b c", "http://me:@env:PW@h/?token=[redacted]&a=b c"),
            ("a http://h/ b password=s c", "a http://h/ b password=[redacted] c"),
            ("http://h/?to=http://u:p@h2/&a=b", "http://h/?to=http://[redacted]@h2/&a=b"),
        ] {
            assert_eq!(redacted(text), shown);
            assert_eq!(redacted(shown), shown);
        }
        // A command's own options are its own business.
        assert_eq!(
            redacted_command("A=http://h/?key=s ./run --key={key} redis://:s3cret@h"),
            "A=http://h/?key=[redacted] ./run --key={key} redis://[redacted]@h"
        );
        assert_eq!(without_fields("/a?b=c&to=http://u:p@h/"), "/a?b=c&to=http://[redacted]@h/");
        assert_eq!(
            redacted_head("HTTP/1.1 200 OK\r\nSet-Cookie: s\r\n more\r\nA: a token: b\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nSet-Cookie: [redacted]\r\nA: a token: b\r\n\r\n"
        );
    }

    #[test]
    fn a_url_is_filled_in_from_the_environment() {
        let path = std::env::var("PATH").unwrap();
        let filled = filled_in("/?a=@env:PATH&b=c", true).unwrap();
        assert_eq!(filled, format!("/?a={}&b=c", percent_encoded(&path)));
        assert_eq!(redacted(&filled), "/?a=@env:PATH&b=c");
        let refused = |url, is_path| filled_in(url, is_path).unwrap_err();
        assert!(refused("http://me:@env:PATH@h", false).contains("cannot stand before a URL's path"));
        assert!(
            refused("/@env:PRONY_NO_SUCH?", true).contains("needs the environment variable PRONY_NO_SUCH,")
        );
        assert_eq!(filled_in("/a@b", true).as_deref(), Ok("/a@b"));
    }

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
        let referer = Secret::of_header("Referer", "http://me:s3@h/?token=s3&a=b").unwrap();
        assert_eq!(referer.to_string(), "http://[redacted]@h/?token=[redacted]&a=b");
        open.hide();
        assert_eq!((open.value(), open.to_string()), ("*/*", "[redacted]".to_owned()));
        let unset = Secret::of_header("A", "@env:PRONY_NO_SUCH_VARIABLE").unwrap_err();
        assert!(unset.contains("PRONY_NO_SUCH_VARIABLE"), "{unset}");
    }
}
