//! Sources on this machine that stand in for a registry's, as the environment names them.

use std::env;
use std::path::PathBuf;

/// Names a file with a JSON list as in composer.json's `repositories`; these stand in for Packagist, and
/// the versions that composer.json pins are looked for in them, whatever composer.lock says of their places.
pub(super) const REPOSITORIES: &str = "PRONY_COMPOSER_REPOSITORIES";
/// Names a folder where the files may lie already, each under its own name; what they should be, they must be.
/// A folder of the server's name in it stands in for all of the server's files, whatever it holds.
pub(super) const FILES: &str = "PRONY_DOWNLOADS";
/// Names a folder with a folder for each dependency. mix.exs reads it, and names them by `path:`.
pub(super) const DEPENDENCIES: &str = "PRONY_MIX_DEPS";
/// Names a folder with a folder for each extension, NAME-VERSION or NAME, to be built instead of what pecl.php.net has.
pub(super) const SOURCES: &str = "PRONY_PECL_SOURCES";
pub(super) const ALL: [&str; 4] = [REPOSITORIES, FILES, DEPENDENCIES, SOURCES];

/// The folder or file that somebody names in the environment, to stand in for a registry.
pub(super) fn stand_in(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
