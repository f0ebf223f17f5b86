//! What the connections of one event loop share: its buffers, its schedule, its book.

use std::io::{self, Write};
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::answer::Writer;
use crate::config::{Config, Http2Config};
use crate::ledger::{Books, Counts};
use crate::outbox::Outbox;
use crate::sys::{self, Stamps};
use crate::truth::Truth;

use rustls::ServerConfig;

/// Bytes asked of one `recv`: a 16 MiB echo takes 256 of them, a request one.
const READ_BYTES: usize = 64 << 10;

pub(crate) struct Service {
    /// Where every read goes; lent to the connection that reads.
    pub(crate) buffer: Box<[u8]>,
    pub(crate) plain: Vec<u8>,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Where answers are written; lent to the connection that sends.
    pub(crate) outbox: Outbox,
    pub(crate) now_ns: u64,
    pub(crate) truth: Truth,
    pub(crate) writer: Writer,
    pub(crate) close: bool,
    pub(crate) http2: Http2Config,
    pub(crate) books: Arc<Books>,
    /// The kernel's stamps of what arrives, where it has them.
    pub(crate) stamps: Option<Stamps>,
    /// Counted but not yet in the book: entered with the next `send`, or at the end of the event.
    pub(crate) tally: Counts,
    thread: usize,
}

impl Service {
    pub(crate) fn new(
        config: &Config,
        books: Arc<Books>,
        thread: usize,
        stamps: Option<Stamps>,
        tls: Option<Arc<ServerConfig>>,
    ) -> Service {
        let Config { delay, capacity_per_s, seed, mut http2, .. } = *config;
        if config.close {
            http2.goaway_after = Some(NonZeroU32::MIN);
        }
        Service {
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            plain: Vec::new(),
            tls,
            outbox: Outbox::default(),
            now_ns: sys::now_ns(),
            truth: Truth::new(delay, capacity_per_s, seed, thread as u64),
            writer: Writer::new(config.body_bytes, books.rows.clone()),
            close: config.close,
            http2,
            books,
            stamps,
            tally: Counts::default(),
            thread,
        }
    }

    pub(crate) fn stamp(&mut self) {
        self.now_ns = sys::now_ns();
    }

    pub(crate) fn enter_tally(&mut self) {
        if self.tally != Counts::default() {
            self.books.open(self.thread).counts.add(&std::mem::take(&mut self.tally));
        }
    }

    /// The book is open meanwhile: on loopback the client has its answer before the call returns, and whoever it asks
    /// for the ledger has to wait for the entry.
    pub(crate) fn send(&mut self, outbox: &mut Outbox, stream: impl Write) -> io::Result<bool> {
        let mut book = self.books.open(self.thread);
        book.counts.add(&std::mem::take(&mut self.tally));
        let before_ns = sys::now_ns();
        self.now_ns = before_ns;
        let clock = || {
            self.now_ns = sys::now_ns();
            self.now_ns
        };
        outbox.write_to(stream, before_ns, clock, &mut book)
    }
}
