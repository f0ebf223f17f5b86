//! What figures are counted in, and what people read.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use strum::VariantArray;

#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum Unit {
    RequestsPerS,
    /// Requests per second of the server's CPU time.
    RequestsPerCpuS,
    /// Nanoseconds, read as milliseconds.
    Milliseconds,
    /// Nanoseconds, read as microseconds.
    Microseconds,
    /// Bytes, read as megabytes (10⁶).
    Megabytes,
    /// Bytes per second, read as megabytes per second.
    MegabytesPerS,
    /// A share from 0 to 1, read as percent.
    Share,
    Ratio,
    Count,
}

impl Unit {
    /// How JSON names the unit of the values, and people the one that they read; the base unit of OpenMetrics, and how
    /// much of this unit one of it is.
    const fn names(self) -> (&'static str, &'static str, (&'static str, f64)) {
        match self {
            Unit::RequestsPerS => ("requests_per_s", "req/s", ("requests_per_second", 1.0)),
            Unit::RequestsPerCpuS => ("requests_per_cpu_s", "req/CPU s", ("requests_per_cpu_second", 1.0)),
            Unit::Milliseconds => ("ns", "ms", ("seconds", 1e9)),
            Unit::Microseconds => ("ns", "µs", ("seconds", 1e9)),
            Unit::Megabytes => ("bytes", "MB", ("bytes", 1.0)),
            Unit::MegabytesPerS => ("bytes_per_s", "MB/s", ("bytes_per_second", 1.0)),
            Unit::Share => ("share", "", ("ratio", 1.0)),
            Unit::Ratio => ("ratio", "×", ("ratio", 1.0)),
            Unit::Count => ("count", "", ("", 1.0)),
        }
    }

    pub fn stored(self) -> &'static str {
        self.names().0
    }

    pub fn shown(self) -> &'static str {
        self.names().1
    }

    /// The base unit of OpenMetrics, and how much of this unit one of it is.
    pub fn base(self) -> (&'static str, f64) {
        self.names().2
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.stored())
    }
}

impl JsonSchema for Unit {
    fn schema_name() -> Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut names: Vec<&str> = Unit::VARIANTS.iter().map(|unit| unit.stored()).collect();
        names.dedup();
        json_schema!({ "description": "What a figure is counted in.", "type": "string", "enum": names })
    }
}
