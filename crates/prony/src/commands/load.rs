//! `prony load`: one target.

#[cfg(test)]
mod again;
mod repeat;

use std::time::SystemTime;

use prony_analysis::slo::{self, Slo};
use prony_analysis::trial::judge;
use prony_host::{ClientWatch, HostWatch};
use prony_load::{Control, LoadError, Snapshot};
use prony_model::observed::Observed;
use prony_model::one_by_one::OneByOne;
use prony_model::plan_record::PlanRecord;
use prony_model::run_log::{Header, NamedPlan, PlannedTrial, RawResult, RunLog, TrialResult};
use prony_model::tls::Verify;
use prony_model::trial::Validity;
use prony_model::{Plan, Target};
use prony_model::{Tool, Trial, rfc3339};
use prony_report::command::command;
use prony_report::terminal::{self, TerminalOptions};

use super::embedded::Embedded;
use super::export::{self, Exports};
use super::logs::Log;
use super::watch::{self, Watch};
use super::{parse_cpus, plan, thresholds, write_file};
use crate::cli::LoadArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::Printer;
use crate::tui::{Live, LoadState, Shows};

pub(crate) fn run(arguments: &LoadArguments, printer: &Printer) -> Result<(), Failure> {
    // Everything that can be wrong with the line is found before anything is started.
    let url = arguments.url.as_deref();
    let given = url.map(Target::parse).transpose().map_err(Failure::usage)?;
    let embeds = is_embedded(arguments);
    let somewhere = embeds.then(|| Target::parse("http://127.0.0.1/")).transpose().map_err(Failure::usage)?;
    let mut plan = plan::plan(&arguments.plan, given.or(somewhere))?;
    if let Some(cpus) = &arguments.pin {
        plan.cpus = parse_cpus(cpus)?;
    }
    let others: Vec<&str> =
        [&arguments.json, &arguments.output].into_iter().flatten().map(String::as_str).collect();
    export::apart(arguments.json.as_deref(), arguments.output.as_deref())?;
    let exports = Exports::parse(&arguments.export, &others)?;
    let slos = thresholds::parse(&arguments.slo)?;
    plan.samples_max = exports.samples_max(&plan);
    let mut log = arguments.output.as_deref().map(|path| Log::open(path, "load", printer)).transpose()?;
    let times = repeat::times(arguments)?;

    if plan.target.tls && plan.tls.verify == Verify::Nothing {
        printer.note("-k: the server's certificate is NOT checked; whoever answers is loaded.");
    }
    let benching = prony_host::bench_lock::holder(&prony_host::bench_lock::path());
    if benching.is_some() {
        printer.note(&format!(
            "A bench runs on this machine{}: its figures and these disturb each other.",
            prony_host::bench_lock::described(benching.as_ref())
        ));
    }
    let control = interrupt::control()?;
    let embedded = if embeds { Some(Embedded::start()?) } else { None };
    if let Some(embedded) = &embedded {
        plan.target = Target::parse(&embedded.url).map_err(Failure::not_measured)?;
    }
    let scene = Scene { plan: &plan, control: &control, embedded: embedded.is_some(), slos: &slos, printer };
    if let Some(times) = times {
        return repeat::run(arguments, times, &scene, log.as_mut());
    }
    let watch = Watch::start(
        arguments.web.as_deref(),
        || watch::load_head(&plan, &arguments.redact),
        &plan.cpus,
        printer,
    )?
    .and_metrics(arguments.metrics.as_deref(), || watch::load_rate(&plan), &plan.cpus, printer)?;
    let measured = scene.measure(arguments, "", &mut |snapshot| watch.snapshot(snapshot));
    let (observed, trial) = match measured {
        Ok(measured) => measured,
        Err(why) => {
            watch.end(Err(why.to_string()));
            return Err(why.into());
        }
    };
    drop(embedded);
    // What is shown and what is kept do not depend on each other: what fails is said when all was tried.
    let shown = publish(arguments, &trial, printer);
    let exported = exports.write(&trial, &observed.measurement, printer);
    let kept = log.map_or(Ok(()), |mut log| append(&mut log, arguments, observed, &trial));
    shown.and(kept).and(exported)?;
    if watch.hub().is_some()
        && let Some(log) = log_of(arguments, std::slice::from_ref(&trial))
    {
        watch.end(Ok(&log));
    }
    if trial.interrupted {
        return Err(Failure::interrupted());
    }
    if trial.verdict.validity == Validity::Invalid || trial.requests.completed == 0 {
        return Err(Failure::nothing_valid());
    }
    thresholds::conclude(&trial.slo, arguments.strict)
}

/// What every load of a command line has in common.
struct Scene<'a> {
    plan: &'a Plan,
    control: &'a Control,
    embedded: bool,
    slos: &'a [Slo],
    printer: &'a Printer,
}

impl Scene<'_> {
    /// Applies the load once, and judges it. `which` stands before what is shown of its progress.
    fn measure(
        &self,
        arguments: &LoadArguments,
        which: &str,
        hear: &mut dyn FnMut(&Snapshot),
    ) -> Result<(Observed, Trial), LoadError> {
        let own_cpus = &self.plan.cpus;
        let shows = Shows::here(arguments.quiet, arguments.plain);
        let mut live = Live::start(shows, LoadState::of(self.plan).titled(which), own_cpus, self.printer);
        let mut host_watch = HostWatch::of(own_cpus);
        let mut client_watch = ClientWatch::with_cores(&[]);
        let measured = prony_load::run(self.plan, self.control, &mut |snapshot| {
            host_watch.look(snapshot.in_window);
            client_watch.look();
            live.tell(|load| load.take(snapshot));
            hear(snapshot);
        });
        live.finish();
        let measured = measured?;
        let host = prony_host::read();
        let observed = Observed {
            embedded_target: self.embedded,
            host_window: host_watch.finish(&measured.address),
            client_columns: client_watch.finish(measured.window_start_ns),
            slo: self.slos.iter().map(ToString::to_string).collect(),
            host: Some(host.clone()),
            ..Observed::of(measured, PlanRecord::of(self.plan, &arguments.redact))
        };
        let mut trial = judge(&observed, &host);
        slo::hold_all(self.slos, &mut trial);
        Ok((observed, trial))
    }
}

fn publish(arguments: &LoadArguments, trial: &Trial, printer: &Printer) -> Result<(), Failure> {
    let to_stdout = arguments.json.as_deref() == Some("-");
    if !to_stdout {
        let target = is_embedded(arguments).then(String::new);
        let options =
            TerminalOptions { color: printer.color(), target, plot: arguments.plot, ..Default::default() };
        if arguments.quiet {
            let thresholds = terminal::thresholds(&trial.slo, &options);
            // In one line, however long.
            let text = terminal::trial(trial, &TerminalOptions { width: usize::from(u16::MAX), ..options });
            printer.out(&format!("{}\n{thresholds}", text.lines().next().unwrap_or_default()));
        } else {
            printer.out(&terminal::trial(trial, &options));
        }
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(trial)
            .map_err(|e| Failure::not_measured(format!("The result could not be written as JSON: {e}.")))?;
        if to_stdout { printer.out(&text) } else { write_file(path, &text)? }
    }
    Ok(())
}

fn is_embedded(arguments: &LoadArguments) -> bool {
    arguments.url.is_none() && arguments.plan.targets.is_none()
}

/// What a trial's candidate and plan are called.
fn names(arguments: &LoadArguments, trial: &Trial) -> (String, String) {
    let embedded = is_embedded(arguments).then(|| "embedded target".to_owned());
    let candidate = embedded.unwrap_or_else(|| trial.target.url.clone());
    let list =
        trial.plan.targets.as_ref().map_or(String::new(), |list| format!("-list-{}", list.fingerprint));
    (candidate, format!("c{}{}{list}", trial.plan.connections, rate_suffix(trial)))
}

/// A run log of these trials alone, for the page.
fn log_of(arguments: &LoadArguments, trials: &[Trial]) -> Option<RunLog> {
    let header = header(arguments, trials.first()?);
    let results = (0..).zip(trials).map(|(index, trial)| result(arguments, trial, index)).collect();
    Some(RunLog { header, results, events: Vec::new(), unfinished: Vec::new(), truncated: false })
}

fn append(
    log: &mut Log,
    arguments: &LoadArguments,
    observed: Observed,
    trial: &Trial,
) -> Result<(), Failure> {
    let raw = |index| RawResult {
        planned: planned(arguments, trial, index),
        observed: Some(observed),
        failure: None,
        capacity: None,
    };
    log.append(|| header(arguments, trial), raw)
}

fn rate_suffix(trial: &Trial) -> String {
    trial.plan.rate_per_s.map_or(String::new(), |rate| format!("-r{rate}"))
}

fn planned(arguments: &LoadArguments, trial: &Trial, index: u32) -> PlannedTrial {
    let (candidate, plan) = names(arguments, trial);
    PlannedTrial::one_by_one(index, &candidate, &plan)
}

fn result(arguments: &LoadArguments, trial: &Trial, index: u32) -> TrialResult {
    let planned = planned(arguments, trial, index);
    TrialResult { planned, trial: Some(trial.clone()), server: None, failure: None, capacity: None }
}

fn header(arguments: &LoadArguments, trial: &Trial) -> Header {
    let (candidate, plan) = names(arguments, trial);
    OneByOne {
        tool: Tool::this(),
        created_at: rfc3339(SystemTime::now()),
        reproduce: command(&trial.plan, &trial.target.address, &candidate),
        host: trial.host.clone(),
        candidate,
        plan: NamedPlan {
            describe: plan.clone(),
            name: plan,
            plan: trial.plan.clone(),
            group: None,
            share: None,
            capacity: None,
        },
        commit: prony_host::commit::current(),
    }
    .header()
}
