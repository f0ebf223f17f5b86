//! TOML files read strictly, with errors somebody can act on: the file, the line,
//! the key, and the nearest word that would have been right.
//!
//! serde's own messages name Rust types (`expected u32`) and the toml crate's come
//! as a drawing of several lines; this module turns both into one sentence.

use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

/// Words farther than this share of their letters from the one written are no help.
const SIMILAR_ENOUGH: f64 = 0.7;

/// Why a file was refused: one sentence, `FILE:LINE: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlError {
    file: String,
    line: usize,
    message: String,
}

impl TomlError {
    /// An error of the meaning of a key, with the line of that key.
    ///
    /// `path` are the names of the tables and the key; an element of a list is named by its
    /// index (`["plan", "1", "rate"]`). Where the path does not exist, the line is that of
    /// the last part of it that does.
    pub fn at_key(file: &str, text: &str, path: &[&str], message: impl Into<String>) -> TomlError {
        TomlError {
            file: file.to_owned(),
            line: line_of(text, offset_of(text, path)),
            message: message.into(),
        }
    }

    /// An error at a byte of the text, as from the span of a [`toml::Spanned`].
    pub fn at_offset(file: &str, text: &str, offset: usize, message: impl Into<String>) -> TomlError {
        TomlError { file: file.to_owned(), line: line_of(text, offset), message: message.into() }
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The sentence without file and line.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for TomlError {}

/// Reads TOML text into `T`; `file` is only what errors call it.
///
/// # Errors
/// A sentence with file, line and key. Unknown keys are found where `T` denies them
/// (`#[serde(deny_unknown_fields)]`).
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| explain(file, text, &error))
}

/// The known word nearest to the one written, if one is near at all.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&lower, &k.to_lowercase()), k))
        .filter(|(likeness, _)| *likeness >= SIMILAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// The end of a sentence about an unknown word: `did you mean "x"? Known: x, y.`
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    match nearest(word, known) {
        Some(near) => format!("did you mean {near:?}? Known: {all}."),
        None => format!("known: {all}."),
    }
}

fn explain(file: &str, text: &str, error: &toml::de::Error) -> TomlError {
    let at = error.span().unwrap_or_default();
    let message = match DeTable::parse(text) {
        // The file is no TOML at all: the parser's words are about characters, and good as they are.
        Err(_) => format!("this is not TOML: {}.", error.message().trim_end_matches('.')),
        Ok(table) => sentence(error.message(), &place_of(table.get_ref(), &at)),
    };
    TomlError::at_offset(file, text, at.start, message)
}

/// Where in the document a byte lies.
#[derive(Debug, Default)]
struct Place {
    /// Names down to the innermost key whose name or value holds the byte.
    path: Vec<String>,
    /// For each name, whether its value is a list.
    is_list: Vec<bool>,
}

impl Place {
    /// `[[plan]]`, `[axes.opt]`, `the file`: the table that the first `n` names lead to.
    fn table(&self, n: usize) -> String {
        let names: Vec<&str> =
            self.path[..n].iter().map(String::as_str).filter(|p| !p.starts_with('#')).collect();
        match n {
            0 => "the file".to_owned(),
            _ if self.is_list[..n].last() == Some(&true) || self.path[n - 1].starts_with('#') => {
                format!("[[{}]]", names.join("."))
            }
            _ => format!("[{}]", names.join(".")),
        }
    }

    /// The innermost name that is a key and not the index of a list.
    fn key(&self) -> Option<&str> {
        self.path.iter().rev().find(|p| !p.starts_with('#')).map(String::as_str)
    }
}

/// A sentence for one of serde's messages.
fn sentence(message: &str, place: &Place) -> String {
    let key = place.key().map_or_else(|| "the file".to_owned(), |key| format!("{key:?}"));
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let words = quoted(rest);
        let (word, known) = words.split_first().map_or(("", &[][..]), |(w, k)| (*w, k));
        let depth = place.path.len().saturating_sub(usize::from(place.key() == Some(word)));
        return format!(
            "unknown key {word:?} in {}: {}",
            place.table(depth),
            suggest(word, known.iter().copied())
        );
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let words = quoted(rest);
        let (word, known) = words.split_first().map_or(("", &[][..]), |(w, k)| (*w, k));
        return format!("{key} cannot be {word:?}: {}", suggest(word, known.iter().copied()));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        let name = rest.trim_matches('`');
        return format!("{} has no {name:?}: add it.", place.table(place.path.len()));
    }
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        return format!("{key} must be {}, found {}.", expected_words(expected), found_words(found));
    }
    if message.starts_with("data did not match any variant") {
        return format!("{key} has a value of a form that is not known here.");
    }
    format!("{key}: {}.", message.trim_end_matches('.'))
}

/// The words that stand between backquotes.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

fn expected_words(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other if other.starts_with("enum ") => "a text in quotes".to_owned(),
        other => other.to_owned(),
    }
}

fn found_words(found: &str) -> String {
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => match other.split_once(' ') {
            Some(("string", text)) => format!("the text {text}"),
            Some(("integer", n)) => format!("the number {}", n.trim_matches('`')),
            Some(("floating", n)) => {
                format!("the number {}", n.trim_start_matches("point ").trim_matches('`'))
            }
            Some(("boolean", b)) => b.trim_matches('`').to_owned(),
            _ => other.to_owned(),
        },
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|b| **b == b'\n').count() + 1
}

/// The innermost key around a span. All are walked, since the span of a `[table]` is its header only.
fn place_of(root: &DeTable<'_>, at: &Range<usize>) -> Place {
    let mut best = (usize::MAX, Place::default());
    if at.is_empty() {
        return best.1; // the toml crate's span for the file itself
    }
    let mut place = Place::default();
    visit_table(root, &mut place, &mut |span, place| {
        if span.start <= at.start && at.end <= span.end && span.len() <= best.0 {
            best = (span.len(), Place { path: place.path.clone(), is_list: place.is_list.clone() });
        }
    });
    best.1
}

type Visitor<'a> = dyn FnMut(Range<usize>, &Place) + 'a;

fn visit_table(table: &DeTable<'_>, place: &mut Place, visit: &mut Visitor<'_>) {
    for (key, value) in table {
        place.path.push(key.get_ref().to_string());
        place.is_list.push(matches!(value.get_ref(), DeValue::Array(_)));
        visit(key.span(), place);
        visit(value.span(), place);
        visit_value(value.get_ref(), place, visit);
        place.path.pop();
        place.is_list.pop();
    }
}

fn visit_value(value: &DeValue<'_>, place: &mut Place, visit: &mut Visitor<'_>) {
    match value {
        DeValue::Table(table) => visit_table(table, place, visit),
        DeValue::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                place.path.push(format!("#{i}"));
                place.is_list.push(false);
                visit(item.span(), place);
                visit_value(item.get_ref(), place, visit);
                place.path.pop();
                place.is_list.pop();
            }
        }
        _ => {}
    }
}

fn offset_of(text: &str, path: &[&str]) -> usize {
    let Ok(root) = DeTable::parse(text) else { return 0 };
    let mut offset = 0;
    let mut table = Some(root.get_ref());
    let mut list = None;
    for part in path {
        let value = if let Some(here) = table {
            let Some((key, value)) = here.iter().find(|(key, _)| key.get_ref() == *part) else { break };
            offset = key.span().start;
            value
        } else {
            let items: Option<&toml::de::DeArray<'_>> = list;
            let Some(item) = items.zip(part.parse::<usize>().ok()).and_then(|(l, i)| l.get(i)) else { break };
            offset = item.span().start;
            item
        };
        (table, list) = match value.get_ref() {
            DeValue::Table(t) => (Some(t), None),
            DeValue::Array(a) => (None, Some(a)),
            _ => break,
        };
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct File {
        title: String,
        #[serde(default)]
        plan: Vec<Plan>,
        #[serde(default)]
        load: Option<Plan>,
        #[serde(default)]
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        WebServer,
        EventLoop,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Plan {
        connections: Option<u32>,
        rate: Option<Vec<String>>,
    }

    fn error(text: &str) -> String {
        parse::<File>("x.toml", text).expect_err("refused").to_string()
    }

    #[test]
    fn an_unknown_key_in_a_list_of_tables_is_named_with_the_nearest() {
        let text = "title = \"a\"\n[[plan]]\nconnections = 1\n[[plan]]\nconections = 2\n";
        assert_eq!(
            error(text),
            "x.toml:5: unknown key \"conections\" in [[plan]]: did you mean \"connections\"? \
             Known: connections, rate."
        );
    }

    #[test]
    fn an_unknown_key_at_the_top_and_one_in_a_table_say_where() {
        assert_eq!(
            error("title = \"a\"\ntitel = 1\n"),
            "x.toml:2: unknown key \"titel\" in the file: did you mean \"title\"? Known: title, plan, load, kind."
        );
        assert_eq!(
            error("title = \"a\"\n[load]\nqqqq = 1\n"),
            "x.toml:3: unknown key \"qqqq\" in [load]: known: connections, rate."
        );
    }

    #[test]
    fn a_wrong_type_says_what_was_expected_and_found() {
        assert_eq!(
            error("title = \"a\"\n[load]\nconnections = \"many\"\n"),
            "x.toml:3: \"connections\" must be a whole number of at least 0, found the text \"many\"."
        );
        assert_eq!(
            error("title = \"a\"\n[load]\nconnections = -5\n"),
            "x.toml:3: \"connections\" must be a whole number of at least 0, found the number -5."
        );
        assert_eq!(
            error("title = \"a\"\n[[plan]]\nrate = [\"1\",\n 2]\n"),
            "x.toml:4: \"rate\" must be a text in quotes, found the number 2."
        );
        assert_eq!(error("title = [1]\n"), "x.toml:1: \"title\" must be a text in quotes, found a list.");
    }

    #[test]
    fn missing_keys_unknown_words_and_broken_syntax() {
        assert_eq!(error("plan = []\n"), "x.toml:1: the file has no \"title\": add it.");
        #[derive(Debug, Deserialize)]
        #[allow(dead_code)]
        struct Outer {
            inner: File,
        }
        let inner = parse::<Outer>("x.toml", "\n[inner]\nplan = []\n").expect_err("refused").to_string();
        assert_eq!(inner, "x.toml:2: [inner] has no \"title\": add it.");
        assert_eq!(
            error("title = \"a\"\nkind = \"event-lop\"\n"),
            "x.toml:2: \"kind\" cannot be \"event-lop\": did you mean \"event-loop\"? Known: web-server, event-loop."
        );
        let syntax = error("title = \"a\"\n[load\n");
        assert!(syntax.starts_with("x.toml:2: this is not TOML: "), "{syntax}");
    }

    #[test]
    fn errors_of_meaning_find_their_line() {
        let text =
            "title = \"a\"\n[[plan]]\nconnections = 1\n[[plan]]\n\nrate = [\"1\"]\n[load]\nrate = []\n";
        assert_eq!(TomlError::at_key("x", text, &["plan", "1", "rate"], "m").line(), 6);
        assert_eq!(TomlError::at_key("x", text, &["load", "rate"], "m").line(), 8);
        // What does not exist is found by what leads to it.
        assert_eq!(TomlError::at_key("x", text, &["plan", "1", "nothing"], "m").line(), 4);
        assert_eq!(TomlError::at_key("x", text, &["nothing"], "a sentence.").to_string(), "x:1: a sentence.");
    }
}
