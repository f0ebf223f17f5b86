//! The secrets that this process was given, so that they are found in texts from outside, as they are and encoded.

use std::collections::{BTreeSet, HashSet};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{ASKED, REDACTED, named};

/// Shorter values are not looked for: they stand in any text, as parts of its words.
const BYTES_MIN: usize = 8;
/// Longer ones are not either, since each search goes through all of them.
const BYTES_MAX: usize = 64 << 10;
/// So many are looked for before those of URLs, bodies and lists, which may hold a million, are left out.
const FOUND_MAX: usize = 100;

/// What pages have in the place of characters that mean something in HTML.
const IN_HTML: [(&str, u8); 8] = [
    ("&amp;", b'&'),
    ("&lt;", b'<'),
    ("&gt;", b'>'),
    ("&quot;", b'"'),
    ("&#34;", b'"'),
    ("&apos;", b'\''),
    ("&#39;", b'\''),
    ("&#x27;", b'\''),
];

static KNOWN: LazyLock<Mutex<KnownSecrets>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct KnownSecrets {
    /// Each beside what is written instead of it, the longest first: one may be a part of another.
    values: Vec<(String, String)>,
    /// The same, to be found at once.
    is_there: HashSet<String>,
    asked_for: BTreeSet<String>,
}

fn known() -> MutexGuard<'static, KnownSecrets> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The variables that `@env:NAME` asked for so far, by name. What this process starts has no need of them.
pub fn names_asked_for() -> Vec<String> {
    known().asked_for.iter().cloned().collect()
}

pub(super) fn remember_variable(name: &str, value: &str) {
    known().asked_for.insert(name.to_owned());
    remember(value, &format!("{ASKED}{name}"));
}

/// A secret, and the parts of it that somebody may write alone: what stands behind a scheme or a user, values of cookies.
pub(crate) fn remember_credentials(value: &str) {
    remember(value, REDACTED);
    // No user is a path, as the folders of a list of them are.
    if let Some((_, password)) = value.split_once(':').filter(|(user, _)| !user.contains('/')) {
        remember(password, REDACTED);
    }
    if let Some((_, token)) = value.split_once(' ') {
        remember(token, REDACTED);
        // `Basic`, by which a URL's user and password are sent, too.
        if let Some(userinfo) = STANDARD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
            remember_credentials(&userinfo);
        }
    }
    for part in value.split([' ', ';', ',']) {
        remember(part.split_once('=').map_or(part, |(_, value)| value).trim_matches('"'), REDACTED);
    }
}

/// The same of one of very many.
pub(crate) fn remember_listed(value: &str) {
    if has_room() {
        remember_credentials(value);
    }
}

fn has_room() -> bool {
    known().values.len() < FOUND_MAX
}

pub(crate) fn remember_url(userinfo: Option<&str>, path: &str) {
    if has_room() {
        if let Some(userinfo) = userinfo {
            remember_credentials(userinfo);
            remember_credentials(&percent_decoded(userinfo));
        }
        remember_fields(path);
    }
}

/// What is secret in a request's body, or in one that is expected; of a file all of it.
pub(crate) fn remember_body(body: &[u8], is_file: bool) {
    let Ok(text) = std::str::from_utf8(body) else { return };
    if is_file {
        remember(text.trim(), REDACTED);
    }
    remember_fields(text);
}

fn remember_fields(text: &str) {
    for range in named::values(text) {
        if !has_room() {
            return;
        }
        let value = &text[range];
        let decoded = percent_decoded(value);
        // What the environment holds is shown as that.
        if known().is_there.contains(&decoded) {
            continue;
        }
        remember(value, REDACTED);
        remember(&decoded, REDACTED);
        remember(&percent_decoded(&value.replace('+', " ")), REDACTED);
        if let Ok(value) = serde_json::from_str::<String>(&format!("\"{value}\"")) {
            remember(&value, REDACTED);
        }
    }
}

fn remember(value: &str, shown: &str) {
    let mut known = known();
    if !(BYTES_MIN..=BYTES_MAX).contains(&value.len()) || !known.is_there.insert(value.to_owned()) {
        return;
    }
    let at = known.values.partition_point(|(there, _)| there.len() >= value.len());
    known.values.insert(at, (value.to_owned(), shown.to_owned()));
}

/// A text in which what is written instead of each known value stands in its place, however it is encoded there.
pub(super) fn without(text: &str) -> String {
    known().values.iter().fold(text.to_owned(), |text, (value, shown)| {
        let text = replaced(&text, value, shown);
        in_base64(value).iter().fold(text, |text, form| text.replace(form.as_str(), shown))
    })
}

fn replaced(text: &str, value: &str, shown: &str) -> String {
    let (mut out, mut from, mut at) = (String::with_capacity(text.len()), 0, 0);
    while at < text.len() {
        let end = end_of(&text.as_bytes()[at..], value.as_bytes()).map(|length| at + length);
        match end.filter(|end| text.is_char_boundary(at) && text.is_char_boundary(*end)) {
            Some(end) => {
                out.push_str(&text[from..at]);
                out.push_str(shown);
                (from, at) = (end, end);
            }
            None => at += 1,
        }
    }
    out + &text[from..]
}

/// How long a value is with which a text begins, as it is or with any of its bytes encoded: `%2F`, `\/`, `\u002f`, `\x2f`,
/// `&quot;`, a blank as `+`.
fn end_of(text: &[u8], value: &[u8]) -> Option<usize> {
    if text.starts_with(value) {
        return Some(value.len());
    }
    let (mut rest, mut left) = (text, value);
    while let Some((first, others)) = left.split_first() {
        let (taken, code) = decoded(rest);
        match left.strip_prefix(code.as_slice()).filter(|_| taken > 0) {
            Some(behind) => (rest, left) = (&rest[taken..], behind),
            None if rest.first() == Some(first) => (rest, left) = (&rest[1..], others),
            None => return None,
        }
    }
    Some(text.len() - rest.len())
}

/// The bytes that a text has encoded at its beginning, and in how many; 0, where it has none.
fn decoded(text: &[u8]) -> (usize, Vec<u8>) {
    let number = |from: usize, length: usize| {
        let digits = std::str::from_utf8(text.get(from..from + length)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let byte = |length: usize, code: Option<u32>| {
        code.map_or((0, Vec::new()), |code| (length, vec![u8::try_from(code).unwrap_or_default()]))
    };
    match text {
        [b'%', ..] => byte(3, number(1, 2)),
        [b'\\', b'x', ..] => byte(4, number(2, 2)),
        [b'\\', b'u', ..] => {
            let character = number(2, 4).and_then(char::from_u32);
            character.map_or((0, Vec::new()), |c| (6, c.to_string().into_bytes()))
        }
        [b'\\', b'n', ..] => (2, vec![b'\n']),
        [b'\\', b'r', ..] => (2, vec![b'\r']),
        [b'\\', b't', ..] => (2, vec![b'\t']),
        [b'\\', other, ..] => (2, vec![*other]),
        [b'+', ..] => (1, vec![b' ']),
        [b'&', ..] => {
            let found = IN_HTML.iter().find(|(form, _)| text.starts_with(form.as_bytes()));
            found.map_or((0, Vec::new()), |(form, byte)| (form.len(), vec![*byte]))
        }
        _ => (0, Vec::new()),
    }
}

/// What base64 has of a value whatever stands before and behind it, in both alphabets.
fn in_base64(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let encoded = STANDARD.encode([&[0_u8; 2][..before], value.as_bytes()].concat());
        let whole = (before + value.len()) * 8 / 6;
        let form = &encoded[(before * 8).div_ceil(6)..whole];
        forms.extend([form.to_owned(), form.replace('+', "-").replace('/', "_")]);
    }
    forms
}

fn percent_decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent_bytes(text)).into_owned()
}

/// What a percent-encoded text stands for; what is no encoding stands for itself.
pub(crate) fn percent_bytes(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, others)) = rest.split_first() {
        match decoded(rest) {
            (3, code) => {
                bytes.extend(code);
                rest = &rest[3..];
            }
            _ => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_value_is_found_as_it_is_and_encoded() {
        let value = "pröny+k/nown \t\r\n\"v%lue\\";
        remember(value, REDACTED);
        let json = serde_json::to_string(value).unwrap();
        let percent = "pr%C3%B6ny%2Bk%2fnown%20%09%0D%0a%22v%25lue%5C";
        for form in [
            value.to_owned(),
            json.clone(),
            json.replace('/', "\\/").replace('ö', "\\u00f6"),
            format!("{value:?}"),
            value.as_bytes().escape_ascii().to_string(),
            value.replace('"', "&quot;"),
            percent.to_owned(),
            percent.replace("%20", "+"),
            STANDARD.encode(value),
            STANDARD.encode(format!("a:{value}b")),
            STANDARD.encode(format!("ab:{value}bc")).replace('/', "_").replace('+', "-"),
            STANDARD.encode(format!("abc:{value}b")),
        ] {
            let found = without(&format!("<{form}>"));
            assert!(found.contains(REDACTED), "{form}: {found}");
            assert!(!found.contains("nown") && found.len() < 40, "{form}: {found}");
        }
        assert_eq!(without("ein Käse % \\ + \\u12 %4"), "ein Käse % \\ + \\u12 %4");
    }

    #[test]
    fn parts_of_credentials_are_known_alone() {
        remember_credentials("Bearer part-of-bearer");
        remember_credentials("sid=part-of-cookie; other=\"quoted-part\"");
        remember_credentials(&format!("Basic {}", STANDARD.encode("me:part-of-basic")));
        remember_url(Some("me:part-of-userinfo"), "/?a=b&token=part%2Dof%2Dquery");
        remember_body(b"{\"password\":\"part-of-\\u0062ody\",\"open\":\"not-a-secret\"}", false);
        remember_body(b"user=me&password=part+of%20form", false);
        remember_body(b"all of this file\n", true);
        for part in ["bearer", "cookie", "basic", "userinfo", "query", "body"] {
            assert_eq!(without(&format!("'part-of-{part}'")), "'[redacted]'");
        }
        assert_eq!(without("quoted-part, all of this file."), "[redacted], [redacted].");
        assert_eq!(without("'part+of%20form' 'part of form'"), "'[redacted]' '[redacted]'");
        assert_eq!(without("not-a-secret"), "not-a-secret");
    }

    #[test]
    fn what_the_environment_holds_is_shown_as_its_variable() {
        remember_variable("PRONY_TEST_KNOWN", "held by the environment");
        assert_eq!(without("it is held%20by+the environment"), "it is @env:PRONY_TEST_KNOWN");
        assert!(names_asked_for().contains(&"PRONY_TEST_KNOWN".to_owned()));
    }
}
