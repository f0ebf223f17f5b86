//! `prony doctor`: what on this host distorts results, how to fix it, and what
//! this client can and cannot tell apart on it.

mod measure;
mod text;

use std::thread;
use std::time::Duration;

use prony_host::{pins, state};
use prony_lab::doctor::restore::{self, Done};
use prony_lab::doctor::{Asked, Finding, Tree, Watch, examine, programs, sorted};
use prony_model::host::Host;
use prony_report::json;
use serde::Serialize;

use crate::cli::{DoctorArguments, DoctorFormat};
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::printer::Printer;

const SCHEMA: &str = "prony.doctor/1";
/// How long other programs are watched.
const WATCHED: Duration = Duration::from_secs(1);

/// What the doctor found.
#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    host: Host,
    /// What distorts first.
    findings: Vec<Finding>,
    /// `None` with `--quick`, or where nothing could be measured.
    measured: Option<measure::Measured>,
    /// Why nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_measured: Option<String>,
}

pub(crate) fn run(arguments: &DoctorArguments, printer: &Printer) -> Result<(), Failure> {
    let tree = Tree::of_this_machine();
    let host = prony_host::read();
    if arguments.restore {
        let state = state::folder().map_err(Failure::usage)?;
        let done = restore::restore(&tree, &state, &host.boot_id).map_err(Failure::usage)?;
        print_changes(&done, "restored", printer);
        return Ok(());
    }
    let pins = pins::split(&host.cpus_allowed, 1).map_err(Failure::usage)?;
    let asked = Asked {
        server_cpus: pins.server.clone(),
        client_cpus: pins.client.clone(),
        open_files: (host.open_files_soft, host.open_files_hard),
        virtualisation: host.virtualisation.clone(),
        debug_build: cfg!(debug_assertions),
    };
    if arguments.apply {
        let state = state::folder().map_err(Failure::usage)?;
        let done =
            restore::apply(&tree, &examine(&tree, &asked), &state, &host.boot_id).map_err(Failure::usage)?;
        print_changes(&done, "set", printer);
    }
    let watch = Watch::begin(&tree);
    thread::sleep(WATCHED);
    let mut findings = watch.end(&tree, &pins.used(), std::process::id());
    findings.extend(examine(&tree, &asked));
    findings.extend(programs());
    let findings = sorted(findings);
    let measured = match arguments.quick {
        true => Err("skipped by --quick".to_owned()),
        false => {
            let interrupt = interrupt::of_a_short_run()?;
            state::folder().and_then(|state| measure::measure(&state, &host, &pins, &interrupt, printer))
        }
    };
    let not_measured = measured.as_ref().err().cloned();
    let report = Report { schema: SCHEMA, host, findings, measured: measured.ok(), not_measured };
    printer.out(&match arguments.format {
        DoctorFormat::Text => text::text(&report),
        DoctorFormat::Json => json::pretty(&report),
    });
    if interrupt::asked() { Err(Failure::code(INTERRUPTED)) } else { Ok(()) }
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
        printer.note(&format!("nothing had to be {word}"));
    }
}
