//! The words of the command line. Those of a child that `prony ci` starts come over its standard input: they may hold a
//! secret, and every user of the machine can read a process's arguments.

use std::io::Read;
use std::sync::OnceLock;

/// The only argument of a process whose words come over its standard input, as a list in JSON.
pub(crate) const FROM_INPUT: &str = "__words";
/// More is no command line.
const BYTES_MAX: u64 = 4 << 20;

static WORDS: OnceLock<Vec<String>> = OnceLock::new();

pub(crate) fn all() -> &'static [String] {
    WORDS.get_or_init(|| {
        let mut words: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        if words.get(1).map(String::as_str) == Some(FROM_INPUT) {
            words.truncate(1);
            words.extend(from_input());
        }
        words
    })
}

/// What is wrong with a word that is no text: written in another way it would name another file.
pub(crate) fn not_text() -> Option<String> {
    let word = std::env::args_os().skip(1).find(|word| word.to_str().is_none())?;
    Some(format!(
        "The argument {word:?} is not UTF-8: give it as text; a file of such a name has to be renamed first."
    ))
}

/// None where they cannot be read: the command line is then empty, which is answered with what to do first.
fn from_input() -> Vec<String> {
    let mut text = String::new();
    let read = std::io::stdin().take(BYTES_MAX).read_to_string(&mut text);
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}
