//! Whole run logs of known truth: comparisons, gates, claims, duets, two runs, histories, crashes.

use prony_analysis::analyse;
use prony_analysis::compare::Finding;
use prony_analysis::comparison::fail_if::{FailIf, failures, figures, not_judged};
use prony_analysis::comparison::{Comparison, Options, RunCandidate, compare_candidates};
use prony_analysis::conclusions::Judgement;
use prony_analysis::earlier_runs::EarlierRuns;
use prony_analysis::figure::Figure;
use prony_analysis::history::{figures_of, history, take_earlier};
use prony_analysis::testing::run::Log;
use prony_model::Estimate;
use prony_model::code::Code;
use prony_model::duet::{DuetCpus, DuetPlace, DuetRecord, DuetShared, DuetSide};
use prony_model::published::{Conclusion, Published};
use prony_model::run_log::RunLog;
use prony_model::trial::{SeriesPoint, Trial, Validity};

use super::chance::Chance;
use super::counted::{Bar, NEVER, Row};
use super::rules::{BLOCK_NOISE, NOISE, is_winner};

pub(crate) fn rows() -> Vec<Row> {
    [gates(), two_runs(), histories(), crashes(), claims(), duets()].into_iter().flatten().collect()
}

pub(crate) fn log(candidates: &[&str], plans: usize, blocks: u32) -> RunLog {
    let rates = vec![1_000; candidates.len()];
    let mut log = Log::new(candidates, blocks).with(&vec![&rates[..]; blocks as usize]).0;
    let (results, plan) = (std::mem::take(&mut log.results), log.header.plans.remove(0));
    for at in 0..plans {
        let name = format!("plan {at}");
        for (index, mut result) in (log.results.len() as u32..).zip(results.clone()) {
            (result.planned.plan, result.planned.index) = (name.clone(), index);
            log.results.push(result);
        }
        log.header.plans.push(prony_model::run_log::NamedPlan { name, ..plan.clone() });
    }
    log.header.order = log.results.iter().map(|result| result.planned.clone()).collect();
    log
}

/// Gives a trial a throughput so far above 1,000 a second, and p50 and p99 so far below theirs, on logarithms.
pub(crate) fn set(trial: &mut Trial, [throughput, p50, p99]: [f64; 3]) {
    trial.throughput.requests_per_s.point = 1_000.0 * throughput.exp();
    trial.latency.response.p50_ns = Some((1e7 * (-p50).exp()) as u64);
    trial.latency.response.p99_ns = Some((5e7 * (-p99).exp()) as u64);
}

/// Draws all trials' figures anew: of each candidate about its level, with what a block does to all of a plan.
fn draw(log: &mut RunLog, level: impl Fn(&str, &str) -> [f64; 3], noise: f64, chance: &mut Chance) {
    let (mut block, mut common) = (None, [0.0; 3]);
    for result in &mut log.results {
        let planned = &result.planned;
        if block != Some(planned.block) {
            (block, common) = (Some(planned.block), [0; 3].map(|_| BLOCK_NOISE * chance.normal()));
        }
        let mut figures = level(&planned.candidate, &planned.plan);
        for (figure, common) in figures.iter_mut().zip(common) {
            *figure += common + noise * chance.normal();
        }
        set(result.trial.as_mut().expect("all have one"), figures);
    }
}

fn of<'a>(log: &'a RunLog, candidate: &'a str) -> RunCandidate<'a> {
    RunCandidate { log, run: "run.jsonl", candidate }
}

/// As `prony compare --fail-if slower` has it.
fn gate(a: RunCandidate, b: RunCandidate, earlier: Option<EarlierRuns>) -> Option<Comparison> {
    let options = Options { declared: figures(&[FailIf::Slower]), earlier, ..Options::default() };
    compare_candidates(a, b, &options).ok()
}

fn gates() -> Vec<Row> {
    let mut rows = Vec::new();
    for plans in [1, 3, 10] {
        for (slower, what, bar) in [
            (false, "the same program twice", Bar::AtMost(0.05)),
            (true, "10 % slower in one of them", Bar::AtLeast(0.90)),
        ] {
            let situation = format!("gate, `--fail-if slower`, 6 blocks, {plans} plans: {what}");
            let level = move |candidate: &str, plan: &str| {
                if slower && candidate == "b" && plan == "plan 0" { [0.9f64.ln(); 3] } else { [0.0; 3] }
            };
            let row = Row::new(situation, &[("fails", bar)], move || {
                let mut log = log(&["a", "b"], plans, 6);
                Box::new(move |chance, tally| {
                    draw(&mut log, level, NOISE, chance);
                    let found = gate(of(&log, "a"), of(&log, "b"), None).expect("they are comparable");
                    tally.count(0, !failures(&[FailIf::Slower], &found).is_empty());
                })
            });
            rows.push(if plans > 1 { row.long() } else { row });
        }
    }
    rows
}

fn finding(comparison: &Comparison, figure: Figure) -> Option<Finding> {
    comparison.plans[0].figures.iter().find(|found| found.figure == figure)?.finding
}

fn ratio(comparison: &Comparison, figure: Figure) -> Option<&Estimate> {
    comparison.plans[0].figures.iter().find(|found| found.figure == figure)?.ratio.as_ref()
}

pub(crate) fn holds(estimate: &Estimate, truth: f64) -> Option<bool> {
    Some(estimate.ci_low? <= truth && estimate.ci_high.is_none_or(|high| truth <= high))
}

/// Runs of the same program that differ from one another by more than their trials do.
fn two_runs() -> Vec<Row> {
    let player = |sd: f64, known: bool| {
        move || -> super::counted::Player {
            let mut runs: Vec<RunLog> = (1..=6)
                .map(|day| {
                    let mut log = log(&["a"], 1, 5);
                    log.header.created_at = format!("2026-02-0{day}T00:00:00.000Z");
                    log
                })
                .collect();
            Box::new(move |chance, tally| {
                for run in &mut runs {
                    let level = [0; 3].map(|_| sd * chance.normal());
                    draw(run, |_, _| level, 0.01, chance);
                }
                let (a, b) = (of(&runs[4], "a"), of(&runs[5], "a"));
                let mut earlier = EarlierRuns::default();
                for run in &runs[..5] {
                    take_earlier(&mut earlier, run, a, b.log).expect("they have a time");
                }
                let found = gate(a, b, known.then_some(earlier)).expect("they are comparable");
                tally.count(0, is_winner(finding(&found, Figure::THROUGHPUT)));
                tally.count(1, !failures(&[FailIf::Slower], &found).is_empty());
                tally.count(2, not_judged(&[FailIf::Slower], &found).is_empty());
            })
        }
    };
    let mut rows = Vec::new();
    for sd in [0.01, 0.015, 0.02] {
        let situation = |known: &str| {
            format!("two runs of one program, {} % from run to run, {known} five earlier runs", sd * 100.0)
        };
        let known = [
            ("throughput faster or slower", Bar::AtMost(0.05)),
            ("`--fail-if slower` fails", Bar::AtMost(0.05)),
            ("the gate is judged", Bar::AtLeast(0.999)),
        ];
        rows.push(Row::new(situation("with"), &known, player(sd, true)).long());
        let unknown = [
            ("throughput faster or slower", NEVER),
            ("`--fail-if slower` fails", NEVER),
            ("the gate is judged", NEVER),
        ];
        rows.push(Row::new(situation("without"), &unknown, player(sd, false)).long());
    }
    rows
}

/// A history that somebody looks at after each run: `values` are the runs' figures, on logarithms.
fn series(
    situation: String,
    count: (&'static str, Bar),
    values: fn(&mut Chance) -> Vec<f64>,
    said: fn(usize) -> bool,
) -> Row {
    Row::new(situation, &[count], move || {
        let mut log = log(&["a"], 1, 1);
        Box::new(move |chance, tally| {
            let runs = (0..).zip(values(chance)).map(|(at, value)| {
                set(log.results[0].trial.as_mut().expect("it has one"), [value; 3]);
                log.header.created_at = format!("2026-{:02}-{:02}T00:00:00.000Z", at / 28 + 1, at % 28 + 1);
                figures_of(&log, "run.jsonl", Figure::THROUGHPUT, None).expect("it has a time")
            });
            // It finds what somebody finds who looks after each run.
            let found = history(runs.collect(), Figure::THROUGHPUT, None, Vec::new());
            tally.count(0, found.series[0].changes.iter().any(|change| said(change.index)));
        })
    })
}

fn histories() -> Vec<Row> {
    let independent = |chance: &mut Chance| (0..60).map(|_| 0.01 * chance.normal()).collect();
    let dependent = |chance: &mut Chance| {
        let mut last = chance.normal();
        let next = |_| {
            last = 0.3 * last + (1.0f64 - 0.09).sqrt() * chance.normal();
            0.01 * last
        };
        (0..60).map(next).collect()
    };
    let two_level = |chance: &mut Chance| {
        let level = |chance: &mut Chance| if chance.uniform() < 0.5 { 0.1 } else { 0.0 };
        (0..60).map(|_| level(chance) + 0.01 * chance.normal()).collect()
    };
    let step = |chance: &mut Chance| {
        (0..28).map(|at| if at < 20 { 0.0 } else { -0.03 } + 0.01 * chance.normal()).collect()
    };
    let after_each = |what: &str, most: f64, values: fn(&mut Chance) -> Vec<f64>| {
        let situation = format!("history looked at after each of 60 runs: {what}");
        series(situation, ("a change named though there is none", Bar::AtMost(most)), values, |_| true)
    };
    let found = ("named within 8 runs", Bar::AtLeast(0.90));
    let of_step = "history: 20 runs, then a step of three standard deviations".to_owned();
    vec![
        after_each("independent", 0.05, independent),
        after_each("neighbours correlate by 0.3", 0.08, dependent),
        after_each("two levels in turn by chance", 0.05, two_level),
        series(of_step, found, step, |at| (16..=24).contains(&at)),
    ]
}

/// B is 10 % better in all that it survives, and dies in a third of its starts.
fn crashes() -> Vec<Row> {
    let counts =
        [("called better or equivalent in a figure", NEVER), ("ranked", NEVER), ("the gate passes", NEVER)];
    let player = || -> super::counted::Player {
        let whole = log(&["a", "b"], 1, 6);
        Box::new(move |chance, tally| {
            let mut log = whole.clone();
            draw(&mut log, |candidate, _| [if candidate == "b" { 0.1 } else { 0.0 }; 3], 0.01, chance);
            let mut died = 0;
            for result in log.results.iter_mut().filter(|result| result.planned.candidate == "b") {
                if chance.uniform() < 1.0 / 3.0 {
                    let verdict = &mut result.trial.as_mut().expect("all have one").verdict;
                    verdict.reasons.push(Code::ServerDied.reason("signal 9".to_owned()));
                    verdict.validity = Validity::Invalid;
                    died += 1;
                }
            }
            let found = gate(of(&log, "a"), of(&log, "b"), None).filter(|_| died > 0);
            let Some(found) = found else { return };
            let good = |found: Option<Finding>| matches!(found, Some(Finding::Faster | Finding::Equivalent));
            tally.count(0, found.plans[0].figures.iter().any(|figure| good(figure.finding)));
            let analysis = analyse(&log);
            let row = analysis.plans[0].rows.iter().find(|row| row.candidate == "b");
            tally.count(1, row.is_some_and(|row| row.rank().is_some()));
            tally.count(2, failures(&[FailIf::Slower], &found).is_empty());
        })
    };
    vec![Row::new("a server that is 10 % better and dies in a third of its 6 starts", &counts, player).long()]
}

fn claims() -> Vec<Row> {
    let row = |situation: &str, level: f64, counts: [(&'static str, Bar); 2]| {
        Row::new(situation, &counts, move || {
            let mut log = log(&["a", "b"], 1, 12);
            let claim = "throughput(b) < throughput(a)".to_owned();
            let conclusions = vec![Conclusion { claim, ..Conclusion::default() }];
            log.header.published = Some(Published { conclusions, ..Published::default() });
            Box::new(move |chance, tally| {
                draw(&mut log, |candidate, _| [if candidate == "b" { level } else { 0.0 }; 3], NOISE, chance);
                let judged = analyse(&log).published.expect("it is there").conclusions.remove(0);
                let held = judged.here.as_ref().and_then(|here| holds(here, level.exp()));
                tally.count(0, held == Some(true));
                tally.count(
                    1,
                    match level {
                        0.0 => judged.judgement != Judgement::Undecided,
                        _ => judged.judgement == Judgement::Holds,
                    },
                );
            })
        })
        .long()
    };
    let covered = ("the interval holds the truth", Bar::AtLeast(0.93));
    vec![
        row(
            "claim “b carries less than a”, 12 blocks: equal",
            0.0,
            [covered, ("holds or fails", Bar::AtMost(0.05))],
        ),
        row(
            "claim “b carries less than a”, 12 blocks: b carries 5 % less",
            0.95f64.ln(),
            [covered, ("holds, as often as a comparison by 697f7046", Bar::AtLeast(0.931))],
        ),
    ]
}

/// Seconds of a half of a duet.
const DUET_S: u64 = 10;

/// Two at once: the machine swings by 30 % for both, places differ by 10 %, each server by 4 % a second and 1 % a start.
fn duet(log: &mut RunLog, difference: f64, chance: &mut Chance) {
    for pair in log.results.chunks_exact_mut(2) {
        let mut swing = 0.3 * chance.normal();
        let machine: Vec<f64> = (0..DUET_S)
            .map(|_| {
                swing = 0.7 * swing + 0.3 * (1.0f64 - 0.49).sqrt() * chance.normal();
                swing
            })
            .collect();
        for result in pair {
            let place = result.planned.duet.expect("it is a duet's");
            let left = if place.side == DuetSide::Left { 0.1f64.ln_1p() } else { 0.0 };
            let own = if result.planned.candidate == "b" { difference.ln_1p() } else { 0.0 };
            let level = left + own + 0.01 * chance.normal();
            let trial = result.trial.as_mut().expect("all have one");
            for (second, machine) in trial.series.iter_mut().zip(&machine) {
                second.completed = (1e6 * (machine + level + 0.04 * chance.normal()).exp()) as u64;
            }
        }
    }
}

/// A log of duets: each block has two halves, between which both change places.
fn duets_log(blocks: u32) -> RunLog {
    let mut log = log(&["a", "b"], 1, 2 * blocks);
    let cpus = |cpu| DuetCpus { server_cpus: vec![cpu], client_cpus: vec![cpu] };
    log.header.duet = Some(DuetRecord { left: cpus(0), right: cpus(1), shared: DuetShared::Servers });
    for result in &mut log.results {
        let (block, half) = (result.planned.block / 2, result.planned.block % 2);
        let is_left = (result.planned.candidate == "a") == (half == 0);
        let side = if is_left { DuetSide::Left } else { DuetSide::Right };
        (result.planned.block, result.planned.duet) = (block, Some(DuetPlace { half, side }));
        let trial = result.trial.as_mut().expect("all have one");
        trial.started_at = format!("2026-01-01T00:{block:02}:{:02}.000Z", half * 30);
        let second = trial.series[0].clone();
        let length_ns = 1_000_000_000;
        trial.series = (0..DUET_S)
            .map(|at| SeriesPoint { at_ns: at * length_ns, length_ns, ..second.clone() })
            .collect();
        trial.window.duration_ns = DUET_S * length_ns;
    }
    log.header.order = log.results.iter().map(|result| result.planned.clone()).collect();
    log
}

fn duets() -> Vec<Row> {
    let row = |situation: &str, difference: f64, counts: [(&'static str, Bar); 2]| {
        Row::new(situation, &counts, move || {
            let mut log = duets_log(5);
            Box::new(move |chance, tally| {
                duet(&mut log, difference, chance);
                let options = Options::default();
                let found =
                    compare_candidates(of(&log, "a"), of(&log, "b"), &options).expect("they are comparable");
                assert!(found.duet, "{}", found.method);
                let held = ratio(&found, Figure::THROUGHPUT).and_then(|ratio| holds(ratio, 1.0 + difference));
                tally.count(0, held == Some(true));
                tally.count(1, is_winner(finding(&found, Figure::THROUGHPUT)));
            })
        })
        .long()
    };
    let covered = ("the interval holds the truth", Bar::AtLeast(0.93));
    vec![
        row("duet, 5 blocks: equal", 0.0, [covered, ("a winner", Bar::AtMost(0.05))]),
        row("duet, 5 blocks: b carries 5 % less", -0.05, [covered, ("found", Bar::AtLeast(0.80))]),
    ]
}
