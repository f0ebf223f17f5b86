//! `prony load --repeat N`: the same load again and again, and what all of them say together.

use std::thread;
use std::time::Duration;

use prony_analysis::repeat::Repeat;
use prony_model::Trial;
use prony_report::terminal::{self, TerminalOptions};
use prony_report::{format, json};

use super::super::{thresholds, write_file};
use super::{Log, Scene, append, is_embedded, log_of};
use crate::cli::LoadArguments;
use crate::failure::Failure;

/// Between two trials, so that a server can see the last connections closed and end what it still
/// does for requests that were under way: each warm-up begins on an idle one.
const PAUSE: Duration = Duration::from_millis(200);

/// How often, where it is more than once.
///
/// # Errors
/// A sentence where a flag is of one load only.
pub(super) fn times(arguments: &LoadArguments) -> Result<Option<u32>, Failure> {
    let Some(times) = arguments.repeat.filter(|times| *times > 1) else { return Ok(None) };
    let of_one = [
        ("--export", !arguments.export.is_empty()),
        ("--web", arguments.web.is_some()),
        ("--metrics", arguments.metrics.is_some()),
        ("--plot", arguments.plot),
    ];
    match of_one.iter().find(|(_, given)| *given) {
        None => Ok(Some(times)),
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} shows one load and --repeat {times} makes {times}: leave one of both out. With -o FILE all are \
             kept, and `prony report FILE` shows each."
        ))),
    }
}

/// Loads so often, tells of each, and then of all.
pub(super) fn run(
    arguments: &LoadArguments,
    times: u32,
    scene: &Scene<'_>,
    mut log: Option<&mut Log>,
) -> Result<(), Failure> {
    let mut trials: Vec<Trial> = Vec::new();
    let mut failed = None;
    for nth in 1..=times {
        if nth > 1 {
            thread::sleep(PAUSE);
        }
        if scene.control.stop_asked() {
            break;
        }
        match scene.measure(arguments, &format!("{nth}/{times} · "), &mut |_| ()) {
            Ok((observed, trial)) => {
                tell(arguments, (nth, times), &trial, scene);
                if let Some(log) = &mut log {
                    append(log, arguments, observed, &trial)?;
                }
                trials.push(trial);
            }
            Err(why) => {
                failed = Some(Failure::from(why));
                break;
            }
        }
    }
    let Some(together) = log_of(arguments, &trials) else {
        return Err(failed.unwrap_or_else(Failure::interrupted));
    };
    let repeat = Repeat::of(&together, times);
    publish(arguments, &repeat, scene)?;
    if let Some(failed) = failed.filter(|_| !scene.control.stop_asked()) {
        return Err(failed);
    }
    if scene.control.stop_asked() {
        return Err(Failure::interrupted());
    }
    if repeat.counted == 0 || repeat.completed == 0 {
        return Err(Failure::nothing_valid());
    }
    if arguments.json.as_deref() == Some("-") {
        let held: Vec<_> = prony_analysis::slo_run::hold_run(scene.slos, &together);
        let held: Vec<_> = held.into_iter().map(|of| of.held).collect();
        return thresholds::conclude(&held, arguments.strict);
    }
    thresholds::of_run(scene.slos, &together, arguments.strict, scene.printer)
}

/// A trial's first line, with its number.
fn tell(arguments: &LoadArguments, (nth, times): (u32, u32), trial: &Trial, scene: &Scene<'_>) {
    if arguments.json.as_deref() == Some("-") || arguments.quiet {
        return;
    }
    let options = TerminalOptions { color: scene.printer.color(), ..TerminalOptions::default() };
    let digits = times.to_string().len();
    let text = terminal::trial(trial, &options);
    scene.printer.out(&format!("{nth:>digits$}/{times}  {}", text.lines().next().unwrap_or_default()));
}

fn publish(arguments: &LoadArguments, repeat: &Repeat, scene: &Scene<'_>) -> Result<(), Failure> {
    let printer = scene.printer;
    let to_stdout = arguments.json.as_deref() == Some("-");
    if let Some(path) = &arguments.json {
        let text = json::repeat(repeat);
        if to_stdout { printer.out(&text) } else { write_file(path, &text)? }
    }
    if to_stdout {
        return Ok(());
    }
    let options = TerminalOptions { color: printer.color(), ..TerminalOptions::default() };
    let text = terminal::repeat(repeat, &options);
    if arguments.quiet {
        printer.out(text.lines().next().unwrap_or_default());
        return Ok(());
    }
    printer.out(&text);
    let kept = arguments.output.as_deref();
    let next = match kept {
        Some(path) => format!(" Next  prony compare OTHER.jsonl {}", format::printable(path)),
        None if is_embedded(arguments) => return Ok(()),
        None => {
            " Next  the same with -o A.jsonl, the other with -o B.jsonl, then prony compare A.jsonl B.jsonl"
                .to_owned()
        }
    };
    printer.out(&next);
    Ok(())
}
