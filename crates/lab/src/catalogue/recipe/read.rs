//! The two parts of a recipe whose form serde cannot derive.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::AxisValue;
use super::variables::Var;

impl<'de> Deserialize<'de> for Var {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VarVisitor;
        impl<'de> Visitor<'de> for VarVisitor {
            type Value = Var;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text in quotes or a list of them")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Var, E> {
                Ok(Var::One(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Var, A::Error> {
                let mut all = Vec::new();
                while let Some(text) = seq.next_element()? {
                    all.push(text);
                }
                Ok(Var::Many(all))
            }
        }
        deserializer.deserialize_any(VarVisitor)
    }
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
                        "tls" => value.tls = map.next_value()?,
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
