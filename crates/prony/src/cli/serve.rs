//! `prony serve`.

use clap::Args;

/// Serves run logs as web pages.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Run logs of `prony bench`, `prony load -o` or `prony capacity -o`, and folders of them [default: runs/]
    pub(crate) runs: Vec<String>,
    /// The address to listen on, port 0 for any free one; if other machines can reach it, they need the token in the
    /// printed URL
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
}
