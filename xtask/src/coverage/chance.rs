//! Random numbers of a seed, for processes.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub(crate) struct Chance {
    stream: ChaCha8Rng,
    spare: Option<f64>,
}

impl Chance {
    pub(crate) fn of(process: u64, run: u64) -> Chance {
        let mut stream = ChaCha8Rng::seed_from_u64(process);
        stream.set_stream(run);
        Chance { stream, spare: None }
    }

    /// From 0 to 1, without 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// Standard normal: Box & Muller (1958), both of each pair.
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (2.0 * self.exponential()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }
}
