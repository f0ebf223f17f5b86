//! JSON Lines of Prony's own: an object per line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reader::{Described, Reader, lines, text_of};
use super::{COMMAND_MAX_BYTES, LINES_MAX};
use crate::input::sha256;
use crate::json_value::JsonValue;
use crate::plan::Expect;
use crate::secret::Secret;
use crate::units::OneOrMany;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, OneOrMany<String>>,
    body: Option<String>,
    body_file: Option<String>,
    #[serde(default)]
    chunked: bool,
    #[serde(default = "once")]
    weight: u32,
    expect: Option<Expected>,
}

fn once() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    status: Option<u16>,
    body: Option<String>,
    sha256: Option<String>,
    /// By JSON pointer.
    #[serde(default)]
    json: BTreeMap<String, Value>,
}

pub(super) fn read(reader: &mut Reader<'_>, text: &[u8]) {
    for (number, line) in lines(text) {
        let described = text_of(line, COMMAND_MAX_BYTES).and_then(|line| describe(reader, line));
        if !reader.take(Some(number), described) {
            return;
        }
    }
}

/// An object; what is wrong with it is said without its values.
pub(crate) fn parsed<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|e| {
        let said = e.to_string();
        // `unknown field `a`, expected …` and `missing field …` name keys; other texts may name a value.
        let key =
            ["unknown field", "missing field", "duplicate field"].iter().any(|what| said.starts_with(what));
        let why = match e.classify() {
            serde_json::error::Category::Data if key => {
                said.split(" at line").next().unwrap_or_default().to_owned()
            }
            serde_json::error::Category::Data => {
                format!("a value is not what its key takes, at column {}", e.column())
            }
            _ => format!("it is not JSON at column {}", e.column()),
        };
        format!("It is no request: {}.", why.escape_debug())
    })
}

fn describe(reader: &mut Reader<'_>, line: &str) -> Result<Described, String> {
    let Line { url, method, headers, body, body_file, chunked, weight, expect } = parsed(line)?;
    let body = match (body, body_file) {
        (Some(_), Some(_)) => return Err("It has body and body_file: give one of them.".to_owned()),
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(path)) => Some(reader.file(&path)?),
        (None, None) => None,
    };
    if weight == 0 || weight as usize > LINES_MAX {
        return Err(format!("Its weight is {weight}: give 1 to {LINES_MAX}."));
    }
    let usual = if body.is_some() { "POST".to_owned() } else { reader.method() };
    let headers = headers.into_iter().flat_map(|(name, values)| {
        let values = match values {
            OneOrMany::One(value) => vec![value],
            OneOrMany::Many(values) => values,
        };
        values.into_iter().map(move |value| (name.clone(), value))
    });
    Ok(Described {
        method: method.unwrap_or(usual),
        url,
        headers: headers.collect(),
        body,
        chunked,
        expect: expect.map(Expected::meant).transpose()?,
        repeated: weight - 1,
        instead: None,
    })
}

impl Expected {
    fn meant(self) -> Result<Expect, String> {
        let Expected { status, body, sha256: hash, json } = self;
        if body.is_some() && hash.is_some() {
            return Err("It expects body and sha256: give one of them.".to_owned());
        }
        if !json.is_empty() && (body.is_some() || hash.is_some()) {
            return Err("It expects json beside all of the body: give one of them.".to_owned());
        }
        let hash = hash.map(|hex| sha256(&hex).ok_or("Its sha256 does not have 64 hexadecimal digits."));
        let value = |(pointer, value): (String, Value)| {
            let value = Secret::of_listed(&pointer, &value.to_string())?;
            let one = JsonValue { pointer, value };
            one.check().map(|()| one).map_err(|e| e.0)
        };
        let json = json.into_iter().map(value).collect::<Result<_, String>>()?;
        Ok(Expect { status, body: body.map(String::into_bytes), sha256: hash.transpose()?, json })
    }
}
