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
        let columns = columns(&String::from_utf8_lossy(first)).unwrap_or_default();
        let columns: Vec<String> = columns.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
        match columns.iter().any(|name| TIMES.contains(&name.as_str())) {
            _ if first.starts_with(b"{") => Format::Json,
            true => Format::Csv(columns),
            false => Format::Combined,
        }
    }

    /// What is not UTF-8 matters in a path alone, which then cannot be sent.
    pub(super) fn logged(&self, line: &[u8]) -> Result<Logged, String> {
        if line.len() > LOG_LINE_MAX_BYTES {
            return Err(format!("It has {} bytes: a line may have {LOG_LINE_MAX_BYTES}.", line.len()));
        }
        let text = String::from_utf8_lossy(line);
        match self {
            Format::Combined => combined(&text),
            Format::Json => {
                let object: Map<String, Value> = parsed(&text)?;
                by_name(|name| match object.get(name)? {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                })
            }
            Format::Csv(names) => {
                let values = columns(&text).ok_or("It opens a quote that it does not close.")?;
                let (own, named) = (values.len(), names.len());
                if own != named {
                    return Err(format!("It has {own} columns, and the first line names {named}."));
                }
                by_name(|name| values.get(names.iter().position(|known| known == name)?).cloned())
            }
        }
    }
}

/// `192.0.2.1 - - [28/Nov/2026:12:36:29 +0000] "GET /a HTTP/1.1" 200 5 "referrer" "agent" 0.004`.
fn combined(line: &str) -> Result<Logged, String> {
    let bracketed = |(open, _): (usize, &str)| {
        let (time, rest) = line[open + 2..].split_once("] \"")?;
        Some((instant(time)?, quoted(rest)?))
    };
    // A user's name may have a bracket, too.
    let (at, (request, rest)) = line.match_indices(" [").take(64).find_map(bracketed).ok_or(
        "It is no line of an access log, which has [28/Nov/2026:12:36:29 +0000] and the request in quotes: a log may be \
         nginx's or Apache's combined one, JSON Lines, or CSV whose first line names its columns.",
    )?;
    // Bytes that cannot be sent as they are were escaped by the server.
    let request = request.replace("\\x", "%").replace("\\\"", "%22").replace("\\\\", "%5C");
    Ok(Logged { at, request_time_ns: request_time(rest), request: request_line(&request) })
}

/// What stands before the quote that closes, and after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })?;
    Some((&text[..end], &text[end + 1..]))
}

/// nginx's `$request_time` behind status, bytes, referrer and agent: three decimals, alone or behind `rt=` or
/// `request_time=`. Apache's `%D` and `%T` have none, and its instants are those at which requests began.
fn request_time(mut rest: &str) -> Option<i128> {
    let mut fields = Vec::new();
    while let Some((plain, opened)) = rest.split_once('"') {
        fields.extend(plain.split_whitespace());
        rest = quoted(opened)?.1;
    }
    fields.extend(rest.split_whitespace());
    fields.iter().skip(2).find_map(|field| {
        let seconds = field.trim_start_matches("request_time=").trim_start_matches("rt=");
        let is_nginxs = seconds.split_once('.').is_some_and(|(_, part)| part.len() == 3);
        if is_nginxs { seconds_ns(seconds) } else { None }
    })
}

/// Up to a day of them.
fn seconds_ns(text: &str) -> Option<i128> {
    decimal(text, S).filter(|ns| *ns <= 86_400 * S).and_then(|ns| i128::try_from(ns).ok())
}

/// Method and path of `GET /a HTTP/1.1`.
fn request_line(line: &str) -> Option<(String, String)> {
    let (method, rest) = line.split_once(' ')?;
    let (target, version) = rest.split_once(' ')?;
    version.starts_with("HTTP/").then(|| request(method, target))?
}

/// Of a whole URL its path: a log does not choose which server is asked.
fn request(method: &str, target: &str) -> Option<(String, String)> {
    let host = if target.starts_with('/') { "http://host" } else { "" };
    let fits = is_token(method) && method.len() + target.len() <= LINE_MAX_BYTES;
    let path = fits.then(|| Target::parse(&format!("{host}{target}")).ok())??.path;
    Some((method.to_owned(), path))
}

fn by_name(value: impl Fn(&str) -> Option<String>) -> Result<Logged, String> {
    let first = |names: &[&str]| names.iter().find_map(|name| value(name));
    let time = first(&TIMES).ok_or_else(|| format!("It has no time: give one of {}.", TIMES.join(", ")))?;
    let at = instant(&time).ok_or(
        "Its time cannot be read: write RFC 3339 with its offset, 2026-11-28T12:36:29.5+01:00, or a number of seconds since 1970.",
    )?;
    let took = first(&["request_time"]).filter(|text| !matches!(text.as_str(), "" | "-"));
    let took =
        took.map(|text| seconds_ns(&text).ok_or("Its request_time is no number of seconds up to a day."));
    let request = match (first(&["request"]), first(&PATHS)) {
        (Some(line), _) => request_line(&line),
        (None, Some(path)) => request(first(&METHODS).as_deref().unwrap_or("GET"), &path),
        (None, None) => {
            return Err(format!("It has no request and no path: give one of {}.", PATHS.join(", ")));
        }
    };
    Ok(Logged { at, request_time_ns: took.transpose()?, request })
}

/// The columns of a record (RFC 4180), which is a line here; `None`: a quote is not closed.
fn columns(line: &str) -> Option<Vec<String>> {
    // A reader of the csv crate takes 35 µs to make, ten times as long as a line takes here.
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
