//! After a comparison of two in which CPU per request grew: which functions it is.

use prony_analysis::comparison::{Options, choose_in, compare_candidates};
use prony_lab::bench::{BenchSetup, Loads, fit_for_profile, profile};
use prony_lab::profile::Perf;
use prony_load::{Interrupt, Loader};

use super::failure;
use crate::cli::{BenchArguments, ProfileWhen};
use crate::failure::Failure;
use crate::printer::Printer;

/// Whether, and by what: what was asked for is found before the run, and what is only offered after it.
pub(super) enum Wanted {
    Never,
    WhereGrown,
    By(Perf),
}

impl Wanted {
    pub(super) fn of(arguments: &BenchArguments, setup: &BenchSetup) -> Result<Wanted, Failure> {
        let refused = |why: String| Failure::usage(format!("--profile: {why}"));
        match (arguments.profile, fit_for_profile(setup)) {
            (ProfileWhen::Never, _) | (ProfileWhen::Grown, false) => Ok(Wanted::Never),
            (ProfileWhen::Grown, true) => Ok(Wanted::WhereGrown),
            (ProfileWhen::Always, true) => Perf::find().map(Wanted::By).map_err(refused),
            (ProfileWhen::Always, false) => Err(refused(
                "two candidates are profiled that Prony starts as processes of this machine, under plans that are loads."
                    .to_owned(),
            )),
        }
    }

    pub(super) fn after(
        self,
        setup: &BenchSetup,
        loader: &Loader<'_>,
        interrupt: &Interrupt,
        printer: &Printer,
    ) -> Result<(), Failure> {
        if matches!(self, Wanted::Never) {
            return Ok(());
        }
        let log = prony_analysis::run_log::read(&setup.log)?;
        let both = choose_in(&log, "this run", &[]);
        let Ok(comparison) = both.and_then(|(a, b)| compare_candidates(a, b, &Options::default())) else {
            return Ok(());
        };
        let grew = comparison.cpu_grew();
        let perf = match (self, grew) {
            (Wanted::By(perf), _) => perf,
            (Wanted::WhereGrown, Some(_)) => match Perf::find() {
                Ok(perf) => perf,
                Err(why) => {
                    printer
                        .note(&format!("CPU per request grew; which functions it is, perf can tell: {why}"));
                    return Ok(());
                }
            },
            _ => return Ok(()),
        };
        printer.note("Profiling both by perf: one more trial of each, which counts for no figure.");
        let why = profile(setup, (&perf, grew), Loads::new(loader), interrupt).map_err(failure)?;
        if let Some(why) = why {
            printer.note(&format!("Not profiled: {why}"));
        }
        Ok(())
    }
}
