//! The web page: a run's data, and the HTML around them. [`data`] is the contract with the front end (a test writes
//! `web/src/data.ts` from it); [`assemble`] fills it from a run log; [`shell`] makes a file that loads nothing, or a
//! page of a site. The page computes no statistic.

mod assemble;
mod capacity;
mod data;
mod detail;
mod duet;
mod flame;
mod history;
pub mod live;
mod names;
mod pack;
mod published;
mod ranking;
pub(crate) mod shell;
#[cfg(test)]
mod source_tests;
mod sweep;
#[cfg(test)]
mod tests;
mod trial_head;
#[cfg(test)]
mod typescript_tests;

pub use history::{HistoryFrom, history};
pub use shell::{Asset, NoPage};

use prony_model::Tool;
use prony_model::run_log::RunLog;
use schemars::JsonSchema;
use serde::Serialize;

/// What is in a page's file.
#[derive(Serialize, JsonSchema)]
struct PageData<'a> {
    /// The format's name.
    schema: &'static str,
    #[serde(flatten)]
    page: Page<'a>,
}

/// What a page shows.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Page<'a> {
    Run(&'a data::RunData<'a>),
    /// A run that goes on.
    Live {
        live: &'a live::LiveHead,
    },
    /// A list of run logs.
    Runs {
        runs: &'a [&'a live::RunEntry],
        /// Where their history is.
        #[serde(skip_serializing_if = "Option::is_none")]
        history: Option<&'a str>,
    },
    History {
        tool: Tool,
        history: history::HistoryData<'a>,
    },
}

impl Page<'_> {
    fn json(self) -> String {
        pack::json(&PageData { schema: data::SCHEMA, page: self })
    }
}

/// A run log as one self-contained HTML file; or as a page of a site: `home` is the way to its list of runs.
pub fn report(log: &RunLog, home: Option<&str>) -> Result<String, NoPage> {
    Ok(file(&shell::App::embedded()?, log, home))
}

fn file(app: &shell::App<'_>, log: &RunLog, home: Option<&str>) -> String {
    let (title, data, chunks) = assemble::page(log, home);
    app.file(&title, &data, home, &chunks)
}

/// What the pages of a site load, each.
pub fn assets() -> Result<[Asset; 2], NoPage> {
    Ok(shell::App::embedded()?.assets())
}

pub fn site_policy() -> Result<String, NoPage> {
    Ok(shell::App::embedded()?.policy(true))
}

pub fn available() -> Result<(), NoPage> {
    shell::App::embedded().map(|_| ())
}
