//! The catalogue: every server Prony knows, embedded in the binary, and one's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use prony_host::state;

use crate::toml_file::suggest;

mod files;
mod materialise;
mod recipe;
mod requirements;
mod scaffold;
mod server;
mod shared;
mod takes;
mod verified;

pub use files::DOCKERFILE;
pub use recipe::Recipe;
pub(crate) use recipe::{
    Axis, AxisValue, CAPABILITIES, Constraint, Download, Kind, Pecl, Piece, Processes, Requires, Values,
    is_label_word, is_name, pieces,
};
pub(crate) use requirements::{REQUIREMENTS_LOCK, is_builder, lock_in, requirements};
pub use server::Server;
pub use takes::Takes;
pub use verified::Verified;

use files::{EMBEDDED, Origin};

/// A folder of one's own that is looked into unasked.
pub const OWN_SERVERS: &str = "prony/servers";

#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// By name. A later folder's server replaces an earlier one of the same name.
    pub servers: BTreeMap<String, Server>,
    /// Recipes that were refused. They stand in nobody's way.
    pub broken: Vec<BrokenRecipe>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRecipe {
    pub name: String,
    pub error: String,
}

impl Catalogue {
    /// The embedded servers, then those of the folders given (each holds folders like `servers/`),
    /// then those of `./prony/servers/`, unless somebody else may have written them. Never fails: what is wrong is in
    /// [`Catalogue::broken`].
    pub fn load(extra_dirs: &[PathBuf]) -> Catalogue {
        Catalogue::with_own(extra_dirs, Path::new(OWN_SERVERS))
    }

    fn with_own(extra_dirs: &[PathBuf], own: &Path) -> Catalogue {
        let mut catalogue = Catalogue::default();
        let embedded = EMBEDDED.dirs().map(|dir| dir.path().to_string_lossy());
        for name in embedded.filter(|name| is_server(name)) {
            catalogue.add(&name, Origin::Embedded);
        }
        for dir in extra_dirs {
            catalogue.add_folder(dir);
        }
        if own.is_dir() {
            let named = extra_dirs.iter().any(|dir| dir == own);
            match state::trusted(own) {
                Err(why) if !named => {
                    let own = own.to_string_lossy();
                    let error = format!("{why}: see what is in it, and name it with --servers {own}.");
                    catalogue.refuse(&own, error);
                }
                _ => catalogue.add_folder(own),
            }
        }
        catalogue.check_versus();
        catalogue
    }

    pub(crate) fn get(&self, name: &str) -> Result<&Server, String> {
        if let Some(server) = self.servers.get(name) {
            return Ok(server);
        }
        if let Some(broken) = self.broken.iter().find(|b| b.name == name) {
            return Err(format!("The recipe of {name:?} cannot be used: {}", broken.error));
        }
        let suggestion = suggest(name, self.servers.keys().map(String::as_str));
        Err(format!("There is no server {name:?} in the catalogue: {suggestion}"))
    }

    pub fn replaced(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.servers.iter().filter_map(|(name, server)| match &server.source {
            Origin::Folder(folder) if EMBEDDED.get_dir(name).is_some() => Some((&**name, &**folder)),
            _ => None,
        })
    }

    fn add_folder(&mut self, dir: &Path) {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(e) => {
                let error = format!("The folder {} cannot be read: {e}.", dir.display());
                return self.refuse(&dir.to_string_lossy(), error);
            }
        };
        let mut folders: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if folder.is_dir() && is_server(&name) {
                self.add(&name, Origin::Folder(folder));
            }
        }
    }

    fn add(&mut self, name: &str, source: Origin) {
        // An own recipe of this name is meant to replace the earlier one, also when it is broken:
        // to measure the earlier one instead would be a silent lie.
        self.servers.remove(name);
        self.broken.retain(|b| b.name != name);
        match Server::read(name, source) {
            Ok(server) => drop(self.servers.insert(name.to_owned(), server)),
            Err(error) => self.refuse(name, error),
        }
    }

    fn refuse(&mut self, name: &str, error: String) {
        self.broken.push(BrokenRecipe { name: name.to_owned(), error });
    }

    /// Baselines must exist; one whose recipe is broken does.
    fn check_versus(&mut self) {
        let known: Vec<String> =
            self.servers.keys().chain(self.broken.iter().map(|b| &b.name)).cloned().collect();
        let refused: Vec<(String, String)> = self
            .servers
            .values()
            .filter_map(|server| {
                let versus = server.recipe.versus.as_deref()?;
                let others = known.iter().map(String::as_str).filter(|n| *n != server.name);
                let why = if versus == server.name {
                    "a server cannot be its own baseline: remove versus.".to_owned()
                } else if known.iter().any(|n| n == versus) {
                    return None;
                } else {
                    format!(
                        "versus names the server {versus:?}, which is unknown: {}",
                        suggest(versus, others)
                    )
                };
                Some((server.name.clone(), server.error_at(&["versus"], why)))
            })
            .collect();
        for (name, error) in refused {
            self.servers.remove(&name);
            self.refuse(&name, error);
        }
    }
}

/// Whether a folder of this name is a server's: anything else may lie there too, a .git, or what servers share.
fn is_server(name: &str) -> bool {
    !name.starts_with(['.', '_'])
}

#[cfg(test)]
mod tests;
