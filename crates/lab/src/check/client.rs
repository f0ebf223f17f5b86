//! One HTTP/1.1 request at a time over a blocking socket, with a bound on everything:
//! the other end may be a program that was written this morning.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// From the connect to the last byte of one answer.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(5);
/// More than any server of the catalogue sends, by two orders.
const HEAD_BYTES_MAX: usize = 64 << 10;
const BODY_BYTES_MAX: usize = 16 << 20;
const HEADERS_MAX: usize = 128;
/// `100 Continue` and its like before the answer.
const INTERIM_ANSWERS_MAX: usize = 8;
/// A chunk's size line, or a trailer.
const LINE_BYTES_MAX: usize = 4 << 10;
const WIRE_BYTES_MAX: usize = 2 << 10;
/// Long enough for a server to read each piece by itself.
const BETWEEN_FRAGMENTS: Duration = Duration::from_millis(10);

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) host: &'a str,
    /// Beside those that are always sent, or instead of them.
    pub(super) headers: &'a [(String, String)],
    pub(super) body: Option<&'a [u8]>,
    /// Sent in several pieces, cut within the request line and a header.
    pub(super) fragmented: bool,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the connection can carry another request, by the answer's own words.
    pub(super) keeps: bool,
}

impl Response {
    /// A header's value.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Whether a header's list of words has this one.
    fn header_has(&self, name: &str, word: &str) -> bool {
        let mut all = self.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        all.any(|(_, v)| v.split(',').any(|w| w.trim().eq_ignore_ascii_case(word)))
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("Nothing listens at {0}: {1}.")]
    Connect(SocketAddr, String),
    #[error("No whole answer within 5 s.")]
    Timeout,
    #[error("The connection was closed before the answer was whole.")]
    Closed,
    #[error("The connection failed: {0}.")]
    Io(String),
    #[error("The answer is not HTTP/1.1: {0}.")]
    Protocol(String),
}

/// One connection, and a transcript of what went over it.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    wire: String,
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> Result<Connection, Fault> {
        let stream = TcpStream::connect_timeout(&address, EXCHANGE_TIMEOUT)
            .map_err(|e| Fault::Connect(address, plain(&e)))?;
        // A pair of small writes must not wait for the other end's delayed acknowledgement.
        let _ = stream.set_nodelay(true);
        Ok(Connection { stream, buffer: Vec::new(), wire: String::new() })
    }

    /// What went over the wire so far, printable and bounded.
    pub(super) fn wire(&self) -> Option<String> {
        (!self.wire.is_empty()).then(|| self.wire.clone())
    }

    /// Sends a request and reads its answer.
    pub(super) fn exchange(&mut self, request: &Request<'_>) -> Result<Response, Fault> {
        let deadline = Instant::now() + EXCHANGE_TIMEOUT;
        self.send(request, deadline)?;
        let response = self.receive(request.method, deadline);
        if let Err(fault) = &response {
            let unread = std::mem::take(&mut self.buffer);
            self.note('<', &unread);
            self.note('!', fault.to_string().as_bytes());
        }
        response
    }

    fn send(&mut self, request: &Request<'_>, deadline: Instant) -> Result<(), Fault> {
        let given = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
        if !given("host") {
            let _ = write!(head, "Host: {}\r\n", request.host);
        }
        if let Some(body) = request.body {
            if !given("content-type") {
                head.push_str("Content-Type: application/octet-stream\r\n");
            }
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        // The transcript is printed and kept: what was given may be secret, and its sender knows it.
        let mut shown = head.clone();
        for (name, value) in request.headers {
            let _ = write!(head, "{name}: {value}\r\n");
            let _ = write!(shown, "{name}: (hidden)\r\n");
        }
        head.push_str("\r\n");
        self.note('>', shown.trim_end().as_bytes());
        let body = request.body.unwrap_or_default();
        if !body.is_empty() {
            self.note('>', body);
        }
        let whole = [head.as_bytes(), body].concat();
        let cuts = if request.fragmented { fragments(&whole) } else { vec![&whole[..]] };
        for (i, piece) in cuts.into_iter().enumerate() {
            if i > 0 {
                std::thread::sleep(BETWEEN_FRAGMENTS);
            }
            self.stream.set_write_timeout(Some(left(deadline)?)).map_err(|e| Fault::Io(plain(&e)))?;
            self.stream.write_all(piece).map_err(|e| fault_of(&e))?;
        }
        Ok(())
    }

    fn receive(&mut self, method: &str, deadline: Instant) -> Result<Response, Fault> {
        for _ in 0..INTERIM_ANSWERS_MAX {
            let (mut response, http_1_1) = self.head(deadline)?;
            if (100..200).contains(&response.status) {
                continue;
            }
            let delimited = self.body(method, &mut response, deadline)?;
            let body = std::mem::take(&mut response.body);
            if !body.is_empty() {
                self.note('<', &body);
            }
            response.body = body;
            response.keeps = delimited
                && !response.header_has("Connection", "close")
                && (http_1_1 || response.header_has("Connection", "keep-alive"));
            return Ok(response);
        }
        Err(Fault::Protocol(format!("more than {INTERIM_ANSWERS_MAX} interim answers")))
    }

    fn head(&mut self, deadline: Instant) -> Result<(Response, bool), Fault> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
            let mut head = httparse::Response::new(&mut headers);
            match head.parse(&self.buffer) {
                Ok(httparse::Status::Complete(length)) => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
                    let response = Response {
                        status: head.code.unwrap_or_default(),
                        headers: head.headers.iter().map(|h| (h.name.to_owned(), text(h.value))).collect(),
                        body: Vec::new(),
                        keeps: false,
                    };
                    let http_1_1 = head.version == Some(1);
                    let seen: Vec<u8> = self.buffer.drain(..length).collect();
                    self.note('<', seen.trim_ascii_end());
                    return Ok((response, http_1_1));
                }
                Ok(httparse::Status::Partial) if self.buffer.len() > HEAD_BYTES_MAX => {
                    return Err(Fault::Protocol(format!("its head is over {HEAD_BYTES_MAX} bytes")));
                }
                Ok(httparse::Status::Partial) => self.read_more(deadline)?,
                Err(e) => return Err(Fault::Protocol(e.to_string())),
            }
        }
    }

    /// Reads the body; says whether its end was marked otherwise than by the connection's end (RFC 9112, 6.3).
    fn body(&mut self, method: &str, response: &mut Response, deadline: Instant) -> Result<bool, Fault> {
        if method == "HEAD" || matches!(response.status, 204 | 304) {
            return Ok(true);
        }
        if response.header_has("Transfer-Encoding", "chunked") {
            response.body = self.chunks(deadline)?;
            return Ok(true);
        }
        let Some(length) = response.header("Content-Length") else {
            loop {
                if self.buffer.len() > BODY_BYTES_MAX {
                    return Err(too_long());
                }
                match self.read_more(deadline) {
                    Ok(()) => {}
                    Err(Fault::Closed) => break,
                    Err(fault) => return Err(fault),
                }
            }
            response.body = std::mem::take(&mut self.buffer);
            return Ok(false);
        };
        let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
        let length = length.parse::<usize>().ok().filter(|_| digits);
        let length = length.ok_or_else(|| Fault::Protocol("its Content-Length is no number".to_owned()))?;
        response.body = self.take(length, deadline)?;
        Ok(true)
    }

    fn chunks(&mut self, deadline: Instant) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        loop {
            let line = self.line(deadline)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| {
                Fault::Protocol(format!("{:?} is no size of a chunk", printable(line.as_bytes(), 40)))
            })?;
            if size == 0 {
                break;
            }
            if size.saturating_add(body.len()) > BODY_BYTES_MAX {
                return Err(too_long());
            }
            body.extend(self.take(size, deadline)?);
            if !self.line(deadline)?.is_empty() {
                return Err(Fault::Protocol("a chunk is longer than its size".to_owned()));
            }
        }
        for _ in 0..HEADERS_MAX {
            if self.line(deadline)?.is_empty() {
                return Ok(body);
            }
        }
        Err(Fault::Protocol("its trailers do not end".to_owned()))
    }

    fn line(&mut self, deadline: Instant) -> Result<String, Fault> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|w| w == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.buffer.len() > LINE_BYTES_MAX {
                return Err(Fault::Protocol("the size of a chunk does not end".to_owned()));
            }
            self.read_more(deadline)?;
        }
    }

    fn take(&mut self, length: usize, deadline: Instant) -> Result<Vec<u8>, Fault> {
        if length > BODY_BYTES_MAX {
            return Err(too_long());
        }
        while self.buffer.len() < length {
            self.read_more(deadline)?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn read_more(&mut self, deadline: Instant) -> Result<(), Fault> {
        let mut piece = [0u8; 16 << 10];
        self.stream.set_read_timeout(Some(left(deadline)?)).map_err(|e| Fault::Io(plain(&e)))?;
        match self.stream.read(&mut piece) {
            Ok(0) => Err(Fault::Closed),
            Ok(n) => {
                self.buffer.extend_from_slice(&piece[..n]);
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(fault_of(&e)),
        }
    }

    fn note(&mut self, sign: char, bytes: &[u8]) {
        for line in bytes.split(|b| *b == b'\n') {
            let room = WIRE_BYTES_MAX.saturating_sub(self.wire.len() + 4);
            if room == 0 {
                return;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let text = printable(line, room);
            let _ = writeln!(self.wire, "{sign} {text}");
        }
    }
}

/// Cut within the method, within the path's line end, and within a header.
fn fragments(whole: &[u8]) -> Vec<&[u8]> {
    let line_end = whole.iter().position(|b| *b == b'\r').unwrap_or(whole.len());
    let cuts = [2, line_end, line_end + 1, line_end + 6, whole.len().saturating_sub(1), whole.len()];
    let mut start = 0;
    let mut pieces = Vec::new();
    for cut in cuts {
        let end = cut.min(whole.len());
        if end > start {
            pieces.push(&whole[start..end]);
            start = end;
        }
    }
    pieces
}

/// Printable text of at most `bytes_max` bytes; everything else escaped.
pub(super) fn printable(bytes: &[u8], bytes_max: usize) -> String {
    let mut out = String::new();
    for b in bytes {
        let piece = b.escape_ascii().to_string();
        // Quotes and backslashes are no control bytes: as they are, they read better.
        let piece = if (b' '..0x7f).contains(b) { char::from(*b).to_string() } else { piece };
        if out.len() + piece.len() + '…'.len_utf8() > bytes_max {
            out.push('…');
            break;
        }
        out.push_str(&piece);
    }
    out
}

fn left(deadline: Instant) -> Result<Duration, Fault> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Fault::Timeout) } else { Ok(left) }
}

fn fault_of(error: &std::io::Error) -> Fault {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Fault::Timeout,
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => Fault::Closed,
        _ => Fault::Io(plain(error)),
    }
}

fn too_long() -> Fault {
    Fault::Protocol(format!("its body is over {BODY_BYTES_MAX} bytes"))
}

/// The system's sentence without its number.
fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
