//! Histories whose bad commit is known, measured by simulation and judged as runs are.

use prony_model::run_log::{Event, EventKind, RunLog};

use super::*;
use crate::comparison::fail_if::parse;
use crate::comparison::{Options, choose_in, compare_candidates};
use crate::look::Level;
use crate::testing::noise;
use crate::testing::run::{Log, result};

const BLOCKS: u32 = 5;
const NAMES: [&str; 2] = ["base", "head"];

/// A line of commits, one of which makes the server slower. The first is known to be good.
struct Line {
    seed: u64,
    commits: usize,
    bad: usize,
    /// 0.15: requests take so much longer.
    step: f64,
    /// What a trial's throughput varies by.
    noise: f64,
    broken: Vec<usize>,
}

/// How a line was bisected.
struct Walk {
    bisection: Bisection,
    verdict: BisectionVerdict,
    blocks: u32,
}

impl Line {
    fn of(seed: u64, commits: usize, step: f64) -> Line {
        let bad =
            1 + usize::try_from(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33).unwrap() % (commits - 1);
        Line { seed, commits, bad, step, noise: 0.03, broken: Vec::new() }
    }

    /// The run of a revision beside the good one, with a session for each look.
    fn run(&self, revision: usize, looks: &[u32]) -> RunLog {
        let mut log = Log::new(&NAMES, *looks.last().unwrap()).0;
        let mut noise = noise(self.seed * 1_000 + revision as u64);
        for planned in log.header.order.clone() {
            let slower =
                if planned.candidate == "head" && revision >= self.bad { 1.0 + self.step } else { 1.0 };
            let rate = 1e6 / slower * (self.noise * noise.next().unwrap()).exp();
            let session = looks.iter().take_while(|until| planned.block >= **until).count();
            let mut result = result(planned, rate as u64);
            result.trial.as_mut().unwrap().started_at = at(session, "10");
            log.results.push(result);
        }
        let end = |(session, _)| Event {
            at: at(session, "50"),
            what: <&str>::from(EventKind::Finished).to_owned(),
            detail: String::new(),
            found: None,
        };
        log.events.extend(looks.iter().enumerate().map(end));
        log
    }

    /// Bisects with so many blocks at most.
    fn walk(&self, conditions: &str, budget: u32) -> Walk {
        let mut bisection = Bisection::new(parse(conditions).unwrap(), self.commits, BLOCKS);
        let mut looks: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut spent = 0;
        loop {
            let (revision, blocks) = match bisection.next() {
                Next::Ended(verdict) => return Walk { bisection, verdict, blocks: spent },
                Next::Measure { .. } if spent >= budget => {
                    return Walk { bisection, verdict: BisectionVerdict::Open, blocks: spent };
                }
                Next::Measure { revision, blocks } => (revision, blocks),
            };
            if self.broken.contains(&revision) {
                bisection.pass_over();
                continue;
            }
            if looks.last().is_none_or(|(of, _)| *of != revision) {
                assert!(looks.iter().all(|(of, _)| *of != revision), "{revision} is tried twice");
                looks.push((revision, Vec::new()));
            }
            let looked = &mut looks.last_mut().unwrap().1;
            spent += blocks - looked.last().unwrap_or(&0);
            looked.push(blocks);
            let log = self.run(revision, looked);
            let level = Level::look(looked.len() as u32);
            let named = NAMES.map(str::to_owned);
            let (base, head) = choose_in(&log, "run", &named).unwrap();
            let declared = fail_if::figures(bisection.conditions());
            let comparison =
                compare_candidates(base, head, &Options { declared, ..Options::default() }).unwrap();
            assert_eq!(
                (comparison.look, comparison.error),
                (level.look, level.error),
                "a look spends its part"
            );
            bisection.take(&comparison);
        }
    }
}

fn at(session: usize, minute: &str) -> String {
    format!("2026-01-01T{session:02}:{minute}:00.000Z")
}

#[test]
fn the_right_commit_is_found_in_38_of_40_histories() {
    let (mut right, mut blocks) = (0, 0);
    for seed in 1..=40 {
        let line = Line::of(seed, 20, 0.15);
        let walk = line.walk("slower", u32::MAX);
        let is_right = walk.verdict == BisectionVerdict::Found && walk.bisection.between().1 == line.bad;
        right += u32::from(is_right);
        blocks += walk.blocks;
    }
    println!("{right} of 40, by {} blocks each", blocks / 40);
    assert!(right >= 38, "{right} of 40");
    // Six revisions' first looks are 30 blocks: most of them decide at once.
    assert!(blocks <= 40 * 60, "{blocks} blocks");
}

#[test]
fn a_history_without_a_loss_names_no_commit() {
    let found = (1..=40).filter(|seed| {
        let walk = Line::of(*seed, 20, 0.0).walk("slower", u32::MAX);
        walk.bisection.dividing().is_some()
    });
    // 5 % of 40 are 2; more than 6 have a chance of 0.3 %.
    assert!(found.count() <= 6);
}

#[test]
fn a_commit_that_cannot_be_measured_is_passed_over() {
    let walk = |bad: usize, broken: &[usize]| {
        let line = Line { bad, noise: 0.001, broken: broken.to_vec(), ..Line::of(1, 20, 0.15) };
        let walk = line.walk("slower", u32::MAX);
        (walk.verdict, walk.bisection.between())
    };
    assert_eq!(walk(6, &[9, 10]), (BisectionVerdict::Found, (5, 6)), "the middle ones");
    assert_eq!(walk(6, &[5]), (BisectionVerdict::Open, (4, 6)), "the one before");
    assert_eq!(walk(6, &[6, 7]), (BisectionVerdict::Open, (5, 8)), "itself");
    assert_eq!(walk(6, &(1..19).collect::<Vec<_>>()), (BisectionVerdict::Open, (0, 19)), "all");
    assert_eq!(walk(1, &[]), (BisectionVerdict::Found, (0, 1)));
    assert_eq!(walk(19, &[]), (BisectionVerdict::Found, (18, 19)));
}

#[test]
fn a_bisection_that_is_stopped_is_open_between_two() {
    let line = Line { bad: 12, noise: 0.001, ..Line::of(1, 20, 0.15) };
    let walk = line.walk("slower", 2 * BLOCKS);
    assert_eq!((walk.verdict, walk.bisection.between()), (BisectionVerdict::Open, (9, 19)));
    let two = Line { commits: 2, bad: 1, ..line }.walk("slower", u32::MAX);
    assert_eq!((two.verdict, two.bisection.between()), (BisectionVerdict::Found, (0, 1)));
}

#[test]
fn half_of_the_loss_divides_unless_a_limit_is_given() {
    let line = Line { bad: 12, noise: 1e-6, ..Line::of(1, 20, 0.15) };
    let dividing = |conditions: &str| {
        let walk = line.walk(conditions, u32::MAX);
        (walk.bisection.between(), walk.bisection.dividing().map(|condition| condition.to_string()))
    };
    // 1.15^(−1/2) = 0.9325; requests take 7.24 % longer, of which rates know nothing here.
    assert_eq!(dividing("slower"), ((11, 12), Some("throughput<-6.75%".to_owned())));
    assert_eq!(dividing("throughput<-10%"), ((11, 12), Some("throughput<-10%".to_owned())));
    assert_eq!(dividing("throughput<-14%"), ((0, 19), None), "the loss is 13 %");
}

#[test]
fn an_undecided_revision_is_looked_at_five_times() {
    // Half of the loss at every commit of a slow decline is where the middle lies.
    let mut bisection = Bisection::new(parse("slower").unwrap(), 9, BLOCKS);
    let open = Reading::Open(Vec::new());
    let mut asked = Vec::new();
    while let Next::Measure { revision: 8, blocks } = bisection.next() {
        asked.push(blocks);
        bisection.hear(&open);
    }
    assert_eq!(asked, [5, 10, 20, 40, 80]);
    assert_eq!(bisection.next(), Next::Ended(BisectionVerdict::Open));
    let mut same = Bisection::new(parse("slower").unwrap(), 9, BLOCKS);
    same.hear(&Reading::Good);
    assert_eq!(same.next(), Next::Ended(BisectionVerdict::NotWorse));
}
