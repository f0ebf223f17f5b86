//! What every view says of a source's figures, in the same words.

use prony_analysis::conclusions::{self, Judged, Judgement};
use prony_analysis::experiment::{ExperimentAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_analysis::published::Agreement;

use super::WITHHELD;
use crate::format;

/// The head of a source's column: its year, or `there`.
pub(crate) fn source_tag(source: &str) -> String {
    let is_year = |word: &&str| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    let year = source.split(|c: char| !c.is_ascii_digit()).rfind(is_year);
    year.unwrap_or("there").to_owned()
}

/// A source's ratio to the same baseline: `1.50`; in doubt, with a question mark.
pub(crate) fn there(row: &Row) -> Option<String> {
    let published = row.published.as_ref()?;
    let ratio = published.ratio.map(|ratio| format::significant(ratio, 3));
    ratio.or_else(|| published.doubt.as_ref().map(|_| "?".to_owned()))
}

/// `1.40 ×`, `95.3 ms`: a value of what a conclusion compares.
pub(crate) fn judged_value(judged: &Judged, value: f64) -> String {
    if judged.is_ratio {
        return format!("{} ×", format::significant(value, 3));
    }
    let in_unit = |per: f64, unit: &str| format!("{} {unit}", format::significant(value / per, 3));
    match judged.figure.as_deref().and_then(Figure::named) {
        Some(Figure::Throughput) => format!("{} req/s", format::rate(value)),
        Some(Figure::Memory) => in_unit(1e6, "MB"),
        Some(Figure::MemoryGrowth) => in_unit(1e6, "MB/s"),
        Some(Figure::CpuPerRequest) => in_unit(1e3, "µs"),
        Some(Figure::FailedShare) => format::percent(value),
        Some(Figure::Startup | Figure::Percentile(_) | Figure::Mean | Figure::Stdev) => in_unit(1e6, "ms"),
        None if judged.figure.as_deref() == Some("capacity") => format!("{} req/s", format::rate(value)),
        None => format::significant(value, 3),
    }
}

/// `(1.40 ×)`, or `(–)` where the source printed no figure.
pub(crate) fn judged_there(judged: &Judged) -> String {
    match judged.published {
        Some(value) => format!("({})", judged_value(judged, value)),
        None => format!("({WITHHELD})"),
    }
}

/// Ours beside it: `1.94 ×`.
pub(crate) fn judged_here(judged: &Judged) -> String {
    judged.here.as_ref().map_or_else(String::new, |e| judged_value(judged, e.point))
}

/// Why a conclusion is judged so, where the figures don't say it: what is undecided, and where plans differ.
pub(crate) fn judged_why(judged: &Judged) -> Option<String> {
    let plans = conclusions::by_plan(judged);
    let why =
        judged.why.clone().filter(|_| judged.judgement == Judgement::Undecided || judged.here.is_none());
    let interval = judged.here.as_ref().filter(|_| why.is_none() && judged.judgement == Judgement::Undecided);
    let interval = interval.and_then(|e| {
        let [low, high] = [e.ci_low?, e.ci_high?].map(|end| judged_value(judged, end));
        Some(format!("95 %: {low} to {high}"))
    });
    let said: Vec<String> = [plans, why, interval].into_iter().flatten().collect();
    (!said.is_empty()).then(|| format::printable(&said.join("; ")))
}

/// `order under c100: tau-b 0.72 (0.31 to 0.90) over 11 rows, 1 left out`.
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
        n => format!(", {n} left out in doubt"),
    };
    let by = if agreement.figure == "p99" { " by p99" } else { "" };
    format!(
        "order{by} under {}: tau-b {}{interval} with the source's over {} candidates{left_out}",
        format::printable(&agreement.plan),
        format::significant(tau.point, 2),
        tau.n
    )
}

/// What the choice of a server is worth to an application that does some work of its own.
pub(crate) fn spread(analysis: &ExperimentAnalysis) -> Option<String> {
    let plan = analysis.plans.iter().find(|plan| plan.spread_at_20_ms.is_some())?;
    let spread = plan.spread_at_20_ms?;
    Some(format!(
        "If your application takes 20 ms of CPU a request, the whole spread under {} is {}.",
        format::printable(&plan.name),
        format::percent(spread)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ratio_has_its_unit() {
        let of = |figure: &str, value| {
            let judged = Judged {
                text: String::new(),
                claim: String::new(),
                judgement: Judgement::Holds,
                published: None,
                here: None,
                is_ratio: false,
                figure: Some(figure.to_owned()),
                plans: Vec::new(),
                why: None,
            };
            judged_value(&judged, value)
        };
        assert_eq!(of("startup", 95.3e6), "95.3 ms");
        assert_eq!(of("p99", 1.5e6), "1.50 ms");
        assert_eq!(of("cpu", 6_100.0), "6.10 µs");
        assert_eq!(of("memory", 14.5e6), "14.5 MB");
        assert_eq!(of("memory_growth", 2e6), "2.00 MB/s");
        assert_eq!(of("capacity", 8_000.0), "8,000 req/s");
        assert_eq!(of("failed_share", 0.25), "25 %");
    }

    #[test]
    fn a_sources_year_heads_its_column() {
        assert_eq!(source_tag("Fast & Furious: PHP, 2023"), "2023");
        assert_eq!(source_tag("PHP8.0 JIT Benchmarks"), "there");
    }
}
