//! `-d auto`: the window, by the rate of -R or of a load before the run, which is kept nowhere.

use std::time::Duration;

use prony_analysis::slo::Slo;
use prony_analysis::window::{BLOCKS, choose};
use prony_lab::bench::{self, BenchSetup, Loads};
use prony_load::{Control, Interrupt};
use prony_model::Plan;
use prony_model::options::LoadOptions;
use prony_model::units::show_duration;

use super::reproduce;
use crate::failure::{Failure, INTERRUPTED};
use crate::printer::Printer;

/// Sets a load's window; by what, in a sentence.
pub(super) fn of_load(
    plan: &mut Plan,
    options: &LoadOptions,
    slos: &[Slo],
    control: &Control,
) -> Result<String, Failure> {
    let rate = match plan.arrivals.rate() {
        Some(rate) => rate.as_per_s(),
        None => prony_load::run(plan, control, &mut |_| ())?.ended_per_s(),
    };
    if control.stop_asked() {
        return Err(Failure::code(INTERRUPTED));
    }
    let (window, why) = choose(rate, slos, &|_| true).map_err(Failure::usage)?;
    plan.measure_for(window, options.warmup);
    Ok(why)
}

/// Sets the window of a bench of `--candidate`, in which six blocks fit its budget; by what, in a sentence.
pub(super) fn of_bench(
    setup: &mut BenchSetup,
    options: &LoadOptions,
    slos: &[Slo],
    redact: &[String],
    (interrupt, printer): (&Interrupt, &Printer),
) -> Result<String, Failure> {
    let rate = match setup.experiment.plans.first().and_then(|plan| plan.load.arrivals.rate()) {
        Some(rate) => rate.as_per_s(),
        None => {
            let piloted = bench::pilot(setup, Loads::new(&prony_load::run), interrupt);
            // Whatever else came of it.
            if interrupt.asked() {
                return Err(Failure::code(INTERRUPTED));
            }
            let (rate, ended) = piloted.map_err(super::bench::failure)?;
            ended.iter().for_each(|what| printer.note(what));
            rate
        }
    };
    let with = |window: Duration| {
        let mut setup = setup.clone();
        setup.experiment.plans.iter_mut().for_each(|plan| plan.load.measure_for(window, options.warmup));
        setup.reproduce = reproduce::with_window(redact, &show_duration(window));
        setup
    };
    let blocks = BLOCKS.min(setup.experiment.blocks.max);
    let budget = setup.experiment.budget.unwrap_or(Duration::MAX);
    let chosen = choose(rate, slos, &|window| with(window).forecast(blocks).total <= budget);
    let (window, why) = chosen.map_err(Failure::usage)?;
    *setup = with(window);
    Ok(why)
}
