//! HTTP/1.1.

use std::fmt::Write as _;
use std::time::Instant;

use prony_load::http1::{Fields, Framer, Heads, Progress};

use super::{BODY_BYTES_MAX, Connection, Fault, Request, Response, WIRE_BYTES_MAX};

const NAME: &str = "HTTP/1.1";

impl Connection {
    pub(super) fn exchange_http1(
        &mut self,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<Response, Fault> {
        self.send_http1(request, deadline)?;
        let mut answer = Answer::to(request.method);
        let response = self.receive_http1(&mut answer, deadline);
        self.note_answer(answer.head(), &answer.start, &response);
        if response.is_ok() && answer.beyond > 0 {
            self.note('!', format!("{} bytes more than the response.", answer.beyond).as_bytes());
        }
        response
    }

    fn send_http1(&mut self, request: &Request<'_>, deadline: Instant) -> Result<(), Fault> {
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
        if !request.gives("host") {
            let _ = write!(head, "Host: {}\r\n", request.host);
        }
        if let Some(body) = request.body {
            if !request.gives("content-type") {
                head.push_str("Content-Type: application/octet-stream\r\n");
            }
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        self.note_request(&head, request);
        for (name, value) in request.headers {
            let _ = write!(head, "{name}: {}\r\n", value.value());
        }
        head.push_str("\r\n");
        let whole = [head.as_bytes(), request.body.unwrap_or_default()].concat();
        let cuts = if request.fragmented { cuts(&whole) } else { Vec::new() };
        self.send(&whole, &cuts, deadline)
    }

    fn receive_http1(&mut self, answer: &mut Answer, deadline: Instant) -> Result<Response, Fault> {
        let mut piece = [0u8; 16 << 10];
        loop {
            match self.receive(&mut piece, deadline)? {
                0 => return answer.end().ok_or(Fault::Closed),
                count => {
                    if let Some(response) = answer.take(&piece[..count])? {
                        return Ok(response);
                    }
                }
            }
        }
    }
}

/// An answer as it comes. What it is and where it ends is the load engine's to say: a server that passes here can be measured.
struct Answer {
    framer: Framer,
    heads: Heads,
    to_head: bool,
    /// Its first bytes as they came, all of its head among them.
    start: Vec<u8>,
    body: Vec<u8>,
    beyond: usize,
}

impl Answer {
    fn to(method: &str) -> Answer {
        Answer {
            framer: Framer::new(),
            heads: Heads::new(),
            to_head: method == "HEAD",
            start: Vec::new(),
            body: Vec::new(),
            beyond: 0,
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<Option<Response>, Fault> {
        if self.framer.awaits_head() || self.start.len() < WIRE_BYTES_MAX {
            self.start.extend_from_slice(piece);
        }
        let body = &mut self.body;
        let mut keep = |bytes: &[u8]| body.extend_from_slice(bytes);
        let progress = self.framer.feed(piece, self.to_head, &mut self.heads, &mut keep);
        match progress.map_err(|why| Fault::Protocol(NAME, why.0.to_owned()))? {
            Progress::Done { consumed, status, reusable } => {
                self.beyond = piece.len() - consumed;
                Ok(Some(self.response(status, reusable && self.beyond == 0)))
            }
            Progress::More if self.body.len() as u64 + self.framer.body_left() > BODY_BYTES_MAX as u64 => {
                Err(Fault::Protocol(NAME, format!("its body is over {BODY_BYTES_MAX} bytes")))
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

    fn head(&self) -> &[u8] {
        &self.start[..Fields::of(&self.start).map_or(0, |head| head.end)]
    }
}

/// Within the method, within the path's line end, and within a header.
fn cuts(whole: &[u8]) -> Vec<usize> {
    let line_end = whole.iter().position(|b| *b == b'\r').unwrap_or(whole.len());
    vec![2, line_end, line_end + 1, line_end + 6, whole.len().saturating_sub(1)]
}
