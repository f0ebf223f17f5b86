//! Results in the formats of other tools. None of them computes a statistic; docs/exports.md has their columns. `hgrm`,
//! `hlog` and `seconds` are made of the stored trial, so that any run log can be exported; `jtl` needs the samples of
//! the load itself; `csv` and `trackers` have the table of a run, `monitor` what the machine did.

mod common;
pub mod csv;
pub mod hgrm;
pub mod hlog;
pub mod jtl;
pub mod monitor;
pub mod openmetrics;
pub mod seconds;
pub mod trackers;

use std::io::{self, Write};

use prony_model::{Measurement, Trial};

pub(crate) use common::{field, seconds, wall_clock};

/// A format of `--export`.
#[derive(Debug)]
pub struct LoadFormat {
    pub name: &'static str,
    pub write: fn(&Trial, &Measurement, &mut dyn Write) -> io::Result<()>,
    /// Whether it has single requests, which the load has to keep then.
    pub of_requests: bool,
}

/// Those of `--export`, in the order in which they are named.
pub static LOAD_FORMATS: [LoadFormat; 6] = [
    load_format("hgrm", |trial, _, out| hgrm::write(&[trial], out)),
    load_format("hlog", |trial, _, out| hlog::write(&[trial], out)),
    LoadFormat { of_requests: true, ..load_format("jtl", |trial, m, out| jtl::write(&trial.plan, m, out)) },
    load_format("csv", |trial, _, out| seconds::write(trial, out)),
    load_format("openmetrics", |trial, _, out| openmetrics::write(trial, out)),
    load_format("monitor", |trial, _, out| monitor::write(&[monitor::Monitored::alone(trial)], out)),
];

const fn load_format(
    name: &'static str,
    write: fn(&Trial, &Measurement, &mut dyn Write) -> io::Result<()>,
) -> LoadFormat {
    LoadFormat { name, write, of_requests: false }
}
