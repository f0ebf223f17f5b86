//! Plain lines: a URL, a path, or `METHOD URL`.

use super::LINE_MAX_BYTES;
use super::reader::{Described, Reader, echo, lines, text_of};
use crate::request;

pub(super) fn read(reader: &mut Reader<'_>, text: &[u8]) {
    for (number, line) in lines(text) {
        let described = text_of(line, LINE_MAX_BYTES).and_then(|line| describe(line, &reader.method()));
        if !reader.take(Some(number), described) {
            return;
        }
    }
}

fn describe(line: &str, method: &str) -> Result<Described, String> {
    let parts = method_and_url(line, method);
    let (method, url) = parts.map_err(|why| of_another_tool(line).unwrap_or(why))?;
    let instead = of_another_tool(line);
    Ok(Described { method: method.to_owned(), url: url.to_owned(), instead, ..Described::default() })
}

/// What is the matter with a line that is none here and that siege's lists have.
fn of_another_tool(line: &str) -> Option<String> {
    let (first, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
    let method = rest.split_whitespace().next().unwrap_or_default();
    let is_assigned = |(name, _): (&str, &str)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if first.contains("://") && ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"].contains(&method) {
        return Some(format!(
            "{method} follows the URL, as siege has it: write {method} URL. A body is given once, for all lines, with -b."
        ));
    }
    let has_variable =
        line.split_once('=').is_some_and(is_assigned) || line.contains("$(") || line.contains("${");
    has_variable.then(|| format!("{} has a variable of siege's: write each URL whole.", echo(line)))
}

/// The parts of a line, `method` where it has none.
fn method_and_url<'a>(line: &'a str, method: &'a str) -> Result<(&'a str, &'a str), String> {
    let is_url = |word: &str| word.starts_with('/') || word.contains("://");
    let (first, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
    let rest = rest.trim_start();
    if is_url(first) {
        return match rest {
            "" => Ok((method, first)),
            more => Err(format!(
                "{} follows the URL: write METHOD URL. Body (-b) and headers (-H) are given once, for all \
                 lines.",
                echo(more)
            )),
        };
    }
    if let Err(why) = request::check_method(first) {
        if rest.is_empty() {
            // What is wrong with it as a URL says more.
            return Ok((method, first));
        }
        return Err(format!(
            "{why} A line is a URL, a path or METHOD URL; body (-b) and headers (-H) are given once, for all lines."
        ));
    }
    if rest.is_empty() {
        return Err(format!("{} has no URL after it: write METHOD URL.", echo(first)));
    }
    if let Some((_, more)) = rest.split_once(|c: char| c.is_ascii_whitespace()) {
        return Err(format!("{} follows the URL: write METHOD URL.", echo(more.trim_start())));
    }
    Ok((first, rest))
}
