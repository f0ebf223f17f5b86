//! PHP packages, by Composer.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::tool::{Origin, not_written, stand_in, tool};
use crate::candidate::Layout;
use crate::programs::Run;

/// Names a file with a JSON list as in composer.json's `repositories`; these stand in for Packagist, and
/// the versions that composer.json pins are looked for in them, whatever composer.lock says of their places.
pub(super) const REPOSITORIES: &str = "PRONY_COMPOSER_REPOSITORIES";
/// composer.json under another name: its lock is another one too.
const LOCAL_JSON: &str = "composer.local.json";

const INSTALL: [&str; 6] =
    ["install", "--no-dev", "--no-interaction", "--no-progress", "--prefer-dist", "--optimize-autoloader"];

/// Installs what `work`'s composer.json names into its `vendor`.
pub(super) fn run(work: &Path, layout: &Layout, log: &Path) -> Result<Origin, String> {
    // Extensions are loaded by the server's own command line, from {ext}, which Composer does not see.
    let composer = tool("composer", &[&INSTALL[..], &["--ignore-platform-req=ext-*"]].concat(), work, log)?;
    let repositories = stand_in(REPOSITORIES);
    let mut env = vec![
        ("COMPOSER_ALLOW_SUPERUSER".to_owned(), "1".to_owned()),
        // A package in a folder would be linked to, and the server would need that folder for ever.
        ("COMPOSER_MIRROR_PATH_REPOS".to_owned(), "1".to_owned()),
        ("COMPOSER_DISABLE_XDEBUG_WARN".to_owned(), "1".to_owned()),
    ];
    let mut set =
        |name: &str, value: &Path| env.push((name.to_owned(), value.to_string_lossy().into_owned()));
    match &repositories {
        Some(file) => {
            let home = layout.root().join("composer-local");
            write_config(&home, file)?;
            set("COMPOSER_HOME", &home);
            set("COMPOSER_CACHE_DIR", &home.join("cache"));
            set("COMPOSER", &local_json(work)?);
        }
        None => {
            set("COMPOSER", Path::new("composer.json"));
            // Somebody's own home has their credentials and mirrors.
            if env::var_os("COMPOSER_HOME").is_none() {
                let home = layout.root().join("composer");
                fs::create_dir_all(&home).map_err(|e| format!("{} cannot be made: {e}.", home.display()))?;
                set("COMPOSER_HOME", &home);
            }
        }
    }
    let name = format!("composer {}", INSTALL[..2].join(" "));
    let done = Run { name, env, ..composer }.run();
    done.map_err(|why| match &repositories {
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
fn local_json(work: &Path) -> Result<PathBuf, String> {
    let to = work.join(LOCAL_JSON);
    let _ = fs::remove_file(work.join("composer.local.lock"));
    fs::copy(work.join("composer.json"), &to).map_err(not_written(&to))?;
    Ok(PathBuf::from(LOCAL_JSON))
}
