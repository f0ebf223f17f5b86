//! vegeta's lists: its text format, and JSON with a request per line (github.com/tsenart/vegeta, lib/targets.go).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::reader::{Described, Reader, echo, header, lines, text_of};
use super::{COMMAND_MAX_BYTES, LINE_MAX_BYTES};
use crate::request::check_method;

/// `METHOD URL`, then a line for each header and one `@FILE` for its body, until an empty line or the next `METHOD URL`.
pub(super) fn read_text(reader: &mut Reader<'_>, text: &[u8]) {
    // The request that lines belong to, and its line; a wrong one is said once, with the lines behind it skipped.
    let mut open: Option<(usize, Result<Described, String>)> = None;
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)) {
        if line.starts_with(b"#") {
            continue;
        }
        let line = text_of(line, LINE_MAX_BYTES);
        let begins = line.as_ref().is_ok_and(|line| line.is_empty() || method_and_url(line).is_some());
        if begins
            && let Some((at, one)) = open.take()
            && !reader.take(Some(at), one)
        {
            return;
        }
        open = match (line, open) {
            (Ok(""), _) => None,
            (Ok(line), None) => Some((number, begin(line))),
            (Ok(line), Some((at, Ok(mut one)))) => match add(reader, &mut one, line) {
                Ok(()) => Some((at, Ok(one))),
                Err(why) => Some((number, Err(why))),
            },
            (Err(why), None | Some((_, Ok(_)))) => Some((number, Err(why))),
            (_, wrong) => wrong,
        };
    }
    if let Some((at, one)) = open {
        reader.take(Some(at), one);
    }
}

/// Whether a line is a request's first.
pub(super) fn begins(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| method_and_url(line).is_some())
}

fn method_and_url(line: &str) -> Option<(&str, &str)> {
    let (method, url) = line.split_once(|c: char| c.is_ascii_whitespace())?;
    (method.bytes().all(|byte| byte.is_ascii_uppercase()) && check_method(method).is_ok())
        .then(|| (method, url.trim_start()))
}

fn begin(line: &str) -> Result<Described, String> {
    let Some((method, url)) = method_and_url(line) else {
        return Err(format!(
            "{} begins no request: write METHOD URL, and headers and @FILE below it.",
            echo(line)
        ));
    };
    if let Some((_, more)) = url.split_once(|c: char| c.is_ascii_whitespace()) {
        return Err(format!("{} follows the URL: write METHOD URL.", echo(more)));
    }
    Ok(Described { method: method.to_owned(), url: url.to_owned(), ..Described::default() })
}

/// A line below a request's first.
fn add(reader: &mut Reader<'_>, one: &mut Described, line: &str) -> Result<(), String> {
    // Of a line that is none its first word only: what follows may be a secret.
    let first = echo(line.split([':', ' ']).next().unwrap_or_default());
    if one.body.is_some() {
        return Err(format!("{first} … follows the body's file, which is a request's last line."));
    }
    if let Some(path) = line.strip_prefix('@') {
        one.body = Some(reader.file(path)?);
        return Ok(());
    }
    let pair = header(line).filter(|(_, value)| !value.is_empty());
    let none = || format!("{first} … is no header: write Name: value, or @FILE for the body.");
    one.headers.push(pair.ok_or_else(none)?);
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    method: String,
    url: String,
    #[serde(default)]
    header: Option<BTreeMap<String, Vec<String>>>,
    #[serde(default)]
    body: Option<String>,
}

pub(super) fn read_json(reader: &mut Reader<'_>, text: &[u8]) {
    for (number, line) in lines(text) {
        let described = text_of(line, COMMAND_MAX_BYTES).and_then(describe);
        if !reader.take(Some(number), described) {
            return;
        }
    }
}

fn describe(line: &str) -> Result<Described, String> {
    let Line { method, url, header, body } = super::json_lines::parsed(line)?;
    let not_base64 =
        |e| format!("Its body is not Base64 ({e}): vegeta has bodies so in JSON. Text is for jsonl's.");
    let body = body.map(|body| STANDARD.decode(body).map_err(not_base64)).transpose()?;
    let headers = header.into_iter().flatten();
    let headers =
        headers.flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)));
    Ok(Described { method, url, headers: headers.collect(), body, ..Described::default() })
}
