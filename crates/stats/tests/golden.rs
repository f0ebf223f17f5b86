//! Methods held against values of other implementations: SciPy and statsmodels
//! (golden/make_scipy.py), also of values in a row (golden/make_dependence.py); R
//! (golden/make_r.R). What another implementation has not is held against slow
//! definitions: definitions.rs and each module's tests.

#![allow(clippy::unwrap_used, reason = "a golden file that does not read is a failed test")]

use prony_stats::order::Quantile;
use prony_stats::{batch, correlation, hodges_lehmann, interval, moderated, power, share, student, trend};
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

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
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
        near(batch::lag1_autocorrelation(&values).unwrap(), &case["lag1"], 1e-9);
        let i = interval::mean_interval(&values, 0.95).unwrap();
        near(i.low, &case["t_interval"][0], 1e-9);
        near(i.high, &case["t_interval"][1], 1e-9);
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect();
        let slope = trend::theil_sen(&points, 0.95).unwrap();
        near(slope.point, &case["theil_sen"][0], 1e-9);
        near(slope.low, &case["theil_sen"][1], 1e-9);
        near(slope.high, &case["theil_sen"][2], 1e-9);
    }
}

#[test]
fn correlations_of_scipy_and_r() {
    for case in cases(&golden("scipy"), "pairs") {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let tau = correlation::kendall_tau_b(&x, &y, 0.95).unwrap();
        near(tau.coefficient, &case["tau_b"][0], 1e-9);
        let (low, high) = tau.interval.unwrap();
        near(low, &case["tau_interval"][0], 1e-6);
        near(high, &case["tau_interval"][1], 1e-6);
    }
    for case in cases(&golden("r"), "tau") {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let tau = correlation::kendall_tau_b(&x, &y, 0.95).unwrap();
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
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (a / b).ln()).collect();
        let found = moderated::Difference::of(&logs).unwrap();
        // Either side of their p-value.
        for (by, expected) in [(1.0 - 1e-6, false), (1.0 + 1e-6, true)] {
            assert_eq!(found.differs(number(&case["p"]) * by), expected);
            for tost in case["tost"].as_array().unwrap().iter().filter(|tost| number(&tost[1]) < 0.5) {
                assert_eq!(found.is_within(number(&tost[0]), number(&tost[1]) * by), expected, "{tost}");
            }
        }
    }
}

#[test]
fn power_of_statsmodels_and_r() {
    for file in [golden("scipy"), golden("r")] {
        for case in cases(&file, "power") {
            let n = count(&case["n"]);
            let found = power::power(n, number(&case["d"]), 1.0, n as f64 - 1.0, 0.05).unwrap();
            assert!((found - number(&case["power"])).abs() < 1e-5, "{found}: {case}");
        }
    }
    for case in cases(&golden("scipy"), "blocks") {
        let found = power::blocks_to_find(number(&case["d"]), 1.0, 2, 0.05, number(&case["wanted"])).unwrap();
        assert_eq!(found, count(&case["n"]), "{case}");
    }
}

#[test]
fn hodges_lehmann_of_r() {
    for case in cases(&golden("r"), "hodges_lehmann") {
        let centre = hodges_lehmann::centre(&numbers(&case["values"])).unwrap();
        near(centre, &case["interval"][0], 1e-9);
    }
}

#[test]
fn quantile_ranks_of_r() {
    for case in cases(&golden("r"), "quantiles") {
        let mut values = numbers(&case["values"]);
        values.sort_by(f64::total_cmp);
        for (q, theirs) in numbers(&case["q"]).iter().zip(numbers(&case["type1"])) {
            let rank = Quantile::new(*q).unwrap().rank(values.len() as u64).unwrap();
            assert_eq!(values[usize::try_from(rank).unwrap() - 1], theirs, "{q}");
        }
    }
}

#[test]
fn t_of_scipy() {
    for case in cases(&golden("scipy"), "t_quantiles") {
        near(student::t_quantile(number(&case[0]), number(&case[1])).unwrap(), &case[2], 1e-7);
    }
}

#[test]
fn effective_sizes_of_statsmodels_and_scipy() {
    for case in cases(&golden("dependence"), "series") {
        let values = numbers(&case["values"]);
        near(batch::effective_size(&values).unwrap(), &case["effective_size"], 1e-9);
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect();
        let slope = trend::theil_sen_dependent(&points, 0.95).unwrap();
        let theirs = &case["theil_sen_dependent"];
        near(slope.point, &theirs[0], 1e-9);
        near(slope.low, &theirs[1], 1e-9);
        near(slope.high, &theirs[2], 1e-9);
    }
}

#[test]
fn clusters_of_statsmodels() {
    for case in cases(&golden("dependence"), "clusters") {
        let clusters: Vec<(u64, u64)> = cases(case, "clusters")
            .iter()
            .map(|c| (c[0].as_u64().unwrap(), c[1].as_u64().unwrap()))
            .collect();
        // Without a floor: what they vary more than independent ones would, by statsmodels.
        let n: u64 = clusters.iter().map(|c| c.0).sum();
        let found = share::share(&clusters, 1.0, f64::INFINITY).unwrap();
        near(n as f64 / share::weight(&found, 1.0), &case["design_effect"], 1e-9);
    }
}
