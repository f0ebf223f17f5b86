//! Why there is no experiment.

use crate::toml_file::TomlError;

/// Why there is no experiment: a sentence.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file's content.
    #[error(transparent)]
    Toml(#[from] TomlError),
    /// The file system.
    #[error("{path} cannot be read: {source}. Check the path, or name an embedded experiment: {known}.")]
    Read {
        /// As given.
        path: String,
        /// What the system said.
        source: std::io::Error,
        /// The embedded ones.
        known: String,
    },
    /// No embedded experiment of this name.
    #[error("There is no experiment {name:?}: {hint} A path holds a / or ends in .toml.")]
    Unknown {
        /// As given.
        name: String,
        /// The nearest name and all names.
        hint: String,
    },
    /// No scale or plan of this name.
    #[error("{0}")]
    Name(String),
}
