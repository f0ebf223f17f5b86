//! Links between pages: each names a file that is there and a heading or an element that it has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// What of the Markdown files (path and text) links to nothing, a sentence each.
pub(crate) fn broken(root: &Path, pages: &[(&str, String)]) -> Vec<String> {
    let headings: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|(file, text)| (*file, anchors(text))).collect();
    let mut found = Vec::new();
    for (file, text) in pages {
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        for target in targets(text) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let linked = if path.is_empty() { PathBuf::from(file) } else { joined(folder, path) };
            let known = headings.get(&*linked.to_string_lossy());
            if !root.join(&linked).exists() {
                found.push(format!("{file}: {target} names no file"));
            } else if file.starts_with("docs/") && !linked.starts_with("docs") {
                found.push(format!("{file}: {target} is outside of docs/, which is all that the site has"));
            } else if !anchor.is_empty() && known.is_some_and(|known| !known.contains(anchor)) {
                found.push(format!("{file}: {target} names no heading"));
            }
        }
    }
    found
}

pub(crate) fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// The lines of a page outside of code blocks, inline code taken out.
fn prose(text: &str) -> impl Iterator<Item = String> {
    let mut inside = false;
    text.lines().filter_map(move |line| {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            return None;
        }
        (!inside).then(|| line.split('`').step_by(2).collect::<String>())
    })
}

fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        for rest in line.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if !target.contains(':') && !target.is_empty() {
                found.push(target.to_owned());
            }
        }
    }
    found
}

/// What headings are called in links, as GitHub and mdBook have it; a second of one name gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut inside = false;
    for line in text.lines() {
        inside ^= line.trim_start().starts_with("```");
        if inside || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let free = (0..).map(|n| if n == 0 { name.clone() } else { format!("{name}-{n}") });
        names.extend(free.into_iter().find(|name| !names.contains(name)));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_outside_code_and_headings_named_as_on_github() {
        let page = "# A `b`: c, d_e\n## A\n## A\n[x](a.md#b) `[no](no.md)` [y](https://h/)\n```\n[no](no.md)\n# No\n```\n";
        assert_eq!(targets(page), ["a.md#b"]);
        let names: Vec<String> = anchors(page).into_iter().collect();
        assert_eq!(names, ["a", "a-1", "a-b-c-d_e"]);
        assert_eq!(joined(Path::new("docs/decisions"), "../a.md"), PathBuf::from("docs/a.md"));
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = "# Head\n[a](src/links.rs) [b](src/none.rs) [c](#head) [d](#foot)\n".to_owned();
        let found = broken(root, &[("page.md", page.clone())]);
        // The page itself is no file of this folder.
        assert!(found.contains(&"page.md: src/none.rs names no file".to_owned()), "{found:?}");
        assert!(!found.iter().any(|line| line.contains("links.rs")), "{found:?}");
        let found = broken(root, &[("Cargo.toml", page)]);
        let wrong = ["Cargo.toml: src/none.rs names no file", "Cargo.toml: #foot names no heading"];
        assert_eq!(found, wrong);
    }
}
