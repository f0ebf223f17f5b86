//! From a candidate to processes that are ready to be started: the seam between the catalogue, which knows recipes, and
//! supervision, which knows processes.

use std::path::PathBuf;

use crate::candidate::{Candidate, Layout};
use crate::catalogue::{Piece, pieces};

pub(crate) mod certificate;
mod container;
mod native;
pub(crate) mod run_dir;
mod spec;
mod version;

pub use spec::LaunchSpec;
pub(crate) use spec::ProcessSpec;
pub(crate) use spec::{ContainerSpec, LaunchContext, LaunchError};

impl Candidate {
    /// Its processes, ready to be started: copies the recipe's folder if it has changed, and renders
    /// the templates into the run's folder.
    ///
    /// # Errors
    /// If a file cannot be read or written, or nothing is to be started because it is a URL.
    pub(crate) fn launch(&self, layout: &Layout, context: &LaunchContext) -> Result<LaunchSpec, LaunchError> {
        native::launch(self, layout, context)
    }

    /// Whether a certificate is to be made for each of its starts: it speaks TLS, and takes `{cert}` for it.
    pub(crate) fn takes_certificate(&self) -> bool {
        self.tls() && self.command_line().is_none_or(|command| pieces(command).contains(&Piece::Name("cert")))
    }

    /// The Unix socket that it listens on in this start; `None`: it listens on the port.
    pub(crate) fn socket(&self, context: &LaunchContext) -> Option<PathBuf> {
        self.unix().map(|path| PathBuf::from(native::of_context(context).replace(path)))
    }

    /// The first line that its version command prints, within 5 s; `None` if there is none.
    pub(crate) fn version(&self, layout: &Layout) -> Option<String> {
        version::ask(self, layout)
    }
}
