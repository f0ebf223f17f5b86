//! `prony bench`: many servers, many settings, side by side.

mod adaptive;
pub(super) mod candidates;
mod controls;
mod duet;
mod forecast;
mod profile;
mod services;
mod setup;

use std::path::Path;
use std::time::SystemTime;

use prony_analysis::analyse;
use prony_host::bench_lock::{self, BenchLock, LockError};
use prony_lab::bench::{BenchError, BenchEvent, BenchOutcome, BenchSetup, End, Loads};
use prony_load::{Interrupt, Loader};
use prony_model::rfc3339;
use prony_model::run_log::RunLog;
use prony_model::units::parse_duration;
use prony_report::format::count;
use prony_report::page;
use prony_report::terminal;

use super::export::TrialLogs;
use super::fleet;
use super::report::html_path;
use super::reproduce;
use super::thresholds;
use super::watch::{self, Watch};
use super::window;
use super::write_file;
use crate::cli::BenchArguments;
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::otlp::Endpoint;
use crate::printer::Printer;
use crate::tui::{BenchState, Live, ProgressMode};
pub(super) use setup::default_log;

pub(crate) fn run(arguments: &BenchArguments, printer: &Printer) -> Result<(), Failure> {
    reproduce::check_own()?;
    let agents = fleet::agents(&arguments.fleet)?;
    let mut setup = setup::setup(arguments, agents.as_ref(), printer)?;
    let slos = thresholds::parse(&arguments.slo)?;
    if agents.is_some() && !arguments.export.is_empty() {
        return Err(Failure::usage(
            "Single requests (--export jtl) stay on the machine that sent them: leave it or --fleet out.",
        ));
    }
    let otlp = arguments.otlp.as_deref().map(Endpoint::parse).transpose()?;
    if arguments.dry_run {
        printer.out(&forecast::forecast(&setup, arguments)?);
        return Ok(());
    }
    for skipped in &setup.skipped {
        printer.note(&format!("skipped  {}: {}", skipped.candidate, skipped.reason_and_fix()));
    }
    let logs = TrialLogs::parse(&arguments.export)?;
    let profile = profile::Wanted::of(arguments, &setup)?;
    let interrupt = interrupt::of_a_run()?;
    let _lock = lock(&setup, arguments, &interrupt, printer)?;
    if arguments.plan.is_auto() && !setup.resume {
        let heard = (&interrupt, printer);
        printer.note(&window::of_bench(&mut setup, &arguments.plan, &slos, &arguments.redact, heard)?);
    }
    if setup.log.as_os_str().is_empty() {
        setup.log = default_log(&setup.experiment.name);
    }
    let fleet = agents.map(|agents| fleet::start_for_bench(&arguments.fleet, agents, &setup)).transpose()?;
    let cpus = &setup.pins.client;
    let header = prony_lab::bench::header(&setup);
    let web = arguments.web.as_deref().map(|listen| (listen, watch::bench_head(&header)));
    let metrics = arguments.metrics.as_deref().map(|listen| (listen, watch::bench_rates(&header)));
    let watch = Watch::start(web, metrics, otlp, cpus, printer)?;
    let mode = ProgressMode::here(arguments.quiet, arguments.plain);
    let mut live =
        Live::start(mode, BenchState::new(&setup, header, mode == ProgressMode::Screen), cpus, printer);
    let mut on_event = |event: &BenchEvent<'_>| {
        match (&logs, event) {
            (Some(logs), BenchEvent::TrialBegins { planned, .. }) => logs.begins(planned),
            (Some(logs), BenchEvent::TrialEnded { .. }) => logs.ended(),
            _ => {}
        }
        live.update(|bench| bench.on_event(event));
        watch.on_event(event);
    };
    let loader: &Loader<'_> = &|plan, control, observe| match &fleet {
        Some(fleet) => fleet.load(plan, control, observe),
        None => prony_load::run(plan, control, observe),
    };
    let trial: &Loader<'_> = &|plan, control, observe| match &logs {
        Some(logs) => logs.load(plan, control, observe),
        None => loader(plan, control, observe),
    };
    let probe: &Loader<'_> = &|plan, control, observe| match &fleet {
        Some(fleet) => fleet::probe(fleet, plan, control, observe),
        None => prony_load::run(plan, control, observe),
    };
    let outcome = prony_lab::bench::run(&setup, Loads { trial, probe }, &interrupt, &mut on_event);
    drop(live);
    watch.finish(printer);
    if let Ok(outcome) = &outcome
        && outcome.end != End::Interrupted
    {
        profile.after(&setup, loader, &interrupt, printer)?;
    }
    drop(fleet);
    // Whatever else is wrong, it is said what could not be written.
    let written = logs.map_or(Ok(()), |logs| logs.conclude(printer));
    match outcome {
        Ok(outcome) => {
            let log = prony_analysis::run_log::read(Path::new(&outcome.log))?;
            let held = thresholds::of_run(&slos, &log);
            let mut not_judged = thresholds::not_judged(&held);
            not_judged.extend(thresholds::precision_not_judged(arguments.precision.is_some(), &log));
            thresholds::print_not_judged(&not_judged, false, printer);
            conclude(&setup, &outcome, &log, &watch, printer)?;
            thresholds::print(&held, printer);
            written?;
            thresholds::conclude(&held, &not_judged, arguments.strict)
        }
        Err(why) => {
            watch.end(Err(why.to_string()));
            Err(failure(why))
        }
    }
}

/// Two benches at once would distort each other's results: the second waits, and names the first.
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
            "Another bench runs on this machine{}: waiting until it ends. --wait TIME limits the wait.",
            bench_lock::described(holder)
        ));
    };
    let path = bench_lock::path();
    let lock = bench_lock::take(&path, name, &since, patience, &|| interrupt.asked(), &mut waits).map_err(
        |why| match why {
            LockError::Interrupted => Failure::code(INTERRUPTED),
            LockError::Taken(_) => Failure::not_measured(format!("Not started within --wait: {why}")),
        },
    )?;
    if !lock.is_held() {
        printer.note(&format!(
            "{} cannot be locked, so another bench may run at the same time unnoticed. {}=FILE names another \
             lock file.",
            path.display(),
            bench_lock::VARIABLE
        ));
    }
    Ok(lock)
}

/// A log that cannot be opened or resumed is the command's fault; the rest is the run's.
pub(super) fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::Open(_) | BenchError::Resume { .. } => Failure::usage(error),
        BenchError::Log(_)
        | BenchError::ServerHost { .. }
        | BenchError::Fleet(_)
        | BenchError::NoCandidates(_)
        | BenchError::RunDir(_) => Failure::not_measured(error),
    }
}

fn conclude(
    setup: &BenchSetup,
    outcome: &BenchOutcome,
    log: &RunLog,
    watch: &Watch,
    printer: &Printer,
) -> Result<(), Failure> {
    let analysis = analyse(log);
    printer.out(&terminal::experiment(&analysis, &printer.options()));
    let mut made = format!("Run log: {}", outcome.log.display());
    if let Some(share) = outcome.share_under_load() {
        made = format!(
            "{} in {}: under load for {:.0} % of the time, warm-ups included; the rest is starts, stops and checks\n{made}",
            count(u64::from(outcome.trials), "trial", "trials"),
            forecast::shown(outcome.elapsed),
            share * 100.0
        );
    }
    match page::report(log, None) {
        Ok(html) => {
            let path = html_path(&outcome.log.to_string_lossy());
            write_file(&path, &html)?;
            made.push_str(&format!("\nReport:  {path}"));
        }
        Err(why) => printer.note(&format!("No HTML report: {why}")),
    }
    printer.out(&made);
    watch.end(Ok(log));
    if outcome.end == End::Interrupted {
        printer.note(&format!(
            "Interrupted. Continue with: {} --resume {}",
            setup.reproduce,
            setup.log.display()
        ));
        return Err(Failure::code(INTERRUPTED));
    }
    if analysis.trials.valid + analysis.trials.lower_bound + analysis.trials.suspect == 0 {
        let why = "Nothing valid was measured: see the reasons above or in the run log.";
        return Err(Failure::not_measured(why));
    }
    Ok(())
}
