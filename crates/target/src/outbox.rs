//! Answers on their way to the kernel: bytes, and marks where each answer ends.

use std::collections::VecDeque;
use std::io::{self, Write};

use crate::ledger::Book;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    Request(Arrival),
    /// No request's: a refusal, or `100 Continue`.
    Uncounted,
    /// The ledger's own, which it leaves out.
    Ledger,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) read_ns: u64,
    /// The kernel had received it, never later; where it does not say so, the same.
    pub(crate) arrived_ns: u64,
    pub(crate) is_stamped: bool,
}

impl Arrival {
    /// By the kernel's stamp, if it can be: not before `earliest_ns`, and not after the reading.
    pub(crate) fn new(read_ns: u64, earliest_ns: u64, stamp_ns: Option<u64>) -> Arrival {
        match stamp_ns.filter(|stamp_ns| (earliest_ns..=read_ns).contains(stamp_ns)) {
            Some(arrived_ns) => Arrival { read_ns, arrived_ns, is_stamped: true },
            None => Arrival { read_ns, arrived_ns: read_ns, is_stamped: false },
        }
    }
}

/// Where an answer ends, counted from the beginning of [`Outbox::bytes`].
struct Mark {
    end: usize,
    account: Account,
}

/// One for each event loop, reused for every connection: an idle one holds none and a fast answer allocates none.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
    marks: VecDeque<Mark>,
}

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.unsent_bytes() == 0
    }

    pub(crate) fn unsent_bytes(&self) -> usize {
        self.bytes.len() - self.sent
    }

    #[cfg(test)]
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(crate) fn push(&mut self, account: Account, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.marks.push_back(Mark { end: self.bytes.len(), account });
    }

    /// Moves everything unsent of `other` behind what is here. Nothing of `other` has been sent.
    pub(crate) fn append(&mut self, other: &mut Outbox) {
        let shift = self.bytes.len();
        self.bytes.append(&mut other.bytes);
        self.marks.extend(other.marks.drain(..).map(|mark| Mark { end: mark.end + shift, ..mark }));
    }

    /// One write of all there is, from `now_ns` until `clock` is read; entered in `book`. True when all is gone.
    pub(crate) fn write_to(
        &mut self,
        mut stream: impl Write,
        now_ns: u64,
        clock: impl FnOnce() -> u64,
        book: &mut Book,
    ) -> io::Result<bool> {
        let (written, done_ns) = match stream.write(&self.bytes[self.sent..]) {
            Ok(written) => (written, clock()),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(false);
            }
            Err(e) => return Err(e),
        };
        let before = self.sent;
        self.sent += written;
        book.counts.bytes_written += written as u64;
        self.enter(before, (now_ns, done_ns), book);
        let all = self.is_empty();
        if all {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent >= self.bytes.len() / 2 {
            // Moves each byte at most once on average.
            self.bytes.drain(..self.sent);
            for mark in &mut self.marks {
                mark.end -= self.sent;
            }
            self.sent = 0;
        }
        Ok(all)
    }

    /// Enters the answers that end within what is sent, by a write from and until these instants.
    fn enter(&mut self, mut from: usize, (now_ns, done_ns): (u64, u64), book: &mut Book) {
        while let Some(mark) = self.marks.front() {
            let to = mark.end.min(self.sent);
            if mark.account == Account::Ledger {
                book.counts.ledger_bytes_written += (to - from) as u64;
            }
            if mark.end > self.sent {
                return;
            }
            if let Account::Request(arrival) = mark.account {
                book.answered(
                    now_ns.saturating_sub(arrival.read_ns),
                    done_ns.saturating_sub(arrival.arrived_ns),
                    arrival.is_stamped,
                );
            }
            from = to;
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Books;

    /// A socket that takes at most so many bytes a call.
    struct Limited(usize, Vec<u8>);

    impl Write for Limited {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.1.extend_from_slice(&bytes[..taken]);
            if taken == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn partial_writes_keep_the_order_and_count_each_answer_once() {
        let arrival = Arrival::new(5, 0, Some(3));
        let answers = [(Account::Request(arrival), 7), (Account::Ledger, 20), (Account::Uncounted, 3)];
        for width in 1..70 {
            let books = Books::new(1, 0, true);
            let (mut outbox, mut scratch, mut socket) =
                (Outbox::default(), Outbox::default(), Limited(width, vec![]));
            for round in 0..2_u8 {
                for (account, length) in answers {
                    scratch.push(account, |out| out.extend((0..length).map(|i| i + 100 * round)));
                }
                outbox.append(&mut scratch);
                assert!(scratch.is_empty());
                outbox.write_to(&mut socket, 10, || 11, &mut books.open(0)).unwrap();
            }
            while !outbox.is_empty() {
                outbox.write_to(&mut socket, 10, || 11, &mut books.open(0)).unwrap();
            }
            assert!(outbox.marks.is_empty());
            let expected: Vec<u8> = (0..2)
                .flat_map(|round| [7, 20, 3].map(|length| (0..length).map(move |i| i + 100 * round)))
                .flatten()
                .collect();
            assert_eq!(socket.1, expected, "width {width}");
            let ledger = books.ledger();
            assert_eq!((ledger.requests_answered, ledger.bytes_written, ledger.latency.max_ns), (2, 20, 5));
            // From its arrival at 3 to the write's end at 11.
            let residence = &ledger.residence;
            assert_eq!((residence.count, residence.min_ns, residence.max_ns), (2, 8, 8));
        }
    }

    #[test]
    fn a_stamp_is_taken_if_between_the_last_one_and_the_read() {
        for (stamp, arrived_ns, is_stamped) in [
            (Some(50), 50, true),
            (Some(40), 40, true),
            (Some(100), 100, true),
            (Some(39), 100, false),
            (Some(101), 100, false),
            (None, 100, false),
        ] {
            let arrival = Arrival { read_ns: 100, arrived_ns, is_stamped };
            assert_eq!(Arrival::new(100, 40, stamp), arrival, "{stamp:?}");
        }
    }

    #[test]
    fn a_full_send_buffer_is_no_error() {
        let books = Books::new(1, 0, true);
        let mut outbox = Outbox::default();
        outbox.push(Account::Uncounted, |out| out.push(1));
        assert!(!outbox.write_to(Limited(0, vec![]), 0, || 0, &mut books.open(0)).unwrap());
        assert_eq!(outbox.unsent_bytes(), 1);
    }
}
