//! serde's own messages name Rust types (`expected u32`) and the toml crate's come as a drawing of several lines: both
//! are turned into one sentence.

use super::position::Position;
use super::suggest;

pub(super) fn sentence(message: &str, position: &Position) -> String {
    let key = position.key().map_or_else(|| "the file".to_owned(), |key| format!("{key:?}"));
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let words = quoted(rest);
        let (word, known) = words.split_first().map_or(("", &[][..]), |(w, k)| (*w, k));
        let depth = position.path.len().saturating_sub(usize::from(position.key() == Some(word)));
        return format!(
            "unknown key {word:?} in {}: {}",
            position.table(depth),
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
        return format!("{} has no {name:?}: add it.", position.table(position.path.len()));
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
