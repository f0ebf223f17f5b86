//! A machine on which another program takes half of the server's CPU, in bursts, a fifth of the time.

use std::time::Duration;

use prony_analysis::comparison::{Options, RunCandidate, compare_candidates};
use prony_analysis::figure::Figure;
use prony_analysis::repeats::resolve;
use prony_lab::bench::repeats::Repeats;
use prony_model::Estimate;
use prony_model::code::Code;
use prony_model::run_log::{RunLog, TrialResult};

use super::chance::Chance;
use super::counted::{Bar, Player, Row};
use super::runs::{holds, log, set};

/// Seconds of a burst at least, and what they are longer in the mean.
const BURST_S: (f64, f64) = (10.0, 5.0);
/// The share of time that bursts take.
const BUSY: f64 = 0.2;
/// What a burst takes of the server's CPU, and so of its throughput.
const TAKEN: f64 = 0.5;
/// A server's start and stop, and a load's warm-up and window.
const START_S: f64 = 1.0;
const LOAD_S: (f64, f64) = (1.0, 10.0);
/// A load waits so long at most for an idle second; all together by a share of the time under load.
const WAIT_S: f64 = 10.0;
const WAIT_SHARE: f64 = 0.15;
const NOISE: f64 = 0.02;
/// B's throughput over A's.
const RATIO: f64 = 0.97;

struct Bursts {
    from: f64,
    until: f64,
}

impl Bursts {
    fn new(chance: &mut Chance) -> Bursts {
        let mut bursts = Bursts { from: 0.0, until: 0.0 };
        // Long ago, so that where it begins is by chance.
        bursts.pass(-1_000.0 * chance.uniform(), chance);
        bursts
    }

    /// The next burst that is not over at this instant.
    fn pass(&mut self, at: f64, chance: &mut Chance) {
        let mean = (BURST_S.0 + BURST_S.1) * (1.0 - BUSY) / BUSY;
        while self.until <= at {
            self.from = self.until.max(at - 1_000.0) + mean * chance.exponential();
            self.until = self.from + BURST_S.0 + BURST_S.1 * chance.exponential();
        }
    }

    fn within(&mut self, from: f64, to: f64, chance: &mut Chance) -> f64 {
        let (mut at, mut sum) = (from, 0.0);
        while at < to {
            self.pass(at, chance);
            sum += (self.until.min(to) - self.from.clamp(at, to)).max(0.0);
            at = self.until;
        }
        sum
    }
}

/// A run on such a machine, or on a quiet one.
struct Machine {
    bursts: Option<Bursts>,
    now: f64,
    may_wait: f64,
    /// Whether `--budget` has time for every repeat, or they take 15 % of the load time at most.
    budget: bool,
}

impl Machine {
    /// Loads once: the trial's figures, and whether it was disturbed.
    fn load(&mut self, result: &mut TrialResult, chance: &mut Chance) {
        let own = if result.planned.candidate == "b" { RATIO.ln() } else { 0.0 } + NOISE * chance.normal();
        let trial = result.trial.as_mut().expect("all have one");
        trial.verdict.reasons.clear();
        self.now += START_S;
        let mut lost = 0.0;
        if let Some(bursts) = &mut self.bursts {
            bursts.pass(self.now, chance);
            if bursts.from <= self.now {
                let wait = (bursts.until + 1.0 - self.now).min(WAIT_S).min(self.may_wait);
                (self.now, self.may_wait) = (self.now + wait, self.may_wait - wait);
            }
            let from = self.now + LOAD_S.0;
            lost = TAKEN * bursts.within(from, from + LOAD_S.1, chance) / LOAD_S.1;
            if lost > prony_analysis::verdict::OTHERS_MAX {
                trial.verdict.reasons.push(Code::HostNoisy.reason(String::new()).with("others_share", lost));
            }
        }
        self.now += LOAD_S.0 + LOAD_S.1;
        set(trial, [own + (1.0 - lost).ln(); 3]);
    }

    fn run(&mut self, template: &RunLog, chance: &mut Chance) -> RunLog {
        let mut log = RunLog { results: Vec::new(), ..template.clone() };
        let mut repeats = Repeats::default();
        let load = Duration::from_secs_f64(LOAD_S.0 + LOAD_S.1);
        for block in 0..=template.header.blocks {
            let before = (block < template.header.blocks).then_some(block);
            while let Some(planned) = repeats.next(before).filter(|_| self.budget || repeats.allows(load)) {
                let mut again = TrialResult { planned, ..template.results[0].clone() };
                self.load(&mut again, chance);
                repeats.take(&again);
                log.results.push(again);
            }
            repeats.end_block(before);
            for first in template.results.iter().filter(|result| result.planned.block == block) {
                let mut first = first.clone();
                self.load(&mut first, chance);
                repeats.take(&first);
                log.results.push(first);
            }
        }
        resolve(&mut log);
        log
    }
}

fn ratio(log: &RunLog) -> Option<Estimate> {
    let of = |candidate| RunCandidate { log, run: "run.jsonl", candidate };
    let mut found = compare_candidates(of("a"), of("b"), &Options::default()).ok()?;
    let figures = found.plans.remove(0).figures;
    figures.into_iter().find(|found| found.figure == Figure::THROUGHPUT)?.ratio
}

pub(crate) fn rows() -> Vec<Row> {
    let row = |blocks: u32, budget: bool, narrow: Bar| {
        let counts = [
            ("the ratio's interval holds the truth", Bar::AtLeast(0.93)),
            ("it is at most 1.25 times as wide as on a quiet machine", narrow),
            ("a disturbed trial is left", Bar::None),
        ];
        let with = if budget { "with `--budget` for every repeat" } else { "repeats within 15 %" };
        let situation = format!(
            "another program takes half of the CPU, in bursts, a fifth of the time; {blocks} blocks, {with}"
        );
        Row::new(situation, &counts, move || -> Player {
            let mut template = log(&["a", "b"], 1, blocks);
            for trial in template.results.iter_mut().filter_map(|result| result.trial.as_mut()) {
                (trial.window.duration_ns, trial.plan.warmup_ns) = (10_000_000_000, 1_000_000_000);
            }
            let may_wait = WAIT_SHARE * (LOAD_S.0 + LOAD_S.1) * f64::from(2 * blocks);
            Box::new(move |chance, tally| {
                let bursts = Some(Bursts::new(chance));
                let busy = Machine { bursts, now: 0.0, may_wait, budget }.run(&template, chance);
                let quiet = Machine { bursts: None, now: 0.0, may_wait, budget }.run(&template, chance);
                let width = |found: &Estimate| Some((found.ci_high? / found.ci_low?).ln());
                let found = ratio(&busy);
                tally.count(0, found.as_ref().and_then(|found| holds(found, RATIO)) == Some(true));
                let widths = found.as_ref().and_then(width).zip(ratio(&quiet).as_ref().and_then(width));
                tally.count(1, widths.is_some_and(|(busy, quiet)| busy <= 1.25 * quiet));
                let mut counting = busy.results.iter().filter_map(|result| result.trial.as_ref());
                tally.count(2, counting.any(prony_analysis::repeats::disturbed));
            })
        })
        .long()
    };
    // A fifth of the trials cannot be repeated in 15 % of the time.
    vec![
        row(6, true, Bar::AtLeast(0.50)),
        row(12, true, Bar::AtLeast(0.50)),
        row(6, false, Bar::None),
        row(12, false, Bar::None),
    ]
}
