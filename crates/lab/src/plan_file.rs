//! Plan files: a load as a `[[plan]]` of an experiment, with its URL and what else flags say of it.

use std::collections::BTreeMap;
use std::path::Path;

use prony_model::foreign_file;
use prony_model::options::LoadOptions;
use prony_model::secret::{has_secret_field, is_asked_for, is_secret, redacted_command};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::de::{DeTable, ValueDeserializer};

use crate::experiment::{self, check_name};
use crate::toml_file::{TomlError, TomlFile, suggest};

/// The schema's name; another number is another format.
const SCHEMA: &str = "prony.plan/1";
const FILE_MAX_BYTES: u64 = 1 << 20;

/// What a plan file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanFile {
    pub load: LoadOptions,
    /// What is no option of a load, by its flag with `_` for `-`, and `url`: a value, several, or whether it is given.
    pub flags: BTreeMap<String, Value>,
    name: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw<P> {
    schema: String,
    plan: [P; 1],
}

#[derive(Serialize)]
struct RawPlan<'a> {
    #[serde(flatten)]
    flags: &'a BTreeMap<String, Value>,
    #[serde(flatten)]
    load: &'a LoadOptions,
}

/// The path to a key of the plan.
fn path(key: &str) -> [&str; 3] {
    ["plan", "0", key]
}

impl PlanFile {
    pub fn of(load: LoadOptions, flags: BTreeMap<String, Value>) -> PlanFile {
        PlanFile { load, flags, ..PlanFile::default() }
    }

    /// Reads a file, whose keys may be these `options` of a load and these `flags`.
    pub fn read(name: &str, options: &[String], flags: &[String]) -> Result<PlanFile, String> {
        let text = foreign_file::read_text(Path::new(name), FILE_MAX_BYTES);
        let text = text.map_err(|why| format!("{name} cannot be read: {why}."))?;
        PlanFile::parse(name, &text, options, flags).map_err(|why| why.to_string())
    }

    fn parse(name: &str, text: &str, options: &[String], flags: &[String]) -> Result<PlanFile, TomlError> {
        let file = TomlFile { name, text };
        let mut others = BTreeMap::new();
        let raw: Raw<LoadOptions> = file.parse_without(|document| {
            let schema = document.get("schema").and_then(|schema| schema.get_ref().as_str());
            let why = format!(
                "the schema is {:?} and a plan file's is {SCHEMA:?}: an experiment is run by `prony bench {name}`.",
                schema.unwrap_or_default()
            );
            file.refuse_if(schema.is_some_and(|schema| schema != SCHEMA), &["schema"], why)?;
            let plans = document.get_mut("plan").map(toml::Spanned::get_mut);
            let Some(toml::de::DeValue::Array(plans)) = plans else { return Ok(()) };
            let why = "a plan file has one [[plan]], and this one has another number of them: write each into a file of its own.";
            file.refuse_if(plans.len() != 1, &["plan", "1"], why)?;
            let Some(toml::de::DeValue::Table(plan)) = plans.iter_mut().next().map(toml::Spanned::get_mut) else { return Ok(()) };
            others = taken(file, plan, options, flags)?;
            Ok(())
        })?;
        let [load] = raw.plan;
        check_name(file, &path("")[..2], &load)?;
        let read = PlanFile { name: name.to_owned(), text: text.to_owned(), ..PlanFile::of(load, others) };
        let Some((key, what, _)) = read.written_secret() else { return Ok(read) };
        let why = format!(
            "{what} is secret, and a plan file is kept: write \"@env:NAME\" instead, and set NAME in the environment."
        );
        Err(read.error(&key, why))
    }

    /// The text of a file that says this; an error where a secret would stand in it, or it cannot be said.
    pub fn to_text(&self) -> Result<String, String> {
        if let Some((_, what, instead)) = self.written_secret() {
            return Err(format!(
                "{what} is secret, and the file would hold it: give {instead}, and set NAME in the environment."
            ));
        }
        let names = self.load.headers.iter().flatten().map(|header| &header.name).collect::<Vec<_>>();
        if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(format!("the header {} is given twice, and a file holds each name once.", names[at]));
        }
        let plan = [RawPlan { flags: &self.flags, load: &self.load }];
        toml::to_string(&Raw { schema: SCHEMA.to_owned(), plan }).map_err(|why| why.to_string())
    }

    /// An error with the line of a key.
    pub fn error(&self, key: &str, why: impl Into<String>) -> TomlError {
        TomlFile { name: &self.name, text: &self.text }.error(&path(key), why)
    }

    /// A secret that is written out: its key, what it is, and the flag that asks the environment for it.
    fn written_secret(&self) -> Option<(String, String, String)> {
        let redact = self.flags.get("redact").map(texts).unwrap_or_default();
        let is_written = |value: &Option<String>| !value.as_deref().is_some_and(is_asked_for);
        let mut headers = self.load.headers.iter().flatten().filter(|header| is_written(&header.value));
        if let Some(header) = headers.find(|header| is_secret(&header.name, &redact)) {
            let name = &header.name;
            return Some((
                "headers".to_owned(),
                format!("the header {name}"),
                format!("--header '{name}: @env:NAME'"),
            ));
        }
        // A file is only named.
        let has_field = |text: &&String| !text.starts_with('@') && has_secret_field(text);
        for (key, flag, text) in
            [("body", "--body", &self.load.body), ("expect_body", "--expect-body", &self.load.expect_body)]
        {
            if text.as_ref().is_some_and(|text| has_field(&text)) {
                return Some((key.to_owned(), format!("a field of {key:?}"), format!("{flag} @env:NAME")));
            }
        }
        let is_secret = |value: &&Value| texts(value).iter().any(|text| redacted_command(text) != **text);
        let (key, _) = self.flags.iter().find(|(_, value)| is_secret(value))?;
        Some((key.clone(), format!("a part of {key:?}"), "@env:NAME in its place".to_owned()))
    }
}

/// The texts of a value.
pub fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Takes what is no option of a load out of a plan, none of whose keys is unknown then.
fn taken(
    file: TomlFile<'_>,
    plan: &mut DeTable<'_>,
    options: &[String],
    flags: &[String],
) -> Result<BTreeMap<String, Value>, TomlError> {
    let known: Vec<&str> =
        flags.iter().chain(options).map(String::as_str).chain(["name", "protocol"]).collect();
    if let Some(key) = plan.keys().map(|key| key.get_ref().as_ref()).find(|key| !known.contains(key)) {
        return file.refuse(&path(key), format!("unknown key {key:?} in [[plan]]: {}", suggest(key, known)));
    }
    let mut others = BTreeMap::new();
    for key in flags {
        let Some(value) = plan.remove(key.as_str()) else { continue };
        let value = Value::deserialize(ValueDeserializer::from(value));
        others.insert(key.clone(), value.map_err(|why| file.error(&path(key), why.message()))?);
    }
    Ok(others)
}
