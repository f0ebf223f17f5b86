//! How what several workers measured, or one in several parts of the window, adds up.

use super::{RequestCounts, RequestFigures, RunTotal, WorkerAudit};

impl RequestCounts {
    pub fn add(&mut self, other: &RequestCounts) {
        self.carried_in += other.carried_in;
        self.scheduled += other.scheduled;
        self.sent += other.sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.in_flight += other.in_flight;
        self.never_sent += other.never_sent;
    }
}

impl RunTotal {
    pub fn add(&mut self, other: &RunTotal) {
        self.sent += other.sent;
        self.completed += other.completed;
        self.connections += other.connections;
        self.unasked += other.unasked;
        self.retried += other.retried;
    }

    #[must_use]
    pub fn since(&self, earlier: &RunTotal) -> RunTotal {
        RunTotal {
            sent: self.sent - earlier.sent,
            completed: self.completed - earlier.completed,
            connections: self.connections - earlier.connections,
            unasked: self.unasked - earlier.unasked,
            retried: self.retried - earlier.retried,
        }
    }
}

impl WorkerAudit {
    /// Takes in the same worker's of another part of the window.
    pub fn add(&mut self, other: &WorkerAudit) {
        self.busy_ns += other.busy_ns;
        self.in_flight_integral_ns += other.in_flight_integral_ns;
        self.overlap_sum_ns += other.overlap_sum_ns;
        self.waited_beside_free += other.waited_beside_free;
        self.waited_beside_free_ns += other.waited_beside_free_ns;
        self.connections_integral_ns += other.connections_integral_ns;
        self.longest_gap_ns = self.longest_gap_ns.max(other.longest_gap_ns);
        self.gaps_over_1ms_sum_ns += other.gaps_over_1ms_sum_ns;
    }
}

impl RequestFigures {
    pub fn add(&mut self, other: &RequestFigures) {
        self.run_sent += other.run_sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.waiting += other.waiting;
        self.read_bytes += other.read_bytes;
        for (status, count) in &other.status {
            *self.status.entry(*status).or_default() += count;
        }
        for (kind, count) in &other.errors {
            *self.errors.entry(*kind).or_default() += count;
        }
        self.response.add(&other.response);
        self.service.add(&other.service);
    }
}
