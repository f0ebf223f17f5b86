//! `prony completions` and `prony man`.

use clap::{Args, ValueEnum};

/// Prints what completes commands, flags, servers and experiments in a shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// The shells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// `prony completions bash > ~/.local/share/bash-completion/completions/prony`
    Bash,
    /// `prony completions zsh > DIR/_prony`, where DIR is in $fpath
    Zsh,
    /// `prony completions fish > ~/.config/fish/completions/prony.fish`
    Fish,
}

/// Writes the manual pages.
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder for prony.1, prony-load.1 and so on, such as ~/.local/share/man/man1; it is created if it does
    /// not exist
    #[arg(value_name = "DIR")]
    pub(crate) dir: std::path::PathBuf,
}
