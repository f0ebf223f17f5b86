//! `prony publish`.

use clap::Args;

/// Writes run logs as a static web site.
#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    /// Run logs, and folders of run logs, of `prony bench`, `prony load -o` and `prony capacity -o` [default:
    /// runs/]
    pub(crate) runs: Vec<String>,
    /// The site's folder: a new or an empty one, or one that `prony publish` wrote
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub(crate) output: String,
}
