//! Paths to one value of a JSON document: `$.items[0].name`, or by a JSON pointer (RFC 6901) `/items/0/name`.
//!
//! The singular queries of RFC 9535 (JSONPath), which name at most one value: `$`, `.name`, `['name']`,
//! `["name"]` and `[0]`. Wildcards, slices, filters and indices from the end would name none or several,
//! and there would be nothing that a check could hold against one expected value.

use prony_model::json_value::JsonValue;
use prony_model::secret::Secret;
use serde_json::Value;

/// The longest path; deeper documents than this are not what a check is for.
const STEPS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsonPath {
    Steps(Vec<Step>),
    /// RFC 6901's.
    Pointer(String),
}

impl JsonPath {
    pub(super) fn parse(text: &str) -> Result<JsonPath, String> {
        if text.starts_with('/') {
            let one = JsonValue { pointer: text.to_owned(), value: Secret::hidden("") };
            return one.check().map(|()| JsonPath::Pointer(text.to_owned())).map_err(|why| why.to_string());
        }
        let Some(mut rest) = text.strip_prefix('$') else {
            return Err(format!(
                "{text:?} does not begin with $ or /: write \"/name\", \"$.name\" or \"$.list[0]\""
            ));
        };
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if steps.len() >= STEPS_MAX {
                return Err(format!("{text:?} has more than {STEPS_MAX} steps"));
            }
            let step = step(&mut rest);
            steps.push(step.ok_or_else(|| {
                format!("{text:?} cannot be read at {rest:?}: steps are .name, ['name'] and [0]")
            })?);
        }
        Ok(JsonPath::Steps(steps))
    }

    pub(super) fn find<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        let steps = match self {
            JsonPath::Steps(steps) => steps,
            JsonPath::Pointer(pointer) => return document.pointer(pointer),
        };
        steps.iter().try_fold(document, |value, step| match step {
            Step::Name(name) => value.as_object()?.get(name),
            Step::Index(index) => value.as_array()?.get(*index),
        })
    }

    pub(super) fn pointer(&self) -> String {
        let token = |step: &Step| match step {
            Step::Name(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => format!("/{index}"),
        };
        match self {
            JsonPath::Steps(steps) => steps.iter().map(token).collect(),
            JsonPath::Pointer(pointer) => pointer.clone(),
        }
    }
}

/// Takes one step off the text; untouched where there is none.
fn step(rest: &mut &str) -> Option<Step> {
    if let Some(after) = rest.strip_prefix('.') {
        let end = after.find(['.', '[']).unwrap_or(after.len());
        let (name, left) = after.split_at(end);
        let plain = |c: char| c == '_' || c.is_alphanumeric();
        let begins = name.chars().next().is_some_and(|c| plain(c) && !c.is_ascii_digit());
        return (begins && name.chars().all(plain)).then(|| {
            *rest = left;
            Step::Name(name.to_owned())
        });
    }
    let after = rest.strip_prefix('[')?;
    for quote in ['\'', '"'] {
        if let Some(quoted) = after.strip_prefix(quote) {
            let (name, left) = quoted.split_once(quote)?;
            *rest = left.strip_prefix(']')?;
            return Some(Step::Name(name.to_owned()));
        }
    }
    let (digits, left) = after.split_once(']')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let index = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten()?;
    canonical.then(|| {
        *rest = left;
        Step::Index(index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_json_path_names_one_value_or_none() {
        let document = json!({"a": {"b c": [10, {"ü": true}]}, "": 1, "0": "zero"});
        for (path, expected) in [
            ("$", Some(document.clone())),
            ("$.a['b c'][0]", Some(json!(10))),
            ("$.a[\"b c\"][1].ü", Some(json!(true))),
            ("$['']", Some(json!(1))),
            ("$['0']", Some(json!("zero"))),
            ("$[0]", None),
            ("$.a.x", None),
            ("$.a['b c'][2]", None),
            ("$.a[0]", None),
            ("/a/b c/0", Some(json!(10))),
            ("/a/b c/-", None),
        ] {
            assert_eq!(JsonPath::parse(path).unwrap().find(&document), expected.as_ref(), "{path}");
        }
    }

    #[test]
    fn invalid_json_paths_and_those_of_several_values_are_refused() {
        for path in [
            "", "a", "$a", "$.", "$..a", "$.*", "$[*]", "$[-1]", "$[01]", "$[1:2]", "$['a", "$['a'", "$[",
            "$.0", "/a~",
        ] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
        assert!(JsonPath::parse(&format!("${}", ".a".repeat(65))).is_err());
        let pointer = |path: &str| JsonPath::parse(path).unwrap().pointer();
        assert_eq!((pointer("$.a['b/~'][0]"), pointer("/a/0")), ("/a/b~1~0/0".to_owned(), "/a/0".to_owned()));
        let said = JsonPath::parse("$.a[*]").unwrap_err();
        assert_eq!(said, "\"$.a[*]\" cannot be read at \"[*]\": steps are .name, ['name'] and [0]");
    }
}
