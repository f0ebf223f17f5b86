//! Plan files: a load as a `[[plan]]` of an experiment, with its URL and what else flags say of it.

use std::collections::BTreeMap;
use std::path::Path;

use prony_model::foreign_file;
use prony_model::options::LoadOptions;
use prony_model::secret::{REDACTED, has_secret_field, redacted_command};
use prony_model::units::DurationValue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::check::{instead, written_out, written_secret};
use crate::experiment::check_name;
use crate::service::{self, Reset, Service};
use crate::toml_file::{TomlError, TomlFile, suggest};

const SCHEMA: &str = "prony.plan/1";
const FILE_MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Default)]
pub struct PlanFile {
    pub values: BTreeMap<String, Value>,
    pub services: Vec<Service>,
    pub reset: Option<Reset>,
    name: String,
    text: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    schema: String,
    #[serde(default, rename = "service", deserialize_with = "service::in_order", skip_serializing)]
    services: Vec<Service>,
    #[serde(skip_serializing)]
    reset: Option<String>,
    #[serde(skip_serializing)]
    reset_timeout: Option<DurationValue>,
    plan: Vec<BTreeMap<String, Value>>,
}

type Checked = (BTreeMap<String, Value>, Vec<Service>, Option<Reset>);

impl PlanFile {
    pub fn read(path: &str, known: &[String]) -> Result<PlanFile, String> {
        let text = foreign_file::read_text(Path::new(path), FILE_MAX_BYTES);
        let text = text.map_err(|why| format!("{path} cannot be read: {why}."))?;
        let mut read = PlanFile { name: path.to_owned(), text, ..PlanFile::default() };
        let (values, services, reset) = read.checked(known).map_err(|why| why.to_string())?;
        (read.values, read.services, read.reset) = (values, services, reset);
        let secret = read.written_secret().map(|(key, why)| read.error(&key, why).to_string());
        secret.map_or(Ok(read), Err)
    }

    fn checked(&self, known: &[String]) -> Result<Checked, TomlError> {
        let file = TomlFile { name: &self.name, text: &self.text };
        let Raw { schema, services, reset, reset_timeout, plan } = file.parse()?;
        service::check(&services, &[]).map_err(|why| file.error(&["service"], why))?;
        let reset = service::reset_of(reset, reset_timeout, &services)
            .map_err(|(key, why)| file.error(&[key], why))?;
        let why = format!("the schema is {schema:?}, and a plan file's is {SCHEMA:?}.");
        file.refuse_if(schema != SCHEMA, &["schema"], why)?;
        let why = format!("a plan file has one [[plan]], and this one {}: write one file each.", plan.len());
        let [plan] = <[_; 1]>::try_from(plan).map_err(|_| file.error(&["plan", "1"], why))?;
        let (count, mut values) = (plan.len(), BTreeMap::new());
        for (key, value) in plan {
            if !known.contains(&key) {
                let hint = suggest(&key, known.iter().map(String::as_str));
                return Err(self.error(&key, format!("unknown key {key:?} in [[plan]]: {hint}")));
            }
            // An option of a load is what an experiment takes it for.
            let option = serde_json::from_value::<LoadOptions>(json!({ &key: &value }));
            match option.map_err(|why| why.to_string()) {
                Ok(option) => {
                    check_name(file, &["plan", "0"], &option)?;
                    values.extend(option.table());
                }
                Err(why) if why.starts_with("unknown field") => drop(values.insert(key, value)),
                Err(why) => return Err(file.misread(&["plan", "0", &key], &why)),
            }
        }
        let why = "\"http2\" and \"protocol\" say the same: write one of them.";
        file.refuse_if(values.len() < count, &["plan", "0", "protocol"], why)?;
        Ok((values, services, reset))
    }

    /// The text of a file that says this, where none of it is a secret.
    pub fn to_text(values: BTreeMap<String, Value>) -> Result<String, String> {
        let file = PlanFile { values, ..PlanFile::default() };
        if let Some((_, why)) = file.written_secret() {
            return Err(why);
        }
        let (services, reset, reset_timeout) = (Vec::new(), None, None);
        let raw = Raw { schema: SCHEMA.to_owned(), services, reset, reset_timeout, plan: vec![file.values] };
        toml::to_string(&raw).map_err(|why| why.to_string())
    }

    pub fn error(&self, key: &str, why: impl Into<String>) -> TomlError {
        TomlFile { name: &self.name, text: &self.text }.error(&["plan", "0", key], why)
    }

    pub fn texts(&self, key: &str) -> Vec<&str> {
        let Some(value) = self.values.get(key) else { return Vec::new() };
        let items: Vec<&Value> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(table) => table.values().collect(),
            one => vec![one],
        };
        items.into_iter().filter_map(Value::as_str).collect()
    }

    fn written_secret(&self) -> Option<(String, String)> {
        let redact: Vec<String> = self.texts("redact").into_iter().map(str::to_owned).collect();
        let mut headers = self.values.get("headers").and_then(Value::as_object).into_iter().flatten();
        let secret = headers.find_map(|(name, value)| written_secret(name, value.as_str()?, &redact));
        let is_secret = |key: &str, text: &str| {
            redacted_command(text) != text
                || has_secret_field(written_out(key, text))
                || text.contains(REDACTED)
        };
        let of_service = |service: &Service| service.texts().any(|text| is_secret("service", text));
        if let Some(service) = self.services.iter().find(|service| of_service(service)) {
            return Some((
                "service".to_owned(),
                format!(
                    "the service {:?} has a part that is secret, and this file is kept: write $NAME in its place, and set NAME in the environment.",
                    service.name
                ),
            ));
        }
        let key = || self.values.keys().find(|key| self.texts(key).iter().any(|text| is_secret(key, text)));
        let said = |key: &String| {
            let instead = instead(key);
            (key.clone(), format!("{key:?} has a part that is secret, and this file is kept: {instead}."))
        };
        secret.map(|why| ("headers".to_owned(), why)).or_else(|| key().map(said))
    }
}
