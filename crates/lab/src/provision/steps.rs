//! What is built under `.prony/`: environments of Python, modules of Node, binaries of Go and Rust, and so on.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use prony_model::fnv::hash_of;

use super::builder::Builder;
use super::tool::{Origin, Site, not_written};
use super::{composer, download, mix, pecl, pip, python};
use crate::candidate::{Candidate, Layout};
use crate::catalogue::{
    Download, Pecl, REQUIREMENTS_LOCK, Requires, Server, is_builder, lock_in, requirements,
};
use crate::container::Image;
use crate::programs::{Run, environment, find_command};

const VENV_STAMP: &str = ".prony-stamp";
const LOCAL: &str = "local sources\n";
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) labels: Vec<String>,
    pub(crate) server: String,
    pub(crate) dir: PathBuf,
    pub(crate) kind: StepKind,
    /// What would say what its packages' contents are, where the recipe does not have it.
    pub(super) unlocked: Option<&'static str>,
    stamp: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepKind {
    Venv { python: Option<String>, pip: Vec<String> },
    Npm { scripts: bool },
    Go,
    Cargo,
    Composer,
    Mix,
    Pecl(Pecl),
    Download(Vec<Download>),
    Image(Image),
}

impl StepKind {
    fn words(&self) -> (&'static str, Option<&'static str>, &'static str) {
        match self {
            StepKind::Venv { .. } => ("venv", None, "the virtual environment"),
            StepKind::Npm { .. } => ("npm", Some("npm"), "the Node modules"),
            StepKind::Go => ("go", Some("go"), "the built binary"),
            StepKind::Cargo => ("cargo", Some("cargo"), "the built binary"),
            StepKind::Composer => ("composer", Some("composer"), "the Composer packages"),
            StepKind::Mix => ("mix", Some("mix"), "the compiled application"),
            StepKind::Pecl(_) => ("pecl", Some("phpize"), "a PHP extension"),
            StepKind::Download(_) => ("download", None, "the released program"),
            StepKind::Image(_) => ("image", None, "the image"),
        }
    }

    pub(super) fn noun(&self) -> &'static str {
        self.words().2
    }

    pub(super) fn tool(&self) -> Option<&'static str> {
        self.words().1
    }

    fn key(&self) -> String {
        match self {
            StepKind::Pecl(extension) => format!("pecl-{}", extension.name),
            _ => self.words().0.to_owned(),
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            StepKind::Venv { pip, .. } => format!("a virtual environment with {}", pip.join(", ")),
            StepKind::Npm { .. } => "npm ci".to_owned(),
            StepKind::Go => "go build".to_owned(),
            StepKind::Cargo => "cargo build --release".to_owned(),
            StepKind::Composer => "composer install".to_owned(),
            StepKind::Mix => "mix deps.get and mix compile".to_owned(),
            StepKind::Pecl(extension) => format!("the PHP extension {}", extension.pin()),
            StepKind::Download(files) => {
                let names: Vec<&str> = files.iter().map(Download::file_name).collect();
                format!("download of {}", names.join(", "))
            }
            StepKind::Image(image) => image.describe(),
        }
    }
}

pub(super) fn pending(candidate: &Candidate, requires: &Requires, layout: &Layout) -> Vec<Step> {
    let Some(server) = candidate.server() else { return Vec::new() };
    let step = |dir, kind, stamp| Step::new(candidate, server, dir, kind, stamp);
    let mut steps = Vec::new();
    if requires.needs_venv() {
        let lock = server.has_file(REQUIREMENTS_LOCK).then_some(REQUIREMENTS_LOCK);
        let wanted = requires.pip.iter().chain(requires.python.iter()).map(String::as_bytes);
        // What was made without its lock is made again with it.
        let stamp = hash_of(wanted.chain(lock.map(str::as_bytes)));
        let (python, pip) = (requires.python.clone(), requires.pip.clone());
        steps.push(step(candidate.venv(layout), StepKind::Venv { python, pip }, stamp));
    }
    let downloads = requires.downloads();
    if !downloads.is_empty() {
        let wanted: Vec<String> = downloads.iter().map(|d| format!("{d:?}")).collect();
        let stamp = hash_of(wanted.iter().map(String::as_bytes));
        steps.push(step(layout.opt(&server.name), StepKind::Download(downloads), stamp));
    }
    for extension in requires.extensions() {
        let pinned =
            [extension.pin()].into_iter().chain(extension.sha256.clone()).chain(extension.url.clone());
        let wanted = extension.options.iter().cloned().chain(pinned).collect::<Vec<_>>();
        let stamp = hash_of(wanted.iter().map(String::as_bytes));
        steps.push(step(layout.ext(&server.name), StepKind::Pecl(extension), stamp));
    }
    let builds = [
        (requires.npm, StepKind::Npm { scripts: requires.npm_scripts }),
        (requires.go, StepKind::Go),
        (requires.cargo, StepKind::Cargo),
        (requires.composer, StepKind::Composer),
        (requires.mix, StepKind::Mix),
    ];
    if builds.iter().any(|(wanted, _)| *wanted) {
        // A folder that cannot be read fails when it is copied, with its reason.
        let content = server.content_hash().unwrap_or_default();
        for (_, kind) in builds.into_iter().filter(|(wanted, _)| *wanted) {
            let stamp = hash_of([kind.key().as_bytes(), &content.to_le_bytes()]);
            steps.push(step(layout.work(&server.name), kind, stamp));
        }
    }
    steps.retain(|step| !step.is_done());
    steps
}

pub(super) fn pending_image(candidate: &Candidate, layout: &Layout) -> Vec<Step> {
    let Some(server) = candidate.server() else { return Vec::new() };
    let image = candidate.run_image().filter(|image| !image.exists());
    let dir = || layout.context(&server.name);
    image.map(|image| Step::new(candidate, server, dir(), StepKind::Image(image), 0)).into_iter().collect()
}

impl Step {
    fn new(candidate: &Candidate, server: &Server, dir: PathBuf, kind: StepKind, stamp: u64) -> Step {
        let lock = match &kind {
            StepKind::Venv { .. } => Some(REQUIREMENTS_LOCK),
            StepKind::Composer => Some(composer::LOCK),
            StepKind::Mix => Some(mix::LOCK),
            StepKind::Pecl(extension) => extension.sha256.is_none().then_some("sha256= in pecl"),
            _ => None,
        };
        let unlocked = lock.filter(|file| !server.has_file(file));
        let (labels, server) = (vec![candidate.label().to_owned()], server.name.clone());
        Step { labels, server, dir, kind, unlocked, stamp }
    }

    fn stamp_path(&self) -> PathBuf {
        match self.kind {
            StepKind::Venv { .. } => self.dir.join(VENV_STAMP),
            // Beside the folder, since what is built in it belongs to the application.
            _ => self.dir.with_file_name(format!("{}.stamp", self.kind.key())),
        }
    }

    fn result(&self) -> PathBuf {
        match &self.kind {
            StepKind::Venv { .. } => self.dir.join("bin/python"),
            StepKind::Npm { .. } => self.dir.join("package-lock.json"),
            StepKind::Go | StepKind::Cargo => self.dir.join("bin/server"),
            StepKind::Composer => self.dir.join("vendor/autoload.php"),
            StepKind::Mix => self.dir.join("_build/prod"),
            StepKind::Pecl(extension) => self.dir.join(format!("{}.so", extension.name)),
            StepKind::Download(_) | StepKind::Image(_) => self.dir.clone(),
        }
    }

    fn is_done(&self) -> bool {
        if let StepKind::Image(image) = &self.kind {
            return image.exists();
        }
        let stamp = fs::read_to_string(self.stamp_path()).unwrap_or_default();
        stamp.lines().next() == Some(&format!("{:016x}", self.stamp)) && self.result().exists()
    }

    pub(super) fn run(&self, layout: &Layout) -> Result<(), String> {
        // A step that is ended half-way must not look done.
        let _ = fs::remove_file(self.stamp_path());
        let log = layout.install_log(&self.server);
        if let StepKind::Image(image) = &self.kind {
            return image.make(&self.server, &self.dir, &log);
        }
        let builder = self.builder(layout);
        let site = Site { server: &self.server, dir: &self.dir, layout, user: builder.user(), log };
        let built = self.build(&site);
        let origin = site.take_back(&builder).and(built)?;
        let local = if origin == Origin::Local { LOCAL } else { "" };
        let stamp = self.stamp_path();
        let text = format!("{:016x}\n{local}", self.stamp);
        // Not where a link leads that a build has put there.
        let written = File::create_new(&stamp).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(not_written(&stamp))
    }

    fn build(&self, site: &Site<'_>) -> Result<Origin, String> {
        let mut origin = Origin::Registry;
        match &self.kind {
            StepKind::Composer => origin = composer::run(&self.dir, site)?,
            StepKind::Mix => origin = mix::run(&self.dir, site)?,
            StepKind::Pecl(extension) => origin = pecl::build(extension, &pecl::Local::named(), site)?,
            StepKind::Download(files) => origin = download::fetch(files, site)?,
            StepKind::Venv { python, pip } => self.venv(python.as_deref(), pip, site)?,
            StepKind::Npm { .. } | StepKind::Go | StepKind::Cargo | StepKind::Image(_) => {}
        }
        if let Some((program, arguments)) = self.command() {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            site.tool(program, &arguments, &self.dir)?.run()?;
        }
        if self.kind == StepKind::Cargo {
            self.take_program(site)?;
        }
        Ok(origin)
    }

    pub(super) fn builder(&self, layout: &Layout) -> Builder {
        // Before the first installation the folder is not there yet.
        let root = layout.root();
        let mut needed = vec![root.ancestors().find(|path| path.exists()).unwrap_or(root).to_owned()];
        needed.extend(self.kind.tool().and_then(find_command));
        match &self.kind {
            StepKind::Venv { python, .. } => needed.extend(python::find(python.as_deref())),
            // What rustup puts in cargo's place starts the toolchain's.
            StepKind::Cargo => {
                needed.extend(environment::of_builds().remove("RUSTUP_HOME").map(PathBuf::from));
            }
            // The engine's matter.
            StepKind::Image(_) => return Builder::Own,
            _ => {}
        }
        Builder::of(&needed)
    }

    pub(super) fn command(&self) -> Option<(&'static str, Vec<String>)> {
        let out = self.result().to_string_lossy().into_owned();
        let (program, mut arguments) = match &self.kind {
            StepKind::Npm { .. } => ("npm", vec!["ci", "--no-audit", "--no-fund"]),
            // The folder may lie in somebody's repository, whose version is not the server's. What Go fetches can be
            // deleted like everything else.
            StepKind::Go => {
                ("go", vec!["build", "-trimpath", "-buildvcs=false", "-modcacherw", "-o", &out, "."])
            }
            StepKind::Cargo => ("cargo", vec!["build", "--release", "--locked", "--target-dir", "target"]),
            _ => return None,
        };
        if self.kind == (StepKind::Npm { scripts: false }) {
            arguments.push("--ignore-scripts");
        }
        // Composer's folder has the name that Go expects its own copies of modules in.
        if self.kind == StepKind::Go && !self.dir.join("vendor/modules.txt").exists() {
            arguments.insert(1, "-mod=readonly");
        }
        Some((program, arguments.into_iter().map(str::to_owned).collect()))
    }

    fn venv(&self, constraint: Option<&str>, pip: &[String], site: &Site<'_>) -> Result<(), String> {
        let python = python::find(constraint).ok_or_else(|| {
            let wanted = constraint.map(|c| format!(" {c}")).unwrap_or_default();
            format!("There is no Python{wanted} with venv here: apt-get install python3-venv, or pyenv install VERSION.")
        })?;
        if self.dir.exists() {
            let error = |e| format!("{} cannot be removed: {e}.", self.dir.display());
            fs::remove_dir_all(&self.dir).map_err(error)?;
        }
        // Here and not by Python: the folder that it lies in need not be its user's.
        fs::create_dir_all(&self.dir).map_err(not_written(&self.dir))?;
        let work = site.layout.work(&self.server);
        let lock = lock_in(&work)?;
        let lines = requirements(pip, lock.as_deref())?;
        let run = |python: &Path, arguments: &[&str]| {
            let name = format!("python {}", arguments.join(" "));
            Run { name, ..site.tool(&python.to_string_lossy(), arguments, &work)? }.run()
        };
        run(&python, &["-m", "venv", &self.dir.to_string_lossy()])?;
        let write = |name: &str, lines: &[&str]| {
            let path = self.dir.join(name);
            fs::write(&path, lines.join("\n") + "\n").map_err(not_written(&path))?;
            Ok::<String, String>(path.to_string_lossy().into_owned())
        };
        let all: Vec<&str> = lines.iter().map(String::as_str).collect();
        let file = write("requirements.txt", &all)?;
        let first: Vec<&str> = all.iter().copied().filter(|line| is_builder(line)).collect();
        let first = (!first.is_empty()).then(|| write("requirements-build.txt", &first)).transpose()?;
        let commands = pip::commands(&file, first.as_deref(), lock.is_some());
        let python = self.dir.join("bin/python");
        commands.iter().try_for_each(|arguments| run(&python, arguments))
    }

    fn take_program(&self, site: &Site<'_>) -> Result<(), String> {
        let built = self.dir.join("target/release");
        let binary =
            Some(built.join("server")).filter(|path| path.is_file()).or_else(|| only_program(&built));
        let Some(binary) = binary else {
            return Err(format!("cargo built no program in {}: name it \"server\".", built.display()));
        };
        site.copy(&binary, &self.result())
    }
}

pub(crate) fn from_local_sources(server: &str, layout: &Layout) -> bool {
    let entries = fs::read_dir(layout.server_dir(server)).into_iter().flatten().flatten();
    let mut stamps =
        entries.map(|entry| entry.path()).filter(|p| p.extension().is_some_and(|e| e == "stamp"));
    stamps.any(|path| fs::read_to_string(path).is_ok_and(|text| text.ends_with(LOCAL)))
}

fn only_program(dir: &Path) -> Option<PathBuf> {
    let mut programs = fs::read_dir(dir).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let meta = fs::metadata(&path).ok()?;
        (meta.is_file() && meta.permissions().mode() & 0o111 != 0 && path.extension().is_none())
            .then_some(path)
    });
    programs.next().filter(|_| programs.next().is_none())
}
