use super::*;
use crate::frame::setting;
use crate::hpack::{Decoder, Field, Indexing, write_field};

mod limits;
mod random;
mod responses;
mod sending;

/// A step that brings something, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    Ready,
    Head(StreamPlace, u16),
    Body(StreamPlace, Vec<u8>),
    End(StreamPlace),
    Failed(StreamPlace, Failure),
    Draining(Code),
    Moved(StreamPlace),
}

/// Takes all of a server's bytes; pieces of one body are joined, and what says nothing is left out.
fn take(connection: &mut Connection, wire: &[u8]) -> Result<Vec<Said>, Fault> {
    let mut input = wire;
    let mut said = Vec::new();
    loop {
        match connection.take(&mut input)? {
            Step::More => break,
            step => said.extend(said_by(step)),
        }
    }
    assert!(input.is_empty(), "all is used before there is no more to say");
    Ok(joined(said))
}

/// What a step brings, each thing by itself.
fn said_by(step: Step<'_>) -> Vec<Said> {
    vec![match step {
        Step::More | Step::Wire(_) => return Vec::new(),
        Step::Ready => Said::Ready,
        Step::Head { place, status } => Said::Head(place, status),
        Step::Body { place, bytes } => Said::Body(place, bytes.to_vec()),
        Step::End { place, status, bytes } => {
            let head = status.map(|status| Said::Head(place, status));
            let body = (!bytes.is_empty()).then(|| Said::Body(place, bytes.to_vec()));
            return head.into_iter().chain(body).chain([Said::End(place)]).collect();
        }
        Step::Failed { place, failure } => Said::Failed(place, failure),
        Step::Draining(code) => Said::Draining(code),
        Step::Moved(place) => Said::Moved(place),
    }]
}

/// Bodies that came in one piece or several are the same.
fn joined(said: Vec<Said>) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    for one in said {
        match (one, all.last_mut()) {
            (Said::Body(at, more), Some(Said::Body(last, bytes))) if *last == at => bytes.extend(more),
            (one, _) => all.push(one),
        }
    }
    all
}

/// A frame that the connection sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Sent {
    /// A frame of four bytes: WINDOW_UPDATE or RST_STREAM.
    fn word(kind: u8, stream: u32, word: u32) -> Sent {
        Sent { kind, flags: 0, stream, payload: word.to_be_bytes().to_vec() }
    }
}

fn parse(mut bytes: &[u8]) -> Vec<Sent> {
    bytes = bytes.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(bytes);
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let (header, rest) = bytes.split_at(9);
        let length = usize::from(header[1]) * 256 + usize::from(header[2]);
        let (payload, rest) = rest.split_at(length);
        frames.push(Sent {
            kind: header[3],
            flags: header[4],
            stream: word(&header[5..]),
            payload: payload.to_vec(),
        });
        bytes = rest;
    }
    frames
}

/// Writes all that is outgoing, and gives it.
fn sent(connection: &mut Connection, requests: &Requests) -> Vec<Sent> {
    let mut frames = Vec::new();
    loop {
        let bytes = connection.outgoing(requests).1.to_vec();
        if bytes.is_empty() {
            return frames;
        }
        frames.extend(parse(&bytes));
        connection.wrote(bytes.len(), |_| {});
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::header(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (id, value) in list {
        payload.extend(id.to_be_bytes());
        payload.extend(value.to_be_bytes());
    }
    frame(kind::SETTINGS, 0, 0, &payload)
}

fn once<'a>(name: &'a str, value: &'a str) -> Field<'a> {
    Field { name, value: value.as_bytes(), indexing: Indexing::Once }
}

/// A HEADERS frame with these fields; the last flag is END_STREAM.
fn headers(stream: u32, fields: &[(&str, &str)], ends: bool) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        write_field(&mut block, &once(name, value));
    }
    let mut out = Vec::new();
    write::headers(&mut out, stream, ends, &[&block]);
    out
}

fn data(stream: u32, bytes: &[u8], ends: bool) -> Vec<u8> {
    frame(kind::DATA, if ends { flag::END_STREAM } else { 0 }, stream, bytes)
}

fn reset(stream: u32, code: Code) -> Vec<u8> {
    frame(kind::RST_STREAM, 0, stream, &code.0.to_be_bytes())
}

fn goaway(last: u32, code: Code) -> Vec<u8> {
    frame(kind::GOAWAY, 0, 0, &[last.to_be_bytes(), code.0.to_be_bytes()].concat())
}

fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

/// Requests 0 and 1 of a list, GET and HEAD, with a body.
fn requests(body: &[u8]) -> Requests {
    let shared = [
        Field { name: ":scheme", value: b"http", indexing: Indexing::Shared },
        Field { name: ":authority", value: b"h:8080", indexing: Indexing::Shared },
        Field { name: "user-agent", value: b"prony", indexing: Indexing::Shared },
    ];
    let mut requests = Requests::new(&shared, body.to_vec());
    requests.push(&[once(":method", "GET"), once(":path", "/a")], &[], false, None);
    requests.push(&[once(":method", "HEAD"), once(":path", "/b")], &[once("x-own", "1")], true, None);
    requests
}

/// A connection of so many streams that stands by these settings of the server's; all is written.
fn standing_with(streams: StreamPlace, list: &[(u16, u32)], requests: &Requests) -> Connection {
    let mut connection = Connection::new(streams);
    assert_eq!(take(&mut connection, &settings(list)), Ok(vec![Said::Ready]));
    sent(&mut connection, requests);
    connection
}

/// A connection with GETs at places 0, 1, …, which are the streams 1, 3, …; all is written.
fn asked(streams: StreamPlace) -> Connection {
    let requests = requests(b"");
    let mut connection = standing_with(streams, &[], &requests);
    for place in 0..streams {
        connection.submit(place, 0);
    }
    sent(&mut connection, &requests);
    connection
}

/// The only frames that went out since: nothing is sent but what has to be.
fn answers(connection: &mut Connection) -> Vec<Sent> {
    sent(connection, &requests(b""))
}

const OK: &[(&str, &str)] = &[(":status", "200")];
