//! A line of a log: of nginx's and Apache's combined one, an object of JSON, or a record of CSV with named columns.

use serde_json::{Map, Value};

use super::instant::{Instant, S, decimal, instant};
use crate::list::{LINE_MAX_BYTES, parsed};
use crate::request::is_token;
use crate::target::Target;

/// The longest line: its request, referrer and user agent may have 8 KiB each, which an escape makes four times as long.
pub(super) const LOG_LINE_MAX_BYTES: usize = 128 << 10;

/// What keys and columns are called, the one that counts first.
const TIMES: [&str; 7] = ["time", "timestamp", "@timestamp", "ts", "msec", "time_iso8601", "time_local"];
const METHODS: [&str; 2] = ["method", "request_method"];
const PATHS: [&str; 4] = ["path", "url", "uri", "request_uri"];
const REQUEST: [&str; 1] = ["request"];
const REQUEST_TIME: [&str; 1] = ["request_time"];

/// How a log is written.
pub(super) enum Format {
    Combined,
    Json,
    /// With these columns.
    Csv(Vec<String>),
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Logged {
    pub(super) at: Instant,
    /// How long the request took, where `at` is its end.
    pub(super) request_time_ns: Option<i128>,
    /// Method and path; `None` where it is no request that can be sent.
    pub(super) request: Option<(String, String)>,
}

impl Format {
    /// By the first line of a log, which of CSV has the columns.
    pub(super) fn of(first: &[u8]) -> Format {
        let columns = std::str::from_utf8(first).ok().and_then(columns).unwrap_or_default();
        let columns: Vec<String> = columns.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        if first.starts_with(b"{") {
            Format::Json
        } else if columns.iter().any(|name| TIMES.contains(&name.as_str())) {
            Format::Csv(columns)
        } else {
            Format::Combined
        }
    }

    pub(super) fn logged(&self, line: &[u8]) -> Result<Logged, String> {
        if line.len() > LOG_LINE_MAX_BYTES {
            return Err(format!("It has {} bytes: a line may have {LOG_LINE_MAX_BYTES}.", line.len()));
        }
        let text = || std::str::from_utf8(line).map_err(|_| "It is not UTF-8.".to_owned());
        match self {
            Format::Combined => combined(line),
            Format::Json => {
                let object: Map<String, Value> = parsed(text()?)?;
                by_name(|name| match object.get(name)? {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                })
            }
            Format::Csv(names) => {
                let values = columns(text()?).ok_or("It opens a quote that it does not close.")?;
                if values.len() != names.len() {
                    return Err(format!(
                        "It has {} columns, and the first line names {}.",
                        values.len(),
                        names.len()
                    ));
                }
                by_name(|name| values.get(names.iter().position(|known| known == name)?).cloned())
            }
        }
    }
}

/// `192.0.2.1 - - [28/Nov/2026:12:36:29 +0000] "GET /a HTTP/1.1" 200 5 "referrer" "agent" 0.004`.
fn combined(line: &[u8]) -> Result<Logged, String> {
    let bracketed = |open: usize| {
        let rest = line[open..].strip_prefix(b" [")?;
        let close = rest.windows(3).position(|three| three == b"] \"")?;
        let at = instant(std::str::from_utf8(&rest[..close]).ok()?)?;
        Some((at, &rest[close + 3..]))
    };
    let opens = line.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(open, _)| open);
    let (at, rest) = opens.take(64).find_map(bracketed).ok_or(
        "It is no line of an access log, which has [28/Nov/2026:12:36:29 +0000] and the request in quotes: a log may be \
         nginx's or Apache's combined one, JSON Lines, or CSV whose first line names its columns.",
    )?;
    let (request, rest) = quoted(rest).ok_or("Its request has no closing quote.")?;
    Ok(Logged { at, request_time_ns: request_time(rest), request: request_line(&unescaped(request)) })
}

/// What stands before the quote that closes, and after it.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some((&text[..at], &text[at + 1..])),
            _ => at += 1,
        }
    }
}

/// nginx's `$request_time` behind status, bytes, referrer and agent: three decimals, alone or behind `rt=` or
/// `request_time=`. Apache's `%D` and `%T` have none, and its instants are those at which requests began.
fn request_time(mut rest: &[u8]) -> Option<i128> {
    let mut fields = 0;
    while !rest.is_empty() {
        rest = rest.trim_ascii_start();
        if let Some(inner) = rest.strip_prefix(b"\"") {
            rest = quoted(inner)?.1;
            continue;
        }
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (field, after) = rest.split_at(end);
        (rest, fields) = (after, fields + 1);
        let field = std::str::from_utf8(field).unwrap_or_default();
        let named = field.strip_prefix("rt=").or_else(|| field.strip_prefix("request_time="));
        let seconds = named.unwrap_or(field);
        if fields > 2 && seconds.split_once('.').is_some_and(|(_, part)| part.len() == 3) {
            return seconds_ns(seconds);
        }
    }
    None
}

/// Up to a day of them.
fn seconds_ns(text: &str) -> Option<i128> {
    decimal(text, S).filter(|ns| *ns <= 86_400 * S).and_then(|ns| i128::try_from(ns).ok())
}

/// `\x22`, `\"` and `\\` as the bytes that they stand for.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'x') => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next()), digit(rest.next()));
                // What is no escape becomes a byte that no request has.
                bytes.push(high.zip(low).map_or(0, |(high, low)| (high << 4 | low) as u8));
            }
            Some(plain @ (b'"' | b'\\')) => bytes.push(plain),
            _ => bytes.push(0),
        }
    }
    bytes
}

/// Method and path of `GET /a HTTP/1.1`.
fn request_line(line: &[u8]) -> Option<(String, String)> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (method, target, version) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || !version.starts_with(b"HTTP/") {
        return None;
    }
    request(method, target)
}

/// Of a whole URL its path: a log does not choose which server is asked. Bytes beyond ASCII are percent-encoded.
fn request(method: &[u8], target: &[u8]) -> Option<(String, String)> {
    let method = std::str::from_utf8(method).ok().filter(|method| is_token(method))?;
    let mut url = if target.starts_with(b"/") { "http://host".to_owned() } else { String::new() };
    for byte in target {
        match byte {
            0x80.. => url.push_str(&format!("%{byte:02X}")),
            _ => url.push((*byte).into()),
        }
    }
    if method.len() + url.len() > LINE_MAX_BYTES {
        return None;
    }
    let path = Target::parse(&url).ok()?.path;
    Some((method.to_owned(), path))
}

fn by_name(value: impl Fn(&str) -> Option<String>) -> Result<Logged, String> {
    let first = |names: &[&str]| names.iter().find_map(|name| value(name));
    let time = first(&TIMES).ok_or_else(|| format!("It has no time: give one of {}.", TIMES.join(", ")))?;
    let at = instant(&time).ok_or(
        "Its time is none: write RFC 3339 with its offset, 2026-11-28T12:36:29.5+01:00, or a number of seconds since 1970.",
    )?;
    let took = first(&REQUEST_TIME).filter(|text| !matches!(text.as_str(), "" | "-"));
    let took =
        took.map(|text| seconds_ns(&text).ok_or("Its request_time is no number of seconds up to a day."));
    let request = match (first(&REQUEST), first(&PATHS)) {
        (Some(line), _) => request_line(line.as_bytes()),
        (None, Some(path)) => {
            let method = first(&METHODS).unwrap_or_else(|| "GET".to_owned());
            request(method.as_bytes(), path.as_bytes())
        }
        (None, None) => {
            return Err(format!("It has no request and no path: give one of {}.", PATHS.join(", ")));
        }
    };
    Ok(Logged { at, request_time_ns: took.transpose()?, request })
}

/// The columns of a record (RFC 4180), which is a line here; `None`: a quote is not closed.
fn columns(line: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let (mut is_quoted, mut chars) = (false, line.chars().peekable());
    while let Some(c) = chars.next() {
        let value = all.last_mut()?;
        match c {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => value.push('"'),
            '"' if is_quoted || value.is_empty() => is_quoted = !is_quoted,
            ',' if !is_quoted => all.push(String::new()),
            _ => value.push(c),
        }
    }
    (!is_quoted).then_some(all)
}
