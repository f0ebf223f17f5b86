//! `.hgrm`: the percentile table that HdrHistogram's plotter draws.
//!
//! The layout is `outputPercentileDistribution`'s of HdrHistogram for Java (org.hdrhistogram:HdrHistogram 2.2.2):
//! names, an empty line, a line per step with five steps to each halving of the distance to 100 %, and a footer. Values
//! are milliseconds, the plotter's default unit, with six decimals, so that nothing of a nanosecond is lost (wrk2
//! prints three).

use std::io::{self, Write};

use prony_model::Trial;
use prony_model::hdr;
use prony_model::histogram::SparseHistogram;
use prony_model::measurement::RequestCounts;

/// Steps per halving of the distance to 100 %: the Java tools' default, and wrk2's.
const TICKS_PER_HALF_DISTANCE: u32 = 5;
/// Values of one bucket: two times 10³, rounded up to a power of two (three significant digits).
const SUB_BUCKETS: u32 = 2048;

/// Writes the response times of the window's completed requests, of several trials together: histograms are added,
/// nothing is averaged. Of requests that failed or were not answered, a comment has the number.
pub fn write(trials: &[&Trial], out: &mut dyn Write) -> io::Result<()> {
    let all = SparseHistogram::sum(trials.iter().map(|trial| &trial.latency.response.hdr));
    let histogram = hdr::to_hdr(&all);
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let mut count = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        count += step.count_since_last_iteration();
        let quantile = step.quantile_iterated_to();
        write!(out, "{:12.6} {quantile:14.12} {count:10}", ms(step.value_iterated_to() as f64))?;
        // Nothing is beyond the last: it has three columns.
        if quantile < 1.0 {
            write!(out, " {:14.2}", 1.0 / (1.0 - quantile))?;
        }
        writeln!(out)?;
    }
    let (mean, deviation) = (ms(histogram.mean()), ms(histogram.stdev()));
    writeln!(out, "#[Mean    = {mean:12.6}, StdDeviation   = {deviation:12.6}]")?;
    let max = ms(histogram.max() as f64);
    writeln!(out, "#[Max     = {max:12.6}, Total count    = {:12}]", histogram.len())?;
    writeln!(out, "#[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]", histogram.buckets())?;
    let sum = |of: fn(&RequestCounts) -> u64| trials.iter().map(|trial| of(&trial.requests)).sum::<u64>();
    let [failed, in_flight, never_sent] = [sum(|r| r.failed), sum(|r| r.in_flight), sum(|r| r.never_sent)];
    if failed + in_flight + never_sent > 0 {
        writeln!(
            out,
            "#[Not in this table: {failed} failed, {in_flight} in flight at the end, {never_sent} never sent]"
        )?;
    }
    Ok(())
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::testing;

    struct Table {
        /// Value, percentile, count and, but for the last, 1/(1 − percentile).
        rows: Vec<(f64, f64, u64, Option<f64>)>,
        mean: f64,
        max: f64,
        total: u64,
        comments: Vec<String>,
    }

    fn read(text: &str) -> Table {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(names, ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]);
        assert_eq!(lines.next(), Some(""));
        let mut rows = Vec::new();
        let mut comments = Vec::new();
        for line in lines {
            if let Some(comment) = line.strip_prefix("#[") {
                comments.push(comment.strip_suffix(']').unwrap().to_owned());
                continue;
            }
            assert!(comments.is_empty(), "a row after the footer: {line}");
            let fields: Vec<&str> = line.split_whitespace().collect();
            assert!([3, 4].contains(&fields.len()), "{line}");
            rows.push((
                fields[0].parse().unwrap(),
                fields[1].parse().unwrap(),
                fields[2].parse().unwrap(),
                fields.get(3).map(|f| f.parse().unwrap()),
            ));
        }
        let pair = |comment: &str, first: &str, second: &str| -> (f64, f64) {
            let (left, right) = comment.split_once(',').unwrap();
            let value = |part: &str, name: &str| {
                let (found, value) = part.split_once('=').unwrap();
                assert_eq!(found.trim(), name);
                value.trim().parse().unwrap()
            };
            (value(left, first), value(right, second))
        };
        let (mean, _) = pair(&comments[0], "Mean", "StdDeviation");
        let (max, total) = pair(&comments[1], "Max", "Total count");
        assert_eq!(pair(&comments[2], "Buckets", "SubBuckets"), (32.0, 2048.0));
        Table { rows, mean, max, total: total as u64, comments: comments.split_off(3) }
    }

    fn written(trial: &Trial) -> String {
        let mut bytes = Vec::new();
        write(&[trial], &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_rows_of_the_table_are_the_histograms_quantiles() {
        // A prime number of values, so that no step falls on the edge between two.
        let values: Vec<u64> = (1..=9_973).map(|i| i * 1_000).collect();
        let trial = testing::trial(&[&values]);
        let table = read(&written(&trial));
        let histogram = hdr::to_hdr(&trial.latency.response.hdr);
        assert_eq!((table.total, table.rows.last().unwrap().2), (9_973, 9_973));
        assert_eq!(table.max, histogram.max() as f64 / 1e6);
        assert!((table.mean - 4.987).abs() < 0.005, "{}", table.mean);
        let (last, others) = table.rows.split_last().unwrap();
        assert_eq!((last.1, last.3), (1.0, None));
        assert!(others.len() > 40, "{}", others.len());
        for (value, percentile, count, inverse) in others {
            assert_eq!(*value, histogram.value_at_quantile(*percentile) as f64 / 1e6, "at {percentile}");
            assert_eq!(*count, histogram.count_between(0, histogram.value_at_quantile(*percentile)));
            let expected = 1.0 / (1.0 - percentile);
            assert!((inverse.unwrap() - expected).abs() <= 0.005 + expected * 1e-6, "{inverse:?}");
        }
        assert!(others.is_sorted_by(|a, b| a.1 < b.1 && a.0 <= b.0));
        assert_eq!(others.iter().find(|row| row.1 == 0.5).unwrap().3, Some(2.0));
    }

    #[test]
    fn requests_that_are_not_in_the_table_are_counted_in_a_comment() {
        let mut trial = testing::trial(&[&[5_000_000]]);
        (trial.requests.failed, trial.requests.in_flight) = (3, 50);
        let table = read(&written(&trial));
        assert_eq!(table.comments, ["Not in this table: 3 failed, 50 in flight at the end, 0 never sent"]);
        assert_eq!(table.total, 1);
    }

    #[test]
    fn several_trials_are_one_table() {
        let [low, high]: [Vec<u64>; 2] = [(1..=600).collect(), (601..=1_000).collect()];
        let all: Vec<u64> = (1..=1_000).collect();
        let mut trials = [testing::trial(&[&low]), testing::trial(&[&high])];
        let mut bytes = Vec::new();
        write(&[&trials[0], &trials[1]], &mut bytes).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), written(&testing::trial(&[&all])));
        (trials[0].requests.failed, trials[1].requests.failed) = (1, 2);
        let mut bytes = Vec::new();
        write(&[&trials[0], &trials[1]], &mut bytes).unwrap();
        assert!(String::from_utf8(bytes).unwrap().contains("Not in this table: 3 failed"));
    }

    #[test]
    fn a_window_without_answers_is_an_empty_table() {
        let table = read(&written(&testing::trial(&[&[]])));
        assert_eq!((table.rows.len(), table.total, table.mean, table.max), (0, 0, 0.0, 0.0));
    }
}
