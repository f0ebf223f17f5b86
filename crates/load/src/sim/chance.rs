//! Numbers by chance from a seed, the same for ever.

/// SplitMix64: Steele, Lea and Flood (2014), *Fast splittable pseudorandom number generators*, OOPSLA, figure 17: no
/// release of a dependency changes it, so that a seed in an old failure still shows it.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both possible. (The bias of a remainder is of no matter here.)
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high.max(low) - low + 1)
    }

    pub(super) fn size(&mut self, low: usize, high: usize) -> usize {
        self.between(low as u64, high as u64) as usize
    }

    /// Each power of two between the bounds as likely as the others.
    pub(super) fn scale(&mut self, low: u64, high: u64) -> u64 {
        let bits = self.between(u64::from(low.max(1).ilog2()), u64::from(high.max(1).ilog2()));
        self.between(1 << bits, (2 << bits) - 1).clamp(low, high)
    }

    pub(super) fn per_mille(&mut self, often: u32) -> bool {
        // No draw for "never": a world without a fault is the same whether it knows of the fault or not.
        often > 0 && self.next() % 1000 < u64::from(often)
    }

    /// One of the table's, each as often as its weight says.
    pub(super) fn pick<T: Copy>(&mut self, table: &[(T, u32)]) -> T {
        let sum: u64 = table.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut at = self.next() % sum;
        for (item, weight) in table {
            if at < u64::from(*weight) {
                return *item;
            }
            at -= u64::from(*weight);
        }
        unreachable!("the weights add up to {sum}")
    }
}
