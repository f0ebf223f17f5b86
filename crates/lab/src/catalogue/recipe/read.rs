//! The parts of a recipe whose form serde cannot derive.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::{Axis, AxisValue};

type InOrder<T> = BTreeMap<Spanned<String>, T>;

/// `[axes]`, in the order of the file: the first value of an axis is its default.
pub(super) fn axes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Axis>, D::Error> {
    let axes = InOrder::<InOrder<AxisValue>>::deserialize(deserializer)?;
    Ok(in_file_order(axes, |name, values| Axis {
        name,
        values: in_file_order(values, |name, value| AxisValue { name, ..value }),
    }))
}

fn in_file_order<T, U>(table: InOrder<T>, make: impl Fn(String, T) -> U) -> Vec<U> {
    let mut entries: Vec<(Spanned<String>, T)> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, value)| make(key.into_inner(), value)).collect()
}

impl<'de> Deserialize<'de> for AxisValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = AxisValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of what the setting changes")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AxisValue, A::Error> {
                let mut value = AxisValue::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "env" => value.env = map.next_value()?,
                        "requires" => value.requires = map.next_value()?,
                        "keepalive" => value.keepalive = Some(map.next_value()?),
                        "image" => value.image = Some(map.next_value()?),
                        "protocols" => value.protocols = Some(map.next_value()?),
                        "tls" => value.tls = map.next_value()?,
                        "recycles" => value.recycles = map.next_value()?,
                        "processes" => value.processes = Some(map.next_value()?),
                        // Whether it is declared is seen in validation, where [vars] is known.
                        _ => drop(value.vars.insert(key, map.next_value()?)),
                    }
                }
                Ok(value)
            }
        }
        deserializer.deserialize_map(ValueVisitor)
    }
}
