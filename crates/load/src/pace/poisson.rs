//! A Poisson process from a seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use prony_model::rate::Rate;

const PS_PER_S: f64 = 1e12;

/// The instants of a Poisson process: gaps by inversion, rounded to a picosecond and summed in integers, so that no
/// error grows. ChaCha8's stream is fixed by its specification: a seed means the same instants for ever.
#[derive(Debug, Clone)]
pub struct Poisson {
    random: ChaCha8Rng,
    mean_gap_ps: f64,
    at_ps: u64,
}

impl Poisson {
    pub fn new(rate: Rate, seed: u64) -> Poisson {
        let mean_gap_ps = PS_PER_S / rate.as_per_s();
        Poisson { random: ChaCha8Rng::seed_from_u64(seed), mean_gap_ps, at_ps: 0 }
    }
}

impl Iterator for Poisson {
    type Item = u64;

    /// The next arrival, in nanoseconds after the start; endless within the 213 days that 64 bits of picoseconds hold.
    fn next(&mut self) -> Option<u64> {
        // 53 bits, never 0: a float in (0, 1].
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let gap = (-uniform.ln() * self.mean_gap_ps).round() as u64;
        self.at_ps = self.at_ps.saturating_add(gap);
        Some(self.at_ps / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_s: f64) -> Rate {
        Rate::per_s(per_s).unwrap()
    }

    #[test]
    fn a_seed_means_the_same_instants() {
        let first = |seed| Poisson::new(rate(1000.0), seed).take(100).collect::<Vec<_>>();
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        assert!(first(7).windows(2).all(|pair| pair[0] <= pair[1]));
    }

    /// Anderson and Darling (1954), *A test of goodness of fit*, for a fully
    /// specified distribution: A² exceeds 3.857 with probability 1 %.
    #[test]
    fn gaps_are_exponential_by_anderson_and_darling() {
        let mut rejected = 0;
        for seed in 0..200 {
            let instants: Vec<u64> = Poisson::new(rate(5000.0), seed).take(2_001).collect();
            let mut u: Vec<f64> = instants
                .windows(2)
                .map(|pair| 1.0 - (-((pair[1] - pair[0]) as f64) * 5000.0 / 1e9).exp())
                .collect();
            u.sort_by(f64::total_cmp);
            let n = u.len();
            let sum: f64 = (0..n)
                .map(|i| (2 * i + 1) as f64 * (u[i].max(1e-12).ln() + (1.0 - u[n - 1 - i]).max(1e-12).ln()))
                .sum();
            let a2 = -(n as f64) - sum / n as f64;
            rejected += u32::from(a2 > 3.857);
        }
        // 2 are expected; 9 or more have a probability under 0.1 %.
        assert!(rejected < 9, "{rejected} of 200 at 1 %");
    }

    #[test]
    fn the_rate_is_kept() {
        let n = 1_000_000;
        let last = Poisson::new(rate(20_000.0), 1).take(n).last().unwrap();
        // 50 s ± 4 standard deviations of 1/√n.
        assert!((last as f64 / 50e9 - 1.0).abs() < 4e-3, "{last}");
    }
}
