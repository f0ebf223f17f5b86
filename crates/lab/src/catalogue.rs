//! The catalogue: every server Prony knows, embedded in the binary, and one's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::recipe::{Recipe, is_label_word};
use crate::toml_error::{TomlError, suggest};

mod files;
mod materialise;
mod scaffold;
mod shared;
mod verified;

pub use materialise::MaterialiseError;
pub use verified::Verified;

/// What a recipe's folder must hold.
const RECIPE_FILE: &str = "server.toml";
/// A folder of one's own that is looked into unasked.
pub const OWN_SERVERS: &str = "prony/servers";

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../servers");

/// The servers there are.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// By name. A later folder's server replaces an earlier one of the same name.
    pub servers: BTreeMap<String, Server>,
    /// Recipes that were refused. They stand in nobody's way.
    pub broken: Vec<BrokenRecipe>,
}

/// A recipe that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRecipe {
    /// The folder's name.
    pub name: String,
    /// A sentence.
    pub error: String,
}

/// A server of the catalogue.
#[derive(Debug, Clone)]
pub struct Server {
    /// The folder's name, by which candidates call it.
    pub name: String,
    /// What its recipe says.
    pub recipe: Recipe,
    /// Where the recipe is from.
    pub source: Source,
    /// The shared files that it takes, in its folder's places.
    shared: Vec<files::RecipeFile>,
}

/// Where a recipe is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The binary.
    Embedded,
    /// This folder.
    Folder(PathBuf),
}

/// There is no such server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// Nobody knows it.
    #[error("There is no server {name:?} in the catalogue: {suggestion}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest, and all.
        suggestion: String,
    },
    /// Its recipe was refused.
    #[error("The recipe of {name:?} cannot be used: {error}")]
    Broken {
        /// What was asked for.
        name: String,
        /// Why it was refused.
        error: String,
    },
}

impl Catalogue {
    /// The embedded servers, then those of the folders given (each holds folders like `servers/`),
    /// then those of `./prony/servers/`. Never fails: what is wrong is in [`Catalogue::broken`].
    pub fn load(extra_dirs: &[PathBuf]) -> Catalogue {
        let mut catalogue = Catalogue::default();
        let embedded = EMBEDDED.dirs().map(|dir| dir.path().to_string_lossy());
        for name in embedded.filter(|name| is_server(name)) {
            catalogue.add(&name, Source::Embedded);
        }
        for dir in extra_dirs {
            catalogue.add_folder(dir);
        }
        if Path::new(OWN_SERVERS).is_dir() {
            catalogue.add_folder(Path::new(OWN_SERVERS));
        }
        catalogue.check_versus();
        catalogue
    }

    /// A server by its name.
    ///
    /// # Errors
    /// With the nearest name there is, or why its recipe was refused.
    pub fn get(&self, name: &str) -> Result<&Server, LookupError> {
        if let Some(server) = self.servers.get(name) {
            return Ok(server);
        }
        if let Some(broken) = self.broken.iter().find(|b| b.name == name) {
            return Err(LookupError::Broken { name: name.to_owned(), error: broken.error.clone() });
        }
        let suggestion = suggest(name, self.servers.keys().map(String::as_str));
        Err(LookupError::Unknown { name: name.to_owned(), suggestion })
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
                self.add(&name, Source::Folder(folder));
            }
        }
    }

    fn add(&mut self, name: &str, source: Source) {
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

impl Server {
    fn read(name: &str, source: Source) -> Result<Server, String> {
        if !is_label_word(name) {
            return Err(format!(
                "{name:?} cannot be a server's name: rename the folder to letters, digits, '.', '_' and '-'."
            ));
        }
        let file = file_name(name, &source);
        let Some(text) = files::read_text(name, &source, RECIPE_FILE).map_err(|e| format!("{file}: {e}"))?
        else {
            return Err(format!("{file} does not exist: write it, or remove its folder from the catalogue."));
        };
        let recipe = Recipe::parse(&file, &text).map_err(|e| e.to_string())?;
        let mut server = Server { name: name.to_owned(), recipe, source, shared: Vec::new() };
        server.take_shared(&file, &text)?;
        server.check_files(&file, &text)?;
        Ok(server)
    }

    /// What the recipe names of its folder must be there.
    fn check_files(&self, file: &str, text: &str) -> Result<(), String> {
        let requires = &self.recipe.requires;
        let templates = self.recipe.start.templates.iter().enumerate();
        let mut needed: Vec<(Vec<String>, &str)> = templates
            .map(|(i, t)| (vec!["start".to_owned(), "templates".to_owned(), i.to_string()], t.as_str()))
            .collect();
        let built = [
            (requires.npm, "npm", "package-lock.json"),
            (requires.go, "go", "go.mod"),
            (requires.cargo, "cargo", "Cargo.lock"),
            (requires.composer, "composer", "composer.json"),
            (requires.mix, "mix", "mix.exs"),
        ];
        needed.extend(
            built
                .iter()
                .filter(|b| b.0)
                .map(|(_, key, name)| (vec!["requires".to_owned(), (*key).to_owned()], *name)),
        );
        for (path, name) in needed {
            if !self.has_file(name) {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                let why = format!("the file {name:?} is needed, but it is not beside server.toml.");
                return Err(TomlError::at_key(file, text, &path, why).to_string());
            }
        }
        Ok(())
    }

    fn error_at(&self, path: &[&str], message: String) -> String {
        let file = file_name(&self.name, &self.source);
        let text = files::read_text(&self.name, &self.source, RECIPE_FILE).ok().flatten().unwrap_or_default();
        TomlError::at_key(&file, &text, path, message).to_string()
    }

    /// Copies the recipe's folder to `work_dir`, with the shared files it takes, so that what is built there is not
    /// built in the catalogue. Files that are already as they should be are not touched, nor is what was
    /// built there; files that the recipe no longer has are removed. Returns the hash of the
    /// content, which is the same as long as no file changes.
    ///
    /// # Errors
    /// If the folder is too large (64 MiB, 4,096 files), a link leads out of it, or the disk refuses.
    pub fn materialise(&self, work_dir: &Path) -> Result<u64, MaterialiseError> {
        let files = self.files()?;
        materialise::write(&files, work_dir)?;
        Ok(files::hash_of_files(&files))
    }

    /// Whether a file of this name lies beside server.toml, or is put there.
    pub fn has_file(&self, name: &str) -> bool {
        self.recipe.shared.contains_key(name) || files::exists(&self.name, &self.source, name)
    }

    /// The hash of the folder's content, as [`Server::materialise`] returns it.
    ///
    /// # Errors
    /// As [`Server::materialise`].
    pub fn content_hash(&self) -> Result<u64, MaterialiseError> {
        Ok(files::hash_of_files(&self.files()?))
    }
}

/// Whether a folder of this name is a server's: anything else may lie there too, a .git, or what servers share.
fn is_server(name: &str) -> bool {
    !name.starts_with(['.', '_'])
}

/// What errors call a recipe's file.
fn file_name(name: &str, source: &Source) -> String {
    match source {
        Source::Embedded => format!("servers/{name}/{RECIPE_FILE}"),
        Source::Folder(path) => path.join(RECIPE_FILE).display().to_string(),
    }
}

#[cfg(test)]
mod tests;
