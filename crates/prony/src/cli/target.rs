//! `prony target`.

use clap::Args;

/// The reference server: an HTTP server whose truth is known and can be asked
/// for at GET /-/ledger.
#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// The port to listen on; 0 takes any free one and says which
    #[arg(long, value_name = "N", default_value_t = 8080)]
    pub(crate) port: u16,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Event loops [default: 2, or 1 where there is one processor]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Every answer's delay: `2ms`, `exp:2ms` (exponential), `bimodal:3ms,23ms,0.1`
    #[arg(long, value_name = "DELAY")]
    pub(crate) delay: Option<String>,
    /// Take nothing in for the first part of every period: `200ms/2s`
    #[arg(long, value_name = "SILENCE/PERIOD")]
    pub(crate) stall: Option<String>,
    /// Close the connection after every answer
    #[arg(long)]
    pub(crate) close: bool,
    /// Answer at most so many requests per second, `5000/s`, first come first served
    #[arg(long, value_name = "RATE")]
    pub(crate) capacity: Option<String>,
    /// Answer / with a body of so many bytes instead of Hello, World!
    #[arg(long, value_name = "BYTES")]
    pub(crate) body: Option<usize>,
    /// The seed of random delays
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// End when standard input ends: how a parent that dies takes it along
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}
