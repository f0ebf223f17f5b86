//! `prony load`: one target.

#[cfg(test)]
mod again_tests;
mod repeat;

use std::time::SystemTime;

use prony_analysis::slo::{self, Slo};
use prony_analysis::trial::judge;
use prony_analysis::window::PILOT;
use prony_fleet::Fleet;
use prony_lab::watch::LoadObserver;
use prony_load::{Control, LoadError, Loader, Snapshot};
use prony_model::command::EMBEDDED;
use prony_model::observed::Observed;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::{Header, NamedPlan, PlannedTrial, RawResult, RunLog, TrialResult};
use prony_model::tls::Verify;
use prony_model::trial::Validity;
use prony_model::{Plan, Tool, Trial, rfc3339};
use prony_report::command::line;
use prony_report::terminal::{self, TerminalOptions};

use super::embedded::Embedded;
use super::export::Exports;
use super::logs::Log;
use super::watch::{self, Watch};
use super::{fleet, plan, thresholds, window, write_json};
use crate::cli::LoadArguments;
use crate::failure::{Failure, INTERRUPTED, NOT_MEASURED};
use crate::interrupt;
use crate::otlp::Endpoint;
use crate::printer::Printer;
use crate::tui::{Live, LoadState, ProgressMode};

pub(crate) fn run(arguments: &LoadArguments, printer: &Printer) -> Result<(), Failure> {
    let common = &arguments.common;
    // Everything that can be wrong with the line is found before anything is started.
    let given = common.checked_target()?;
    let embeds = arguments.common.is_embedded();
    let target = given.or_else(|| embeds.then(plan::placeholder));
    let piloted = common.plan.pilot(PILOT, common.fleet.fleet.is_some()).map_err(Failure::usage)?;
    let mut plan = common.plan_of(piloted.as_ref().unwrap_or(&common.plan), target)?;
    let exports = Exports::parse(&arguments.export, common.json.as_deref(), common.output.as_deref())?;
    let slos = thresholds::parse(&arguments.slo)?;
    let mut log = common.log("load", printer)?;
    let times = repeat::times(arguments)?;
    let watched = common.watched()?;
    let otlp = arguments.otlp.as_deref().map(Endpoint::parse).transpose()?;
    common.save(printer)?;

    warn(&plan, common.plan.threads, printer);
    let control = interrupt::control()?;
    let embedded = embeds.then(|| Embedded::start_for(&mut plan)).transpose()?;
    if common.plan.is_auto() {
        printer.note(&window::of_load(&mut plan, &common.plan, &slos, &control)?);
    }
    plan.samples_max = exports.samples_max(&plan);
    let fleet = fleet::start(&common.fleet, &plan, printer)?;
    let mut context = LoadContext::new(arguments, &plan, &control, &slos, printer);
    (context.fleet, context.outside.watched) = (fleet.as_ref(), watched);
    if let Some(times) = times {
        return repeat::run(times, &context, log.as_mut());
    }
    let web = arguments.web.as_deref().map(|listen| (listen, watch::load_head(&plan, &common.redact)));
    let metrics = arguments.metrics.as_deref().map(|listen| (listen, watch::load_rate(&plan)));
    let watch = Watch::start(web, metrics, otlp, &plan.cpus, printer)?;
    let measured = context.measure(&plan, "", &mut |snapshot| {
        watch.snapshot(None, &plan, snapshot);
        if let Some(fleet) = &fleet {
            watch.agents(&fleet.live());
        }
    });
    let (observed, trial) = match measured {
        Ok(measured) => measured,
        Err(why) => {
            watch.finish(printer);
            watch.end(Err(why.to_string()));
            return Err(why.into());
        }
    };
    drop(embedded);
    watch.load_ends(Some(&trial));
    // What is shown and what is kept do not depend on each other: a failure is returned when all was tried.
    let shown = publish(arguments, &trial, printer);
    let exported = exports.write(&trial, &observed.measurement, printer);
    let kept = log.map_or(Ok(()), |mut log| context.append(&mut log, observed, &trial));
    watch.finish(printer);
    shown.and(kept).and(exported)?;
    if watch.broadcast().is_some()
        && let Some(log) = context.run_log(std::slice::from_ref(&trial))
    {
        watch.end(Ok(&log));
    }
    if trial.interrupted {
        return Err(Failure::code(INTERRUPTED));
    }
    if trial.verdict.validity == Validity::Invalid || trial.requests.completed == 0 {
        return Err(Failure::code(NOT_MEASURED));
    }
    thresholds::conclude(&trial.slo, &thresholds::not_judged(&trial.slo), arguments.strict)
}

fn warn(plan: &Plan, threads: Option<u32>, printer: &Printer) {
    if plan.threads != threads.unwrap_or(1) {
        printer.note(&format!(
            "The list names {} servers, and each has as many threads: -t {}.",
            plan.origins().len(),
            plan.threads
        ));
    }
    if let Some(replay) = plan.arrivals.replay() {
        printer.note(&replay.log.losses());
    }
    if plan.speaks_tls() && plan.tls.verify == Verify::Nothing {
        printer.note("-k: the server's certificate is NOT verified.");
    }
    let benching = prony_host::bench_lock::holder(&prony_host::bench_lock::path());
    if benching.is_some() {
        printer.note(&format!(
            "A bench runs on this machine{}: it and this load distort each other's results.",
            prony_host::bench_lock::described(benching.as_ref())
        ));
    }
}

struct LoadContext<'a> {
    arguments: &'a LoadArguments,
    plan: &'a Plan,
    /// What the trials' candidate is called, and the plan as run logs name it.
    candidate: String,
    named: NamedPlan,
    control: &'a Control,
    slos: &'a [Slo],
    printer: &'a Printer,
    fleet: Option<&'a Fleet>,
    outside: LoadObserver,
}

impl<'a> LoadContext<'a> {
    fn new(
        arguments: &'a LoadArguments,
        plan: &'a Plan,
        control: &'a Control,
        slos: &'a [Slo],
        printer: &'a Printer,
    ) -> LoadContext<'a> {
        let record = RecordedPlan::of(plan);
        let rate = record.rate_per_s.map_or(String::new(), |rate| format!("-r{rate}"));
        let list =
            record.targets.as_ref().map_or(String::new(), |list| format!("-list-{}", list.fingerprint));
        let usual = format!("c{}{rate}{list}", record.connections);
        let name = arguments.common.plan.name.clone().unwrap_or(usual);
        let embedded_target = arguments.common.is_embedded();
        LoadContext {
            candidate: if embedded_target { EMBEDDED.to_owned() } else { record.url.clone() },
            named: NamedPlan { describe: name.clone(), name, plan: record, ..NamedPlan::default() },
            arguments,
            plan,
            control,
            slos,
            printer,
            fleet: None,
            outside: LoadObserver { host: prony_host::read(), embedded_target, watched: None },
        }
    }

    /// Applies the load once, by its plan or with another seed, and judges it. `which` stands before its progress.
    fn measure(
        &self,
        plan: &Plan,
        which: &str,
        on_snapshot: &mut dyn FnMut(&Snapshot),
    ) -> Result<(Observed, Trial), LoadError> {
        let mode = ProgressMode::here(self.arguments.common.quiet, self.arguments.common.plain);
        let mut live =
            Live::start(mode, LoadState::of(self.plan).titled(which), &self.plan.cpus, self.printer);
        let mut observe = |snapshot: &Snapshot| {
            live.update(|load| {
                load.take(snapshot);
                if let Some(fleet) = self.fleet {
                    load.take_agents(fleet.live());
                }
            });
            on_snapshot(snapshot);
        };
        let loader: &Loader<'_> = match self.fleet {
            Some(fleet) => &|plan, control, observe| fleet.load(plan, control, observe),
            None => &prony_load::run,
        };
        let loaded = self.outside.load(loader, plan, self.control, &mut observe);
        drop(live);
        let (observed, watched) = loaded?;
        // What the load measured is there, whatever became of the way to the server's host.
        if let Err(why) = watched {
            self.printer.note(&format!("What the server cost is not known: {why}"));
        }
        let slo = self.slos.iter().map(ToString::to_string).collect();
        let observed = Observed { slo, ..observed };
        let mut trial = judge(&observed, &self.outside.host);
        slo::hold_all(self.slos, &mut trial, observed.server.as_ref());
        Ok((observed, trial))
    }

    fn run_log(&self, trials: &[Trial]) -> Option<RunLog> {
        let header = self.header(trials.first()?);
        let result = |(index, trial): (u32, &Trial)| TrialResult {
            planned: self.planned(index),
            trial: Some(trial.clone()),
            server: trial.server.clone(),
            failure: None,
            capacity: None,
        };
        Some(RunLog::new(header, (0..).zip(trials).map(result).collect()))
    }

    fn append(&self, log: &mut Log, observed: Observed, trial: &Trial) -> Result<(), Failure> {
        let raw = |index| RawResult {
            planned: self.planned(index),
            observed: Some(observed),
            failure: None,
            capacity: None,
        };
        log.append(|| self.header(trial), raw)
    }

    fn planned(&self, index: u32) -> PlannedTrial {
        PlannedTrial::one_by_one(index, &self.candidate, &self.named.name)
    }

    fn header(&self, trial: &Trial) -> Header {
        let reproduce = line(trial, &self.candidate);
        Header {
            tool: Tool::this(),
            created_at: rfc3339(SystemTime::now()),
            commit: prony_host::commit::current(),
            ..Header::of_first_trial(trial.host.clone(), reproduce, &self.candidate, self.named.clone())
        }
    }
}

fn publish(arguments: &LoadArguments, trial: &Trial, printer: &Printer) -> Result<(), Failure> {
    let common = &arguments.common;
    if common.json.as_deref() != Some("-") {
        let target = arguments.common.is_embedded().then(String::new);
        let options = TerminalOptions { target, plot: arguments.plot, ..printer.options() };
        thresholds::print_not_judged(&thresholds::not_judged(&trial.slo), common.quiet, printer);
        if common.quiet {
            let thresholds = terminal::thresholds(&trial.slo, &options);
            // In one line, however long.
            let text = terminal::trial(trial, &TerminalOptions { width: usize::from(u16::MAX), ..options });
            printer.out(&format!("{}\n{thresholds}", text.lines().next().unwrap_or_default()));
        } else {
            printer.out(&terminal::trial(trial, &options));
        }
    }
    write_json(common.json.as_deref(), trial, printer).map(drop)
}
