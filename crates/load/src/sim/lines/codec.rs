//! A protocol of lines: answers come in any order, and the server says how many requests it takes at once. A client
//! asks `Q <id>` and takes back `C <id>`; its answers are pieces, `B <id> <length>` and bytes, the last one `A <id>
//! <status> <length>`; gives up, `E <id>`; and says how many may be unanswered, `P <count>`.

use prony_http2::Coding;
use std::collections::{BTreeMap, VecDeque};

use crate::codec::requests::{ByPlace, RequestPlace};
use crate::codec::{Cancelled, Codec, Step, Unasked, What};
use prony_model::measurement::{ErrorKind, Tolerance};

const LINE_MAX_BYTES: usize = 64;

#[derive(Debug)]
pub(super) struct LineProtocol {
    permits: usize,
    output: Vec<u8>,
    tolerated: BTreeMap<Tolerance, u64>,
}

impl LineProtocol {
    pub(super) fn new(permits: usize) -> LineProtocol {
        LineProtocol { permits, output: Vec::new(), tolerated: BTreeMap::new() }
    }
}

/// A line to be written, and the request that begins with it.
#[derive(Debug)]
struct Outgoing {
    text: Vec<u8>,
    begins: Option<RequestPlace>,
}

#[derive(Debug, Default)]
pub(super) struct Connection {
    permits: usize,
    waiting: VecDeque<RequestPlace>,
    outgoing: VecDeque<Outgoing>,
    written: usize,
    next_id: u64,
    /// Requests that hold a permit, by id.
    unanswered: BTreeMap<u64, RequestPlace>,
    line: Vec<u8>,
    body: Option<Body>,
}

#[derive(Debug, Clone, Copy)]
struct Body {
    id: u64,
    left: usize,
    /// Where it is the answer's last part.
    status: Option<u16>,
}

impl Connection {
    fn admit(&mut self) {
        while self.unanswered.len() < self.permits {
            let Some(place) = self.waiting.pop_front() else { return };
            let id = self.next_id;
            self.next_id += 1;
            self.unanswered.insert(id, place);
            let text = format!("Q {id}\n").into_bytes();
            self.outgoing.push_back(Outgoing { text, begins: Some(place) });
        }
    }

    fn resolve(&mut self, id: u64) -> Option<RequestPlace> {
        let place = self.unanswered.remove(&id);
        self.admit();
        place
    }

    /// What a body's part is that has so many bytes left.
    fn part(&mut self, body: Body, used: usize, only_head: bool) -> Step {
        let step = |place, what| Step { used, place, only_head, what };
        match (self.unanswered.get(&body.id).copied(), body) {
            (place, Body { left: 0, status: Some(status), id }) => {
                self.resolve(id);
                // Nobody waits for the answer of a request that was taken back.
                let what = place.map_or(What::Part, |_| What::Whole { status, reusable: true });
                step(place, what)
            }
            (place, _) => {
                self.body = Some(body).filter(|body| body.left > 0);
                step(place, What::Part)
            }
        }
    }

    fn take_line(&mut self, used: usize) -> Step {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let own = |what| Step { used, place: None, only_head: false, what };
        match (words[0], number(1), number(2), number(3)) {
            ("P", Some(permits), None, None) => {
                self.permits = permits as usize;
                self.admit();
                own(What::Part)
            }
            ("E", Some(id), None, None) => match self.resolve(id) {
                Some(place) => {
                    let what = What::Failed(ErrorKind::Reset, "the server gave the request up");
                    Step { place: Some(place), ..own(what) }
                }
                None => own(What::Part),
            },
            ("B", Some(id), Some(left), None) => {
                self.part(Body { id, left: left as usize, status: None }, used, true)
            }
            ("A", Some(id), Some(status), Some(left)) => {
                self.part(Body { id, left: left as usize, status: Some(status as u16) }, used, true)
            }
            _ => own(What::Broken(ErrorKind::Protocol, "no line of the protocol")),
        }
    }
}

impl Codec for LineProtocol {
    type Requests = ByPlace;
    type Connection = Connection;
    const PLAIN: bool = false;
    const IN_ORDER: bool = false;
    const MULTIPLEXED: bool = true;

    fn connection(&self) -> Connection {
        Connection::default()
    }

    fn open(&mut self, connection: &mut Connection) {
        let waiting = std::mem::take(&mut connection.waiting);
        *connection = Connection { waiting, permits: self.permits, ..Connection::default() };
        connection.admit();
    }

    fn forget_begun(&mut self, _connection: &mut Connection) -> usize {
        unreachable!("no answer ends a connection")
    }

    fn forget_all(&mut self, connection: &mut Connection) {
        *connection = Connection::default();
    }

    fn stream_limit(&self, connection: &Connection) -> usize {
        connection.permits
    }

    fn submit(&mut self, connection: &mut Connection, place: RequestPlace, _request: u32, _last: bool) {
        connection.waiting.push_back(place);
        connection.admit();
    }

    fn cancel(&mut self, connection: &mut Connection, place: RequestPlace) -> Cancelled {
        connection.waiting.retain(|waiting| *waiting != place);
        let id = connection.unanswered.iter().find(|(_, of)| **of == place).map(|(id, _)| *id);
        if let Some(id) = id {
            let begun = usize::from(connection.written > 0);
            let unbegun =
                (begun..connection.outgoing.len()).find(|at| connection.outgoing[*at].begins == Some(place));
            match unbegun {
                Some(at) => drop(connection.outgoing.remove(at)),
                None => {
                    let text = format!("C {id}\n").into_bytes();
                    connection.outgoing.push_back(Outgoing { text, begins: None });
                }
            }
            connection.resolve(id);
        }
        Cancelled::Request
    }

    fn has_output(&mut self, connection: &mut Connection) -> bool {
        !connection.outgoing.is_empty()
    }

    fn output<'a>(&'a mut self, connection: &'a mut Connection) -> (Option<RequestPlace>, &'a [u8]) {
        self.output.clear();
        connection.outgoing.iter().for_each(|line| self.output.extend_from_slice(&line.text));
        let begins = connection.outgoing.front().and_then(|line| line.begins);
        (begins.filter(|_| connection.written == 0), &self.output[connection.written..])
    }

    fn wrote(&mut self, connection: &mut Connection, mut count: usize, mut begun: impl FnMut(RequestPlace)) {
        while let Some(line) = connection.outgoing.front().filter(|_| count > 0) {
            if let Some(place) = line.begins.filter(|_| connection.written == 0) {
                begun(place);
            }
            let left = line.text.len() - connection.written;
            if count < left {
                connection.written += count;
                return;
            }
            count -= left;
            connection.written = 0;
            connection.outgoing.pop_front();
        }
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
        if let Some(coming) = connection.body.take() {
            let used = coming.left.min(input.len());
            if let Some(place) = connection.unanswered.get(&coming.id) {
                body(*place, &input[..used]);
            }
            return connection.part(Body { left: coming.left - used, ..coming }, used, false);
        }
        let end = input.iter().position(|byte| *byte == b'\n');
        connection.line.extend_from_slice(&input[..end.unwrap_or(input.len())]);
        let broken = What::Broken(ErrorKind::Protocol, "a line is too long");
        match end {
            _ if connection.line.len() > LINE_MAX_BYTES => {
                Step { used: input.len(), place: None, only_head: false, what: broken }
            }
            Some(end) => connection.take_line(end + 1),
            None => Step { used: input.len(), place: None, only_head: false, what: What::Part },
        }
    }

    fn skip(&mut self, _connection: &mut Connection, _count: usize) -> Step {
        unreachable!("bodies are never skipped")
    }

    fn take_unasked(&mut self, connection: &mut Connection, mut input: &[u8]) -> Unasked {
        while !input.is_empty() {
            let step = self.take(connection, input, &mut |_, _: &[u8]| {});
            if step.place.is_some() || step.what != What::Part {
                return Unasked::Wrong;
            }
            input = &input[step.used..];
        }
        Unasked::GoesOn
    }

    fn end_of_stream(&mut self, _connection: &mut Connection) -> Option<(RequestPlace, u16)> {
        None
    }

    fn coding(&self, _connection: &Self::Connection, _place: RequestPlace) -> Coding {
        Coding::Identity
    }

    fn tolerated(&self) -> &BTreeMap<Tolerance, u64> {
        &self.tolerated
    }
}
