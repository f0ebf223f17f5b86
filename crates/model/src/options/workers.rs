//! How many workers a server is told to use, as it is written.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::PlanError;

/// How many workers a server is told to use: the same rule for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum WorkerPolicy {
    #[strum(to_string = "{0}")]
    Fixed(u32),
    ServerCores,
    Source,
}

impl FromStr for WorkerPolicy {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<WorkerPolicy, PlanError> {
        match (text, text.parse()) {
            ("server_cores", _) => Ok(WorkerPolicy::ServerCores),
            ("source", _) => Ok(WorkerPolicy::Source),
            (_, Ok(workers)) => Ok(WorkerPolicy::Fixed(workers)),
            (_, Err(_)) => Err(PlanError("write a number, server_cores or source".to_owned())),
        }
    }
}

impl Serialize for WorkerPolicy {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WorkerPolicy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<WorkerPolicy, D::Error> {
        struct WorkersVisitor;
        impl Visitor<'_> for WorkersVisitor {
            type Value = WorkerPolicy;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of workers, \"server_cores\" or \"source\"")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<WorkerPolicy, E> {
                u32::deserialize(value.into_deserializer()).map(WorkerPolicy::Fixed)
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<WorkerPolicy, E> {
                value.parse().map_err(|_| E::unknown_variant(value, &["server_cores", "source"]))
            }
        }
        from.deserialize_any(WorkersVisitor)
    }
}
