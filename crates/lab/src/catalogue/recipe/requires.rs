//! `[requires]`: what must be installed for a server.

use serde::{Deserialize, Serialize};

use super::python::Constraint;
use crate::toml_file::{TomlError, TomlFile};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requires {
    pub apt: Vec<String>,
    pub(crate) commands: Vec<String>,
    /// Debian packages needed to build what pip, npm, go, cargo, pecl, composer or mix build.
    pub apt_build: Vec<String>,
    /// Pinned Python packages (`flask==3.1.3`).
    pub pip: Vec<String>,
    /// Which Python will do (`>=3.9,<3.13`).
    pub(crate) python: Option<String>,
    /// `npm ci` in the application's folder.
    pub npm: bool,
    /// `go build` in the application's folder.
    pub go: bool,
    /// `cargo build --release --locked` in the application's folder.
    pub cargo: bool,
    /// `composer install --no-dev` in the application's folder.
    pub composer: bool,
    /// PHP extensions, built into `{ext}`: `event-3.1.4 --without-event-openssl`.
    pub pecl: Vec<String>,
    /// `mix deps.get` and `mix compile` in the application's folder.
    pub mix: bool,
    /// Released files, checked and put into `{opt}`.
    pub download: Vec<Download>,
    /// Whether the packages of `npm` may run scripts of their own while they are installed.
    pub(crate) npm_scripts: bool,
}

impl Requires {
    /// Whether anything of it but Debian packages is fetched from a registry.
    pub(crate) fn uses_registries(&self) -> bool {
        let lists = [&self.pip, &self.pecl].iter().any(|list| !list.is_empty());
        lists || self.npm || self.go || self.cargo || self.composer || self.mix || !self.download.is_empty()
    }
}

/// A released file of somebody's: `{ url, sha256, exe = "rr", unpack = true, strip = 1, arch = "x86_64" }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// Where it is published; https only.
    pub(crate) url: String,
    /// What `sha256sum` says of it, in lower-case hexadecimal digits.
    pub(crate) sha256: String,
    /// Whether it is an archive (tar, zip or deb) to be unpacked into `{opt}`.
    #[serde(default)]
    pub(crate) unpack: bool,
    /// How many leading folders of the archive's paths are left out.
    #[serde(default)]
    pub(crate) strip: u8,
    /// The program: what the file is called in `{opt}`, or where it is in the unpacked archive.
    pub(crate) exe: Option<String>,
    /// Only for this machine (`uname -m`); without it, for every one.
    pub(crate) arch: Option<String>,
}

impl Download {
    pub(crate) fn file_name(&self) -> &str {
        file_name(&self.url)
    }

    pub(crate) fn is_for_this_machine(&self) -> bool {
        self.arch.as_deref().is_none_or(|arch| arch == std::env::consts::ARCH)
    }
}

const PECL: &str = "https://pecl.php.net/get/";
const SHA256: &str = "sha256=";
const URL: &str = "url=";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pecl {
    /// The extension's name, which is also its file's: `ev.so`.
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    /// What `sha256sum` says of its archive; only of a pinned version.
    pub(crate) sha256: Option<String>,
    /// Where its archive is, if not at PECL; only with a checksum.
    pub(crate) url: Option<String>,
    pub(crate) options: Vec<String>,
}

impl Pecl {
    /// Reads `NAME`, `NAME-VERSION` or `NAME-VERSION url=… sha256=… --with-a --enable-b`.
    pub(crate) fn parse(text: &str) -> Option<Pecl> {
        let mut words = text.split_whitespace();
        let (name, version) = match words.next()? {
            word if word.contains('-') => word.split_once('-').map(|(n, v)| (n, Some(v)))?,
            word => (word, None),
        };
        let (options, facts): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with("--"));
        let fact = |key: &str| facts.iter().find_map(|word| word.strip_prefix(key)).map(str::to_owned);
        let (url, sha256) = (fact(URL), fact(SHA256));
        let known = facts.len() == usize::from(url.is_some()) + usize::from(sha256.is_some())
            && sha256.as_deref().is_none_or(|sum| version.is_some() && is_sha256(sum))
            && url.as_deref().is_none_or(|url| sha256.is_some() && is_file_url(url));
        let named = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let pinned = version.is_none_or(|v| {
            v.starts_with(|c: char| c.is_ascii_digit())
                && v.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.')
        });
        let options_only = options.iter().all(|o| o.len() > 2);
        (named && pinned && known && options_only).then(|| Pecl {
            name: name.to_owned(),
            version: version.map(str::to_owned),
            sha256,
            url,
            options: options.into_iter().map(str::to_owned).collect(),
        })
    }

    /// `event-3.1.4`, as `pecl download` is told it.
    pub(crate) fn pin(&self) -> String {
        match &self.version {
            Some(version) => format!("{}-{version}", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn archive(&self) -> Option<Download> {
        let sha256 = self.sha256.clone()?;
        let url = self.url.clone().unwrap_or_else(|| format!("{PECL}{}.tgz", self.pin()));
        Some(Download { url, sha256, unpack: true, strip: 0, exe: None, arch: None })
    }
}

fn is_file_url(url: &str) -> bool {
    let is_url = url.starts_with("https://") && url.bytes().all(|b| b.is_ascii_graphic());
    is_url && is_plain(file_name(url))
}

fn file_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default()
}

pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

impl Requires {
    /// Both: lists joined, a Python constraint of `more` before ours.
    pub(crate) fn merged(&self, more: &Requires) -> Requires {
        fn join<T: Clone + PartialEq>(a: &[T], b: &[T]) -> Vec<T> {
            let mut all = a.to_vec();
            all.extend(b.iter().filter(|x| !a.contains(x)).cloned());
            all
        }
        Requires {
            apt: join(&self.apt, &more.apt),
            commands: join(&self.commands, &more.commands),
            apt_build: join(&self.apt_build, &more.apt_build),
            pip: join(&self.pip, &more.pip),
            python: more.python.clone().or_else(|| self.python.clone()),
            npm: self.npm || more.npm,
            go: self.go || more.go,
            cargo: self.cargo || more.cargo,
            composer: self.composer || more.composer,
            pecl: join(&self.pecl, &more.pecl),
            mix: self.mix || more.mix,
            download: join(&self.download, &more.download),
            npm_scripts: self.npm_scripts || more.npm_scripts,
        }
    }

    pub(crate) fn needs_venv(&self) -> bool {
        !self.pip.is_empty()
    }

    /// The PHP extensions to build; entries that validation refuses are not among them.
    pub(crate) fn extensions(&self) -> Vec<Pecl> {
        self.pecl.iter().filter_map(|text| Pecl::parse(text)).collect()
    }

    pub(crate) fn downloads(&self) -> Vec<Download> {
        self.download.iter().filter(|d| d.is_for_this_machine()).cloned().collect()
    }
}

/// Everything here becomes an argument of a package manager: nothing may look like an option.
pub(super) fn validate(file: TomlFile<'_>, path: &[&str], requires: &Requires) -> Result<(), TomlError> {
    let refuse_if = |wrong: bool, key: &str, i: usize, message: String| {
        file.refuse_if(wrong, &[path, &[key, &i.to_string()]].concat(), message)
    };
    for (key, packages) in [("apt", &requires.apt), ("apt_build", &requires.apt_build)] {
        for (i, package) in packages.iter().enumerate() {
            let valid = package.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && package
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+.-".contains(&b));
            refuse_if(!valid, key, i, format!("{package:?} is not the name of a Debian package."))?;
        }
    }
    for (i, command) in requires.commands.iter().enumerate() {
        let wrong = command.is_empty() || command.contains(['/', '\0']) || command.starts_with('-');
        let why = format!("{command:?} must be the name of a program, without a path.");
        refuse_if(wrong, "commands", i, why)?;
    }
    for (i, pin) in requires.pip.iter().enumerate() {
        let name_ends = pin.split_once("==");
        let valid = pin.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !pin.contains(char::is_control)
            && name_ends.is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
        refuse_if(!valid, "pip", i, format!("{pin:?} is not pinned: write NAME==VERSION."))?;
    }
    if let Some(constraint) = &requires.python {
        Constraint::parse(constraint).map_err(|why| file.error(&[path, &["python"]].concat(), why))?;
    }
    pecl(file, path, requires)?;
    downloads(file, path, requires)
}

fn pecl(file: TomlFile<'_>, path: &[&str], requires: &Requires) -> Result<(), TomlError> {
    let mut seen: Vec<Pecl> = Vec::new();
    for (i, text) in requires.pecl.iter().enumerate() {
        let i = i.to_string();
        let path = [path, &["pecl", &i]].concat();
        let Some(entry) = Pecl::parse(text) else {
            return file.refuse(
                &path,
                format!(
                    "{text:?} is not a PHP extension: write NAME, NAME-VERSION or NAME-VERSION \
                     --with-an-option."
                ),
            );
        };
        file.refuse_if(
            seen.iter().any(|known| known.name == entry.name),
            &path,
            format!("{:?} is named twice: keep one of them.", entry.name),
        )?;
        seen.push(entry);
    }
    Ok(())
}

/// What is fetched ends up as a program that is run: from where and what must be beyond doubt.
fn downloads(file: TomlFile<'_>, path: &[&str], requires: &Requires) -> Result<(), TomlError> {
    for (i, download) in requires.download.iter().enumerate() {
        let refuse_if = |wrong: bool, key: &str, message: &str| {
            file.refuse_if(wrong, &[path, &["download", &i.to_string(), key]].concat(), message)
        };
        let Download { url, sha256, exe, unpack, .. } = download;
        refuse_if(!is_file_url(url), "url", &format!("{url:?} must be an https:// URL of a file."))?;
        let why = "sha256 must be 64 lower-case hexadecimal digits, as sha256sum prints them.";
        refuse_if(!is_sha256(sha256), "sha256", why)?;
        let why = "the file is neither a program nor an archive: write exe = \"NAME\" or unpack = true.";
        refuse_if(!unpack && exe.is_none(), "url", why)?;
        if let Some(exe) = exe {
            let why = format!("{exe:?} must be a path inside {{opt}}.");
            refuse_if(!exe.split('/').all(is_plain), "exe", &why)?;
        }
    }
    Ok(())
}

/// A part of a path that leads nowhere else.
fn is_plain(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && !part.starts_with('-') && !part.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_names_versions_and_options() {
        let event = Pecl::parse("event-3.1.4 --with-event-core --without-event-openssl").unwrap();
        assert_eq!((event.name.as_str(), event.pin().as_str()), ("event", "event-3.1.4"));
        assert_eq!(event.options, ["--with-event-core", "--without-event-openssl"]);
        assert_eq!((Pecl::parse("ev").unwrap().pin().as_str(), event.archive()), ("ev", None));
        for wrong in ["", "-ev", "ev-", "ev-x", "../ev", "ev;rm", "ev 1", "ev --", "ev-1 -x"] {
            assert_eq!(Pecl::parse(wrong), None, "{wrong:?}");
        }
        let sum = "0123456789abcdef".repeat(4);
        let known = Pecl::parse(&format!("ev-1.2.2 --with-a sha256={sum}")).unwrap();
        let archive = known.archive().unwrap();
        assert_eq!((known.options.len(), archive.sha256), (1, sum.clone()));
        assert_eq!(archive.url, "https://pecl.php.net/get/ev-1.2.2.tgz");
        let elsewhere =
            Pecl::parse(&format!("ev-1.2.2 url=https://a.example/v1.tar.gz sha256={sum}")).unwrap();
        assert_eq!(elsewhere.archive().unwrap().url, "https://a.example/v1.tar.gz");
        for wrong in [
            "ev sha256=@",
            "ev-1 sha256=@0",
            "ev-1 sha256=",
            "ev-1 sha256=@ sha256=@",
            "ev-1 url=https://a.example/v1.tgz",
            "ev-1 sha256=@ url=http://a.example/v1.tgz",
            "ev-1 sha256=@ url=https://a.example/",
            "ev-1 sha256=@ url=https://a.example/1 url=https://a.example/2",
        ] {
            assert_eq!(Pecl::parse(&wrong.replace('@', &sum)), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_download_is_named_by_the_last_part_of_its_url_s_path() {
        let download = |url: &str| Download {
            url: url.to_owned(),
            sha256: String::new(),
            unpack: false,
            strip: 0,
            exe: None,
            arch: None,
        };
        assert_eq!(download("https://h/v1/rr-linux.tar.gz?x=/y#z").file_name(), "rr-linux.tar.gz");
        assert!(download("").is_for_this_machine());
        let other = Download { arch: Some("pdp11".to_owned()), ..download("") };
        assert!(!other.is_for_this_machine());
    }
}
