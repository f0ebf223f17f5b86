//! `prony doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Finds what on this host distorts results, and how to fix it.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Skip two measurements that take 20 s: this client's limits, and the noise between identical servers
    #[arg(long)]
    pub(crate) quick: bool,
    /// Fix the sysctls and CPU governors that distort results (needs root), and save their old values
    #[arg(long, conflicts_with = "restore")]
    pub(crate) apply: bool,
    /// Restore the values that --apply saved (needs root)
    #[arg(long)]
    pub(crate) restore: bool,
    /// Examine another machine, and measure the round trip to it: `ssh:HOST`, or `ssh:HOST=ADDRESS` with the
    /// address that loads connect to
    ///
    /// ssh must be able to log in to it without a password
    #[arg(long, value_name = "HOST", conflicts_with_all = ["apply", "restore"])]
    pub(crate) host: Option<String>,
    /// The Prony binary to copy to the host, if it has that CPU architecture and does not have the binary yet; its
    /// version must be that of this program (repeatable) [default: this program]
    #[arg(long, value_name = "FILE", requires = "host")]
    pub(crate) agent_binary: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
}

/// The formats of the doctor's findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// Text for a terminal
    Text,
    /// JSON: prony.doctor/1
    Json,
}
