//! Every method held against values of other implementations: SciPy,
//! statsmodels, scikit-learn and arch (golden/make_scipy.py), R (golden/make_r.R).

#![allow(clippy::unwrap_used, reason = "a golden file that does not read is a failed test")]

use prony_stats::bootstrap::{Blocks, Resampling, block_bootstrap};
use prony_stats::order::{Quantile, interval_ranks};
use prony_stats::{
    anderson_darling, batch, correlation, dependence, equivalence, friedman, hodges_lehmann, interval,
    isotonic, kpss, merged, power, ranking, student, trend,
};
use serde_json::Value;

fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn cases<'a>(file: &'a Value, name: &str) -> &'a Vec<Value> {
    let cases = file[name].as_array().unwrap();
    assert!(!cases.is_empty(), "{name}");
    cases
}

#[track_caller]
fn near(ours: f64, theirs: &Value, tolerance: f64) {
    let theirs = number(theirs);
    assert!((ours - theirs).abs() <= tolerance * theirs.abs().max(1e-3), "{ours}, theirs {theirs}");
}

#[test]
fn series_of_scipy_and_statsmodels() {
    let file = golden("scipy");
    for case in cases(&file, "series") {
        let values = numbers(&case["values"]);
        let lags = usize::try_from(case["lags"].as_u64().unwrap()).unwrap();
        assert_eq!(dependence::schwert_lags(values.len()), lags);
        let k = kpss::kpss(&values, lags).unwrap();
        near(k.statistic, &case["kpss"], 1e-9);
        near(k.p, &case["kpss_p"], 1e-9);
        near(dependence::long_run_variance(&values, lags).unwrap(), &case["long_run_variance"], 1e-9);
        near(dependence::von_neumann(&values).unwrap().ratio, &case["von_neumann"], 1e-9);
        near(batch::lag1_autocorrelation(&values).unwrap(), &case["lag1"], 1e-9);
        let a2 = anderson_darling::normal(&values).unwrap();
        near(a2.statistic, &case["normal_a2"], 1e-8);
        near(a2.normal_p_value(), &case["normal_p"], 1e-7);
        let i = interval::mean_interval(&values, 0.95).unwrap();
        near(i.low, &case["t_interval"][0], 1e-9);
        near(i.high, &case["t_interval"][1], 1e-9);
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect();
        let slope = trend::theil_sen(&points, 0.95).unwrap();
        near(slope.point, &case["theil_sen"][0], 1e-9);
        near(slope.low, &case["theil_sen"][1], 1e-9);
        near(slope.high, &case["theil_sen"][2], 1e-9);
        if case["wilcoxon_p"].is_number() {
            let moved: Vec<f64> = values.iter().map(|v| v - 5.1).collect();
            near(hodges_lehmann::signed_rank_p_value(&moved).unwrap(), &case["wilcoxon_p"], 1e-9);
        }
    }
}

#[test]
fn exponential_gaps_of_scipy() {
    for case in cases(&golden("scipy"), "exponential") {
        let found = anderson_darling::exponential(&numbers(&case["values"])).unwrap();
        near(found.statistic, &case["a2"], 1e-9);
        assert_eq!(found.exponential_rejected_at(), case["rejected_at"].as_f64());
    }
}

#[test]
fn correlations_of_scipy_and_r() {
    for case in cases(&golden("scipy"), "pairs") {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let rho = correlation::spearman(&x, &y).unwrap();
        near(rho.coefficient, &case["spearman"][0], 1e-9);
        near(rho.p, &case["spearman"][1], 1e-7);
        let tau = correlation::kendall_tau_b(&x, &y, 0.95).unwrap().correlation;
        near(tau.coefficient, &case["tau_b"][0], 1e-9);
        near(tau.p, &case["tau_b"][1], 1e-7);
    }
    for case in cases(&golden("r"), "tau") {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let tau = correlation::kendall_tau_b(&x, &y, 0.95).unwrap().correlation;
        near(tau.coefficient, &case["tau"], 1e-9);
    }
}

#[test]
fn ratios_and_equivalence_of_statsmodels() {
    for case in cases(&golden("scipy"), "positive_pairs") {
        let (a, b) = (numbers(&case["a"]), numbers(&case["b"]));
        near(interval::geometric_mean(&a).unwrap(), &case["geometric_mean"], 1e-10);
        let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
        let ratio = interval::paired_ratio_interval(&pairs, 0.95).unwrap();
        near(ratio.point, &case["ratio"][0], 1e-10);
        near(ratio.low, &case["ratio"][1], 1e-9);
        near(ratio.high, &case["ratio"][2], 1e-9);
        near(interval::paired_ratio_p_value(&pairs).unwrap(), &case["p"], 1e-8);
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
        for tost in case["tost"].as_array().unwrap() {
            near(equivalence::equivalence_p_value(&logs, number(&tost[0])).unwrap(), &tost[1], 1e-7);
        }
    }
}

#[test]
fn friedman_of_scipy_and_r() {
    for file in [golden("scipy"), golden("r")] {
        for case in cases(&file, "friedman") {
            let blocks: Vec<Vec<f64>> = case["blocks"].as_array().unwrap().iter().map(numbers).collect();
            let found = friedman::friedman(&blocks).unwrap();
            near(found.statistic, &case["statistic"], 1e-9);
            near(found.p, &case["p"], 1e-7);
        }
    }
}

#[test]
fn isotonic_fits_of_scikit_learn_and_r() {
    for file in [golden("scipy"), golden("r")] {
        for case in cases(&file, "isotonic") {
            let values = numbers(&case["values"]);
            let weights = case.get("weights").map_or_else(|| vec![1.0; values.len()], numbers);
            let fit = isotonic::isotonic(&values, &weights).unwrap();
            for (ours, theirs) in fit.iter().zip(case["fit"].as_array().unwrap()) {
                near(*ours, theirs, 1e-6);
            }
        }
    }
}

#[test]
fn power_of_statsmodels_and_r() {
    for file in [golden("scipy"), golden("r")] {
        for case in cases(&file, "power") {
            let n = usize::try_from(case["n"].as_u64().unwrap()).unwrap();
            let found = power::power(n, number(&case["d"]), 1.0, 0.95).unwrap();
            assert!((found - number(&case["power"])).abs() < 1e-5, "{found}: {case}");
        }
    }
    for case in cases(&golden("scipy"), "blocks") {
        let found = power::blocks_to_find(number(&case["d"]), 1.0, 0.95, number(&case["wanted"])).unwrap();
        assert_eq!(found as u64, case["n"].as_u64().unwrap(), "{case}");
    }
}

#[test]
fn hodges_lehmann_of_r() {
    for case in cases(&golden("r"), "hodges_lehmann") {
        let values = numbers(&case["values"]);
        let i = hodges_lehmann::hodges_lehmann(&values, 0.95).unwrap();
        near(i.point, &case["interval"][0], 1e-9);
        near(i.low, &case["interval"][1], 1e-9);
        near(i.high, &case["interval"][2], 1e-9);
        near(hodges_lehmann::signed_rank_p_value(&values).unwrap(), &case["p"], 1e-9);
    }
}

#[test]
fn merged_quantiles_of_r() {
    for case in cases(&golden("r"), "quantiles") {
        // Two histograms of the values' halves, as one.
        let values = numbers(&case["values"]);
        let merged = merged::Merged::of(values.iter().map(|v| (*v as u64, 1)));
        for (q, theirs) in numbers(&case["q"]).iter().zip(numbers(&case["type1"])) {
            let ours = merged.quantile(Quantile::new(*q).unwrap()).unwrap();
            assert_eq!(ours as f64, theirs, "{q}");
        }
    }
}

#[test]
fn order_ranks_of_scipys_binomial() {
    for case in cases(&golden("scipy"), "order") {
        let (n, q) = (case["n"].as_u64().unwrap(), Quantile::new(number(&case["q"])).unwrap());
        let theirs = case["ranks"].as_array().map(|r| (r[0].as_u64().unwrap(), r[1].as_u64().unwrap()));
        let ours = interval_ranks(n, q, 0.95);
        let expected = q.beyond(n).min(n as f64 * q.fraction());
        if expected <= prony_stats::order::EXACT_MAX {
            assert_eq!(ours, theirs, "{case}");
        } else {
            // The normal approximation: outwards by two ranks at most.
            let ((a, b), (c, d)) = (ours.unwrap(), theirs.unwrap());
            assert!(a.abs_diff(c) <= 2 && b.abs_diff(d) <= 2, "{case}: {a} {b}");
        }
    }
}

#[test]
fn holm_of_statsmodels_and_t_of_scipy() {
    let file = golden("scipy");
    for case in cases(&file, "holm") {
        let theirs: Vec<bool> =
            case["rejected"].as_array().unwrap().iter().map(|r| r.as_bool().unwrap()).collect();
        assert_eq!(ranking::holm(&numbers(&case["p"]), 0.05), theirs);
    }
    for case in cases(&file, "t_quantiles") {
        near(student::t_quantile(number(&case[0]), number(&case[1])).unwrap(), &case[2], 1e-7);
    }
}

/// The draws differ, so that ends agree within Monte Carlo's error: with
/// 20,000 replicates each, an end's is under 2 % of the width.
#[test]
fn block_bootstrap_of_arch() {
    for case in cases(&golden("scipy"), "bootstrap") {
        let values = numbers(&case["values"]);
        let block = usize::try_from(case["block"].as_u64().unwrap()).unwrap();
        let how = Resampling { block, replicates: 20_000, seed: 5, confidence: 0.95 };
        for theirs in case["cases"].as_array().unwrap() {
            let kind = if theirs["kind"] == "moving" { Blocks::Moving } else { Blocks::Circular };
            let statistic = if theirs["statistic"] == "mean" { interval::mean } else { trend::median };
            let (low, high) = block_bootstrap(&values, kind, how, statistic).unwrap();
            let ends = numbers(&theirs["interval"]);
            // A median jumps from one value to the next: within two gaps of a fortieth of the range.
            let room = if theirs["statistic"] == "mean" { 0.03 } else { 0.15 } * (ends[1] - ends[0]);
            assert!((low - ends[0]).abs() < room && (high - ends[1]).abs() < room, "{low} {high}: {theirs}");
        }
    }
}
