//! What a network of HTTP/2 servers saw of a worker's requests: each is known by its path.

use std::collections::BTreeMap;
use std::ops::Range;

use prony_model::measurement::ErrorKind;

#[derive(Debug, Clone)]
pub(super) struct Asked {
    slot: usize,
    which: u32,
    pub(super) began_ns: u64,
    /// When the first byte of its last sending was written; `None`: it is not sent, or has to be sent again.
    sent_ns: Option<u64>,
    sendings: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    /// Which of the worker's requests it is of, from 0, as they began.
    pub(super) number: usize,
    pub(super) at_ns: u64,
    pub(super) service_ns: u64,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Truth {
    /// In the order in which they began.
    asked: Vec<Asked>,
    /// Those that are not sent, the oldest first, by slot and by which of the list they are.
    unsent: BTreeMap<(usize, u32), Vec<usize>>,
    pub(super) answered: Vec<Answered>,
    /// When each other request failed, but for those whose time was over.
    pub(super) failed: Vec<(u64, ErrorKind)>,
    /// Streams that the client ended by CANCEL before their answer was read, and when.
    pub(super) cancelled: Vec<u64>,
    pub(super) sent: Vec<u64>,
    pub(super) writes: Vec<(u64, usize)>,
    pub(super) reads: Vec<(u64, usize)>,
    /// Of those, what is of no request.
    pub(super) reads_of_none: Vec<(u64, usize)>,
    pub(super) connects: u64,
    /// The most requests that any connection carried at once.
    pub(super) most_open: usize,
    /// How often answers came before the whole request, streams were refused, GOAWAY came, windows were negative.
    pub(super) early: u64,
    pub(super) goaways: u64,
    pub(super) negative_windows: u64,
    pub(super) limits_lowered: u64,
    /// Connections that the client ended after their last request.
    pub(super) farewells: u64,
    pub(super) client_goaways: Vec<u32>,
}

impl Truth {
    /// What of it happened at these instants.
    pub(super) fn within(&self, window: Range<u64>) -> Truth {
        let mut truth = self.clone();
        truth.answered.retain(|answered| window.contains(&answered.at_ns));
        truth.failed.retain(|(at_ns, _)| window.contains(at_ns));
        truth.sent.retain(|at_ns| window.contains(at_ns));
        for bytes in [&mut truth.writes, &mut truth.reads, &mut truth.reads_of_none] {
            bytes.retain(|(at_ns, _)| window.contains(at_ns));
        }
        truth
    }

    pub(super) fn begin(&mut self, slot: usize, which: u32, began_ns: u64) {
        self.unsent.entry((slot, which)).or_default().push(self.asked.len());
        self.asked.push(Asked { slot, which, began_ns, sent_ns: None, sendings: 0 });
    }

    /// The first byte of a request is written: gives its number.
    pub(super) fn send(&mut self, slot: usize, which: u32, stamp_ns: u64) -> usize {
        let waiting = self.unsent.get_mut(&(slot, which)).filter(|waiting| !waiting.is_empty());
        let number = waiting.expect("a request is written that did not begin, or a second time").remove(0);
        let asked = &mut self.asked[number];
        asked.sent_ns = Some(stamp_ns);
        asked.sendings += 1;
        self.sent.push(stamp_ns);
        number
    }

    pub(super) fn unsend(&mut self, number: usize) {
        let asked = &mut self.asked[number];
        asked.sent_ns = None;
        let waiting = self.unsent.entry((asked.slot, asked.which)).or_default();
        let at = waiting.partition_point(|other| *other < number);
        waiting.insert(at, number);
    }

    pub(super) fn sent_again(&self) -> u64 {
        self.asked.iter().map(|asked| u64::from(asked.sendings.saturating_sub(1))).sum()
    }

    pub(super) fn answer(&mut self, number: usize, at_ns: u64) {
        let service_ns = at_ns - self.asked[number].sent_ns.expect("what is answered was sent");
        self.answered.push(Answered { number, at_ns, service_ns });
    }

    pub(super) fn fail(&mut self, at_ns: u64, kind: ErrorKind) {
        self.failed.push((at_ns, kind));
    }

    pub(super) fn cancel(&mut self, at_ns: u64) {
        self.cancelled.push(at_ns);
    }

    pub(super) fn began_ns(&self, number: usize) -> u64 {
        self.asked[number].began_ns
    }

    /// A slot's requests that are not sent fail with its connection.
    pub(super) fn fail_unsent(&mut self, slot: usize, at_ns: u64, kind: ErrorKind) {
        let of_slot = self.unsent.range_mut((slot, 0)..=(slot, u32::MAX));
        let count = of_slot.map(|(_, waiting)| std::mem::take(waiting).len()).sum();
        self.failed.extend(std::iter::repeat_n((at_ns, kind), count));
    }
}
