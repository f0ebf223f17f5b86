//! A new recipe, begun as a copy of another.

use std::fs;
use std::path::{Path, PathBuf};

use super::Catalogue;
use super::files::RECIPE_FILE;
use super::recipe::is_label_word;

impl Catalogue {
    /// Copies the server `from` as `name` into a new folder below `parent`, and returns that.
    pub fn scaffold(&self, name: &str, from: &str, parent: &Path) -> Result<PathBuf, String> {
        if !is_label_word(name) {
            return Err(format!(
                "{name:?} cannot be a server's name: use letters, digits, '.', '_' and '-', a letter or digit first."
            ));
        }
        if self.servers.contains_key(name) || self.broken.iter().any(|b| b.name == name) {
            return Err(format!("There is a server {name:?} already: choose another name."));
        }
        let original = self.get(from)?;
        let folder = parent.join(name);
        if folder.exists() {
            return Err(format!("{} exists already: choose another name, or remove it.", folder.display()));
        }
        let files = original.files()?;
        for file in &files {
            let path = folder.join(&file.path);
            let bytes = match file.path.to_str() {
                Some(RECIPE_FILE) => renamed(&String::from_utf8_lossy(&file.bytes), name, from).into_bytes(),
                _ => file.bytes.clone(),
            };
            let written = || {
                fs::create_dir_all(path.parent().unwrap_or(&folder))?;
                fs::write(&path, &bytes)
            };
            written().map_err(|e| format!("{} cannot be written: {e}.", path.display()))?;
        }
        Ok(folder)
    }
}

/// The recipe with the new title; all else, comments too, as it was.
fn renamed(recipe: &str, name: &str, from: &str) -> String {
    let mut titled = false;
    let mut text = format!("# Begun as a copy of {from}; docs/adding-a-server.md describes the keys.\n");
    for line in recipe.lines() {
        let is_title = !titled && line.split('=').next().is_some_and(|key| key.trim() == "title");
        titled |= is_title;
        match line.split_once('=').filter(|_| is_title) {
            Some((key, _)) => text.push_str(&format!("{key}= {name:?}\n")),
            None => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_every_server_is_a_server() {
        let dir = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::load(&[]);
        for name in catalogue.servers.keys() {
            let folder = catalogue.scaffold(&format!("my-{name}"), name, dir.path()).unwrap();
            assert!(folder.join(RECIPE_FILE).is_file());
        }
        let copies = Catalogue::load(&[dir.path().to_owned()]);
        assert_eq!(copies.broken, []);
        let (copy, original) = (copies.get("my-hyper").unwrap(), copies.get("hyper").unwrap());
        assert_eq!(copy.recipe.title, "my-hyper");
        assert_eq!(copy.recipe.axes, original.recipe.axes);
        assert_eq!(copy.recipe.start, original.recipe.start);
    }

    #[test]
    fn taken_or_impossible_names_are_refused_and_write_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::load(&[]);
        let error = |name: &str, from: &str| catalogue.scaffold(name, from, dir.path()).unwrap_err();
        assert_eq!(error("flask", "flask"), "There is a server \"flask\" already: choose another name.");
        assert!(error("a/../b", "flask").starts_with("\"a/../b\" cannot be a server's name"));
        assert!(error("-rf", "flask").starts_with("\"-rf\" cannot be"));
        assert!(error("mine", "node-htp").contains("did you mean \"node-http\"?"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        fs::create_dir(dir.path().join("mine")).unwrap();
        assert!(error("mine", "flask").contains("exists already"));
    }
}
