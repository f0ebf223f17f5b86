//! Flags of `prony capacity`: those of a load, of which some mean something else in a search, and some are refused
//! there with a sentence and are not in its help.

use clap::Args;
use clap::builder::Resettable;

use super::OneTargetOptions;

/// `prony capacity URL`.
#[derive(Debug, Args)]
#[command(
    mut_arg("connections", |arg| arg.help("Concurrent connections [default: 100]")),
    mut_arg("duration", |arg| arg.long_help(Resettable::Reset).help("How long to measure at the highest rates (half as long well below them); up to five times as long if a percentile \
    needs more samples [default: 3s]")),
    mut_arg("rate", |arg| arg.long_help(Resettable::Reset).help("The first rate to try, `2000` or `20k` [default: an eighth of the throughput in a \
    closed loop]")),
    mut_arg("pipeline", |arg| arg.help("With --http2: streams per connection [default: 1]")),
    mut_arg("output", |arg| arg.value_name("RUN.jsonl").help("Append the search to this run log, which `prony \
    report` and `prony serve` read")),
    mut_arg("requests", |arg| arg.hide(true)),
    mut_arg("stages", |arg| arg.hide(true)),
    mut_arg("replay", |arg| arg.hide(true)),
    mut_arg("speed", |arg| arg.hide(true)),
    mut_arg("loop", |arg| arg.hide(true)),
    mut_arg("methods", |arg| arg.hide(true)),
    mut_arg("warmup", |arg| arg.hide(true)),
)]
pub(crate) struct CapacityArguments {
    #[command(flatten)]
    pub(crate) common: OneTargetOptions,
    /// A threshold that the rate must meet, `p99<50ms` or `errors<0.1%` (repeatable)
    ///
    /// In any case the queue of requests that are due but not sent must not grow, and errors<0.1% must hold unless
    /// --slo sets another limit. Exit code 4 if a figure is withheld
    #[arg(long = "slo", value_name = "THRESHOLD")]
    pub(crate) slos: Vec<String>,
    /// The step between the rates of the last 24 probes: 0.1% to 50%
    ///
    /// The result and its interval are computed from these probes
    #[arg(long, value_name = "SHARE", default_value = "4%")]
    pub(crate) resolution: String,
}
