//! A whole run, a trial and a search as blocks, for views that have the width for all columns.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis};
use prony_model::capacity::{CapacityRecord, Probe};
use prony_model::host::Host;
use prony_model::run_log::RunLog;
use prony_model::slo::SloRecord;
use prony_model::trial::Trial;

use super::{Block, columns, comparison, details, item, item_of, not_asked, plan_notes, plots, profile};
use super::{protocols, source_notes, table};
use crate::terminal::{Align, Ink, Table};
use crate::{format, words};

/// Requests of a list in a table at most.
const REQUESTS_MAX: usize = 100;
/// Trials of single loads that are shown at most, the last ones.
const TRIALS_MAX: usize = 200;

/// A run: the answer with its tables and plots; and its details, how the intervals were obtained and how to do it again.
pub(crate) fn run(analysis: &ExperimentAnalysis) -> (Vec<Block>, Vec<Block>) {
    let mut answer = vec![
        Block::Title(analysis.title.clone()),
        Block::Answer(analysis.headline.clone(), String::new()),
        Block::Lines(vec![words::trial_counts(analysis), words::conditions(analysis)]),
    ];
    answer.extend(analysis.plans.iter().flat_map(|plan| of_plan(analysis, plan)));
    answer.extend(protocols(analysis));
    answer.extend(claims(analysis));
    if let Some(duet) = &analysis.duet {
        answer.extend(comparison(duet));
        answer.extend(not_asked(duet));
    } else if let Some(shown) = &analysis.profile {
        answer.extend(profile(shown));
    }
    answer.extend(words::below(analysis).map(|spread| Block::Text(spread, Ink::PLAIN)));
    let mut rest = details(analysis);
    rest.push(Block::Text(host_line(&analysis.host), Ink::PLAIN));
    (answer, rest)
}

fn of_plan(analysis: &ExperimentAnalysis, plan: &PlanAnalysis) -> Vec<Block> {
    let mut blocks = vec![Block::Section(format!("{}: {}", plan.name, plan.describe))];
    blocks.extend(words::workers(plan).map(|workers| Block::Text(format!("Workers: {workers}"), Ink::PLAIN)));
    let theirs = words::published_columns(analysis, plan);
    blocks.push(table(&columns(plan, &theirs, analysis.baseline.as_deref(), true)));
    blocks.extend(plots::of_plan(plan).into_iter().map(Block::Plot));
    blocks.extend(plan_notes(plan));
    blocks
}

fn claims(analysis: &ExperimentAnalysis) -> Vec<Block> {
    let Some(published) = &analysis.published else { return Vec::new() };
    let mut blocks = vec![Block::Section(format!("{} claims", published.source))];
    for group in published.conclusions.chunk_by(|a, b| a.by == b.by) {
        blocks.push(Block::Answer(group[0].by.to_string(), String::new()));
        let mut table =
            Table::new(&[(Align::Left, 0), (Align::Right, 0), (Align::Left, 0), (Align::Right, 0)]);
        table.row(["claim", "published", "", "measured"].map(str::to_owned).to_vec());
        for judged in group {
            let why = words::judged_why(judged).map(|why| format!(" ({why})")).unwrap_or_default();
            table.row(vec![
                format!("{}{why}", judged.text),
                words::judged_published(judged),
                words::loud(judged.judgement),
                words::judged_measured(judged),
            ]);
        }
        blocks.push(Block::Table(table));
    }
    blocks.extend(source_notes(published));
    blocks
}

fn host_line(host: &Host) -> String {
    let parts = [&host.cpu_model, &host.kernel, &host.os];
    let mut facts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).cloned().collect();
    facts.push(format::count(host.cpus_online.into(), "CPU", "CPUs"));
    format!("Host: {}", facts.join(", "))
}

/// Trials and searches of single loads, the last ones, each under its name.
pub(crate) fn trials(log: &RunLog) -> Vec<Block> {
    let left_out = log.results.len().saturating_sub(TRIALS_MAX);
    let mut blocks = Vec::new();
    if left_out > 0 {
        let earlier = format::count(left_out as u64, "earlier trial", "earlier trials");
        blocks.push(Block::Text(format!("{earlier} not shown: the run log has all."), Ink::PLAIN));
    }
    for result in &log.results[left_out..] {
        blocks.push(Block::Section(result.planned.name()));
        match (&result.capacity, &result.trial, &result.failure) {
            (Some(found), ..) => blocks.extend(search(found)),
            (None, Some(measured), _) => blocks.extend(trial(measured)),
            (None, None, why) => {
                let why = why.clone().unwrap_or_else(|| "nothing was measured".to_owned());
                blocks.push(item("✗", why, Ink::BAD));
            }
        }
    }
    blocks
}

/// One trial: its first line, its percentiles, and its verdict's reasons.
pub(crate) fn trial(trial: &Trial) -> Vec<Block> {
    let failed = format::thousands(trial.requests.failed);
    let lead = format!("{}, {failed} failed", words::lead(trial, true).join(", "));
    let mut blocks = vec![
        Block::Answer(lead, words::state(trial).join(", ")),
        Block::Text(words::plan_line(trial), Ink::PLAIN),
        percentiles(trial),
    ];
    blocks.extend(plots::of_trial(trial).into_iter().map(Block::Plot));
    blocks.extend(by_request(trial));
    blocks.extend(trial.errors.iter().map(|(kind, count)| {
        let first = trial.first_errors.get(kind).map(|first| format!(": {first}")).unwrap_or_default();
        item("", format!("{} × {}{first}", format::thousands(*count), words::code(kind)), Ink::PLAIN)
    }));
    blocks.extend(trial.verdict.reasons.iter().map(|reason| {
        let advice = if reason.advice.is_empty() { String::new() } else { format!(" → {}", reason.advice) };
        item_of("", &reason.code.words(), format!("{}{advice}", reason.detail), None)
    }));
    blocks.extend(thresholds(&trial.slo));
    blocks
}

fn figures(head: impl IntoIterator<Item = String>) -> Table {
    let head: Vec<String> = head.into_iter().collect();
    let mut columns = vec![(Align::Right, 0); head.len()];
    columns[0] = (Align::Left, 0);
    let mut table = Table::new(&columns);
    table.row(head);
    table
}

fn percentiles(trial: &Trial) -> Block {
    let fields = words::shown_percentiles(trial, |_| true);
    let names = fields.iter().map(|field| words::percentile(field).to_owned());
    let mut table = figures(["ms".to_owned()].into_iter().chain(names).chain(["max".to_owned()]));
    let latency = &trial.latency;
    let named = [
        ("response", "response", Some(&latency.response)),
        ("service", "service", Some(&latency.service)),
        ("first byte", "service", Some(&latency.first_byte)),
        ("client delay", "client delay", latency.client_delay.as_ref()),
    ];
    for (name, affected_as, summary) in named {
        let Some(summary) = summary else { continue };
        let mut cells = vec![format!("{name}{}", words::figure_mark(trial, affected_as))];
        cells.extend(fields.iter().map(|field| words::percentile_cell(summary, field)));
        cells.push(words::milliseconds_cell(summary.max_ns));
        table.row(cells);
    }
    Block::Table(table)
}

fn by_request(trial: &Trial) -> Vec<Block> {
    let all = words::slowest_first(trial);
    if all.is_empty() {
        return Vec::new();
    }
    let mut table = figures(["request, ms".to_owned()].into_iter().chain(words::request_head()));
    for target in all.iter().take(REQUESTS_MAX) {
        table.row(
            std::iter::once(target.request.clone()).chain(words::request_cells(trial, target)).collect(),
        );
    }
    let more = all.len().saturating_sub(REQUESTS_MAX) as u64;
    let more = (more > 0).then(|| format!("… {}", format::count(more, "more request", "more requests")));
    std::iter::once(Block::Table(table)).chain(more.map(|more| Block::Text(more, Ink::PLAIN))).collect()
}

fn thresholds(slos: &[SloRecord]) -> Option<Block> {
    let mut table = Table::new(&[(Align::Code, 0), (Align::Left, 0), (Align::Left, 0), (Align::Left, 0)]);
    table.row(["threshold", "", "measured", "to decide it"].map(str::to_owned).to_vec());
    for slo in slos {
        let to_decide = slo.to_decide.clone().unwrap_or_default();
        table.row(vec![slo.slo.clone(), slo.decision.to_string(), slo.seen.clone(), to_decide]);
    }
    (!slos.is_empty()).then_some(Block::Table(table))
}

/// A search for the highest sustainable rate: the answer, and its probes by rate.
fn search(found: &CapacityRecord) -> Vec<Block> {
    use Align::{Left, Right};
    let mut table = Table::new(&[(Right, 0), (Left, 0), (Right, 0), (Right, 0), (Right, 0), (Left, 0)]);
    let head = ["req/s", "", "completed req/s", "p50 ms", "p99 ms", "why"];
    table.row(head.map(str::to_owned).to_vec());
    let mut by_rate: Vec<&Probe> = found.probes.iter().collect();
    by_rate.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    for probe in by_rate {
        let sustained = if probe.sustained { "sustained" } else { "not sustained" };
        table.row(vec![
            format::rate(probe.rate_per_s),
            sustained.to_owned(),
            format::rate(probe.completed_per_s),
            words::milliseconds_cell(probe.p50_ns),
            words::milliseconds_cell(probe.p99_ns),
            if probe.sustained { String::new() } else { probe.why.clone() },
        ]);
    }
    vec![Block::Answer(words::capacity(found), found.slo.clone()), Block::Table(table)]
}
