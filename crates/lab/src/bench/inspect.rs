//! One candidate, started, held against the contract and stopped: what `prony servers check` does.

use std::sync::Arc;
use std::time::Duration;

use prony_host::state;
use prony_model::plan::Protocol;
use strum::VariantArray;

use super::request_spec::RequestSpec;
use super::services;
use super::start::{ServerSide, start};
use crate::candidate::{Candidate, Layout};
use crate::check::CheckReport;
use crate::provision::{self, Missing};
use crate::server_host::ServerHost;
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

fn inspect_at(
    candidate: &Candidate,
    place: ServerSide<'_>,
    version: &dyn Fn() -> Option<String>,
    cancelled: &dyn Fn() -> bool,
) -> Inspection {
    let mut spec = RequestSpec::of_contract(candidate);
    let workers = candidate.workers(1);
    let mut spoken = Protocol::VARIANTS.iter().copied().filter(|protocol| candidate.speaks(*protocol));
    let Some(first) = spoken.next() else {
        return Inspection::NotStarted(format!(
            "{} cannot be checked: \"protocols\" of its recipe has none for how it is started here (h2c and http/1.1 without TLS, h2 and http/1.1 with it).",
            candidate.label()
        ));
    };
    let beside = services::Place { side: place, cpus: &[], shares: false };
    let services = services::bring_up(candidate, &[], beside, &mut Vec::new(), cancelled);
    let started = services.and_then(|up| {
        let started = start(candidate, &spec, place, (workers, &[]), first, &services::ports(&up), cancelled);
        started.map(|(running, endpoint)| (running, endpoint, up))
    });
    // The services end last.
    let (mut running, endpoint, _services) = match started {
        Ok(started) => started,
        Err(
            NotUp::NoFolder(why)
            | NotUp::NotStarted(why)
            | NotUp::Late(why)
            | NotUp::Stranger(why, _)
            | NotUp::Cancelled(why, _),
        ) => return Inspection::NotStarted(why),
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
    Inspection::Checked { version: version(), startup, report, leftovers, killed }
}
