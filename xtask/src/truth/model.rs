//! What theory says: a queue behind a stall, request by request, and M/M/c.

/// Constant arrivals over a few connections at a server that is silent for part of each period.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) per_s: u64,
    pub(crate) connections: usize,
    /// The server takes nothing in for so long at the beginning of each period,
    pub(crate) silent_ns: u64,
    pub(crate) period_ns: u64,
    /// and answers so long after it took a request in.
    pub(crate) service_ns: u64,
}

impl Queue {
    /// One period before them left out: first come first served, each request on the connection that is free first.
    pub(crate) fn response_ns(&self, periods: u64, q: f64) -> u64 {
        let mut free_ns = vec![0_u64; self.connections];
        let per_period = self.per_s * self.period_ns / 1_000_000_000;
        let mut responses = Vec::new();
        for k in 0..per_period * (periods + 1) {
            let due_ns = k * 1_000_000_000 / self.per_s;
            let Some(free) = free_ns.iter_mut().min() else { return 0 };
            let sent_ns = due_ns.max(*free);
            *free = sent_ns + self.silent_ns.saturating_sub(sent_ns % self.period_ns) + self.service_ns;
            if k >= per_period {
                responses.push(*free - due_ns);
            }
        }
        responses.sort_unstable();
        let rank = (q * responses.len() as f64).ceil() as usize;
        responses.get(rank.clamp(1, responses.len().max(1)) - 1).copied().unwrap_or(0)
    }
}

/// M/M/c (Kleinrock, *Queueing Systems*, volume 1, 1975, section 3.5).
#[derive(Debug, Clone, Copy)]
pub(crate) struct MultiServer {
    pub(crate) servers: u32,
    /// By all of them, when none is ever idle.
    pub(crate) served_per_s: f64,
}

impl MultiServer {
    /// Erlang's C: the share of requests that wait.
    fn waiting(&self, rate_per_s: f64) -> f64 {
        let servers = f64::from(self.servers);
        let offered = rate_per_s / self.served_per_s * servers;
        // Erlang's B by its recursion, and C from it.
        let blocked = (1..=self.servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
        servers * blocked / (servers - offered * (1.0 - blocked))
    }

    /// The share of responses that take longer: the service alone, or after an exponential wait.
    fn longer(&self, rate_per_s: f64, seconds: f64) -> f64 {
        let served = self.served_per_s / f64::from(self.servers);
        let spare = self.served_per_s - rate_per_s;
        let both = (spare * (-served * seconds).exp() - served * (-spare * seconds).exp()) / (spare - served);
        let waiting = self.waiting(rate_per_s);
        (1.0 - waiting) * (-served * seconds).exp() + waiting * both
    }

    /// The rate at which this quantile of response is so many seconds, by bisection.
    pub(crate) fn rate_with(&self, quantile: f64, seconds: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.served_per_s);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.longer(middle, seconds) > 1.0 - quantile { high = middle } else { low = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_spare_connections_a_stall_delays_only_its_own_requests() {
        let queue = Queue {
            per_s: 2000,
            connections: 500,
            silent_ns: 200_000_000,
            period_ns: 2_000_000_000,
            service_ns: 2_000_000,
        };
        for (q, response_us) in [(0.5, 2_000), (0.9, 2_000), (0.92, 42_000), (0.95, 102_000), (0.99, 182_000)]
        {
            assert_eq!(queue.response_ns(5, q), response_us * 1_000, "{q}");
        }
        // Over ten, those due after it wait for those due in it.
        assert!(Queue { connections: 10, ..queue }.response_ns(3, 0.85) > 2_000_000);
    }

    #[test]
    fn a_single_server_is_the_m_m_1_of_the_books() {
        // Its response is exponential with mean 1 / (μ − λ): the 90th percentile is 20 ms at μ − λ = ln 10 / 20 ms.
        let one = MultiServer { servers: 1, served_per_s: 1000.0 };
        let truth = 1000.0 - 10_f64.ln() / 0.020;
        assert!((one.rate_with(0.9, 0.020) - truth).abs() < 1e-6, "{}", one.rate_with(0.9, 0.020));
    }

    #[test]
    fn several_servers_have_the_rates_of_theory() {
        let four = MultiServer { servers: 4, served_per_s: 800.0 };
        assert!((four.rate_with(0.9, 0.020) - 653.0).abs() < 1.0);
        let eight = MultiServer { servers: 8, served_per_s: 3872.0 };
        assert!((eight.rate_with(0.99, 0.020) - 3616.0).abs() < 1.0);
    }
}
