//! The seconds of a worker's series, on their way to be merged, and what else of its
//! recorder holds is seen while it runs.

use std::sync::mpsc::{Receiver, Sender};

use super::by_request::ERROR_KINDS;
use super::{BINS_MAX, PartSink, Recorder, SPARE_HISTOGRAMS};
use prony_model::histogram::Histogram;
use prony_model::measurement::Bin;

/// Room for a window's bins, of which the first hour's is written once: memory that the kernel gives out at the first
/// write would else look as if the load grew.
pub(super) fn room_for_bins(count: usize) -> Vec<Bin> {
    let mut bins = Vec::with_capacity(count);
    bins.resize(count.min(BINS_MAX), Bin::default());
    std::hint::black_box(&mut bins).clear();
    bins
}

/// One worker's part of one second of the series.
#[derive(Debug)]
pub(crate) struct SecondPart {
    /// The worker's place among those of this process.
    pub(crate) place: usize,
    pub(crate) index: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) connections: u64,
    pub(crate) response: Histogram,
    pub(crate) lags: Lags,
}

impl SecondPart {
    /// A second that begins; `response` is empty.
    pub(crate) fn begin(place: usize, index: u64, response: Histogram) -> SecondPart {
        SecondPart { place, index, completed: 0, failed: 0, connections: 0, response, lags: Lags::default() }
    }
}

/// How late requests were sent, summed: for who watches.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lags {
    pub(crate) lateness_sum_ns: u64,
    pub(crate) lateness_max_ns: u64,
    pub(crate) connection_wait_sum_ns: u64,
}

impl Lags {
    /// Takes in so many completed requests; in a closed loop nearly all have no lag.
    #[inline]
    pub(crate) fn add(&mut self, send_lag_ns: u64, connection_wait_ns: u64, count: u64) {
        if send_lag_ns > 0 {
            let lateness_ns = send_lag_ns - connection_wait_ns;
            self.lateness_sum_ns += lateness_ns * count;
            self.lateness_max_ns = self.lateness_max_ns.max(lateness_ns);
            self.connection_wait_sum_ns += connection_wait_ns * count;
        }
    }

    /// Takes in another worker's.
    pub(crate) fn merge(&mut self, other: &Lags) {
        self.lateness_sum_ns += other.lateness_sum_ns;
        self.lateness_max_ns = self.lateness_max_ns.max(other.lateness_max_ns);
        self.connection_wait_sum_ns += other.connection_wait_sum_ns;
    }
}

/// Where finished seconds go, and where empty histograms come back from.
pub(crate) struct SecondSink {
    /// The worker's number among all of the load's.
    pub(crate) worker: u32,
    /// Its place among those of this process.
    pub(crate) place: usize,
    pub(crate) finished: Sender<SecondPart>,
    pub(crate) empty: Receiver<Histogram>,
    /// Where somebody asks for what was measured at every whole second.
    pub(crate) parts: Option<PartSink>,
}

impl Recorder {
    /// Sends the second that ends now to be merged, and begins the next in an empty histogram.
    pub(super) fn hand_over_second(&mut self) {
        while let Ok(histogram) = self.sink.empty.try_recv() {
            if self.spare.len() < SPARE_HISTOGRAMS {
                self.spare.push(histogram);
            }
        }
        let empty = self.spare.pop().unwrap_or_default();
        let next = SecondPart::begin(self.sink.place, self.second.index + 1, empty);
        let mut finished = std::mem::replace(&mut self.second, next);
        finished.connections = self.connections;
        // The receiver lives until every worker is joined; a closed channel means
        // that the run is being given up, and with it this second.
        let _ = self.sink.finished.send(finished);
    }

    /// Failures over the run, by kind in the order of their discriminants.
    pub(crate) fn failed_by_kind(&self) -> &[u64; ERROR_KINDS] {
        &self.failed_by_kind
    }
}
