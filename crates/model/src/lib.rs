//! What was measured, as data: the trial, the run log, and how both travel. Measuring, storing and reporting are joined
//! by a file: types whose serde form is the contract, and nothing that measures or computes. Unknown fields are ignored
//! on reading, so that an older Prony reads a newer one's log of the same schema.

mod body_file;
pub mod capacity;
mod capacity_log;
pub mod client;
pub mod clock;
pub mod code;
pub mod command;
pub mod connect;
pub mod duet;
mod error;
mod estimate;
pub mod fleet;
pub mod fnv;
pub mod foreign_file;
pub mod hdr;
pub mod histogram;
pub mod host;
mod input;
pub mod json_value;
pub mod limits;
pub mod list;
pub mod measurement;
pub mod monitor;
pub mod observed;
mod one_by_one;
pub mod options;
pub mod plan;
mod plan_check;
mod plan_wire;
mod plan_words;
pub mod printable;
pub mod profile;
pub mod published;
pub mod rate;
pub mod recorded_plan;
pub mod replay;
pub mod request;
pub mod run_log;
pub mod secret;
pub mod server;
pub mod server_host;
mod sleep;
pub mod slo;
pub mod target;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tls;
pub mod trial;
pub mod unit;
pub mod units;
mod unpacking;
pub mod values;

pub use error::PlanError;
pub use estimate::Estimate;
pub use measurement::Measurement;
pub use plan::Plan;
pub use secret::Secret;
pub use target::Target;
pub use trial::Trial;

/// The tool that wrote a record.
#[derive(
    Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct Tool {
    /// Always `prony`.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Tool {
    pub fn this() -> Tool {
        Tool { name: "prony".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// Where another version measured: that, and which one judges.
    pub fn judged_by_another(&self) -> Option<String> {
        let (measured, judges) = (&self.version, Tool::this().version);
        (*measured != judges).then(|| format!("measured by Prony {measured}, judged by {judges}"))
    }
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A wall-clock instant as RFC 3339 text in UTC, to the millisecond.
pub fn rfc3339(at: std::time::SystemTime) -> String {
    match jiff::Timestamp::try_from(at) {
        Ok(stamp) => format!("{stamp:.3}"),
        Err(_) => "1970-01-01T00:00:00.000Z".to_owned(),
    }
}
