//! A load as it was observed, before anything is judged: what a run log keeps of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Tool;
use crate::client::ClientColumns;
use crate::duet::DuetShared;
use crate::host::{Host, HostWindow};
use crate::measurement::Measurement;
use crate::plan_record::PlanRecord;
use crate::server::ServerSamples;

/// One load with all that was seen beside it. `prony_analysis::trial::judge` makes a trial of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// What measured it.
    pub tool: Tool,
    /// The plan that it was, defaults filled in.
    pub plan: PlanRecord,
    /// The machine; `None` in a run log where it is the header's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// What the engine measured.
    #[schemars(with = "serde_json::Value")]
    pub measurement: Measurement,
    /// What the machine did over the window beside the load; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_window: Option<HostWindow>,
    /// What the client cost over time; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_columns: Option<ClientColumns>,
    /// Whether the target was Prony's own, which shares the client's core by design.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embedded_target: bool,
    /// The server's costs; `None` where it was not the lab's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSamples>,
    /// What became of the server's processes.
    #[serde(default, skip_serializing_if = "ServerLife::is_uneventful")]
    pub life: ServerLife,
    /// What its place in a duet shared.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub shared: DuetShared,
    /// Thresholds that were asked for, as they were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<String>,
}

impl Observed {
    /// Whether somebody ended it early. Ended by the lab because the server died is a finding, not an interruption.
    pub fn interrupted(&self) -> bool {
        self.measurement.interrupted && self.life.died.is_none()
    }

    /// Of a measurement of a plan, with nothing else seen.
    pub fn of(measurement: Measurement, plan: PlanRecord) -> Observed {
        Observed { tool: Tool::this(), plan, measurement, ..Observed::default() }
    }
}

/// What became of a server's processes while it was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerLife {
    /// What the candidate is called in sentences.
    pub candidate: String,
    /// That and how it ended, with its last lines; `None` where it lived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died: Option<String>,
    /// Whether its recipe says that it exchanges its workers by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recycles: bool,
    /// Processes that ended, each with the one that took its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<(Process, Process)>,
    /// Processes that ended and that none replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Process>,
}

impl ServerLife {
    /// Whether nothing happened that a verdict could tell.
    fn is_uneventful(&self) -> bool {
        self.died.is_none() && self.replaced.is_empty() && self.lost.is_empty()
    }
}

/// A process of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name, which the program chose.
    pub name: String,
}
