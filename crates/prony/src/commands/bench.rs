//! `prony bench`: many servers, many settings, side by side.

mod adaptive;
pub(super) mod candidates;
mod duet;
mod setup;

use std::path::Path;
use std::time::{Duration, SystemTime};

use prony_analysis::experiment::analyse;
use prony_host::bench_lock::{self, BenchLock, LockError};
use prony_lab::bench::{BenchError, BenchEvent, BenchOutcome, BenchSetup, End};
use prony_load::Interrupt;
use prony_model::rfc3339;
use prony_model::run_log::RunLog;
use prony_model::units::{parse_duration, show_duration};
use prony_report::format::count;
use prony_report::page;
use prony_report::terminal::{self, TerminalOptions};

use super::report::html_path;
use super::thresholds;
use super::watch::{self, Watch};
use super::write_file;
use crate::cli::BenchArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::Printer;
use crate::tui::{BenchState, Live, Shows};

pub(crate) fn run(arguments: &BenchArguments, printer: &Printer) -> Result<(), Failure> {
    let setup = setup::setup(arguments, printer)?;
    let slos = thresholds::parse(&arguments.slo)?;
    if arguments.dry_run {
        printer.out(&setup::forecast(&setup, arguments)?);
        return Ok(());
    }
    for skipped in &setup.skipped {
        let mend = skipped.mend.as_deref().map_or(String::new(), |mend| format!(" Mend it with: {mend}"));
        printer.note(&format!("skipped  {}: {}{mend}", skipped.candidate, skipped.reason));
    }
    let interrupt = interrupt::of_a_run()?;
    let _lock = lock(&setup, arguments, &interrupt, printer)?;
    let cpus = &setup.pins.client;
    let watch = Watch::start(arguments.web.as_deref(), || watch::bench_head(&setup), cpus, printer)?
        .and_metrics(arguments.metrics.as_deref(), || watch::bench_rates(&setup), cpus, printer)?;
    let shows = Shows::here(arguments.quiet, arguments.plain);
    let mut live = Live::start(shows, BenchState::of(&setup, shows == Shows::Screen), cpus, printer);
    let mut hear = |event: &BenchEvent<'_>| {
        live.tell(|bench| bench.hear(event));
        watch.hear(event);
    };
    let outcome = prony_lab::bench::run(&setup, &prony_load::run, &interrupt, &mut hear);
    live.finish();
    match outcome {
        Ok(outcome) => {
            let log = conclude(&setup, &outcome, &watch, printer)?;
            thresholds::of_run(&slos, &log, arguments.strict, printer)
        }
        Err(why) => {
            watch.end(Err(why.to_string()));
            Err(failure(why))
        }
    }
}

/// Two benches at once would measure each other: the second waits, and says for whom.
fn lock(
    setup: &BenchSetup,
    arguments: &BenchArguments,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<BenchLock, Failure> {
    let patience = arguments.wait.as_deref().map(parse_duration).transpose()?;
    let since = rfc3339(SystemTime::now());
    let name = &setup.experiment.name;
    let mut waits = |holder: Option<&bench_lock::Holder>| {
        printer.note(&format!(
            "Another bench runs on this machine{}: waiting for its end. (--wait 1h bounds that.)",
            bench_lock::described(holder)
        ));
    };
    bench_lock::take(&bench_lock::path(), name, &since, patience, &|| interrupt.asked(), &mut waits).map_err(
        |why| match why {
            LockError::Interrupted => Failure::interrupted(),
            LockError::Taken(_) => {
                Failure::not_measured(format!("Nothing was measured within --wait: {why}"))
            }
        },
    )
}

/// A log that cannot be opened or resumed is the command's fault; the rest is the run's.
fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Open(_) | BenchError::Resume { .. } => Failure::usage(error),
        BenchError::Log(_) | BenchError::NoCandidates(_) | BenchError::RunDir { .. } => {
            Failure::not_measured(error)
        }
    }
}

/// Shows the run, and leaves the page beside its log.
fn conclude(
    setup: &BenchSetup,
    outcome: &BenchOutcome,
    watch: &Watch,
    printer: &Printer,
) -> Result<RunLog, Failure> {
    let log = prony_analysis::run_log::read(Path::new(&outcome.log))?;
    let analysis = analyse(&log);
    printer.out(&terminal::experiment(
        &analysis,
        &TerminalOptions { color: printer.color(), ..Default::default() },
    ));
    let mut made = format!("Run log: {}", outcome.log.display());
    if let Some(share) = outcome.share_under_load() {
        made = format!(
            "{} in {}: under load for {:.0} % of the time, warm-ups included; the rest is starts, stops and checks\n{made}",
            count(u64::from(outcome.trials), "trial", "trials"),
            show_duration(Duration::from_secs(outcome.elapsed.as_secs().max(1))),
            share * 100.0
        );
    }
    match page::report(&log) {
        Ok(html) => {
            let path = html_path(&outcome.log.to_string_lossy());
            write_file(&path, &html)?;
            made.push_str(&format!("\nReport:  {path}"));
        }
        Err(why) => printer.note(&format!("No HTML report: {why}")),
    }
    printer.out(&made);
    watch.end(Ok(&log));
    match outcome.end {
        End::Interrupted => {
            printer.note(&format!("Interrupted. Go on with: {}", setup::resume_command(setup)));
            Err(Failure::interrupted())
        }
        End::Finished | End::BudgetSpent | End::PrecisionReached
            if analysis.trials.valid + analysis.trials.lower_bound + analysis.trials.suspect == 0 =>
        {
            Err(Failure::not_measured(
                "Nothing valid was measured: the reasons stand above and in the run log.",
            ))
        }
        End::Finished | End::BudgetSpent | End::PrecisionReached => Ok(log),
    }
}
