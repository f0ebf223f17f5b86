//! A `server.toml` as it is written, before what may be left out is put in.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::requires::Requires;
use super::variables::Var;
use super::{Axis, AxisValue, Helper, Kind, Processes, Recipe, Start, VersionCommand};
use crate::check::{CustomCheck, Route};
use crate::toml_file::{TomlError, TomlFile};

type InOrder<T> = BTreeMap<Spanned<String>, T>;

/// A table's entries as the file has them: the first value of an axis is its default, so order has a meaning.
fn in_file_order<T, U>(table: InOrder<T>, make: impl Fn(String, T) -> U) -> Vec<U> {
    let mut entries: Vec<(Spanned<String>, T)> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, value)| make(key.into_inner(), value)).collect()
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    schema: Option<String>,
    title: Option<String>,
    language: Option<String>,
    kind: Option<Kind>,
    versus: Option<String>,
    routes: Option<Vec<Route>>,
    processes: Option<Processes>,
    keepalive: Option<bool>,
    #[serde(default)]
    shared: BTreeMap<String, String>,
    #[serde(default)]
    requires: Requires,
    #[serde(default)]
    vars: BTreeMap<String, Var>,
    start: Option<Start>,
    #[serde(default)]
    helper: Vec<Helper>,
    version: Option<VersionCommand>,
    #[serde(default)]
    axes: InOrder<InOrder<AxisValue>>,
    #[serde(default)]
    check: Vec<CustomCheck>,
    image: Option<String>,
    port: Option<u16>,
    #[serde(default)]
    recycles: bool,
}

impl Raw {
    /// The schema it says it has, and the recipe. An image with a port may leave out the rest: it is then asked for
    /// `/`, and nothing is said of it.
    pub(super) fn complete(self, file: TomlFile<'_>) -> Result<(String, Recipe), TomlError> {
        let image = self.image.clone();
        let needed = |key: &str| match image {
            Some(_) => Ok(()),
            None => file.refuse(&[], format!("the file has no {key:?}: add it.")),
        };
        let keys = [
            ("schema", self.schema.is_some()),
            ("title", self.title.is_some()),
            ("language", self.language.is_some()),
            ("kind", self.kind.is_some()),
            ("routes", self.routes.is_some()),
            ("processes", self.processes.is_some()),
            ("keepalive", self.keepalive.is_some()),
            ("start", self.start.is_some()),
        ];
        keys.into_iter().filter(|(_, there)| !there).try_for_each(|(key, _)| needed(key))?;
        let mut checks = self.check;
        let routes = self.routes.unwrap_or_default();
        if image.is_some() && routes.is_empty() && checks.is_empty() {
            checks.push(CustomCheck::answers("/"));
        }
        let recipe = Recipe {
            title: self.title.or_else(|| image.clone()).unwrap_or_default(),
            language: self.language.unwrap_or_else(|| "any".to_owned()),
            kind: self.kind.unwrap_or(Kind::AppServer),
            versus: self.versus,
            routes,
            processes: self.processes.unwrap_or(Processes::Single),
            keepalive: self.keepalive,
            shared: self.shared,
            requires: self.requires,
            vars: self.vars,
            start: self.start.unwrap_or_else(Start::of_image),
            helpers: self.helper,
            version: self.version,
            axes: in_file_order(self.axes, |name, values| Axis {
                name,
                values: in_file_order(values, |name, value| AxisValue { name, ..value }),
            }),
            checks,
            image,
            port: self.port,
            recycles: self.recycles,
        };
        Ok((self.schema.unwrap_or_else(|| super::SCHEMA.to_owned()), recipe))
    }
}
