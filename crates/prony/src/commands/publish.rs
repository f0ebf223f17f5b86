//! `prony publish`: run logs as a static site, in a folder that is its own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use prony_report::format::count;
use prony_report::site;

use super::serve;
use crate::cli::PublishArguments;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::result_file;

/// Lists the files of a site, a line each, below this first one: what a later site has no more is removed by it.
const MARKER: &str = "prony-site.txt";
const FIRST_LINE: &str = "prony.site/1";
/// Bytes of a marker that are read.
const MARKER_MAX: u64 = 16 << 20;
const FOLDERS: [&str; 7] =
    ["runs", "servers", "experiments", "data", "data/runs", "data/servers", "data/experiments"];

pub(crate) fn run(arguments: &PublishArguments, printer: &Printer) -> Result<(), Failure> {
    let index = serve::run_index(&arguments.runs, "publish")?;
    let folder = Folder::open(Path::new(&arguments.output)).map_err(Failure::usage)?;
    let published = site::publish(&index, &|path, text| folder.write(path, text)).map_err(Failure::usage)?;
    folder.close().map_err(Failure::usage)?;
    for left in &published.left_out {
        printer.note(&format!("left out  {}: {}", left.file, left.why));
    }
    let several = |n: usize, one, many| count(n as u64, one, many);
    printer.out(&format!(
        "{}: {}, {}, {}",
        Path::new(&arguments.output).join("index.html").display(),
        several(published.runs, "run", "runs"),
        several(published.experiments, "experiment", "experiments"),
        several(published.servers, "server", "servers"),
    ));
    Ok(())
}

/// The site's folder. Whatever is in it and not of the site stays as it is.
struct Folder {
    path: PathBuf,
    earlier: BTreeSet<String>,
    /// What was written, and the marker that names it before it is there: a run that was killed can be done again.
    written: Mutex<(BTreeSet<String>, Option<File>)>,
}

impl Folder {
    fn open(path: &Path) -> Result<Folder, String> {
        let shown = path.display();
        let wrong = |e: io::Error| format!("{shown} cannot be a site's folder: {e}.");
        fs::create_dir_all(path).map_err(wrong)?;
        let marker = path.join(MARKER);
        let earlier = match fs::symlink_metadata(&marker) {
            Ok(metadata) if metadata.is_file() && metadata.len() <= MARKER_MAX => {
                let text = fs::read_to_string(&marker).map_err(wrong)?;
                let mut lines = text.lines();
                let is_ours = lines.next() == Some(FIRST_LINE);
                is_ours.then(|| lines.map(str::to_owned).collect())
            }
            Ok(_) => None,
            Err(_) => fs::read_dir(path).map_err(wrong)?.next().is_none().then(BTreeSet::new),
        };
        let earlier = earlier.ok_or_else(|| {
            format!(
                "{shown} has files, and no {MARKER} that says that `prony publish` wrote them: name a new or an empty folder."
            )
        })?;
        Ok(Folder { path: path.to_owned(), earlier, written: Mutex::default() })
    }

    fn failed(&self, path: &str, e: &io::Error) -> String {
        format!("{} could not be written: {e}.", self.path.join(path).display())
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        self.announce(path)?;
        let whole = self.path.join(path);
        let done = result_file::write_soon(&whole, |mut file| file.write_all(text.as_bytes()));
        done.map_err(|e| self.failed(path, &e))
    }

    /// Names a file in the marker before it is written; the first makes the folders. A file of somebody else is refused.
    fn announce(&self, path: &str) -> Result<(), String> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let (names, marker) = &mut *written;
        let there = fs::symlink_metadata(self.path.join(path)).is_ok();
        if there && !self.earlier.contains(path) || !names.insert(path.to_owned()) {
            return Err(format!(
                "{} is there, and is no file of the site: move it away, or name another folder.",
                self.path.join(path).display()
            ));
        }
        if marker.is_none() {
            self.make_folders()?;
            *marker = Some(self.begin().map_err(|e| self.failed(MARKER, &e))?);
        }
        let Some(file) = marker else { return Ok(()) };
        writeln!(file, "{path}").map_err(|e| self.failed(MARKER, &e))
    }

    /// A link in a folder's place could lead the site's files elsewhere.
    fn make_folders(&self) -> Result<(), String> {
        for folder in FOLDERS {
            let path = self.path.join(folder);
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => return Err(format!("{} is no folder: move it away.", path.display())),
                Err(_) => fs::create_dir(&path).map_err(|e| self.failed(folder, &e))?,
            }
        }
        Ok(())
    }

    /// The marker with what was here before, open for more lines.
    fn begin(&self) -> io::Result<File> {
        let path = self.path.join(MARKER);
        result_file::write_soon(&path, |file| listed(file, &self.earlier))?;
        fs::OpenOptions::new().append(true).open(path)
    }

    /// Removes what the earlier site had and this one has not, and says in the marker what there is.
    fn close(self) -> Result<(), String> {
        let names = std::mem::take(&mut self.written.lock().unwrap_or_else(PoisonError::into_inner).0);
        for gone in self.earlier.difference(&names).filter(|path| is_of_a_site(path)) {
            let path = self.path.join(gone);
            if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
                fs::remove_file(&path)
                    .map_err(|e| format!("{} could not be removed: {e}.", path.display()))?;
            }
        }
        let marker = result_file::write_soon(&self.path.join(MARKER), |file| listed(file, &names));
        marker.map_err(|e| self.failed(MARKER, &e))
    }
}

fn listed(mut file: &File, names: &BTreeSet<String>) -> io::Result<()> {
    let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
    file.write_all(format!("{FIRST_LINE}\n{lines}").as_bytes())
}

/// Whether a site can have such a file: a marker that somebody else wrote leads nowhere else.
fn is_of_a_site(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let ends = [".html", ".json", ".csv", ".css", ".js"].iter().any(|end| name.ends_with(end));
    (folder.is_empty() || FOLDERS.contains(&folder)) && !name.starts_with('.') && ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_site_are_ever_removed() {
        for (path, expected) in [
            ("index.html", true),
            ("runs/a.html", true),
            ("data/servers/a.csv", true),
            ("../a.html", false),
            ("runs/../../a.html", false),
            ("/etc/a.html", false),
            ("runs/a.jsonl", false),
            ("runs/.html", false),
            ("other/a.html", false),
        ] {
            assert_eq!(is_of_a_site(path), expected, "{path}");
        }
    }

    #[test]
    fn files_that_a_site_has_no_more_are_removed_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join("site").join(name);
        let site = || Folder::open(&dir.path().join("site"));
        let first = site().unwrap();
        for name in ["index.html", "runs/a.html"] {
            first.write(name, "first").unwrap();
        }
        assert!(first.write("index.html", "twice").is_err(), "two pages of one name");
        // Ended before it was closed: what it wrote is known.
        drop(first);
        fs::write(at("runs/mine.html"), "mine").unwrap();
        let second = site().unwrap();
        second.write("index.html", "second").unwrap();
        let why = second.write("runs/mine.html", "theirs").unwrap_err();
        assert!(why.contains("is no file of the site"), "{why}");
        second.close().unwrap();
        assert!(!at("runs/a.html").exists());
        let read = |name: &str| fs::read_to_string(at(name)).unwrap();
        assert_eq!([read("index.html"), read("runs/mine.html")], ["second", "mine"]);
        assert_eq!(read(MARKER), "prony.site/1\nindex.html\n");
    }

    #[test]
    fn a_folder_with_files_of_others_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("notes.txt"), "mine").unwrap();
        let open = || Folder::open(dir.path()).map(drop);
        assert!(open().unwrap_err().contains("no prony-site.txt"));
        fs::write(dir.path().join(MARKER), "something else\n").unwrap();
        assert!(open().is_err());
        assert!(Folder::open(&dir.path().join("notes.txt")).map(drop).unwrap_err().contains("cannot be"));
        // A folder of the site that is a link leads elsewhere.
        let linked = dir.path().join("linked");
        fs::create_dir(&linked).unwrap();
        let site = Folder::open(&linked).unwrap();
        std::os::unix::fs::symlink(dir.path(), linked.join("runs")).unwrap();
        assert!(site.write("runs/a.html", "").unwrap_err().contains("is no folder"));
    }
}
