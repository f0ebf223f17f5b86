//! Lines whose planned trial stands among their own fields. They are read by field: serde's own `flatten` keeps every
//! field that it does not know until the end, and a file may have gigabytes of those.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{Control, PlannedTrial, RawResult, TrialStart};
use crate::capacity::CapacityRecord;
use crate::duet::DuetPlace;
use crate::observed::Observed;

#[derive(Deserialize)]
struct Flat {
    index: u32,
    block: u32,
    candidate: String,
    plan: String,
    duet: Option<DuetPlace>,
    #[serde(default)]
    repeat: u32,
    control: Option<Control>,
    at: Option<String>,
    observed: Option<Observed>,
    failure: Option<String>,
    capacity: Option<CapacityRecord>,
}

impl<'de> Deserialize<'de> for TrialStart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TrialStart, D::Error> {
        let Flat { index, block, candidate, plan, duet, repeat, control, at, .. } =
            Flat::deserialize(deserializer)?;
        let planned = PlannedTrial { index, block, candidate, plan, duet, repeat, control };
        Ok(TrialStart { planned, at: at.ok_or_else(|| Error::missing_field("at"))? })
    }
}

impl<'de> Deserialize<'de> for RawResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawResult, D::Error> {
        let flat = Flat::deserialize(deserializer)?;
        let Flat {
            index, block, candidate, plan, duet, repeat, control, observed, failure, capacity, ..
        } = flat;
        let planned = PlannedTrial { index, block, candidate, plan, duet, repeat, control };
        Ok(RawResult { planned, observed, failure, capacity })
    }
}
