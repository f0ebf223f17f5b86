//! `--slo`: thresholds of a command line, and the exit code that they make.

use prony_analysis::slo::{Decision, Slo, SloRecord};
use prony_analysis::slo_run::{RunSlo, hold_run};
use prony_model::run_log::RunLog;
use prony_report::terminal;

use crate::failure::{Failure, MISSED};
use crate::printer::Printer;

/// The thresholds, or why the first that is wrong is none.
pub(crate) fn parse(texts: &[String]) -> Result<Vec<Slo>, Failure> {
    texts.iter().map(|text| Slo::parse(text).map_err(|e| Failure::usage(format!("--slo {e}")))).collect()
}

/// Exit code 1 where one was missed; with `strict` also where one is undecided.
pub(crate) fn conclude(slos: &[SloRecord], strict: bool) -> Result<(), Failure> {
    let fails = |decision| decision == Decision::Missed || (strict && decision == Decision::Undecided);
    if slos.iter().any(|slo| fails(slo.decision)) { Err(Failure::code(MISSED)) } else { Ok(()) }
}

/// Prints the thresholds' decisions per candidate and plan, after everything else of a run.
pub(crate) fn of_run(slos: &[Slo], log: &RunLog, strict: bool, printer: &Printer) -> Result<(), Failure> {
    if slos.is_empty() {
        return Ok(());
    }
    let records: Vec<SloRecord> = hold_run(slos, log)
        .into_iter()
        .map(|RunSlo { plan, candidate, held }| SloRecord {
            slo: held.slo.clone(),
            seen: format!("{candidate} under {plan}: {}", held.seen),
            ..held
        })
        .collect();
    printer.out(&terminal::thresholds(&records, &printer.options()));
    conclude(&records, strict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slo(decision: Decision) -> SloRecord {
        SloRecord { slo: String::new(), decision, seen: String::new(), to_decide: None }
    }

    #[test]
    fn an_undecided_threshold_fails_only_with_strict() {
        let code = |all: &[SloRecord], strict| conclude(all, strict).err().map(|f| f.code);
        let (met, missed, undecided) = (slo(Decision::Met), slo(Decision::Missed), slo(Decision::Undecided));
        assert_eq!(code(&[], true), None);
        assert_eq!(code(std::slice::from_ref(&met), true), None);
        assert_eq!(code(&[met.clone(), undecided.clone()], false), None);
        assert_eq!(code(&[met.clone(), undecided], true), Some(1));
        assert_eq!(code(&[met, missed], false), Some(1));
    }
}
