//! Means of what is measured in a row, where neighbours resemble each other:
//! batch means, effective sample sizes, design effects.

use crate::interval::{Interval, mean, variance};
use crate::real;
use crate::student::t_two_sided;

/// Fewer batches than this have no interval: Student's t at under four
/// degrees of freedom is wider than the figure is worth.
pub const BATCHES_MIN: usize = 5;

/// With fewer values than this their autocorrelation is not estimated: its
/// standard error is 1/√n, a third, and the correction would be noise.
const LAG1_VALUES_MIN: usize = 10;

/// Batches that resemble their neighbours more than this are taken to
/// resemble them only so much: beyond it, the correction has no end.
const LAG1_MAX: f64 = 0.8;

/// The mean of contiguous batches of equal length with its t interval,
/// widened for what is left of the dependence between neighbours.
/// `None` below [`BATCHES_MIN`] batches, or when one is not finite.
///
/// Source: Law (2015), *Simulation Modeling and Analysis*, 9.5.3 (batch
/// means). The rest: B batches whose lag-1 autocorrelation is ρ weigh as
/// `B(1−ρ)/(1+ρ)` independent ones (Zwiers & von Storch (1995), *Taking serial
/// correlation into account in tests of the mean*, J. Climate 8), with ρ
/// corrected for its bias at small B (Marriott & Pope (1954), Biometrika 41)
/// and never taken to be negative, so that the interval only widens.
pub fn batch_interval(batches: &[f64], confidence: f64) -> Option<Interval> {
    batch_interval_with(batches, Remembered::default(), confidence)
}

/// What is known of batches' dependence from elsewhere than from themselves: from far shorter steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remembered {
    /// What is left of their resemblance from one batch to the next ([`crate::memory::Memory::decay`]).
    pub decay: f64,
    /// By how much the variance of their mean exceeds that of independent ones ([`crate::memory::Memory::inflation`]),
    /// where it was told from steps of the same figure; else 1.
    pub inflation: f64,
}

impl Default for Remembered {
    /// Nothing is.
    fn default() -> Remembered {
        Remembered { decay: 0.0, inflation: 1.0 }
    }
}

/// [`batch_interval`] where something is known of the dependence from elsewhere.
///
/// Where resemblance falls by `decay` only from one batch to the next, B batches weigh as `B / (1 + 2ρ/(1−decay))`, if that
/// is less: a lag-1 autocorrelation alone says too little of it where batches have noise of their own, which lowers ρ and
/// not the decay. Source of the sum: as [`crate::memory::Memory::inflation`]. Where the steps say more of the same figure's
/// own dependence than its batches do, the middle of both counts: both are estimates, and neither is sure.
pub fn batch_interval_with(batches: &[f64], known: Remembered, confidence: f64) -> Option<Interval> {
    let n = batches.len();
    if n < BATCHES_MIN {
        return None;
    }
    let point = mean(batches)?;
    let remembered = real(n) / (1.0 + 2.0 * neighbours(batches)? / (1.0 - known.decay).max(1e-3));
    let grown = real(n) / effective_size(batches)?.min(remembered);
    let grown = grown.max(f64::midpoint(grown, known.inflation));
    let effective = (real(n) / grown).max(2.0);
    let half = t_two_sided(effective - 1.0, confidence)? * (variance(batches)? / effective).sqrt();
    Some(Interval { point, low: point - half, high: point + half, n })
}

/// How many independent values these weigh as, by their lag-1
/// autocorrelation; at most as many as they are, and just as many below ten,
/// from which it cannot be told. `None` below [`BATCHES_MIN`] values, or when
/// one is not finite.
pub fn effective_size(values: &[f64]) -> Option<f64> {
    let n = real(values.len());
    if values.len() < BATCHES_MIN {
        return None;
    }
    let rho = neighbours(values)?;
    Some(n * (1.0 - rho) / (1.0 + rho))
}

/// By what neighbours correlate: the lag-1 autocorrelation, corrected for its bias, from 0 to [`LAG1_MAX`]; 0 below
/// ten values, which do not say.
fn neighbours(values: &[f64]) -> Option<f64> {
    let n = real(values.len());
    let raw = lag1_autocorrelation(values)?;
    if values.len() < LAG1_VALUES_MIN {
        return Some(0.0);
    }
    Some(((n * raw + 1.0) / (n - 4.0)).clamp(0.0, LAG1_MAX))
}

/// The autocorrelation of neighbours, `Σ(xᵢ−x̄)(xᵢ₊₁−x̄) / Σ(xᵢ−x̄)²`; 0 when
/// all are equal. `None` below two values, or when one is not finite.
///
/// Source: Box & Jenkins (1970), *Time Series Analysis*, 2.1.
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let total = variance(values)? * (real(values.len()) - 1.0);
    if total <= 0.0 {
        return Some(0.0);
    }
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    Some(neighbours / total)
}

/// By how much a share is less certain than its count says, because hits
/// come in clusters (requests of one second share its queue and its pauses):
/// the variance of the ratio over clusters, over the binomial one. 1 where
/// they are independent. `None` below three clusters with anything in them,
/// or when all or none are hits.
///
/// Clusters are (size, hits). n divided by it is the effective n of a
/// quantile whose share of values below is the share of hits.
///
/// Source: Kish (1965), *Survey Sampling*, 8.2 (deff); Cochran (1977),
/// *Sampling Techniques*, 3.12 (the variance of a ratio over clusters).
#[expect(clippy::cast_precision_loss, reason = "counts of samples, far below 2^53")]
pub fn design_effect(clusters: &[(u64, u64)]) -> Option<f64> {
    let filled: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|(size, _)| *size > 0)
        .map(|(size, hits)| (*size as f64, *hits as f64))
        .collect();
    let count = real(filled.len());
    let size: f64 = filled.iter().map(|c| c.0).sum();
    let hits: f64 = filled.iter().map(|c| c.1).sum();
    if filled.len() < 3 || hits <= 0.0 || hits >= size {
        return None;
    }
    let share = hits / size;
    let residuals: f64 = filled.iter().map(|(size, hits)| (hits - share * size).powi(2)).sum();
    let over_clusters = residuals * count / (count - 1.0) / (size * size);
    Some(over_clusters / (share * (1.0 - share) / size))
}

/// With fewer clusters than this their autocorrelation is not estimated: its
/// standard error is over 0.22, and correcting ten clusters for it makes intervals of
/// independent ones a third too wide in the median (docs/decisions/0009).
const CLUSTERS_CORRECTED_FROM: usize = 20;

/// Then they weigh as this much of what they are: a little resemblance is more
/// likely than none, and this is what the coverage table leaves room for.
const UNTESTED_SHARE: f64 = 0.95;

/// How many independent clusters these weigh as, because neighbours resemble
/// each other: `C(1−ρ)/(1+ρ)` with the lag-1 autocorrelation ρ of what each has
/// above its share of the hits, corrected for its bias, from 0 to 0.8; 0.95 C below
/// twenty. `None` below three clusters with anything in them.
///
/// Clusters are (size, hits), in their order. Source: as [`batch_interval`].
#[expect(clippy::cast_precision_loss, reason = "counts of samples, far below 2^53")]
pub fn effective_clusters(clusters: &[(u64, u64)]) -> Option<f64> {
    let filled: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|(size, _)| *size > 0)
        .map(|(size, hits)| (*size as f64, *hits as f64))
        .collect();
    if filled.len() < 3 {
        return None;
    }
    let count = real(filled.len());
    let share = filled.iter().map(|c| c.1).sum::<f64>() / filled.iter().map(|c| c.0).sum::<f64>();
    let residuals: Vec<f64> = filled.iter().map(|(size, hits)| hits - share * size).collect();
    if filled.len() < CLUSTERS_CORRECTED_FROM {
        return Some(UNTESTED_SHARE * count);
    }
    let raw = lag1_autocorrelation(&residuals)?;
    let rho = ((count * raw + 1.0) / (count - 4.0)).clamp(0.0, LAG1_MAX);
    Some((count * (1.0 - rho) / (1.0 + rho)).max(2.0))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SplitMix64 (Steele, Lea & Flood 2014): a stream that a seed fixes.
    pub(crate) struct Stream(pub(crate) u64);

    impl Stream {
        pub(crate) fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        /// Standard normal, by Box & Muller (1958).
        pub(crate) fn normal(&mut self) -> f64 {
            let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
            radius * (std::f64::consts::TAU * self.uniform()).cos()
        }

        /// Values whose neighbours correlate by `phi`, about 100.
        pub(crate) fn chain(&mut self, phi: f64, length: usize) -> Vec<f64> {
            let mut x = self.normal();
            (0..length)
                .map(|_| {
                    x = phi * x + (1.0 - phi * phi).sqrt() * self.normal();
                    100.0 + x
                })
                .collect()
        }
    }

    fn coverage(phi: f64, interval: impl Fn(&[f64]) -> Option<Interval>) -> f64 {
        let mut stream = Stream(7);
        let covered = (0..4000).filter(|_| {
            let i = interval(&stream.chain(phi, 20)).unwrap();
            i.low <= 100.0 && 100.0 <= i.high
        });
        covered.count() as f64 / 4000.0
    }

    #[test]
    fn twenty_batches_cover_the_truth() {
        // 20 batches: independent, and with what dependence batches of 500 ms keep.
        for (phi, least) in [(0.0, 0.94), (0.2, 0.93), (0.4, 0.90)] {
            let covered = coverage(phi, |b| batch_interval(b, 0.95));
            assert!(covered >= least, "phi {phi}: {covered}");
            let plain = coverage(phi, |b| crate::interval::mean_interval(b, 0.95));
            assert!(plain <= covered, "the correction only widens");
        }
        let plain = coverage(0.4, |b| crate::interval::mean_interval(b, 0.95));
        assert!(plain < 0.88, "without it, {plain} would be covered");
    }

    #[test]
    fn equal_batches_are_certain() {
        let i = batch_interval(&[5.0; 20], 0.95).unwrap();
        assert_eq!((i.point, i.low, i.high, i.n), (5.0, 5.0, 5.0, 20));
        assert_eq!(batch_interval(&[5.0; 4], 0.95), None);
        assert_eq!(batch_interval(&[1.0, 2.0, 3.0, 4.0, f64::INFINITY], 0.95), None);
    }

    #[test]
    fn what_steps_know_of_batches_counts_by_half_and_only_widens() {
        // Neighbours of opposite signs: nothing to correct by themselves, s = √(16/15).
        let batches: Vec<f64> = (0..16).map(|i| if i % 2 == 0 { 9.0 } else { 11.0 }).collect();
        let half = |inflation| {
            let known = Remembered { decay: 0.0, inflation };
            let i = batch_interval_with(&batches, known, 0.95).unwrap();
            (i.high - i.low) / 2.0
        };
        let s = (16.0f64 / 15.0).sqrt();
        // t(0.975; 15) and t(0.975; 7): an inflation of 3 leaves 16/((1 + 3)/2) = 8 of 16.
        assert!((half(1.0) - 2.131_450 * s / 4.0).abs() < 1e-5, "{}", half(1.0));
        assert!((half(3.0) - 2.364_624 * s / 8.0f64.sqrt()).abs() < 1e-5, "{}", half(3.0));
        assert_eq!(half(0.5), half(1.0));
    }

    #[test]
    fn lag1_by_hand() {
        // 1 2 3 4: deviations −1.5 −0.5 0.5 1.5; (0.75 − 0.25 + 0.75) / 5.
        assert!((lag1_autocorrelation(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(lag1_autocorrelation(&[3.0, 3.0]), Some(0.0));
    }

    #[test]
    fn whole_clusters_of_hits_weigh_as_one_each() {
        // Four clusters of 100, all hits or none: the share is known from 4 values, not 400
        // (and its variance with denominator 3 instead of 4).
        let deff = design_effect(&[(100, 100), (100, 0), (100, 100), (100, 0)]).unwrap();
        assert!((deff - 100.0 * 4.0 / 3.0).abs() < 1e-9, "{deff}");
        assert_eq!(design_effect(&[(100, 50), (100, 50)]), None);
        assert_eq!(design_effect(&[(100, 100), (100, 100), (100, 100)]), None);
        assert_eq!(design_effect(&[(0, 0), (10, 5), (10, 5)]), None);
    }

    #[test]
    fn clusters_in_a_chain_weigh_less() {
        assert_eq!(effective_clusters(&[(10, 5), (10, 5)]), None);
        // All equal: ρ = 1/16 by its bias' correction.
        assert!((effective_clusters(&[(10, 5); 20]).unwrap() - 20.0 * 15.0 / 17.0).abs() < 1e-9);
        let halves = |n: u64| (0..n).map(|i| (10, if i < n / 2 { 2 } else { 8 })).collect::<Vec<_>>();
        assert_eq!(effective_clusters(&halves(10)), Some(9.5), "ten do not say");
        let alternating: Vec<(u64, u64)> = (0..20).map(|i| (10, 10 * (i % 2))).collect();
        assert_eq!(effective_clusters(&alternating), Some(20.0), "never more than there are");
        // Lag 1 of 15 low and 15 high is (14 + 14 − 1)/30 = 0.9, taken as 0.8.
        assert!((effective_clusters(&halves(30)).unwrap() - 30.0 * 0.2 / 1.8).abs() < 1e-9);
        // 0 0 1 1 0 0 1 1 …, of 24: (12 − 11)/24 = 1/24, corrected (24/24 + 1)/20 = 0.1.
        let pairs: Vec<(u64, u64)> = (0..24).map(|i| (10, 10 * (i / 2 % 2))).collect();
        assert!((effective_clusters(&pairs).unwrap() - 24.0 * 0.9 / 1.1).abs() < 1e-9);
    }

    #[test]
    fn independent_hits_have_no_design_effect() {
        let mut stream = Stream(3);
        let sum: f64 = (0..200)
            .map(|_| {
                let clusters: Vec<_> = (0..10)
                    .map(|_| (500, (0..500).filter(|_| stream.uniform() < 0.9).count() as u64))
                    .collect();
                design_effect(&clusters).unwrap()
            })
            .sum();
        assert!((0.9..1.1).contains(&(sum / 200.0)), "{}", sum / 200.0);
    }

    proptest! {
        #[test]
        fn never_more_effective_values_than_values(values in prop::collection::vec(-10.0f64..10.0, 5..60)) {
            let effective = effective_size(&values).unwrap();
            prop_assert!(effective > 0.0 && effective <= values.len() as f64);
        }
    }
}
