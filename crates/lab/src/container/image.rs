//! Which image a candidate runs in, and how it gets here.

use std::fs;
use std::path::Path;
use std::time::Duration;

use prony_model::fnv::hash_of;

use super::{Engine, LABEL, limits};
use crate::catalogue::{DOCKERFILE, Server, lock_in, requirements};
use crate::programs::{Run, environment};

/// The Python packages of the recipe and its settings, for pip, with hashes: a Dockerfile need not repeat them.
const REQUIREMENTS: &str = "requirements.prony.txt";
const BUILDS_LOCKED: &str = "--no-build-isolation";
/// On a base image that somebody made by themselves and gave the name of an official one: what it was made from.
/// What is built on such a base inherits the label, so that no record of it passes for one of the official base.
const STAND_IN: &str = "org.prony.stand-in";
const NO_VALUE: &str = "<no value>";
/// A base image, a distribution's packages and a compiled server.
const BUILD_TIMEOUT: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub(crate) engine: Engine,
    /// What it is called: `prony/NAME:HASH` where it is built, else as the recipe says.
    pub(crate) reference: String,
    /// The base that the Dockerfile is given as `IMAGE`, if the recipe chooses it.
    pub(crate) base: Option<String>,
    pub(crate) built: bool,
}

pub(crate) fn context(server: &Server, to: &Path) -> Result<(), String> {
    server.materialise(to)?;
    let values = server.recipe.axes.iter().flat_map(|axis| &axis.values);
    let all = values.fold(server.recipe.requires.clone(), |all, value| all.merged(&value.requires));
    if all.pip.is_empty() {
        return Ok(());
    }
    let lock = lock_in(to)?;
    let mut lines = requirements(&all.pip, lock.as_deref())?;
    if lock.is_some() {
        lines.insert(0, "--require-hashes".to_owned());
        // pip would fetch what it builds others with unchecked, setuptools among the pins or not.
        if !fs::read_to_string(to.join(DOCKERFILE)).is_ok_and(|text| text.contains(BUILDS_LOCKED)) {
            lines.insert(0, "--only-binary :all:".to_owned());
        }
    }
    let path = to.join(REQUIREMENTS);
    fs::write(&path, lines.join("\n") + "\n")
        .map_err(|e| format!("{} cannot be written: {e}.", path.display()))
}

/// What the last stage of a Dockerfile begins from, where `chosen` is its argument `IMAGE`.
fn last_base<'a>(dockerfile: &'a str, chosen: Option<&'a str>) -> Option<&'a str> {
    let default = dockerfile.lines().find_map(|line| line.strip_prefix("ARG IMAGE="));
    let from = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM ")).next_back()?;
    match from.split_whitespace().next()? {
        "${IMAGE}" => chosen.or(default),
        base => Some(base),
    }
}

impl Image {
    /// The image of a server, from the base that it is to have; `None` where there is neither Dockerfile nor base.
    pub(crate) fn for_server(server: &Server, base: Option<&str>, engine: &Engine) -> Option<Image> {
        let base = base.map(str::to_owned);
        if !server.has_file(DOCKERFILE) {
            let reference = base?;
            return Some(Image { engine: engine.clone(), reference, base: None, built: false });
        }
        let content = server.content_hash().unwrap_or_default().to_le_bytes();
        let hash = hash_of([&content[..], base.as_deref().unwrap_or_default().as_bytes()]);
        let reference = format!("prony/{}:{hash:016x}", server.name.to_ascii_lowercase());
        Some(Image { engine: engine.clone(), reference, base, built: true })
    }

    pub(crate) fn named(reference: &str, engine: &Engine) -> Image {
        Image { engine: engine.clone(), reference: reference.to_owned(), base: None, built: false }
    }

    /// What it is by its content: a name can mean another tomorrow; `None`: it is not here.
    pub(crate) fn id(&self) -> Option<String> {
        let said = self.engine.capture(&["image", "inspect", "--format", "{{.Id}}", &self.reference])?;
        let id = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        (said.success && !id.is_empty()).then_some(id)
    }

    pub(crate) fn exists(&self) -> bool {
        self.engine.has_image(&self.reference)
    }

    pub(crate) fn stand_in(&self) -> Option<String> {
        let format = format!("{{{{index .Config.Labels {STAND_IN:?}}}}}");
        let said = self.engine.capture(&["image", "inspect", "--format", &format, &self.reference])?;
        let what = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        (said.success && !what.is_empty() && what != NO_VALUE).then_some(what)
    }

    /// The base of its last stage, or itself where it is not built, by the digest that says what it holds: the one that
    /// the recipe names, which the engine has then compared; `None` where it names none and the engine knows none.
    /// `context` is the folder it was built from.
    pub(crate) fn base_digest(&self, context: &Path) -> Option<String> {
        let dockerfile = fs::read_to_string(context.join(DOCKERFILE)).unwrap_or_default();
        let last = || last_base(&dockerfile, self.base.as_deref());
        let base = if self.built { last()? } else { self.reference.as_str() };
        if base.contains('@') {
            return Some(base.to_owned());
        }
        let said = self.engine.capture(&["image", "inspect", "--format", "{{json .RepoDigests}}", base])?;
        serde_json::from_slice::<Vec<String>>(&said.stdout).ok()?.into_iter().next()
    }

    pub(crate) fn describe(&self) -> String {
        let verb = if self.built { "build" } else { "pull" };
        format!("{} {verb} {}", self.engine.name, self.reference)
    }

    pub(crate) fn make(&self, server: &str, context: &Path, log: &Path) -> Result<(), String> {
        let context_text = context.to_string_lossy();
        let dockerfile = context.join(DOCKERFILE);
        let dockerfile = dockerfile.to_string_lossy();
        let server_label = format!("org.prony.server={server}");
        let base = self.base.as_ref().map(|base| format!("IMAGE={base}"));
        let limits = limits();
        let mut arguments = vec!["pull", &self.reference];
        if self.built {
            arguments = vec!["build", "--network", "host", "--label", LABEL, "--label", &server_label];
            arguments.extend(["--tag", &self.reference, "--file", &dockerfile]);
            arguments.extend(base.iter().flat_map(|base| ["--build-arg", base.as_str()]));
            // docker's builder is a service with limits of its own.
            let podman = self.engine.name == "podman";
            arguments.extend(limits.iter().filter(|_| podman).flat_map(|limit| ["--ulimit", limit.as_str()]));
            arguments.push(&context_text);
        }
        let argv = self.engine.argv(&arguments);
        let name = self.describe();
        // The engine is its user's own program, and hands on to a build nothing but proxies.
        Run { name, argv, cwd: Path::new("/"), env: environment::own(), log, timeout: BUILD_TIMEOUT }.run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_that_is_recorded_is_that_of_the_last_stage() {
        let built = "ARG IMAGE=debian:bookworm-slim\nFROM golang:1.22 AS build\nFROM ${IMAGE}\nRUN y\n";
        assert_eq!(last_base(built, None), Some("debian:bookworm-slim"));
        assert_eq!(last_base(built, Some("ubuntu:24.04@sha256:00")), Some("ubuntu:24.04@sha256:00"));
        assert_eq!(last_base("FROM a AS build\nFROM b\n", Some("c")), Some("b"));
        assert_eq!(last_base("", None), None);
    }

    #[test]
    fn what_pip_reads_in_an_image_has_its_hashes() {
        let dir = tempfile::tempdir().unwrap();
        let catalogue = crate::catalogue::Catalogue::load(&[]);
        let read = |name: &str| {
            let folder = dir.path().join(name);
            context(catalogue.get(name).unwrap(), &folder).unwrap();
            fs::read_to_string(folder.join(REQUIREMENTS)).unwrap()
        };
        let wheels = read("flask");
        assert!(wheels.starts_with("--only-binary :all:\n--require-hashes\nblinker==1.9.0 --hash=sha256:"));
        assert!(wheels.lines().skip(2).all(|line| line.contains(" --hash=sha256:")), "{wheels}");
        // A setting of it needs setuptools while it runs; nothing is built.
        let gunicorn = read("gunicorn");
        assert!(gunicorn.starts_with("--only-binary :all:\n") && gunicorn.contains("\nsetuptools=="));
        // One that is built from sources is built with what the lock has.
        let built = read("bjoern-bottle");
        assert!(built.starts_with("--require-hashes\nbjoern==3.2.2 --hash=sha256:"), "{built}");
        assert!(built.contains("\nwheel==0.45.1 --hash=sha256:"), "{built}");
    }
}
