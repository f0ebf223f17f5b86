//! The experiment file as it is written: its keys and their types, strict.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::{Blocks, WorkerPolicy};
use crate::check::CustomCheck;
use crate::recipe::Route;
use crate::units::{DurationValue, RateValue};

/// The whole file.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExperiment {
    pub(super) schema: String,
    pub(super) title: Option<String>,
    pub(super) candidates: Vec<String>,
    pub(super) baseline: Option<String>,
    pub(super) route: Option<Route>,
    pub(super) server_cores: Option<u32>,
    pub(super) workers: Option<WorkerPolicy>,
    pub(super) blocks: Option<Blocks>,
    pub(super) budget: Option<DurationValue>,
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) load: RawPlan,
    #[serde(default)]
    pub(super) plan: Vec<RawPlan>,
    #[serde(default)]
    pub(super) scale: BTreeMap<String, RawScale>,
    pub(super) published: Option<String>,
    pub(super) precision: Option<String>,
    #[serde(default)]
    pub(super) check: Vec<CustomCheck>,
}

/// `[load]`, and each `[[plan]]`.
#[derive(Debug, Default, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPlan {
    pub(super) name: Option<String>,
    pub(super) connections: Option<OneOrMany<u32>>,
    pub(super) rate: Option<OneOrMany<RateValue>>,
    pub(super) duration: Option<DurationValue>,
    pub(super) warmup: Option<DurationValue>,
    pub(super) threads: Option<u32>,
    pub(super) timeout: Option<DurationValue>,
    pub(super) keepalive: Option<bool>,
    /// `closed`, `constant` or `poisson`.
    pub(super) arrivals: Option<String>,
    pub(super) stages: Option<Vec<String>>,
    pub(super) requests: Option<u64>,
    pub(super) pipeline: Option<u32>,
    pub(super) spin: Option<bool>,
    pub(super) user_clock: Option<bool>,
    pub(super) method: Option<String>,
    pub(super) headers: Option<BTreeMap<String, String>>,
    pub(super) body: Option<String>,
    /// What must be kept while the highest sustainable rate is searched for; `"default"` for no more
    /// than that the backlog does not grow.
    pub(super) capacity: Option<String>,
    /// Whose knee rates in percent are shares of: `amphp:opcache knee`.
    pub(super) of: Option<String>,
}

/// `[scale.NAME]`.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawScale {
    pub(super) duration: Option<DurationValue>,
    pub(super) warmup: Option<DurationValue>,
    pub(super) blocks: Option<Blocks>,
    pub(super) only: Option<Vec<String>>,
}

/// A value, or a list of them: a sweep.
#[derive(Debug, Clone)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T: Copy> OneOrMany<T> {
    /// The values, and whether they were a list (and so become part of the plan's name).
    pub(super) fn values(&self) -> (Vec<T>, bool) {
        match self {
            OneOrMany::One(value) => (vec![*value], false),
            OneOrMany::Many(values) => (values.clone(), true),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany<T>, D::Error> {
        // Not `#[serde(untagged)]`: that forgets why each alternative was refused.
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a list of values")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<OneOrMany<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<OneOrMany<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<OneOrMany<T>, E> {
        T::deserialize(value.into_deserializer()).map(OneOrMany::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(OneOrMany::Many(values))
    }
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

impl<'de> Deserialize<'de> for WorkerPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WorkerPolicy, D::Error> {
        deserializer.deserialize_any(WorkersVisitor)
    }
}

struct WorkersVisitor;

impl Visitor<'_> for WorkersVisitor {
    type Value = WorkerPolicy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of workers, \"server_cores\" or \"source\"")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<WorkerPolicy, E> {
        u32::deserialize(value.into_deserializer()).map(WorkerPolicy::Fixed)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<WorkerPolicy, E> {
        match value {
            "server_cores" => Ok(WorkerPolicy::ServerCores),
            "source" => Ok(WorkerPolicy::Source),
            other => Err(E::unknown_variant(other, &["server_cores", "source"])),
        }
    }
}
