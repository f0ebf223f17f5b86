//! Synthetic duets whose truth is known: a machine that swings for both, places that are not equal.

use std::collections::BTreeMap;

use prony_model::duet::{DuetCpus, DuetPlace, DuetRecord, DuetShared, DuetSide};
use prony_model::run_log::{PlannedTrial, RunLog, TrialResult};

use super::*;
use crate::compare::Finding;
use crate::comparison::{
    Comparison as Compared, FigureComparison, Options, RunCandidate, compare_candidates,
};
use crate::testing::noise;
use crate::testing::run::{Log, result};

const S: u64 = 1_000_000_000;
const P99: Figure = Figure::P99;

/// How a simulated machine and its servers behave, on logarithms.
#[derive(Clone, Copy)]
struct Machine {
    /// B's times over A's, less 1.
    slower: f64,
    /// What the machine does to both in a second, in a first-order chain.
    swing: f64,
    /// What only one server does in a second.
    own: f64,
    /// The left place's times over the right one's, less 1.
    left: f64,
    blocks: u32,
    seconds: u64,
}

const USUAL: Machine = Machine { slower: 0.05, swing: 0.3, own: 0.04, left: 0.10, blocks: 5, seconds: 10 };

/// A trial like any other, to be filled: building one takes a millisecond.
fn template() -> TrialResult {
    let planned = PlannedTrial {
        index: 0,
        block: 0,
        candidate: "a".to_owned(),
        plan: "c50".to_owned(),
        duet: Some(DuetPlace { half: 0, side: DuetSide::Left }),
        repeat: 0,
        control: None,
    };
    result(planned, 1_000)
}

fn duet(template: &TrialResult, machine: Machine, seed: u64) -> RunLog {
    let Machine { slower, swing, own, left, blocks, seconds } = machine;
    let mut normal = noise(seed);
    let mut draw = move || normal.next().unwrap();
    let mut log = Log::new(&["a", "b"], 0).0;
    let cpus = |cpu| DuetCpus { server_cpus: vec![cpu], client_cpus: vec![cpu] };
    log.header.duet = Some(DuetRecord { left: cpus(0), right: cpus(1), shared: DuetShared::Servers });
    log.header.baseline = Some("a".to_owned());
    for (block, half) in (0..blocks).flat_map(|block| [(block, 0), (block, 1)]) {
        let mut level = swing * draw();
        let machine: Vec<f64> = (0..seconds)
            .map(|_| {
                level = 0.7 * level + swing * (1.0f64 - 0.49).sqrt() * draw();
                level
            })
            .collect();
        for (candidate, side) in [
            ("a", if half == 0 { DuetSide::Left } else { DuetSide::Right }),
            ("b", if half == 0 { DuetSide::Right } else { DuetSide::Left }),
        ] {
            let factor = if candidate == "b" { slower.ln_1p() } else { 0.0 }
                + if side == DuetSide::Left { left.ln_1p() } else { 0.0 };
            let start = 0.01 * draw();
            let p99: Vec<f64> =
                machine.iter().map(|m| 5e6 * (m + factor + start + own * draw()).exp()).collect();
            log.results.push(trial(template, (block, half, side), candidate, &p99));
        }
    }
    log
}

fn trial(
    template: &TrialResult,
    (block, half, side): (u32, u32, DuetSide),
    candidate: &str,
    p99: &[f64],
) -> TrialResult {
    let mut made = template.clone();
    made.planned = PlannedTrial {
        index: block * 4 + half * 2 + u32::from(candidate == "b"),
        block,
        candidate: candidate.to_owned(),
        duet: Some(DuetPlace { half, side }),
        ..made.planned
    };
    let trial = made.trial.as_mut().unwrap();
    trial.started_at = format!("2026-01-01T{:02}:{:02}:00.000Z", block / 30, block % 30 * 2 + half);
    trial.series = (0..)
        .zip(p99)
        .map(|(second, p99)| SeriesPoint {
            at_ns: second * S,
            length_ns: S,
            completed: 1_000,
            failed: 0,
            connections: 50,
            p50_ns: Some((p99 / 4.0) as u64),
            p99_ns: Some(*p99 as u64),
            max_ns: None,
            hdr: Default::default(),
        })
        .collect();
    trial.window.duration_ns = p99.len() as u64 * S;
    // The whole window's percentile lies where its worst seconds are.
    let mut sorted = p99.to_vec();
    sorted.sort_by(f64::total_cmp);
    trial.latency.response.p99_ns = Some(sorted[sorted.len() * 3 / 4] as u64);
    trial.latency.response.p50_ns = Some((sorted[sorted.len() / 2] / 4.0) as u64);
    made
}

fn compared(log: &RunLog) -> Compared {
    let part = |candidate| RunCandidate { log, run: "run.jsonl", candidate };
    let margins = BTreeMap::from([(P99, 0.02)]);
    compare_candidates(part("a"), part("b"), &Options { margins, ..Options::default() }).unwrap()
}

fn of(c: &Compared, figure: Figure) -> FigureComparison {
    c.plans[0].figures.iter().find(|f| f.figure == figure).unwrap().clone()
}

/// The same trials, as if they had been measured one after the other.
fn decided_in_turn(log: &RunLog) -> bool {
    let values = |candidate: &str| -> Vec<f64> {
        let of = log.results.iter().filter(|r| r.planned.candidate == candidate);
        of.map(|r| (r.trial.as_ref().unwrap().latency.response.p99_ns.unwrap() as f64).ln()).collect()
    };
    let step = prony_stats::segmentation::step(&values("a"), &values("b"), 0.95).unwrap();
    step.low > 0.0 || step.high < 0.0 || step.low.abs().max(step.high.abs()) < 0.02f64.ln_1p()
}

#[test]
fn a_duet_finds_five_percent_on_a_machine_varying_by_thirty() {
    let template = template();
    let (mut at_once, mut in_turn, mut covered) = (0, 0, 0);
    for seed in 0..200 {
        let log = duet(&template, USUAL, seed);
        let found = of(&compared(&log), P99);
        at_once += u32::from(found.finding == Some(Finding::Slower));
        in_turn += u32::from(decided_in_turn(&log));
        let ratio = found.ratio.unwrap();
        covered += u32::from(ratio.ci_low.unwrap() <= 1.05 && 1.05 <= ratio.ci_high.unwrap());
    }
    assert!(at_once >= 160, "{at_once} of 200 found at once");
    assert!(in_turn <= 20, "{in_turn} of 200 decided in turn");
    // 95 %, less three standard errors of 1.5 %.
    assert!(covered >= 181, "{covered} of 200 intervals hold the truth");
}

#[test]
fn equals_have_a_winner_in_under_five_percent_in_any_place() {
    let template = template();
    let equals = Machine { slower: 0.0, ..USUAL };
    let (mut winners, mut beyond) = (0, 0);
    for seed in 1_000..1_400 {
        let found = of(&compared(&duet(&template, equals, seed)), P99);
        winners += u32::from(matches!(found.finding, Some(Finding::Faster | Finding::Slower)));
        beyond += u32::from(found.ratio.unwrap().point.ln().abs() > found.noise.unwrap().half_width.ln_1p());
    }
    // 5 % are 20.
    assert!(winners <= 20, "{winners} of 400");
    // The A/A noise of the same run is what equals stay within: of 400, 5 % and three standard errors do not.
    assert!((1..=33).contains(&beyond), "{beyond} of 400 beyond the noise that is printed");
}

#[test]
fn a_place_that_is_worse_is_noted_and_is_in_no_ratio() {
    let quiet = Machine { own: 0.002, ..USUAL };
    let c = compared(&duet(&template(), quiet, 7));
    assert!(c.duet && c.paired && c.plans[0].blocks == 5);
    let found = of(&c, P99);
    let ratio = found.ratio.unwrap();
    assert!((ratio.point - 1.05).abs() < 0.02, "{ratio:?}");
    let told = c.notes.iter().find(|note| note.contains("in p99 by")).unwrap();
    assert!(
        told.contains("p99 by +10 %") || told.contains("p99 by +9.") || told.contains("p99 by +11 %"),
        "{told}"
    );
    assert!(c.headline.contains("b is slower than a: ") && c.headline.contains("p99 +"), "{}", c.headline);
    // Throughput is what the rate asks for.
    assert_eq!(of(&c, Figure::THROUGHPUT).finding, Some(Finding::Equivalent));
    let level = compared(&duet(&template(), Machine { left: 0.0, ..quiet }, 7));
    assert!(!level.notes.iter().any(|note| note.contains("left place")), "{:?}", level.notes);
}

#[test]
fn one_block_has_no_verdict_and_the_ratio_that_more_would_have() {
    let one = Machine { blocks: 1, own: 0.01, ..USUAL };
    let c = compared(&duet(&template(), one, 3));
    let found = of(&c, P99);
    assert_eq!(found.finding, None);
    assert_eq!(found.why.unwrap(), "one block has no interval");
    let two = duet(&template(), Machine { blocks: 2, ..one }, 3);
    let mut first = two.clone();
    first.results.retain(|result| result.planned.block == 0);
    let mut second = two.clone();
    second.results.retain(|result| result.planned.block == 1);
    let point = |log: &RunLog| of(&compared(log), P99).ratio.unwrap().point.ln();
    assert!((point(&two) - f64::midpoint(point(&first), point(&second))).abs() < 1e-12);
    assert!(c.next.unwrap().contains("--duet --blocks 6"));
}

#[test]
fn blocks_and_seconds_that_are_not_whole_are_left_out_and_said() {
    let template = template();
    let mut log = duet(&template, USUAL, 5);
    // One half of the first block did not count: the place would be in the ratio.
    log.results[0].trial.as_mut().unwrap().interrupted = true;
    assert_eq!(compared(&log).plans[0].blocks, 4);
    // Another first instant: these are not the same seconds.
    let mut log = duet(&template, USUAL, 5);
    log.results[0].trial.as_mut().unwrap().started_at = "2026-01-01T09:00:00.000Z".to_owned();
    let why = of(&compared(&log), P99).why.unwrap();
    assert!(why.contains("whole windows") && why.contains("did not begin at the same time"), "{why}");
    let mut log = duet(&template, USUAL, 5);
    log.results[3].trial.as_mut().unwrap().requests.failed = 1;
    assert!(of(&compared(&log), P99).why.unwrap().contains("requests failed"));
    assert_eq!(of(&compared(&log), Figure::THROUGHPUT).why, None);
    let mut log = duet(&template, USUAL, 5);
    for second in log.results[3].trial.as_mut().unwrap().series.iter_mut().take(4) {
        second.p99_ns = None;
    }
    assert!(of(&compared(&log), P99).why.unwrap().contains("100 responses"));
    let short = duet(&template, Machine { seconds: 2, ..USUAL }, 5);
    assert!(of(&compared(&short), P99).why.unwrap().contains("too few whole seconds"));
    // A duet and a run in turn are not the same measurement.
    let (a, mut b) = (duet(&template, USUAL, 5), duet(&template, USUAL, 5));
    b.header.created_at = "2026-02-02T00:00:00.000Z".to_owned();
    b.results.iter_mut().for_each(|r| r.planned.duet = None);
    let part = |log, run| RunCandidate { log, run, candidate: "a" };
    let refused =
        compare_candidates(part(&a, "a.jsonl"), part(&b, "b.jsonl"), &Options::default()).unwrap_err();
    assert!(refused.to_string().contains("two at once in one and in turn in the other"), "{refused}");
}

#[test]
fn the_headline_of_a_duets_report_is_that_of_its_comparison() {
    let analysis = crate::analyse(&duet(&template(), Machine { slower: 0.3, ..USUAL }, 9));
    assert!(analysis.headline.starts_with("b is slower than a: "), "{}", analysis.headline);
    assert_eq!(analysis.duet.unwrap().plans[0].blocks, 5);
    assert_eq!((analysis.plans[0].rows.len(), analysis.plans[0].rows[0].trials), (2, 10));
}
