//! A command line as it was typed, without its secrets.

use super::{
    ASKED, REDACTED, asked_for, is_asked_for, is_secret, is_secret_by_custom, redacted, redacted_command,
};
use crate::command::shell_word;
use crate::request::check_header;

/// `prony` with these arguments, quoted for a shell, without secrets and values of headers called in `redact`.
pub fn typed(arguments: impl Iterator<Item = String>, redact: &[String]) -> String {
    let mut line = "prony".to_owned();
    let mut before = String::new();
    for argument in arguments {
        let shown = without_secret(&argument, redact);
        // A body's file is only named.
        let has_fields = fields(&before, &argument).is_some_and(|text| !text.starts_with('@'));
        let shown = pair(&before, &argument)
            .unwrap_or_else(|| if has_fields { redacted(&shown) } else { redacted_command(&shown) });
        line.push_str(&format!(" {}", shell_word(&shown)));
        before = argument;
    }
    line
}

/// A line that [`typed`] wrote, of this version or of one that knew fewer secrets, as this one writes it.
pub(crate) fn typed_again(line: &str) -> String {
    match line.strip_prefix("prony ") {
        Some(arguments) => typed(words(arguments).into_iter(), &[]),
        None => redacted(line),
    }
}

/// The words of a shell's line that [`shell_word`] quoted.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(rest.next()),
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words
}

/// The body or path that an argument is, by the flag before it, or may have behind a flag of its own.
fn fields<'a>(before: &str, argument: &'a str) -> Option<&'a str> {
    const FLAGS: [&str; 4] = ["--body", "--expect-body", "--expect-json", "--path"];
    let is_short = |flag: &str| flag.starts_with('-') && !flag.starts_with("--");
    if FLAGS.contains(&before) || (is_short(before) && before.ends_with('b')) {
        return Some(argument);
    }
    let behind = FLAGS.iter().find_map(|flag| argument.strip_prefix(*flag)?.strip_prefix('='));
    let short = Some(argument).filter(|argument| is_short(argument));
    behind.or_else(|| short?.strip_prefix("-b").or(short))
}

/// A form's field or a generator, by the flag before it or in front of it, without its value where its name says that it is
/// secret and it is written out; `None` of other arguments.
fn pair(before: &str, argument: &str) -> Option<String> {
    const FLAGS: [&str; 4] = ["--form-urlencoded", "--form", "--generate", "-F"];
    let is_short = before.starts_with('-') && !before.starts_with("--") && before.ends_with('F');
    let own = FLAGS.into_iter().find(|flag| argument.starts_with(flag));
    let text = own.map_or(argument, |flag| argument[flag.len()..].trim_start_matches('='));
    let before = FLAGS.into_iter().find(|flag| *flag == before).or(is_short.then_some("-F"));
    let (name, value) = own.or(before).and_then(|_| text.split_once('='))?;
    let is_written = match own.or(before)? {
        "--generate" => value.starts_with("choice:"),
        "--form-urlencoded" => !value.starts_with(ASKED),
        _ => !value.starts_with('@'),
    };
    Some(match is_written {
        true if is_secret_by_custom(name) => {
            format!("{}{name}={REDACTED}", &argument[..argument.len() - text.len()])
        }
        true => redacted(argument),
        false => redacted_command(argument),
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str], redact: &[&str]) -> String {
        let redact: Vec<String> = redact.iter().map(ToString::to_string).collect();
        let line = typed(arguments.iter().map(ToString::to_string), &redact);
        assert_eq!(typed_again(&line), line);
        line
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
            &["http://h/?api_key=s3cret&b=c", "--candidate=a=http://h/?token=s3cret"],
            &["-b", r#"{"user":"me","password":"s3cret"}"#, "-kb", "token=s3cret", "-kbtoken=s3cret"],
            &["--path", "/a?key=s3cret", "--path=/a?token=s3cret"],
            &["-btoken=s3cret", "--body=token=s3cret", "--expect-body", r#"{"jwt": "s3cret"}"#],
            &["-F", "password=s3cret", "-Fpwd=s3cret", "--form=token=s3cret", "--form", "key=s3cret"],
            &[
                "--form-urlencoded",
                "password=s3cret",
                "--generate",
                "token=choice:s3cret|a s3cret",
                "-kF",
                "pwd=a s3cret",
            ],
        ] {
            let line = of(given, &["x-own"]);
            assert!(!line.contains("s3cret"), "{line}");
        }
        assert_eq!(of(&["-H", "X-Api-Key: s"], &[]), "prony -H 'X-Api-Key: @env:X_API_KEY'");
        assert_eq!(of(&["http://me:pw@h:80/a"], &[]), "prony 'http://[redacted]@h:80/a'");
    }

    #[test]
    fn other_arguments_are_kept_as_they_are() {
        for kept in ["X-A: b: c", "Authorization: @env:TOKEN", "-HX-A: b", "token=./server --key={key}"] {
            assert_eq!(of(&[kept], &[]), format!("prony '{kept}'"));
        }
        let asking = ["http://me:@env:PW@h/?key=@env:KEY", "-b", "@env:BODY", "--expect-body", "@key=a.json"];
        assert_eq!(of(&asking[1..], &[]), "prony -b @env:BODY --expect-body @key=a.json");
        assert_eq!(of(&asking[..1], &[]), "prony 'http://me:@env:PW@h/?key=@env:KEY'");
        assert_eq!(of(&["http://h:80/a@b"], &[]), "prony http://h:80/a@b");
        let named =
            ["-F", "token=@t.png", "--form", "key=@k", "--generate", "key=int:1..9", "--generate=key=seq"];
        assert_eq!(of(&named, &[]), format!("prony {}", named.join(" ")));
    }

    #[test]
    fn an_earlier_line_is_written_without_secrets_known_later() {
        let older = r#"prony bench -H 'X-Session: it'\''s3cret' -b '{"jwt":"s3cret"}' --candidate 'a=http://h/?key=s3cret'"#;
        let shown = r#"prony bench -H 'X-Session: @env:X_SESSION' -b '{"jwt":"[redacted]"}' --candidate 'a=http://h/?key=[redacted]'"#;
        assert_eq!(typed_again(older), shown);
        assert_eq!(typed_again("./prony http://me:s3cret@h/"), "./prony http://[redacted]@h/");
    }
}
