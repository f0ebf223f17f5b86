//! One candidate, started, held against the contract and stopped: what `prony servers check` does.

use std::sync::Arc;
use std::time::Duration;

use prony_host::state;
use prony_model::plan::Protocol;
use strum::VariantArray;

use super::request_spec::{Endpoint, RequestSpec};
use super::running_server::RunningServer;
use super::services::{self, ContractServices, Up};
use super::start::{ServerSide, start};
use crate::candidate::{Candidate, Layout};
use crate::check::CheckReport;
use crate::provision::{self, Missing};
use crate::sample;
use crate::server_host::{SampledServer, ServerHost};
use crate::supervise::{NotUp, Supervision};

#[derive(Debug)]
pub enum Inspection {
    Missing(Vec<Missing>),
    NotStarted(String),
    Checked {
        version: Option<String>,
        startup: Duration,
        report: CheckReport,
        /// Processes, and their memory in bytes, after the first response; `None` of another machine's.
        at_rest: Option<(u32, u64)>,
        /// Processes that outlived the stop: none, if all is well.
        leftovers: Vec<String>,
        killed: bool,
    },
}

/// Starts a candidate with one worker beside the contract's services that it needs, checks it by all that it speaks, stops it.
/// `memory_bytes` is not for containers.
pub fn inspect(
    candidate: &Candidate,
    layout: &Layout,
    memory_bytes: Option<u64>,
    services: &mut ContractServices,
    cancelled: &dyn Fn() -> bool,
) -> Inspection {
    let missing = provision::missing(candidate, layout);
    if !missing.is_empty() {
        return Inspection::Missing(missing);
    }
    let state = match state::folder() {
        Ok(state) => state,
        Err(why) => return Inspection::NotStarted(why),
    };
    let supervision = Supervision::new(&state, &[], memory_bytes);
    let version = || candidate.version(layout);
    inspect_at(candidate, ServerSide::Here(layout, &supervision), services, &version, cancelled)
}

pub fn inspect_there(
    candidate: &Candidate,
    host: &Arc<ServerHost>,
    services: &mut ContractServices,
    cancelled: &dyn Fn() -> bool,
) -> Inspection {
    match host.find(candidate) {
        Err(why) => Inspection::NotStarted(why),
        Ok(found) if !found.missing.is_empty() => Inspection::Missing(found.missing),
        Ok(found) => {
            inspect_at(candidate, ServerSide::There(host), services, &|| found.version.clone(), cancelled)
        }
    }
}

pub(super) struct Alone {
    pub(super) running: RunningServer,
    /// Its recipe's; declared after it, since they end after it.
    pub(super) services: Vec<Up>,
    pub(super) endpoint: Endpoint,
    spec: RequestSpec,
    spoken: Vec<Protocol>,
}

/// Brings a candidate up with so many workers beside services on these ports, by the first protocol that it speaks.
pub(super) fn alone(
    candidate: &Candidate,
    place: ServerSide<'_>,
    workers: u32,
    beside: &[(String, u16)],
    cancelled: &dyn Fn() -> bool,
) -> Result<Alone, String> {
    let spec = RequestSpec::of_contract(candidate);
    let mut spoken = Protocol::VARIANTS.iter().copied().filter(|protocol| candidate.speaks(*protocol));
    let first = spoken.next().ok_or_else(|| {
        format!(
            "{candidate} cannot be started: \"protocols\" of its recipe has none for how it is started here (h2c and http/1.1 without TLS, h2 and http/1.1 with it)."
        )
    })?;
    let services = services::bring_up(candidate, &[], anywhere(place), &mut Vec::new(), cancelled);
    let started = services.and_then(|services| {
        let (settings, ports) = ((workers, &[][..]), [beside, &services::ports(&services)].concat());
        let (running, endpoint) = start(candidate, &spec, place, settings, first, &ports, cancelled)?;
        Ok((running, endpoint, services))
    });
    let (running, endpoint, services) = started.map_err(NotUp::said)?;
    let spoken = spoken.collect();
    Ok(Alone { running, services, endpoint, spec, spoken })
}

fn anywhere(side: ServerSide<'_>) -> services::Place<'_> {
    services::Place { side, cpus: &[], shares: false }
}

fn inspect_at(
    candidate: &Candidate,
    place: ServerSide<'_>,
    contract: &mut ContractServices,
    version: &dyn Fn() -> Option<String>,
    cancelled: &dyn Fn() -> bool,
) -> Inspection {
    let workers = candidate.workers(1);
    let not_up = contract.bring_up(candidate, anywhere(place), cancelled);
    let beside = contract.ports();
    let up = match alone(candidate, place, workers, &beside, cancelled) {
        Ok(up) => up,
        Err(why) => return Inspection::NotStarted(why),
    };
    // The services end last.
    let Alone { mut running, services: _services, endpoint, mut spec, spoken } = up;
    let at_rest = match running.sampled() {
        SampledServer::Here(watched) => Some(sample::at_rest(watched)),
        SampledServer::There(_) => None,
    };
    let named: Vec<&str> = beside.iter().map(|(name, _)| name.as_str()).collect();
    let mut report = spec.check(&endpoint, workers, &named);
    for protocol in spoken {
        match endpoint.over(&spec, protocol) {
            Ok(endpoint) => report.add(spec.check(&endpoint, workers, &named)),
            Err(why) => report.fail(protocol, why),
        }
    }
    for (name, why) in not_up {
        let left_out = candidate.routes().iter().filter(|route| route.needs() == Some(name));
        report.leave_out(&left_out.copied().collect::<Vec<_>>(), &why);
    }
    let startup = running.startup();
    let stopped = running.stop();
    let (leftovers, killed) = (stopped.leftovers, stopped.killed);
    Inspection::Checked { version: version(), startup, report, at_rest, leftovers, killed }
}
