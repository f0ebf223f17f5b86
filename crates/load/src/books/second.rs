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
}

/// Where finished seconds go, and where empty histograms come back from.
pub(crate) struct SecondSink {
    /// Whose seconds.
    pub(crate) worker: usize,
    pub(crate) finished: Sender<SecondPart>,
    pub(crate) empty: Receiver<Durations>,
}
