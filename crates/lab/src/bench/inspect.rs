//! One candidate, started, held against the contract and stopped: what `prony servers check` does.

use std::sync::Arc;
use std::time::Duration;

use prony_host::state;
use prony_model::plan::Protocol;
use strum::VariantArray;

use super::request_spec::{Endpoint, RequestSpec};
use super::running_server::RunningServer;
use super::services::{self, Up};
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
        /// From its start to its first valid response.
        startup: Duration,
        report: CheckReport,
        /// Processes, and their memory in bytes, after the first response; `None` of another machine's.
        at_rest: Option<(u32, u64)>,
        /// Processes that outlived the stop: none, if all is well.
        leftovers: Vec<String>,
        killed: bool,
    },
}

/// Starts a candidate with one worker, checks it by all that it speaks, stops it. `memory_bytes` is not for containers.
pub fn inspect(
    candidate: &Candidate,
    layout: &Layout,
    memory_bytes: Option<u64>,
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
    inspect_at(candidate, ServerSide::Here(layout, &supervision), &version, cancelled)
}

pub fn inspect_there(
    candidate: &Candidate,
    host: &Arc<ServerHost>,
    cancelled: &dyn Fn() -> bool,
) -> Inspection {
    match host.find(candidate) {
        Err(why) => Inspection::NotStarted(why),
        Ok(found) if !found.missing.is_empty() => Inspection::Missing(found.missing),
        Ok(found) => inspect_at(candidate, ServerSide::There(host), &|| found.version.clone(), cancelled),
    }
}

/// A candidate that is up outside of a run.
pub(super) struct Alone {
    pub(super) running: RunningServer,
    /// Its recipe's; declared after it, since they end after it.
    pub(super) services: Vec<Up>,
    pub(super) endpoint: Endpoint,
    spec: RequestSpec,
    /// By what it has not been asked yet.
    spoken: Vec<Protocol>,
}

/// Brings a candidate up with so many workers, by the first protocol that it speaks.
pub(super) fn alone(
    candidate: &Candidate,
    place: ServerSide<'_>,
    workers: u32,
    cancelled: &dyn Fn() -> bool,
) -> Result<Alone, String> {
    let spec = RequestSpec::of_contract(candidate);
    let mut spoken = Protocol::VARIANTS.iter().copied().filter(|protocol| candidate.speaks(*protocol));
    let first = spoken.next().ok_or_else(|| {
        format!(
            "{candidate} cannot be started: \"protocols\" of its recipe has none for how it is started here (h2c and http/1.1 without TLS, h2 and http/1.1 with it)."
        )
    })?;
    let beside = services::Place { side: place, cpus: &[], shares: false };
    let services = services::bring_up(candidate, &[], beside, &mut Vec::new(), cancelled);
    let started = services.and_then(|services| {
        let (settings, ports) = ((workers, &[][..]), services::ports(&services));
        let (running, endpoint) = start(candidate, &spec, place, settings, first, &ports, cancelled)?;
        Ok((running, endpoint, services))
    });
    let (running, endpoint, services) = started.map_err(|not_up| match not_up {
        NotUp::NoFolder(why)
        | NotUp::NotStarted(why)
        | NotUp::Late(why)
        | NotUp::Stranger(why, _)
        | NotUp::Cancelled(why, _) => why,
    })?;
    let spoken = spoken.collect();
    Ok(Alone { running, services, endpoint, spec, spoken })
}

fn inspect_at(
    candidate: &Candidate,
    place: ServerSide<'_>,
    version: &dyn Fn() -> Option<String>,
    cancelled: &dyn Fn() -> bool,
) -> Inspection {
    let workers = candidate.workers(1);
    let up = match alone(candidate, place, workers, cancelled) {
        Ok(up) => up,
        Err(why) => return Inspection::NotStarted(why),
    };
    // The services end last.
    let Alone { mut running, services: _services, endpoint, mut spec, spoken } = up;
    let at_rest = match running.sampled() {
        SampledServer::Here(watched) => Some(sample::at_rest(watched)),
        SampledServer::There(_) => None,
    };
    let mut report = spec.check(&endpoint, workers);
    for protocol in spoken {
        match endpoint.over(&spec, protocol) {
            Ok(endpoint) => report.add(spec.check(&endpoint, workers)),
            Err(why) => report.fail(protocol, why),
        }
    }
    let startup = running.startup();
    let stopped = running.stop();
    let (leftovers, killed) = (stopped.leftovers, stopped.killed);
    Inspection::Checked { version: version(), startup, report, at_rest, leftovers, killed }
}
