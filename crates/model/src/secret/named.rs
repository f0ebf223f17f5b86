//! Fields whose names say that their values are secret, in texts of any kind.

use std::iter;
use std::ops::Range;

use super::{ASKED, REDACTED, is_secret_by_custom};

/// Where such values stand: of `name=value` in a query, a form or a command, and of `"name": value` in JSON, their quotes
/// left out. What is redacted already, or asked of the environment, is none.
pub(super) fn values(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    iter::from_fn(move || {
        while let Some(length) = bytes[at..].iter().position(|b| matches!(*b, b'=' | b':')) {
            let sign = at + length;
            at = sign + 1;
            let is_pair = bytes[sign] == b'=';
            let name = if is_pair { plain_name(text, sign) } else { quoted_name(text, sign) };
            if !is_secret_by_custom(name) {
                continue;
            }
            let value = if is_pair { plain_value(bytes, at) } else { json_value(bytes, at) };
            at = value.end.max(at);
            let written = &text[value.clone()];
            // A sentence may go on behind it.
            let is_redacted = |behind: &str| !behind.contains(char::is_alphanumeric);
            let is_done =
                written.strip_prefix(REDACTED).is_some_and(is_redacted) || written.starts_with(ASKED);
            if !is_done && !written.is_empty() {
                return Some(value);
            }
        }
        None
    })
}

pub(super) fn without(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for value in values(text) {
        out.push_str(&text[from..value.start]);
        out.push_str(REDACTED);
        from = value.end;
    }
    out + &text[from..]
}

fn plain_name(text: &str, end: usize) -> &str {
    let before = text.as_bytes()[..end].iter().rev();
    let length = before.take_while(|b| b.is_ascii_alphanumeric() || b"_-.[]%".contains(*b)).count();
    &text[end - length..end]
}

/// The name in quotes that ends here, as JSON has it, also within a text of JSON. A URL in quotes before a colon is none.
fn quoted_name(text: &str, end: usize) -> &str {
    let before = text[..end].trim_end();
    let Some(quote) = before.chars().next_back().filter(|c| matches!(*c, '"' | '\'')) else { return "" };
    let before = before[..before.len() - 1].trim_end_matches('\\');
    let name = before.rfind(quote).map_or("", |at| &before[at + 1..]);
    if name.contains(['/', '?', '=', '&']) { "" } else { name }
}

fn plain_value(bytes: &[u8], from: usize) -> Range<usize> {
    match bytes.get(from) {
        Some(quote @ (b'"' | b'\'')) => from + 1..closing(bytes, from + 1, *quote),
        _ => from..until(bytes, from, |b| b.is_ascii_whitespace() || matches!(b, b'&' | b'"')),
    }
}

fn json_value(bytes: &[u8], behind_colon: usize) -> Range<usize> {
    let from = until(bytes, behind_colon, |b| !b.is_ascii_whitespace());
    match &bytes[from..] {
        [quote @ (b'"' | b'\''), ..] => from + 1..closing(bytes, from + 1, *quote),
        [b'\\', b'"', ..] => from + 2..until(bytes, from + 2, |b| b == b'"'),
        [b'{' | b'[', ..] => from..behind_brackets(bytes, from),
        _ => from..until(bytes, from, |b| b.is_ascii_whitespace() || matches!(b, b',' | b'}' | b']')),
    }
}

/// Where the first such byte stands; the end, where there is none.
fn until(bytes: &[u8], from: usize, is_end: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|b| is_end(*b)).map_or(bytes.len(), |length| from + length)
}

/// The quote that ends a text which begins here, none behind a backslash; the end, where there is none.
fn closing(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut is_escaped = false;
    for (at, byte) in (from..).zip(&bytes[from..]) {
        if is_escaped {
            is_escaped = false;
        } else if *byte == quote {
            return at;
        } else {
            is_escaped = *byte == b'\\';
        }
    }
    bytes.len()
}

fn behind_brackets(bytes: &[u8], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = closing(bytes, at + 1, b'"'),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_values_are_found_in_queries_forms_commands_and_json() {
        for (text, shown) in [
            ("/a?b=c&api_key=s&d=e", "/a?b=c&api_key=[redacted]&d=e"),
            ("user=me&Password=s", "user=me&Password=[redacted]"),
            ("user[password]=s t", "user[password]=[redacted] t"),
            ("PGPASSWORD='a b' ./run", "PGPASSWORD='[redacted]' ./run"),
            (r#"{"user":"me","password": "s\"t","n":1}"#, r#"{"user":"me","password": "[redacted]","n":1}"#),
            (r#"{"sessionId":17,"a":2}"#, r#"{"sessionId":[redacted],"a":2}"#),
            (r#"{"tokens":[{"a":"]"},2],"b":3}"#, r#"{"tokens":[redacted],"b":3}"#),
            ("{'secret': 's'}", "{'secret': '[redacted]'}"),
            // Within a text of JSON, with the backslash before its last quote.
            (r#"{"log":"{\"jwt\":\"s\",\"a\":1}"}"#, r#"{"log":"{\"jwt\":\"[redacted]",\"a\":1}"}"#),
            (r#""GET /?token=s""#, r#""GET /?token=[redacted]""#),
            (r#"{"password":"cut off"#, r#"{"password":"[redacted]"#),
            ("token=", "token="),
            ("in 'h/?key=[redacted]': write", "in 'h/?key=[redacted]': write"),
            ("in 'h/?key=[redacted]&b=c': write", "in 'h/?key=[redacted]&b=c': write"),
            ("key=[redacted]and-more", "key=[redacted]"),
            ("?token=@env:TOKEN&key=[redacted]", "?token=@env:TOKEN&key=[redacted]"),
            ("http://h:80/ 12:30 \"a\":1 b=2", "http://h:80/ 12:30 \"a\":1 b=2"),
            ("é\"key\":é,", "é\"key\":[redacted],"),
        ] {
            let found = without(text);
            assert_eq!(found, shown, "{text}");
            assert_eq!(without(&found), found, "it is the same when it is done again");
        }
    }
}
