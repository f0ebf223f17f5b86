//! A folder of raw HTTP/1.1 requests, one per file `*.raw`, in the order of their names.

use std::fs;
use std::path::{Path, PathBuf};

use super::LINES_MAX;
use super::reader::{Described, Reader, header};

pub(crate) fn is_folder(path: &str) -> bool {
    Path::new(path).is_dir()
}

pub(super) fn read(reader: &mut Reader<'_>, folder: &[u8]) {
    let folder = String::from_utf8_lossy(folder).into_owned();
    let names = match names(Path::new(&folder)) {
        Ok(names) => names,
        Err(why) => {
            reader.take(None, Err(format!("The folder could not be read: {why}.")));
            return;
        }
    };
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        reader.of_file = Some(name.escape_debug().to_string());
        let described = reader.raw(&path).and_then(|bytes| describe(reader, &bytes));
        if !reader.take(None, described) {
            return;
        }
    }
}

/// Paths of the folder's requests, one more than a list may have at most.
fn names(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "raw") && names.len() <= LINES_MAX {
            names.push(path);
        }
    }
    names.sort();
    Ok(names)
}

/// A request's head, whose lines end in CRLF or LF, an empty line, and its body: all that follows, or so much of it as
/// `Content-Length` says where only line breaks follow.
fn describe(reader: &Reader<'_>, bytes: &[u8]) -> Result<Described, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let (mut lines, mut rest) = (Vec::new(), bytes);
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, behind) = end.map_or((rest, &[][..]), |at| (&rest[..at], &rest[at + 1..]));
        rest = behind;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        lines.push(
            std::str::from_utf8(line)
                .map_err(|_| format!("Line {} of its head is not UTF-8.", lines.len() + 1))?,
        );
    }
    let mut lines = lines.into_iter();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(url), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err("It does not begin with a request line: write METHOD PATH HTTP/1.1.".to_owned());
    };
    let mut headers = Vec::new();
    for (number, line) in (2..).zip(lines) {
        headers.push(header(line).ok_or_else(|| format!("Line {number} is no header: write Name: value."))?);
    }
    let value = |headers: &[(String, String)], name: &str| {
        headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    };
    let host = value(&headers, "host");
    let url = match (url.starts_with('/'), reader.given(), &host) {
        (true, None, Some(host)) => {
            headers.retain(|(name, _)| !name.eq_ignore_ascii_case("host"));
            format!("http://{host}{url}")
        }
        (true, None, None) => {
            return Err(
                "It has no Host, and no server is known: give its URL on the command line.".to_owned()
            );
        }
        _ => url.to_owned(),
    };
    let mut body = rest;
    let chunked =
        value(&headers, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
    if chunked {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("transfer-encoding"));
        let body = dechunked(rest).ok_or("Its body is not in chunks that end with an empty one.")?;
        return Ok(Described {
            method: method.to_owned(),
            url,
            headers,
            body: Some(body),
            chunked,
            ..Described::default()
        });
    }
    if let Some(length) = value(&headers, "content-length") {
        let length: usize = length.parse().map_err(|_| "Its Content-Length is no number.".to_owned())?;
        let more = body.get(length..).filter(|more| more.iter().all(|byte| b"\r\n".contains(byte)));
        if more.is_none() {
            return Err(format!("Its body has {} bytes, and its Content-Length is {length}.", body.len()));
        }
        body = &body[..length];
    }
    let body = (!body.is_empty()).then(|| body.to_vec());
    Ok(Described { method: method.to_owned(), url, headers, body, ..Described::default() })
}

/// What is in the chunks; their lines end in CRLF or LF.
fn dechunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        rest = &rest[end + 1..];
        if size == 0 {
            return rest.iter().all(|byte| b"\r\n".contains(byte)).then_some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = &rest[size..];
        rest = rest.strip_prefix(b"\r").unwrap_or(rest).strip_prefix(b"\n")?;
    }
}
