//! The web page: a run's data, and the one HTML file around them.
//!
//! [`data`] is the contract with the front end (`web/src/data.ts` is its
//! other half); [`assemble`] fills it from a run log; [`shell`] puts it, the
//! script and the style into a file that loads nothing. The page computes no
//! statistic: every figure and every interval that it can show is in here.

mod assemble;
mod capacity;
pub mod data;
mod detail;
mod duet;
mod history;
pub mod live;
mod pack;
mod published;
mod ranking;
pub mod shell;
#[cfg(test)]
mod source_tests;
mod sweep;
#[cfg(test)]
mod tests;
mod trial_head;

pub use history::{HistoryFrom, history};
pub use shell::{NoPage, POLICY_LIVE};

use prony_model::run_log::RunLog;

/// A run log as one self-contained HTML file.
///
/// # Errors
/// When this Prony was built without the front end.
pub fn report(log: &RunLog) -> Result<String, NoPage> {
    let app = shell::App::embedded()?;
    let (data, chunks) = assemble::page(log);
    let title = format!("{} · Prony", data.head.headline);
    Ok(app.file(&title, &serde_json::to_string(&data).unwrap_or_default(), &chunks))
}

/// The same on a server that has a list of runs at `home`, relative to the page.
///
/// # Errors
/// When this Prony was built without the front end.
pub fn served(log: &RunLog, home: &str) -> Result<String, NoPage> {
    let app = shell::App::embedded()?;
    let (mut data, chunks) = assemble::page(log);
    data.home = Some(home.to_owned());
    let title = format!("{} · Prony", data.head.headline);
    Ok(app.file(&title, &serde_json::to_string(&data).unwrap_or_default(), &chunks))
}

/// Whether pages can be made.
///
/// # Errors
/// When this Prony was built without the front end.
pub fn available() -> Result<(), NoPage> {
    shell::App::embedded().map(|_| ())
}
