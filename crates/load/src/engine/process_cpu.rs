//! What the whole process costs beside its workers.

use std::time::Duration;

use super::OBSERVE_EVERY;
use crate::recorder::Edges;
use crate::sys;

/// The process's CPU time at the window's edges, as nearly as the calling thread wakes.
#[derive(Default)]
pub(super) struct ProcessCpu {
    at_start: Option<u64>,
    at_end: Option<u64>,
}

impl ProcessCpu {
    pub(super) fn look(&mut self, edges: Edges) {
        let now = sys::now_ns();
        if self.at_start.is_none() && now >= edges.start_ns {
            self.at_start = Some(sys::process_cpu_ns());
        }
        if self.at_end.is_none() && now >= edges.end_ns {
            self.at_end = Some(sys::process_cpu_ns());
        }
    }

    pub(super) fn finish(&mut self) {
        self.at_end.get_or_insert_with(sys::process_cpu_ns);
    }

    pub(super) fn window_ns(&self) -> u64 {
        match (self.at_start, self.at_end) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => 0,
        }
    }
}

pub(super) fn until_next_look(cpu: &ProcessCpu, edges: Edges) -> Duration {
    let now = sys::now_ns();
    let next_edge = if cpu.at_start.is_none() { edges.start_ns } else { edges.end_ns };
    let to_edge = Duration::from_nanos(next_edge.saturating_sub(now));
    if to_edge.is_zero() { OBSERVE_EVERY } else { OBSERVE_EVERY.min(to_edge) }
}
