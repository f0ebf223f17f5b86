//! `--slo`: thresholds of a command line, and the exit code that they make.

use prony_analysis::slo::{Decision, Slo, SloRecord};

use crate::failure::Failure;

/// The thresholds, or a sentence about the first that is none.
pub(crate) fn parse(texts: &[String]) -> Result<Vec<Slo>, Failure> {
    texts.iter().map(|text| Slo::parse(text).map_err(|e| Failure::usage(format!("--slo {e}")))).collect()
}

/// Exit code 1 where one was missed; with `strict` also where one is undecided.
pub(crate) fn conclude(slos: &[SloRecord], strict: bool) -> Result<(), Failure> {
    let fails = |slo: &SloRecord| match slo.decision {
        Decision::Met => false,
        Decision::Undecided => strict,
        Decision::Missed => true,
    };
    if slos.iter().any(fails) { Err(Failure::missed()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slo(decision: Decision) -> SloRecord {
        SloRecord { slo: String::new(), decision, seen: String::new(), to_decide: None }
    }

    #[test]
    fn undecided_fails_only_when_it_is_to() {
        let code = |all: &[SloRecord], strict| conclude(all, strict).err().map(|f| f.code);
        let (met, missed, undecided) = (slo(Decision::Met), slo(Decision::Missed), slo(Decision::Undecided));
        assert_eq!(code(&[], true), None);
        assert_eq!(code(std::slice::from_ref(&met), true), None);
        assert_eq!(code(&[met.clone(), undecided.clone()], false), None);
        assert_eq!(code(&[met.clone(), undecided], true), Some(1));
        assert_eq!(code(&[met, missed], false), Some(1));
    }
}
