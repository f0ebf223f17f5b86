//! `prony doctor`.

use clap::{Args, ValueEnum};

/// Finds what on this host distorts results, and how to fix it.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Skip the measurements of this client's limits and of the noise between identical servers, which take 20 s
    #[arg(long)]
    pub(crate) quick: bool,
    /// Fix the sysctls and CPU governors that distort results (needs root), and save their old values
    #[arg(long, conflicts_with = "restore")]
    pub(crate) apply: bool,
    /// Restore the values that --apply saved (needs root)
    #[arg(long)]
    pub(crate) restore: bool,
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
