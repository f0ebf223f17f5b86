//! After the window: whether a server sends more than it was asked for. Where requests follow each other on a connection,
//! each response too many looks like the next one's, and only what is left over in the end tells.

use std::io;
use std::sync::atomic::Ordering;

use crate::codec::requests::Requests;
use crate::codec::{Codec, What};
use crate::net::{Interest, Net, would_block};
use crate::recorder::Recorder;

use super::Worker;
use super::slot::State;

/// Nothing more is waited for once so long nothing came.
const SILENCE_NS: u64 = 50_000_000;
/// Nor after so long in all.
const ALL_NS: u64 = 1_000_000_000;

impl<N: Net, C: Codec> Worker<N, C> {
    /// Takes responses still due, and counts connections with others; those told why they end are waited for, too.
    pub(super) fn see_surplus(&mut self, recorder: &mut Recorder) -> io::Result<()> {
        if !self.net.lingers() || self.shared.given_up.load(Ordering::Relaxed) {
            return Ok(());
        }
        for (token, slot) in (0..).zip(&mut self.slots) {
            let tells = slot.state == State::Connected && (!C::MULTIPLEXED || slot.requests.is_empty());
            let writes = slot.watches_writing;
            if !tells || (writes && self.net.watch(slot.handle, Interest::Read, token).is_err()) {
                slot.disconnect(&mut self.net);
            }
        }
        let mut now = self.net.now_ns();
        let (mut silent_ns, end_ns) = (now + SILENCE_NS, now + ALL_NS);
        while now < end_ns && (now < silent_ns || self.closing.awaits_told()) {
            let until = if self.closing.awaits_told() { end_ns } else { silent_ns.min(end_ns) };
            let events = self.net.wait(now, until)?;
            now = self.net.now_ns();
            for event in 0..events {
                let token = self.net.token(event);
                let talks = self.closing.on_event(token, &mut self.net, &mut self.buffer);
                let unasked = talks.unwrap_or_else(|| self.late_event(token as u32, now));
                recorder.run.unasked += u64::from(unasked);
                silent_ns = now + SILENCE_NS;
            }
        }
        Ok(())
    }

    /// Whether what came is more than was asked for; the connection is closed then.
    fn late_event(&mut self, index: u32, now: u64) -> bool {
        let slot = &self.slots[index as usize];
        if slot.state != State::Connected {
            return false;
        }
        let unasked = if slot.requests.is_empty() {
            let Err(over) = self.read_idle(index) else { return false };
            self.send_goaway(index, now);
            over.unasked
        } else {
            let Some(unasked) = self.take_late(index) else {
                self.set_wake(index);
                return false;
            };
            unasked
        };
        self.slots[index as usize].disconnect(&mut self.net);
        unasked
    }

    /// Takes uncounted responses; `None` while others are due on the connection, else whether one was not.
    #[cold]
    fn take_late(&mut self, index: u32) -> Option<bool> {
        let read = match self.read(index) {
            Ok(read) if read.count > 0 => read,
            Err(e) if would_block(&e) => return None,
            _ => return Some(false),
        };
        let Worker { codec, slots, buffer, .. } = self;
        let slot = &mut slots[index as usize];
        let mut at = 0;
        while at < read.count {
            if !codec.awaits_response(&slot.connection) {
                return Some(true);
            }
            let step = if read.discarded {
                codec.skip(&mut slot.connection, read.count)
            } else {
                codec.take(&mut slot.connection, &buffer[at..read.count], &mut |_, _: &[u8]| {})
            };
            at += step.used;
            match (step.what, step.place) {
                (What::Whole { reusable, .. }, Some(place)) => {
                    slot.requests.remove(place);
                    if !reusable {
                        return Some(at < read.count && !codec.awaits_response(&slot.connection));
                    }
                }
                (What::Broken(..), _) => return Some(false),
                _ => {}
            }
        }
        None
    }
}
