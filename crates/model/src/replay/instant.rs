//! Instants and times as logs write them.

use jiff::Timestamp;
use jiff::fmt::strtime;

/// nginx's `$time_local` and Apache's `%t`: `28/Nov/2026:12:36:29 +0100`.
const OF_LOGS: &str = "%d/%b/%Y:%H:%M:%S%.f %z";
pub(super) const S: u128 = 1_000_000_000;

/// When something was logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instant {
    /// Since 1970.
    pub(super) ns: i128,
    /// Whether it has no part of a second.
    pub(super) is_whole: bool,
}

/// An access log's time, RFC 3339 with its offset, or a number since 1970: of seconds up to 11 digits, of milliseconds up to
/// 14, of microseconds up to 17, of nanoseconds up to 19.
pub(super) fn instant(text: &str) -> Option<Instant> {
    let digits = text.find('.').unwrap_or(text.len());
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        let unit = match digits {
            0..=11 => S,
            12..=14 => S / 1_000,
            15..=17 => S / 1_000_000,
            18..=19 => 1,
            _ => return None,
        };
        let ns = i128::try_from(decimal(text, unit)?).ok()?;
        return Some(Instant { ns, is_whole: unit == S && !text.contains('.') });
    }
    let stamp = match text.as_bytes().get(2) {
        Some(b'/') => strtime::parse(OF_LOGS, text).ok()?.to_timestamp().ok()?,
        _ => text.parse::<Timestamp>().ok()?,
    };
    Some(Instant { ns: stamp.as_nanosecond(), is_whole: !text.contains(['.', ',']) })
}

/// A number of such units, `0.123`, in nanoseconds; further digits are dropped.
pub(super) fn decimal(text: &str, unit_ns: u128) -> Option<u128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 19 || !is_plain(whole) || !is_plain(part) {
        return None;
    }
    let billionths: u128 = format!("{part:0<9.9}").parse().ok()?;
    Some(whole.parse::<u128>().ok()? * unit_ns + billionths * unit_ns / S)
}
