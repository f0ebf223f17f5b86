//! Records in, judgements out: estimates, verdicts, rankings. Pure: no clock, no file, no terminal.
//!
//! [`trial::judge`] turns one raw measurement into the stored trial with its
//! verdict; [`experiment::analyse`] turns a run log into what the views show.

mod analyse;
mod batches;
pub mod compare;
mod curve;
pub mod experiment;
mod growth;
mod headline;
mod ranking;
mod row;
mod steady;
mod summary;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod throughput;
pub mod trial;
pub mod verdict;
pub mod within;
