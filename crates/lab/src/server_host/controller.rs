//! The controller's end of the pipe to a server's host.

use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;

use prony_host::monotonic_ns;
use prony_model::Tool;
use prony_model::clock::Offset;
use prony_model::host::Host;
use prony_model::observed::ServerLife;
use serde::de::DeserializeOwned;

use super::link::{Link, read, said, strange};
use super::message::{Found, FromController, Greeted, Greeting, Installed, Named, Request};
use super::round_trips::RoundTrips;
use super::{BEAT_EVERY, Seen};
use crate::candidate::Candidate;
use crate::doctor::Finding;
use crate::supervise::{Death, StopReport};

pub struct Pipe {
    pub to_agent: Box<dyn Write + Send>,
    pub from_agent: Box<dyn Read + Send>,
    pub carrier: Box<dyn Send + Sync>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// As it was written: `ssh:HOST=ADDRESS`.
    pub given: String,
    /// The address that servers are to listen on, if not the one that ssh reached.
    pub address: Option<Ipv4Addr>,
    /// `native`, or the engine of their containers.
    pub runtime: String,
    pub memory: Option<String>,
}

pub struct ServerHost {
    link: Arc<Link>,
    wanted: Wanted,
    greeted: Greeted,
    first_rtt_ns: u64,
    /// Dropped last.
    _carrier: Box<dyn Send + Sync>,
}

impl ServerHost {
    pub fn greet(pipe: Pipe, wanted: Wanted) -> Result<ServerHost, String> {
        let link = Link::begin(pipe.to_agent, pipe.from_agent)?;
        let greeting = Greeting {
            version: Tool::this().version,
            address: wanted.address,
            runtime: wanted.runtime.clone(),
            memory: wanted.memory.clone(),
        };
        let greeted = link.call(Request::Greet(greeting));
        let greeted =
            greeted.and_then(|greeted: Greeted| as_wanted(greeted, wanted.address)).map_err(|why| {
                link.close();
                format!("No servers can be started on {}: {why}", wanted.given)
            })?;
        let first_rtt_ns = link.compare_clocks();
        Ok(ServerHost { link, wanted, greeted, first_rtt_ns, _carrier: pipe.carrier })
    }

    pub fn given(&self) -> &str {
        &self.wanted.given
    }

    pub fn address(&self) -> Ipv4Addr {
        self.greeted.address
    }

    pub fn host(&self) -> &Host {
        &self.greeted.host
    }

    pub fn record(&self) -> prony_model::server_host::ServerHost {
        prony_model::server_host::ServerHost {
            host: self.greeted.host.clone(),
            address: self.greeted.address.to_string(),
            interface: self.greeted.interface.clone(),
            control_rtt_ns: self.first_rtt_ns,
        }
    }

    pub fn lost(&self) -> Option<String> {
        self.link.lost()
    }

    /// Gets ready for a run: cleans up, returns what was done; no other bench runs there until this is dropped.
    pub(crate) fn begin(&self, experiment: &str, server_cpus: &[u32]) -> Result<Vec<String>, String> {
        let request = Request::Begin { experiment: experiment.to_owned(), server_cpus: server_cpus.to_vec() };
        self.link.call(request)
    }

    pub(crate) fn named(&self, candidate: &Candidate) -> Result<Named, String> {
        if let Some(server) = candidate.server() {
            let recipe = server.recipe_hash(self.wanted.runtime != "native");
            return Ok(Named::Recipe { label: candidate.label().to_owned(), recipe });
        }
        let command = candidate.command_line().filter(|_| candidate.unix().is_none());
        let command = command.ok_or_else(|| {
            format!(
                "{candidate} is not a server that {} can start and this machine can reach: name one of the \
                 catalogue, or a command that listens on {{host}} and {{port}}.",
                self.given()
            )
        })?;
        let (name, tls) = (candidate.label().to_owned(), candidate.tls());
        Ok(Named::Command { name, command: command.to_owned(), tls })
    }

    pub(crate) fn find(&self, candidate: &Candidate) -> Result<Found, String> {
        let mut found: Found = self.link.call(Request::Find(self.named(candidate)?))?;
        for missing in &mut found.missing {
            if missing.mend.starts_with("prony servers install") {
                missing.mend.push_str(&format!(" --server-host {}", self.given()));
            }
        }
        Ok(found)
    }

    pub fn plan_install(&self, candidates: &[Candidate]) -> Result<(String, bool), String> {
        self.link.call(Request::PlanInstall(self.all_named(candidates)?))
    }

    /// Installs candidates there, unless `cancelled`; `progress` hears of it in sentences.
    pub fn install(
        &self,
        candidates: &[Candidate],
        cancelled: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Installed, String> {
        self.call_until(Request::Install(self.all_named(candidates)?), cancelled, progress)
    }

    pub(super) fn call_until<T: DeserializeOwned>(
        &self,
        request: Request,
        cancelled: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<T, String> {
        let call = self.link.begin_call(request)?;
        let mut was_cancelled = false;
        loop {
            let answer = self.link.answer(call, BEAT_EVERY);
            self.link.progress().iter().for_each(|text| progress(text));
            match answer {
                Some(answer) => return read(&answer?),
                None if cancelled() && !was_cancelled => {
                    was_cancelled = true;
                    self.link.say(&FromController::Cancel);
                }
                None => {}
            }
        }
    }

    fn all_named(&self, candidates: &[Candidate]) -> Result<Vec<Named>, String> {
        candidates.iter().map(|candidate| self.named(candidate)).collect()
    }

    pub fn examine(&self) -> Result<Vec<Finding>, String> {
        let mut findings: Vec<Finding> = self.link.call(Request::Examine)?;
        // Nothing of it is set by this machine.
        findings.iter_mut().for_each(|finding| finding.settings.clear());
        Ok(findings)
    }

    pub fn round_trips(&self) -> Result<RoundTrips, String> {
        let port: u16 = self.link.call(Request::Echo)?;
        RoundTrips::measure((self.address(), port).into())
    }

    /// Ends sampling it: what was seen in a window of this machine's clock, if there was one.
    pub(super) fn measure(&self, server: u64, window: Option<(u64, u64)>) -> Result<Seen, String> {
        let offset = self.offset().ok_or("the clocks were not compared")?;
        let theirs = window.map(|(start, end)| (offset.to_theirs(start), offset.to_theirs(end)));
        let seen = self.link.call_raw(Request::Measure(server, theirs))?;
        let mut seen: Seen = serde_json::from_str(seen.get()).map_err(|_| strange())?;
        if let Some(server) = &seen.server {
            server
                .check()
                .map_err(|why| format!("its agent sent impossible figures of the server: {why}."))?;
        }
        if let Some(host) = seen.server.as_mut().and_then(|server| server.host.as_mut()) {
            host.clock_bound_ns = offset.bound_ns;
        }
        // The rest of it is this machine's to say.
        let ServerLife { mut replaced, mut lost, .. } = seen.life;
        for process in lost.iter_mut().chain(replaced.iter_mut().flat_map(|(a, b)| [a, b])) {
            process.name = said(&process.name);
        }
        seen.life = ServerLife { replaced, lost, ..ServerLife::default() };
        Ok(seen)
    }

    pub(super) fn stop(&self, server: u64) -> Result<StopReport, String> {
        self.link.call(Request::Stop(server))
    }

    pub(super) fn died(&self, server: u64) -> Option<Death> {
        self.link.died(server)
    }

    pub(super) fn offset(&self) -> Option<Offset> {
        self.link.offset(monotonic_ns())
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }
}

/// Who an agent says that it is; one that names another address than it was given would have loads go there.
fn as_wanted(greeted: Greeted, address: Option<Ipv4Addr>) -> Result<Greeted, String> {
    match address {
        Some(wanted) if wanted != greeted.address => Err(format!(
            "it names {} as its address, and {wanted} was given; nothing is sent there",
            greeted.address
        )),
        _ => Ok(Greeted { host: greeted.host.of_another(), ..greeted }),
    }
}

impl Drop for ServerHost {
    fn drop(&mut self) {
        self.link.close();
    }
}

impl std::fmt::Debug for ServerHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHost").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}
