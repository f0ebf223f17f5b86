//! Student's t and the normal distribution: quantiles and two-sided p-values.

use std::cell::RefCell;
use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc_inv;

/// The value that Student's t stays below with `probability`; `None` unless `degrees` > 0 and 0 < `probability` < 1.
/// Source: Student (1908), *The probable error of a mean*, Biometrika 6(1). Degrees may be fractional: effective sample
/// sizes are.
pub fn t_quantile(degrees: f64, probability: f64) -> Option<f64> {
    if !(probability > 0.0 && probability < 1.0) {
        return None;
    }
    if degrees > EXPANSION_FROM {
        return Some(expansion(degrees, normal_quantile(probability)));
    }
    memo([degrees, probability, f64::NAN, f64::NAN], || {
        let t = StudentsT::new(0.0, 1.0, degrees).ok()?;
        Some(t.inverse_cdf(probability)).filter(|q| q.is_finite())
    })
}

/// What this thread has computed before, or does now: inversions take microseconds, and a ranking asks for one per
/// pair.
pub(crate) fn memo(of: [f64; 4], compute: impl FnOnce() -> Option<f64>) -> Option<f64> {
    const MOST: usize = 10_000;
    thread_local!(static KNOWN: RefCell<HashMap<[u64; 4], Option<f64>>> = RefCell::default());
    let key = of.map(f64::to_bits);
    KNOWN.with_borrow(|known| known.get(&key).copied()).unwrap_or_else(|| {
        let value = compute();
        KNOWN.with_borrow_mut(|known| {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(key, value);
        });
        value
    })
}

/// Beyond it t lies with a chance of `error`, both sides together. By the lower tail, whose digits 1 − error/2 lacks.
/// `None` under 10⁻¹⁰⁰, about which the inversion has no value.
pub fn t_error(degrees: f64, error: f64) -> Option<f64> {
    let error = Some(error).filter(|error| *error >= 1e-100)?;
    t_quantile(degrees, error / 2.0).map(|t| -t)
}

/// Above it the inversion of the beta function loses digits (at a million, all but four); the expansion has ten.
const EXPANSION_FROM: f64 = 200.0;

/// t from the normal quantile z and degrees ν: Abramowitz & Stegun (1964), 26.7.5.
fn expansion(degrees: f64, z: f64) -> f64 {
    let v = degrees;
    let g1 = (z.powi(3) + z) / 4.0;
    let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + g1 / v + g2 / v.powi(2) + g3 / v.powi(3)
}

/// The value that the standard normal stays below with `probability`, between 0 and 1.
fn normal_quantile(probability: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * probability)
}

/// The factor of a two-sided interval: `t_quantile(degrees, (1 + confidence) / 2)`.
pub fn t_two_sided(degrees: f64, confidence: f64) -> Option<f64> {
    t_quantile(degrees, f64::midpoint(1.0, confidence))
}

/// How probable a value as far from 0 is, on either side: `I(df/(df+t²); df/2, 1/2)`, the regularised incomplete beta
/// function, precise far out in the tail. Source: Abramowitz & Stegun (1964), 26.7.1 with 26.5.27. `None` unless
/// `degrees` > 0 and `t` is a number.
pub fn t_p_value(t: f64, degrees: f64) -> Option<f64> {
    if t.is_nan() || !(degrees > 0.0 && degrees.is_finite()) {
        return None;
    }
    if t.is_infinite() {
        return Some(0.0);
    }
    Some(beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t)))
}

/// 1.96 at 95 %. `confidence` must lie between 0 and 1.
pub fn normal_two_sided(confidence: f64) -> f64 {
    normal_quantile(f64::midpoint(1.0, confidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, *Critical
    /// Values of the Student's t Distribution*: (degrees, 0.95, 0.975, 0.995).
    const NIST: [(f64, f64, f64, f64); 11] = [
        (1.0, 6.314, 12.706, 63.657),
        (2.0, 2.920, 4.303, 9.925),
        (3.0, 2.353, 3.182, 5.841),
        (4.0, 2.132, 2.776, 4.604),
        (5.0, 2.015, 2.571, 4.032),
        (9.0, 1.833, 2.262, 3.250),
        (10.0, 1.812, 2.228, 3.169),
        (14.0, 1.761, 2.145, 2.977),
        (19.0, 1.729, 2.093, 2.861),
        (30.0, 1.697, 2.042, 2.750),
        (100.0, 1.660, 1.984, 2.626),
    ];

    #[test]
    fn quantiles_are_those_of_nists_table() {
        for (degrees, p95, p975, p995) in NIST {
            for (probability, printed) in [(0.95, p95), (0.975, p975), (0.995, p995)] {
                let ours = t_quantile(degrees, probability).unwrap();
                assert!(
                    (ours - printed).abs() < 0.000_6,
                    "df {degrees}, {probability}: {ours}, printed {printed}"
                );
            }
        }
    }

    #[test]
    fn factors_are_those_of_abramowitz_and_stegun() {
        // Φ⁻¹(0.975), Abramowitz & Stegun, table 26.5.
        assert!((normal_two_sided(0.95) - 1.959_963_985).abs() < 1e-8);
        assert!((normal_two_sided(0.93) - 1.811_910_673).abs() < 1e-8);
        assert!((t_two_sided(1e6, 0.95).unwrap() - 1.959_966_4).abs() < 1e-6);
        assert!((t_quantile(1000.0, 0.025).unwrap() + 1.962_339_1).abs() < 1e-6);
    }

    #[test]
    fn the_expansion_continues_the_inversion_without_a_step() {
        for probability in [0.5, 0.9, 0.975, 0.995, 0.01] {
            let (below, above) = (t_quantile(200.0, probability), t_quantile(200.000_001, probability));
            assert!((below.unwrap() - above.unwrap()).abs() < 1e-6, "{probability}: {below:?} {above:?}");
        }
    }

    #[test]
    fn impossible_arguments_have_no_quantile_and_no_p_value() {
        for (degrees, probability) in
            [(0.0, 0.5), (-1.0, 0.5), (5.0, 0.0), (5.0, 1.0), (5.0, f64::NAN), (f64::NAN, 0.5)]
        {
            assert_eq!(t_quantile(degrees, probability), None, "{degrees} {probability}");
        }
        assert_eq!(t_p_value(f64::NAN, 3.0), None);
        assert_eq!(t_p_value(1.0, 0.0), None);
        assert_eq!(t_p_value(f64::INFINITY, 3.0), Some(0.0));
    }

    proptest! {
        #[test]
        fn the_p_value_inverts_the_quantile(degrees in 1.0f64..200.0, confidence in 0.01f64..0.999) {
            let t = t_two_sided(degrees, confidence).unwrap();
            prop_assert!((t_p_value(t, degrees).unwrap() - (1.0 - confidence)).abs() < 1e-6);
            prop_assert_eq!(t_p_value(-t, degrees), t_p_value(t, degrees));
        }
    }
}
