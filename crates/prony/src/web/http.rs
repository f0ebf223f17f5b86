//! Requests and responses: as much of HTTP/1.1 as a page needs.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest head that is read.
const HEAD_MAX_BYTES: usize = 8 << 10;
/// A head has this long to arrive.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// A client has this long to read a response.
const RESPONSE_TIME: Duration = Duration::from_secs(60);
/// And then this long to send what is left, or to close.
const DRAIN_TIME: Duration = Duration::from_millis(500);
const HEADERS_MAX: usize = 64;
const PATH_MAX_BYTES: usize = 1024;

/// A request's head.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) host: Option<String>,
    pub(super) cookies: Vec<String>,
    /// `HEAD`: the response has no body.
    pub(super) head_only: bool,
}

/// Why a request gets no page: a status and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

/// Reads a head. `None`: the other side left, or took too long.
pub(super) fn read(stream: &mut TcpStream) -> Option<Result<Request, Refusal>> {
    let until = Instant::now() + HEAD_TIME;
    let mut bytes = Vec::with_capacity(1024);
    let mut block = [0; 1024];
    loop {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        let read = stream.read(&mut block).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&block[..read]);
        match parse(&bytes) {
            None if bytes.len() >= HEAD_MAX_BYTES => {
                return Some(Err(Refusal(431, "The request's head is too long.")));
            }
            None => {}
            parsed => return parsed,
        }
    }
}

/// A head's bytes as a request; `None` while they are incomplete. Pure.
pub(super) fn parse(bytes: &[u8]) -> Option<Result<Request, Refusal>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return None,
        Err(httparse::Error::TooManyHeaders) => {
            return Some(Err(Refusal(431, "The request has too many headers.")));
        }
        Err(_) => return Some(Err(Refusal(400, "This is not an HTTP request."))),
    }
    let head_only = match head.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Some(Err(Refusal(405, "Only GET and HEAD are supported."))),
    };
    let target = head.path.unwrap_or_default();
    if !target.starts_with('/') || target.len() > PATH_MAX_BYTES {
        return Some(Err(Refusal(400, "The request's target is not a path, or is too long.")));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request =
        Request { path: path.to_owned(), query: query.to_owned(), head_only, ..Request::default() };
    for header in head.headers.iter() {
        let Ok(value) = std::str::from_utf8(header.value) else { continue };
        if header.name.eq_ignore_ascii_case("host") {
            // Two hosts are an attempt at something.
            if request.host.replace(value.to_owned()).is_some() {
                return Some(Err(Refusal(400, "The request has two Host headers.")));
            }
        } else if header.name.eq_ignore_ascii_case("cookie") {
            request.cookies.push(value.to_owned());
        }
    }
    Some(Ok(request))
}

/// A response's status, its own headers and its body.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Arc<str>,
}

/// The head of every response: nothing is stored, framed, sniffed or sent as a referrer.
fn head(status: u16, headers: &[(&str, String)]) -> String {
    let reason = match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        431 => "Request Header Fields Too Large",
        _ => "Internal Server Error",
    };
    let mut head = format!(
        "HTTP/1.1 {status} {reason}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n"
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

/// Writes a response, within its time.
pub(super) fn respond(stream: &mut TcpStream, response: &Response, head_only: bool) -> io::Result<()> {
    let mut headers = response.headers.clone();
    headers.push(("Content-Length", response.body.len().to_string()));
    let until = Instant::now() + RESPONSE_TIME;
    write_until(stream, head(response.status, &headers).as_bytes(), until)?;
    if !head_only {
        write_until(stream, response.body.as_bytes(), until)?;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    // What was sent to us and not read would make the close a reset, which can overtake the response.
    let (mut left, mut block) = (HEAD_MAX_BYTES * 4, [0; 1024]);
    stream.set_read_timeout(Some(DRAIN_TIME))?;
    while left > 0 {
        match stream.read(&mut block)? {
            0 => break,
            read => left = left.saturating_sub(read),
        }
    }
    Ok(())
}

/// Begins a stream of events.
pub(super) fn begin_events(stream: &mut TcpStream) -> io::Result<()> {
    let headers = [("Content-Type", "text/event-stream".to_owned())];
    write_until(stream, head(200, &headers).as_bytes(), Instant::now() + HEAD_TIME)
}

/// Writes all of it, by then.
pub(super) fn write_until(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_write_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> u16 {
        parse(bytes).unwrap().unwrap_err().0
    }

    #[test]
    fn a_browsers_request_is_parsed_and_any_part_of_it_is_incomplete() {
        let bytes = b"GET /report?a=1 HTTP/1.1\r\nHost: localhost:1\r\ncookie: x=1\r\nCookie: y=2\r\n\r\n";
        let request = parse(bytes).unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.query.as_str()), ("/report", "a=1"));
        assert_eq!(request.host.as_deref(), Some("localhost:1"));
        assert_eq!(request.cookies, ["x=1", "y=2"]);
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), None, "incomplete at {cut}");
        }
    }

    #[test]
    fn requests_that_no_browser_sends_are_refused() {
        assert_eq!(refused(b"POST / HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(refused(b"CONNECT h:1 HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(refused(b"GET http://h/ HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused(b"\x16\x03\x01\x02\x00"), 400);
        assert_eq!(refused(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(refused(format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(2000)).as_bytes()), 400);
        let many = "x: y\r\n".repeat(HEADERS_MAX + 1);
        assert_eq!(refused(format!("GET / HTTP/1.1\r\n{many}\r\n").as_bytes()), 431);
    }
}
