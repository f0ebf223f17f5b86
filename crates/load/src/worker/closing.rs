//! Connections that carry no more requests and wait for the server to close them: who closes first keeps the port in
//! TIME_WAIT for a minute, and a client with a connection per request runs out of its 28,000 ports in seconds. So the
//! server has the first word, for a bounded time and number of connections.
//!
//! A connection that Prony ends by a word (HTTP/2's GOAWAY) is read on until the server closes: closed with bytes
//! unread, the kernel would send a reset, which can overtake that word.

use std::collections::VecDeque;

use crate::net::{Handle, Interest, Net, would_block};

/// Tokens with this bit belong here; the rest is the handle.
const TOKEN_BIT: u64 = 1 << 63;
const CLOSING_NS: u64 = 1_000_000_000;
/// What it may still send meanwhile where it has been told that the connection ends.
const DROPPED_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Closing {
    /// By handle: the generation of the connection lingering there, 0: none; if told, how much it may still send.
    generations: Vec<(u64, Option<usize>)>,
    generation: u64,
    /// In order of their deadline; entries of connections already gone stay until then.
    queue: VecDeque<(u64, Handle, u64)>,
    open: usize,
    told: usize,
    open_max: usize,
}

impl Closing {
    /// At most `open_max` linger at once; the oldest make room.
    pub(crate) fn new(open_max: usize) -> Closing {
        Closing {
            generations: Vec::new(),
            generation: 0,
            queue: VecDeque::new(),
            open: 0,
            told: 0,
            open_max: open_max.max(1),
        }
    }

    /// Takes a connection over; one already closed or talking on is closed at once; says whether it talked.
    pub(crate) fn take(
        &mut self,
        handle: Handle,
        now_ns: u64,
        net: &mut impl Net,
        buffer: &mut [u8],
    ) -> bool {
        net.leave(handle);
        let seen = look(handle, &mut None, net, buffer);
        if seen == Seen::Nothing {
            self.hold(handle, None, now_ns, net);
        } else {
            net.close(handle);
        }
        seen == Seen::Talk
    }

    /// Takes over a connection on which the server was told why it ends.
    pub(crate) fn read_on(&mut self, handle: Handle, now_ns: u64, net: &mut impl Net) {
        if net.lingers() {
            net.end(handle);
            self.hold(handle, Some(DROPPED_BYTES_MAX), now_ns, net);
        } else {
            net.close(handle);
        }
    }

    /// Takes over a connection whose server was told that it has had its last request.
    pub(crate) fn leave(&mut self, handle: Handle, now_ns: u64, net: &mut impl Net) {
        if net.lingers() {
            net.leave(handle);
            self.hold(handle, Some(DROPPED_BYTES_MAX), now_ns, net);
        } else {
            net.close(handle);
        }
    }

    fn hold(&mut self, handle: Handle, may_send: Option<usize>, now_ns: u64, net: &mut impl Net) {
        if net.watch(handle, Interest::Read, TOKEN_BIT | handle as u64).is_err() {
            net.close(handle);
            return;
        }
        while self.open >= self.open_max {
            let Some((_, oldest, generation)) = self.queue.pop_front() else { break };
            self.close_if_current(oldest, generation, net);
        }
        let index = handle as usize;
        if self.generations.len() <= index {
            self.generations.resize(index + 1, (0, None));
        }
        self.generation += 1;
        self.generations[index] = (self.generation, may_send);
        self.told += usize::from(may_send.is_some());
        self.queue.push_back((now_ns + CLOSING_NS, handle, self.generation));
        self.open += 1;
    }

    /// Takes an event if it is one of ours, and says whether a server talks on that may not.
    pub(crate) fn on_event(&mut self, token: u64, net: &mut impl Net, buffer: &mut [u8]) -> Option<bool> {
        if token & TOKEN_BIT == 0 {
            return None;
        }
        let handle = (token & !TOKEN_BIT) as Handle;
        // An event of this round may be of a connection that made room since; its handle
        // may be another's by now, whose answer is not ours to read.
        let Some((generation @ 1.., may_send)) = self.generations.get_mut(handle as usize) else {
            return Some(false);
        };
        let (generation, seen) = (*generation, look(handle, may_send, net, buffer));
        let talks = seen == Seen::Talk && may_send.is_none();
        if seen != Seen::Nothing {
            self.close_if_current(handle, generation, net);
        }
        Some(talks)
    }

    /// Whether a server that was told of a connection's end has not closed it yet.
    pub(crate) fn awaits_told(&self) -> bool {
        self.told > 0
    }

    #[inline(always)] // its one caller is the worker's loop
    pub(crate) fn expire(&mut self, now_ns: u64, net: &mut impl Net) {
        while let Some((deadline, handle, generation)) = self.queue.front().copied() {
            if deadline > now_ns && self.is_current(handle, generation) {
                break;
            }
            self.queue.pop_front();
            self.close_if_current(handle, generation, net);
        }
    }

    /// When [`Closing::expire`] has something to do.
    pub(crate) fn next_ns(&self) -> u64 {
        self.queue.front().map_or(u64::MAX, |(deadline, ..)| *deadline)
    }

    pub(crate) fn close_all(&mut self, net: &mut impl Net) {
        while let Some((_, handle, generation)) = self.queue.pop_front() {
            self.close_if_current(handle, generation, net);
        }
    }

    fn is_current(&self, handle: Handle, generation: u64) -> bool {
        generation != 0 && self.generations.get(handle as usize).is_some_and(|(now, _)| *now == generation)
    }

    fn close_if_current(&mut self, handle: Handle, generation: u64, net: &mut impl Net) {
        if self.is_current(handle, generation) {
            let (_, told) = std::mem::take(&mut self.generations[handle as usize]);
            self.told -= usize::from(told.is_some());
            self.open -= 1;
            net.close(handle);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    End,
    Talk,
}

/// Reads what a connection brings, and drops as much as it may send.
fn look(handle: Handle, may_send: &mut Option<usize>, net: &mut impl Net, buffer: &mut [u8]) -> Seen {
    loop {
        match net.recv(handle, buffer) {
            Ok(0) => return Seen::End,
            Ok(count) => match may_send.as_mut().filter(|left| **left >= count) {
                Some(left) => *left -= count,
                None => return Seen::Talk,
            },
            Err(e) if would_block(&e) => return Seen::Nothing,
            Err(_) => return Seen::End,
        }
    }
}
