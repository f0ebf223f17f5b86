//! PHP packages, by Composer.

use std::fs;
use std::path::Path;

use super::local_sources::{REPOSITORIES, stand_in};
use super::tool::{Origin, Site, not_written};
use crate::programs::Run;

/// Which packages Composer takes, by the commits of their repositories or the checksums of their archives.
pub(super) const LOCK: &str = "composer.lock";
/// composer.json under another name: its lock is another one too.
const LOCAL_JSON: &str = "composer.local.json";

const INSTALL: [&str; 5] =
    ["install", "--no-dev", "--no-interaction", "--no-progress", "--optimize-autoloader"];
/// By git, which checks what it fetches against the commit that the lock names: archives of GitHub have no checksum.
const BY_COMMIT: &str = "--prefer-source";
const BY_ARCHIVE: &str = "--prefer-dist";

/// Installs what `work`'s composer.lock names, or else its composer.json, into its `vendor`.
pub(super) fn run(work: &Path, site: &Site<'_>) -> Result<Origin, String> {
    run_from(stand_in(REPOSITORIES).as_deref(), work, site)
}

fn run_from(repositories: Option<&Path>, work: &Path, site: &Site<'_>) -> Result<Origin, String> {
    let locked = repositories.is_none() && work.join(LOCK).is_file();
    let mut set = vec![
        ("COMPOSER_ALLOW_SUPERUSER", "1".to_owned()),
        // A package in a folder would be linked to, and the server would need that folder for ever.
        ("COMPOSER_MIRROR_PATH_REPOS", "1".to_owned()),
        ("COMPOSER_DISABLE_XDEBUG_WARN", "1".to_owned()),
    ];
    match repositories {
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
    let how = if locked { BY_COMMIT } else { BY_ARCHIVE };
    let arguments = [&INSTALL[..], &[how, "--ignore-platform-req=ext-*"]].concat();
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

fn write_config(home: &Path, file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file)
        .map_err(|e| format!("{REPOSITORIES} names {}, which cannot be read: {e}.", file.display()))?;
    let repositories: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| format!("{REPOSITORIES} names {}, which is not JSON: {e}.", file.display()))?;
    if !repositories.is_array() && !repositories.is_object() {
        return Err(format!("{} must hold a list as composer.json's \"repositories\".", file.display()));
    }
    let config = serde_json::json!({ "repositories": repositories }).to_string();
    let to = home.join("config.json");
    fs::create_dir_all(home).and_then(|()| fs::write(&to, config)).map_err(not_written(&to))
}

fn local_json(work: &Path) -> Result<(), String> {
    let to = work.join(LOCAL_JSON);
    let _ = fs::remove_file(work.join("composer.local.lock"));
    fs::copy(work.join("composer.json"), &to).map(drop).map_err(not_written(&to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Layout;
    use crate::programs::{capture, find_command};
    use std::time::Duration;

    /// A repository with one package, and its commit.
    fn package(dir: &Path) -> String {
        let git = |arguments: &[&str]| {
            let argv = ["git", "-c", "user.name=a", "-c", "user.email=a@b"].iter().chain(arguments);
            let argv: Vec<String> = argv.map(ToString::to_string).collect();
            let said = capture(&argv, dir, &[], Duration::from_secs(60)).unwrap();
            assert!(said.success, "{argv:?}");
            String::from_utf8(said.stdout).unwrap().trim().to_owned()
        };
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("composer.json"), r#"{"name": "v/p"}"#).unwrap();
        git(&["init", "-q"]);
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "one"]);
        git(&["rev-parse", "HEAD"])
    }

    #[test]
    fn a_locked_package_is_taken_at_its_commit_or_refused() {
        if find_command("composer").is_none() || find_command("git").is_none() {
            return eprintln!("not tested: there is no Composer here");
        }
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let repository = dir.path().join("repository");
        let commit = package(&repository);
        let work = layout.work("s");
        fs::create_dir_all(&work).unwrap();
        fs::write(work.join("composer.json"), r#"{"require": {"v/p": "1.0.0"}}"#).unwrap();
        let lock = |commit: &str| {
            let source = serde_json::json!({ "type": "git", "url": repository, "reference": commit });
            let package = serde_json::json!({ "name": "v/p", "version": "1.0.0", "source": source });
            let lock = serde_json::json!({ "packages": [package], "packages-dev": [] });
            fs::write(work.join(LOCK), lock.to_string()).unwrap();
        };
        let site =
            Site { server: "s", dir: &work, layout: &layout, user: None, log: layout.install_log("s") };
        lock(&"1".repeat(40));
        let why = run_from(None, &work, &site).unwrap_err();
        assert!(why.contains("composer install"), "{why}");
        assert!(!work.join("vendor/autoload.php").exists());
        lock(&commit);
        assert_eq!(run_from(None, &work, &site), Ok(Origin::Registry));
        assert!(
            work.join("vendor/v/p/composer.json").is_file() && work.join("vendor/autoload.php").is_file()
        );
    }
}
