//! `prony doctor`: what on this host distorts results, how to fix it, and what
//! this client can and cannot tell apart on it.

mod measure;
mod text;

use prony_host::{pins, state};
use prony_lab::doctor::restore::{self, Done};
use prony_lab::doctor::{Asked, Finding, Tree, examine, look};
use prony_lab::server_host::RoundTrips;
use prony_model::host::Host;
use prony_report::json;
use serde::Serialize;

use super::server_host::examined;
use crate::cli::{DoctorArguments, DoctorFormat};
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::printer::Printer;

const SCHEMA: &str = "prony.doctor/1";

#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    host: Host,
    findings: Vec<Finding>,
    /// `None` with `--quick`, or where nothing could be measured.
    measured: Option<measure::Measured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_measured: Option<String>,
    /// From here to the host that was asked, and back; `None` of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip: Option<RoundTrips>,
}

pub(crate) fn run(arguments: &DoctorArguments, printer: &Printer) -> Result<(), Failure> {
    if let Some(given) = &arguments.host {
        return of_another_host(given, arguments, printer);
    }
    let tree = Tree::of_this_machine();
    let host = prony_host::read();
    if arguments.restore {
        let state = state::folder().map_err(Failure::usage)?;
        let done = restore::restore(&tree, &state, &host.boot_id).map_err(Failure::usage)?;
        print_changes(&done, "restored", printer);
        return Ok(());
    }
    let pins = pins::split(&host.cpus_allowed, 1).map_err(Failure::usage)?;
    let asked = Asked::of(&host, &pins);
    if arguments.apply {
        let state = state::folder().map_err(Failure::usage)?;
        let done =
            restore::apply(&tree, &examine(&tree, &asked), &state, &host.boot_id).map_err(Failure::usage)?;
        print_changes(&done, "set", printer);
    }
    let findings = look(&tree, &asked);
    let measured = match arguments.quick {
        true => Err("skipped by --quick".to_owned()),
        false => {
            let interrupt = interrupt::of_a_short_run()?;
            state::folder().and_then(|state| measure::measure(&state, &host, &pins, &interrupt, printer))
        }
    };
    let not_measured = measured.as_ref().err().cloned();
    let measured = measured.ok();
    let report = Report { schema: SCHEMA, host, findings, measured, not_measured, round_trip: None };
    print(&report, arguments.format, printer);
    if interrupt::asked() { Err(Failure::code(INTERRUPTED)) } else { Ok(()) }
}

fn of_another_host(given: &str, arguments: &DoctorArguments, printer: &Printer) -> Result<(), Failure> {
    let host = examined(given, &arguments.agent_binary)?;
    let findings = host.examine().map_err(Failure::not_measured)?;
    let round_trip = host.round_trips().map_err(Failure::not_measured)?;
    let not_measured =
        Some("they are measured only on this machine, which applies the load (leave --host out)".to_owned());
    let report = Report {
        schema: SCHEMA,
        host: host.host().clone(),
        findings,
        measured: None,
        not_measured,
        round_trip: Some(round_trip),
    };
    print(&report, arguments.format, printer);
    Ok(())
}

fn print(report: &Report, format: DoctorFormat, printer: &Printer) {
    printer.out(&match format {
        DoctorFormat::Text => text::text(report),
        DoctorFormat::Json => json::pretty(report),
    });
}

/// What was changed on the host: no part of the findings, which may go to a program.
fn print_changes(done: &Done, word: &str, printer: &Printer) {
    for line in &done.changed {
        printer.note(&format!("{word}  {line}"));
    }
    for line in &done.left {
        printer.note(&format!("unchanged  {line}"));
    }
    if done.changed.is_empty() && done.left.is_empty() {
        printer.note(&format!("nothing had to be {word}: these settings already have their values"));
    }
}
