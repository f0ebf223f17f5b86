//! The seconds of a worker's series, on their way to be merged.

use std::sync::mpsc::{Receiver, Sender};

use crate::measurement::Durations;

/// One worker's part of one second of the series.
#[derive(Debug)]
pub(crate) struct SecondPart {
    /// The worker, from 0.
    pub(crate) worker: usize,
    pub(crate) index: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) connections: u64,
    pub(crate) response: Durations,
    pub(crate) lags: Lags,
}

/// How late requests were sent, summed: for who watches.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lags {
    pub(crate) lateness_sum_ns: u64,
    pub(crate) lateness_max_ns: u64,
    pub(crate) connection_wait_sum_ns: u64,
}

impl Lags {
    /// Takes in a completed request; in a closed loop nearly all have no lag.
    #[inline]
    pub(crate) fn add(&mut self, send_lag_ns: u64, connection_wait_ns: u64) {
        if send_lag_ns > 0 {
            let lateness_ns = send_lag_ns - connection_wait_ns;
            self.lateness_sum_ns += lateness_ns;
            self.lateness_max_ns = self.lateness_max_ns.max(lateness_ns);
            self.connection_wait_sum_ns += connection_wait_ns;
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
    /// Whose seconds.
    pub(crate) worker: usize,
    pub(crate) finished: Sender<SecondPart>,
    pub(crate) empty: Receiver<Durations>,
}
