//! HTTP/2, by the frames, header blocks and rules of the load engine: a server that passes here can be measured.

use std::fmt::Write as _;
use std::time::Instant;

use prony_http2::client::{self, Failure, Requests, Step, StreamPlace};
use prony_http2::frame::{Piece, Reader, kind};
use prony_http2::hpack::{Decoder, Field, Indexing};
use prony_http2::{Fault as Broken, fields};

use super::{BODY_BYTES_MAX, Connection, Fault, Request, Response, WIRE_BYTES_MAX};

const NAME: &str = "HTTP/2";
const PLACE: StreamPlace = 0;
const CUTS: [usize; 2] = [5, 13];

pub(super) struct Session {
    streams: client::Connection,
    scheme: &'static str,
    headers: Headers,
}

/// The header fields of responses, which the engine does not keep: read from the same bytes beside it.
struct Headers {
    reader: Reader,
    decoder: Decoder,
    fields: Vec<(String, String)>,
}

#[derive(Default)]
struct Answer {
    start: Vec<u8>,
    status: u16,
    body: Vec<u8>,
}

impl Session {
    pub(super) fn new(is_tls: bool) -> Session {
        Session {
            streams: client::Connection::new(1),
            scheme: if is_tls { "https" } else { "http" },
            headers: Headers { reader: Reader::default(), decoder: Decoder::new(), fields: Vec::new() },
        }
    }

    /// Takes bytes that came; whether the answer is whole.
    fn take(&mut self, bytes: &[u8], answer: &mut Answer) -> Result<bool, Fault> {
        let room = WIRE_BYTES_MAX.saturating_sub(answer.start.len()).min(bytes.len());
        answer.start.extend_from_slice(&bytes[..room]);
        self.headers.take(bytes);
        let (mut rest, mut whole) = (bytes, false);
        loop {
            match self.streams.take(&mut rest).map_err(|why| not_http2(why, &answer.start))? {
                Step::More => return Ok(whole),
                Step::Ready | Step::Wire(_) | Step::Draining(_) => {}
                Step::Head { status, .. } => answer.status = status,
                Step::Body { bytes, .. } | Step::End { bytes, .. }
                    if answer.body.len() + bytes.len() > BODY_BYTES_MAX =>
                {
                    return Err(Fault::Protocol(NAME, format!("its body is over {BODY_BYTES_MAX} bytes")));
                }
                Step::Body { bytes, .. } => answer.body.extend_from_slice(bytes),
                Step::End { status, bytes, .. } => {
                    answer.body.extend_from_slice(bytes);
                    answer.status = status.unwrap_or(answer.status);
                    whole = true;
                }
                Step::Failed { failure, .. } => return Err(failed(failure)),
                Step::Moved(_) => {
                    return Err(Fault::Ended("The connection was ended without the request".to_owned()));
                }
            }
        }
    }
}

impl Headers {
    /// Takes what the engine takes. What is no frame or no block, the engine refuses.
    fn take(&mut self, mut bytes: &[u8]) {
        loop {
            let block = match self.reader.next(&mut bytes) {
                Ok(Piece::Whole(frame, block)) if frame.kind == kind::HEADERS => block,
                Ok(Piece::More) | Err(_) => return,
                Ok(_) => continue,
            };
            let fields = &mut self.fields;
            let read = self.decoder.decode(block, |name, value| {
                // Those of an interim answer are not the answer's.
                if name == b":status" {
                    fields.clear();
                }
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                fields.push((text(name), text(value)));
            });
            if read.is_err() {
                return;
            }
        }
    }

    fn shown(&self) -> String {
        let mut shown = String::new();
        for (name, value) in &self.fields {
            let _ = if name == ":status" {
                write!(shown, "{NAME} {value}\r\n")
            } else {
                write!(shown, "{name}: {value}\r\n")
            };
        }
        shown
    }
}

impl Connection {
    pub(super) fn exchange_http2(
        &mut self,
        session: &mut Session,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<Response, Fault> {
        let requests = requests(session.scheme, request)?;
        self.note_request(&format!("{} {} {NAME}\r\n", request.method, request.path), request);
        session.headers.fields.clear();
        session.streams.submit(PLACE, 0);
        let mut answer = Answer::default();
        let response = self.answer(session, &requests, request.fragmented, &mut answer, deadline);
        let response = response.map(|()| Response {
            status: answer.status,
            headers: session.headers.fields.clone(),
            body: std::mem::take(&mut answer.body),
            keeps: session.streams.permits() > 0,
        });
        self.note_answer(session.headers.shown().as_bytes(), &answer.start, &response);
        response
    }

    /// Until the answer is whole. The request is written when the server's settings have come.
    fn answer(
        &mut self,
        session: &mut Session,
        requests: &Requests,
        fragmented: bool,
        answer: &mut Answer,
        deadline: Instant,
    ) -> Result<(), Fault> {
        let mut piece = [0u8; 16 << 10];
        loop {
            // The preface is no request.
            let cuts: &[usize] = if fragmented && session.streams.is_ready() { &CUTS } else { &[] };
            let bytes = session.streams.outgoing(requests).1.to_vec();
            self.send(&bytes, cuts, deadline)?;
            session.streams.wrote(bytes.len(), |_| ());
            if !session.streams.outgoing(requests).1.is_empty() {
                continue;
            }
            match self.receive(&mut piece, deadline)? {
                0 => return Err(Fault::Closed),
                count if session.take(&piece[..count], answer)? => return Ok(()),
                _ => {}
            }
        }
    }
}

/// The request. Only what all of a connection's have in common enters the table of header fields.
fn requests(scheme: &str, request: &Request<'_>) -> Result<Requests, Fault> {
    let field = |name, value, indexing| Field { name, value, indexing };
    let host = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let (host, indexing) = match host {
        Some((_, value)) => (value.value(), Indexing::Never),
        None => (request.host, Indexing::Shared),
    };
    let shared = [
        field(":scheme", scheme.as_bytes(), Indexing::Shared),
        field(":authority", host.as_bytes(), indexing),
    ];
    let before = [
        field(":method", request.method.as_bytes(), Indexing::Once),
        field(":path", request.path.as_bytes(), Indexing::Once),
    ];
    let mut own: Vec<(String, String, Indexing)> = Vec::new();
    for (name, value) in request.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
        let (name, value) = (name.to_ascii_lowercase(), value.value().trim().to_owned());
        fields::check(name.as_bytes(), value.as_bytes())
            .map_err(|why| Fault::Request(format!("{name}: {why}")))?;
        own.push((name, value, Indexing::Never));
    }
    if let Some(body) = request.body {
        if !request.gives("content-type") {
            own.push(("content-type".to_owned(), "application/octet-stream".to_owned(), Indexing::Once));
        }
        own.push(("content-length".to_owned(), body.len().to_string(), Indexing::Once));
    }
    let behind: Vec<Field<'_>> =
        own.iter().map(|(name, value, indexing)| field(name, value.as_bytes(), *indexing)).collect();
    let mut requests = Requests::new(&shared, request.body.unwrap_or_default().to_vec());
    requests.push(&before, &behind, request.method == "HEAD", None);
    Ok(requests)
}

/// Why bytes are not HTTP/2; of a server of HTTP/1.1 alone, that.
fn not_http2(why: Broken, start: &[u8]) -> Fault {
    if start.starts_with(b"HTTP/1.") {
        return Fault::NotSpoken("The server responded in HTTP/1 to an HTTP/2 request".to_owned());
    }
    Fault::Protocol(NAME, why.reason.to_owned())
}

fn failed(failure: Failure) -> Fault {
    match failure {
        Failure::Refused => Fault::Ended("The server refused the stream (REFUSED_STREAM)".to_owned()),
        Failure::Reset(code) => Fault::Ended(format!("The server reset the stream ({})", code.name())),
        Failure::Malformed(why) => Fault::Protocol(NAME, why.to_owned()),
        Failure::Closed => Fault::Closed,
    }
}
