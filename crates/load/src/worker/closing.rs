//! Connections that carry no more requests and wait for the server to close them.
//!
//! Who closes first keeps the port in TIME_WAIT for a minute. A client that
//! opens a connection per request and closes first runs out of its 28,000
//! ports in seconds and measures that; so the server is given the first word,
//! for a bounded time and a bounded number of connections.

use std::collections::VecDeque;

use crate::net::{Handle, Interest, Net, would_block};

/// Tokens with this bit belong here; the rest is the handle.
const TOKEN_BIT: u64 = 1 << 63;
/// How long a server may take to close.
const CLOSING_NS: u64 = 1_000_000_000;

/// Connections left to the server.
#[derive(Debug)]
pub(crate) struct Closing {
    /// By handle: the generation of the connection that lingers under it, 0 if none does.
    generations: Vec<u64>,
    generation: u64,
    /// In order of their deadline; entries of connections already gone stay until then.
    queue: VecDeque<(u64, Handle, u64)>,
    open: usize,
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
            open_max: open_max.max(1),
        }
    }

    /// Takes a connection over. Where the server has closed already, or talks
    /// on, it is closed at once.
    pub(crate) fn take(&mut self, handle: Handle, now_ns: u64, net: &mut impl Net, buffer: &mut [u8]) {
        net.leave(handle);
        if !is_silent(handle, net, buffer)
            || net.watch(handle, Interest::Read, TOKEN_BIT | handle as u64).is_err()
        {
            net.close(handle);
            return;
        }
        while self.open >= self.open_max {
            let Some((_, oldest, generation)) = self.queue.pop_front() else { break };
            self.close_if_current(oldest, generation, net);
        }
        let index = handle as usize;
        if self.generations.len() <= index {
            self.generations.resize(index + 1, 0);
        }
        self.generation += 1;
        self.generations[index] = self.generation;
        self.queue.push_back((now_ns + CLOSING_NS, handle, self.generation));
        self.open += 1;
    }

    /// Takes an event if it is one of ours.
    pub(crate) fn on_event(&mut self, token: u64, net: &mut impl Net, buffer: &mut [u8]) -> bool {
        if token & TOKEN_BIT == 0 {
            return false;
        }
        let handle = (token & !TOKEN_BIT) as Handle;
        // An event of this round may be of a connection that made room since; its handle
        // may be another's by now, whose answer is not ours to read.
        let generation = self.generations.get(handle as usize).copied().unwrap_or(0);
        if generation != 0 && !is_silent(handle, net, buffer) {
            self.close_if_current(handle, generation, net);
        }
        true
    }

    /// Closes those whose time is over.
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

    /// Closes all.
    pub(crate) fn close_all(&mut self, net: &mut impl Net) {
        while let Some((_, handle, generation)) = self.queue.pop_front() {
            self.close_if_current(handle, generation, net);
        }
    }

    fn is_current(&self, handle: Handle, generation: u64) -> bool {
        generation != 0 && self.generations.get(handle as usize) == Some(&generation)
    }

    fn close_if_current(&mut self, handle: Handle, generation: u64, net: &mut impl Net) {
        if self.is_current(handle, generation) {
            self.generations[handle as usize] = 0;
            self.open -= 1;
            net.close(handle);
        }
    }
}

/// Whether the peer has neither closed the connection nor sent anything on it.
fn is_silent(handle: Handle, net: &mut impl Net, buffer: &mut [u8]) -> bool {
    net.recv(handle, buffer).is_err_and(|e| would_block(&e))
}
