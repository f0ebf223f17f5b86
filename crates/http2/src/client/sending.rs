//! From a due request to bytes that are to be written.

use super::{Code, Connection, Draining, Fault, ID_LAST, Requests, Step, Stream, StreamPlace, write};
use crate::frame::FRAME_MAX_BYTES;
use crate::hpack::write_size_update;

/// The most bytes that wait for being written, before no more requests and parts of bodies join them.
const OUTGOING_BYTES: usize = 64 << 10;
/// The most answers to PING and SETTINGS that wait for a server which sends these and does not read.
const ANSWERS_MAX: u32 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Whole frames, of which the first bytes may be written already.
    pub(super) bytes: Vec<u8>,
    written: usize,
    answers: u32,
}

impl Outgoing {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.written, self.answers) = (0, 0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    pub(super) fn answered(&mut self) -> Result<Step<'static>, Fault> {
        self.answers += 1;
        if self.answers > ANSWERS_MAX {
            return Err(Fault::calm("the server sends PING or SETTINGS and does not read the answers"));
        }
        Ok(Step::Wire(None))
    }

    fn waiting(&self) -> usize {
        self.bytes.len() - self.written
    }
}

impl Connection {
    /// Takes a request to send, at a free place, where [`Connection::permits`] allows it.
    #[inline]
    pub fn submit(&mut self, place: StreamPlace, request: u32) {
        self.queue.push_back((place, request));
    }

    /// Gives up the request at a place, which is free then. A server that works on it is told.
    pub fn cancel(&mut self, place: StreamPlace) {
        if let Some(at) = self.queue.iter().position(|(other, _)| *other == place) {
            self.queue.remove(at);
        } else if self.open.iter().any(|(_, other)| *other == place) {
            self.end_stream(place, Code::CANCEL);
        }
    }

    /// What is to be written now, and the first request in it of which nothing is written yet.
    pub fn outgoing(&mut self, requests: &Requests) -> (Option<StreamPlace>, &[u8]) {
        if self.ready && self.fault.is_none() {
            if self.draining.is_none() {
                self.begin_requests(requests);
            }
            if !self.uploads.is_empty() {
                self.go_on_with_bodies(requests);
            }
        }
        (self.first_unsent(), &self.outgoing.bytes[self.outgoing.written..])
    }

    fn first_unsent(&self) -> Option<StreamPlace> {
        let at = self.open.len() - self.unsent;
        self.open.get(at).map(|(_, place)| *place)
    }

    /// Takes note that so many of the outgoing bytes were written; gives each request whose first byte was among them.
    #[inline]
    pub fn wrote(&mut self, count: usize, mut begun: impl FnMut(StreamPlace)) {
        let written = (self.outgoing.written + count).min(self.outgoing.bytes.len());
        self.outgoing.written = written;
        for (_, place) in self.open.range(self.open.len() - self.unsent..) {
            if self.streams[usize::from(*place)].begins >= written {
                break;
            }
            self.unsent -= 1;
            begun(*place);
        }
        if self.outgoing.is_empty() {
            self.outgoing.clear();
        } else if written >= OUTGOING_BYTES {
            self.outgoing.bytes.drain(..written);
            self.outgoing.written = 0;
            for (_, place) in self.open.range(self.open.len() - self.unsent..) {
                self.streams[usize::from(*place)].begins -= written;
            }
        }
    }

    fn begin_requests(&mut self, requests: &Requests) {
        while self.open.len() < self.streams() as usize
            && self.outgoing.waiting() < OUTGOING_BYTES
            && let Some((place, request)) = self.queue.pop_front()
        {
            let (id, one) = (self.next_id, requests.each(request));
            self.next_id += 2;
            self.streams[usize::from(place)] = Stream {
                id,
                begins: self.outgoing.bytes.len(),
                window: self.stream_window,
                to_head: one.is_head,
                ..Stream::default()
            };
            self.open.push_back((id, place));
            self.unsent += 1;
            match requests.frame() {
                Some(frame) if self.encoding.indexed => write::copied(&mut self.outgoing.bytes, id, frame),
                _ => {
                    let (before, behind) = requests.own(request);
                    let (resize, shared) = self.shared_fields(requests);
                    let parts = [resize.as_slice(), before, shared, behind];
                    write::headers(&mut self.outgoing.bytes, id, !one.has_body, &parts);
                }
            }
            if one.has_body {
                self.uploads.push_back((place, request));
            }
            if self.next_id > ID_LAST {
                self.draining = Some(Draining { last: ID_LAST, code: Code::NO_ERROR, told: false });
                return;
            }
        }
    }

    /// The shared fields as the next block has them, with what is to stand in front of it where the server's table
    /// became smaller: that one is emptied first, so that what stands in it is known.
    fn shared_fields<'r>(&mut self, requests: &'r Requests) -> (Vec<u8>, &'r [u8]) {
        let encoding = &mut self.encoding;
        let mut resize = Vec::new();
        if std::mem::take(&mut encoding.resized) {
            write_size_update(&mut resize, 0);
            if encoding.table_bytes > 0 {
                write_size_update(&mut resize, encoding.table_bytes);
            }
        }
        let shared = &requests.shared;
        let form: &[u8] = if shared.table_bytes > encoding.table_bytes {
            &shared.plain
        } else if std::mem::replace(&mut encoding.indexed, true) {
            &shared.indexed
        } else {
            &shared.first
        };
        (resize, form)
    }

    /// Sends what the windows allow of the requests' bodies, a frame of each in turn.
    // Out of the way of requests without a body.
    #[inline(never)]
    fn go_on_with_bodies(&mut self, requests: &Requests) {
        let mut held = 0;
        while held < self.uploads.len()
            && self.outgoing.waiting() < OUTGOING_BYTES
            && let Some((place, request)) = self.uploads.pop_front()
        {
            let stream = &mut self.streams[usize::from(place)];
            let left = &requests.body(request)[stream.sent..];
            let window = self.window.min(stream.window).clamp(0, i64::from(FRAME_MAX_BYTES));
            let (now, later) = left.split_at(left.len().min(window as usize));
            if now.is_empty() {
                held += 1;
                self.uploads.push_back((place, request));
                continue;
            }
            held = 0;
            write::data(&mut self.outgoing.bytes, stream.id, later.is_empty(), now);
            stream.sent += now.len();
            stream.window -= now.len() as i64;
            self.window -= now.len() as i64;
            if !later.is_empty() {
                self.uploads.push_back((place, request));
            }
        }
    }
}
