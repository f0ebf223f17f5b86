//! The command line of a run, for its record: what is secret is not in it.

use prony_model::request::check_header;
use prony_model::secret::{asked_for, is_asked_for, is_secret};
use prony_report::command::shell_word;

/// This process' own, without the values of secret headers and of those called in `redact`.
pub(crate) fn own(redact: &[String]) -> String {
    line(std::env::args().skip(1), redact)
}

/// `prony` with these arguments, quoted for a shell.
fn line(arguments: impl Iterator<Item = String>, redact: &[String]) -> String {
    let quoted = arguments.map(|argument| shell_word(&without_userinfo(&without_secret(&argument, redact))));
    format!("prony {}", quoted.collect::<Vec<_>>().join(" "))
}

/// A header (`Name: value`, also behind its flag, `-HName: value`) whose value is secret asks for it by the environment.
fn without_secret(argument: &str, redact: &[String]) -> String {
    let Some((before, value)) = argument.split_once(':') else { return argument.to_owned() };
    let flag =
        ["--header=", "-H=", "-H"].into_iter().find(|flag| before.starts_with(flag)).unwrap_or_default();
    let name = before[flag.len()..].trim();
    if check_header(name, "").is_err() || is_asked_for(value) || !is_secret(name, redact) {
        return argument.to_owned();
    }
    format!("{flag}{}", asked_for(name))
}

/// URLs, wherever they stand in it, without their user and password.
pub(crate) fn without_userinfo(argument: &str) -> String {
    let mut out = String::with_capacity(argument.len());
    let mut rest = argument;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| "/?#".contains(c) || c.is_whitespace()).unwrap_or(after.len());
        let (authority, left) = after.split_at(end);
        out.push_str(authority.rsplit_once('@').map_or(authority, |(_, host)| host));
        rest = left;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str], redact: &[&str]) -> String {
        let redact: Vec<String> = redact.iter().map(ToString::to_string).collect();
        line(arguments.iter().map(ToString::to_string), &redact)
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let line = of(&["bench", "--candidate", "a=./my server {port}", "-d", "3s"], &[]);
        assert_eq!(line, "prony bench --candidate 'a=./my server {port}' -d 3s");
        assert_eq!(of(&["bench", "it's", ""], &[]), r"prony bench 'it'\''s' ''");
    }

    #[test]
    fn secret_headers_and_passwords_of_urls_are_redacted() {
        for given in [
            &["-H", "Authorization: Bearer s3cret"][..],
            &["-H", "authorization:s3cret"],
            &["-HX-Api-Key: s3cret"],
            &["--header=Cookie: a=s3cret; b=s3cret"],
            &["-H", "X-Own: s3cret", "--redact", "x-own"],
            &["--candidate", "a=http://me:s3cret@h:80/a?b=c", "http://s3cret@h"],
            &["--candidate", "a=./run --upstream http://me:s3cret@h/"],
        ] {
            let line = of(given, &["x-own"]);
            assert!(!line.contains("s3cret"), "{line}");
        }
        assert_eq!(of(&["-H", "X-Api-Key: s"], &[]), "prony -H 'X-Api-Key: @env:X_API_KEY'");
        assert_eq!(of(&["http://me:pw@h:80/a"], &[]), "prony http://h:80/a");
    }

    #[test]
    fn other_arguments_are_kept_as_they_are() {
        for kept in ["X-A: b: c", "Authorization: @env:TOKEN", "-HX-A: b"] {
            assert_eq!(of(&[kept], &[]), format!("prony '{kept}'"));
        }
        assert_eq!(of(&["http://h:80/a@b"], &[]), "prony http://h:80/a@b");
    }
}
