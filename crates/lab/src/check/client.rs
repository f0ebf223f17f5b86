//! One HTTP/1.1 request at a time over a blocking connection, with a bound on everything:
//! the other end may be a program that was written this morning.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use prony_load::dial::{self, Dialer};
use prony_load::http1::{Fields, Framer, Heads, Progress};
use prony_model::Secret;
use prony_model::secret::{redacted, redacted_head};

/// From the connect to the last byte of one answer.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(5);
/// More than any server of the catalogue sends, by two orders.
const BODY_BYTES_MAX: usize = 16 << 20;
const WIRE_BYTES_MAX: usize = 2 << 10;
/// Of one message so much is looked through for secrets before it is cut: a secret must not be cut itself.
const KEPT_BYTES_MAX: usize = 256 << 10;
/// Long enough for a server to read each piece by itself.
const BETWEEN_FRAGMENTS: Duration = Duration::from_millis(10);

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) host: &'a str,
    /// Beside those that are always sent, or instead of them.
    pub(super) headers: &'a [(String, Secret)],
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
    /// Whether the connection can carry another request: by the answer's own words, and with nothing behind it.
    pub(super) keeps: bool,
}

impl Response {
    /// A header's value.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// Whether its body is this, byte by byte; what it is, in a sentence.
    pub(super) fn body_is(&self, expected: &[u8]) -> Result<(), String> {
        if self.body == expected {
            return Ok(());
        }
        Err(format!(
            "The body is {:?} ({} bytes), expected {:?} ({} bytes).",
            printable(&without_secrets(&self.body), 80),
            self.body.len(),
            printable(&without_secrets(expected), 80),
            expected.len()
        ))
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("No connection to {0}: {1}.")]
    Connect(String, String),
    /// The server's certificate is refused.
    #[error("No connection to {0}: {1}.")]
    Certificate(String, String),
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
    stream: Box<dyn dial::Connection>,
    /// Whose words (`>` ours, `<` the server's, `!` about them), and their first bytes.
    wire: Vec<(char, Vec<u8>)>,
}

impl Connection {
    pub(super) fn open(dialer: &Dialer) -> Result<Connection, Fault> {
        let stream = dialer.connect(EXCHANGE_TIMEOUT);
        let stream = stream.map_err(|e| {
            let is_certificate = e.kind() == ErrorKind::InvalidData;
            let fault = if is_certificate { Fault::Certificate } else { Fault::Connect };
            fault(dialer.to_string(), plain(&e))
        })?;
        Ok(Connection { stream, wire: Vec::new() })
    }

    /// What went over the wire so far, printable, bounded and without secrets.
    pub(super) fn wire(&self) -> Option<String> {
        let mut shown = String::new();
        self.wire.iter().for_each(|(sign, bytes)| show(&mut shown, *sign, bytes));
        Some(shown).filter(|shown| !shown.is_empty())
    }

    /// Sends a request and reads its answer.
    pub(super) fn exchange(&mut self, request: &Request<'_>) -> Result<Response, Fault> {
        let deadline = Instant::now() + EXCHANGE_TIMEOUT;
        self.send(request, deadline)?;
        let mut answer = Answer::to(request.method);
        let response = self.receive(&mut answer, deadline);
        match &response {
            Ok(response) => {
                self.note('<', answer.head().trim_ascii_end());
                if !response.body.is_empty() {
                    self.note('<', &response.body);
                }
                if answer.beyond > 0 {
                    self.note('!', format!("{} bytes more than the answer.", answer.beyond).as_bytes());
                }
            }
            Err(fault) => {
                self.note('<', &answer.start);
                self.note('!', fault.to_string().as_bytes());
            }
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
            let _ = write!(head, "{name}: {}\r\n", value.value());
            let _ = write!(shown, "{name}: (hidden)\r\n");
        }
        head.push_str("\r\n");
        self.note('>', shown.trim_end().as_bytes());
        let body = request.body.unwrap_or_default();
        if !body.is_empty() {
            self.note('>', format!("(a body of {} bytes)", body.len()).as_bytes());
        }
        let whole = [head.as_bytes(), body].concat();
        let cuts = if request.fragmented { fragments(&whole) } else { vec![&whole[..]] };
        for (i, piece) in cuts.into_iter().enumerate() {
            if i > 0 {
                std::thread::sleep(BETWEEN_FRAGMENTS);
            }
            self.stream.set_timeout(left(deadline)?).map_err(|e| Fault::Io(plain(&e)))?;
            self.stream.write_all(piece).and_then(|()| self.stream.flush()).map_err(|e| fault_of(&e))?;
        }
        Ok(())
    }

    fn receive(&mut self, answer: &mut Answer, deadline: Instant) -> Result<Response, Fault> {
        let mut piece = [0u8; 16 << 10];
        loop {
            self.stream.set_timeout(left(deadline)?).map_err(|e| Fault::Io(plain(&e)))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return answer.end().ok_or(Fault::Closed),
                Ok(count) => {
                    if let Some(response) = answer.take(&piece[..count])? {
                        return Ok(response);
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(fault_of(&e)),
            }
        }
    }

    fn note(&mut self, sign: char, bytes: &[u8]) {
        self.wire.push((sign, bytes[..bytes.len().min(KEPT_BYTES_MAX)].to_vec()));
    }
}

/// Writes words of the wire, as far as there is room.
fn show(wire: &mut String, sign: char, bytes: &[u8]) {
    for line in without_secrets(bytes).split(|b| *b == b'\n') {
        let room = WIRE_BYTES_MAX.saturating_sub(wire.len() + 4);
        if room == 0 {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = printable(line, room);
        let _ = writeln!(wire, "{sign} {text}");
    }
}

/// Bytes from outside, as many as are looked through, without what is secret in them. What is no text stays as it is where
/// nothing is.
pub(super) fn without_secrets(bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(KEPT_BYTES_MAX)];
    let text = String::from_utf8_lossy(bytes);
    let shown = redacted(&redacted_head(&text));
    if shown == text { bytes.to_vec() } else { shown.into_bytes() }
}

/// An answer as it comes. What it is and where it ends is the load engine's to say: a server that passes here can be measured.
struct Answer {
    framer: Framer,
    heads: Heads,
    answers_head: bool,
    /// Its first bytes as they came, all of its head among them.
    start: Vec<u8>,
    body: Vec<u8>,
    /// Bytes that came behind it.
    beyond: usize,
}

impl Answer {
    fn to(method: &str) -> Answer {
        Answer {
            framer: Framer::new(),
            heads: Heads::new(),
            answers_head: method == "HEAD",
            start: Vec::new(),
            body: Vec::new(),
            beyond: 0,
        }
    }

    /// Takes the next bytes; gives the answer once it is whole.
    fn take(&mut self, piece: &[u8]) -> Result<Option<Response>, Fault> {
        if self.framer.awaits_head() || self.start.len() < WIRE_BYTES_MAX {
            self.start.extend_from_slice(piece);
        }
        let body = &mut self.body;
        let mut keep = |bytes: &[u8]| body.extend_from_slice(bytes);
        let progress = self.framer.feed(piece, self.answers_head, &mut self.heads, &mut keep);
        match progress.map_err(|why| Fault::Protocol(why.0.to_owned()))? {
            Progress::Done { consumed, status, reusable } => {
                self.beyond = piece.len() - consumed;
                Ok(Some(self.response(status, reusable && self.beyond == 0)))
            }
            Progress::More if self.body.len() as u64 + self.framer.body_left() > BODY_BYTES_MAX as u64 => {
                Err(Fault::Protocol(format!("its body is over {BODY_BYTES_MAX} bytes")))
            }
            Progress::More => Ok(None),
        }
    }

    /// The answer that ends with the connection; `None` where it is cut off.
    fn end(&mut self) -> Option<Response> {
        self.framer.end_of_stream().map(|status| self.response(status, false))
    }

    fn response(&mut self, status: u16, keeps: bool) -> Response {
        let headers = Fields::of(&self.start).map(|head| head.fields).unwrap_or_default();
        Response { status, headers, body: std::mem::take(&mut self.body), keeps }
    }

    /// Its head, and those of interim answers before it.
    fn head(&self) -> &[u8] {
        &self.start[..Fields::of(&self.start).map_or(0, |head| head.end)]
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

/// The system's sentence without its number.
fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
