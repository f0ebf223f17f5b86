//! A simulated connection: two streams of bytes and what epoll says of them.

use std::collections::VecDeque;

use crate::net::Interest;
use prony_model::measurement::{ErrorKind, Tolerance};

use super::answer::{Answer, Meaning};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Connecting,
    Open,
    Failed(i32),
}

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    pub(super) read: usize,
    pub(super) stamp_ns: Option<u64>,
}

/// An answer on its way, by what a client must make of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coming {
    pub(super) meaning: Meaning,
    pub(super) body_right: bool,
    /// Whether it leaves the connection to the next one.
    pub(super) keeps: bool,
    /// Where it is only tolerated: after how many bytes that is certain, and why.
    pub(super) tolerated: Option<(usize, Tolerance)>,
}

impl Coming {
    pub(super) fn of(answer: &Answer) -> Coming {
        let Answer { meaning, body_right, keeps, tolerated, .. } = *answer;
        Coming { meaning, body_right, keeps, tolerated }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    /// No other connection of the world has it: what is under way to an earlier one of the handle finds nobody.
    pub(super) serial: u64,
    pub(super) token: u64,
    pub(super) interest: Interest,
    pub(super) link: Link,
    /// The slot whose requests it carries; `None` since it was left to the server to close.
    pub(super) slot: Option<usize>,
    pub(super) dispatched_ns: u64,
    pub(super) established_ns: Option<u64>,
    /// An answer ended its use: it carries no more requests.
    pub(super) spent: bool,
    pub(super) room: usize,
    pub(super) inbox: VecDeque<Piece>,
    pub(super) ended: bool,
    pub(super) reset: bool,

    /// Requests that have their whole bytes at the server and no answer scheduled.
    pub(super) unanswered: u32,
    pub(super) received: usize,
    /// The server's last scheduled byte.
    pub(super) quiet_from_ns: u64,
    /// The server takes and gives no more.
    pub(super) server_done: bool,
    pub(super) said: usize,

    pub(super) coming: VecDeque<Coming>,
    pub(super) read: usize,
    /// Why the client must give it up.
    pub(super) cause: Option<ErrorKind>,
}

impl Connection {
    pub(super) fn new(serial: u64, token: u64, link: Link, room: usize, dispatched_ns: u64) -> Connection {
        let interest = if link == Link::Open { Interest::Read } else { Interest::Write };
        Connection {
            serial,
            token,
            interest,
            link,
            slot: usize::try_from(token).ok(),
            dispatched_ns,
            established_ns: None,
            spent: false,
            room,
            inbox: VecDeque::new(),
            ended: false,
            reset: false,
            unanswered: 0,
            received: 0,
            quiet_from_ns: 0,
            server_done: false,
            said: 0,
            coming: VecDeque::new(),
            read: 0,
            cause: None,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        match self.link {
            Link::Connecting => false,
            Link::Failed(_) => true,
            Link::Open => {
                let readable = !self.inbox.is_empty() || self.ended;
                let (read, write) = match self.interest {
                    Interest::Read => (true, false),
                    Interest::Write => (false, true),
                    Interest::ReadWrite => (true, true),
                };
                self.reset || read && readable || write && self.room > 0
            }
        }
    }

    /// Whether the server sees no request. (At its last byte's instant that byte may not be out yet.)
    pub(super) fn is_idle(&self, at_ns: u64) -> bool {
        self.received == 0 && self.unanswered == 0 && at_ns > self.quiet_from_ns && !self.server_done
    }

    pub(super) fn arrive(&mut self, bytes: Vec<u8>, stamp_ns: Option<u64>) {
        if !bytes.is_empty() && !self.ended && !self.reset {
            self.inbox.push_back(Piece { bytes, read: 0, stamp_ns });
        }
    }
}
