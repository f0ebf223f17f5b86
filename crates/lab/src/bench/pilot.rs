//! `-d auto`: at what rate candidates answer, by a load of each that no log keeps.

use prony_load::Interrupt;
use prony_model::run_log::{EventKind, Line, RawResult};

use super::header::header;
use super::runner::Runner;
use super::{BenchError, BenchSetup, Loads};
use crate::experiment::Blocks;

/// Loads each candidate once: the slowest one's requests per second, and what processes were ended.
pub fn pilot(
    setup: &BenchSetup,
    loads: Loads<'_>,
    interrupt: &Interrupt,
) -> Result<(f64, Vec<String>), BenchError> {
    let mut setup = setup.clone();
    (setup.experiment.blocks, setup.experiment.budget) = (Blocks { min: 1, max: 1 }, None);
    (setup.experiment.controls, setup.experiment.precision) = (false, None);
    setup.repeats_disturbed = false;
    let mut results: Vec<RawResult> = Vec::new();
    let mut ended: Vec<String> = Vec::new();
    let mut keep = |line: Line| {
        match line {
            Line::Result(raw) => results.push(raw),
            Line::Event(event) if event.is_one_of(&[EventKind::CleanedUp, EventKind::Leftovers]) => {
                ended.push(event.detail);
            }
            _ => {}
        }
        Ok(())
    };
    let mut unheard = |_: &super::BenchEvent<'_>| ();
    let order = header(&setup).order;
    Runner::new(&setup, loads, interrupt, &mut unheard, &mut keep).run(&order, false)?;
    let rates = results.iter().filter_map(|raw| Some(raw.observed.as_ref()?.measurement.ended_per_s()));
    rates.reduce(f64::min).map(|rate| (rate, ended)).ok_or_else(|| {
        let why = results.iter().find_map(|raw| raw.failure.clone());
        BenchError::NoCandidates(why.unwrap_or_else(|| "none was loaded.".to_owned()))
    })
}
