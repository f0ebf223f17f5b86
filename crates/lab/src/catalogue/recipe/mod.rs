//! A recipe: what a folder of the catalogue says about its server (`server.toml`). Read strictly: a misspelt key would
//! be a setting silently not applied, and a figure of something else than its label.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::plan::ProtocolId;
use serde::{Deserialize, Serialize};

use crate::check::{CustomCheck, Route};
use crate::service::{self, POSTGRESQL, Service};
use crate::toml_file::{TomlError, TomlFile};

mod python;
mod read;
mod requires;
mod validate;
mod variables;

pub(crate) use python::Constraint;
pub(crate) use requires::{Download, Pecl, Requires};
pub(crate) use validate::{CAPABILITIES, is_label_word};
pub(crate) use variables::{Piece, Values, Var, is_name, pieces};

pub(crate) const SCHEMA: &str = "prony.server/1";

/// What a recipe must say; that of an image may leave all of it out.
const REQUIRED: [&str; 8] =
    ["schema", "title", "language", "kind", "routes", "processes", "keepalive", "start"];

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    schema: String,
    pub title: String,
    pub language: String,
    pub kind: Kind,
    pub(crate) versus: Option<String>,
    pub(crate) routes: Vec<Route>,
    pub(crate) processes: Processes,
    /// Whether it keeps connections open between requests; `None` of an image of which nobody said.
    pub(crate) keepalive: Option<bool>,
    /// What it speaks: over TLS where it is set to speak TLS, else without.
    pub(crate) protocols: Vec<ProtocolId>,
    /// Files that it has in common with other servers: the place in its folder, and the name below `_shared`.
    pub(crate) shared: BTreeMap<String, String>,
    pub requires: Requires,
    pub(crate) vars: BTreeMap<String, Var>,
    pub start: Start,
    #[serde(rename = "helper")]
    pub(crate) helpers: Vec<Helper>,
    #[serde(rename = "service", deserialize_with = "service::in_order")]
    pub(crate) services: Vec<Service>,
    pub(crate) version: Option<VersionCommand>,
    /// Its axes in the order of the file; the first value of each is the default.
    #[serde(deserialize_with = "read::axes")]
    pub axes: Vec<Axis>,
    #[serde(rename = "check")]
    pub(crate) checks: Vec<CustomCheck>,
    /// The image it runs in, or that its Dockerfile begins with: it then runs in containers only.
    pub image: Option<String>,
    pub(crate) port: Option<u16>,
    /// Whether it exchanges its workers by itself while it serves, as its makers or its setting have it.
    pub(crate) recycles: bool,
    /// The capabilities of Linux that root keeps in its container; `None`: nobody said.
    pub(crate) capabilities: Option<Vec<String>>,
}

/// What sort of server it is. Its name is the word in recipes and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// A general web server, with or without an application behind it.
    WebServer,
    EventLoop,
    /// A server inside the language's run-time as a native extension.
    Extension,
    /// Starts and feeds worker processes of the language.
    ProcessManager,
    /// Serves one language's applications.
    #[default]
    AppServer,
    /// The development server that comes with a language or framework.
    BuiltIn,
    /// The HTTP server of a language's own library.
    Runtime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Processes {
    #[default]
    Single,
    Workers,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    #[serde(default)]
    pub command: Vec<String>,
    /// What the image's own command is given, in the place of a command.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Variables of Prony's own environment that it gets too.
    #[serde(default)]
    pub(crate) inherit: Vec<String>,
    /// Files of the folder that are rendered into `{run}` before the start.
    #[serde(default)]
    pub(crate) templates: Vec<String>,
    #[serde(default = "a_minute")]
    ready_timeout_s: u32,
}

/// Whatever an image does by itself.
impl Default for Start {
    fn default() -> Start {
        Start {
            command: Vec::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherit: Vec::new(),
            templates: Vec::new(),
            ready_timeout_s: 30,
        }
    }
}

impl Start {
    pub fn ready_timeout(&self) -> Duration {
        Duration::from_secs(self.ready_timeout_s.into())
    }
}

/// On a busy machine an interpreter was seen to take over ten seconds.
fn a_minute() -> u32 {
    60
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Helper {
    pub(crate) command: Vec<String>,
    /// A path that must exist before the next process is started.
    pub(crate) wait_for: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VersionCommand {
    /// Program and arguments; the first line it prints is the version.
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub name: String,
    /// What it can be set to; the first is the default. Never empty.
    pub values: Vec<AxisValue>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct AxisValue {
    pub name: String,
    pub(crate) vars: BTreeMap<String, Var>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) requires: Requires,
    pub(crate) keepalive: Option<bool>,
    pub(crate) processes: Option<Processes>,
    pub(crate) image: Option<String>,
    pub(crate) protocols: Option<Vec<ProtocolId>>,
    /// Whether the server speaks TLS on its port, with the certificate `{cert}` and its `{key}`.
    pub(crate) tls: bool,
    /// Whether the server exchanges its workers by itself, as [`Recipe::recycles`] says of all of its settings.
    pub(crate) recycles: bool,
}

impl Recipe {
    /// Reads and checks a `server.toml`; `file` is only what errors call it.
    pub fn parse(file: &str, text: &str) -> Result<Recipe, TomlError> {
        let file = TomlFile { name: file, text };
        let mut recipe: Recipe = file.parse()?;
        if !file.parse::<toml::Table>()?.contains_key("protocols") {
            recipe.protocols.push(ProtocolId::Http1);
        }
        recipe.complete(file)?;
        validate::validate(file, &recipe)?;
        Ok(recipe)
    }

    /// That of an image and nothing else, which is told its port by `PORT`, or has its own.
    pub(crate) fn of_image(reference: &str, args: Vec<String>, port: Option<u16>) -> Result<Recipe, String> {
        validate::image_name(reference)?;
        let env = BTreeMap::from([("PORT".to_owned(), "{port}".to_owned())]);
        let start = Start { args, env, ..Start::default() };
        Ok(Recipe { image: Some(reference.to_owned()), port, start, ..Recipe::default() })
    }

    pub fn has_services(&self) -> bool {
        !self.services.is_empty()
    }

    /// An image with a port may leave out the rest: it is then asked for `/`, and nothing is said of it.
    fn complete(&mut self, file: TomlFile<'_>) -> Result<(), TomlError> {
        if self.services.iter().any(Service::is_postgresql) {
            self.requires.apt.push(POSTGRESQL.to_owned());
        }
        let given: toml::Table = file.parse()?;
        let is_missing = |key: &str| !given.contains_key(key);
        let Some(image) = &self.image else {
            let first = REQUIRED.into_iter().find(|key| is_missing(key));
            return first.map_or(Ok(()), |key| file.refuse(&[], format!("the file has no {key:?}: add it.")));
        };
        for (key, text, usual) in [
            ("schema", &mut self.schema, SCHEMA),
            ("title", &mut self.title, image.as_str()),
            ("language", &mut self.language, "any"),
        ] {
            if is_missing(key) {
                usual.clone_into(text);
            }
        }
        if self.routes.is_empty() && self.checks.is_empty() {
            self.checks.push(CustomCheck::answers("/"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
