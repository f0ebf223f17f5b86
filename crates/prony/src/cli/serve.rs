//! `prony serve`.

use clap::Args;

/// Serves run logs as web pages.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Run logs of `prony bench`, `prony load -o` or `prony capacity -o`, and folders of them [default: runs/]
    pub(crate) runs: Vec<String>,
    /// Where to listen; an address that other machines can reach needs the token in the printed URL
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
}
