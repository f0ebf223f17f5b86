//! `prony target`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use prony_target::Http2Config;

/// Runs the reference server, whose delays are known and whose counts are at
/// GET /-/ledger.
#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// The port to listen on; 0 is any free port, which is printed
    #[arg(long, value_name = "N", default_value_t = 8080)]
    pub(crate) port: u16,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// Threads, each with its own event loop, 1 to 256 [default: 2, or 1 on a single CPU]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
    /// The delay of every response: `2ms`; `exp:2ms`, exponentially distributed with that mean; or
    /// `bimodal:3ms,23ms,0.1`, 3 ms, and 23 ms for a tenth of the responses [default: none]
    #[arg(long, value_name = "DELAY")]
    pub(crate) delay: Option<String>,
    /// Read no requests in the first part of each period: `200ms/2s`, for 200 ms in every 2 s [default: none]
    #[arg(long, value_name = "STALL/PERIOD")]
    pub(crate) stall: Option<String>,
    /// Close the connection after every response
    #[arg(long)]
    pub(crate) close: bool,
    /// Serve at most this many requests per second, `5000/s`; more of them wait in one queue [default: no limit]
    #[arg(long, value_name = "RATE")]
    pub(crate) capacity: Option<String>,
    /// The size of the response to /, in bytes [default: that of Hello, World!]
    #[arg(long, value_name = "BYTES")]
    pub(crate) body: Option<usize>,
    /// Serve https://, with a self-signed certificate made at the start; clients use `-k`, or --cacert with the
    /// file of --write-certificate
    #[arg(long)]
    pub(crate) tls: bool,
    /// Write the certificate of --tls to FILE (PEM)
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub(crate) write_certificate: Option<PathBuf>,
    /// HTTP/2: allow this many concurrent streams per connection, and refuse more
    #[arg(long, value_name = "N", default_value_t = Http2Config::default().max_streams)]
    pub(crate) max_streams: u32,
    /// HTTP/2: lower that limit to this many streams at a connection's first request
    #[arg(long, value_name = "N")]
    pub(crate) lower_streams: Option<u32>,
    /// HTTP/2: send GOAWAY at a connection's Nth request, and process none after it
    #[arg(long, value_name = "N")]
    pub(crate) goaway_after: Option<NonZeroU32>,
    /// HTTP/2: reset every Nth request of a connection (INTERNAL_ERROR) instead of responding
    #[arg(long, value_name = "N")]
    pub(crate) reset_every: Option<NonZeroU32>,
    /// HTTP/2: accept this many bytes of each request body, and send no WINDOW_UPDATE for more
    #[arg(long, value_name = "BYTES")]
    pub(crate) starve_uploads: Option<u32>,
    /// The seed of random delays, an integer
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Exit when standard input ends, so that it does not outlive its parent
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}
