//! A worker's next requests where the list stays in its file: a thread reads on in it, and has them ready in a bounded ring.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use prony_model::list::long::LongReader;
use prony_model::{Plan, PlanError};

use crate::http1::build;
use crate::pace::request_order::RequestOrder;
use crate::sys;
use crate::values::Rendered;

/// Requests are handed over so many at a time, or so many bytes: that costs the worker a call and at times a wake-up.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 256 << 10;
/// How many batches are ready at least, where the file is read fast enough.
const BATCHES_MIN: usize = 32;

/// The worker's end.
#[derive(Debug)]
pub(crate) struct Ring {
    filled: Receiver<Vec<Rendered>>,
    emptied: SyncSender<Vec<Rendered>>,
    /// When it was last dry and had requests again; 0: never.
    pub(crate) dry_until_ns: u64,
}

impl Ring {
    /// Starts the thread that reads a worker's requests, of this order, for so many places. It ends with the ring; what is
    /// wrong with the file goes to `failed`.
    pub(crate) fn start(
        plan: &Arc<Plan>,
        order: RequestOrder,
        places: usize,
        failed: impl FnOnce(PlanError) + Send + 'static,
    ) -> io::Result<(Ring, JoinHandle<()>)> {
        let batches = BATCHES_MIN.max(2 * places.div_ceil(BATCH));
        let ((to_worker, filled), (emptied, back)) = (sync_channel(batches), sync_channel(batches));
        let plan = Arc::clone(plan);
        let reads = move || {
            if let Err(why) = read(&plan, order, &to_worker, &back) {
                failed(why);
            }
        };
        let thread = thread::Builder::new().name("prony-list".to_owned()).spawn(reads)?;
        Ok((Ring { filled, emptied, dry_until_ns: 0 }, thread))
    }

    /// Takes a batch on, and hands used buffers back; waits for it where the ring is dry. Whether there are more.
    pub(crate) fn take(&mut self, ready: &mut VecDeque<Rendered>, used: &mut Vec<Rendered>) -> bool {
        let batch = self.filled.try_recv().or_else(|_| {
            let batch = self.filled.recv();
            self.dry_until_ns = sys::now_ns();
            batch
        });
        let Ok(mut batch) = batch else { return false };
        ready.extend(batch.drain(..));
        batch.append(used);
        // Full, it is dropped here.
        let _ = self.emptied.try_send(batch);
        true
    }
}

fn read(
    plan: &Plan,
    mut order: RequestOrder,
    to_worker: &SyncSender<Vec<Rendered>>,
    back: &Receiver<Vec<Rendered>>,
) -> Result<(), PlanError> {
    let (mut list, host) = (LongReader::open(plan)?, plan.target.host_header());
    loop {
        let mut batch = back.try_recv().unwrap_or_default();
        batch.clear();
        let mut bytes = 0;
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let (request, number) = order.at(0);
            order.skip(1);
            let line = list.request(number)?;
            let built = build(&host, plan.keepalive, &plan.planned(&line));
            bytes += built.len();
            batch.push(Rendered { request, bytes: built, ..Rendered::default() });
        }
        if to_worker.send(batch).is_err() {
            // The worker is done. What it was given must have been the list.
            return list.check();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_is_dry_says_until_when() {
        let ((to_worker, filled), (emptied, back)) = (sync_channel(2), sync_channel(1));
        let mut ring = Ring { filled, emptied, dry_until_ns: 0 };
        let batch = |request| vec![Rendered { request, ..Rendered::default() }];
        let (mut ready, mut used) = (VecDeque::new(), batch(9));
        to_worker.send(batch(1)).unwrap();
        assert!(ring.take(&mut ready, &mut used) && used.is_empty());
        assert_eq!((ready.len(), ring.dry_until_ns), (1, 0));
        assert_eq!(back.recv().unwrap()[0].request, 9, "its buffer comes back");
        let (asked, asks) = sync_channel(0);
        let reader = thread::spawn(move || {
            asks.recv().unwrap();
            let before_ns = sys::now_ns();
            to_worker.send(batch(2)).unwrap();
            before_ns
        });
        asked.send(()).unwrap();
        // Whether it was there already is chance: the third is surely not.
        assert!(ring.take(&mut ready, &mut used));
        let before_ns = reader.join().unwrap();
        assert!(ring.dry_until_ns == 0 || ring.dry_until_ns >= before_ns);
        assert!(!ring.take(&mut ready, &mut used), "its reader is gone");
        assert!(ring.dry_until_ns >= before_ns);
        assert_eq!(ready.iter().map(|one| one.request).collect::<Vec<_>>(), [1, 2]);
    }
}
