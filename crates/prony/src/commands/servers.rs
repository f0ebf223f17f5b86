//! `prony servers`: what there is, how it gets here, and whether it keeps the contract.

use std::path::{Path, PathBuf};

use prony_lab::candidate::{Candidate, Layout};
use prony_lab::catalogue::Catalogue;
use prony_lab::experiment::Experiment;
use prony_lab::inspect::{self, Inspection};
use prony_lab::provision::{self, Progress, Status};

use crate::cli::{ServersArguments, ServersCommand};
use crate::failure::{Failure, INTERRUPTED, NOT_MEASURED};
use crate::printer::Printer;

/// Where installed servers and everything else of the laboratory live.
const ROOT: &str = ".prony";

pub(crate) fn run(arguments: &ServersArguments, printer: &Printer) -> Result<(), Failure> {
    let catalogue = catalogue(&arguments.servers, printer);
    let layout = layout()?;
    match &arguments.command {
        ServersCommand::List => {
            printer.out(&list(&catalogue, &layout));
            Ok(())
        }
        ServersCommand::Install { names, all, experiment, yes } => {
            let labels = match experiment {
                Some(name) => Experiment::find(name).map_err(Failure::usage)?.candidates,
                None if *all => catalogue.servers.keys().cloned().collect(),
                None => names.clone(),
            };
            install(&candidates(&labels, &catalogue)?, &layout, *yes, printer)
        }
        ServersCommand::Check { names, all } => {
            let chosen = if *all { catalogue.servers.keys().cloned().collect() } else { names.clone() };
            check(&candidates(&chosen, &catalogue)?, &layout, *all, printer)
        }
    }
}

/// The catalogue; broken recipes are named and left out.
pub(crate) fn catalogue(folders: &[String], printer: &Printer) -> Catalogue {
    let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let catalogue = Catalogue::load(&folders);
    for broken in &catalogue.broken {
        printer.note(&format!("The server {} is left out: {}", broken.name, broken.error));
    }
    catalogue
}

pub(crate) fn layout() -> Result<Layout, Failure> {
    Layout::new(Path::new(ROOT))
        .map_err(|e| Failure::usage(format!("The folder {ROOT} cannot be used: {e}.")))
}

/// Candidates by their labels.
pub(crate) fn candidates(labels: &[String], catalogue: &Catalogue) -> Result<Vec<Candidate>, Failure> {
    labels.iter().map(|label| Candidate::parse(label, catalogue).map_err(Failure::usage)).collect()
}

fn list(catalogue: &Catalogue, layout: &Layout) -> String {
    let mut lines =
        vec![format!("{:<16} {:<11} {:<13} {:<10} {}", "server", "language", "kind", "here", "settings")];
    for (name, server) in &catalogue.servers {
        let Ok(candidate) = Candidate::parse(name, catalogue) else { continue };
        let here = match provision::status(&candidate, layout) {
            Status::Installed => "installed",
            Status::Missing(_) => "–",
        };
        let axes: Vec<String> = server
            .recipe
            .axes
            .iter()
            .map(|axis| {
                let values: Vec<&str> = axis.values.iter().map(|value| value.name.as_str()).collect();
                format!("{}: {}", axis.name, values.join("|"))
            })
            .collect();
        let kind = candidate.kind().map_or(String::new(), |kind| kind.to_string());
        let line = format!(
            "{name:<16} {:<11} {kind:<13} {here:<10} {}",
            candidate.language().unwrap_or("–"),
            axes.join("; ")
        );
        lines.push(line.trim_end().to_owned());
    }
    lines.push(String::new());
    lines.push("A candidate is written server:value+value, gunicorn:gevent; the first value of each setting is its default.".to_owned());
    lines.join("\n")
}

fn install(candidates: &[Candidate], layout: &Layout, yes: bool, printer: &Printer) -> Result<(), Failure> {
    let plan = provision::plan(candidates, layout);
    printer.note(&plan.describe());
    if !plan.is_empty() && !yes && !printer.confirm("Go on?") {
        return Err(Failure::usage("Nothing was installed: answer yes, or give --yes."));
    }
    // From here on Ctrl-C ends the installation between its steps, so that what apt needs undone is undone.
    let control = crate::interrupt::control()?;
    let cancelled = || control.stop_asked();
    let results = provision::install(&plan, candidates, layout, &cancelled, &mut |progress| match progress {
        Progress::Started(what) => printer.note(&format!("  {what} …")),
        Progress::Finished(what, took) => printer.note(&format!("  {what}: {:.1} s", took.as_secs_f64())),
        Progress::Failed(what) => printer.note(&format!("  {what}: failed")),
        Progress::Note(sentence) => printer.note(&format!("  {sentence}")),
    });
    if control.stop_asked() {
        return Err(Failure {
            sentence: "Interrupted: the same command goes on.".to_owned(),
            code: INTERRUPTED,
        });
    }
    let failed: Vec<String> =
        results.iter().filter_map(|(_, result)| result.as_ref().err().map(ToString::to_string)).collect();
    printer.out(&format!("{} of {} installed", results.len() - failed.len(), results.len()));
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure { sentence: format!("not installed:\n  {}", failed.join("\n  ")), code: NOT_MEASURED })
}

fn check(candidates: &[Candidate], layout: &Layout, all: bool, printer: &Printer) -> Result<(), Failure> {
    let control = crate::interrupt::control()?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for candidate in candidates {
        if control.stop_asked() {
            return Err(Failure::interrupted());
        }
        match inspect::inspect(candidate, layout, &|| control.stop_asked()) {
            Inspection::Missing(missing) => {
                let what: Vec<&str> = missing.iter().map(|m| m.what.as_str()).collect();
                let mend = missing.first().map(|m| m.mend.as_str()).unwrap_or_default();
                printer.out(&format!("–      {}: {} missing: {mend}", candidate.label(), what.join(", ")));
                skipped += 1;
            }
            Inspection::NotStarted(sentence) => {
                printer.out(&format!("FAILED {}: {sentence}", candidate.label()));
                failed += 1;
            }
            Inspection::Checked { version, startup, report, leftovers } => {
                let version = version.unwrap_or_else(|| "version unknown".to_owned());
                let good = report.passed() && leftovers.is_empty();
                let word = if good { "ok    " } else { "FAILED" };
                let answered = format!("answered after {} ms", startup.as_millis());
                printer.out(&format!("{word} {} · {version} · {answered}", candidate.label()));
                for result in report.results.iter().filter(|r| !r.passed) {
                    let kind = if result.note { "note" } else { "failed" };
                    printer.out(&format!("       {kind}: {}: {}", result.name, result.detail));
                    for line in result.wire.iter().flat_map(|wire| wire.lines()) {
                        printer.out(&format!("         {line}"));
                    }
                }
                for leftover in &leftovers {
                    printer.out(&format!("       left after the stop: {leftover}"));
                }
                if good { passed += 1 } else { failed += 1 }
            }
        }
    }
    printer.out(&format!("{passed} passed, {failed} failed, {skipped} skipped"));
    if failed > 0 || (skipped > 0 && !all) || passed == 0 {
        return Err(Failure::nothing_valid());
    }
    Ok(())
}
