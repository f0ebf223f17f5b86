//! A candidate: a server with its settings (`amphp:jit+ev`), a command, an image, or a URL.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use prony_model::Target;
use prony_model::fnv::hash_of;
use prony_model::plan::Protocol;
use prony_model::secret::{REDACTED, redacted_command, remember_command};

use crate::catalogue::{
    AxisValue, Catalogue, Kind, Piece, Processes, Recipe, Requires, Server, is_label_word, pieces,
};
use crate::check::{ContractExpectation, CustomCheck, Route};
use crate::container::{Engine, Image};

mod label;
mod layout;

pub(crate) use label::server_name;
pub use layout::Layout;

#[derive(Debug, Clone)]
pub struct Candidate {
    label: String,
    origin: Origin,
    /// What it runs in; without one, it runs as a process of this machine.
    engine: Option<Arc<Engine>>,
    port: Option<u16>,
    /// Whether it is started to be sampled by `perf`.
    profiled: bool,
}

#[derive(Debug, Clone)]
enum Origin {
    /// A server of the catalogue; for each axis, the index of its chosen value.
    Recipe { server: Arc<Server>, chosen: Vec<usize> },
    /// A shell command, and how it is shown: without its secrets.
    Command { command: String, shown: String, listens: Listens },
    /// An image, by a recipe that is made of its name, and how that is shown.
    Image { recipe: Arc<Recipe>, shown: String },
    /// Somebody else runs it there.
    Url { target: Target, shown: String },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listens {
    pub tls: bool,
    /// The Unix socket that it listens on instead, `{run}/app.sock`: variables as in the command.
    pub unix: Option<String>,
    pub port: Option<u16>,
}

impl Candidate {
    /// Reads a label: `amphp`, `amphp:jit+ev` or `amphp:opt=jit`.
    pub fn parse(label: &str, catalogue: &Catalogue) -> Result<Candidate, String> {
        let server = catalogue.get(server_name(label))?;
        let chosen = label::parse(label, server)?;
        let label = label::canonical(server, &chosen);
        Ok(Candidate {
            label,
            origin: Origin::Recipe { server: Arc::new(server.clone()), chosen },
            engine: None,
            port: None,
            profiled: false,
        })
    }

    /// A command of the user's own. It is run as `sh -c COMMAND` in the current folder with
    /// `{port}`, `{host}`, `{workers}`, `{run}`, `{cert}` and `{key}` replaced, so that quotes, variables and pipes mean what
    /// they do in a shell; `${port}` stays the shell's. No `exec` is put before it, which would break
    /// `A=1 server` and `cd x && server`: the shell's own process is ended with the rest.
    pub fn command(name: &str, command: &str, listens: Listens) -> Result<Candidate, String> {
        name_of(name)?;
        if listens.unix.is_none() && listens.port.is_none() && !pieces(command).contains(&Piece::Name("port"))
        {
            return Err(format!(
                "The command of {name:?} has no {{port}}: write {{port}} where it is told what to listen on, or give --port with the one that it \
                 always has."
            ));
        }
        remember_command(command);
        let shown = redacted_command(command);
        let origin = Origin::Command { command: command.to_owned(), shown, listens };
        Ok(Candidate { label: name.to_owned(), origin, engine: None, port: None, profiled: false })
    }

    /// The image of this name, run in containers of this engine. It is told its port by `PORT`, and by what its own command
    /// is given, a text that is split as a shell splits it.
    pub fn of_image(
        name: &str,
        reference: &str,
        args: &[String],
        port: Option<u16>,
        engine: &Arc<Engine>,
    ) -> Result<Candidate, String> {
        name_of(name)?;
        let recipe =
            Recipe::of_image(reference, args.to_vec(), port).map_err(|why| format!("{name}: {why}"))?;
        let given =
            [format!("image:{reference}")].into_iter().chain(args.iter().cloned()).collect::<Vec<_>>();
        let given = given.join(" ");
        remember_command(&given);
        let origin = Origin::Image { recipe: Arc::new(recipe), shown: redacted_command(&given) };
        Ok(Candidate {
            label: name.to_owned(),
            origin,
            engine: Some(engine.clone()),
            port: None,
            profiled: false,
        })
    }

    /// A server that somebody else runs. It is neither started nor stopped.
    pub fn url(name: &str, target: Target) -> Result<Candidate, String> {
        name_of(name)?;
        let url = target.display_url();
        let shown = match &target.userinfo {
            Some(_) => url.replacen("://", &format!("://{REDACTED}@"), 1),
            None => url,
        };
        let origin = Origin::Url { target, shown };
        Ok(Candidate { label: name.to_owned(), origin, engine: None, port: None, profiled: false })
    }

    pub fn with_each_setting(&self) -> Vec<Candidate> {
        let mut all = vec![self.clone()];
        let Origin::Recipe { server, chosen } = &self.origin else { return all };
        for (i, axis) in server.recipe.axes.iter().enumerate() {
            for value in (0..axis.values.len()).filter(|value| chosen.get(i) != Some(value)) {
                let mut other = chosen.clone();
                other[i] = value;
                let label = label::canonical(server, &other);
                let origin = Origin::Recipe { server: server.clone(), chosen: other };
                all.push(Candidate { label, origin, ..self.clone() });
            }
        }
        all
    }

    /// The same in containers of this engine, if it is of the catalogue: a command or URL runs where it runs.
    pub fn in_container(self, engine: &Arc<Engine>) -> Candidate {
        let engine = self.server().map_or(self.engine.clone(), |_| Some(engine.clone()));
        Candidate { engine, ..self }
    }

    pub(crate) fn natively(&self) -> Candidate {
        Candidate { engine: None, ..self.clone() }
    }

    pub fn engine(&self) -> Option<&Engine> {
        self.engine.as_deref()
    }

    /// The image that its recipe or one of its settings names: then it runs in containers only.
    pub fn image(&self) -> Option<&str> {
        let chosen = self.chosen_values().filter_map(|value| value.image.as_deref()).last();
        chosen.or_else(|| self.recipe()?.image.as_deref())
    }

    /// The image that it runs in; `None` where it runs in no container, or has neither Dockerfile nor image.
    pub(crate) fn run_image(&self) -> Option<Image> {
        match self.server() {
            Some(server) => Image::for_server(server, self.image(), self.engine()?),
            None => Some(Image::named(self.image()?, self.engine()?)),
        }
    }

    /// Of an image by its name: its content's id and its engine; pulled first where it may be.
    pub fn image_version(&self, pull: bool, layout: &Layout) -> Result<Option<String>, String> {
        let Origin::Image { recipe, .. } = &self.origin else { return Ok(None) };
        let Some(image) = self.run_image() else { return Ok(None) };
        let name = recipe.image.as_deref().unwrap_or_default();
        if pull && !image.exists() {
            let folder = layout.root();
            fs::create_dir_all(folder)
                .map_err(|why| format!("{} cannot be made: {why}.", folder.display()))?;
            image.make(&self.label, folder, &folder.join("pull.log"))?;
        }
        let id = image.id().ok_or_else(|| {
            let engine = image.engine.name;
            format!("{self}: {engine} has no image {name} here: build it first, or add --pull to fetch it from its registry.")
        })?;
        Ok(Some(format!("{id} in {}", image.engine.describe())))
    }

    /// The same on this port; refused where its image has another.
    pub fn on_port(self, port: u16) -> Result<Candidate, String> {
        match self.fixed_port() {
            Some(own) if own != port => {
                Err(format!("{self} listens on port {own} and can be told no other."))
            }
            _ => Ok(Candidate { port: Some(port), ..self }),
        }
    }

    /// The port that it is started on, where that is said, or it or its image cannot be told another.
    pub fn fixed_port(&self) -> Option<u16> {
        self.port.or_else(|| match &self.origin {
            Origin::Command { listens, .. } => listens.port,
            Origin::Recipe { .. } | Origin::Image { .. } | Origin::Url { .. } => self.recipe()?.port,
        })
    }

    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn server(&self) -> Option<&Server> {
        match &self.origin {
            Origin::Recipe { server, .. } => Some(server),
            Origin::Command { .. } | Origin::Image { .. } | Origin::Url { .. } => None,
        }
    }

    pub(crate) fn recipe(&self) -> Option<&Recipe> {
        match &self.origin {
            Origin::Recipe { server, .. } => Some(&server.recipe),
            Origin::Image { recipe, .. } => Some(recipe),
            Origin::Command { .. } | Origin::Url { .. } => None,
        }
    }

    pub fn as_url(&self) -> Option<&Target> {
        match &self.origin {
            Origin::Url { target, .. } => Some(target),
            Origin::Recipe { .. } | Origin::Command { .. } | Origin::Image { .. } => None,
        }
    }

    pub fn command_line(&self) -> Option<&str> {
        match &self.origin {
            Origin::Command { command, .. } => Some(command),
            Origin::Recipe { .. } | Origin::Image { .. } | Origin::Url { .. } => None,
        }
    }

    /// What it is told in words of the user's own: its command, or the arguments of its image.
    pub fn told(&self) -> Vec<&str> {
        match &self.origin {
            Origin::Command { command, .. } => vec![command],
            Origin::Image { recipe, .. } => recipe.start.args.iter().map(String::as_str).collect(),
            Origin::Recipe { .. } | Origin::Url { .. } => Vec::new(),
        }
    }

    pub fn tls(&self) -> bool {
        match &self.origin {
            Origin::Recipe { .. } => self.chosen_values().any(|value| value.tls),
            Origin::Command { listens, .. } => listens.tls,
            Origin::Image { .. } => false,
            Origin::Url { target, .. } => target.tls,
        }
    }

    /// Whether it speaks this on its port, as its recipe says; of a command or a URL the check will tell.
    pub fn speaks(&self, protocol: Protocol) -> bool {
        let Some(server) = self.server() else { return true };
        let chosen = self.chosen_values().filter_map(|value| value.protocols.as_ref()).last();
        chosen.unwrap_or(&server.recipe.protocols).contains(&protocol.id(self.tls()))
    }

    pub fn unix(&self) -> Option<&str> {
        match &self.origin {
            Origin::Command { listens, .. } => listens.unix.as_deref(),
            Origin::Recipe { .. } | Origin::Image { .. } | Origin::Url { .. } => None,
        }
    }

    /// What people call it; a command and a URL without their secrets.
    pub(crate) fn title(&self) -> &str {
        match &self.origin {
            Origin::Recipe { server, .. } => &server.recipe.title,
            Origin::Command { shown, .. } | Origin::Image { shown, .. } | Origin::Url { shown, .. } => shown,
        }
    }

    pub fn language(&self) -> Option<&str> {
        self.server().map(|server| server.recipe.language.as_str())
    }

    pub fn kind(&self) -> Option<Kind> {
        self.server().map(|server| server.recipe.kind)
    }

    /// The routes of the contract that it answers; of a command or a URL nothing is promised.
    pub(crate) fn routes(&self) -> &[Route] {
        self.server().map_or(&[], |server| &server.recipe.routes)
    }

    /// Whether it keeps connections; `None`: nobody said.
    pub(crate) fn keepalive(&self) -> Option<bool> {
        let server = self.server()?;
        self.chosen_values().filter_map(|v| v.keepalive).last().or(server.recipe.keepalive)
    }

    pub(crate) fn recycles(&self) -> bool {
        self.server().is_some_and(|server| server.recipe.recycles)
            || self.chosen_values().any(|value| value.recycles)
    }

    /// Each axis with its chosen value, in the order of the axes, and of a command what it listens on: for the run log.
    pub(crate) fn settings(&self) -> Vec<(&str, Cow<'_, str>)> {
        if let Origin::Command { listens, .. } = &self.origin {
            let tls = listens.tls.then_some(("tls", "on".into()));
            let port = listens.port.map(|port| ("port", port.to_string().into()));
            let unix = listens.unix.as_deref().map(|path| ("unix", path.into()));
            return tls.into_iter().chain(unix).chain(port).collect();
        }
        let axes = self.server().map_or(&[][..], |server| &server.recipe.axes);
        axes.iter()
            .zip(self.chosen_values())
            .map(|(a, v)| (a.name.as_str(), v.name.as_str().into()))
            .collect()
    }

    /// The same, started so that `perf` finds the names of its functions.
    pub(crate) fn profiled(&self) -> Candidate {
        Candidate { profiled: true, ..self.clone() }
    }

    pub(crate) fn is_profiled(&self) -> bool {
        self.profiled
    }

    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let mut env = self.recipe().map(|recipe| recipe.start.env.clone()).unwrap_or_default();
        self.chosen_values().for_each(|value| env.extend(value.env.clone()));
        env
    }

    pub(crate) fn requires(&self) -> Requires {
        let Some(server) = self.server() else { return Requires::default() };
        self.chosen_values().fold(server.recipe.requires.clone(), |all, value| all.merged(&value.requires))
    }

    /// How many workers it is started with if so many are asked for: one where it can use only one.
    pub(crate) fn workers(&self, asked: u32) -> u32 {
        let Some(server) = self.server() else { return asked.max(1) };
        let processes = self.chosen_values().filter_map(|v| v.processes).last();
        match processes.unwrap_or(server.recipe.processes) {
            Processes::Single => 1,
            Processes::Workers => asked.max(1),
        }
    }

    pub(crate) fn expectation(&self) -> ContractExpectation {
        match &self.origin {
            Origin::Recipe { server, .. } => ContractExpectation {
                routes: server.recipe.routes.clone(),
                keepalive: self.keepalive(),
                custom: server.recipe.checks.clone(),
                workers: 0,
            },
            Origin::Command { .. } | Origin::Image { .. } => ContractExpectation {
                custom: vec![CustomCheck::answers("/")],
                ..ContractExpectation::default()
            },
            Origin::Url { target, .. } => ContractExpectation {
                custom: vec![CustomCheck::answers(&target.path)],
                ..ContractExpectation::default()
            },
        }
    }

    /// Its virtual environment of Python: `{venv}`. Settings with packages of their own have
    /// one of their own, so that the pins of one never change the other.
    pub(crate) fn venv(&self, layout: &Layout) -> PathBuf {
        let Some(server) = self.server() else { return layout.root().join("venv") };
        let (mine, default) = (self.requires(), default_requires(server));
        let dir = layout.server_dir(&server.name);
        if mine.pip == default.pip && mine.python == default.python {
            return dir.join("venv");
        }
        let python = mine.python.iter();
        dir.join(format!("venv-{:016x}", hash_of(mine.pip.iter().chain(python).map(String::as_bytes))))
    }

    pub(crate) fn chosen_values(&self) -> impl Iterator<Item = &AxisValue> {
        let (axes, chosen) = match &self.origin {
            Origin::Recipe { server, chosen } => (&server.recipe.axes[..], &chosen[..]),
            Origin::Command { .. } | Origin::Image { .. } | Origin::Url { .. } => (&[][..], &[][..]),
        };
        axes.iter().zip(chosen).filter_map(|(axis, i)| axis.values.get(*i))
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.label == other.label
    }
}

impl Eq for Candidate {}

fn name_of(name: &str) -> Result<(), String> {
    let why = || format!("{name:?} cannot be a candidate's name: use letters, digits, '.', '_' and '-'.");
    is_label_word(name).then_some(()).ok_or_else(why)
}

fn default_requires(server: &Server) -> Requires {
    let defaults = server.recipe.axes.iter().filter_map(|axis| axis.values.first());
    defaults.fold(server.recipe.requires.clone(), |all, value| all.merged(&value.requires))
}

#[cfg(test)]
mod tests;
