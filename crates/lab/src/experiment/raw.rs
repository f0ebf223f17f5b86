//! The experiment file as it is written: its keys and their types, strict.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, Visitor};

use super::{Blocks, Scale};
use crate::check::{CustomCheck, Route};
use crate::service::{self, Service};
use prony_model::options::{LoadOptions, WorkerPolicy};
use prony_model::units::DurationValue;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExperiment {
    pub(super) schema: String,
    pub(super) title: Option<String>,
    pub(super) candidates: Vec<String>,
    pub(super) baseline: Option<String>,
    pub(super) route: Option<Route>,
    pub(super) server_host: Option<String>,
    pub(super) server_cores: Option<u32>,
    pub(super) workers: Option<WorkerPolicy>,
    pub(super) blocks: Option<Blocks>,
    pub(super) budget: Option<DurationValue>,
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) load: LoadOptions,
    #[serde(default)]
    pub(super) plan: Vec<LoadOptions>,
    #[serde(default)]
    pub(super) scale: BTreeMap<String, Scale>,
    pub(super) published: Option<String>,
    pub(super) precision: Option<String>,
    #[serde(default)]
    pub(super) controls: bool,
    #[serde(default)]
    pub(super) check: Vec<CustomCheck>,
    #[serde(default, deserialize_with = "service::in_order")]
    pub(super) service: Vec<Service>,
    pub(super) reset: Option<String>,
    pub(super) reset_timeout: Option<DurationValue>,
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Blocks, D::Error> {
        deserializer.deserialize_any(BlocksVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct BlocksTable {
    min: u32,
    max: u32,
}

struct BlocksVisitor;

impl<'de> Visitor<'de> for BlocksVisitor {
    type Value = Blocks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of blocks, or { min = 6, max = 12 }")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Blocks, E> {
        let blocks = u32::deserialize(value.into_deserializer())?;
        Ok(Blocks { min: blocks, max: blocks })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Blocks, A::Error> {
        let table = BlocksTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Blocks { min: table.min, max: table.max })
    }
}
