//! The files of a recipe's folder, embedded or on disk, read with bounds.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, include_dir};
use prony_model::fnv::hash_of;

pub(super) const RECIPE_FILE: &str = "server.toml";
pub const DOCKERFILE: &str = "Dockerfile";
pub(super) const VERIFIED_FILE: &str = "verified.toml";

pub(super) static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../servers");

/// A recipe is an application of some files; whoever exceeds these has pointed at something else.
const FILES_MAX: usize = 4096;
const BYTES_MAX: u64 = 64 << 20;
const DEPTH_MAX: usize = 16;
/// A `server.toml` is 2 KiB.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Built by somebody in the recipe's own folder, or said about it: not part of the recipe.
const LEFT_OUT: [&str; 9] =
    [".git", "node_modules", "target", "__pycache__", ".venv", "venv", "vendor", "_build", VERIFIED_FILE];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Embedded,
    Folder(PathBuf),
}

pub(super) fn not_copied(path: &Path) -> impl Fn(io::Error) -> String + '_ {
    move |why| format!("{} cannot be copied: {why}.", path.display())
}

#[derive(Debug, Clone)]
pub(super) struct RecipeFile {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// A text file beside `server.toml`; `None` if it does not exist.
pub(super) fn read_text(name: &str, source: &Origin, file: &str) -> Result<Option<String>, String> {
    let bytes = match source {
        Origin::Embedded => {
            let Some(file) = EMBEDDED.get_file(Path::new(name).join(file)) else { return Ok(None) };
            file.contents().to_vec()
        }
        Origin::Folder(folder) => {
            let path = folder.join(file);
            if !path.is_file() {
                return Ok(None);
            }
            read_bounded(&path, TEXT_BYTES_MAX).map_err(|e| format!("cannot be read: {e}."))?
        }
    };
    String::from_utf8(bytes).map(Some).map_err(|_| "is not text in UTF-8.".to_owned())
}

pub(super) fn exists(name: &str, source: &Origin, file: &str) -> bool {
    match source {
        Origin::Embedded => EMBEDDED.get_file(Path::new(name).join(file)).is_some(),
        Origin::Folder(folder) => folder.join(file).is_file(),
    }
}

pub(super) fn read_all(name: &str, source: &Origin) -> Result<Vec<RecipeFile>, String> {
    let mut files = Vec::new();
    match source {
        Origin::Embedded => {
            if let Some(dir) = EMBEDDED.get_dir(name) {
                embedded(dir, dir.path(), &mut files);
            }
        }
        Origin::Folder(folder) => {
            let root = folder.canonicalize().map_err(not_copied(folder))?;
            let mut walk = Walk { root: &root, files: &mut files, bytes: 0 };
            walk.folder(&root, 0)?;
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn embedded(dir: &Dir<'static>, root: &Path, files: &mut Vec<RecipeFile>) {
    for entry in dir.entries() {
        if left_out(entry.path()) {
            continue;
        }
        match entry {
            DirEntry::Dir(dir) => embedded(dir, root, files),
            DirEntry::File(file) => {
                let path = file.path().strip_prefix(root).unwrap_or(file.path()).to_owned();
                files.push(RecipeFile { path, bytes: file.contents().to_vec() });
            }
        }
    }
}

pub(super) fn left_out(path: &Path) -> bool {
    path.file_name().is_some_and(|name| LEFT_OUT.iter().any(|l| name == *l))
}

struct Walk<'a> {
    root: &'a Path,
    files: &'a mut Vec<RecipeFile>,
    bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(self.too_large());
        }
        for entry in fs::read_dir(folder).map_err(not_copied(folder))? {
            let path = entry.map_err(not_copied(folder))?.path();
            if left_out(&path) {
                continue;
            }
            let kind = path.symlink_metadata().map_err(not_copied(&path))?.file_type();
            if kind.is_dir() {
                self.folder(&path, depth + 1)?;
            } else if kind.is_file() {
                self.file(&path, &path)?;
            } else if kind.is_symlink() {
                let real = path.canonicalize().map_err(not_copied(&path))?;
                if !real.starts_with(self.root) || !real.is_file() {
                    return Err(format!(
                        "{} is a link to a folder or out of the recipe: replace it by the files themselves.",
                        path.display()
                    ));
                }
                self.file(&path, &real)?;
            }
            // A socket or a pipe was left there by a server: nothing to copy.
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, real: &Path) -> Result<(), String> {
        let bytes = read_bounded(real, BYTES_MAX).map_err(not_copied(path))?;
        self.bytes += bytes.len() as u64;
        if self.bytes > BYTES_MAX || self.files.len() >= FILES_MAX {
            return Err(self.too_large());
        }
        let path = path.strip_prefix(self.root).unwrap_or(path).to_owned();
        self.files.push(RecipeFile { path, bytes });
        Ok(())
    }

    fn too_large(&self) -> String {
        format!(
            "{} is too large for a recipe (64 MiB, 4,096 files, 16 levels): move what does not belong to the \
             application out of it.",
            self.root.display()
        )
    }
}

/// Reads at most one byte more than allowed, whatever the file's size is said to be.
fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it is over {bytes_max} bytes")));
    }
    Ok(bytes)
}

pub(super) fn hash_of_files<'a>(files: impl IntoIterator<Item = &'a RecipeFile>) -> u64 {
    let parts = files.into_iter().flat_map(|f| [f.path.as_os_str().as_encoded_bytes(), f.bytes.as_slice()]);
    hash_of(parts)
}
