//! Why a file is no run log of ours.

use serde::Deserialize;

use super::SCHEMA;
use crate::printable::printable;
use crate::trial;

pub(super) fn check_schema(schema: &str) -> Result<(), String> {
    if schema == SCHEMA {
        return Ok(());
    }
    Err(format!(
        "its schema is {:?} and this Prony reads {SCHEMA:?}: use the version that wrote it",
        printable(schema)
    ))
}

/// A first line of another schema may lack fields of ours, so its schema is looked at by itself.
pub(super) fn first_line_is_wrong(text: &[u8], why: &serde_json::Error) -> String {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    match serde_json::from_slice::<Named>(text).ok().map(|named| named.schema) {
        Some(schema) if schema == trial::SCHEMA => {
            "this is one trial's JSON (--json) and not a run log (-o)".to_owned()
        }
        Some(schema) => match check_schema(&schema) {
            Err(other_version) => other_version,
            Ok(()) => format!("its header is damaged: {}", printable(&why.to_string())),
        },
        None => "this is not a run log: its first line is not a header; `prony bench` and `prony load -o \
                 FILE` write run logs"
            .to_owned(),
    }
}
