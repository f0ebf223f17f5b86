//! A worker's books when its load is over.

use std::collections::BTreeMap;

use super::Edges;
use crate::by_request::ByRequest;
use crate::sample::Samples;
use prony_model::measurement::{
    Bin, ErrorKind, ErrorTally, Latency, RequestCounts, RunTotal, TlsUse, Tolerance, Waits, WorkerAudit,
};

/// The longest failure message that is kept.
const MESSAGE_MAX_BYTES: usize = 200;

/// A worker's books, closed.
#[derive(Debug)]
pub(crate) struct ClosedBooks {
    pub(crate) run: RunTotal,
    pub(crate) window: RequestCounts,
    pub(crate) read_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) stamps_rejected: u64,
    pub(crate) kernel_clock: bool,
    pub(crate) status: Vec<(u16, u64)>,
    pub(crate) errors: Vec<(ErrorKind, ErrorTally)>,
    pub(crate) latency: Latency,
    pub(crate) bins: Vec<Bin>,
    pub(crate) audit: WorkerAudit,
    pub(crate) cpu_ns: u64,
    /// The window's edges as they turned out.
    pub(crate) edges: Edges,
    pub(crate) samples: Samples,
    /// The worker's to enter.
    pub(crate) tls: Option<TlsUse>,
    /// Also the worker's: every request of its count was resolved.
    pub(crate) all_done: bool,
    /// And the worker's.
    pub(crate) waits: Waits,
    pub(crate) by_request: Option<Box<ByRequest>>,
    /// The worker's as well.
    pub(crate) tolerated: BTreeMap<Tolerance, u64>,
}

/// A message, cut where it is too long.
pub(super) fn bounded(mut message: String) -> String {
    if message.len() > MESSAGE_MAX_BYTES {
        let cut = (0..=MESSAGE_MAX_BYTES).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
        message.truncate(cut);
    }
    message
}
