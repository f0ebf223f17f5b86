//! What a file made a reader say, as one line for a terminal.

/// The longest sentence about somebody's file: what it holds may be echoed in it, and that may be megabytes.
const CHARS_MAX: usize = 400;

/// The text without line breaks and other control characters, which would let a file write where it wants
/// to on the reader's terminal, and not longer than a sentence.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(CHARS_MAX));
    for (at, c) in text.chars().enumerate() {
        if at == CHARS_MAX {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_shown_and_what_is_long_is_cut() {
        assert_eq!(printable("unknown variant `a\nb\u{1b}[2J`"), "unknown variant `a\\nb\\u{1b}[2J`");
        assert_eq!(printable("ä – °"), "ä – °");
        let long = printable(&"é".repeat(1_000_000));
        assert_eq!(long.chars().count(), CHARS_MAX + 1);
        assert!(long.ends_with('…'));
    }
}
