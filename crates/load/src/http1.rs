//! HTTP/1.1 as a worker speaks it: requests written one behind the other, answers in the same order.

mod file_body;
mod framer;
mod request;
mod requests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::codec::requests::{InOrder, RequestPlace};
use crate::codec::{Cancelled, Codec, Step, Unasked, What};
use crate::pace::request_order::RequestOrder;
use crate::ring::Ring;
use crate::values::{Ahead, Rendered};
use prony_http2::Coding;
use prony_model::measurement::Tolerance;

pub use framer::{Fields, Framer, HEAD_MAX_BYTES, Heads, Progress, ProtocolError};
pub(crate) use framer::{NO_ROOM, PARTIAL_MAX_BYTES};
pub(crate) use request::build;
pub(crate) use requests::RequestBytes;

/// Requests of a pipeline that differ are put together for one write, so much of them at once.
const OUTPUT_BYTES: usize = 64 << 10;

/// The oldest unanswered request, which the next answer is of.
const OLDEST: RequestPlace = RequestPlace(0);

pub(crate) struct Http1<const PLAIN: bool> {
    /// The requests, and how they are where each is its connection's last.
    requests: [Arc<RequestBytes>; 2],
    heads: Heads,
    output: Vec<u8>,
    /// The next requests, where they have values.
    ahead: Option<Ahead<RequestBytes>>,
}

pub(crate) struct Connection {
    framer: Framer,
    unanswered: usize,
    /// The last so many of them are not wholly written.
    unsent: usize,
    /// Bytes of the first of those that are written.
    written: usize,
    /// Which request of the list each of the unanswered ones is; empty without a list.
    listed: VecDeque<u32>,
    /// Where requests have values: the unanswered ones, behind answered ones whose buffers are not given back yet.
    rendered: VecDeque<Rendered>,
    /// The one it has, or will have, is its last.
    closes: bool,
    /// The body of the one it has is sent when the server has asked for it.
    holds_body: bool,
}

impl<const PLAIN: bool> Http1<PLAIN> {
    /// For connections that carry so many requests at once together.
    pub(crate) fn new(requests: &[Arc<RequestBytes>; 2], at_once: usize, ring: Option<Ring>) -> Http1<PLAIN> {
        let output = Vec::with_capacity(requests[0].most_at_once());
        let ahead = match ring {
            Some(ring) => Some(Ahead::of_ring(Arc::clone(&requests[0]), ring, at_once)),
            None => requests[0].have_values().then(|| Ahead::new(Arc::clone(&requests[0]), at_once)),
        };
        Http1 { requests: requests.clone(), heads: Heads::new(), output, ahead }
    }

    /// As they are on this connection.
    fn requests(&self, connection: &Connection) -> &RequestBytes {
        &self.requests[usize::from(connection.closes)]
    }

    /// Takes the next request with values on.
    #[inline(never)]
    fn submit_rendered(ahead: &mut Ahead<RequestBytes>, connection: &mut Connection) {
        while connection.rendered.len() >= connection.listed.len()
            && let Some(answered) = connection.rendered.pop_front()
        {
            ahead.give_back(answered);
        }
        connection.rendered.push_back(ahead.take());
    }

    /// What the framer made of `available` bytes, or of as many that were skipped.
    #[inline(always)]
    fn step(
        connection: &mut Connection,
        progress: Result<Progress, ProtocolError>,
        available: usize,
    ) -> Step {
        let only_head = !connection.framer.went_beyond_head();
        let (used, what) = match progress {
            Ok(Progress::More) => (available, What::Part),
            Ok(Progress::Done { consumed, status, reusable }) => {
                // Bytes beyond the answer that no request of ours asked for end the connection, and so does an answer
                // to a request that is not wholly written: what is left of it must not be.
                let asked = consumed == available || connection.begun() > 1;
                let whole = connection.unanswered > connection.unsent;
                connection.unanswered -= 1;
                connection.listed.pop_front();
                if !whole {
                    connection.unsent -= 1;
                    connection.written = 0;
                }
                (consumed, What::Whole { status, reusable: reusable && asked && whole })
            }
            Err(e) => (available, What::Broken(e.kind(), e.0)),
        };
        Step { used, place: Some(OLDEST), only_head, what }
    }
}

/// What plans ask for whose requests are not plain.
impl<const PLAIN: bool> Http1<PLAIN> {
    #[inline(never)]
    fn submit_other(&mut self, connection: &mut Connection, request: u32, last: bool) {
        connection.closes = last;
        connection.holds_body = self.requests[0].wait_for_continue();
        if self.requests[0].are_listed() {
            connection.listed.push_back(request);
        }
        if let Some(ahead) = &mut self.ahead {
            Self::submit_rendered(ahead, connection);
        }
    }

    /// Whether its head is written and its body waits.
    #[inline(never)]
    fn is_held(&self, connection: &Connection) -> bool {
        let head =
            |requests: &RequestBytes| requests.head(connection.request(), connection.written).is_empty();
        connection.holds_body && head(self.requests(connection))
    }

    #[inline(never)]
    fn output_other<'a>(&'a mut self, connection: &'a Connection, first: usize) -> &'a [u8] {
        let Connection { unsent, written, .. } = *connection;
        let Http1 { requests, output, .. } = self;
        let requests = &*requests[usize::from(connection.closes)];
        if connection.holds_body {
            return requests.head(connection.request(), written);
        }
        if requests.has_file() {
            return requests.of_file(written, output);
        }
        if !requests.are_listed() {
            return requests.repeated(written, unsent);
        }
        let bytes = |at| bytes_of(requests, connection, at);
        RequestBytes::several(bytes, connection.listed.len(), first, written, output)
    }
}

impl Connection {
    /// The number in the list of its oldest request.
    fn request(&self) -> u32 {
        self.listed.front().copied().unwrap_or(0)
    }

    /// How many of its requests, the oldest ones, are at least partly written: the server may have seen them, and what
    /// comes may be their answers. (An attempt that took nothing is none.)
    fn begun(&self) -> usize {
        self.unanswered - self.unsent + usize::from(self.written > 0)
    }
}

impl<const PLAIN: bool> Codec for Http1<PLAIN> {
    type Requests = InOrder;
    type Connection = Connection;
    const PLAIN: bool = PLAIN;
    const IN_ORDER: bool = true;
    const MULTIPLEXED: bool = false;

    fn connection(&self) -> Connection {
        Connection {
            framer: Framer::new(),
            unanswered: 0,
            unsent: 0,
            written: 0,
            listed: self.requests[0].room_for_listed(),
            rendered: self.requests[0].room_for_rendered(),
            closes: false,
            holds_body: false,
        }
    }

    fn open(&mut self, connection: &mut Connection) {
        connection.framer.reset(&mut self.heads);
        connection.written = 0;
    }

    fn forget_begun(&mut self, connection: &mut Connection) -> usize {
        let begun = connection.begun();
        connection.unanswered -= begun;
        connection.unsent = connection.unanswered;
        connection.written = 0;
        connection.listed.drain(..begun.min(connection.listed.len()));
        begun
    }

    fn forget_all(&mut self, connection: &mut Connection) {
        connection.framer.reset(&mut self.heads);
        (connection.unanswered, connection.unsent, connection.written) = (0, 0, 0);
        connection.listed.clear();
    }

    #[inline(always)]
    fn stream_limit(&self, _connection: &Connection) -> usize {
        usize::MAX
    }

    #[inline(always)]
    fn submit(&mut self, connection: &mut Connection, _place: RequestPlace, request: u32, last: bool) {
        connection.unanswered += 1;
        connection.unsent += 1;
        if !PLAIN {
            self.submit_other(connection, request, last);
        }
    }

    fn prepare(&mut self, order: &RequestOrder, count: usize) -> u64 {
        let ahead = self.ahead.as_mut().filter(|_| !PLAIN);
        ahead.map_or(0, |ahead| ahead.fill(order, count))
    }

    fn cancel(&mut self, _connection: &mut Connection, _place: RequestPlace) -> Cancelled {
        Cancelled::Connection
    }

    #[inline(always)]
    fn has_output(&mut self, connection: &mut Connection) -> bool {
        connection.unsent > 0 && (PLAIN || !self.is_held(connection))
    }

    #[inline(always)]
    fn holds_body(&self, connection: &Connection) -> bool {
        !PLAIN && connection.holds_body
    }

    fn release_body(&mut self, connection: &mut Connection) {
        connection.holds_body = false;
    }

    #[inline(always)]
    fn output<'a>(&'a mut self, connection: &'a mut Connection) -> (Option<RequestPlace>, &'a [u8]) {
        let Connection { unanswered, unsent, written, .. } = *connection;
        let first = unanswered - unsent;
        let begins = (written == 0).then_some(RequestPlace(first as u32));
        if !PLAIN {
            return (begins, self.output_other(connection, first));
        }
        (begins, self.requests[0].repeated(written, unsent))
    }

    #[inline(always)]
    fn wrote(&mut self, connection: &mut Connection, count: usize, mut begun: impl FnMut(RequestPlace)) {
        let mut requests = &*self.requests[0];
        if !PLAIN {
            requests = self.requests(connection);
            if requests.are_listed() {
                return wrote_listed(requests, connection, count, begun);
            }
        }
        let length = requests.length_of_one();
        let first = connection.unanswered - connection.unsent;
        let end = connection.written + count;
        let (whole, touched) = (end / length, end.div_ceil(length));
        for at in first + usize::from(connection.written > 0)..first + touched {
            begun(RequestPlace(at as u32));
        }
        connection.unsent -= whole;
        connection.written = end % length;
    }

    #[inline(always)]
    fn in_progress(&self, connection: &Connection) -> bool {
        connection.framer.in_progress()
    }

    #[inline(always)]
    fn body_left(&self, connection: &Connection) -> u64 {
        connection.framer.body_left()
    }

    #[inline(always)]
    fn take(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        body: &mut impl FnMut(RequestPlace, &[u8]),
    ) -> Step {
        let is_head_request = self.requests[0].is_head(connection.listed.front().copied());
        let progress =
            connection.framer.feed(input, is_head_request, &mut self.heads, &mut |bytes: &[u8]| {
                body(OLDEST, bytes);
            });
        if !PLAIN && connection.framer.take_continue() {
            connection.holds_body = false;
        }
        Self::step(connection, progress, input.len())
    }

    fn skip(&mut self, connection: &mut Connection, count: usize) -> Step {
        let progress = connection.framer.skip(count);
        Self::step(connection, Ok(progress), count)
    }

    /// What comes unasked is no answer; only that it closes for want of a request may be said (408; RFC 9110, 15.5.9).
    fn take_unasked(&mut self, _connection: &mut Connection, input: &[u8]) -> Unasked {
        let closes = input.starts_with(b"HTTP/1.") && input.get(8..12) == Some(b" 408");
        if closes { Unasked::Ends } else { Unasked::Wrong }
    }

    fn awaits_response(&self, connection: &Connection) -> bool {
        connection.begun() > 0
    }

    fn end_of_stream(&mut self, connection: &mut Connection) -> Option<(RequestPlace, u16)> {
        let status = connection.framer.end_of_stream()?;
        let progress = Progress::Done { consumed: 0, status, reusable: false };
        Self::step(connection, Ok(progress), 0);
        Some((OLDEST, status))
    }

    fn coding(&self, connection: &Connection, _place: RequestPlace) -> Coding {
        connection.framer.coding()
    }

    fn tolerated(&self) -> &BTreeMap<Tolerance, u64> {
        self.heads.tolerated()
    }
}

/// The bytes of a connection's unanswered request, by its place, where they differ.
fn bytes_of<'a>(requests: &'a RequestBytes, connection: &'a Connection, at: usize) -> &'a [u8] {
    match connection.rendered.len().checked_sub(connection.listed.len()) {
        Some(answered) if !connection.rendered.is_empty() => &connection.rendered[answered + at].bytes,
        _ => requests.bytes(connection.listed[at]),
    }
}

/// [`Codec::wrote`] where requests differ.
#[inline(never)]
fn wrote_listed(
    requests: &RequestBytes,
    connection: &mut Connection,
    mut count: usize,
    mut begun: impl FnMut(RequestPlace),
) {
    let mut at = connection.unanswered - connection.unsent;
    while count > 0 {
        if connection.written == 0 {
            begun(RequestPlace(at as u32));
        }
        let left = bytes_of(requests, connection, at).len() - connection.written;
        if count < left {
            connection.written += count;
            return;
        }
        count -= left;
        connection.written = 0;
        connection.unsent -= 1;
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::plan::{Plan, Work};
    use prony_model::secret::Secret;
    use prony_model::target::Target;

    #[test]
    fn a_body_is_held_back_until_100_comes() {
        let mut plan = Plan::closed(Target::parse("http://h/").unwrap());
        plan.work = Work::Request("POST".to_owned());
        plan.body = b"hello".to_vec();
        plan.headers = vec![("expect".to_owned(), Secret::hidden("100-continue"))];
        let mut codec = Http1::<false>::new(&RequestBytes::of_both(&plan).unwrap(), 1, None);
        let mut connection = codec.connection();
        codec.open(&mut connection);
        // The second is held back as the first was.
        for _ in 0..2 {
            codec.submit(&mut connection, OLDEST, 0, false);
            let head = codec.output(&mut connection).1.to_vec();
            assert!(head.ends_with(b"\r\n\r\n"), "{head:?}");
            codec.wrote(&mut connection, head.len(), |_| {});
            for (answer, is_body_sent) in
                [("HTTP/1.1 103 Early Hints\r\n\r\n", false), ("HTTP/1.1 100 C\r\n\r\n", true)]
            {
                assert!(!codec.has_output(&mut connection));
                let step = codec.take(&mut connection, answer.as_bytes(), &mut |_, _: &[u8]| {});
                assert_eq!((step.used, step.what), (answer.len(), What::Part));
                assert_eq!(codec.has_output(&mut connection), is_body_sent, "{answer}");
            }
            assert_eq!(codec.output(&mut connection).1, b"hello");
            codec.wrote(&mut connection, 5, |_| {});
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            let step = codec.take(&mut connection, answer, &mut |_, _: &[u8]| {});
            assert_eq!(step.what, What::Whole { status: 200, reusable: true });
        }
    }
}
