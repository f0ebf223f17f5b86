//! Lines whose planned trial stands among their own fields. They are read by field: serde's own `flatten` keeps every
//! field that it does not know until the end, and a file may have gigabytes of those.

use serde::{Deserialize, Deserializer};

use super::{PlannedTrial, RawResult, TrialStart};
use crate::capacity::CapacityRecord;
use crate::duet::DuetPlace;
use crate::observed::Observed;

#[derive(Deserialize)]
struct FlatStart {
    index: u32,
    block: u32,
    candidate: String,
    plan: String,
    #[serde(default)]
    duet: Option<DuetPlace>,
    at: String,
}

#[derive(Deserialize)]
struct FlatResult {
    index: u32,
    block: u32,
    candidate: String,
    plan: String,
    #[serde(default)]
    duet: Option<DuetPlace>,
    #[serde(default)]
    observed: Option<Observed>,
    #[serde(default)]
    failure: Option<String>,
    #[serde(default)]
    capacity: Option<CapacityRecord>,
}

impl<'de> Deserialize<'de> for TrialStart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TrialStart, D::Error> {
        let FlatStart { index, block, candidate, plan, duet, at } = FlatStart::deserialize(deserializer)?;
        Ok(TrialStart { planned: PlannedTrial { index, block, candidate, plan, duet }, at })
    }
}

impl<'de> Deserialize<'de> for RawResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawResult, D::Error> {
        let flat = FlatResult::deserialize(deserializer)?;
        let FlatResult { index, block, candidate, plan, duet, observed, failure, capacity } = flat;
        let planned = PlannedTrial { index, block, candidate, plan, duet };
        Ok(RawResult { planned, observed, failure, capacity })
    }
}
