//! Files that several servers have, kept once in the folder `_shared` beside those of the servers.

use std::collections::BTreeMap;
use std::path::Path;

use toml::de::DeTable;

use super::files::{self, Origin, RECIPE_FILE, RecipeFile};
use super::server::Server;
use crate::toml_file::{TomlFile, suggest};

const SHARED_DIR: &str = "_shared";

/// The binary's, and those of the folder beside the server's own, which replace them; by their names.
fn all(source: &Origin) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut files = files::read_all(SHARED_DIR, &Origin::Embedded)?;
    if let Origin::Folder(own) = source {
        let beside = own.with_file_name(SHARED_DIR);
        if beside.is_dir() {
            files.extend(files::read_all(SHARED_DIR, &Origin::Folder(beside))?);
        }
    }
    Ok(files.into_iter().map(|f| (f.path.to_string_lossy().into_owned(), f.bytes)).collect())
}

impl Server {
    /// Reads the files that the recipe takes from there. Each must exist, and none of the server's own be in its place.
    pub(super) fn take_shared(&mut self, file: TomlFile<'_>) -> Result<(), String> {
        if self.recipe.shared.is_empty() {
            return Ok(());
        }
        let known = all(&self.source)?;
        for (place, name) in &self.recipe.shared {
            let why = match known.get(name) {
                None => {
                    let suggestion = suggest(name, known.keys().map(String::as_str));
                    format!("there is no shared file {name:?}: {suggestion}")
                }
                Some(_) if !is_place(place) => format!(
                    "{place:?} cannot be a file of the server's folder: write it as \"app.py\" or \"lib/app.py\"."
                ),
                Some(_) if files::exists(&self.name, &self.source, place) => {
                    format!("the file {place:?} is also in the server's own folder: remove it, or this line.")
                }
                Some(bytes) => {
                    self.shared.push(RecipeFile { path: place.into(), bytes: bytes.clone() });
                    continue;
                }
            };
            return Err(file.error(&["shared", place], why).to_string());
        }
        Ok(())
    }

    /// All files, sorted by their paths: its own, and the shared ones in their places. The recipe is without
    /// `[shared]`, as if all were its own: a file that is moved to `_shared` changes no copy and no hash.
    pub(super) fn files(&self) -> Result<Vec<RecipeFile>, String> {
        let mut files = files::read_all(&self.name, &self.source)?;
        for recipe in files.iter_mut().filter(|file| file.path.as_os_str() == RECIPE_FILE) {
            recipe.bytes = without_shared(&String::from_utf8_lossy(&recipe.bytes)).into_bytes();
        }
        files.extend_from_slice(&self.shared);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }
}

/// Whether a path leads to a file below the folder, and to none that is left out of copies.
fn is_place(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | "..") && !files::left_out(Path::new(part)))
}

/// A recipe's text without `[shared]` and the blank line behind it.
fn without_shared(recipe: &str) -> String {
    let Ok(root) = DeTable::parse(recipe) else { return recipe.to_owned() };
    let Some((key, table)) = root.get_ref().iter().find(|(key, _)| key.get_ref() == "shared") else {
        return recipe.to_owned();
    };
    // The span of a table is that of its header alone.
    let entries = table.get_ref().as_table().into_iter().flatten().map(|(_, value)| value.span().end);
    let end = entries.fold(table.span().end, usize::max);
    let start = recipe[..key.span().start].rfind('\n').map_or(0, |at| at + 1);
    let rest = recipe[end..].split_once('\n').map_or("", |(_, rest)| rest);
    format!("{}{}", &recipe[..start], rest.strip_prefix('\n').unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::catalogue::Catalogue;

    const RECIPE: &str = "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"L\"\nkind = \"runtime\"\n\
        routes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n\n[start]\ncommand = [\"x\", \"{port}\"]\n";

    /// [`RECIPE`] with these lines as `[shared]`.
    fn taking(lines: &str) -> String {
        RECIPE.replace("[start]", &format!("[shared]\n{lines}\n\n[start]"))
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn load(root: &Path) -> Catalogue {
        Catalogue::load(&[root.to_owned()])
    }

    #[test]
    fn no_server_file_exists_twice_and_each_shared_one_is_used() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers");
        let files = files::read_all("", &Origin::Folder(root.clone())).unwrap();
        let mut seen: BTreeMap<&[u8], &Path> = BTreeMap::new();
        for file in &files {
            let earlier = seen.insert(&file.bytes, &file.path);
            assert_eq!(earlier, None, "{} is the same: share it", file.path.display());
        }
        let catalogue = load(&root);
        let kept = all(&Origin::Folder(root.join("flask"))).unwrap();
        assert!(!kept.is_empty());
        for name in kept.keys() {
            let takes = |server: &&Server| server.recipe.shared.values().any(|taken| taken == name);
            let users = catalogue.servers.values().filter(takes).count();
            assert!(users >= 2, "{name} is used by {users} servers");
        }
    }

    #[test]
    fn a_server_has_its_shared_files_where_its_recipe_puts_them() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "_shared/any/app.py", "shared");
        write(
            dir.path(),
            "app/server.toml",
            &taking("Dockerfile = \"any/app.py\"\n\"lib/app.py\" = \"any/app.py\""),
        );
        write(dir.path(), "same/server.toml", RECIPE);
        for place in ["Dockerfile", "lib/app.py"] {
            write(&dir.path().join("same"), place, "shared");
        }
        let catalogue = load(dir.path());
        let (app, same) = (catalogue.get("app").unwrap(), catalogue.get("same").unwrap());
        assert!(app.has_file("Dockerfile") && app.has_file("lib/app.py") && !app.has_file("app.py"));
        let work = dir.path().join("made/work");
        assert_eq!(app.materialise(&work).unwrap(), app.content_hash().unwrap());
        assert_eq!(fs::read_to_string(work.join("lib/app.py")).unwrap(), "shared");
        assert_eq!(fs::read_to_string(work.join("server.toml")).unwrap(), RECIPE);
        // As if the files were its own: what is recorded of a server holds when they are moved.
        assert_eq!(app.content_hash().unwrap(), same.content_hash().unwrap());
        let before = app.recipe_hash(false);
        assert_eq!(before, same.recipe_hash(false));
        write(dir.path(), "_shared/any/app.py", "changed");
        assert_ne!(load(dir.path()).get("app").unwrap().recipe_hash(false), before);
    }

    #[test]
    fn an_own_folder_may_take_and_replace_the_shared_files() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "app/server.toml", &taking("\"app.py\" = \"python/flask_app.py\""));
        let app = || {
            let files = load(dir.path()).get("app").unwrap().files().unwrap();
            files.into_iter().find(|f| f.path.as_os_str() == "app.py").unwrap().bytes
        };
        let binarys = all(&Origin::Embedded).unwrap().remove("python/flask_app.py").unwrap();
        assert_eq!(app(), binarys);
        write(dir.path(), "_shared/python/flask_app.py", "mine");
        assert_eq!(app(), b"mine");
    }

    #[test]
    fn unknown_or_misplaced_shared_files_are_refused_with_the_line() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "_shared/any/app.py", "shared");
        write(dir.path(), "app/app.py", "own");
        write(dir.path(), "other/app.py", "other's");
        let error = |line: &str| {
            write(dir.path(), "app/server.toml", &taking(line));
            load(dir.path()).get("app").unwrap_err()
        };
        let unknown = error("\"a.py\" = \"any/ap.py\"");
        assert!(unknown.contains("app/server.toml:10: there is no shared file \"any/ap.py\""), "{unknown}");
        assert!(unknown.contains("did you mean \"any/app.py\"? Known: any/app.py, "), "{unknown}");
        for outside in ["../other/app.py", "/etc/hostname", "any/../../other/app.py", "any", ""] {
            let error = error(&format!("\"a.py\" = {outside:?}"));
            assert!(error.contains(&format!("there is no shared file {outside:?}")), "{error}");
        }
        for place in ["", "..", "../a.py", "/tmp/a.py", "lib/", "lib/./a.py", "verified.toml", "vendor/a.php"]
        {
            let error = error(&format!("{place:?} = \"any/app.py\""));
            assert!(error.contains(&format!("{place:?} cannot be a file of the server's folder")), "{error}");
        }
        for place in ["app.py", "server.toml"] {
            let error = error(&format!("{place:?} = \"any/app.py\""));
            assert!(
                error.contains(&format!("the file {place:?} is also in the server's own folder")),
                "{error}"
            );
        }
        std::os::unix::fs::symlink("/etc/hostname", dir.path().join("_shared/outside")).unwrap();
        let error = error("\"a.py\" = \"outside\"");
        assert!(error.contains("_shared/outside is a link"), "{error}");
    }

    #[test]
    fn a_folder_that_begins_with_an_underscore_is_no_server() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "_shared/app.py", "shared");
        write(dir.path(), "_drafts/server.toml", "nothing yet");
        let catalogue = load(dir.path());
        assert_eq!(catalogue.broken, []);
        assert!(catalogue.servers.keys().all(|name| !name.starts_with('_')));
    }

    #[test]
    fn a_recipe_without_its_shared_files_is_else_as_it_was_written() {
        let lines = "app = \"a\" # why\n\n\"b.py\" = \"b\"";
        assert_eq!(without_shared(&taking(lines)), RECIPE);
        let inline = format!("shared = {{ app = \"a\" }}\n{RECIPE}");
        assert_eq!(without_shared(&inline), RECIPE);
        let last = format!("{RECIPE}[shared]\napp = \"a\"");
        assert_eq!(without_shared(&last), RECIPE);
        assert_eq!(without_shared(RECIPE), RECIPE);
    }

    #[test]
    fn a_copy_of_a_server_has_the_shared_files_as_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let folder: PathBuf = Catalogue::load(&[]).scaffold("mine", "granian", dir.path()).unwrap();
        let names: BTreeSet<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        let expected = ["Dockerfile", "app.py", "requirements.lock", "rsgi.py", "server.toml", "wsgi.py"];
        assert_eq!(names, expected.map(Into::into).into());
        assert!(load(dir.path()).get("mine").unwrap().recipe.shared.is_empty());
    }
}
