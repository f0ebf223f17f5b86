//! Two candidates at once: who ran where. A block of a duet has two halves; in each both are loaded over the same
//! window, on the left and the right CPUs; in the second they have changed places.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of the two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DuetSide {
    /// The first CPUs.
    Left,
    /// The last CPUs.
    Right,
}

/// A trial's place in a duet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuetPlace {
    /// 0 or 1: the block's first half, or its second with places changed.
    pub half: u32,
    /// Where its server and its client ran.
    pub side: DuetSide,
}

/// The CPUs of one place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DuetCpus {
    /// The server's.
    pub server_cpus: Vec<u32>,
    /// The client's.
    pub client_cpus: Vec<u32>,
}

/// What of the CPUs is not one's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DuetShared {
    /// Both servers and both clients have CPUs of their own.
    #[default]
    Nothing,
    /// Both clients share one.
    Clients,
    /// Each server shares its CPUs with its own client: the machine has no more than two.
    Servers,
}

/// Both places, in a run log's header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuetRecord {
    /// The left one.
    pub left: DuetCpus,
    /// The right one.
    pub right: DuetCpus,
    /// What they share.
    pub shared: DuetShared,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_log::PlannedTrial;

    #[test]
    fn only_trials_of_a_duet_have_a_place_in_json() {
        let text = r#"{"index":3,"block":0,"candidate":"a","plan":"p","duet":{"half":1,"side":"right"}}"#;
        let planned: PlannedTrial = serde_json::from_str(text).unwrap();
        assert_eq!(planned.duet, Some(DuetPlace { half: 1, side: DuetSide::Right }));
        assert_eq!(serde_json::to_string(&planned).unwrap(), text);
        let alone = r#"{"index":3,"block":0,"candidate":"a","plan":"p"}"#;
        let planned: PlannedTrial = serde_json::from_str(alone).unwrap();
        assert_eq!(serde_json::to_string(&planned).unwrap(), alone);
    }
}
