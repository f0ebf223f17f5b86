//! Where the laboratory keeps what it makes.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// A layout under this folder, which need not exist yet. The path is made absolute.
    pub fn new(root: &Path) -> io::Result<Layout> {
        Ok(Layout { root: std::path::absolute(root)? })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn server_dir(&self, server: &str) -> PathBuf {
        self.root.join("servers").join(server)
    }

    /// The copy of the recipe's folder, where it is built and run: `{work}`.
    pub(crate) fn work(&self, server: &str) -> PathBuf {
        self.server_dir(server).join("work")
    }

    /// The PHP extensions that were built for a server: `{ext}`.
    pub(crate) fn ext(&self, server: &str) -> PathBuf {
        self.server_dir(server).join("ext")
    }

    /// The releases of others that a server consists of: `{opt}`.
    pub(crate) fn opt(&self, server: &str) -> PathBuf {
        self.server_dir(server).join("opt")
    }

    /// The copy of the recipe's folder that its image is built from, and nothing else.
    pub(crate) fn context(&self, server: &str) -> PathBuf {
        self.server_dir(server).join("context")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn downloads(&self) -> PathBuf {
        self.root.join("downloads")
    }

    pub(crate) fn install_ms(&self, server: &str) -> PathBuf {
        self.server_dir(server).join("install.ms")
    }

    pub(crate) fn install_log(&self, server: &str) -> PathBuf {
        self.server_dir(server).join("install.log")
    }
}
