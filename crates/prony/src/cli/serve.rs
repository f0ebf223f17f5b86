//! `prony serve`.

use clap::Args;

/// Shows run logs as web pages.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Run logs of `prony bench`, `prony load -o` or `prony capacity -o`, and folders of them [default: runs/]
    pub(crate) runs: Vec<String>,
    /// Where to listen; elsewhere than on this machine only with the token that is printed
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
}
