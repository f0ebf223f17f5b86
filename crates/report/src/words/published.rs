//! Texts about a source's figures that are the same in every view.

use std::collections::BTreeMap;

use prony_analysis::conclusions::{self, JudgedConclusion, Judgement};
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis};
use prony_analysis::figure::Figure;
use prony_analysis::published::{self, Agreement, ByItsStatistic, PublishedAnalysis, PublishedFigures};
use prony_model::published::Statistic;

use super::WITHHELD;
use crate::format;

/// The head of a source's column: its year, or `source`.
pub(crate) fn source_tag(source: &str) -> String {
    let is_year = |word: &&str| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    let year = source.split(|c: char| !c.is_ascii_digit()).rfind(is_year);
    year.unwrap_or("source").to_owned()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublishedColumn {
    /// `2023`, `2020 p99`.
    pub(crate) head: String,
    /// One for each row of the plan; `None` where the source printed nothing of it.
    pub(crate) cells: Vec<Option<String>>,
}

/// Response times that stand for a source's throughput where it printed none, the first that it has.
const TIMES: [(&str, &str); 3] = [("p99_ms", "p99"), ("p50_ms", "p50"), ("mean_ms", "mean")];

/// What the source printed under a plan, the ratio of throughput first, else of a time, else figures; `?` is doubtful.
pub(crate) fn published_columns(analysis: &ExperimentAnalysis, plan: &PlanAnalysis) -> Vec<PublishedColumn> {
    let theirs: Vec<Option<&PublishedFigures>> = plan.rows.iter().map(|row| row.published.as_ref()).collect();
    let tag = analysis.published.as_ref().map(|p| source_tag(&p.source)).unwrap_or_default();
    let has = |name: &str| theirs.iter().flatten().any(|row| row.figures.contains_key(name));
    let column = |word: &str, cell: &dyn Fn(&PublishedFigures) -> Option<String>| PublishedColumn {
        head: format!("{tag} {word}").trim().to_owned(),
        cells: theirs.iter().map(|row| cell((*row)?)).collect(),
    };
    let value = |word: &str, name: &str, shown: &dyn Fn(f64) -> String| {
        let doubt = |row: &PublishedFigures| if row.doubt.is_some() { "?" } else { "" };
        column(word, &|row| Some(format!("{}{}", shown(*row.figures.get(name)?), doubt(row))))
    };
    // A ratio of two rows of which one is doubtful is not shown.
    let ratio = |ratio: Option<f64>, row: &PublishedFigures, unit: &str| {
        let known = ratio.map(|ratio| format!("{}{unit}", format::significant(ratio, 3)));
        known.or_else(|| row.doubt.as_ref().map(|_| "?".to_owned()))
    };
    if theirs.iter().flatten().any(|row| row.ratio.is_some()) {
        return vec![column("", &|row| ratio(row.ratio, row, ""))];
    }
    if has("requests_per_s") {
        return vec![value("req/s", "requests_per_s", &format::rate)];
    }
    if let Some((name, word)) = TIMES.into_iter().find(|(name, _)| has(name)) {
        let baseline = plan.rows.iter().find(|row| Some(&row.candidate) == analysis.baseline.as_ref());
        let baseline = baseline.and_then(|row| row.published.as_ref());
        let to_it = |row: &PublishedFigures| published::ratio(row, baseline?, name);
        if theirs.iter().flatten().any(|row| to_it(row).is_some()) {
            return vec![column(word, &|row| ratio(to_it(row), row, " ×"))];
        }
        return vec![value(word, name, &|ms| format!("{} ms", format::milliseconds(ms * 1e6)))];
    }
    let mut columns = Vec::new();
    if has("peak_requests_per_s") {
        columns.push(value("peak", "peak_requests_per_s", &|rate| format!("{}/s", format::rate(rate))));
    }
    if has("failed_share_at_least") {
        columns
            .push(value("failed", "failed_share_at_least", &|share| format!("≥ {}", format::percent(share))));
    }
    columns
}

/// The longest value of a fact that is shown.
const FACT_MAX: usize = 80;

/// Candidates that are named at most.
const NOT_MEASURED_MAX: usize = 12;

/// A source's other facts, where they are short: `duration_s 30; php 7.0`.
pub(crate) fn facts(published: &PublishedAnalysis) -> Option<String> {
    let short = published.facts.iter().filter(|(_, value)| value.chars().count() <= FACT_MAX);
    let parts: Vec<String> = short.map(|(key, value)| format!("{key} {value}")).collect();
    (!parts.is_empty()).then(|| format::printable(&parts.join("; ")))
}

pub(crate) fn not_measured(published: &PublishedAnalysis) -> Option<String> {
    let all = &published.not_here;
    let mut parts: Vec<String> = all.iter().take(NOT_MEASURED_MAX).cloned().collect();
    if all.len() > NOT_MEASURED_MAX {
        parts.push(format!("and {} more", all.len() - NOT_MEASURED_MAX));
    }
    (!parts.is_empty()).then(|| format::printable(&parts.join(", ")))
}

/// The workers of a plan's servers: `1 each`, `4 each; flask, php-server 1`. `None` where none was configured.
pub(crate) fn workers(plan: &PlanAnalysis) -> Option<String> {
    let mut by_count: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for row in &plan.rows {
        by_count.entry(row.facts.workers.unwrap_or(0)).or_default().push(&row.candidate);
    }
    let unset = by_count.remove(&0);
    let (most, _) = by_count.iter().max_by_key(|(_, labels)| labels.len())?;
    let most = *most;
    let mut parts = vec![format!("{most} each")];
    by_count.remove(&most);
    parts.extend(by_count.iter().map(|(count, labels)| format!("{} {count}", labels.join(", "))));
    parts.extend(unset.map(|labels| format!("{} not set", labels.join(", "))));
    Some(format::printable(&parts.join("; ")))
}

/// `1.40 ×`, `95.3 ms`: a value of what a conclusion compares.
pub(crate) fn judged_value(judged: &JudgedConclusion, value: f64) -> String {
    if judged.is_ratio {
        return format!("{} ×", format::significant(value, 3));
    }
    match judged.figure.as_deref().and_then(Figure::named) {
        Some(figure) => {
            format!("{} {}", super::value(figure.unit, value), figure.unit.shown()).trim().to_owned()
        }
        None if matches!(
            judged.figure.as_deref(),
            Some("capacity" | "peak_throughput" | "end_throughput")
        ) =>
        {
            format!("{} req/s", format::rate(value))
        }
        None if judged.figure.as_deref() == Some("failing_from") => {
            format!("{} users", format::rate(value))
        }
        None if judged.figure.as_deref() == Some("rank") => format!("rank {value:.0}"),
        None => format::significant(value, 3),
    }
}

/// The published figure: `(1.40 ×)`, `(≥ 80 %?)` of a bound and a doubtful one, or `(–)` where none was printed.
pub(crate) fn judged_published(judged: &JudgedConclusion) -> String {
    let bound = if judged.published_at_least { "≥ " } else { "" };
    let doubt = if judged.published_doubted { "?" } else { "" };
    match judged.published {
        Some(value) => format!("({bound}{}{doubt})", judged_value(judged, value)),
        None => format!("({WITHHELD})"),
    }
}

/// The figure that was measured: `1.94 ×`.
pub(crate) fn judged_measured(judged: &JudgedConclusion) -> String {
    judged.here.as_ref().map_or_else(String::new, |e| judged_value(judged, e.point))
}

pub(crate) fn judged_interval(judged: &JudgedConclusion) -> Option<String> {
    let here = judged.here.as_ref()?;
    let [low, high] = [here.ci_low?, here.ci_high?].map(|end| judged_value(judged, end));
    Some(format!("95 %: {low} to {high}"))
}

/// Why a claim is judged so, where the figures do not show it: what is undecided, and where plans differ.
pub(crate) fn judged_why(judged: &JudgedConclusion) -> Option<String> {
    let plans = conclusions::by_plan(judged);
    let why =
        judged.why.clone().filter(|_| judged.judgement == Judgement::Undecided || judged.here.is_none());
    let undecided = why.is_none() && judged.judgement == Judgement::Undecided;
    let interval = judged_interval(judged).filter(|_| undecided);
    let parts: Vec<String> = [plans, why, interval].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format::printable(&parts.join("; ")))
}

/// `rank correlation with the source under c100: Kendall's tau-b 0.72 (0.31 to 0.90) over 11 candidates, 1 doubtful left out`.
pub(crate) fn agreement(agreement: &Agreement) -> String {
    let tau = &agreement.tau_b;
    let interval = match (tau.ci_low, tau.ci_high) {
        (Some(low), Some(high)) => {
            format!(" ({} to {})", format::significant(low, 2), format::significant(high, 2))
        }
        _ => tau.no_interval.as_ref().map_or(String::new(), |why| format!(" ({})", format::printable(why))),
    };
    let left_out = match agreement.left_out {
        0 => String::new(),
        n => format!(", {n} doubtful left out"),
    };
    let by = if agreement.figure == "p99" { " by p99" } else { "" };
    format!(
        "rank correlation{by} with the source under {}: Kendall's tau-b {}{interval}, {} candidates{left_out}",
        format::printable(&agreement.plan),
        format::significant(tau.point, 2),
        tau.n
    )
}

/// Our trials by the source's statistic, a sentence a plan, and what it would have hidden of them.
pub(crate) fn by_its_statistic(published: &PublishedAnalysis) -> Vec<String> {
    let of_plan = |rows: &[ByItsStatistic]| {
        let shown = |row: &ByItsStatistic, value: f64| match row.figure {
            "p99_ns" => format!("{} ms", format::milliseconds(value)),
            _ => format::rate(value),
        };
        let one = |row: &ByItsStatistic| {
            let fewer =
                if row.of < row.statistic.runs() { format!(" (of {})", row.of) } else { String::new() };
            let (low, high) = (shown(row, row.lowest), shown(row, row.highest));
            let label = format::printable(&row.candidate);
            format!("{label} {}{fewer}, hiding {low} to {high}", shown(row, row.value))
        };
        let bias = match rows[0].statistic {
            Statistic::BestOf(_) => "the noisier a server, the further above its mean",
            Statistic::MedianOf(_) => "without how far apart the runs were",
            Statistic::OneRun => "without whether another run would say the same",
        };
        let figure = if rows[0].figure == "p99_ns" { "p99" } else { "req/s" };
        format!(
            "by the source's statistic, {} ({bias}), {figure} under {}: {}",
            rows[0].statistic,
            format::printable(&rows[0].plan),
            rows.iter().map(one).collect::<Vec<_>>().join("; ")
        )
    };
    published
        .by_its_statistic
        .chunk_by(|a, b| a.plan == b.plan && a.figure == b.figure)
        .map(of_plan)
        .collect()
}

/// What stands below a run's tables: what its tails leave open, and how much the choice of a server matters.
pub(crate) fn below(analysis: &ExperimentAnalysis) -> Option<String> {
    let unseen = analysis.plans.iter().find_map(|plan| plan.unseen_stalls.as_ref());
    let unseen = unseen.map(|text| format!("Stalls that no window met are in no tail: {text}."));
    let said: Vec<String> = [unseen, spread(analysis)].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// How much the choice of a server matters to an application that does some work of its own.
fn spread(analysis: &ExperimentAnalysis) -> Option<String> {
    let plan = analysis.plans.iter().find(|plan| plan.spread_at_20_ms.is_some())?;
    let spread = plan.spread_at_20_ms?;
    Some(format!(
        "If your application uses 20 ms of CPU per request, the servers under {} differ by at most {}.",
        format::printable(&plan.name),
        format::percent(spread).trim_start_matches('<')
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_no_ratios_have_their_units() {
        let of = |figure: &str, value| {
            let judged = JudgedConclusion { figure: Some(figure.to_owned()), ..JudgedConclusion::default() };
            judged_value(&judged, value)
        };
        assert_eq!(of("startup", 95.3e6), "95.3 ms");
        assert_eq!(of("p99", 1.5e6), "1.50 ms");
        assert_eq!(of("cpu", 6_100.0), "6.10 µs");
        assert_eq!(of("requests_per_cpu_s", 25_000.0), "25,000 req/CPU s");
        assert_eq!(of("rank", 2.0), "rank 2");
        assert_eq!(of("memory", 14.5e6), "14.5 MB");
        assert_eq!(of("memory_growth", 2e6), "2.00 MB/s");
        assert_eq!(of("capacity", 8_000.0), "8,000 req/s");
        assert_eq!(of("failed_share", 0.25), "25 %");
    }

    #[test]
    fn a_sources_column_is_named_after_its_year() {
        assert_eq!(source_tag("Fast & Furious: PHP, 2023"), "2023");
        assert_eq!(source_tag("PHP8.0 JIT Benchmarks"), "source");
    }
}
