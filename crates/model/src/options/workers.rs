//! How many workers a server is told to use, as it is written.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// How many workers a server is told to use: the same rule for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerPolicy {
    /// This many.
    Fixed(u32),
    /// As many as it has cores.
    ServerCores,
    /// As many as the published source says that it had.
    Source,
}

impl fmt::Display for WorkerPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkerPolicy::Fixed(workers) => write!(f, "{workers}"),
            WorkerPolicy::ServerCores => f.write_str(WorkerPolicy::WORDS[0]),
            WorkerPolicy::Source => f.write_str(WorkerPolicy::WORDS[1]),
        }
    }
}

impl Serialize for WorkerPolicy {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            WorkerPolicy::Fixed(workers) => to.serialize_u32(*workers),
            word => to.collect_str(word),
        }
    }
}

impl WorkerPolicy {
    const WORDS: [&'static str; 2] = ["server_cores", "source"];

    fn of_word(word: &str) -> Option<WorkerPolicy> {
        match word {
            "server_cores" => Some(WorkerPolicy::ServerCores),
            "source" => Some(WorkerPolicy::Source),
            _ => None,
        }
    }
}

impl FromStr for WorkerPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<WorkerPolicy, String> {
        let number = || text.parse().ok().map(WorkerPolicy::Fixed);
        let wrong = || format!("write a number, {}", WorkerPolicy::WORDS.join(" or "));
        WorkerPolicy::of_word(text).or_else(number).ok_or_else(wrong)
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

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<WorkerPolicy, E> {
        u32::deserialize(value.into_deserializer()).map(WorkerPolicy::Fixed)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<WorkerPolicy, E> {
        WorkerPolicy::of_word(value).ok_or_else(|| E::unknown_variant(value, &WorkerPolicy::WORDS))
    }
}
