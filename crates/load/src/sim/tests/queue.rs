//! A queue, computed without a client: constant arrivals over a few connections at a server that is silent for
//! part of each period.

/// Arrivals, connections and the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    pub(super) per_s: u64,
    pub(super) connections: usize,
    /// The server takes nothing in for so long at the beginning of each period,
    pub(super) silent_ns: u64,
    pub(super) period_ns: u64,
    /// and answers so long after it took a request in.
    pub(super) service_ns: u64,
}

/// A request's instants, after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Carried {
    pub(super) due_ns: u64,
    pub(super) sent_ns: u64,
    pub(super) answered_ns: u64,
}

impl Carried {
    pub(super) fn response_ns(self) -> u64 {
        self.answered_ns - self.due_ns
    }
}

impl Queue {
    /// The requests that are due before `end_ns`, first come first served, each on the connection that is free first.
    pub(super) fn carried(&self, end_ns: u64) -> Vec<Carried> {
        let mut free_ns = vec![0; self.connections];
        let due = (0..).map(|k: u64| k * 1_000_000_000 / self.per_s).take_while(|due| *due < end_ns);
        let carry = |due_ns: u64| {
            let free = free_ns.iter_mut().min().expect("there is a connection");
            let sent_ns = due_ns.max(*free);
            let phase = sent_ns % self.period_ns;
            let taken_ns = sent_ns + self.silent_ns.saturating_sub(phase);
            *free = taken_ns + self.service_ns;
            Carried { due_ns, sent_ns, answered_ns: *free }
        };
        due.map(carry).collect()
    }
}

/// The value below or at which a share `q` of the sorted values lies.
pub(super) fn quantile(sorted: &[u64], q: f64) -> u64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[test]
fn with_connections_to_spare_it_is_the_known_distribution() {
    let queue = Queue {
        per_s: 2000,
        connections: 500,
        silent_ns: 200_000_000,
        period_ns: 2_000_000_000,
        service_ns: 2_000_000,
    };
    let carried = queue.carried(10_000_000_000);
    let mut sorted: Vec<u64> = carried.iter().map(|one| one.response_ns()).collect();
    sorted.sort_unstable();
    // A tenth of the requests falls into the silence, one every half a millisecond, and waits 200 ms at most, evenly.
    for (q, response_us) in [(0.5, 2_000), (0.9, 2_000), (0.92, 42_000), (0.95, 102_000), (0.99, 182_000)] {
        assert_eq!(quantile(&sorted, q), response_us * 1_000, "{q}");
    }
}
