//! A client of HTTP/2: the load's own layer behind a blocking socket.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use prony_http2::client::{Connection, Failure, Requests, Step, StreamPlace};
use prony_http2::hpack::{Field, Indexing};
use prony_target::Target;

/// Longer than any machine needs; only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Answered(u16, Vec<u8>),
    Failed(Failure),
    Moved,
}

pub(crate) struct Http2Client {
    pub(crate) stream: TcpStream,
    pub(crate) connection: Connection,
    requests: Requests,
    answers: Vec<(u16, Vec<u8>)>,
    /// The requests' ends, in their order.
    pub(crate) ends: Vec<(StreamPlace, End)>,
    pub(crate) is_ended: bool,
    /// Bytes that were written.
    pub(crate) written: u64,
}

/// Requests with these methods and paths, all with this body.
pub(crate) fn requests(list: &[(&str, &str)], body: &[u8]) -> Requests {
    let shared = [(":scheme", "http"), (":authority", "a")].map(|(name, value)| Field {
        name,
        value: value.as_bytes(),
        indexing: Indexing::Shared,
    });
    let mut requests = Requests::new(&shared, body.to_vec());
    for (method, path) in list {
        let own = [(":method", method), (":path", path)].map(|(name, value)| Field {
            name,
            value: value.as_bytes(),
            indexing: Indexing::Once,
        });
        requests.push(&own, &[], *method == "HEAD", None);
    }
    requests
}

impl Http2Client {
    /// A connection for so many requests at once, with the server's settings.
    pub(crate) fn connect(target: &Target, streams: StreamPlace, requests: Requests) -> Http2Client {
        let stream = TcpStream::connect(target.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let connection = Connection::new(streams);
        let answers = vec![(0, Vec::new()); usize::from(streams)];
        let mut client = Http2Client {
            stream,
            connection,
            requests,
            answers,
            ends: Vec::new(),
            is_ended: false,
            written: 0,
        };
        client.write();
        while client.connection.permits() == 0 && !client.is_ended {
            client.read();
        }
        client
    }

    /// Asks for request `request` at a place, which is written with the next [`Http2Client::write`].
    pub(crate) fn submit(&mut self, place: StreamPlace, request: u32) {
        self.connection.submit(place, request);
    }

    /// Writes all that may go now.
    pub(crate) fn write(&mut self) {
        loop {
            let bytes = self.connection.outgoing(&self.requests).1;
            let count = bytes.len();
            if count == 0 {
                return;
            }
            // A server that has ended the connection takes no more.
            if self.stream.write_all(bytes).is_err() {
                return;
            }
            self.connection.wrote(count, |_| {});
            self.written += count as u64;
        }
    }

    /// One read, and what follows from it.
    pub(crate) fn read(&mut self) {
        let mut buffer = vec![0; 1 << 16];
        let count = loop {
            match self.stream.read(&mut buffer) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::ConnectionReset => break 0,
                read => break read.unwrap(),
            }
        };
        let mut input = &buffer[..count];
        self.is_ended = count == 0;
        loop {
            let step = if self.is_ended {
                self.connection.ended()
            } else {
                self.connection.take(&mut input).unwrap()
            };
            match step {
                Step::More => break,
                Step::Wire(_) | Step::Ready | Step::Draining(_) => {}
                Step::Head { place, status } => self.answers[usize::from(place)] = (status, Vec::new()),
                Step::Body { place, bytes } => {
                    self.answers[usize::from(place)].1.extend_from_slice(bytes);
                }
                Step::End { place, status: now, bytes } => {
                    let (status, mut body) = std::mem::take(&mut self.answers[usize::from(place)]);
                    body.extend_from_slice(bytes);
                    self.ends.push((place, End::Answered(now.unwrap_or(status), body)));
                }
                Step::Failed { place, failure } => self.ends.push((place, End::Failed(failure))),
                Step::Moved(place) => self.ends.push((place, End::Moved)),
            }
        }
        if !self.is_ended {
            self.write();
        }
    }

    /// Writes, and reads until so many requests have ended in all.
    pub(crate) fn until(&mut self, ends: usize) -> &[(StreamPlace, End)] {
        self.write();
        while self.ends.len() < ends {
            assert!(!self.is_ended, "the connection ended with {} of {ends}", self.ends.len());
            self.read();
        }
        &self.ends
    }

    /// One request at place 0, and its answer.
    pub(crate) fn ask(&mut self, request: u32) -> (u16, String) {
        self.submit(0, request);
        let count = self.ends.len() + 1;
        match self.until(count).last() {
            Some((0, End::Answered(status, body))) => (*status, String::from_utf8(body.clone()).unwrap()),
            other => panic!("{other:?}"),
        }
    }
}
