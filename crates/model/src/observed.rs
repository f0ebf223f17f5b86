//! A load as it was observed, before anything is judged: what a run log keeps of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Tool;
use crate::client::ClientColumns;
use crate::duet::DuetShared;
use crate::host::{Host, HostWindow};
use crate::limits::{few, numbers};
use crate::measurement::Measurement;
use crate::monitor::Monitor;
use crate::recorded_plan::RecordedPlan;
use crate::server::ServerSamples;

/// One load with all that was seen beside it. `prony_analysis::trial::judge` makes a trial of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Observed {
    /// What measured it.
    pub tool: Tool,
    /// The plan that it was, defaults filled in.
    pub plan: RecordedPlan,
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
    /// What this machine did second by second; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitor>,
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

/// The most thresholds of a trial, and bytes of each.
const SLO_MAX: usize = 1_000;
const COLUMNS_MAX: usize = 10_000;
const SERVICES_MAX: usize = 100;
/// The longest name of how something was read.
const METHOD_MAX: usize = 64;

impl Observed {
    pub fn check(&self) -> Result<(), String> {
        self.plan.check()?;
        self.measurement.check()?;
        few("thresholds", self.slo.len(), SLO_MAX)?;
        few("bytes in a threshold", self.slo.iter().map(String::len).max().unwrap_or(0), SLO_MAX)?;
        if let Some(client) = &self.client_columns {
            columns(&client.at_ns, &[&client.process_cpu_ns, &client.rss_bytes])?;
            columns_of_each(&client.worker_cpu_ns)?;
            columns_of_each(&client.core_busy_ns)?;
        }
        self.monitor.as_ref().map_or(Ok(()), Monitor::check)?;
        self.server.as_ref().map_or(Ok(()), ServerSamples::check)
    }

    /// Whether somebody ended it early. Ended by the lab because the server died is a finding, not an interruption.
    pub fn interrupted(&self) -> bool {
        self.measurement.interrupted && self.life.died.is_none()
    }

    pub fn new(measurement: Measurement, plan: RecordedPlan) -> Observed {
        Observed { tool: Tool::this(), plan, measurement, ..Observed::default() }
    }
}

impl ServerSamples {
    pub fn check(&self) -> Result<(), String> {
        let all = &self.columns;
        few("CPUs of a server", self.cpus.len(), COLUMNS_MAX)?;
        few(
            "bytes in the name of a method",
            self.cpu_method.len().max(self.memory_method.len()),
            METHOD_MAX,
        )?;
        let peaks = [self.peak_memory_bytes, self.peak_pss_bytes.unwrap_or(0)];
        numbers([self.startup_ns, self.window_cpu_ns].into_iter().chain(peaks))?;
        columns(&all.at_ns, &[&all.cpu_ns, &all.rss_bytes, &all.time_wait])?;
        columns(&all.pss_at_ns, &[&all.pss_bytes])?;
        columns_of_each(&all.core_busy_ns)?;
        few("services", self.services.len(), SERVICES_MAX)?;
        for service in &self.services {
            few("CPUs of a service", service.cpus.len(), COLUMNS_MAX)?;
            let longest = service.name.len().max(service.cpu_method.len());
            few("bytes in the name of a service or a method", longest, METHOD_MAX)?;
            numbers([service.window_cpu_ns, service.peak_memory_bytes])?;
        }
        let Some(host) = &self.host else { return Ok(()) };
        host.monitor.as_ref().map_or(Ok(()), Monitor::check)?;
        let counted = [
            host.irq_ns,
            host.softirq_ns,
            host.steal_ns,
            host.packets_received,
            host.packets_sent,
            host.packets_dropped,
            host.tcp_retransmits,
            host.listen_overflows,
            host.listen_drops,
        ];
        numbers([host.clock_bound_ns].into_iter().chain(counted.into_iter().flatten()))
    }
}

fn columns(at_ns: &[i64], of: &[&[u64]]) -> Result<(), String> {
    let instants = at_ns.iter().map(|at| at.unsigned_abs());
    numbers(instants.chain(of.iter().flat_map(|column| column.iter().copied())))
}

fn columns_of_each(each: &[Vec<u64>]) -> Result<(), String> {
    few("columns of samples", each.len(), COLUMNS_MAX)?;
    numbers(each.iter().flatten().copied())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_host::ServerHostWindow;

    #[test]
    fn what_another_host_says_of_its_server_is_bounded() {
        let with = |softirq_ns: u64, cpu_method: &str| ServerSamples {
            cpu_method: cpu_method.to_owned(),
            host: Some(ServerHostWindow { softirq_ns: Some(softirq_ns), ..ServerHostWindow::default() }),
            ..ServerSamples::default()
        };
        assert_eq!(with(1_000_000_000, "schedstat").check(), Ok(()));
        assert!(with(u64::MAX, "schedstat").check().is_err());
        assert!(with(0, &"x".repeat(METHOD_MAX + 1)).check().is_err());
    }
}
