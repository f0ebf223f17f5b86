//! `prony servers check`.

use std::sync::Arc;
use std::time::SystemTime;

use prony_lab::bench::{ContractServices, Inspection, inspect, inspect_there};
use prony_lab::candidate::{Candidate, Layout};
use prony_lab::catalogue::{Takes, Verified};
use prony_lab::container::Engine;
use prony_lab::provision;
use prony_lab::server_host::ServerHost;
use prony_model::rfc3339;

use crate::failure::{Failure, INTERRUPTED, NOT_MEASURED};
use crate::printer::Printer;

#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    pub(super) all: bool,
    pub(super) record: bool,
    pub(super) memory_bytes: Option<u64>,
}

pub(super) fn run(
    candidates: &[Candidate],
    layout: &Layout,
    host: Option<&Arc<ServerHost>>,
    options: Options,
    printer: &Printer,
) -> Result<(), Failure> {
    let control = crate::interrupt::control()?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut services = ContractServices::default();
    for candidate in candidates {
        if control.stop_asked() {
            return Err(Failure::code(INTERRUPTED));
        }
        let cancelled = || control.stop_asked();
        let inspected = match host {
            Some(host) => inspect_there(candidate, host, &mut services, &cancelled),
            None => inspect(candidate, layout, options.memory_bytes, &mut services, &cancelled),
        };
        match inspected {
            Inspection::Missing(missing) => {
                let what: Vec<&str> = missing.iter().map(|m| m.what.as_str()).collect();
                let mend = missing.first().map(|m| m.mend.as_str()).unwrap_or_default();
                printer.out(&format!("–      {}: {} missing: {mend}", candidate.label(), what.join(", ")));
                skipped += 1;
            }
            Inspection::NotStarted(why) => {
                printer.out(&format!("FAILED {}: {why}", candidate.label()));
                failed += 1;
            }
            Inspection::Checked { version, startup, report, at_rest, leftovers, killed } => {
                let version = version.unwrap_or_else(|| "version unknown".to_owned());
                let good = report.passed() && leftovers.is_empty();
                if good && options.record && !report.unchecked {
                    record(candidate, &version, at_rest, layout)?;
                }
                let word = if good { "ok    " } else { "FAILED" };
                let ready = format!("ready after {} ms", startup.as_millis());
                let sleep = report.sleep.map_or(String::new(), |sleep| format!(" · sleep {sleep}"));
                printer.out(&format!("{word} {} · {version} · {ready}{sleep}", candidate.label()));
                for result in report.results.iter().filter(|r| !r.passed) {
                    let kind = if result.note { "note" } else { "failed" };
                    printer.out(&format!("       {kind}: {}: {}", result.name, result.detail));
                    for line in result.wire.iter().flat_map(|wire| wire.lines()) {
                        printer.out(&format!("         {line}"));
                    }
                }
                if report.unchecked && options.record {
                    printer.out(
                        "       note: nothing is recorded of it, since not all of its routes were checked",
                    );
                }
                if killed {
                    printer.out("       note: it did not exit on SIGTERM and was killed with SIGKILL");
                }
                for leftover in &leftovers {
                    printer.out(&format!("       left behind after the stop: {leftover}"));
                }
                if good { passed += 1 } else { failed += 1 }
            }
        }
    }
    printer.out(&format!("{passed} passed, {failed} failed, {skipped} skipped"));
    if failed > 0 || (skipped > 0 && !options.all) || passed == 0 {
        return Err(Failure::code(NOT_MEASURED));
    }
    Ok(())
}

/// Writes down that a candidate kept the contract, here and today.
fn record(
    candidate: &Candidate,
    version: &str,
    at_rest: Option<(u32, u64)>,
    layout: &Layout,
) -> Result<(), Failure> {
    let Some(server) = candidate.server() else { return Ok(()) };
    let host = prony_host::read();
    let footprint = provision::footprint(candidate, layout);
    let takes = Takes {
        debian_packages: footprint.map(|footprint| footprint.debian_packages),
        installed_bytes: footprint.map(|footprint| footprint.bytes),
        install_ms: provision::install_ms(candidate, layout),
        processes: at_rest.map(|(processes, _)| processes),
        idle_memory_bytes: at_rest.map(|(_, bytes)| bytes),
    };
    let verified = Verified {
        candidate: candidate.label().to_owned(),
        version: version.to_owned(),
        date: rfc3339(SystemTime::now()).chars().take(10).collect(),
        runtime: candidate.engine().map_or_else(|| "native".to_owned(), Engine::describe),
        how: provision::origin(candidate, layout),
        machine: format!("{}, {}, {} CPUs", host.os, std::env::consts::ARCH, host.cpus_online),
        recipe: server.recipe_hash(candidate.engine().is_some()),
        takes: Some(takes),
    };
    server.record(verified).map(drop).map_err(Failure::usage)
}
