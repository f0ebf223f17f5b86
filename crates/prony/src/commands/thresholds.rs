//! `--slo`: thresholds of a command line, and the exit code that they make.

use prony_analysis::precision::SequentialStop;
use prony_analysis::slo::{Decision, Slo, SloRecord};
use prony_analysis::slo_run::{RunSlo, hold_run};
use prony_model::run_log::RunLog;
use prony_report::terminal;

use crate::failure::{Failure, MISSED, NOT_JUDGED};
use crate::printer::Printer;

/// The thresholds, or why the first that is wrong is none.
pub(crate) fn parse(texts: &[String]) -> Result<Vec<Slo>, Failure> {
    texts.iter().map(|text| Slo::parse(text).map_err(|e| Failure::usage(format!("--slo {e}")))).collect()
}

/// Exit code 1 where one was missed, with `strict` also where one is undecided; 4 where something was not judged.
pub(crate) fn conclude(slos: &[SloRecord], not_judged: &[String], strict: bool) -> Result<(), Failure> {
    let fails = |slo: &SloRecord| {
        slo.decision == Decision::Missed || (strict && slo.decision == Decision::Undecided && !slo.not_judged)
    };
    if slos.iter().any(fails) {
        return Err(Failure::code(MISSED));
    }
    if not_judged.is_empty() { Ok(()) } else { Err(Failure::code(NOT_JUDGED)) }
}

pub(crate) fn not_judged(slos: &[SloRecord]) -> Vec<String> {
    slos.iter().filter_map(SloRecord::not_judged).collect()
}

pub(crate) fn print_not_judged(said: &[String], quiet: bool, printer: &Printer) {
    let mut options = printer.options();
    if quiet {
        // In one line, however long.
        options.width = usize::from(u16::MAX);
    }
    if !said.is_empty() {
        printer.out(&terminal::not_judged(said, &options));
    }
}

pub(crate) fn of_run(slos: &[Slo], log: &RunLog) -> Vec<SloRecord> {
    let named = |RunSlo { plan, candidate, held }: RunSlo| SloRecord {
        seen: format!("{candidate} under {plan}: {}", held.seen),
        ..held
    };
    hold_run(slos, log).into_iter().map(named).collect()
}

/// Why a precision that was asked for could not be judged: no two trials that count have a throughput to compare.
pub(crate) fn precision_not_judged(asked: bool, log: &RunLog) -> Option<String> {
    let widest = SequentialStop::of(log).widest(log.header.baseline.as_deref());
    (asked && widest.is_none_or(|widest| widest.half_width.is_infinite())).then(|| {
        "--precision: no throughput has an interval: its trials are too few, do not count, or were limited by the client"
            .to_owned()
    })
}

pub(crate) fn print(slos: &[SloRecord], printer: &Printer) {
    if !slos.is_empty() {
        printer.out(&terminal::thresholds(slos, &printer.options()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slo(decision: Decision) -> SloRecord {
        SloRecord { slo: String::new(), decision, not_judged: false, seen: String::new(), to_decide: None }
    }

    #[test]
    fn an_undecided_threshold_fails_only_with_strict() {
        let code = |all: &[SloRecord], strict| conclude(all, &not_judged(all), strict).err().map(|f| f.code);
        let (met, missed, undecided) = (slo(Decision::Met), slo(Decision::Missed), slo(Decision::Undecided));
        assert_eq!(code(&[], true), None);
        assert_eq!(code(std::slice::from_ref(&met), true), None);
        assert_eq!(code(&[met.clone(), undecided.clone()], false), None);
        assert_eq!(code(&[met.clone(), undecided.clone()], true), Some(1));
        assert_eq!(code(&[met.clone(), missed.clone()], false), Some(1));
        let withheld = SloRecord { not_judged: true, ..undecided.clone() };
        assert_eq!(code(&[met, withheld.clone()], false), Some(4));
        assert_eq!(code(std::slice::from_ref(&withheld), true), Some(4));
        assert_eq!(code(&[withheld.clone(), undecided], true), Some(1));
        assert_eq!(code(&[withheld, missed], false), Some(1));
    }
}
