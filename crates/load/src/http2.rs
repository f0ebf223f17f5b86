//! HTTP/2 as a worker speaks it: requests as streams of a connection, answers in any order.

mod requests;

use std::collections::BTreeMap;
use std::sync::Arc;

use prony_http2::Coding;
use prony_http2::client::{self, Failure};
use prony_http2::frame::FRAME_MAX_BYTES;
use prony_http2::hpack::{LIST_MAX_BYTES, TABLE_MAX_BYTES};

use crate::codec::requests::{ByPlace, RequestPlace};
use crate::codec::{Cancelled, Codec, FastAnswer, Step, Unasked, What};
use crate::http1::{NO_ROOM, PARTIAL_MAX_BYTES};
use crate::pace::request_order::RequestOrder;
use crate::values::{Ahead, Rendered};
use prony_model::measurement::{ErrorKind, Http2Settings, Tolerance};

pub(crate) use requests::{Templates, build};

pub(crate) const OWN_SETTINGS: Http2Settings = Http2Settings {
    window_bytes: client::WINDOW_BYTES,
    header_table_bytes: TABLE_MAX_BYTES as u32,
    header_list_bytes: LIST_MAX_BYTES as u32,
    frame_bytes: FRAME_MAX_BYTES,
};

pub(crate) struct Http2<const PLAIN: bool> {
    requests: Arc<client::Requests>,
    /// The next requests, where they have values.
    ahead: Option<Ahead<Templates>>,
    streams: u16,
    /// A request's number is its address's, and not that of the plan's one.
    by_address: bool,
    fewest: Option<u32>,
    /// What HTTP/2 leaves to tolerance is refused.
    tolerated: BTreeMap<Tolerance, u64>,
    partial_bytes: usize,
}

pub(crate) struct Connection {
    client: client::Connection,
    /// Where requests have values: that of each place.
    rendered: Option<Box<client::Requests>>,
    /// The status of each place's answer, once its head has come.
    status: Vec<u16>,
    partial_bytes: usize,
}

impl Connection {
    fn outgoing<const PLAIN: bool>(
        &mut self,
        requests: &client::Requests,
    ) -> (Option<client::StreamPlace>, &[u8]) {
        let rendered = if PLAIN { None } else { self.rendered.as_deref() };
        self.client.outgoing(rendered.unwrap_or(requests))
    }
}

impl<const PLAIN: bool> Http2<PLAIN> {
    pub(crate) fn new(
        requests: &Arc<client::Requests>,
        by_address: bool,
        streams: u16,
        templates: Option<&Arc<Templates>>,
    ) -> Http2<PLAIN> {
        Http2 {
            requests: Arc::clone(requests),
            ahead: templates.map(|templates| Ahead::new(Arc::clone(templates), 0)),
            streams,
            by_address,
            fewest: None,
            tolerated: BTreeMap::new(),
            partial_bytes: 0,
        }
    }
}

impl<const PLAIN: bool> Codec for Http2<PLAIN> {
    type Requests = ByPlace;
    type Connection = Connection;
    const PLAIN: bool = PLAIN;
    const IN_ORDER: bool = false;
    const MULTIPLEXED: bool = true;
    const DRAINS: bool = true;

    fn connection(&self) -> Connection {
        Connection {
            client: client::Connection::new(self.streams),
            rendered: self.ahead.as_ref().map(|ahead| Box::new(ahead.templates.places(self.streams))),
            status: vec![0; usize::from(self.streams)],
            partial_bytes: 0,
        }
    }

    fn open(&mut self, connection: &mut Connection) {
        connection.client.open();
        self.note_partial(connection);
    }

    /// No answer ends a connection.
    fn forget_begun(&mut self, _connection: &mut Connection) -> usize {
        0
    }

    fn forget_all(&mut self, connection: &mut Connection) {
        connection.client.clear();
        self.note_partial(connection);
    }

    fn stream_limit(&self, connection: &Connection) -> usize {
        if connection.client.is_draining() {
            return 0;
        }
        // Before its settings the server has set no limit; what it then does not take waits in line.
        if connection.client.is_ready() { connection.client.streams() as usize } else { usize::MAX }
    }

    #[inline(always)] // of two callers, each on a hot path: 12 instructions a request (callgrind)
    fn submit(&mut self, connection: &mut Connection, place: RequestPlace, request: u32, _last: bool) {
        if !PLAIN {
            return self.submit_other(connection, place, request);
        }
        connection.client.submit(number(place), request);
    }

    fn take_back(&mut self, connection: &mut Connection, place: RequestPlace) -> Rendered {
        let Some(rendered) = &mut connection.rendered else { return Rendered::default() };
        let (bytes, fields) = rendered.take(place.0);
        Rendered { request: 0, bytes, fields }
    }

    fn submit_again(
        &mut self,
        connection: &mut Connection,
        place: RequestPlace,
        request: u32,
        rendered: Rendered,
    ) {
        if self.ahead.is_none() {
            return self.submit(connection, place, request, false);
        }
        self.put(connection, place, Rendered { request, ..rendered });
    }

    fn prepare(&mut self, order: &RequestOrder, count: usize) -> u64 {
        let ahead = self.ahead.as_mut().filter(|_| !PLAIN);
        ahead.map_or(0, |ahead| ahead.fill(order, count))
    }

    fn cancel(&mut self, connection: &mut Connection, place: RequestPlace) -> Cancelled {
        connection.client.cancel(number(place));
        Cancelled::Request
    }

    fn has_output(&mut self, connection: &mut Connection) -> bool {
        !connection.outgoing::<PLAIN>(&self.requests).1.is_empty()
    }

    fn output<'a>(&'a mut self, connection: &'a mut Connection) -> (Option<RequestPlace>, &'a [u8]) {
        let (first, bytes) = connection.outgoing::<PLAIN>(&self.requests);
        (first.map(place), bytes)
    }

    #[inline(always)] // its one caller on a hot path is the worker's flush
    fn wrote(&mut self, connection: &mut Connection, count: usize, mut begun: impl FnMut(RequestPlace)) {
        connection.client.wrote(count, |number| begun(place(number)));
    }

    fn in_progress(&self, _connection: &Connection) -> bool {
        true
    }

    fn body_left(&self, _connection: &Connection) -> u64 {
        0
    }

    fn take(
        &mut self,
        connection: &mut Connection,
        input: &[u8],
        body: &mut impl FnMut(RequestPlace, &[u8]),
    ) -> Step {
        let Connection { client, status, partial_bytes, .. } = connection;
        let mut rest = input;
        let (of, only_head, what) = match client.take(&mut rest) {
            Ok(client::Step::More | client::Step::Ready) => (None, true, What::Part),
            Ok(client::Step::Wire(of)) => (of, true, What::Part),
            // What else this read brought, perhaps its body, has the same stamp.
            Ok(client::Step::Head { place: of, status: said }) => {
                status[usize::from(of)] = said;
                (Some(of), rest.is_empty(), What::Part)
            }
            Ok(client::Step::Body { place: of, bytes }) => {
                body(place(of), bytes);
                (Some(of), false, What::Part)
            }
            Ok(client::Step::End { place: of, status: said, bytes }) => {
                if !bytes.is_empty() {
                    body(place(of), bytes);
                }
                let status = said.unwrap_or(status[usize::from(of)]);
                (Some(of), rest.is_empty() && bytes.is_empty(), What::Whole { status, reusable: true })
            }
            Ok(client::Step::Failed { place: of, failure }) => {
                let (kind, reason) = match failure {
                    Failure::Refused => {
                        (ErrorKind::Refused, "the server refused the stream (REFUSED_STREAM)")
                    }
                    Failure::Reset(code) => (ErrorKind::StreamReset, code.name()),
                    Failure::Malformed(reason) => (ErrorKind::Protocol, reason),
                    Failure::Closed => (ErrorKind::ClosedEarly, "the connection ended"),
                };
                (Some(of), true, What::Failed(kind, reason))
            }
            Ok(client::Step::Draining(_)) => (None, true, What::Draining),
            Ok(client::Step::Moved(of)) => (Some(of), true, What::Moved),
            Err(fault) => {
                let what = What::Broken(ErrorKind::Protocol, fault.reason);
                return Step { used: input.len(), place: None, only_head: true, what };
            }
        };
        if of.is_none() && client.is_ready() {
            let now = client.streams();
            self.fewest = Some(self.fewest.map_or(now, |before| before.min(now)));
        }
        // An unfinished block grows by steps that say nothing, and is given back by the step after its last.
        if (what == What::Part || *partial_bytes > 0) && self.note_partial(connection) > PARTIAL_MAX_BYTES {
            let what = What::Broken(ErrorKind::PartialHeads, NO_ROOM.0);
            return Step { used: input.len(), place: None, only_head: true, what };
        }
        Step { used: input.len() - rest.len(), place: of.map(place), only_head, what }
    }

    #[inline(always)]
    fn take_fast<'b>(&mut self, connection: &mut Connection, input: &'b [u8]) -> Option<FastAnswer<'b>> {
        let mut rest = input;
        let (of, status, bytes) = connection.client.take_fast(&mut rest)?;
        let only_head = rest.is_empty() && bytes.is_empty();
        Some(FastAnswer { used: input.len() - rest.len(), place: place(of), only_head, status, bytes })
    }

    fn has_buffered_events(&self, connection: &Connection) -> bool {
        connection.client.has_buffered_events()
    }

    fn skip(&mut self, _connection: &mut Connection, count: usize) -> Step {
        Step { used: count, place: None, only_head: true, what: What::Part }
    }

    fn take_unasked(&mut self, connection: &mut Connection, mut input: &[u8]) -> Unasked {
        while !input.is_empty() || self.has_buffered_events(connection) {
            let step = self.take(connection, input, &mut |_, _: &[u8]| {});
            match (step.place, step.what) {
                (None, What::Part) => input = &input[step.used..],
                (None, What::Draining) => return Unasked::Ends,
                _ => return Unasked::Wrong,
            }
        }
        Unasked::GoesOn
    }

    fn end_of_stream(&mut self, _connection: &mut Connection) -> Option<(RequestPlace, u16)> {
        None
    }

    fn is_spent(&self, connection: &Connection) -> bool {
        connection.client.is_draining()
    }

    fn farewell(&self) -> &'static [u8] {
        client::FAREWELL
    }

    fn goaway_bytes<'a>(&'a mut self, connection: &'a mut Connection) -> &'a [u8] {
        connection.outgoing::<PLAIN>(&self.requests).1
    }

    fn flow_blocked(&self, connection: &Connection) -> usize {
        connection.client.flow_blocked()
    }

    fn lowest_stream_limit(&self) -> Option<u64> {
        self.fewest.map(u64::from)
    }

    fn given(&self, connection: &Connection) -> u64 {
        u64::from(connection.client.streams_opened())
    }

    fn coding(&self, connection: &Connection, place: RequestPlace) -> Coding {
        connection.client.coding(number(place))
    }

    fn tolerated(&self) -> &BTreeMap<Tolerance, u64> {
        &self.tolerated
    }
}

impl<const PLAIN: bool> Http2<PLAIN> {
    /// Takes on the next request with values, or, without such, the plan's.
    #[inline(never)]
    fn submit_other(&mut self, connection: &mut Connection, place: RequestPlace, request: u32) {
        match self.ahead.as_mut().map(Ahead::take) {
            Some(next) => self.put(connection, place, next),
            None => connection.client.submit(number(place), if self.by_address { 0 } else { request }),
        }
    }

    /// Puts a request with values in its place of a connection.
    fn put(&mut self, connection: &mut Connection, place: RequestPlace, mut one: Rendered) {
        let (Some(ahead), Some(rendered)) = (&mut self.ahead, &mut connection.rendered) else { return };
        let is_head = ahead.templates.is_head(one.request);
        rendered.replace(place.0, &mut one.bytes, one.fields, is_head);
        ahead.give_back(one);
        connection.client.submit(number(place), place.0);
    }

    /// Takes note of what a connection's unfinished header block takes; gives what all of them do.
    fn note_partial(&mut self, connection: &mut Connection) -> usize {
        let now = connection.client.partial_bytes();
        self.partial_bytes = self.partial_bytes - connection.partial_bytes + now;
        connection.partial_bytes = now;
        self.partial_bytes
    }
}

fn number(place: RequestPlace) -> client::StreamPlace {
    place.0 as client::StreamPlace
}

fn place(number: client::StreamPlace) -> RequestPlace {
    RequestPlace(u32::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_http2::frame::{kind, write};
    use prony_model::plan::{Plan, Protocol};
    use prony_model::target::Target;

    #[test]
    fn unfinished_header_blocks_take_bounded_memory() {
        let plan = Plan { protocol: Protocol::Http2, ..Plan::closed(Target::parse("http://h/").unwrap()) };
        let mut codec = Http2::<true>::new(&Arc::new(build(&plan)), false, 1, None);
        let mut unfinished = Vec::new();
        write::settings(&mut unfinished, &[]);
        for kind in [kind::HEADERS].into_iter().chain([kind::CONTINUATION; 14]) {
            write::header(&mut unfinished, 16_000, kind, 0, 1);
            unfinished.resize(unfinished.len() + 16_000, 0);
        }
        let mut connections = Vec::new();
        let broken = loop {
            assert!(connections.len() < 1_000 && codec.partial_bytes <= PARTIAL_MAX_BYTES);
            let mut connection = codec.connection();
            codec.open(&mut connection);
            let (mut at, mut what) = (0, What::Part);
            while at < unfinished.len() && what == What::Part {
                let step = codec.take(&mut connection, &unfinished[at..], &mut |_, _: &[u8]| {});
                (at, what) = (at + step.used, step.what);
            }
            connections.push(connection);
            if what != What::Part {
                break what;
            }
        };
        assert!(matches!(broken, What::Broken(ErrorKind::PartialHeads, _)), "{broken:?}");
        assert!(connections.len() > PARTIAL_MAX_BYTES / (512 << 10), "{}", connections.len());
        for connection in &mut connections {
            codec.forget_all(connection);
        }
        assert_eq!(codec.partial_bytes, 0);
    }
}
