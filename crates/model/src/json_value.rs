//! Values that a body must have as JSON, each at a JSON pointer (RFC 6901).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{PlanError, wrong};
use crate::printable::harmless_within;
use crate::secret::{REDACTED, Secret, is_secret_by_custom, redacted, without_fields};

pub const VALUES_MAX: usize = 100;
/// The longest pointer.
const POINTER_MAX_BYTES: usize = 8 << 10;
const SHOWN_MAX_CHARS: usize = 80;

/// `/items/0/id=17`: where in a body, and what must be there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JsonValue {
    pub pointer: String,
    /// JSON; what is none is a string.
    pub value: Secret,
}

impl JsonValue {
    /// Reads `POINTER=VALUE`; a pointer ends at the first `=`. Of `@env:NAME` the value is that of the environment.
    pub fn parse(text: &str) -> Result<JsonValue, PlanError> {
        let Some((pointer, value)) = text.split_once('=') else {
            return wrong("--expect-json has no =: write /POINTER=VALUE, as /id=17.");
        };
        let value = Secret::of_header(pointer, value)
            .map_err(|why| PlanError(why.replacen("The header", "--expect-json", 1)))?;
        let one = JsonValue { pointer: pointer.to_owned(), value };
        one.check()?;
        Ok(one)
    }

    pub fn check(&self) -> Result<(), PlanError> {
        let escapes = self.pointer.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        if (self.pointer.is_empty() || self.pointer.starts_with('/'))
            && escapes
            && self.pointer.len() <= POINTER_MAX_BYTES
        {
            return Ok(());
        }
        wrong(format!(
            "{:?} is not a JSON pointer: write /items/0/id, with ~1 for a / in a name and ~0 for a ~.",
            harmless_within(&self.pointer, SHOWN_MAX_CHARS)
        ))
    }

    pub fn expected(&self) -> Value {
        let text = self.value.value();
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    }
}

/// Whether what was found at a place of a document is what was expected there, or else why not, in a sentence.
pub fn holds(place: &str, found: Option<&Value>, expected: &Value, hidden: bool) -> Result<(), String> {
    let shown = |value: &Value| match hidden || is_secret_by_custom(place) {
        true => REDACTED.to_owned(),
        false => harmless_within(&redacted(&without_fields(&value.to_string())), SHOWN_MAX_CHARS),
    };
    let place = if place.is_empty() { "the whole body" } else { place };
    match found {
        Some(found) if same(found, expected) => Ok(()),
        Some(found) => Err(format!("{place} is {}, expected {}", shown(found), shown(expected))),
        None => Err(format!("there is no {place} in the body, expected {}", shown(expected))),
    }
}

/// Whether two values are the same; 1 and 1.0 are, as RFC 9535's comparison has it.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            x == y || ((x.is_f64() || y.is_f64()) && x.as_f64() == y.as_f64())
        }
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, x)| y.get(name).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_json_or_else_a_string() {
        let of = |text: &str| {
            let one = JsonValue::parse(text).unwrap();
            (one.pointer.clone(), one.expected())
        };
        assert_eq!(of("/id=17"), ("/id".to_owned(), json!(17)));
        assert_eq!(of("/a~1b/0=Ann=1"), ("/a~1b/0".to_owned(), json!("Ann=1")));
        assert_eq!(of("/id=\"17\""), ("/id".to_owned(), json!("17")));
        assert_eq!(of("={\"a\": null}"), (String::new(), json!({"a": null})));
        for text in ["/id", "id=17", "/a~2=1", "/a~=1", "$.id=17"] {
            assert!(JsonValue::parse(text).is_err(), "{text}");
        }
        assert!(JsonValue::parse("/a=@env:PRONY_NO_SUCH").unwrap_err().to_string().contains("PRONY_NO_SUCH"));
    }

    #[test]
    fn json_numbers_are_compared_by_value() {
        assert!(same(&json!([1, {"a": 2.0}]), &json!([1.0, {"a": 2}])));
        assert!(!same(&json!(1), &json!("1")) && !same(&json!([1]), &json!([1, 1])));
        assert!(!same(&json!({"a": 1}), &json!({"b": 1})) && same(&json!(null), &json!(null)));
    }

    #[test]
    fn a_wrong_value_is_named_unless_it_may_be_secret() {
        let document = json!({"id": 18, "token": "s3"});
        let held =
            |place: &str, hidden| holds(place, document.pointer(place), &json!(17), hidden).unwrap_err();
        assert_eq!(held("/id", false), "/id is 18, expected 17");
        assert_eq!(held("/id", true), "/id is [redacted], expected [redacted]");
        assert_eq!(held("/token", false), "/token is [redacted], expected [redacted]");
        assert_eq!(held("/no", false), "there is no /no in the body, expected 17");
    }
}
