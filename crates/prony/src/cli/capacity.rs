//! Flags of `prony capacity`: those of a load, of which some mean something else in a search, and some are refused
//! there with a sentence and are not in its help.

use clap::Args;

use super::OneTargetOptions;

/// `prony capacity URL`.
#[derive(Debug, Args)]
#[command(
    mut_arg("connections", |arg| arg.help("Concurrent connections [default: 100]")),
    mut_arg("duration", |arg| arg.help("How long each probe, a load at one rate, measures; up to five times \
    longer where a percentile needs more samples [default: 3s]")),
    mut_arg("rate", |arg| arg.help("The rate of the first probe, `2000`, `20k` [default: an eighth of the \
    throughput in a closed loop]")),
    mut_arg("pipeline", |arg| arg.help("With --http2: streams per connection [default: 1]")),
    mut_arg("output", |arg| arg.value_name("RUN.jsonl").help("Append the search to the run log, for `prony report` and \
    `prony serve`")),
    mut_arg("requests", |arg| arg.hide(true)),
    mut_arg("stages", |arg| arg.hide(true)),
    mut_arg("warmup", |arg| arg.hide(true)),
)]
pub(crate) struct CapacityArguments {
    #[command(flatten)]
    pub(crate) common: OneTargetOptions,
    /// A threshold that a sustained rate must meet: `p99<50ms`, `errors<0.1%` (repeatable) [always: the backlog of
    /// requests does not grow; and errors<0.1% unless --slo sets another]; exit code 4 if its figure is withheld
    #[arg(long = "slo", value_name = "FIGURE<LIMIT")]
    pub(crate) slos: Vec<String>,
    /// How far apart the rates of the 24 probes about the edge are, which give the result its interval, 0.1% to 50%
    #[arg(long, value_name = "PERCENT", default_value = "4%")]
    pub(crate) resolution: String,
}
