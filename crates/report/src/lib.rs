//! Views over analysed data: terminal, Markdown, HTML pages, CSV and JSON. Nothing here measures, computes a statistic
//! or writes: what a view shows stands in its input, and what is withheld there is withheld here. Labels, URLs and
//! messages come from outside and are escaped for their format.

pub mod command;
mod document;
pub mod export;
#[cfg(test)]
mod fixtures;
pub mod format;
pub mod github;
mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod page;
pub mod runs;
pub mod site;
mod svg;
pub mod terminal;
mod words;

pub use words::planning;
