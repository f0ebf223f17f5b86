//! What a protocol is to a worker: what goes out for its requests, what comes in. It knows no I/O and no clock: stamps,
//! deadlines and writes stay the worker's, which is generic over it, so that the choice costs no request a branch.

pub(crate) mod requests;

use std::collections::BTreeMap;

use crate::pace::request_order::RequestOrder;
use crate::values::Rendered;
use prony_http2::Coding;
use prony_model::measurement::{ErrorKind, Tolerance};
use prony_model::plan::{Plan, Protocol};

use requests::{RequestPlace, Requests};

/// A protocol, with what the connections of one worker share.
pub(crate) trait Codec {
    /// How a connection's unanswered requests are kept: in the order of their answers, or each at a place of its own.
    type Requests: Requests;
    type Connection;
    /// Answers come in the order of the requests: only the oldest's time can be over, and that ends the connection.
    const IN_ORDER: bool;
    /// Each answer names its request, and the peer says how many a connection may carry: others are found as they come.
    const MULTIPLEXED: bool;
    /// Connections take any number of requests, all to one address; none has values or holds its body back, and no response is
    /// decoded. Over HTTP/1 all are the one in memory. What else a plan may ask for costs such loads no instruction.
    const PLAIN: bool;
    /// A connection may end for new requests while its own are still answered; another is opened beside it then.
    const DRAINS: bool = false;

    fn connection(&self) -> Self::Connection;

    /// A new connection begins without a former one's input and output. Requests that were submitted go over it.
    fn open(&mut self, connection: &mut Self::Connection);

    /// An answer ended the connection: forgets and counts the begun requests, the oldest; others go over the next.
    fn forget_begun(&mut self, connection: &mut Self::Connection) -> usize;

    fn forget_all(&mut self, connection: &mut Self::Connection);

    fn stream_limit(&self, connection: &Self::Connection) -> usize;

    /// Has at least so many of the next requests of this order put together, where they are not the same each time. Gives
    /// until when it last waited for them, as instants are; 0: never.
    fn prepare(&mut self, _order: &RequestOrder, _count: usize) -> u64 {
        0
    }

    /// Takes a request on, of an order the next one; `request` is its number in the plan's list, 0 without one. The `last` of
    /// its connection says so, where the protocol has a word for it.
    fn submit(&mut self, connection: &mut Self::Connection, place: RequestPlace, request: u32, last: bool);

    /// Takes the bytes of a request that goes over another connection, where it has some of its own.
    fn take_back(&mut self, _connection: &mut Self::Connection, _place: RequestPlace) -> Rendered {
        Rendered::default()
    }

    /// Takes on what was taken back.
    fn submit_again(
        &mut self,
        connection: &mut Self::Connection,
        place: RequestPlace,
        request: u32,
        _rendered: Rendered,
    ) {
        self.submit(connection, place, request, false);
    }

    fn cancel(&mut self, connection: &mut Self::Connection, place: RequestPlace) -> Cancelled;

    fn has_output(&mut self, connection: &mut Self::Connection) -> bool;

    /// What is to be written, as much as goes into one write; and the first request in it of which nothing is written.
    fn output<'a>(&'a mut self, connection: &'a mut Self::Connection) -> (Option<RequestPlace>, &'a [u8]);

    /// Whether the rest of a request is held back until the server asks for it (`Expect: 100-continue`).
    fn holds_body(&self, _connection: &Self::Connection) -> bool {
        false
    }

    /// What is held back goes out, asked for or not.
    fn release_body(&mut self, _connection: &mut Self::Connection) {}

    /// So many bytes of the output were written. `begun` hears of each request whose first byte is among them.
    fn wrote(&mut self, connection: &mut Self::Connection, count: usize, begun: impl FnMut(RequestPlace));

    /// Whether a part of the next answer has been read. Only asked where bodies may be skipped.
    fn in_progress(&self, connection: &Self::Connection) -> bool;

    /// How many of the next bytes are of a body and nothing else: these may be skipped.
    fn body_left(&self, connection: &Self::Connection) -> u64;

    /// Takes the first of the bytes that were read while requests were unanswered. Those of bodies are handed to `body`.
    fn take(
        &mut self,
        connection: &mut Self::Connection,
        input: &[u8],
        body: &mut impl FnMut(RequestPlace, &[u8]),
    ) -> Step;

    /// Takes a whole answer like one before; it may leave it to [`Codec::take`], and does where answers come in order.
    fn take_fast<'b>(
        &mut self,
        _connection: &mut Self::Connection,
        _input: &'b [u8],
    ) -> Option<FastAnswer<'b>> {
        None
    }

    /// Whether what was taken leaves steps that need no more bytes.
    fn has_buffered_events(&self, _connection: &Self::Connection) -> bool {
        false
    }

    /// Takes note of so many bytes of [`Codec::body_left`] that came and were dropped.
    fn skip(&mut self, connection: &mut Self::Connection, count: usize) -> Step;

    /// Takes bytes that were read while no request was unanswered.
    fn take_unasked(&mut self, connection: &mut Self::Connection, input: &[u8]) -> Unasked;

    /// Whether a written request has no whole response yet; always, where the protocol itself tells what is asked for.
    fn awaits_response(&self, _connection: &Self::Connection) -> bool {
        true
    }

    /// The peer closed the connection: whose answer that ends, and its status; `None` where it ends none.
    fn end_of_stream(&mut self, connection: &mut Self::Connection) -> Option<(RequestPlace, u16)>;

    fn is_spent(&self, _connection: &Self::Connection) -> bool {
        false
    }

    /// What the peer is told before a connection is closed that has carried all of its requests.
    fn farewell(&self) -> &'static [u8] {
        &[]
    }

    /// What the peer is told before a connection is closed on which it broke a rule.
    fn goaway_bytes<'a>(&'a mut self, _connection: &'a mut Self::Connection) -> &'a [u8] {
        &[]
    }

    /// How many requests wait for the peer's leave to send more of their bodies, and for nothing else.
    fn flow_blocked(&self, _connection: &Self::Connection) -> usize {
        0
    }

    /// The fewest requests a peer let a connection carry at once, at most the plan's; `None`: no limit, or none said.
    fn lowest_stream_limit(&self) -> Option<u64> {
        None
    }

    /// How many requests the connection was given since it was opened, where the protocol counts them.
    fn given(&self, _connection: &Self::Connection) -> u64 {
        0
    }

    /// How the body is coded of the response whose last step was taken.
    fn coding(&self, connection: &Self::Connection, place: RequestPlace) -> Coding;

    fn tolerated(&self) -> &BTreeMap<Tolerance, u64>;
}

/// Whether a plan's codec is [`Codec::PLAIN`].
pub(crate) fn is_plain(plan: &Plan) -> bool {
    let one_in_memory = plan.work.list().is_none() && plan.body_file.is_none() && !plan.waits_for_continue();
    let of_each = plan.life().is_some() || !plan.values.is_empty();
    !of_each
        && !plan.decode
        && !plan.connect.all_addresses
        && (plan.protocol == Protocol::Http2 || one_in_memory)
}

/// What bytes are that came while no request was unanswered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unasked {
    GoesOn,
    Ends,
    /// Nothing that may come. The connection is of no use.
    Wrong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    Request,
    Connection,
}

/// What the first of the bytes that were read are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// How many they are; none where they were taken before.
    pub(crate) used: usize,
    /// The request that they answer; `None` where they are the connection's own.
    pub(crate) place: Option<RequestPlace>,
    /// None of them is behind (a part of) an answer's head.
    pub(crate) only_head: bool,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct FastAnswer<'b> {
    pub(crate) used: usize,
    pub(crate) place: RequestPlace,
    pub(crate) only_head: bool,
    pub(crate) status: u16,
    pub(crate) bytes: &'b [u8],
}

/// What a step's bytes bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Part,
    Whole {
        status: u16,
        /// Whether the connection may carry another request. Always, where answers come in any order.
        reusable: bool,
    },
    Failed(ErrorKind, &'static str),
    /// The connection takes no more requests ([`Codec::is_spent`]).
    Draining,
    /// The request was surely not processed, and may be sent again over another connection.
    Moved,
    /// Nothing that could follow: the connection is of no use, nor are its other bytes.
    Broken(ErrorKind, &'static str),
}
