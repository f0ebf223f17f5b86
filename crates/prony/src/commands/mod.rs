//! One module a command.

pub(crate) mod agent;
#[cfg(test)]
mod any_flags_tests;
pub(crate) mod bench;
pub(crate) mod bisect;
pub(crate) mod capacity;
pub(crate) mod ci;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod embedded;
#[cfg(test)]
pub(crate) mod every_option_tests;
mod export;
pub(crate) mod fleet;
mod histograms;
pub(crate) mod history;
pub(crate) mod load;
pub(crate) mod logs;
mod manifests;
mod only;
#[cfg(test)]
mod pages_tests;
pub(crate) mod plan;
pub(crate) mod publish;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod server_host;
pub(crate) mod servers;
mod sides;
pub(crate) mod target;
pub(crate) mod thresholds;
pub(crate) mod watch;
mod window;

use std::io::Write;
use std::path::Path;

use prony_host::cpus;
use prony_model::units::plain_number;
use prony_report::json;
use serde::Serialize;

use crate::failure::Failure;
use crate::printer::Printer;
use crate::result_file;

pub(crate) fn write_file(path: &str, text: &str) -> Result<(), Failure> {
    result_file::write(Path::new(path), |mut file| file.write_all(text.as_bytes()))
        .map_err(|e| Failure::usage(format!("{path} could not be written: {e}.")))
}

/// Writes a text to a file, with a note, or to standard output without one and for `-`.
pub(crate) fn write_output(
    text: &str,
    output: Option<&str>,
    what: &str,
    printer: &Printer,
) -> Result<(), Failure> {
    match output.filter(|path| *path != "-") {
        Some(path) => {
            write_file(path, text)?;
            printer.note(&format!("{what}: {path}"));
        }
        None => printer.out(text),
    }
    Ok(())
}

/// Writes a result as JSON where `--json` says: to a file, or for `-` alone to standard output. Whether it was that.
pub(crate) fn write_json(
    path: Option<&str>,
    result: &impl Serialize,
    printer: &Printer,
) -> Result<bool, Failure> {
    match path {
        Some("-") => printer.out(&json::pretty(result)),
        Some(path) => write_file(path, &json::pretty(result))?,
        None => {}
    }
    Ok(path == Some("-"))
}

/// Reads `0,2-3` as CPUs that this process may use.
pub(crate) fn parse_cpus(text: &str) -> Result<Vec<u32>, Failure> {
    let wrong = || Failure::usage(format!("--pin {text:?} is not a list of CPUs: write 0, 0,2 or 0-3."));
    let cpus = cpus::parse_list(text).ok_or_else(wrong)?;
    let allowed = cpus::allowed();
    if let Some(missing) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(Failure::usage(format!(
            "--pin {text:?}: this process may not use CPU {missing}, only {}.",
            cpus::show_list(&allowed)
        )));
    }
    Ok(cpus)
}

/// Reads `2%` as 0.02; `None` unless it lies between 0 and 100 %.
pub(crate) fn share(text: &str) -> Option<f64> {
    let share = plain_number(text.trim().strip_suffix('%')?.trim())? / 100.0;
    (share > 0.0 && share < 1.0).then_some(share)
}
