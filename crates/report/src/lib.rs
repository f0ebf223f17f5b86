//! Views over analysed data: terminal, Markdown, HTML page, CSV and JSON.
//!
//! Every view takes a [`prony_model::Trial`], a
//! [`prony_analysis::experiment::ExperimentAnalysis`] or a whole run log, and returns a `String`.
//! Nothing here measures, computes a statistic, or writes anywhere: what a
//! view shows stands in its input, and a figure that is withheld there is
//! withheld here. Labels, URLs and error messages come from outside and are
//! escaped for the format they are put into.

pub mod command;
mod document;
pub mod export;
#[cfg(test)]
mod fixtures;
pub mod format;
pub mod github;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod page;
pub mod runs;
pub mod terminal;
mod words;

pub use words::planning;
