//! `prony serve`.

use clap::Args;

/// Serves run logs as web pages.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Run logs, and folders of run logs, of `prony bench`, `prony load -o` and `prony capacity -o` [default:
    /// runs/]
    pub(crate) runs: Vec<String>,
    /// The address to listen on; port 0 is any free port. If other machines can reach it, they need the token in
    /// the printed URL
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
}
