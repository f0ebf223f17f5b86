//! The front end's types, web/src/data.ts, are made from those that are serialised, by way of their JSON Schemas.
//!
//! `PRONY_PIN=1 cargo test -p prony-report typescript` writes the file anew.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{PageData, capacity, data, detail, history, live, ranking};

const WRITE: &str = "PRONY_PIN=1 cargo test -p prony-report typescript";

/// For what is written: a field that is always written is required.
fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().into_generator()
}

#[test]
fn the_front_end_has_the_types_that_are_written() {
    let mut types = generator();
    // What stands in a page's file, what is packed beside it, and what a live page is told.
    types.subschema_for::<PageData<'_>>();
    types.subschema_for::<ranking::Ratios<'_>>();
    types.subschema_for::<detail::Detail>();
    types.subschema_for::<capacity::Searches<'_>>();
    types.subschema_for::<history::HistoryPoints<'_>>();
    types.subschema_for::<live::LiveEvent>();
    let text = format!(
        "// Generated from the types in crates/report/src/page by `{WRITE}`; not edited by hand.\n\
         // Durations are in nanoseconds, sizes in bytes, rates per second.\n\n\
         export const SCHEMA = \"{}\";\n{}",
        data::SCHEMA,
        declarations(types)
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/data.ts");
    if std::env::var_os("PRONY_PIN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(committed.lines()).find(|(now, then)| now != then);
    assert_eq!((differs, text.len()), (None, committed.len()), "web/src/data.ts is stale: {WRITE}");
}

/// Every type that was asked for, and all that they refer to, by name.
fn declarations(mut types: SchemaGenerator) -> String {
    let all: BTreeMap<String, Value> = types.take_definitions(true).into_iter().collect();
    all.iter().map(|(name, schema)| format!("\n{}", declaration(name, schema))).collect()
}

fn declaration(name: &str, schema: &Value) -> String {
    let comment = comment("", schema);
    if schema["type"] == "object" && schema.get("oneOf").is_none() {
        let field = |(text, of): (String, &Value)| format!("{}  {text};\n", self::comment("  ", of));
        let fields: String = fields(schema).into_iter().map(field).collect();
        return format!("{comment}export interface {name} {{\n{fields}}}\n");
    }
    format!("{comment}export type {name} = {};\n", union(schema))
}

/// Its documentation, without what only Rust's can link to.
fn comment(indent: &str, schema: &Value) -> String {
    let Some(text) = schema["description"].as_str() else { return String::new() };
    let text = text.replace("[`", "`").replace("`]", "`").replace("*/", "* /");
    format!("{indent}/** {} */\n", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Each field with its own schema. One that may be left out is left out where it would be null.
fn fields(schema: &Value) -> Vec<(String, &Value)> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties: BTreeMap<&String, &Value> =
        schema["properties"].as_object().into_iter().flatten().collect();
    let field = |(name, of): (&String, _)| {
        let always = required.iter().any(|r| r == name);
        let mut types = alternatives(of);
        types.retain(|t| always || t != "null");
        (format!("{name}{}: {}", if always { "" } else { "?" }, types.join(" | ")), of)
    };
    properties.into_iter().map(field).collect()
}

fn union(schema: &Value) -> String {
    alternatives(schema).join(" | ")
}

/// The types that a value may be of.
fn alternatives(schema: &Value) -> Vec<String> {
    if let Some(value) = schema.get("const") {
        return vec![value.to_string()];
    }
    let list = |key: &str| schema[key].as_array();
    if let Some(values) = list("enum") {
        return values.iter().map(Value::to_string).collect();
    }
    let named =
        schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).map(|name| vec![name.to_owned()]);
    let several = list("oneOf").or_else(|| list("anyOf"));
    let several = several.map(|several| several.iter().flat_map(alternatives).collect());
    match (named.or(several), schema.get("properties")) {
        (None, _) => simple(schema),
        (Some(others), None) => others,
        (Some(others), Some(_)) => vec![match others.as_slice() {
            [one] => format!("{} & {one}", object(schema)),
            many => format!("{} & ({})", object(schema), many.join(" | ")),
        }],
    }
}

/// Of one type, or of one or none.
fn simple(schema: &Value) -> Vec<String> {
    let names = match &schema["type"] {
        Value::Array(several) => several.as_slice(),
        one => std::slice::from_ref(one),
    };
    let of_name = |name: &Value| match name.as_str() {
        Some("integer" | "number") => "number".to_owned(),
        Some(same @ ("boolean" | "null" | "string")) => same.to_owned(),
        Some("array") => array(schema),
        Some("object") => object(schema),
        _ => panic!("no type in TypeScript for {schema}"),
    };
    names.iter().map(of_name).collect()
}

fn array(schema: &Value) -> String {
    if let Some(each) = schema["prefixItems"].as_array() {
        return format!("[{}]", each.iter().map(union).collect::<Vec<_>>().join(", "));
    }
    let items = alternatives(&schema["items"]);
    match (schema["maxItems"].as_u64(), items.as_slice()) {
        (Some(length), _) => {
            format!("[{}]", (0..length).map(|_| items.join(" | ")).collect::<Vec<_>>().join(", "))
        }
        (None, [one]) => format!("{one}[]"),
        (None, several) => format!("({})[]", several.join(" | ")),
    }
}

fn object(schema: &Value) -> String {
    match schema.get("additionalProperties") {
        Some(values @ Value::Object(_)) => format!("Record<string, {}>", union(values)),
        _ => format!(
            "{{ {} }}",
            fields(schema).into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("; ")
        ),
    }
}

#[test]
fn fields_left_out_are_optional_and_those_of_none_are_null() {
    #![expect(dead_code, reason = "only their types are of interest")]
    /// Of all kinds: see [`Tagged`].
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Fields<'a> {
        /// Written always,
        /// on two lines.
        none: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<Tagged>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        empty: Vec<Option<f64>>,
        tuple: (u64, String),
        pair: &'a [[u32; 2]],
        map: BTreeMap<String, bool>,
        word: Option<Word>,
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        New(Inner),
        With { n: i64 },
        Alone,
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Inner {
        r#in: u8,
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Word {
        /// With documentation.
        FirstOne,
        Two,
    }
    let mut types = generator();
    types.subschema_for::<Fields<'_>>();
    insta::assert_snapshot!(declarations(types), @r#"

    /** Of all kinds: see `Tagged`. */
    export interface Fields {
      absent?: Tagged;
      empty?: (number | null)[];
      map: Record<string, boolean>;
      /** Written always, on two lines. */
      none: string | null;
      pair: [number, number][];
      tuple: [number, string];
      word: Word | null;
    }

    export interface Inner {
      in: number;
    }

    export type Tagged = { type: "new" } & Inner | { n: number; type: "with" } | { type: "alone" };

    export type Word = "two" | "first-one";
    "#);
}
