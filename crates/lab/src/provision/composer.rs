//! PHP packages, by Composer.

use std::fs;
use std::path::Path;

use super::tool::{Origin, Site, not_written, stand_in};
use crate::programs::Run;

/// Names a file with a JSON list as in composer.json's `repositories`; these stand in for Packagist, and
/// the versions that composer.json pins are looked for in them, whatever composer.lock says of their places.
pub(super) const REPOSITORIES: &str = "PRONY_COMPOSER_REPOSITORIES";
/// composer.json under another name: its lock is another one too.
const LOCAL_JSON: &str = "composer.local.json";

const INSTALL: [&str; 6] =
    ["install", "--no-dev", "--no-interaction", "--no-progress", "--prefer-dist", "--optimize-autoloader"];

/// Installs what `work`'s composer.lock names, or else its composer.json, into its `vendor`.
pub(super) fn run(work: &Path, site: &Site<'_>) -> Result<Origin, String> {
    let repositories = stand_in(REPOSITORIES);
    let mut set = vec![
        ("COMPOSER_ALLOW_SUPERUSER", "1".to_owned()),
        // A package in a folder would be linked to, and the server would need that folder for ever.
        ("COMPOSER_MIRROR_PATH_REPOS", "1".to_owned()),
        ("COMPOSER_DISABLE_XDEBUG_WARN", "1".to_owned()),
    ];
    match &repositories {
        Some(file) => {
            let home = site.layout.home().join("composer-local");
            write_config(&home, file)?;
            local_json(work)?;
            set.push(("COMPOSER_CACHE_DIR", home.join("cache").to_string_lossy().into_owned()));
            set.push(("COMPOSER_HOME", home.to_string_lossy().into_owned()));
            set.push(("COMPOSER", LOCAL_JSON.to_owned()));
        }
        None => set.push(("COMPOSER", "composer.json".to_owned())),
    }
    // Extensions are loaded by the server's own command line, from {ext}, which Composer does not see.
    let arguments = [&INSTALL[..], &["--ignore-platform-req=ext-*"]].concat();
    let mut composer = Run {
        name: format!("composer {}", INSTALL[..2].join(" ")),
        ..site.tool("composer", &arguments, work)?
    };
    composer.env.extend(set.into_iter().map(|(name, value)| (name.to_owned(), value)));
    composer.run().map_err(|why| match &repositories {
        Some(_) => why,
        None => {
            format!("{why}\nWhere Packagist cannot be reached, {REPOSITORIES}=FILE names other repositories.")
        }
    })?;
    Ok(if repositories.is_some() { Origin::Local } else { Origin::Registry })
}

/// Composer reads repositories from the configuration in its home.
fn write_config(home: &Path, file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file)
        .map_err(|e| format!("{REPOSITORIES} names {}, which cannot be read: {e}.", file.display()))?;
    let repositories: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| format!("{REPOSITORIES} names {}, which is no JSON: {e}.", file.display()))?;
    if !repositories.is_array() && !repositories.is_object() {
        return Err(format!("{} must hold a list as composer.json's \"repositories\".", file.display()));
    }
    let config = serde_json::json!({ "repositories": repositories }).to_string();
    let to = home.join("config.json");
    fs::create_dir_all(home).and_then(|()| fs::write(&to, config)).map_err(not_written(&to))
}

/// A copy of composer.json whose lock is made anew.
fn local_json(work: &Path) -> Result<(), String> {
    let to = work.join(LOCAL_JSON);
    let _ = fs::remove_file(work.join("composer.local.lock"));
    fs::copy(work.join("composer.json"), &to).map(drop).map_err(not_written(&to))
}
