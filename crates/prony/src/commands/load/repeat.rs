//! `prony load --repeat N`: the same load several times, and the result over all.

use std::thread;
use std::time::Duration;

use prony_analysis::repeat::Repeat;
use prony_model::plan::seed_of;
use prony_model::{Plan, Trial};
use prony_report::format;
use prony_report::terminal;

use super::super::{thresholds, write_json};
use super::{LoadContext, Log};
use crate::cli::LoadArguments;
use crate::failure::{Failure, INTERRUPTED, NOT_MEASURED};

/// Between two trials, so that a server finishes what is in flight: each warm-up begins on an idle one.
const PAUSE: Duration = Duration::from_millis(200);

/// How often, where it is more than once.
pub(super) fn times(arguments: &LoadArguments) -> Result<Option<u32>, Failure> {
    let Some(times) = arguments.repeat.filter(|times| *times > 1) else { return Ok(None) };
    let of_one = [
        ("--export", !arguments.export.is_empty()),
        ("--web", arguments.web.is_some()),
        ("--metrics", arguments.metrics.is_some()),
        ("--otlp", arguments.otlp.is_some()),
        ("--plot", arguments.plot),
    ];
    match of_one.iter().find(|(_, given)| *given) {
        None => Ok(Some(times)),
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} shows one load and --repeat {times} makes {times}: leave one of the two out. With -o FILE every \
             trial is kept, and `prony report FILE` shows each."
        ))),
    }
}

pub(super) fn run(times: u32, context: &LoadContext<'_>, mut log: Option<&mut Log>) -> Result<(), Failure> {
    let arguments = context.arguments;
    let mut trials: Vec<Trial> = Vec::new();
    let mut failed = None;
    for nth in 1..=times {
        if nth > 1 {
            thread::sleep(PAUSE);
        }
        if context.control.stop_asked() {
            break;
        }
        // Repetitions of one sequence of arrivals would be one sample of it.
        let plan = Plan { seed: seed_of(context.plan.seed, nth - 1), ..context.plan.clone() };
        match context.measure(&plan, &format!("{nth}/{times} · "), &mut |_| ()) {
            Ok((observed, trial)) => {
                print_line((nth, times), &trial, context);
                if let Some(log) = &mut log {
                    context.append(log, observed, &trial)?;
                }
                trials.push(trial);
            }
            Err(why) => {
                failed = Some(Failure::from(why));
                break;
            }
        }
    }
    let Some(together) = context.run_log(&trials) else {
        return Err(failed.unwrap_or_else(|| Failure::code(INTERRUPTED)));
    };
    let repeat = Repeat::of(&together, times);
    let held = thresholds::of_run(context.slos, &together);
    let not_judged = thresholds::not_judged(&held);
    let is_json = arguments.common.json.as_deref() == Some("-");
    if !is_json {
        thresholds::print_not_judged(&not_judged, arguments.common.quiet, context.printer);
    }
    publish(&repeat, context)?;
    if context.control.stop_asked() {
        return Err(Failure::code(INTERRUPTED));
    }
    if let Some(failed) = failed {
        return Err(failed);
    }
    if repeat.counted == 0 || repeat.completed == 0 {
        return Err(Failure::code(NOT_MEASURED));
    }
    if !is_json {
        thresholds::print(&held, context.printer);
    }
    thresholds::conclude(&held, &not_judged, arguments.strict)
}

/// A trial's first line, with its number, and what a watched server cost in it.
fn print_line((nth, times): (u32, u32), trial: &Trial, context: &LoadContext<'_>) {
    if context.arguments.common.json.as_deref() == Some("-") || context.arguments.common.quiet {
        return;
    }
    let digits = times.to_string().len();
    let text = terminal::trial(trial, &context.printer.options());
    context.printer.out(&format!("{nth:>digits$}/{times}  {}", text.lines().next().unwrap_or_default()));
    if let Some(line) = terminal::server_line(trial) {
        let below = 2 * digits + 3;
        context.printer.out(&format!("{:below$}{line}", ""));
    }
}

fn publish(repeat: &Repeat, context: &LoadContext<'_>) -> Result<(), Failure> {
    let (common, printer) = (&context.arguments.common, context.printer);
    if write_json(common.json.as_deref(), repeat, printer)? {
        return Ok(());
    }
    let text = terminal::repeat(repeat, &printer.options());
    if common.quiet {
        printer.out(text.lines().next().unwrap_or_default());
        return Ok(());
    }
    printer.out(&text);
    let next = match common.output.as_deref() {
        Some(path) => format!(" Next  prony compare OTHER.jsonl {}", format::printable(path)),
        None if context.arguments.common.is_embedded() => return Ok(()),
        None => {
            " Next  the same with -o A.jsonl, the other load with -o B.jsonl, then prony compare A.jsonl B.jsonl"
                .to_owned()
        }
    };
    printer.out(&next);
    Ok(())
}
