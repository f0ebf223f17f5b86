//! Texts from outside, made safe to show.
use std::time::Duration;

/// The longest sentence about somebody's file: what it holds may be echoed in it, and that may be megabytes.
const CHARS_MAX: usize = 400;

/// What a file made a reader say, in a line for a terminal: without control characters, which could write elsewhere.
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

/// A text made safe to show: line breaks and tabs become spaces; control characters and those that reorder text
/// (Unicode TR 36) `\u{fffd}`, so that a server's error message steers no terminal and no reader.
pub fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// The same, of so many characters at most.
pub fn harmless_within(text: &str, chars_max: usize) -> String {
    harmless(text).chars().take(chars_max).collect()
}

/// A text of several lines, each of which is harmless.
pub fn harmless_lines(text: &str) -> String {
    text.split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

/// `one thing`, `2 things`.
pub fn count(n: u64, singular: &str, plural: &str) -> String {
    if n == 1 { format!("1 {singular}") } else { format!("{} {plural}", thousands(n)) }
}

/// `416,100`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A duration as people would write it: `1m30s`, `500ms`; parses back to itself.
pub fn show_duration(duration: Duration) -> String {
    let ns = duration.as_nanos();
    if ns == 0 {
        return "0s".to_owned();
    }
    if !ns.is_multiple_of(1_000_000_000) && ns < 60_000_000_000 {
        let (value, unit) = match ns {
            ns if ns.is_multiple_of(1_000_000) => (ns / 1_000_000, "ms"),
            ns if ns.is_multiple_of(1_000) => (ns / 1_000, "us"),
            ns => (ns, "ns"),
        };
        return format!("{value}{unit}");
    }
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let rest_s = (duration - Duration::from_secs(seconds - seconds % 60)).as_secs_f64();
    let mut text = String::new();
    for (value, unit) in [(hours, "h"), (minutes, "m")] {
        if value > 0 {
            text.push_str(&format!("{value}{unit}"));
        }
    }
    if rest_s > 0.0 {
        text.push_str(&format!("{rest_s}s"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_and_all_other_terminal_controls_are_replaced() {
        assert_eq!(
            harmless_lines("a\n\tb\u{1b}]0;x\u{7}\r\n\u{9b}2J\u{202e}"),
            "a\n b\u{fffd}]0;x\u{fffd} \n\u{fffd}2J\u{fffd}"
        );
    }

    #[test]
    fn control_characters_are_escaped_and_long_texts_cut() {
        assert_eq!(printable("unknown variant `a\nb\u{1b}[2J`"), "unknown variant `a\\nb\\u{1b}[2J`");
        assert_eq!(printable("ä – °"), "ä – °");
        let long = printable(&"é".repeat(1_000_000));
        assert_eq!(long.chars().count(), CHARS_MAX + 1);
        assert!(long.ends_with('…'));
    }
}
