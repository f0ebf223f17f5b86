//! Records in, judgements out: estimates, verdicts, rankings. Pure: no clock, no file, no terminal. [`trial::judge`]
//! and [`run_log::read`] make trials with their verdicts; [`analyse()`] turns them into what the views show.

mod analyse;
mod batches;
pub mod bisection;
mod by_request;
mod cell;
pub mod claim;
pub mod compare;
pub mod comparison;
pub mod conclusions;
pub mod controls;
mod course;
mod curve;
pub mod earlier_runs;
pub mod experiment;
mod few_at_once;
pub mod figure;
pub mod figures;
mod growth;
mod headline;
pub mod history;
mod interval;
pub mod look;
mod monitor;
mod numbers;
pub mod plot_data;
pub mod precision;
pub mod profile;
pub mod protocols;
pub mod published;
pub mod ranking;
pub mod repeat;
pub mod repeats;
mod row;
pub mod run_log;
pub mod slo;
pub mod slo_run;
pub mod starts;
mod steady;
mod summary;
pub mod tails;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
mod throughput;
pub mod trial;
mod usage;
pub mod verdict;
pub mod window;

pub use analyse::analyse;
