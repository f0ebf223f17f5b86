//! The tree's own rules, as far as a machine can check them.

use std::fs;
use std::path::Path;

use crate::programs;
use crate::release::Release;

/// A file that needs more is two files, unless a program writes it.
const FILE_LINES_MAX: usize = 500;
/// How a file that a program writes begins.
const GENERATED: &str = "// Generated ";
/// Of what is unfinished, or somebody's machine. Each is spelled in two parts, so that this file passes its own check.
const BANNED: &[(&str, &str, &str)] = &[
    ("TO", "DO", "finish it, or write an issue"),
    ("FIX", "ME", "fix it, or write an issue"),
    ("XX", "X ", "finish it, or write an issue"),
    ("todo", "!(", "finish it"),
    ("unimplemented", "!(", "finish it"),
    ("/ro", "ot/", "a path of one machine"),
    ("/ho", "me/", "a path of one machine"),
];
const TEXT: &str = "rs toml md yml sh js mjs ts css py php go conf Makefile Caddyfile";
/// Dependencies that may not know of each other: (crate, must not depend on).
const ARROWS: &[(&str, &[&str])] = &[
    ("http2", &["load", "stats", "model", "analysis", "host", "lab", "report", "target", "prony"]),
    ("fleet", &["http2", "stats", "analysis", "lab", "report", "target", "prony"]),
    ("load", &["stats", "analysis", "fleet", "host", "lab", "report", "target", "prony"]),
    ("stats", &["load", "model", "analysis", "host", "lab", "report", "target", "prony"]),
    ("target", &["load", "stats", "model", "analysis", "host", "lab", "report", "prony"]),
    ("model", &["load", "stats", "analysis", "host", "lab", "report", "target", "prony"]),
    ("analysis", &["host", "lab", "report", "target", "prony"]),
    ("host", &["load", "stats", "analysis", "lab", "report", "target", "prony"]),
    ("lab", &["fleet", "report", "target", "prony"]),
    ("report", &["load", "stats", "host", "lab", "target", "prony"]),
];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let files = tracked(root)?;
    let mut found = Vec::new();
    for file in &files {
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        check_file(file, &text, &mut found);
    }
    check_arrows(root, &mut found);
    found.extend(crate::circles::too_large(&texts(root, &files, ".rs")));
    check_pages(root, &files, &mut found);
    check_release(root, &files, &mut found);
    if found.is_empty() {
        println!("tidy: {} files", files.len());
        return Ok(());
    }
    Err(format!("the tree is not tidy:\n  {}", found.join("\n  ")))
}

/// Files that git tracks, or would: not those it ignores.
pub(crate) fn tracked(root: &Path) -> Result<Vec<String>, String> {
    let files = programs::git(root, &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(files.lines().map(str::to_owned).collect())
}

fn texts<'a>(root: &Path, files: &'a [String], ending: &str) -> Vec<(&'a str, String)> {
    let text = |file: &'a String| Some((file.as_str(), fs::read_to_string(root.join(file)).ok()?));
    files.iter().filter(|file| file.ends_with(ending)).filter_map(text).collect()
}

fn check_file(file: &str, text: &str, found: &mut Vec<String>) {
    if !TEXT.split(' ').any(|ending| file.ends_with(ending)) {
        return;
    }
    let lines = text.lines().count();
    let is_code = [".rs", ".ts", ".mjs"].iter().any(|ending| file.ends_with(ending));
    if is_code && lines > FILE_LINES_MAX && !text.starts_with(GENERATED) {
        found.push(format!("{file}: {lines} lines; split it (at most {FILE_LINES_MAX})"));
    }
    for (number, line) in text.lines().enumerate() {
        // Snapshots of Markdown in tests hold its hard line breaks.
        if line.ends_with([' ', '\t']) && !file.ends_with(".md") && !file.ends_with("tests.rs") {
            found.push(format!("{file}:{}: blanks at the end of the line", number + 1));
        }
        for (first, second, why) in BANNED {
            if line.contains(&format!("{first}{second}")) {
                found.push(format!("{file}:{}: {first}{second} ({why})", number + 1));
            }
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        found.push(format!("{file}: no newline at the end"));
    }
}

/// Links lead somewhere, and every page of docs/ is in the list of the site.
fn check_pages(root: &Path, files: &[String], found: &mut Vec<String>) {
    let pages = texts(root, files, ".md");
    found.extend(crate::links::broken(root, &pages));
    let summary = pages.iter().find(|(file, _)| *file == "docs/SUMMARY.md").map_or("", |(_, text)| text);
    for (file, _) in &pages {
        let name = file.strip_prefix("docs/").filter(|name| !name.contains('/') && *name != "SUMMARY.md");
        if name.is_some_and(|name| !summary.contains(&format!("]({name})"))) {
            found.push(format!("{file} is not in docs/SUMMARY.md"));
        }
    }
}

/// Address and version of the release are those of Cargo.toml.
fn check_release(root: &Path, files: &[String], found: &mut Vec<String>) {
    match Release::read(root) {
        Ok(release) => {
            let stale = release.stale(root, files).into_iter();
            found.extend(
                stale.map(|(file, _)| format!("{file} names another release than Cargo.toml: make docs")),
            );
        }
        Err(why) => found.push(why),
    }
}

/// Dependencies point one way. (Tests may use the reference server.)
fn check_arrows(root: &Path, found: &mut Vec<String>) {
    for (name, forbidden) in ARROWS {
        let path = format!("crates/{name}/Cargo.toml");
        let Ok(manifest) = fs::read_to_string(root.join(&path)) else {
            found.push(format!("{path} is missing"));
            continue;
        };
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for other in *forbidden {
            if dependencies.lines().any(|line| line.starts_with(&format!("prony-{other} "))) {
                found.push(format!("{path}: {name} must not depend on {other} (ARCHITECTURE.md)"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        fs::read_to_string(root.join(file)).unwrap()
    }

    /// Of security review 14: `demo.sh` took a Rust that is too old for `Cargo.toml`.
    #[test]
    fn the_demo_asks_for_the_rust_that_the_workspace_needs() {
        let demo = read("demo.sh");
        let asked = demo.lines().find(|line| line.starts_with("RUST_NEEDED=")).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let script = format!("{asked}; printf %s \"$RUST_NEEDED\"");
        let said = std::process::Command::new("sh").args(["-c", &script]).current_dir(root).output().unwrap();
        let needed = env!("CARGO_PKG_RUST_VERSION");
        assert_eq!(String::from_utf8_lossy(&said.stdout), needed, "{asked}");
        assert_eq!(demo.matches(needed).count(), 0, "it says it a second time");
    }

    /// Of security review 14: the page was built by a Node of no fixed version, and CI ran no `make deny`.
    #[test]
    fn builds_take_only_what_a_lock_names_and_ci_checks_it() {
        let build = read("web/build.sh");
        assert!(build.contains("npm ci ") && !build.contains("npm install") && !build.contains("npx"));
        let lock = read("web/node/package-lock.json");
        assert!(lock.contains("\"integrity\": \"sha512-"));
        let makefile = read("Makefile");
        let tasks = |of: &str| makefile.lines().find(|line| line.starts_with(of)).unwrap().split(' ');
        assert!(tasks("test:").any(|task| task == "at-once"), "{makefile}");
        assert!(tasks("\t$(MAKE) --jobs").any(|task| task == "deny"), "{makefile}");
        assert!(read(".ci/run").contains("make test"));
    }
}
