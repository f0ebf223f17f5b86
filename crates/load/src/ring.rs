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
        Ok((Ring { filled, emptied }, thread))
    }

    /// Takes a batch on, and hands used buffers back; waits for it where the ring is dry. Whether there are more.
    pub(crate) fn take(&mut self, ready: &mut VecDeque<Rendered>, used: &mut Vec<Rendered>) -> bool {
        let Ok(mut batch) = self.filled.recv() else { return false };
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
