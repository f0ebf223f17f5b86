//! `prony doctor`.

use clap::{Args, ValueEnum};

/// What on this host distorts results, and what mends it.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Only look: leave the client's ceiling and floor and the A/A noise out, which take 20 s
    #[arg(long)]
    pub(crate) quick: bool,
    /// Set what distorts of sysctls and governors (needs root), and remember what was there
    #[arg(long, conflicts_with = "restore")]
    pub(crate) apply: bool,
    /// Put back exactly what --apply found (needs root)
    #[arg(long)]
    pub(crate) restore: bool,
    /// The form
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
}

/// The forms of the doctor's findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    /// For people
    Text,
    /// For programs: prony.doctor/1
    Json,
}
