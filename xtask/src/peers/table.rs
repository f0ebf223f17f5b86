//! The comparison as Markdown.

use std::collections::BTreeMap;

use super::bars::Reached;
use super::figures::{Figure, Run, Runs};
use super::measure::count_differs;
use super::scenarios::{Scenario, tool_of};
use super::store::Comparison;
use crate::median::Estimate;
use crate::page::{host, list, or_none, table};

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
    let mut page = format!(
        "# Prony and other load generators, {}\n\n\
         `cargo xtask peers`: {} rounds, each tool with a run of Prony directly before or after it; the client on one \
         CPU, one server process on another. Requests are the server's count. Figures are medians, with order-statistic \
         intervals at 95 % in brackets where there are six rounds or more.\n\n\
         Host: {}{}.\n\n",
        comparison.date,
        comparison.rounds,
        host(&comparison.host),
        comparison.host["virtualisation"].as_str().map_or(String::new(), |v| format!(", {v}")),
    );
    if comparison.rounds < super::ROUNDS {
        page.push_str(&format!(
            "Fewer than {} rounds: this shows that everything runs, and is no result.\n\n",
            super::ROUNDS
        ));
    }
    let says = |version: &String| if version.is_empty() { "says none".to_owned() } else { version.clone() };
    let versions = comparison.versions.iter().map(|(name, version)| [name.clone(), says(version)]);
    page + &table("tool | version", "---|---", versions)
}

fn bars(bars: &[Reached]) -> String {
    let rows = bars.iter().map(|bar| {
        let reached =
            or_none(bar.reached, |e| e.shown(|v| if bar.ratio { ratio(v) } else { (bar.unit.shown)(v) }));
        let verdict = match (bar.met, bar.surely) {
            (None, _) => "not measured",
            (Some(true), Some(false)) => "met, but not by the whole interval",
            (Some(true), _) => "met",
            (Some(false), _) => "not met",
        };
        let rounds = bar.reached.map_or(0, |e| e.n).to_string();
        let [figure, scenario] = [bar.figure, bar.scenario].map(str::to_owned);
        [figure, scenario, bar.bar.clone(), reached, rounds, verdict.to_owned()]
    });
    let table = table("figure | scenario | bar | reached | rounds |", "---|---|---|---:|---:|---", rows);
    format!("\n## The bars\n\n{table}")
}

fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

fn section(scenario: &Scenario, runs: Runs<'_>) -> String {
    let all = [scenario.ours, scenario.near, scenario.far].concat();
    let seen = |s: &&str| runs.0.iter().any(|r| r.scenario == scenario.name && r.subject == *s);
    let subjects: Vec<&str> = all.into_iter().filter(seen).collect();
    if subjects.is_empty() {
        return String::new();
    }
    let heads = scenario.figures.iter().map(|figure| figure.head).collect::<Vec<_>>().join(" | ");
    let main = scenario.figures[0].head;
    let heads = format!("tool | {heads} | Prony's {main} ÷ its | client busy | rounds");
    let rules = ["---"].into_iter().chain(vec!["---:"; scenario.figures.len() + 3]).collect::<Vec<_>>();
    let rows = subjects.iter().map(|subject| row(scenario, subject, runs));
    let note = if scenario.note.is_empty() { String::new() } else { format!("\n{}\n", scenario.note) };
    let table = table(&heads, &rules.join("|"), rows);
    format!("\n## {}: {}\n\n{table}{note}", scenario.name, scenario.title)
}

fn row(scenario: &Scenario, label: &str, runs: Runs<'_>) -> Vec<String> {
    let figure =
        |figure: &Figure| or_none(runs.median(scenario.name, label, *figure), |e| e.shown(figure.shown));
    let (ours, main) = (scenario.ours[0], scenario.figures[0]);
    let over = (tool_of(label) != "prony").then(|| runs.ratio(scenario.name, (ours, main), (label, main)));
    let of_subject = |r: &&Run| r.scenario == scenario.name && r.subject == label;
    let tried = runs.0.iter().filter(of_subject).count();
    let busy = Estimate::of(runs.0.iter().filter(of_subject).map(Run::busy).collect());
    let counted = runs.counted(scenario.name, label).count();
    let rounds = if counted == tried { counted.to_string() } else { format!("{counted} of {tried}") };
    let mut cells = vec![label.to_owned()];
    cells.extend(scenario.figures.iter().map(figure));
    cells.push(or_none(over.flatten(), |e| e.shown(ratio)));
    cells.extend([or_none(busy, |e| format!("{:.0} %", e.median * 100.0)), rounds]);
    cells
}

/// What was skipped, what didn't count and whose count differs from the server's.
fn remarks(comparison: &Comparison) -> String {
    let mut lines: Vec<String> =
        comparison.skipped.iter().map(|(what, why)| format!("{what}: skipped: {why}")).collect();
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
        format!("{scenario}, {subject}: {times} of its runs not counted: {why}")
    }));
    lines.extend(differing.iter().map(|((scenario, subject), share)| {
        format!(
            "{scenario}, {subject}: its own count of requests is {:+.1} % off the server's",
            share * 100.0
        )
    }));
    if lines.is_empty() { String::new() } else { format!("\n## Remarks\n\n{}", list(lines)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::figures::tests::run;

    #[test]
    fn a_page_says_what_was_reached_not_counted_and_skipped() {
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
        assert_eq!((Figure::P90.shown)(50_000_000.0), "50.00 ms");
        assert_eq!((Figure::EXCESS_P50.shown)(-1_500.0), "-1.5 µs");
        assert_eq!((Figure::PEAK_MEMORY.shown)(24e6), "24.0 MB");
        assert_eq!((Figure::BYTES_PER_CORE_SECOND.shown)(7.3e9), "7.30 GB");
    }
}
