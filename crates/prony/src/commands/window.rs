//! `-d auto`: the window, by the rate of -R or of a load before the run, whose result is kept nowhere.

use std::time::Duration;

use prony_analysis::slo::Slo;
use prony_analysis::window::{BLOCKS, Chosen, PILOT, choose};
use prony_lab::bench::{self, BenchSetup, Loads};
use prony_load::{Control, Interrupt};
use prony_model::Plan;
use prony_model::options::LoadOptions;
use prony_model::units::{WindowValue, show_duration};

use crate::failure::{Failure, INTERRUPTED};
use crate::printer::Printer;

/// These options with a pilot's window, where a pilot, or a rate, is to choose it: a fleet makes no pilot.
pub(super) fn piloted(options: &LoadOptions, by_fleet: bool) -> Result<Option<LoadOptions>, Failure> {
    let piloted = options.pilot(PILOT).map_err(Failure::usage)?;
    if piloted.is_some() && by_fleet && options.rate.is_none() {
        return Err(Failure::usage(
            "-d auto cannot be used with --fleet unless -R says the rate: give a time, as -d 10s.",
        ));
    }
    Ok(piloted)
}

/// Whether `-d auto` is asked for.
pub(super) fn is_auto(options: &LoadOptions) -> bool {
    options.duration == Some(WindowValue::Auto)
}

/// Sets a load's window.
pub(super) fn of_load(
    plan: &mut Plan,
    options: &LoadOptions,
    slos: &[Slo],
    control: &Control,
) -> Result<String, Failure> {
    let rate = match plan.arrivals.rate() {
        Some(rate) => (rate.as_per_s(), "which -R asks for"),
        None => (prony_load::run(plan, control, &mut |_| ())?.ended_per_s(), "by a load of 1s before"),
    };
    if control.stop_asked() {
        return Err(Failure::code(INTERRUPTED));
    }
    let Chosen { window, why } = choose(rate, slos, &|_| true).map_err(Failure::usage)?;
    plan.measure_for(window, options.warmup.map(|warmup| warmup.0));
    Ok(why)
}

/// Sets the window of a bench of `--candidate`, in which six blocks fit its budget.
pub(super) fn of_bench(
    setup: &mut BenchSetup,
    options: &LoadOptions,
    slos: &[Slo],
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<(), Failure> {
    let at = setup.experiment.plans.first().and_then(|plan| plan.load.arrivals.rate());
    let rate = match at {
        Some(rate) => (rate.as_per_s(), "which -R asks for"),
        None => {
            let rate = bench::pilot(setup, Loads::new(&prony_load::run), interrupt);
            (rate.map_err(super::bench::failure)?, "of the slowest candidate, by a load of 1s before")
        }
    };
    if interrupt.asked() {
        return Err(Failure::code(INTERRUPTED));
    }
    let warmup = options.warmup.map(|warmup| warmup.0);
    let with = |window: Duration| {
        let mut setup = setup.clone();
        setup.experiment.plans.iter_mut().for_each(|plan| plan.load.measure_for(window, warmup));
        setup
    };
    let blocks = BLOCKS.min(setup.experiment.blocks.max);
    let fits = |window: Duration| {
        let total = with(window).forecast(blocks).total;
        setup.experiment.budget.is_none_or(|budget| total <= budget)
    };
    let Chosen { window, why } = choose(rate, slos, &fits).map_err(Failure::usage)?;
    printer.note(&why);
    *setup = with(window);
    setup.reproduce = setup.reproduce.replace(" -d auto", &format!(" -d {}", show_duration(window)));
    Ok(())
}
