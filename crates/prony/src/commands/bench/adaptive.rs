//! `--precision`: blocks until it is reached; and what `--dry-run` forecasts of it.

use std::path::Path;

use prony_analysis::claim::{Claim, Quantity, Relation};
use prony_analysis::figure::Figure;
use prony_analysis::look::Level;
use prony_analysis::precision::{NOISE_ASSUMED, SequentialStop, blocks_for, expected, ratio_spread};
use prony_analysis::ranking::planning;
use prony_lab::bench::Forecast;
use prony_lab::experiment::{Blocks, Experiment};
use prony_model::run_log::RunLog;
use prony_model::units::parse_precision;
use prony_report::format;

use crate::cli::BenchArguments;
use crate::failure::Failure;

/// Gives an experiment the command line's precision, and blocks that go with it: `--blocks` is then the most.
pub(super) fn adapt(experiment: &mut Experiment, arguments: &BenchArguments) -> Result<(), Failure> {
    if let Some(text) = &arguments.precision {
        experiment.precision = Some(parse_precision(text)?);
    }
    if experiment.precision.is_none() {
        return Ok(());
    }
    let Blocks { min, max } = experiment.blocks;
    experiment.blocks = match arguments.blocks {
        Some(most) if arguments.precision.is_some() && most <= Blocks::ADAPTIVE.min => {
            return Err(Failure::usage(format!(
                "--blocks {most} is too few for --precision, which runs at least {}: give more blocks, or leave --blocks \
                 out.",
                Blocks::ADAPTIVE.min
            )));
        }
        Some(most) => Blocks { min: min.min(Blocks::ADAPTIVE.min), max: most },
        None if min < max => Blocks { min, max },
        None if arguments.precision.is_some() => {
            Blocks { min: Blocks::ADAPTIVE.min, max: max.max(Blocks::ADAPTIVE.max) }
        }
        None => experiment.blocks,
    };
    experiment.blocks.min = experiment.blocks.min.max(Blocks::ADAPTIVE.min).min(experiment.blocks.max);
    if experiment.blocks.min == experiment.blocks.max {
        // A scale's few blocks: all of them run, and nothing is looked at before.
        experiment.precision = None;
    }
    Ok(())
}

pub(super) fn as_before(
    experiment: &mut Experiment,
    arguments: &BenchArguments,
    log: &RunLog,
) -> Result<(), Failure> {
    let before = log.header.precision;
    if let Some(text) = &arguments.precision
        && before.map(|p| p.share) != Some(parse_precision(text)?)
    {
        return Err(Failure::usage(
            "--precision cannot be used with --resume, unless it is the one that the run was begun with: \
             leave it out, or begin a new run.",
        ));
    }
    let max = arguments.blocks.unwrap_or(0).max(log.header.blocks);
    experiment.blocks = Blocks { min: before.map_or(max, |p| p.blocks_min), max };
    experiment.precision = before.map(|p| p.share);
    Ok(())
}

/// How precise the run will be, by the noise of an earlier run (`--noise-of`) or an assumed one.
pub(super) fn forecast(
    experiment: &Experiment,
    forecast: &Forecast,
    arguments: &BenchArguments,
) -> Result<String, Failure> {
    let (spread, noise) = spread(arguments)?;
    let blocks = forecast.blocks_in_budget;
    let widened = experiment.precision.is_some();
    let after = |blocks: u32| {
        let half = expected(spread, blocks, widened);
        let half = half.map_or("no interval".to_owned(), |half| format!("±{}", format::percent(half)));
        format!("{half} after {}", format::count(blocks.into(), "block", "blocks"))
    };
    let Some(wanted) = experiment.precision else {
        let claims = claims(experiment, expected(spread, blocks, widened));
        let finds = planning(blocks, spread, experiment.candidates.len(), Level::look(1));
        let finds = prony_report::planning(&finds);
        return Ok(format!(
            "precision  of throughput ratios: {} · {noise}\nfinds      {finds}{claims}",
            after(blocks)
        ));
    };
    let needs = match blocks_for(spread, wanted).map(|n| n.max(experiment.blocks.min)) {
        Some(needed) if needed <= blocks => {
            let time = super::forecast::shown(forecast.block.saturating_mul(needed));
            format!("about {needed} of {blocks} blocks, {time}")
        }
        Some(needed) => {
            format!("about {needed} blocks are needed and {blocks} allowed: {}", after(blocks))
        }
        None => format!("not reached with a thousand blocks: {}", after(blocks)),
    };
    Ok(format!("precision  ±{} requested: {needs} · {noise}", format::percent(wanted)))
}

/// What such a precision of throughput ratios can decide of the source's claims, and of which it says nothing.
fn claims(experiment: &Experiment, half: Option<f64>) -> String {
    let all = experiment.published.iter().flat_map(|published| &published.conclusions);
    let (mut margins, mut others) = (Vec::new(), Vec::new());
    for claim in all.filter_map(|conclusion| Claim::parse(&conclusion.claim).ok()) {
        let Claim::Compared { left, relation, within, .. } = claim else { continue };
        if left.quantity != Quantity::Trial(Figure::THROUGHPUT) {
            others.push(left.quantity.name());
        } else if relation == Relation::Equivalent {
            margins.push(within.unwrap_or(Figure::THROUGHPUT.smallest_difference));
        }
    }
    margins.sort_by(f64::total_cmp);
    let equal = margins.chunk_by(|a, b| a == b).map(|alike| {
        let within = alike[0];
        let decided = match half.map(|half| within - half).filter(|room| *room > 0.0) {
            None => "cannot be shown with so few blocks".to_owned(),
            Some(room) => format!("can be shown where the two differ by less than {}", format::percent(room)),
        };
        let claims = format::count(alike.len() as u64, "claim", "claims");
        let within = format::percent(within);
        format!(
            "\nclaims     that two throughputs are within {within} of the claimed ratio ({claims}): {decided}"
        )
    });
    let equal: String = equal.collect();
    let counted = others.len() as u64;
    others.sort_unstable();
    others.dedup();
    let others = (counted > 0).then(|| {
        let (claims, names) = (format::count(counted, "claim", "claims"), others.join(", "));
        format!("\nclaims     about {names} ({claims}): not forecast, since these vary by rules of their own")
    });
    equal + &others.unwrap_or_default()
}

/// The standard deviation of log ratios over blocks, and where it is from.
fn spread(arguments: &BenchArguments) -> Result<(f64, String), Failure> {
    let Some(path) = &arguments.noise_of else {
        let assumed = format::percent(NOISE_ASSUMED);
        return Ok((
            ratio_spread(NOISE_ASSUMED),
            format!(
                "assuming that trials vary by {assumed} (--noise-of RUN.jsonl takes the noise of an earlier \
                 run)"
            ),
        ));
    };
    let log = prony_analysis::run_log::read(Path::new(path))?;
    let widest = SequentialStop::of(&log).widest(log.header.baseline.as_deref());
    let widest = widest.and_then(|w| Some((w.spread?, w)));
    let (spread, widest) = widest.ok_or_else(|| {
        Failure::usage(format!(
            "--noise-of {path}: no candidate in it has two blocks, so its noise is unknown."
        ))
    })?;
    // A candidate's own throughput varies by itself; a ratio by both.
    let spread = if widest.is_ratio { spread } else { spread * std::f64::consts::SQRT_2 };
    Ok((
        spread,
        format!(
            "by the noise of {path}: {} varied by {} from block to block, over {}",
            widest.candidate,
            format::percent(spread.exp_m1()),
            format::count(widest.blocks.into(), "block", "blocks")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_says_which_claims_it_decides_and_which_it_cannot() {
        let of = |name: &str, half| claims(&Experiment::find(name).unwrap(), Some(half));
        let said = of("aerys-2017", 0.0093);
        for words in [
            "\nclaims     that two throughputs are within 2.0 % of the claimed ratio (10 claims): can be shown where the two differ by less than 1.1 %",
            "\nclaims     that two throughputs are within 5.0 % of the claimed ratio (1 claim): can be shown where the two differ by less than 4.1 %",
            "\nclaims     about p50, stdev (2 claims): not forecast",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(of("aerys-2017", 0.053).contains("(10 claims): cannot be shown with so few blocks"));
        assert!(
            of("php8-jit-2020", 0.053)
                .starts_with("\nclaims     about capacity, p99 (4 claims): not forecast")
        );
        assert_eq!(of("quickstart", 0.053), "");
    }
}
