//! The tools that Prony is compared with: where each is from, how it is asked and how it is understood.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::claims::{self, Read};
use super::lines::{self, MakeLine};
use crate::programs;

#[derive(Debug)]
pub(super) struct Tool {
    /// Its name, and its program's.
    pub(super) name: &'static str,
    pub(super) source: Source,
    version: &'static [&'static str],
    pub(super) line: MakeLine,
    pub(super) read: Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Own,
    /// A package of Debian 12, of this name.
    Debian(&'static str),
    Cargo,
    Go(&'static str),
    Npm,
    /// In no registry; taken from the PATH.
    Path,
}

impl Source {
    /// How to get it, for the line that says that it isn't there.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Source::Own => "cargo build --release -p prony",
            Source::Debian(_) => "Debian has it: --install, as root",
            Source::Cargo => "crates.io has it: --install",
            Source::Go(_) => "the Go proxy has it: --install",
            Source::Npm => "npm has it: --install",
            Source::Path => "no registry has it: build it and put it on the PATH",
        }
    }
}

/// All of them. Debian 12 has neither oha, plow, vegeta nor k6, and its package `bombardier` is a game.
pub(super) static TOOLS: [Tool; 15] = [
    tool("prony", Source::Own, &["--version"], lines::prony, claims::prony),
    tool("floor", Source::Own, &[], lines::floor, claims::floor),
    tool("wrk", Source::Debian("wrk"), &["-v"], lines::wrk, claims::wrk),
    tool("wrk2", Source::Path, &["-v"], lines::wrk2, claims::wrk),
    tool("zrk", Source::Path, &["--version"], lines::zrk, claims::zrk),
    tool("ab", Source::Debian("apache2-utils"), &["-V"], lines::ab, claims::ab),
    tool("h2load", Source::Debian("nghttp2-client"), &["--version"], lines::h2load, claims::h2load),
    tool("oha", Source::Cargo, &["--version"], lines::oha, claims::oha),
    tool("rewrk", Source::Cargo, &["--version"], lines::rewrk, claims::rewrk),
    tool(
        "bombardier",
        Source::Go("github.com/codesenberg/bombardier"),
        &["--version"],
        lines::bombardier,
        claims::bombardier,
    ),
    tool("plow", Source::Go("github.com/six-ddc/plow"), &["--version"], lines::plow, claims::plow),
    tool("vegeta", Source::Go("github.com/tsenart/vegeta/v12"), &["-version"], lines::vegeta, claims::vegeta),
    tool("hey", Source::Debian("hey"), &[], lines::hey, claims::hey),
    tool("autocannon", Source::Npm, &["--version"], lines::autocannon, claims::autocannon),
    tool("k6", Source::Go("go.k6.io/k6"), &["version"], lines::k6, claims::k6),
];

const fn tool(
    name: &'static str,
    source: Source,
    version: &'static [&'static str],
    line: MakeLine,
    read: Read,
) -> Tool {
    Tool { name, source, version, line, read }
}

#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) prony: PathBuf,
    /// `.prony/peers`.
    pub(super) tools: PathBuf,
}

impl Tool {
    /// Its program; `None` where it isn't there. The tools' folder comes before the PATH.
    pub(super) fn program(&self, places: &Places) -> Option<PathBuf> {
        match self.name {
            "prony" => return Some(places.prony.clone()).filter(|p| p.is_file()),
            "floor" => return std::env::current_exe().ok(),
            _ => {}
        }
        let own = [places.tools.join("bin"), places.tools.join("node_modules/.bin")];
        let path = std::env::var_os("PATH").unwrap_or_default();
        own.into_iter().chain(std::env::split_paths(&path)).map(|f| f.join(self.name)).find(|p| p.is_file())
    }

    pub(super) fn version(&self, program: &Path) -> String {
        if let (Source::Go(_), Some(version)) = (self.source, go_version(program)) {
            return version;
        }
        if let (Source::Debian(package), true) = (self.source, self.version.is_empty()) {
            return said(Path::new("dpkg-query"), &["-W", "-f=${Version}", package]);
        }
        if self.version.is_empty() { String::new() } else { said(program, self.version) }
    }
}

/// The module's version that Go wrote into the program; `None` of one that was built from a work tree.
fn go_version(program: &Path) -> Option<String> {
    let text = programs::text(Command::new("go").args(["version", "-m"]).arg(program)).ok()?;
    let module = text.lines().find_map(|line| line.trim().strip_prefix("mod\t"))?;
    module.split('\t').nth(1).filter(|version| version.starts_with('v')).map(str::to_owned)
}

/// The first line that a command says, on either stream, that has a figure in it.
fn said(program: &Path, arguments: &[&str]) -> String {
    let Ok(output) = programs::output(Command::new(program).args(arguments)) else { return String::new() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit())).unwrap_or_default();
    line.split("Copyright").next().unwrap_or_default().trim().to_owned()
}
