//! What it takes to run a server: what its recipe says by itself, and what was measured where it was verified.

use serde::{Deserialize, Serialize};

use super::files::RecipeFile;
use super::server::Server;

/// Measured on one machine. What is not known there is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Takes {
    /// Packages of the distribution with all that they depend on, but for those that every system has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debian_packages: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_bytes: Option<u64>,
    /// How long `prony servers install` took for it alone, for what was not there yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Their memory by proportional shares, or resident where these may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_memory_bytes: Option<u64>,
}

impl Server {
    /// Packages that are installed for it by name: those of its recipe, and those in the lock files beside it.
    pub fn packages(&self) -> usize {
        let requires = &self.recipe.requires;
        let named = [&requires.apt, &requires.apt_build, &requires.pip, &requires.pecl];
        let named: usize = named.iter().map(|list| list.len()).sum();
        let files = self.files().unwrap_or_default();
        named + requires.download.len() + files.iter().map(locked).sum::<usize>()
    }

    /// Lines of its configuration files, without empty ones and comments: the templates of its recipe.
    pub fn configuration_lines(&self) -> usize {
        let files = self.files().unwrap_or_default();
        let is_template = |file: &&RecipeFile| {
            self.recipe.start.templates.iter().any(|template| file.path.as_os_str() == template.as_str())
        };
        files.iter().filter(is_template).map(|file| effective_lines(&file.bytes)).sum()
    }
}

fn locked(file: &RecipeFile) -> usize {
    let text = String::from_utf8_lossy(&file.bytes);
    let lines = |is_package: fn(&str) -> bool| text.lines().filter(|line| is_package(line.trim())).count();
    let json = || serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
    match file.path.to_str() {
        // The one without a folder is the application.
        Some("package-lock.json") => json()["packages"].as_object().map_or(0, |p| p.len().saturating_sub(1)),
        Some("composer.lock") => json()["packages"].as_array().map_or(0, Vec::len),
        // One is the application.
        Some("Cargo.lock") => lines(|line| line == "[[package]]").saturating_sub(1),
        Some("mix.lock") => lines(|line| line.starts_with('"')),
        Some("go.mod") => lines(|line| {
            let mut words = line.trim_start_matches("require ").split_whitespace();
            words.next().is_some() && words.next().is_some_and(|version| version.starts_with('v'))
        }),
        _ => 0,
    }
}

/// Comments of ini files, of nginx's, of Caddy's and of XML's kind, a line each.
fn effective_lines(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    let is_comment =
        |line: &str| line.is_empty() || ["#", ";", "//", "<!--"].iter().any(|c| line.starts_with(c));
    text.lines().filter(|line| !is_comment(line.trim())).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    fn file(name: &str, text: &str) -> RecipeFile {
        RecipeFile { path: name.into(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn packages_of_lock_files_are_counted_without_the_application() {
        let count = |name: &str, text: &str| locked(&file(name, text));
        assert_eq!(
            count("package-lock.json", r#"{"packages":{"":{},"node_modules/a":{},"node_modules/b":{}}}"#),
            2
        );
        assert_eq!(count("composer.lock", r#"{"packages":[{"name":"a"}],"packages-dev":[{},{}]}"#), 1);
        assert_eq!(
            count("Cargo.lock", "version = 4\n[[package]]\nname = \"app\"\n[[package]]\nname = \"b\"\n"),
            1
        );
        assert_eq!(count("mix.lock", "%{\n  \"a\": {:hex, :a, \"1\"},\n}\n"), 1);
        assert_eq!(
            count(
                "go.mod",
                "module x\n\ngo 1.24.0\nrequire a/b v1.2.3\nrequire (\n\tc/d v0.1.0 // indirect\n)\n"
            ),
            2
        );
        assert_eq!(
            (count("package-lock.json", "{"), count("Cargo.lock", ""), count("x", "[[package]]")),
            (0, 0, 0)
        );
    }

    #[test]
    fn every_recipe_of_the_catalogue_is_counted() {
        let catalogue = Catalogue::load(&[]);
        let of = |name: &str| {
            let server = catalogue.get(name).unwrap();
            (server.packages(), server.configuration_lines())
        };
        assert_eq!(of("node-http"), (1, 0));
        assert!(
            of("express").0 > 30 && of("nginx-static").1 > 10,
            "{:?} {:?}",
            of("express"),
            of("nginx-static")
        );
        assert_eq!(effective_lines(b"# a\n\n[x]\n  ; b\ny = 1\n// c\n"), 2);
    }
}
