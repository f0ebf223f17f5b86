//! Services of trials: up before their candidate, sampled beside it, down after it; and what resets them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use prony_model::plan::Protocol;
use prony_model::secret::names_asked_for;
use prony_model::server::ServiceSamples;
use prony_model::target::Target;
use prony_model::units::show_duration;
use rustix::process::geteuid;

use super::request_spec::RequestSpec;
use super::running_server::RunningServer;
use super::start::ServerSide;
use crate::candidate::{Candidate, Layout};
use crate::check::Route;
use crate::launch::{LaunchContext, LaunchSpec, Work, beside, done, run_dir};
use crate::sample::SampledService;
use crate::server_host::RemoteServer;
use crate::service::{Reset, Service};
use crate::supervise::{
    NotUp, Running, StartError, StartErrorKind, StopReport, Supervision, free_port, run_folder,
};

/// One connect: the port is this machine's.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) side: ServerSide<'a>,
    /// Their CPUs; empty: any.
    pub(crate) cpus: &'a [u32],
    pub(crate) shares: bool,
}

/// A service that is up. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Up {
    service: Service,
    /// The candidate whose recipe asks for it; `None`: the run does.
    of: Option<String>,
    running: RunningServer,
    port: u16,
    told: Vec<(String, u16)>,
    cpus: Vec<u32>,
    shares: bool,
}

/// Brings up what a candidate needs, in order: what the run asks for, and what its recipe does besides. Those of `kept`
/// that still run are taken from there, and come back where one does not come up.
pub(super) fn bring_up(
    candidate: &Candidate,
    asked: &[Service],
    place: Place<'_>,
    kept: &mut Vec<Up>,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Up>, NotUp> {
    kept.retain_mut(|up| up.running.died().is_none());
    let of_recipe = candidate.server().map_or(&[][..], |server| &server.recipe.services);
    let besides = of_recipe.iter().filter(|own| asked.iter().all(|service| service.name != own.name));
    let wanted = asked.iter().map(|service| (service, None));
    let mut all: Vec<Up> = Vec::new();
    for (service, of) in wanted.chain(besides.map(|service| (service, Some(candidate)))) {
        let is_it = |up: &Up| up.service == *service && up.of.as_deref() == of.map(Candidate::label);
        // What runs on is told only of what runs on, and is started again where one of those was.
        let heard = all.iter().filter(|up| up.service.keep || !service.keep);
        let told: Vec<_> = heard.map(|up| (up.service.name.clone(), up.port)).collect();
        let known = kept.iter().position(is_it).map(|at| kept.remove(at)).filter(|up| up.told == told);
        let up = match known {
            Some(up) => Ok(up),
            None => start(service, of, place, &told, cancelled).map(|(running, port)| {
                let (service, of) = (service.clone(), of.map(|of| of.label().to_owned()));
                Up { service, of, running, port, told, cpus: place.cpus.to_vec(), shares: place.shares }
            }),
        };
        match up {
            Ok(up) => all.push(up),
            Err(why) => {
                kept.extend(all.into_iter().filter(|up| up.service.keep));
                return Err(why);
            }
        }
    }
    Ok(all)
}

#[derive(Debug, Default)]
pub struct ContractServices(Vec<Up>);

impl ContractServices {
    /// Starts those that the candidate's routes need and that are not up. Of those that do not start, why.
    pub(super) fn bring_up(
        &mut self,
        candidate: &Candidate,
        place: Place<'_>,
        cancelled: &dyn Fn() -> bool,
    ) -> Vec<(&'static str, String)> {
        self.0.retain_mut(|up| up.running.died().is_none());
        let needed: BTreeSet<&str> = candidate.routes().iter().filter_map(|route| route.needs()).collect();
        let missing = needed.into_iter().filter(|name| self.0.iter().all(|up| up.name() != *name));
        let mut not_up = Vec::new();
        for name in missing.collect::<Vec<_>>() {
            let started =
                Service::contract(name, &BTreeMap::new()).map_err(NotUp::NotStarted).and_then(|service| {
                    let (running, port) = start(&service, None, place, &[], cancelled)?;
                    let cpus = place.cpus.to_vec();
                    Ok(Up { service, of: None, running, port, told: Vec::new(), cpus, shares: place.shares })
                });
            match started {
                Ok(up) => self.0.push(up),
                Err(why) => not_up.push((name, why.said())),
            }
        }
        not_up
    }

    pub(super) fn ports(&self) -> Vec<(String, u16)> {
        ports(&self.0)
    }
}

pub(super) fn ports(services: &[Up]) -> Vec<(String, u16)> {
    services.iter().map(|up| (up.service.name.clone(), up.port)).collect()
}

/// Starts a service, of a candidate's recipe or of the run, beside those that it is told of; and its port.
pub(crate) fn start(
    service: &Service,
    of: Option<&Candidate>,
    place: Place<'_>,
    told: &[(String, u16)],
    cancelled: &dyn Fn() -> bool,
) -> Result<(RunningServer, u16), NotUp> {
    let (layout, supervision) = match place.side {
        ServerSide::Here(layout, supervision) => (layout, supervision),
        ServerSide::There(host) => {
            let beside = (told, place.cpus);
            let (server, port) = RemoteServer::start_service(host, service, of, beside, cancelled)?;
            return Ok((RunningServer::There(Arc::new(server)), port));
        }
    };
    let (address, label) = (Ipv4Addr::LOCALHOST, format!("service {}", service.name));
    let failed = |why: String| NotUp::NotStarted(format!("{label} did not start: {why}"));
    let port =
        free_port(address).ok_or_else(|| failed("no port is free: end what holds them.".to_owned()))?;
    let context = context(port, told.to_vec())?;
    let mut commands = vec![(Work::Serves, service.command.as_str())];
    let (url, done) = (service.ready_url().map(|url| context.replace(url)), done(&context.run_dir));
    let (probe, waits) = match (&service.ready, &url) {
        (None, _) => (None, format!("nothing accepted connections on its port {port}.")),
        (Some(_), Some(url)) => (None, format!("{url} gave no response of 2xx or 3xx.")),
        (Some(command), None) => {
            (Some(command), "the command by which it is ready did not succeed.".to_owned())
        }
    };
    commands.extend(probe.map(|command| (Work::Probes, command.as_str())));
    let asks = match &url {
        None => None,
        Some(url) => Some(asking(url).map_err(|why| {
            run_dir::remove(&context.run_dir);
            failed(why)
        })?),
    };
    let mut ready = || match (&asks, probe) {
        (Some(asks), _) => asks(),
        (None, Some(_)) => done.exists(),
        (None, None) => {
            TcpStream::connect_timeout(&SocketAddr::from((address, port)), CONNECT_TIMEOUT).is_ok()
        }
    };
    let of_recipe = of.map(|candidate| (candidate, layout));
    let spec = launched(&label, &commands, of_recipe, &context, service.ready_timeout, place.cpus)?;
    let started = Running::start(&spec, &unlimited(supervision), &mut ready, cancelled);
    let mut running = started.map_err(|why| {
        said(why, |kind| match kind {
            StartErrorKind::Died(how) => format!("{how} before it was ready."),
            StartErrorKind::NotReady(after) => {
                format!("was not ready within {}: {waits}", show_duration(*after))
            }
            other => other.to_string(),
        })
    })?;
    if let Some(who) = running.stranger_on(address, port) {
        let why = format!(
            "{label}: {who} listens on its port {port} and is not below its command: another program took the port, or the \
             command hands its work to one that runs already, as docker does. Give the program itself."
        );
        return Err(NotUp::Stranger(why, running.stop().leftovers));
    }
    Ok((RunningServer::Here(Box::new(running)), port))
}

fn asking(url: &str) -> Result<impl Fn() -> bool + use<>, String> {
    let target = Target::given(url).map_err(|why| why.to_string())?;
    let candidate = Candidate::url("service", target.clone())?;
    let spec = RequestSpec::of_server(&candidate, Route::Text, &[]);
    let endpoint = spec.endpoint(target, None, None, Protocol::Http1)?;
    Ok(move || spec.ready(&endpoint).is_ok())
}

pub(crate) fn reset(
    reset: &Reset,
    place: Place<'_>,
    services: Vec<(String, u16)>,
    cancelled: &dyn Fn() -> bool,
) -> Result<(), NotUp> {
    let supervision = match place.side {
        ServerSide::Here(_, supervision) => supervision,
        ServerSide::There(host) => {
            return RemoteServer::reset(host, reset, (&services, place.cpus), cancelled);
        }
    };
    let context = context(0, services)?;
    let done = done(&context.run_dir);
    let commands = [(Work::Resets, reset.command.as_str())];
    let spec = launched("The reset", &commands, None, &context, reset.timeout, place.cpus)?;
    let run = Running::start(&spec, &unlimited(supervision), &mut || done.exists(), cancelled);
    run.map(drop).map_err(|why| {
        said(why, |kind| match kind {
            StartErrorKind::Died(how) => format!("{how}."),
            StartErrorKind::NotReady(after) => {
                format!("did not end within {}: give it longer by --reset-timeout.", show_duration(*after))
            }
            other => other.to_string(),
        })
    })
}

fn said(why: StartError, words: impl Fn(&StartErrorKind) -> String) -> NotUp {
    let kind = StartErrorKind::Said(words(&why.kind));
    match why.kind {
        StartErrorKind::Interrupted => NotUp::Cancelled(why.to_string(), why.log_tail),
        _ => NotUp::NotStarted(StartError { kind, ..why }.to_string()),
    }
}

fn unlimited(supervision: &Supervision) -> Supervision {
    Supervision { memory_bytes: None, ..supervision.clone() }
}

fn context(port: u16, services: Vec<(String, u16)>) -> Result<LaunchContext, NotUp> {
    let run_dir = run_folder(geteuid().is_root())?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Ok(LaunchContext { address, workers: 1, run_dir, services, hidden: names_asked_for() })
}

fn launched(
    label: &str,
    commands: &[(Work, &str)],
    of: Option<(&Candidate, &Layout)>,
    context: &LaunchContext,
    timeout: Duration,
    cpus: &[u32],
) -> Result<LaunchSpec, NotUp> {
    let mut spec = beside(label, commands, of, context, timeout).map_err(|why| {
        run_dir::remove(&context.run_dir);
        NotUp::NotStarted(format!("{label} did not start: {why}"))
    })?;
    spec.pin(cpus);
    Ok(spec)
}

impl Up {
    pub(super) fn is_kept(&mut self) -> bool {
        self.service.keep && self.running.died().is_none()
    }

    pub(super) fn died_beside(&mut self, candidate: &str) -> Option<String> {
        let death = self.running.died()?;
        Some(death.said_beside(&format!("service {}", self.service.name), candidate))
    }

    pub(super) fn name(&self) -> &str {
        &self.service.name
    }

    pub(super) fn stop(&mut self) -> StopReport {
        self.running.stop()
    }

    pub(super) fn sample(&self, client: &[u32]) -> std::io::Result<SampledService> {
        let (name, cpus, shares_cpus) = (self.service.name.clone(), self.cpus.clone(), self.shares);
        let known = ServiceSamples { name, cpus, shares_cpus, ..ServiceSamples::default() };
        SampledService::start(&self.running.sampled(), client, known)
    }
}
