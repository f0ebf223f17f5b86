//! In which format a list is written, and how that is told by its content.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::reader::{header, lines};

/// In which format a list is written.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Format {
    /// A URL, a path or `METHOD URL` per line.
    #[default]
    Plain,
    /// vegeta's text: `METHOD URL`, then headers and `@FILE`.
    Vegeta,
    /// vegeta's JSON: an object per line, its body in Base64.
    VegetaJson,
    /// curl's command lines.
    Curl,
    /// A folder of raw HTTP requests.
    Raw,
    /// JSON Lines of Prony's own.
    Jsonl,
}

/// Keys of JSON lines that only one of the two formats has.
#[derive(Deserialize)]
struct Keys {
    header: Option<IgnoredAny>,
    headers: Option<IgnoredAny>,
    body: Option<IgnoredAny>,
    body_file: Option<IgnoredAny>,
    weight: Option<IgnoredAny>,
    expect: Option<IgnoredAny>,
}

impl Format {
    pub(super) fn of(text: &[u8]) -> Result<Format, String> {
        let first = lines(text).next().map_or(&[][..], |(_, line)| line);
        if first.starts_with(b"{") {
            return of_json(text);
        }
        if first.starts_with(b"curl ") || first.starts_with(b"curl\t") {
            return Ok(Format::Curl);
        }
        let is_vegetas = |line: &[u8]| {
            line.starts_with(b"@") || std::str::from_utf8(line).is_ok_and(|line| header(line).is_some())
        };
        let later = lines(text).skip(1).any(|(_, line)| is_vegetas(line));
        Ok(if later { Format::Vegeta } else { Format::Plain })
    }

    pub fn is_plain(&self) -> bool {
        *self == Format::Plain
    }

    /// What is said of a list without a request.
    pub(super) fn nothing(self) -> &'static str {
        match self {
            Format::Raw => "The folder holds no request: give it files named *.raw.",
            _ => "It holds no request: write one URL or METHOD URL per line.",
        }
    }
}

/// Which JSON it is: a body is text in one and Base64 in the other, so that nothing is guessed.
fn of_json(text: &[u8]) -> Result<Format, String> {
    let mut has_body = false;
    for (_, line) in lines(text) {
        let Ok(keys) = serde_json::from_slice::<Keys>(line) else { continue };
        if keys.header.is_some() {
            return Ok(Format::VegetaJson);
        }
        if keys.headers.is_some()
            || keys.body_file.is_some()
            || keys.weight.is_some()
            || keys.expect.is_some()
        {
            return Ok(Format::Jsonl);
        }
        has_body |= keys.body.is_some();
    }
    if has_body {
        return Err("Its bodies are text in JSON Lines of Prony's and Base64 in vegeta's, and no line says which they \
                    are: give --targets-format jsonl or vegeta-json."
            .to_owned());
    }
    Ok(Format::Jsonl)
}
