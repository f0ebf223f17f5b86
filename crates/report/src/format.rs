//! Figures and texts as people read them. Pure, and the same in every view.

pub use prony_model::printable::{count, harmless as printable, thousands};

/// To so many significant digits, thousands separated: `0.0852`, `56.0`, `1,235`. No digit before the point is rounded
/// away.
pub fn significant(value: f64, digits: usize) -> String {
    fixed(value, decimals_for(value, digits))
}

fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 && text.chars().any(|c| ('1'..='9').contains(&c)) { "−" } else { "" };
    // Beyond u64 (2e19) the separators are no help any more.
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), thousands);
    format!("{sign}{whole}{rest}")
}

/// The decimals that give so many significant digits after rounding: 9.996 to three is `10.0`.
fn decimals_for(value: f64, digits: usize) -> usize {
    let last = i32::try_from(digits).unwrap_or(3) - 1;
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let rounded = format!("{:.*e}", digits.saturating_sub(1), value.abs());
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    usize::try_from(last - exponent).unwrap_or(0)
}

/// Requests per second without the unit: `13,870`; under 100 three digits, `84.2`.
pub fn rate(per_s: f64) -> String {
    if per_s.abs() >= 99.95 { fixed(per_s, 0) } else { significant(per_s, 3) }
}

/// A short figure for axes and ranges: `850`, `13.6k`, `2M`.
pub fn si(value: f64) -> String {
    let (scale, suffix) = unit_of(value, [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")]);
    format!("{}{suffix}", trimmed(&significant(value / scale, 3)))
}

/// The unit that suits a value, with its scale: chosen after rounding, so that 999.6 µs is 1.00 ms.
fn unit_of(value: f64, units: [(f64, &'static str); 4]) -> (f64, &'static str) {
    units.into_iter().find(|(scale, _)| value.abs() / scale < 999.5).unwrap_or(units[3])
}

/// A value in the unit that suits it: whole in the smallest, else to three digits.
fn scaled(value: f64, units: [(f64, &'static str); 4]) -> (String, &'static str) {
    let (scale, unit) = unit_of(value, units);
    let figure = if scale == 1.0 { fixed(value, 0) } else { significant(value / scale, 3) };
    (figure, unit)
}

/// A text of a figure without zeros at its end: `2.00` is `2`.
fn trimmed(figure: &str) -> &str {
    if figure.contains('.') { figure.trim_end_matches('0').trim_end_matches('.') } else { figure }
}

/// A fraction as a percentage: 0.0042 is `0.4 %`, 0.00042 is `0.04 %`.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        p if p < 0.005 => "<0.01 %".to_owned(),
        p if p < 0.095 => format!("{} %", fixed(percent, 2)),
        p if p < 9.95 => format!("{} %", fixed(percent, 1)),
        _ => format!("{} %", fixed(percent, 0)),
    }
}

const DURATIONS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];

/// Nanoseconds to three significant digits in the unit that suits them: `850 ns`, `5.70 µs`, `12.3 s`.
pub fn duration(ns: f64) -> String {
    let (figure, unit) = scaled(ns, DURATIONS);
    format!("{figure} {unit}")
}

/// [`duration`] without zeros at the end: `2 s`, `0.5 ms`. For bounds and axes.
pub fn short_duration(ns: f64) -> String {
    let (figure, unit) = scaled(ns, DURATIONS);
    format!("{} {unit}", trimmed(&figure))
}

/// Nanoseconds as milliseconds without the unit: three significant digits, no finer than a microsecond.
pub(crate) fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    fixed(ms, decimals_for(ms, 3).min(3))
}

/// The half width of an interval in milliseconds: two significant digits, no finer than a microsecond.
pub(crate) fn milliseconds_half_width(ns: f64) -> String {
    let ms = ns / 1e6;
    fixed(ms, decimals_for(ms, 2).min(3))
}

/// Nanoseconds as seconds to a tenth: `30.0 s`.
pub fn seconds(ns: u64) -> String {
    format!("{} s", fixed(ns as f64 / 1e9, 1))
}

/// Nanoseconds as a flag takes them, rounded up to whole seconds: `75s`.
pub(crate) fn flag_seconds(ns: u64) -> String {
    format!("{}s", ns.div_ceil(1_000_000_000).max(1))
}

/// How long something took: `42 s`, `3 min 42 s`, `1 h 05 min`.
pub fn elapsed(ns: u64) -> String {
    let seconds = ns.saturating_add(500_000_000) / 1_000_000_000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// Bytes in decimal units: `812 B`, `49.6 MB`.
pub fn bytes(bytes: f64) -> String {
    let (figure, unit) = scaled(bytes, [(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")]);
    format!("{figure} {unit}")
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar per value, scaled from zero to the highest: steady looks steady, a second without answers is the lowest bar.
pub(crate) fn sparkline(values: &[f64]) -> String {
    let highest = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let bar = |value: &f64| {
        let share = if highest > 0.0 && value.is_finite() { (value / highest).clamp(0.0, 1.0) } else { 0.0 };
        // 0 to 1 in eight steps; the cast is of 0 to 7.
        BARS[((share * 8.0).floor() as usize).clamp(1, 8) - 1]
    };
    values.iter().map(bar).collect()
}

/// The text within so many characters, with `…` where it was cut.
pub fn truncate(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The text within so many characters, with `…` in its middle where it was cut: what has a common beginning, as the
/// candidates of one server have, differs at its end.
pub fn truncate_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let start = text.chars().take(kept / 2);
    start.chain(['…']).chain(text.chars().skip(length - kept.div_ceil(2))).collect()
}

/// The words of a text in lines of at most so many characters.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    filled(text.split_whitespace(), width)
}

/// Words in lines of at most so many characters; a longer word has a line of its own.
pub(crate) fn filled<'a>(words: impl Iterator<Item = &'a str>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 999, 1_000, 416_100, 12_345_678].map(thousands),
            ["0", "999", "1,000", "416,100", "12,345,678"]
        );
    }

    #[test]
    fn significant_digits_are_counted_after_rounding() {
        let three = |v| significant(v, 3);
        assert_eq!([0.0852, 6.984, 9.996, 56.0, 99.96].map(three), ["0.0852", "6.98", "10.0", "56.0", "100"]);
        assert_eq!([1234.5, 0.0, -6.984].map(three), ["1,234", "0", "−6.98"]);
        assert_eq!(three(f64::NAN), "–");
    }

    #[test]
    fn rates_from_a_hundred_have_no_decimals() {
        assert_eq!([13_870.4, 84.21, 99.96, 0.0].map(rate), ["13,870", "84.2", "100", "0"]);
    }

    #[test]
    fn the_unit_of_a_duration_is_chosen_after_rounding() {
        assert_eq!(
            [0.0, 850.0, 5_700.0, 999_600.0, 6_984_000.0, 12.3e9, 3600e9].map(duration),
            ["0 ns", "850 ns", "5.70 µs", "1.00 ms", "6.98 ms", "12.3 s", "3,600 s"]
        );
        assert_eq!([2e9, 5e5, 1.53e9, 1e8].map(short_duration), ["2 s", "500 µs", "1.53 s", "100 ms"]);
    }

    #[test]
    fn milliseconds_have_at_most_three_decimals() {
        assert_eq!(
            [85_200.0, 6.984e6, 14.2e6, 56e6, 1.234e9, 0.0].map(milliseconds),
            ["0.085", "6.98", "14.2", "56.0", "1,234", "0"]
        );
        assert_eq!(
            [21_000.0, 110_000.0, 0.9e6, 12.4e6].map(milliseconds_half_width),
            ["0.021", "0.11", "0.90", "12"]
        );
    }

    #[test]
    fn elapsed_times_and_seconds_for_flags() {
        assert_eq!(seconds(30_000_000_000), "30.0 s");
        assert_eq!([1, 74_200_000_000, 75_000_000_000].map(flag_seconds), ["1s", "75s", "75s"]);
        assert_eq!(
            [41_600_000_000, 180_000_000_000, 222_000_000_000, 3_900_000_000_000].map(elapsed),
            ["42 s", "3 min", "3 min 42 s", "1 h 05 min"]
        );
    }

    #[test]
    fn percentages_bytes_and_si_prefixes() {
        assert_eq!(
            [0.0, 0.0042, 0.00042, 0.000_01, 0.079, 0.982, 1.6].map(percent),
            ["0 %", "0.4 %", "0.04 %", "<0.01 %", "7.9 %", "98 %", "160 %"]
        );
        assert_eq!([812.0, 1_650_000.0, 49.6e6, 2e9].map(bytes), ["812 B", "1.65 MB", "49.6 MB", "2.00 GB"]);
        assert_eq!([850.0, 13_600.0, 20_000.0, 2e6, 999.7].map(si), ["850", "13.6k", "20k", "2M", "1k"]);
    }

    #[test]
    fn what_is_cut_in_the_middle_keeps_its_end() {
        assert_eq!(truncate_middle("reactphp-socket:ev+tls", 14), "reactp…:ev+tls");
        let within = |width| truncate_middle("aerys:opcache+evént", width);
        assert_eq!([19, 5, 4, 1, 0].map(within), ["aerys:opcache+evént", "ae…nt", "a…nt", "…", "…"]);
    }

    #[test]
    fn sparklines_are_scaled_from_zero() {
        assert_eq!(sparkline(&[13.6, 14.1, 13.9]), "▇█▇");
        assert_eq!(sparkline(&[12.0, 14.0, 7.0, 0.0]), "▆█▄▁");
        assert_eq!(sparkline(&[0.0, 0.0]), "▁▁");
        assert_eq!(sparkline(&[f64::NAN, 1.0]), "▁█");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(printable("a\x1b[31mb\nc\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}d");
    }

    #[test]
    fn texts_are_cut_and_wrapped_by_characters() {
        assert_eq!(truncate("amphp:jit+ev", 8), "amphp:j…");
        assert_eq!(truncate("ünï", 3), "ünï");
        assert_eq!(wrap("the wait grows to the end", 10), ["the wait", "grows to", "the end"]);
        assert_eq!(count(1, "trial", "trials"), "1 trial");
        assert_eq!(count(45, "trial", "trials"), "45 trials");
    }
}
