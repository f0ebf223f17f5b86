//! The licences of what is inside the binary, most of which ask to be handed on with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::files;
use crate::programs::text;

/// How the files begin that a package has its licences in.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

type Package = (String, PathBuf);

/// Writes every package inside the binary with the licence files that its authors put beside it, equal texts once.
pub(super) fn write(root: &Path, to: &Path) -> Result<(), String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (stated, folder) in [crates(root)?, of_the_page(root)?].concat() {
        let mut files = super::files_of(&folder)?;
        files.retain(|path| {
            let name = files::name(path).to_uppercase();
            NAMES.iter().any(|begin| name.starts_with(begin))
        });
        if files.is_empty() {
            texts.entry("(no file beside it)".to_owned()).or_default().push(stated.clone());
        }
        for file in files {
            let licence = crate::programs::trimmed(&fs::read(&file).map_err(files::at(&file))?);
            texts.entry(licence).or_default().push(stated.clone());
        }
    }
    let mut all = "What is inside prony beside Prony itself, and its licences.\n".to_owned();
    for (text, names) in texts {
        // A String takes all.
        let _ = write!(all, "\n{}\n{}\n\n{text}\n", "=".repeat(80), names.join("\n"));
    }
    files::write(to, &all)
}

/// What is compiled in; Prony's own crates come from nowhere.
fn crates(root: &Path) -> Result<Vec<Package>, String> {
    let cargo =
        |line: &str| text(Command::new("cargo").args(line.split(' ')).arg("--locked").current_dir(root));
    let metadata = json("cargo metadata", &cargo("metadata --format-version 1")?)?;
    let tree = cargo("tree --package prony --edges normal --prefix none --format {p}")?;
    let package = |package: &Value| {
        let name = format!("{} v{}", package["name"].as_str()?, package["version"].as_str()?);
        let inside = tree.lines().any(|line| line == name || line.starts_with(&format!("{name} (")));
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?.to_owned();
        let inside = inside && package["source"].is_string();
        inside.then(|| (stated(&name, &package["license"]), folder))
    };
    Ok(metadata["packages"].as_array().into_iter().flatten().filter_map(package).collect())
}

fn of_the_page(root: &Path) -> Result<Vec<Package>, String> {
    let file = root.join("web/package-lock.json");
    let lock = json("web/package-lock.json", &files::read(&file)?)?;
    let packages = lock["packages"].as_object().into_iter().flatten();
    let used = packages.filter(|(place, package)| !place.is_empty() && package["dev"] != true);
    // What is not for this processor is in the lock and not in the folder.
    let there =
        used.map(|(place, package)| (stated(place, &package["license"]), root.join("web").join(place)));
    Ok(there.filter(|(_, folder)| folder.is_dir()).collect())
}

fn stated(name: &str, licence: &Value) -> String {
    format!("{}: {}", name.trim_start_matches("node_modules/"), licence.as_str().unwrap_or("see its files"))
}

fn json(what: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| format!("{what}: {e}"))
}
