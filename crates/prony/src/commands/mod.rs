//! One module a command.

#[cfg(test)]
mod any_flags;
pub(crate) mod bench;
pub(crate) mod capacity;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod embedded;
#[cfg(test)]
mod every_option;
mod export;
mod histograms;
pub(crate) mod history;
pub(crate) mod load;
pub(crate) mod logs;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod target;
pub(crate) mod thresholds;
pub(crate) mod watch;

use std::fs::File;
use std::io::Write;

use prony_host::cpus;

use crate::failure::Failure;

/// Writes a file whole, or says why not.
pub(crate) fn write_file(path: &str, text: &str) -> Result<(), Failure> {
    File::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|e| Failure::usage(format!("{path} could not be written: {e}.")))
}

/// Reads `0,2-3` as CPUs that this process may use.
pub(crate) fn parse_cpus(text: &str) -> Result<Vec<u32>, Failure> {
    let wrong = || Failure::usage(format!("--pin {text:?} is not a list of CPUs: write 0, 0,2 or 0-3."));
    let cpus = cpus::parse_list(text).ok_or_else(wrong)?;
    let allowed = cpus::allowed();
    if let Some(missing) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
        return Err(Failure::usage(format!(
            "--pin {text:?}: CPU {missing} is not one that this process may use; those are {}.",
            list.join(", ")
        )));
    }
    Ok(cpus)
}

/// Reads `2%` as 0.02; `None` unless it lies between 0 and 100 %.
pub(crate) fn share(text: &str) -> Option<f64> {
    let digits = text.trim().strip_suffix('%')?.trim();
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let share = digits.parse::<f64>().ok().filter(|_| plain)? / 100.0;
    (share > 0.0 && share < 1.0).then_some(share)
}
