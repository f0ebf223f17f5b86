//! What the server says it did: the other side of the tester's account. Each event loop holds its [`Book`]'s mutex
//! *while* it calls `send`, so that a client that has its answer finds it counted, whichever thread it asks. Only a
//! reader ever contends for it: a lock and its release cost about 15 ns, beside a `send` of 5 µs.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::board::Written;
use crate::request::{PATHS_COUNT, Route, paths};
use crate::sys;

/// The format of [`Ledger`] as JSON; it changes with any field's meaning.
pub const LEDGER_SCHEMA: &str = "prony.ledger/1";

/// An hour, in nanoseconds: the longest latency told apart.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
/// A percentile is off by at most 0.1 %.
const LATENCY_DIGITS: u8 = 3;

/// The server's account from its start. Requests for the ledger are not in it, nor their bytes; their connections are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    pub schema: String,
    /// Requests whose last byte was read, whatever they asked for.
    pub requests_received: u64,
    /// Requests whose answer was given to the kernel, to its last byte.
    pub requests_answered: u64,
    /// What was no request, or too large (status 400, 413, 431, 501 or 505, and closed; in HTTP/2 ended by an error).
    pub requests_refused: u64,
    pub connections_accepted: u64,
    pub connections_open: u64,
    pub bytes_read: u64,
    /// Bytes given to the kernel for clients.
    pub bytes_written: u64,
    /// From the read that returned a request's last byte to just before the write that took its answer's last byte.
    pub latency: LatencySummary,
    /// Age of the server, in nanoseconds.
    pub uptime_ns: u64,
    /// The received requests by path, without its query; `other` for what is no path, or not by this method or query.
    /// Those that nobody asked for are left out.
    #[serde(default)]
    pub requests_by_path: BTreeMap<String, u64>,
    /// From the kernel's receive stamp of the packet with the last byte to the return of the write of the answer's last
    /// byte: waking up, reading and writing are in it. Requests of one read have the last one's stamp; without any, the
    /// read's instant stands in.
    #[serde(default)]
    pub residence: LatencySummary,
    /// `kernel`, or, where this kernel does not stamp what arrives, `user`: `residence` then begins with the read.
    #[serde(default)]
    pub residence_clock: String,
    /// Answered requests whose stamp is missing or impossible (after the read, or before an earlier one's); 0 by the
    /// clock `user`.
    #[serde(default)]
    pub stamps_rejected: u64,
    #[serde(default)]
    pub http2_connections: u64,
    /// Ended by INTERNAL_ERROR instead of an answer, as was asked for. Their requests are among the received.
    #[serde(default)]
    pub streams_reset: u64,
    /// Not processed, and not received: after GOAWAY, and beyond the limit, which REFUSED_STREAM says.
    #[serde(default)]
    pub streams_unprocessed: u64,
}

/// A distribution of latencies, in nanoseconds; all 0 where `count` is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencySummary {
    pub count: u64,
    /// Arithmetic mean, in nanoseconds, rounded.
    pub mean_ns: u64,
    /// Least, in nanoseconds.
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p75_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub p9999_ns: u64,
    /// Greatest, in nanoseconds.
    pub max_ns: u64,
    /// The histogram: HdrHistogram V2, compressed, in base64.
    pub hdr: String,
}

#[derive(Debug, Error)]
#[error(
    "the ledger's histogram cannot be read ({reason}): compare the versions of the server and of this program"
)]
pub struct HistogramError {
    reason: String,
}

impl LatencySummary {
    fn of(histogram: &Histogram<u64>) -> LatencySummary {
        let percentile_ns = |quantile| histogram.value_at_quantile(quantile);
        let mut bytes = Vec::new();
        // Writing to a Vec cannot fail, and neither can a histogram of this size be too large for the format.
        let _ = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
        LatencySummary {
            count: histogram.len(),
            mean_ns: histogram.mean().round() as u64,
            min_ns: histogram.min(),
            p50_ns: percentile_ns(0.5),
            p75_ns: percentile_ns(0.75),
            p90_ns: percentile_ns(0.9),
            p95_ns: percentile_ns(0.95),
            p99_ns: percentile_ns(0.99),
            p999_ns: percentile_ns(0.999),
            p9999_ns: percentile_ns(0.9999),
            max_ns: histogram.max(),
            hdr: STANDARD.encode(bytes),
        }
    }

    pub fn histogram(&self) -> Result<Histogram<u64>, HistogramError> {
        let bytes = STANDARD.decode(&self.hdr).map_err(|e| HistogramError { reason: e.to_string() })?;
        Deserializer::new().deserialize(&mut &bytes[..]).map_err(|e| HistogramError { reason: e.to_string() })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) requests_received: u64,
    pub(crate) requests_answered: u64,
    pub(crate) requests_refused: u64,
    pub(crate) unstamped: u64,
    pub(crate) connections_accepted: u64,
    pub(crate) connections_closed: u64,
    pub(crate) http2_connections: u64,
    pub(crate) streams_reset: u64,
    pub(crate) streams_unprocessed: u64,
    /// The ledger's own included, here and below; taken off when the ledger is drawn up.
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) ledger_bytes_read: u64,
    pub(crate) ledger_bytes_written: u64,
    /// In the order of [`paths`].
    pub(crate) by_path: [u64; PATHS_COUNT],
}

impl Counts {
    pub(crate) fn received(&mut self, route: Route) {
        self.requests_received += 1;
        self.by_path[route.path_number()] += 1;
    }

    pub(crate) fn add(&mut self, more: &Counts) {
        self.requests_received += more.requests_received;
        self.requests_answered += more.requests_answered;
        self.requests_refused += more.requests_refused;
        self.unstamped += more.unstamped;
        self.connections_accepted += more.connections_accepted;
        self.connections_closed += more.connections_closed;
        self.http2_connections += more.http2_connections;
        self.streams_reset += more.streams_reset;
        self.streams_unprocessed += more.streams_unprocessed;
        self.bytes_read += more.bytes_read;
        self.bytes_written += more.bytes_written;
        self.ledger_bytes_read += more.ledger_bytes_read;
        self.ledger_bytes_written += more.ledger_bytes_written;
        self.by_path.iter_mut().zip(more.by_path).for_each(|(sum, more)| *sum += more);
    }
}

/// One event loop's account. Aligned so that no two threads write to one cache line.
#[repr(align(128))]
pub(crate) struct Book {
    pub(crate) counts: Counts,
    latency: Histogram<u64>,
    residence: Histogram<u64>,
}

impl Book {
    pub(crate) fn answered(&mut self, latency_ns: u64, residence_ns: u64, is_stamped: bool) {
        self.counts.requests_answered += 1;
        self.counts.unstamped += u64::from(!is_stamped);
        self.latency.saturating_record(latency_ns);
        self.residence.saturating_record(residence_ns);
    }
}

pub(crate) struct Books {
    started_ns: u64,
    kernel_clock: bool,
    books: Vec<Mutex<Book>>,
    /// What was written.
    pub(crate) rows: Written,
}

fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, LATENCY_DIGITS)
        .expect("constants within the format's bounds")
}

impl Books {
    pub(crate) fn new(threads: usize, started_ns: u64, kernel_clock: bool) -> Books {
        let book = || {
            let (latency, residence) = (empty_histogram(), empty_histogram());
            Mutex::new(Book { counts: Counts::default(), latency, residence })
        };
        Books {
            started_ns,
            kernel_clock,
            books: (0..threads).map(|_| book()).collect(),
            rows: Written::default(),
        }
    }

    /// Locks one event loop's book. A thread that died with it has left whole numbers behind.
    pub(crate) fn open(&self, thread: usize) -> MutexGuard<'_, Book> {
        self.books[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws up the ledger; the caller has no book open.
    pub(crate) fn ledger(&self) -> Ledger {
        let (mut counts, mut latency, mut residence) =
            (Counts::default(), empty_histogram(), empty_histogram());
        for thread in 0..self.books.len() {
            let book = self.open(thread);
            counts.add(&book.counts);
            // The same bounds, so it cannot fail.
            let _ = latency.add(&book.latency);
            let _ = residence.add(&book.residence);
        }
        Ledger {
            schema: LEDGER_SCHEMA.to_owned(),
            requests_received: counts.requests_received,
            requests_answered: counts.requests_answered,
            requests_refused: counts.requests_refused,
            connections_accepted: counts.connections_accepted,
            connections_open: counts.connections_accepted - counts.connections_closed,
            bytes_read: counts.bytes_read - counts.ledger_bytes_read,
            bytes_written: counts.bytes_written - counts.ledger_bytes_written,
            latency: LatencySummary::of(&latency),
            uptime_ns: sys::now_ns() - self.started_ns,
            requests_by_path: paths()
                .zip(counts.by_path)
                .filter(|(_, count)| *count > 0)
                .map(|(path, count)| (path.to_owned(), count))
                .collect(),
            residence: LatencySummary::of(&residence),
            residence_clock: if self.kernel_clock { "kernel" } else { "user" }.to_owned(),
            stamps_rejected: if self.kernel_clock { counts.unstamped } else { 0 },
            http2_connections: counts.http2_connections,
            streams_reset: counts.streams_reset,
            streams_unprocessed: counts.streams_unprocessed,
        }
    }

    pub(crate) fn ledger_json(&self) -> Vec<u8> {
        // Strings and integers: it cannot fail.
        serde_json::to_vec(&self.ledger()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_sums_all_threads_and_its_histogram_reads_back() {
        let books = Books::new(2, sys::now_ns(), true);
        for (thread, latency_ns) in [(0, 1_000), (0, 2_000_000), (1, 4_000_000_000)] {
            let mut book = books.open(thread);
            book.counts.requests_received += 1;
            book.counts.bytes_read += 100;
            book.answered(latency_ns, latency_ns + 5_000, thread == 0);
        }
        books.open(1).counts.bytes_read += 30;
        books.open(1).counts.ledger_bytes_read += 30;
        let ledger: Ledger = serde_json::from_slice(&books.ledger_json()).unwrap();
        assert_eq!((ledger.requests_received, ledger.requests_answered, ledger.bytes_read), (3, 3, 300));
        assert_eq!(ledger.latency.count, 3);
        assert_eq!((ledger.residence.count, ledger.residence.min_ns), (3, 6_000));
        assert_eq!((ledger.residence_clock.as_str(), ledger.stamps_rejected), ("kernel", 1));
        assert!(ledger.latency.p50_ns.abs_diff(2_000_000) < 2_000);
        let histogram = ledger.latency.histogram().unwrap();
        assert_eq!(histogram.len(), 3);
        assert_eq!(histogram.max(), ledger.latency.max_ns);
    }

    #[test]
    fn a_ledger_without_requests_is_all_zeros() {
        let books = Books::new(1, sys::now_ns(), false);
        // Without stamps there are none to reject.
        books.open(0).counts.unstamped = 1;
        let ledger = books.ledger();
        assert_eq!((ledger.residence_clock.as_str(), ledger.stamps_rejected), ("user", 0));
        assert_eq!((ledger.latency.count, ledger.latency.min_ns, ledger.latency.max_ns), (0, 0, 0));
        assert_eq!(ledger.latency.histogram().unwrap().len(), 0);
    }
}
