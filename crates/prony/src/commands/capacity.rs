//! `prony capacity`: the highest rate that one target sustains.

use std::time::{Duration, SystemTime};

use prony_analysis::slo::Slo;
use prony_analysis::trial::TrialContext;
use prony_lab::capacity::{CapacityPlan, forecast, lengthened, search};
use prony_lab::units::{Share, parse_duration, show_duration};
use prony_load::plan::Arrivals;
use prony_load::{Plan, Target};
use prony_record::capacity::{CapacityReport, SCHEMA};
use prony_record::plan::PlanRecord;
use prony_record::run_log::Header;
use prony_record::trial::TargetRecord;
use prony_record::{Tool, rfc3339};
use prony_report::terminal::{self, TerminalOptions};

use super::embedded::Embedded;
use super::logs::Log;
use super::{parse_cpus, plan, reproduce, write_file};
use crate::cli::{CapacityArguments, PlanArguments};
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::Printer;
use crate::tui::{CapacityState, Live, Shows};

/// A probe's window unless `-d` says otherwise: at a thousand a second, 3,000 requests.
const PROBE: Duration = Duration::from_secs(3);
/// What the target inside the binary is called in run logs.
const EMBEDDED: &str = "embedded target";
/// Connections unless `-c` says otherwise, as in `load -R`.
const CONNECTIONS: u32 = 100;

pub(crate) fn run(arguments: &CapacityArguments, printer: &Printer) -> Result<(), Failure> {
    let given = arguments.url.as_deref().map(Target::parse).transpose().map_err(Failure::usage)?;
    let somewhere = Target::parse("http://127.0.0.1/").map_err(Failure::usage)?;
    let mut wanted = capacity_plan(arguments, given.clone().unwrap_or(somewhere))?;
    let log = arguments.output.as_deref().map(|path| Log::open(path, "capacity", printer)).transpose()?;
    let interrupt = interrupt::of_a_run()?;
    let embedded = if given.is_none() { Some(Embedded::start()?) } else { None };
    if let Some(embedded) = &embedded {
        wanted.load.target = Target::parse(&embedded.url).map_err(Failure::not_measured)?;
    }
    let context = TrialContext {
        host: prony_lab::host::read(),
        redact: arguments.redact.clone(),
        embedded_target: embedded.is_some(),
        ..TrialContext::default()
    };
    if !arguments.quiet {
        let most = show_duration(Duration::from_secs(forecast(&wanted).as_secs()));
        let (rate, longest) = lengthened(&wanted);
        printer.note(&format!(
            "Searching with probes of {}, of up to {} at rates under {}/s: about {most} without those, less where \
             probes fail early.",
            show_duration(wanted.probe),
            show_duration(longest),
            prony_report::format::rate(rate)
        ));
    }
    let started_at = rfc3339(SystemTime::now());
    let shows = Shows::here(arguments.quiet, arguments.plain);
    let own_cpus: Vec<u32> = wanted.load.cpus.iter().filter_map(|cpu| u32::try_from(*cpu).ok()).collect();
    let mut live = Live::start(shows, CapacityState::of(&wanted), &own_cpus, printer);
    let outcome = search(&wanted, &context, &mut prony_load::run, &interrupt, &mut |event| {
        live.tell(|search| search.hear(event));
    })?;
    live.finish();
    let address = outcome.trial.as_ref().map(|t| t.target.address.clone()).unwrap_or_default();
    let report = CapacityReport {
        schema: SCHEMA.to_owned(),
        tool: Tool::this(),
        started_at,
        reproduce: reproduce::own(&arguments.redact),
        interrupted: outcome.interrupted,
        target: TargetRecord { url: wanted.load.target.display_url(), address },
        plan: outcome
            .trial
            .as_ref()
            .map_or_else(|| PlanRecord::of(&wanted.load, &arguments.redact), |trial| trial.plan.clone()),
        host: context.host.clone(),
        found: outcome.record,
        confirmation: outcome.trial,
    };
    drop(embedded);
    publish(arguments, &report, printer)?;
    if let Some(mut log) = log {
        let candidate = if arguments.url.is_none() { EMBEDDED } else { report.target.url.as_str() };
        let header = || Header { commit: prony_lab::commit::current(), ..report.header(candidate) };
        log.append(header, |index| report.result(candidate, index))?;
    }
    if report.interrupted {
        return Err(Failure::interrupted());
    }
    if report.found.capacity_per_s.is_none() {
        return Err(Failure::nothing_valid());
    }
    Ok(())
}

fn capacity_plan(arguments: &CapacityArguments, target: Target) -> Result<CapacityPlan, Failure> {
    let flags = &arguments.plan;
    let beside = [
        ("-n", flags.requests.is_some()),
        ("--stage", !flags.stages.is_empty()),
        ("--warmup", flags.warmup.is_some()),
        ("-p", flags.pipeline.is_some()),
    ];
    if let Some((flag, _)) = beside.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag} does not go with `prony capacity`, whose probes have a rate and a length (-d): leave it out."
        )));
    }
    // `--arrivals` alone is of the rates that the search finds: any rate stands in for them.
    let stand_in = flags.arrivals.as_ref().filter(|_| flags.rate.is_none()).map(|_| "1".to_owned());
    let mut load =
        plan::plan(&PlanArguments { rate: flags.rate.clone().or(stand_in), ..flags.clone() }, target)?;
    load.connections = flags.connections.unwrap_or(CONNECTIONS);
    if let Some(cpus) = &arguments.pin {
        load.cpus = parse_cpus(cpus)?.into_iter().map(|cpu| cpu as usize).collect();
    }
    let start = flags.rate.as_ref().and(load.arrivals.rate()).map(prony_load::pace::Rate::as_per_s);
    Plan { arrivals: Arrivals::Closed, ..load.clone() }.check().map_err(prony_load::LoadError::from)?;
    let slos = arguments.slos.iter().map(|text| Slo::parse(text)).collect::<Result<Vec<_>, _>>();
    let resolution = Share::parse(&arguments.resolution)?.as_ratio();
    if !(0.001..=0.5).contains(&resolution) {
        return Err(Failure::usage(format!(
            "--resolution {:?} is out of range: write 0.1% to 50%.",
            arguments.resolution
        )));
    }
    let probe = flags.duration.as_deref().map_or(Ok(PROBE), parse_duration)?;
    if probe < Duration::from_millis(200) {
        return Err(Failure::usage("A probe under 200 ms tells nothing: give -d at least 200ms."));
    }
    Ok(CapacityPlan { load, slos: slos.map_err(Failure::usage)?, probe, resolution, start })
}

fn publish(arguments: &CapacityArguments, report: &CapacityReport, printer: &Printer) -> Result<(), Failure> {
    let to_stdout = arguments.json.as_deref() == Some("-");
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(report)
            .map_err(|e| Failure::not_measured(format!("The result could not be written as JSON: {e}.")))?;
        if to_stdout { printer.out(&text) } else { write_file(path, &text)? }
    }
    if !to_stdout {
        let text = terminal::capacity(
            report,
            &TerminalOptions {
                color: printer.color(),
                target: arguments.url.is_none().then(String::new),
                ..TerminalOptions::default()
            },
        );
        printer.out(if arguments.quiet { text.lines().next().unwrap_or_default() } else { text.as_str() });
    }
    Ok(())
}
