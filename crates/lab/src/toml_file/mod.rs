//! TOML files read strictly, with errors somebody can act on: the file, the line,
//! the key, and the nearest word that would have been right.

use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::DeTable;

mod position;
mod sentence;

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
    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for TomlError {}

/// A file's text; its name is only what errors call it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TomlFile<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl TomlFile<'_> {
    pub(crate) fn parse<T: DeserializeOwned>(self) -> Result<T, TomlError> {
        let refused = |why: toml::de::Error| self.reworded(why.message(), why.span().unwrap_or_default());
        toml::from_str(self.text).map_err(refused)
    }

    pub(crate) fn misread(self, path: &[&str], why: &str) -> TomlError {
        let at = position::offset_of(self.text, path);
        self.reworded(why, at..at + 1)
    }

    fn reworded(self, why: &str, at: Range<usize>) -> TomlError {
        let message = match DeTable::parse(self.text) {
            // The file is no TOML at all: the parser's words are about characters, and good as they are.
            Err(_) => format!("this is not TOML: {}.", why.trim_end_matches('.')),
            Ok(table) => sentence::sentence(why, &position::position_of(table.get_ref(), &at)),
        };
        self.error_at(at.start, message)
    }

    /// An error of the meaning of a key, with the line of that key.
    ///
    /// `path` are the names of the tables and the key; an element of a list is named by its
    /// index (`["plan", "1", "rate"]`). Where the path does not exist, the line is that of
    /// the last part of it that does.
    pub(crate) fn error(self, path: &[&str], message: impl Into<String>) -> TomlError {
        self.error_at(position::offset_of(self.text, path), message.into())
    }

    pub(crate) fn refuse<T>(self, path: &[&str], message: impl Into<String>) -> Result<T, TomlError> {
        Err(self.error(path, message))
    }

    pub(crate) fn refuse_if(
        self,
        is_so: bool,
        path: &[&str],
        message: impl Into<String>,
    ) -> Result<(), TomlError> {
        if is_so { self.refuse(path, message) } else { Ok(()) }
    }

    fn error_at(self, offset: usize, message: String) -> TomlError {
        let before = self.text.as_bytes().iter().take(offset);
        let line = before.filter(|byte| **byte == b'\n').count() + 1;
        TomlError { file: self.name.to_owned(), line, message }
    }
}

fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&lower, &k.to_lowercase()), k))
        .filter(|(likeness, _)| *likeness >= SIMILAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

/// The end of a sentence about an unknown word: `did you mean "x"? Known: x, y.`
pub(crate) fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let all = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    match nearest(word, known) {
        Some(near) => format!("did you mean {near:?}? Known: {all}."),
        None => format!("known: {all}."),
    }
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
        TomlFile { name: "x.toml", text }.parse::<File>().expect_err("refused").to_string()
    }

    #[test]
    fn an_unknown_key_in_a_table_list_is_named_with_the_nearest() {
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
        let file = TomlFile { name: "x.toml", text: "\n[inner]\nplan = []\n" };
        let inner = file.parse::<Outer>().expect_err("refused").to_string();
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
        let file = TomlFile { name: "x", text };
        assert_eq!(file.error(&["plan", "1", "rate"], "m").line(), 6);
        assert_eq!(file.error(&["load", "rate"], "m").line(), 8);
        // What does not exist is found by what leads to it.
        assert_eq!(file.error(&["plan", "1", "nothing"], "m").line(), 4);
        assert_eq!(file.error(&["nothing"], "a sentence.").to_string(), "x:1: a sentence.");
    }
}
