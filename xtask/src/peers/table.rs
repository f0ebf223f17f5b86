//! The comparison as Markdown.

use std::collections::BTreeMap;

use super::bars::Reached;
use super::figures::{Figure, Run, Runs};
use super::measure::count_differs;
use super::scenarios::{Scenario, Subject};
use super::store::Comparison;
use crate::median::Estimate;

pub(super) fn page(comparison: &Comparison) -> String {
    let mut page = heading(comparison);
    page.push_str(&bars(&comparison.bars));
    for scenario in &comparison.scenarios {
        page.push_str(&section(scenario, Runs(&comparison.runs)));
    }
    page.push_str(&remarks(comparison));
    page
}

fn heading(comparison: &Comparison) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let host = &comparison.host;
    let mut page = format!(
        "# Prony and other load generators, {}\n\n\
         `cargo xtask peers`: {} rounds, each tool with a run of Prony directly before or after it; the client on one \
         CPU, one server process on another. Requests are the server's count. Figures are medians, with order-statistic \
         intervals at 95 % in brackets where there are six rounds or more.\n\n\
         Host: {}, {} CPUs, {}, {}{}.\n\n",
        comparison.date,
        comparison.rounds,
        text(&host["cpu_model"]),
        host["cpus_online"],
        text(&host["kernel"]),
        text(&host["os"]),
        host["virtualisation"].as_str().map_or(String::new(), |v| format!(", {v}")),
    );
    if comparison.rounds < super::ROUNDS {
        page.push_str(&format!(
            "Fewer than {} rounds: this shows that everything runs, and is no result.\n\n",
            super::ROUNDS
        ));
    }
    page.push_str("| tool | version |\n|---|---|\n");
    for (name, version) in &comparison.versions {
        page.push_str(&format!("| {name} | {} |\n", if version.is_empty() { "says none" } else { version }));
    }
    page
}

fn bars(bars: &[Reached]) -> String {
    let mut text =
        "\n## The bars\n\n| figure | scenario | bar | reached | rounds | |\n|---|---|---|---:|---:|---|\n"
            .to_owned();
    for bar in bars {
        let reached = bar.reached.map_or("–".to_owned(), |e| {
            if bar.ratio { with_interval(&e, &|v| format!("{v:.2}")) } else { estimate(bar.unit, &e) }
        });
        let verdict = match (bar.met, bar.surely) {
            (None, _) => "not measured",
            (Some(true), Some(false)) => "met, but not by the whole interval",
            (Some(true), _) => "met",
            (Some(false), _) => "not met",
        };
        text.push_str(&format!(
            "| {} | {} | {} | {reached} | {} | {verdict} |\n",
            bar.figure,
            bar.scenario,
            bar.bar,
            bar.reached.map_or(0, |e| e.n)
        ));
    }
    text
}

fn section(scenario: &Scenario, runs: Runs<'_>) -> String {
    let all = [scenario.ours, scenario.near, scenario.far].concat();
    let seen = |s: &Subject| runs.0.iter().any(|r| r.scenario == scenario.name && r.subject == s.label);
    let subjects: Vec<&Subject> = all.iter().filter(|s| seen(s)).collect();
    if subjects.is_empty() {
        return String::new();
    }
    let mut text = format!("\n## {}: {}\n\n| tool |", scenario.name, scenario.title);
    for figure in scenario.figures {
        text.push_str(&format!(" {} |", figure.head()));
    }
    let main = scenario.figures[0];
    text.push_str(&format!(" Prony's {} ÷ its | client busy | rounds |\n|---|", main.head()));
    text.push_str(&"---:|".repeat(scenario.figures.len() + 3));
    text.push('\n');
    for subject in subjects {
        text.push_str(&row(scenario, subject, runs));
    }
    if !scenario.note.is_empty() {
        text.push_str(&format!("\n{}\n", scenario.note));
    }
    text
}

fn row(scenario: &Scenario, subject: &Subject, runs: Runs<'_>) -> String {
    let label = subject.label;
    let mut text = format!("| {label} |");
    for figure in scenario.figures {
        let cell =
            runs.median(scenario.name, label, *figure).map_or("–".to_owned(), |e| estimate(*figure, &e));
        text.push_str(&format!(" {cell} |"));
    }
    let (ours, main) = (scenario.ours[0].label, scenario.figures[0]);
    let ratio = (subject.tool != "prony").then(|| runs.ratio(scenario.name, (ours, main), (label, main)));
    let ratio = ratio.flatten().map_or("–".to_owned(), |e| with_interval(&e, &|v| format!("{v:.2}")));
    let of_subject = |r: &&Run| r.scenario == scenario.name && r.subject == label;
    let tried = runs.0.iter().filter(of_subject).count();
    let busy = Estimate::of(runs.0.iter().filter(of_subject).map(Run::busy).collect());
    let busy = busy.map_or("–".to_owned(), |e| format!("{:.0} %", e.median * 100.0));
    let counted = runs.counted(scenario.name, label).count();
    let rounds = if counted == tried { counted.to_string() } else { format!("{counted} of {tried}") };
    text.push_str(&format!(" {ratio} | {busy} | {rounds} |\n"));
    text
}

/// What was skipped, what didn't count and whose count differs from the server's.
fn remarks(comparison: &Comparison) -> String {
    let mut lines: Vec<String> =
        comparison.skipped.iter().map(|(what, why)| format!("- {what}: skipped: {why}")).collect();
    let mut refused: BTreeMap<(&str, &str, String), u32> = BTreeMap::new();
    let mut differing: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for run in &comparison.runs {
        if let Some(why) = &run.refused {
            // Of runs that were idle, the share is in the raw data.
            let why = if why.contains("busy for") {
                "its client was not busy enough".to_owned()
            } else {
                why.clone()
            };
            *refused.entry((run.scenario, run.subject, why)).or_default() += 1;
        } else if let Some(share) = count_differs(run) {
            differing.insert((run.scenario, run.subject), share);
        }
    }
    lines.extend(refused.iter().map(|((scenario, subject, why), times)| {
        format!("- {scenario}, {subject}: {times} of its runs not counted: {why}")
    }));
    lines.extend(differing.iter().map(|((scenario, subject), share)| {
        format!(
            "- {scenario}, {subject}: its own count of requests is {:+.1} % off the server's",
            share * 100.0
        )
    }));
    if lines.is_empty() { String::new() } else { format!("\n## Remarks\n\n{}\n", lines.join("\n")) }
}

fn estimate(figure: Figure, e: &Estimate) -> String {
    with_interval(e, &|value| quantity(figure, value))
}

fn with_interval(e: &Estimate, format: &dyn Fn(f64) -> String) -> String {
    let point = format(e.median);
    e.interval.map_or(point.clone(), |(low, high)| format!("{point} [{}, {}]", format(low), format(high)))
}

pub(super) fn quantity(figure: Figure, value: f64) -> String {
    match figure {
        Figure::CpuPerRequest => format!("{:.2} µs", value / 1e3),
        Figure::RequestsPerSecond | Figure::RequestsPerCoreSecond => format!("{:.1}k", value / 1e3),
        Figure::BytesPerCoreSecond => format!("{:.2} GB", value / 1e9),
        Figure::PeakMemory => format!("{:.1} MB", value / 1e6),
        Figure::Connections => format!("{value:.0}"),
        Figure::RequestsPerRead => format!("{value:.1}"),
        Figure::P50
        | Figure::P75
        | Figure::P90
        | Figure::ServiceP50
        | Figure::SendLagP50
        | Figure::TruthP50
        | Figure::ExcessP50
        | Figure::ServiceExcessP50
        | Figure::ResidenceP50
        | Figure::ServiceOverResidenceP50 => {
            if value.abs() < 1e6 {
                format!("{:.1} µs", value / 1e3)
            } else {
                format!("{:.2} ms", value / 1e6)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::figures::tests::run;

    #[test]
    fn a_page_says_what_was_reached_what_was_not_counted_and_what_was_skipped() {
        let mut runs = Vec::new();
        for round in 0..9 {
            runs.push(run("prony", round, 5_000_000, 1_000));
            runs.push(run("wrk", round, 6_000_000 + u64::from(round) * 100_000, 1_000));
            runs.push(Run {
                refused: Some("its client was busy for 80.0 % only".to_owned()),
                ..run("ab", round, 1, 1)
            });
        }
        let page = page(&Comparison::for_test(runs, &[("zrk", "it isn't here")]));
        assert!(page.contains("| prony | 5.00 µs [5.00 µs, 5.00 µs] |"), "{page}");
        assert!(page.contains("≤ 0.85 × wrk | 0.78 [0.75, 0.82] | 9 | met |"), "{page}");
        assert!(page.contains("≤ 1.10 × floor | – | 0 | not measured |"), "{page}");
        assert!(page.contains("| ab | – |") && page.contains("| 0 of 9 |"), "{page}");
        assert!(
            page.contains("- closed, ab: 9 of its runs not counted: its client was not busy enough"),
            "{page}"
        );
        assert!(page.contains("- zrk: skipped: it isn't here"), "{page}");
    }

    #[test]
    fn quantities_have_the_unit_that_fits() {
        assert_eq!(quantity(Figure::P90, 50_000_000.0), "50.00 ms");
        assert_eq!(quantity(Figure::ExcessP50, -1_500.0), "-1.5 µs");
        assert_eq!(quantity(Figure::PeakMemory, 24e6), "24.0 MB");
        assert_eq!(quantity(Figure::BytesPerCoreSecond, 7.3e9), "7.30 GB");
    }
}
