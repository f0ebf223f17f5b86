//! Where releases are, and which is the newest: `repository` and `version` of the root Cargo.toml. `cargo xtask docs`
//! writes both into the pages, the action and the templates; `cargo xtask tidy` refuses others.

use std::path::Path;

use crate::files;

/// Whose repository it is until somebody publishes it.
pub(crate) const NOBODY: &str = "OWNER";
const HOST: &str = "https://github.com/";
/// What stands before a repository's `owner/name`, and what after it where it is ours.
const NAMED: [(&str, &str); 3] =
    [(HOST, "/releases/"), ("raw.githubusercontent.com/", "/v"), ("uses: ", "@v")];
/// What stands before a version of ours, beside the repository's name.
const BEFORE_VERSION: [&str; 7] = [
    "\nVERSION=",
    "/releases/download/v",
    "PRONY_VERSION: ",
    "localhost/prony:",
    "prony_",
    "prony-",
    "push origin v",
];
/// Endings of files that may name a release.
const ENDINGS: [&str; 2] = [".md", ".yml"];

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// `owner/name` at GitHub.
    pub(crate) repository: String,
    version: String,
}

impl Release {
    pub(crate) fn read(root: &Path) -> Result<Release, String> {
        let path = root.join("Cargo.toml");
        let wrong = |why: &str| format!("{}: {why}", path.display());
        let file = files::toml(&path)?;
        let package = &file.get("workspace").and_then(|w| w.get("package"));
        let field = |name: &str| package.and_then(|p| p.get(name)).and_then(toml::Value::as_str);
        let address = field("repository").unwrap_or_default();
        let repository = address.strip_prefix(HOST).filter(|name| named(name) == Some(name.len()));
        let why = format!("repository is {address:?}, and has to be {HOST}owner/name");
        let repository = repository.ok_or_else(|| wrong(&why))?.to_owned();
        Ok(Release { repository, version: field("version").ok_or_else(|| wrong("no version"))?.to_owned() })
    }

    pub(crate) fn address(&self) -> String {
        format!("{HOST}{}", self.repository)
    }

    /// Of these files, those that name another release, with the text that they should have.
    pub(crate) fn stale<'a>(&self, root: &Path, files: &'a [String]) -> Vec<(&'a str, String)> {
        let may = files.iter().filter(|file| ENDINGS.iter().any(|ending| file.ends_with(ending)));
        may.filter_map(|file| {
            let text = files::read(&root.join(file)).ok()?;
            let right = self.written(&text);
            (right != text).then_some((file.as_str(), right))
        })
        .collect()
    }

    fn written(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (before, after) in NAMED {
            out = replaced(&out, before, &self.repository, |rest| {
                let length = named(rest)?;
                let then = rest.get(length..)?.strip_prefix(after)?;
                // Of an action: somebody else's has a version of one number.
                (after != "@v" || version(then).is_some()).then_some(length)
            });
        }
        let of_repository = ["@v", "/v"].map(|mark| format!("{}{mark}", self.repository));
        for before in of_repository.iter().map(String::as_str).chain(BEFORE_VERSION) {
            out = replaced(&out, before, &self.version, version);
        }
        out
    }
}

/// The text with so much as `length` says, after each `before`, replaced by `new`.
fn replaced(text: &str, before: &str, new: &str, length: impl Fn(&str) -> Option<usize>) -> String {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(before);
        match length(part).and_then(|length| part.get(length..)) {
            Some(rest) => out.extend([new, rest]),
            None => out.push_str(part),
        }
    }
    out
}

/// How long the `owner/name` is that a text begins with.
fn named(text: &str) -> Option<usize> {
    let word = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        Some(end.unwrap_or(text.len())).filter(|length| *length > 0)
    };
    let owner = word(text)?;
    let name = text.get(owner..)?.strip_prefix('/')?;
    Some(owner + 1 + word(name)?)
}

/// How long the version of three numbers is that a text begins with.
fn version(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let version = text.get(..end)?.trim_end_matches('.');
    let numbers = version.split('.').filter(|number| !number.is_empty()).count();
    (numbers == 3 && version.matches('.').count() == 2).then_some(version.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files that tell a reader or a machine where a release is.
    const HAVE_IT: [&str; 7] = [
        "README.md",
        "ci/gitlab.yml",
        "ci/nightly.yml",
        "docs/ci.md",
        "docs/containers.md",
        "docs/install.md",
        "docs/slo-in-ci.md",
    ];

    #[test]
    fn cargo_toml_is_the_one_place_of_the_address_and_the_version() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let now = Release::read(&root).unwrap();
        let files = crate::tidy::tracked(&root).unwrap();
        assert_eq!(now.stale(&root, &files), [], "cargo xtask docs writes them");
        let other = Release { repository: "some-body/else.where".into(), version: "9.8.76".into() };
        let stale = other.stale(&root, &files);
        for file in HAVE_IT {
            let (_, text) = stale.iter().find(|(name, _)| *name == file).unwrap_or_else(|| panic!("{file}"));
            assert!(!text.contains(&now.repository), "{file} still has {}", now.repository);
            assert_eq!(now.written(text), files::read(&root.join(file)).unwrap(), "and back: {file}");
        }
        // What no pattern knows would stay behind.
        for file in files.iter().filter(|file| ENDINGS.iter().any(|ending| file.ends_with(ending))) {
            let text = files::read(&root.join(file)).unwrap_or_default();
            assert!(!other.written(&text).contains(&format!("{NOBODY}/")), "{file}");
        }
    }

    #[test]
    fn others_addresses_and_versions_stay() {
        let release = Release { repository: "a/b".into(), version: "1.2.3".into() };
        for same in [
            "- uses: actions/checkout@v4\n",
            "[h2spec](https://github.com/summerwind/h2spec), 0.10.8",
            "https://raw.githubusercontent.com/x/y/main/f",
            "prony-http2 and nginx/1.22.1",
        ] {
            assert_eq!(release.written(same), same);
        }
        let ours = "uses: OWNER/prony@v0.1.0\nhttps://github.com/O/p/releases/download/v0.1.0/prony-0.1.0-x.\n\
                    VERSION=0.1.0\n";
        let right = "uses: a/b@v1.2.3\nhttps://github.com/a/b/releases/download/v1.2.3/prony-1.2.3-x.\nVERSION=1.2.3\n";
        assert_eq!(release.written(ours), right);
        assert_eq!(["1.2.3_x", "1.2.3.", "1.2", "v4"].map(version), [Some(5), Some(5), None, None]);
    }
}
