//! `prony capacity`: the highest rate that one target sustains.

use std::time::{Duration, SystemTime};

use prony_analysis::slo::Slo;
use prony_lab::capacity::{CapacityPlan, forecast, lengthened, search};
use prony_lab::watch::LoadObserver;
use prony_load::Loader;
use prony_model::Target;
use prony_model::capacity::{CapacityReport, SCHEMA};
use prony_model::command::EMBEDDED;
use prony_model::options::LoadOptions;
use prony_model::rate::Rate;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::Header;
use prony_model::trial::TargetRecord;
use prony_model::units::{DurationValue, Share, WindowValue, show_duration};
use prony_model::{Tool, rfc3339};
use prony_report::terminal::{self, TerminalOptions};

use super::embedded::Embedded;
use super::{fleet, plan, reproduce, thresholds, write_json};
use crate::cli::CapacityArguments;
use crate::failure::{Failure, INTERRUPTED, NOT_MEASURED};
use crate::interrupt;
use crate::printer::Printer;
use crate::tui::{CapacityState, Live, ProgressMode};

/// A probe's window unless `-d` says otherwise: at a thousand a second, 3,000 requests.
const PROBE: Duration = Duration::from_secs(3);

pub(crate) fn run(arguments: &CapacityArguments, printer: &Printer) -> Result<(), Failure> {
    let common = &arguments.common;
    let given = common.checked_target()?;
    let embeds = common.is_embedded();
    let mut wanted = capacity_plan(arguments, given.or_else(|| embeds.then(plan::placeholder)))?;
    let log = common.log("capacity", printer)?;
    common.save(printer)?;
    let interrupt = interrupt::of_a_run()?;
    let embedded = embeds.then(|| Embedded::start_for(&mut wanted.load)).transpose()?;
    let fleet = fleet::start(&common.fleet, &wanted.load, printer)?;
    let watched = common.watched()?;
    let outside = LoadObserver { host: prony_host::read(), embedded_target: embeds, watched };
    if !common.quiet {
        let most = show_duration(Duration::from_secs(forecast(&wanted).as_secs()));
        let (rate, longest) = lengthened(&wanted);
        printer.note(&format!(
            "Searching with probes of {}, up to {} at rates below {}/s: about {most} in all; longer at rates \
             that low, shorter where probes fail early.",
            show_duration(wanted.probe),
            show_duration(longest),
            prony_report::format::rate(rate)
        ));
    }
    let started_at = rfc3339(SystemTime::now());
    let mode = ProgressMode::here(common.quiet, common.plain);
    let mut live = Live::start(mode, CapacityState::of(&wanted), &wanted.load.cpus, printer);
    let loader: &Loader<'_> = match &fleet {
        Some(fleet) => &|plan, control, observe| fleet::probe(fleet, plan, control, observe),
        None => &prony_load::run,
    };
    let outcome = search(&wanted, &outside, loader, &interrupt, &mut |event| {
        live.update(|search| search.on_event(event));
    })?;
    drop(live);
    drop(fleet);
    let address = outcome.trial.as_ref().map(|t| t.target.address.clone()).unwrap_or_default();
    let report = CapacityReport {
        schema: SCHEMA.to_owned(),
        tool: Tool::this(),
        started_at,
        reproduce: reproduce::own(&common.redact),
        interrupted: outcome.interrupted,
        target: TargetRecord { url: wanted.load.target.display_url(), address },
        // Before a probe has ended, no rate is known.
        plan: outcome.trial.as_ref().map_or_else(
            || RecordedPlan { rate_per_s: None, ..RecordedPlan::of(&wanted.load) },
            |trial| trial.plan.clone(),
        ),
        host: outside.host.clone(),
        found: outcome.record,
        confirmation: outcome.trial,
    };
    drop(embedded);
    publish(arguments, &report, printer)?;
    if let Some(mut log) = log {
        let candidate = if embeds { EMBEDDED } else { report.target.url.as_str() };
        let header = || Header { commit: prony_host::commit::current(), ..report.header(candidate) };
        log.append(header, |index| report.raw(candidate, index, outcome.observed))?;
    }
    if report.interrupted {
        return Err(Failure::code(INTERRUPTED));
    }
    if report.found.capacity_per_s.is_none() {
        return Err(Failure::code(NOT_MEASURED));
    }
    thresholds::conclude(&[], report.found.not_judged(), false)
}

pub(super) fn capacity_plan(
    arguments: &CapacityArguments,
    target: Option<Target>,
) -> Result<CapacityPlan, Failure> {
    let common = &arguments.common;
    let flags = &common.plan;
    if let Some((option, why)) = flags.unfit_for_search() {
        return Err(Failure::usage(format!("{} {why}", plan::flag(option))));
    }
    let duration = flags.duration.or(Some(WindowValue::Time(DurationValue(PROBE))));
    let options = LoadOptions { duration, ..flags.for_search() };
    let load = common.plan_of(&options, target)?;
    if load.origins().len() > 1 {
        return Err(Failure::usage(format!(
            "A search finds the highest rate of one server, and the list of --targets names {}: give a list that names one server.",
            load.origins().len()
        )));
    }
    let start = flags.rate.as_ref().and(load.arrivals.rate()).map(Rate::as_per_s);
    let slos = arguments.slos.iter().map(|text| Slo::parse_for_a_search(text)).collect::<Result<Vec<_>, _>>();
    let resolution = Share::parse(&arguments.resolution).ok().map(Share::as_ratio);
    let resolution = resolution.filter(|share| (0.001..=0.5).contains(share)).ok_or_else(|| {
        Failure::usage(format!("--resolution {:?} is not from 0.1% to 50%: write 4%.", arguments.resolution))
    })?;
    Ok(CapacityPlan {
        probe: load.stop.duration.unwrap_or(PROBE),
        load,
        slos: slos.map_err(|why| Failure::usage(format!("--slo {why}")))?,
        resolution,
        start,
    })
}

fn publish(arguments: &CapacityArguments, report: &CapacityReport, printer: &Printer) -> Result<(), Failure> {
    let common = &arguments.common;
    if write_json(common.json.as_deref(), report, printer)? {
        return Ok(());
    }
    thresholds::print_not_judged(report.found.not_judged(), common.quiet, printer);
    let target = common.is_embedded().then(String::new);
    let options = TerminalOptions { target, ..printer.options() };
    let CapacityReport { found, plan, target, interrupted, .. } = report;
    let text = terminal::capacity(found, plan, &target.address, *interrupted, &options);
    if common.quiet {
        printer.out(text.lines().next().unwrap_or_default());
        return Ok(());
    }
    printer.out(&text);
    if let Some(line) = report.confirmation.as_ref().and_then(terminal::server_line) {
        printer.out(&format!(" About this rate: {line}"));
    }
    Ok(())
}
