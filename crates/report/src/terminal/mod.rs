//! Views for the terminal: the answer in the first line, plain text unless
//! colour is asked for, 80 columns unless another width is given.

mod by_request;
mod capacity;
mod experiment;
mod fleet;
mod history;
mod latency;
mod lines;
mod next;
mod plot;
mod published;
mod repeat;
mod slo;
mod table;
#[cfg(test)]
mod tests;
mod trial;

pub use capacity::capacity;
pub use experiment::{bisection, comparison, experiment};
pub use history::history;
pub(crate) use lines::Ink;
pub use lines::TerminalOptions;
pub use repeat::repeat;
pub use slo::{not_judged, thresholds};
pub(crate) use table::{Align, Table};
pub use trial::{server_line, trial};
