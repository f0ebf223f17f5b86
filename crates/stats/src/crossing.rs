//! At what rate a share of requests reaches what is allowed, from counts at several rates. The share grows with the
//! rate: a quasi-Poisson fit of the counts with a log link, `ln share = α + β ln rate` (McCullagh & Nelder 1989,
//! *Generalized Linear Models*, ch. 6 and 9), whose dispersion is Pearson's X² over its degrees of freedom, since
//! requests that share a queue are not independent. The rate's interval is Fieller's (1954, *Some problems in interval
//! estimation*, JRSS B 16), at Student's t.

use crate::student::t_two_sided;
use crate::{CONFIDENCE, real};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    pub rate: f64,
    pub beyond: f64,
    pub of: f64,
}

/// A rate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// Where the fitted share is what is allowed.
    pub rate: f64,
    pub ci95: [f64; 2],
}

/// A fit converges in fewer than ten steps, or there is none: all beyond the limit at one rate alone.
const STEPS_MAX: u32 = 50;

/// Where the share is `allowed`; `None` where the fit does not converge or grow, or the rate is unbounded or outside of
/// those loaded.
pub fn crossing(loads: &[Counted], allowed: f64) -> Option<Crossing> {
    let loads: Vec<&Counted> = loads.iter().filter(|load| load.of > 0.0 && load.rate > 0.0).collect();
    let degrees = real(loads.len()) - 2.0;
    let t = t_two_sided(degrees, CONFIDENCE)?;
    let centre = loads.iter().map(|load| load.rate.ln()).sum::<f64>() / real(loads.len());
    // Iteratively reweighted least squares, from the counts themselves.
    let start = |load: &&Counted| ((load.beyond + 0.5) / load.of).ln();
    let mut fitted: Vec<f64> = loads.iter().map(start).collect();
    let mut line = (f64::NAN, f64::NAN);
    for _ in 0..STEPS_MAX {
        let (mut w, mut wx, mut wxx, mut wz, mut wxz) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (load, share) in loads.iter().zip(&fitted) {
            let (x, expected) = (load.rate.ln() - centre, load.of * share.exp());
            let z = share + (load.beyond - expected) / expected;
            (w, wx, wxx) = (w + expected, wx + expected * x, wxx + expected * x * x);
            (wz, wxz) = (wz + expected * z, wxz + expected * x * z);
        }
        let determinant = w * wxx - wx * wx;
        let slope = (w * wxz - wx * wz) / determinant;
        let level = (wz - slope * wx) / w;
        let moved = (level - line.0).abs() + (slope - line.1).abs();
        line = (level, slope);
        fitted = loads.iter().map(|load| level + slope * (load.rate.ln() - centre)).collect();
        if moved < 1e-9 * (1.0 + slope.abs()) {
            let residual = |(load, share): (&&Counted, &f64)| {
                let expected = load.of * share.exp();
                (load.beyond - expected).powi(2) / expected
            };
            let dispersion = loads.iter().zip(&fitted).map(residual).sum::<f64>() / degrees;
            let [level_var, slope_var, both] = [wxx, w, -wx].map(|part| dispersion * part / determinant);
            // Fieller: the x whose distance from the line is at most t standard errors.
            let (above, t2) = (level - allowed.ln(), t * t);
            let a = slope * slope - t2 * slope_var;
            let b = above * slope - t2 * both;
            let c = above * above - t2 * level_var;
            let half = (b * b - a * c).sqrt();
            let rates = loads.iter().map(|load| load.rate);
            let (lowest, highest) =
                rates.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
            let at = |x: f64| (centre + x).exp();
            let (rate, ci95) = (at(-above / slope), [at((-b - half) / a), at((-b + half) / a)]);
            let is_known = slope > 0.0 && a > 0.0 && (lowest..=highest).contains(&rate);
            return is_known.then_some(Crossing { rate, ci95 });
        }
    }
    None
}
