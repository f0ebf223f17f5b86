//! One server of the catalogue: its recipe, and the files of its folder.

use std::path::Path;

use super::files::{self, Origin, RECIPE_FILE};
use super::materialise;
use super::recipe::{Recipe, is_label_word};
use crate::toml_file::{TomlError, TomlFile};

#[derive(Debug, Clone)]
pub struct Server {
    pub name: String,
    pub recipe: Recipe,
    pub(crate) source: Origin,
    /// The shared files that it takes, in its folder's places.
    pub(super) shared: Vec<files::RecipeFile>,
}

impl Server {
    pub(super) fn read(name: &str, source: Origin) -> Result<Server, String> {
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
        let file = TomlFile { name: &file, text: &text };
        server.take_shared(file)?;
        server.check_files(file).map_err(|e| e.to_string())?;
        Ok(server)
    }

    fn check_files(&self, file: TomlFile<'_>) -> Result<(), TomlError> {
        let missing = |path: &[&str], name: &str| {
            let why = format!("the file {name:?} is needed, but it is not beside server.toml.");
            if self.has_file(name) { Ok(()) } else { file.refuse(path, why) }
        };
        for (i, template) in self.recipe.start.templates.iter().enumerate() {
            missing(&["start", "templates", &i.to_string()], template)?;
        }
        let requires = &self.recipe.requires;
        let built = [
            (requires.npm, "npm", "package-lock.json"),
            (requires.go, "go", "go.mod"),
            (requires.cargo, "cargo", "Cargo.lock"),
            (requires.composer, "composer", "composer.json"),
            (requires.mix, "mix", "mix.exs"),
        ];
        let needed = built.iter().filter(|(needed, ..)| *needed);
        needed.into_iter().try_for_each(|(_, key, name)| missing(&["requires", key], name))
    }

    pub(super) fn error_at(&self, path: &[&str], message: String) -> String {
        let file = file_name(&self.name, &self.source);
        let text = files::read_text(&self.name, &self.source, RECIPE_FILE).ok().flatten().unwrap_or_default();
        TomlFile { name: &file, text: &text }.error(path, message).to_string()
    }

    /// Copies the recipe's folder to `work_dir`, with the shared files it takes, so that what is built there is not
    /// built in the catalogue. Files that are already as they should be are not touched, nor is what was
    /// built there; files that the recipe no longer has are removed. Returns the hash of the
    /// content, which is the same as long as no file changes.
    pub(crate) fn materialise(&self, work_dir: &Path) -> Result<u64, String> {
        let files = self.files()?;
        materialise::write(&files, work_dir)?;
        Ok(files::hash_of_files(&files))
    }

    pub fn has_file(&self, name: &str) -> bool {
        self.recipe.shared.contains_key(name) || files::exists(&self.name, &self.source, name)
    }

    /// The hash of the folder's content, as [`Server::materialise`] returns it.
    pub(crate) fn content_hash(&self) -> Result<u64, String> {
        Ok(files::hash_of_files(&self.files()?))
    }
}

fn file_name(name: &str, source: &Origin) -> String {
    match source {
        Origin::Embedded => format!("servers/{name}/{RECIPE_FILE}"),
        Origin::Folder(path) => path.join(RECIPE_FILE).display().to_string(),
    }
}
