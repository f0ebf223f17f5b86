//! Starts of one server, each a window of simulated requests: intervals within a window and over starts, thresholds.

use prony_analysis::analyse;
use prony_analysis::figure::Figure;
use prony_analysis::slo::{Decision, Slo};
use prony_analysis::slo_run::hold_run;
use prony_analysis::testing::{closed_plan, within};
use prony_analysis::trial::judge;
use prony_model::histogram::SparseHistogram;
use prony_model::host::Host;
use prony_model::observed::Observed;

use super::chance::Chance;
use super::counted::{Bar, NEVER, Player, Row};
use super::process::{Drift, Kind};
use super::recorder::Recorder;
use super::runs::{holds, log};

pub(crate) fn rows() -> Vec<Row> {
    [poisson(), stalls(), thresholds()].into_iter().flatten().collect()
}

const WINDOW_S: u32 = 10;

/// Six starts under Poisson arrivals, of each block its own.
fn poisson() -> Vec<Row> {
    let row = |utilisation: f64| {
        let counts = [
            ("the mean's interval holds the truth", Bar::AtLeast(0.93)),
            ("the p99's interval over starts holds the truth", Bar::AtLeast(0.90)),
            ("p99 below the truth: MET", Bar::AtMost(0.05)),
            ("p99 below the truth: MISSED", Bar::AtMost(0.05)),
        ];
        let situation = format!(
            "Poisson arrivals at {:.0} % of what a server carries, 6 blocks of 10 s",
            utilisation * 100.0
        );
        Row::new(situation, &counts, move || -> Player {
            let (kind, plan) = (Kind::Mm1 { rate: 2000.0, utilisation }, closed_plan());
            let (mut log, mut recorder) = (log(&["a"], 1, 6), Recorder::new(u64::from(WINDOW_S)));
            let truth = kind.truth();
            let slo = [Slo::parse(&format!("p99<{:.0}ns", truth.p99_ns)).expect("it is a threshold")];
            let mean = Figure::named("mean").expect("it is a figure");
            Box::new(move |chance, tally| {
                for result in &mut log.results {
                    recorder.clear();
                    kind.play(f64::from(WINDOW_S), Drift::default(), chance, &mut recorder);
                    let observed = Observed::new(recorder.measured().clone(), plan.clone());
                    result.trial = Some(judge(&observed, &Host::default()));
                }
                let figures = &analyse(&log).plans[0].rows[0].figures;
                for (at, figure, truth) in [(0, mean, truth.mean_ns), (1, Figure::P99, truth.p99_ns)] {
                    let held = figures[figure].estimate.as_ref().and_then(|estimate| holds(estimate, truth));
                    tally.count(at, held == Some(true));
                }
                let decision = hold_run(&slo, &log)[0].held.decision;
                tally.count(2, decision == Decision::Met);
                tally.count(3, decision == Decision::Missed);
            })
        })
        .long()
    };
    vec![row(0.8), row(0.9)]
}

/// A server that stops for 200 ms at random, in one window.
fn stalls() -> Vec<Row> {
    let row = |every_s: f64| {
        // A window cannot know of stalls that it did not see.
        let both = if every_s <= 1.0 { Bar::AtLeast(0.93) } else { Bar::None };
        let counts = [
            ("the mean's interval holds the truth", both),
            ("the p90's interval holds the truth", both),
            ("the mean's lower end is below the truth", Bar::AtLeast(0.93)),
            ("the p90's lower end is below the truth", Bar::AtLeast(0.93)),
            ("an interval is withheld", NEVER),
        ];
        let situation = format!("stalls of 200 ms every {every_s} s on average, window of 10 s");
        Row::new(situation, &counts, move || -> Player {
            let (kind, plan) = (Kind::Stalls { rate: 1000.0, every_s }, closed_plan());
            let (truth, mut recorder) = (kind.truth(), Recorder::new(u64::from(WINDOW_S)));
            Box::new(move |chance, tally| {
                recorder.clear();
                kind.play(f64::from(WINDOW_S), Drift::default(), chance, &mut recorder);
                let found = within(recorder.measured(), &plan).response.ci95;
                for (at, (name, truth)) in
                    [("mean_ns", truth.mean_ns), ("p90_ns", truth.p90_ns)].into_iter().enumerate()
                {
                    let interval = found.get(name);
                    let (low, high) = interval.copied().unwrap_or_default();
                    let low = crate::median::real(low) <= truth;
                    let high = high.is_none_or(|high| truth <= crate::median::real(high));
                    tally.count(4, interval.is_none());
                    if interval.is_some() {
                        tally.count(at, low && high);
                        tally.count(at + 2, low);
                    }
                }
            })
        })
        .long()
    };
    vec![row(1.0), row(2.0), row(8.0)]
}

const REQUESTS: u64 = 10_000;

/// A start of which so large a share of requests takes 2 ms, each by chance, and the others 1.
fn start(share: f64, chance: &mut Chance) -> SparseHistogram {
    // The gaps between those beyond are geometric; without any the first has no end.
    let (mut at, mut beyond) = (0.0, 0);
    loop {
        at += (chance.exponential() / (1.0 - share).ln().abs()).ceil().max(1.0);
        if at > crate::median::real(REQUESTS) {
            break;
        }
        beyond += 1;
    }
    SparseHistogram::of_values(
        (0..REQUESTS).map(|i| if i < REQUESTS - beyond { 1_000_000 } else { 2_000_000 }),
    )
}

/// `p99<1.5ms` over starts whose shares beyond it are these.
fn threshold(
    situation: impl Into<String>,
    starts: u32,
    counts: &[(&'static str, Bar)],
    share: impl Fn(&mut Chance) -> f64 + Copy + Sync + 'static,
) -> Row {
    Row::new(situation, counts, move || -> Player {
        let mut log = log(&["a"], 1, starts);
        let slo = [Slo::parse("p99<1.5ms").expect("it is a threshold")];
        Box::new(move |chance, tally| {
            for trial in log.results.iter_mut().filter_map(|result| result.trial.as_mut()) {
                trial.latency.response.hdr = start(share(chance), chance);
                trial.requests.completed = REQUESTS;
            }
            let held = hold_run(&slo, &log).remove(0).held;
            tally.count(0, held.decision == Decision::Met);
            tally.count(1, held.decision == Decision::Missed);
            tally.count(2, !held.seen.contains("% of starts may differ"));
        })
    })
}

fn thresholds() -> Vec<Row> {
    let unsaid = ("the line does not say how many starts may differ", NEVER);
    let most = |most: f64| [("MET", Bar::AtMost(most)), ("MISSED", Bar::AtMost(most)), unsaid];
    let mut rows = vec![
        threshold("p99 threshold, 6 starts alike, exactly 1 % of requests beyond", 6, &most(0.05), |_| 0.01),
        threshold(
            "p99 threshold, 6 starts alike but for 20 %, 1 % of requests beyond",
            6,
            &most(0.05),
            |chance| (0.01 * (1.0 + 0.2 * chance.normal())).max(0.0),
        ),
    ];
    let shown = [("MET", Bar::None), ("MISSED", Bar::None), unsaid];
    for starts in [6, 20, 60] {
        let situation =
            format!("p99 threshold, {starts} starts, of which one in 20 has half of its requests beyond");
        rows.push(threshold(
            situation,
            starts,
            &shown,
            |chance| if chance.uniform() < 0.05 { 0.5 } else { 0.001 },
        ));
    }
    // Shares of 0.8 % where 1 % is allowed: what fewer starts decide is the bar of more.
    let more_decide =
        [(3, Bar::None), (6, Bar::AtLeast(0.05)), (12, Bar::AtLeast(0.60)), (24, Bar::AtLeast(0.90))];
    for (starts, met) in more_decide {
        let counts = [("MET", met), ("MISSED", Bar::AtMost(0.05)), unsaid];
        let situation =
            format!("p99 threshold, {starts} starts alike but for 20 %, 0.8 % of requests beyond");
        rows.push(threshold(situation, starts, &counts, |chance| {
            (0.008 * (1.0 + 0.2 * chance.normal())).max(0.0)
        }));
    }
    rows
}
