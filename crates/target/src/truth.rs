//! When answers are due, without clock or socket: by a request's arrival, the seed and, with a capacity, earlier
//! arrivals. So a client that measures something else has measured something else.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Duration;

use crate::config::{Delay, Stall};

pub(crate) struct Truth {
    delay: Delay,
    queue: Option<Queue>,
    random: ChaCha8Rng,
}

impl Truth {
    /// Each `stream` (an event loop's number) draws its own delays from the one seed.
    pub(crate) fn new(delay: Delay, capacity_per_s: Option<f64>, seed: u64, stream: u64) -> Truth {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream);
        Truth { delay, queue: capacity_per_s.map(Queue::new), random }
    }

    /// When the answer to a request that arrived at `arrival_ns` is due. Arrivals are given in their order.
    pub(crate) fn due_ns(&mut self, arrival_ns: u64) -> u64 {
        let served_ns = self.queue.as_mut().map_or(arrival_ns, |queue| queue.departure_ns(arrival_ns));
        served_ns.saturating_add(self.draw_ns())
    }

    fn draw_ns(&mut self) -> u64 {
        match self.delay {
            Delay::None => 0,
            Delay::Fixed(delay) => whole_ns(delay),
            // The share lies in [0, 1), so the logarithm's argument in (0, 1]: at most 36.7 means.
            Delay::Exponential { mean } => (-(1.0 - self.share()).ln() * mean.as_secs_f64() * 1e9) as u64,
            Delay::Bimodal { usual, rare, rare_share } => {
                whole_ns(if self.share() < rare_share { rare } else { usual })
            }
        }
    }

    /// Uniform in [0, 1), of 53 bits.
    fn share(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A single first-come-first-served server with a constant service time: the D of M/D/1.
struct Queue {
    /// Nanoseconds with 32 binary digits after the point: at 30,000/s a rounded service time would be 10 ppm off.
    service: u128,
    /// When the last request departed, in the same unit.
    departed: u128,
}

/// Binary digits after the point of [`Queue`]'s instants.
const FRACTION_BITS: u32 = 32;

impl Queue {
    fn new(capacity_per_s: f64) -> Queue {
        Queue { service: (1e9 / capacity_per_s * (1_u64 << FRACTION_BITS) as f64) as u128, departed: 0 }
    }

    /// Never early: an instant between two nanoseconds becomes the later one.
    fn departure_ns(&mut self, arrival_ns: u64) -> u64 {
        self.departed = self.departed.max(u128::from(arrival_ns) << FRACTION_BITS) + self.service;
        u64::try_from(self.departed.div_ceil(1 << FRACTION_BITS)).unwrap_or(u64::MAX)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Stalls {
    started_ns: u64,
    silence_ns: u64,
    period_ns: u64,
}

impl Stalls {
    pub(crate) fn new(stall: Stall, started_ns: u64) -> Stalls {
        Stalls { started_ns, silence_ns: whole_ns(stall.silence), period_ns: whole_ns(stall.period).max(1) }
    }

    /// The end of the stall that `now_ns` falls in, if it falls in one.
    pub(crate) fn stalled_until_ns(&self, now_ns: u64) -> Option<u64> {
        let into_period_ns = now_ns.saturating_sub(self.started_ns) % self.period_ns;
        (into_period_ns < self.silence_ns).then(|| now_ns - into_period_ns + self.silence_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn random_arrivals_ns(count: usize, mean_gap_ns: u64) -> Vec<u64> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut at_ns = 1_000_000_000;
        (0..count)
            .map(|_| {
                at_ns += random.next_u64() % (2 * mean_gap_ns);
                at_ns
            })
            .collect()
    }

    #[test]
    fn without_delay_answers_are_due_on_arrival() {
        let mut truth = Truth::new(Delay::None, None, 0, 0);
        assert_eq!(truth.due_ns(123), 123);
    }

    #[test]
    fn fixed_delays_are_independent_of_each_other() {
        let mut truth = Truth::new(Delay::Fixed(Duration::from_millis(2)), None, 0, 0);
        assert_eq!([5, 5, 6].map(|at| truth.due_ns(at)), [5 + 2 * MS, 5 + 2 * MS, 6 + 2 * MS]);
    }

    #[test]
    fn exponential_delays_have_their_mean_and_their_median() {
        let mut truth = Truth::new(Delay::Exponential { mean: Duration::from_millis(2) }, None, 7, 0);
        let mut drawn: Vec<u64> = (0..100_000).map(|_| truth.due_ns(0)).collect();
        drawn.sort_unstable();
        let mean_ns = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        // The mean's standard error is 2 ms / √100,000 = 6.3 µs; the seed is fixed, so this never flickers.
        assert!((mean_ns - 2e6).abs() < 30e3, "{mean_ns}");
        assert!((drawn[50_000] as f64 - 2e6 * 2_f64.ln()).abs() < 30e3, "{}", drawn[50_000]);
        assert!((drawn[99_000] as f64 - 2e6 * 100_f64.ln()).abs() < 300e3, "{}", drawn[99_000]);
    }

    #[test]
    fn bimodal_delays_keep_their_share() {
        let delay = "bimodal:3ms,23ms,0.1".parse().unwrap();
        let mut truth = Truth::new(delay, None, 3, 0);
        let drawn: Vec<u64> = (0..10_000).map(|_| truth.due_ns(0)).collect();
        let rare = drawn.iter().filter(|&&d| d == 23 * MS).count();
        assert!((850..1150).contains(&rare), "{rare}");
        assert_eq!(drawn.iter().filter(|&&d| d == 3 * MS).count(), 10_000 - rare);
    }

    #[test]
    fn a_seed_means_the_same_delays_and_threads_draw_their_own() {
        let draw = |seed, stream| {
            let mut truth = Truth::new("exp:1ms".parse().unwrap(), None, seed, stream);
            [0; 8].map(|at| truth.due_ns(at))
        };
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(2, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
    }

    #[test]
    fn capacity_is_a_queue_served_first_come_first_served() {
        let mut truth = Truth::new(Delay::None, Some(1000.0), 0, 0);
        // Two together, one while they are served, one after an idle time.
        let due = [10 * MS, 10 * MS, 11 * MS, 50 * MS].map(|at| truth.due_ns(at));
        assert_eq!(due, [11 * MS, 12 * MS, 13 * MS, 51 * MS]);
        let mut delayed = Truth::new(Delay::Fixed(Duration::from_millis(5)), Some(1000.0), 0, 0);
        let due = [10 * MS, 10 * MS].map(|at| delayed.due_ns(at));
        assert_eq!(due, [16 * MS, 17 * MS], "the delay comes after the queue and doesn't occupy it");
    }

    #[test]
    fn capacity_does_not_drift_by_rounding() {
        let mut truth = Truth::new(Delay::None, Some(30_000.0), 0, 0);
        let last_ns = (0..3_000_000).map(|_| truth.due_ns(0)).last().unwrap();
        assert!(last_ns.abs_diff(100_000_000_000) <= 2, "{last_ns}");
    }

    #[test]
    fn capacity_obeys_its_definition_on_random_arrivals() {
        for mean_gap_ns in [50_000, 100_000, 200_000] {
            let mut truth = Truth::new(Delay::None, Some(10_000.0), 0, 0);
            let mut departed_ns = 0;
            for arrival_ns in random_arrivals_ns(5000, mean_gap_ns) {
                departed_ns = departed_ns.max(arrival_ns) + 100_000;
                assert!(truth.due_ns(arrival_ns).abs_diff(departed_ns) <= 1);
            }
        }
    }

    #[test]
    fn stalls_are_the_first_part_of_each_period() {
        let stalls = Stalls::new("200ms/2s".parse().unwrap(), 7 * MS);
        let cases = [
            (7, Some(207)),
            (206, Some(207)),
            (207, None),
            (2006, None),
            (2007, Some(2207)),
            (2206, Some(2207)),
            (2207, None),
            (20_007, Some(20_207)),
        ];
        for (now_ms, until_ms) in cases {
            let until_ns: Option<u64> = until_ms.map(|ms: u64| ms * MS);
            assert_eq!(stalls.stalled_until_ns(now_ms * MS), until_ns, "{now_ms} ms");
        }
    }

    #[test]
    fn stalls_take_their_share_of_time_and_none_follows_directly() {
        let stalls = Stalls::new("3ms/10ms".parse().unwrap(), 1_000_000_000);
        let mut stalled = 0;
        for at_ns in random_arrivals_ns(20_000, 777_777) {
            if let Some(until_ns) = stalls.stalled_until_ns(at_ns) {
                stalled += 1;
                assert!(until_ns > at_ns && until_ns - at_ns <= 3 * MS);
                assert_eq!(stalls.stalled_until_ns(until_ns), None);
            }
        }
        assert!((5600..6400).contains(&stalled), "{stalled}");
    }
}
