//! Requests and responses: as much of HTTP/1.1 as a page needs.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HEAD_MAX_BYTES: usize = 8 << 10;
const HEAD_TIME: Duration = Duration::from_secs(5);
const RESPONSE_TIME: Duration = Duration::from_secs(60);
const DRAIN_TIME: Duration = Duration::from_millis(500);
const HEADERS_MAX: usize = 64;
const PATH_MAX_BYTES: usize = 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) query: String,
    pub(super) host: Option<String>,
    pub(super) cookies: Vec<String>,
    /// A page of another origin or port asks for it, as a browser says (Sec-Fetch-Site): such a page cannot read the
    /// response, but could make this server work. What follows a link (`navigate` to a `document`) is neither framed
    /// nor readable.
    pub(super) foreign: bool,
    /// `HEAD`: the response has no body.
    pub(super) head_only: bool,
}

/// Why a request gets no page: a status and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) u16, pub(super) &'static str);

const BODY: Refusal = Refusal(400, "A request for a page has no body.");

/// Reads a head. `None`: the other side left, or took too long.
pub(super) fn read(stream: &mut TcpStream) -> Option<Result<Request, Refusal>> {
    let until = Instant::now() + HEAD_TIME;
    let mut bytes = Vec::with_capacity(1024);
    let mut block = [0; 1024];
    loop {
        let read = read_until(stream, &mut block, until).ok().filter(|read| *read > 0)?;
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

/// Reads what comes next, by then; 0 at the end.
fn read_until(stream: &mut TcpStream, block: &mut [u8], until: Instant) -> io::Result<usize> {
    let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    stream.set_read_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
    stream.read(block)
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
    let (mut navigates, mut to_document, mut ahead) = (false, false, false);
    for header in head.headers.iter() {
        let Ok(value) = std::str::from_utf8(header.value) else { continue };
        match header.name.to_ascii_lowercase().as_str() {
            // Two hosts are an attempt at something.
            "host" if request.host.replace(value.to_owned()).is_some() => {
                return Some(Err(Refusal(400, "The request has two Host headers.")));
            }
            "cookie" => request.cookies.push(value.to_owned()),
            "sec-fetch-site" => request.foreign |= !matches!(value, "same-origin" | "none"),
            "sec-fetch-mode" => navigates = value == "navigate",
            "sec-fetch-dest" => to_document = value == "document",
            // Fetched before anybody follows the link.
            "sec-purpose" => ahead = true,
            "transfer-encoding" => return Some(Err(BODY)),
            "content-length" if value != "0" => return Some(Err(BODY)),
            _ => {}
        }
    }
    request.foreign &= !(navigates && to_document) || ahead;
    Some(Ok(request))
}

pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Arc<str>,
}

/// The head of every response: nothing is framed, sniffed or sent as a referrer, nor stored unless its headers say so.
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
        "HTTP/1.1 {status} {reason}\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n"
    );
    if headers.iter().all(|(name, _)| *name != "Cache-Control") {
        head.push_str("Cache-Control: no-store\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

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
    let (mut left, mut block, until) = (HEAD_MAX_BYTES * 4, [0; 1024], Instant::now() + DRAIN_TIME);
    while left > 0 {
        match read_until(stream, &mut block, until)? {
            0 => break,
            read => left = left.saturating_sub(read),
        }
    }
    Ok(())
}

pub(super) fn begin_events(stream: &mut TcpStream) -> io::Result<()> {
    let headers = [("Content-Type", "text/event-stream".to_owned())];
    write_until(stream, head(200, &headers).as_bytes(), Instant::now() + HEAD_TIME)
}

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
    fn a_browsers_request_is_parsed_and_any_part_is_incomplete() {
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
        assert_eq!(refused(b"GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"), 400);
        assert_eq!(refused(b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
        assert!(parse(b"GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n").unwrap().is_ok());
    }

    #[test]
    fn only_own_pages_and_links_that_are_followed_are_not_foreign() {
        let foreign = |headers: &str| {
            parse(format!("GET / HTTP/1.1\r\n{headers}\r\n").as_bytes()).unwrap().unwrap().foreign
        };
        let of = |site: &str, mode: &str, dest: &str| {
            let headers = format!("Sec-Fetch-Site: {site}\r\nsec-fetch-mode: {mode}\r\n");
            foreign(&format!("{headers}Sec-Fetch-Dest: {dest}\r\n"))
        };
        // A program, an old browser; an address that was typed; a page's own events.
        assert!(!foreign(""));
        assert!(!of("none", "navigate", "document"));
        assert!(!of("same-origin", "cors", "empty"));
        for site in ["cross-site", "same-site", "what comes next"] {
            assert!(of(site, "no-cors", "image") && of(site, "cors", "empty"), "{site}");
            assert!(of(site, "navigate", "iframe") && of(site, "navigate", "embed"), "{site}");
            assert!(!of(site, "navigate", "document"), "a person follows a link: {site}");
            assert!(of(site, "navigate", "document\r\nSec-Purpose: prefetch"), "{site}");
            assert!(foreign(&format!("Sec-Fetch-Site: {site}\r\n")), "{site}");
        }
        assert!(foreign("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n"));
    }

    #[test]
    fn a_client_that_sends_on_slowly_is_left_when_the_time_is_over() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        // A byte well within the time, again and again: far fewer than would be read, until the server has gone.
        let sending = std::thread::spawn(move || {
            let sent = (0..6_000).take_while(|_| {
                std::thread::sleep(Duration::from_millis(10));
                client.write_all(b"x").is_ok()
            });
            sent.count()
        });
        let response = Response { status: 404, headers: Vec::new(), body: "".into() };
        let left = respond(&mut stream, &response, false).unwrap_err();
        assert!(matches!(left.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{left}");
        drop(stream);
        assert!(sending.join().unwrap() < 6_000);
    }
}
