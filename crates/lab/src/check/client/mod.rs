//! One request at a time over a blocking connection, in HTTP/1.1 or HTTP/2, with a bound on everything:
//! the other end may be a program that was written this morning.

mod http1;
mod http2;

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use prony_load::dial::{self, Dialer};
use prony_model::Secret;
use prony_model::plan::Protocol;
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

#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) host: &'a str,
    /// Beside those that are always sent, or instead of them.
    pub(super) headers: &'a [(String, Secret)],
    pub(super) body: Option<&'a [u8]>,
    /// Sent in several pieces, cut within the request line and a header, or within frames.
    pub(super) fragmented: bool,
}

impl Request<'_> {
    fn gives(&self, name: &str) -> bool {
        self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name))
    }
}

#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// Whether the connection can carry another request: by the answer's own words, and with nothing behind it.
    pub(super) keeps: bool,
}

impl Response {
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

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("No connection to {0}: {1}.")]
    Connect(String, String),
    #[error("No connection to {0}: {1}.")]
    Certificate(String, String),
    #[error("{0}.")]
    NotSpoken(String),
    #[error("No complete response within 5 s.")]
    Timeout,
    #[error("The connection was closed before the response was complete.")]
    Closed,
    #[error("The connection failed: {0}.")]
    Io(String),
    #[error("The response is not {0}: {1}.")]
    Protocol(&'static str, String),
    /// The server ended the request's stream, or the connection before it.
    #[error("{0}.")]
    Ended(String),
    #[error("The request cannot be sent: {0}.")]
    Request(String),
}

pub(super) struct Connection {
    stream: Box<dyn dial::Connection>,
    /// What HTTP/2 keeps of a connection; `None`: HTTP/1.1 is spoken.
    http2: Option<Box<http2::Session>>,
    /// Whose words (`>` ours, `<` the server's, `!` about them), and their first bytes.
    wire: Vec<(char, Vec<u8>)>,
    timeout: Duration,
}

impl Connection {
    pub(super) fn open(dialer: &Dialer) -> Result<Connection, Fault> {
        Connection::open_within(dialer, EXCHANGE_TIMEOUT)
    }

    fn open_within(dialer: &Dialer, timeout: Duration) -> Result<Connection, Fault> {
        let stream = dialer.connect(timeout);
        let stream = stream.map_err(|e| {
            let (address, why) = (dialer.to_string(), plain(&e));
            match e.kind() {
                ErrorKind::InvalidData => Fault::Certificate(address, why),
                ErrorKind::Unsupported => Fault::NotSpoken(format!("No connection to {address}: {why}")),
                _ => Fault::Connect(address, why),
            }
        })?;
        let http2 = match dialer.protocol() {
            Protocol::Http1 => None,
            Protocol::Http2 => Some(Box::new(http2::Session::new(dialer.is_tls()))),
        };
        Ok(Connection { stream, http2, wire: Vec::new(), timeout })
    }

    /// What went over the wire so far, printable, bounded and without secrets.
    pub(super) fn wire(&self) -> Option<String> {
        let mut shown = String::new();
        self.wire.iter().for_each(|(sign, bytes)| show(&mut shown, *sign, bytes));
        Some(shown).filter(|shown| !shown.is_empty())
    }

    pub(super) fn exchange(&mut self, request: &Request<'_>) -> Result<Response, Fault> {
        let deadline = Instant::now() + self.timeout;
        match self.http2.take() {
            None => self.exchange_http1(request, deadline),
            Some(mut session) => {
                let response = self.exchange_http2(&mut session, request, deadline);
                self.http2 = Some(session);
                response
            }
        }
    }

    fn send(&mut self, bytes: &[u8], cuts: &[usize], deadline: Instant) -> Result<(), Fault> {
        for (i, piece) in pieces(bytes, cuts).into_iter().enumerate() {
            if i > 0 {
                std::thread::sleep(BETWEEN_FRAGMENTS);
            }
            self.stream.set_timeout(left(deadline)?).map_err(|e| Fault::Io(plain(&e)))?;
            self.stream.write_all(piece).and_then(|()| self.stream.flush()).map_err(|e| fault_of(&e))?;
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], deadline: Instant) -> Result<usize, Fault> {
        loop {
            self.stream.set_timeout(left(deadline)?).map_err(|e| Fault::Io(plain(&e)))?;
            match self.stream.read(buffer) {
                Ok(count) => return Ok(count),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(fault_of(&e)),
            }
        }
    }

    /// Takes note of a request. The transcript is printed and kept: what was given may be secret, and its sender knows it.
    fn note_request(&mut self, head: &str, request: &Request<'_>) {
        let mut shown = head.to_owned();
        for (name, _) in request.headers {
            let _ = write!(shown, "{name}: (hidden)\r\n");
        }
        self.note('>', shown.trim_end().as_bytes());
        let body = request.body.unwrap_or_default();
        if !body.is_empty() {
            self.note('>', format!("(a body of {} bytes)", body.len()).as_bytes());
        }
    }

    fn note_answer(&mut self, head: &[u8], came: &[u8], response: &Result<Response, Fault>) {
        match response {
            Ok(response) => {
                self.note('<', head.trim_ascii_end());
                if !response.body.is_empty() {
                    self.note('<', &response.body);
                }
            }
            Err(fault) => {
                self.note('<', came);
                self.note('!', fault.to_string().as_bytes());
            }
        }
    }

    fn note(&mut self, sign: char, bytes: &[u8]) {
        self.wire.push((sign, bytes[..bytes.len().min(KEPT_BYTES_MAX)].to_vec()));
    }
}

/// POSTs to the dialer's server over a connection of its own: the response's status and body, or in a sentence why there
/// is none. The connect, each step of a TLS handshake and the exchange may take so long.
pub fn post(
    dialer: &Dialer,
    path: &str,
    headers: &[(String, Secret)],
    body: &[u8],
    timeout: Duration,
) -> Result<(u16, Vec<u8>), String> {
    let (host, body) = (dialer.host(), Some(body));
    let request = Request { method: "POST", path, host, headers, body, fragmented: false };
    let asked = Connection::open_within(dialer, timeout).and_then(|mut c| c.exchange(&request));
    match asked {
        Ok(response) => Ok((response.status, response.body)),
        Err(Fault::Timeout) => Err(format!("No complete response within {} s.", timeout.as_secs())),
        Err(fault) => Err(fault.to_string()),
    }
}

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

/// Bytes from outside, as many as are looked through, without secrets; without one they stay, text or not.
pub(super) fn without_secrets(bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(KEPT_BYTES_MAX)];
    let text = String::from_utf8_lossy(bytes);
    let shown = redacted(&redacted_head(&text));
    if shown == text { bytes.to_vec() } else { shown.into_bytes() }
}

fn pieces<'b>(whole: &'b [u8], cuts: &[usize]) -> Vec<&'b [u8]> {
    let mut start = 0;
    let mut pieces = Vec::new();
    for cut in cuts.iter().copied().chain([whole.len()]) {
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

fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
