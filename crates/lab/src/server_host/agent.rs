//! The agent's end: it does what it is told, one thing at a time, and ends with its controller.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use prony_host::bench_lock::{self, BenchLock};
use prony_host::pins::{self, PinnedProcess};
use prony_host::{cpus, interface_of, state};
use prony_model::Tool;
use prony_model::rfc3339;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::agent_link::AgentLink;
use super::message::{
    FromAgent, Greeted, Greeting, Installed, Listening, Named, Request, ServiceStarted, Started,
};
use super::{SERVERS_MAX, SampledServer, Seen};
use crate::bench::services::{self, Place};
use crate::bench::{RunningServer, ServerSide, found_here};
use crate::candidate::{Candidate, Layout, Listens};
use crate::catalogue::Catalogue;
use crate::container::Engine;
use crate::doctor::{self, Asked, Finding, Tree};
use crate::experiment::CORES_MAX;
use crate::provision;
use crate::sample::{Sampler, Watched, WholeHost, can_limit, parse_size};
use crate::service::{Service, check, check_told, port_name};
use crate::supervise::{self, Running, Supervision, prepare};
use crate::watch::WatchedServer;

const CALLS_MAX: usize = 4;
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Whether it starts commands, too, and not only its catalogue's recipes.
    pub allow_commands: bool,
    pub reached_by: Option<Ipv4Addr>,
    pub root: PathBuf,
    pub supervision: Supervision,
    pub lock: PathBuf,
}

pub fn serve(
    from_controller: impl Read + Send + 'static,
    to_controller: impl Write + Send + 'static,
    options: AgentOptions,
) -> Result<(), String> {
    let link = Arc::new(AgentLink::new(to_controller));
    let (calls, called) = sync_channel(CALLS_MAX);
    let reads = Arc::clone(&link);
    let thread = thread::Builder::new().name("controller".to_owned());
    let reading = thread.spawn(move || reads.read(BufReader::new(from_controller), &calls));
    let reading = reading.map_err(|e| format!("No thread could be started: {e}."))?;
    let mut agent = Agent {
        link: Arc::clone(&link),
        options,
        greeted: None,
        servers: BTreeMap::new(),
        started: 0,
        cpus: cpus::allowed(),
        server_cpus: Vec::new(),
        run: None,
    };
    agent.serve(&called);
    drop(agent);
    // Where the lease is over, the pipe may still be there.
    if link.has_ended() {
        return reading.join().unwrap_or_else(|_| Err("Reading what the controller says failed.".to_owned()));
    }
    Ok(())
}

struct Agreed {
    address: Ipv4Addr,
    interface: Option<String>,
    layout: Layout,
    catalogue: Catalogue,
    engine: Option<Arc<Engine>>,
    memory_bytes: Option<u64>,
}

/// A server that runs. Dropping it stops it, where this agent started it.
struct Served {
    watched: Watched,
    sampler: Option<Sampler>,
    cpus: Vec<u32>,
    startup: Duration,
    has_died: bool,
    running: Option<Running>,
}

struct Agent {
    link: Arc<AgentLink>,
    options: AgentOptions,
    greeted: Option<Agreed>,
    servers: BTreeMap<u64, Served>,
    started: u64,
    cpus: Vec<u32>,
    server_cpus: Vec<u32>,
    /// While a run is served: no other one runs, and this process keeps off the servers' CPUs.
    run: Option<(BenchLock, PinnedProcess)>,
}

impl Agent {
    fn serve(&mut self, called: &Receiver<(u64, Request)>) {
        loop {
            match called.recv_timeout(LOOK_EVERY) {
                Ok((call, request)) => {
                    let answer = self.answer(request);
                    // Before it: who hears the answer knows of every death until then.
                    self.tell_deaths();
                    self.link.answer(call, answer);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.link.is_over() {
                return;
            }
            self.tell_deaths();
        }
    }

    fn tell_deaths(&mut self) {
        for (number, server) in self.servers.iter_mut().filter(|(_, server)| !server.has_died) {
            if let Some(death) = server.running.as_mut().and_then(Running::died) {
                server.has_died = true;
                self.link.say(&FromAgent::Died(*number, death));
            }
        }
    }

    fn answer(&mut self, request: Request) -> Result<Box<RawValue>, String> {
        match request {
            Request::Greet(greeting) => json(&self.greet(&greeting)?),
            Request::Begin { experiment, server_cpus } => json(&self.begin(&experiment, server_cpus)?),
            Request::Find(candidate) => {
                json(&found_here(&self.candidate(&candidate)?, &self.agreed()?.layout))
            }
            Request::Start { candidate, workers, cpus, services } => {
                json(&self.start(&candidate, (workers, cpus), &services)?)
            }
            Request::StartService { service, of, told, cpus } => {
                json(&self.start_service(&service, of.as_ref(), &told, cpus)?)
            }
            Request::Reset { reset, services, cpus } => {
                self.allows("The reset")?;
                check_told(&services)?;
                self.has_room_on(&cpus)?;
                let supervision = self.supervision()?;
                let side = ServerSide::Here(&self.agreed()?.layout, &supervision);
                let place = Place { side, cpus: &cpus, shares: false };
                json(&services::reset(&reset, place, services, &|| self.link.is_to_end()))
            }
            Request::Watch(named) => json(&self.watch(&named)?),
            Request::Sample(server) => json(&self.sample(server)?),
            Request::Measure(server, window) => json(&self.measure(server, window)?),
            Request::Stop(server) => {
                let mut server = self.servers.remove(&server).ok_or_else(unknown)?;
                json(&server.running.as_mut().map(Running::stop).unwrap_or_default())
            }
            Request::PlanInstall(all) => {
                let plan = provision::plan(&self.candidates(&all)?, &self.agreed()?.layout);
                json(&(plan.describe(), plan.is_empty()))
            }
            Request::Install(all) => json(&self.install(&all)?),
            Request::Examine => json(&self.examine()?),
            Request::Echo => json(&echo(self.agreed()?.address)?),
        }
    }

    fn agreed(&self) -> Result<&Agreed, String> {
        self.greeted.as_ref().ok_or_else(|| "The controller has not said who it is.".to_owned())
    }

    fn greet(&mut self, greeting: &Greeting) -> Result<Greeted, String> {
        let own = Tool::this().version;
        if greeting.version != own {
            return Err(format!(
                "the agent there is Prony {own} and this is {}: both must be the same.",
                greeting.version
            ));
        }
        let address = greeting.address.or(self.options.reached_by).ok_or(
            "the address that servers are to listen on is not known: write it, ssh:HOST=ADDRESS.".to_owned(),
        )?;
        if TcpListener::bind((address, 0)).is_err() {
            return Err(format!(
                "{address} is not an address of that machine: write one that servers can listen on, \
                 ssh:HOST=ADDRESS."
            ));
        }
        let memory = greeting.memory.as_deref();
        let native = greeting.runtime == "native";
        let engine = (!native).then(|| Engine::find(&greeting.runtime, memory)).transpose()?.map(Arc::new);
        let memory_bytes = match memory.filter(|_| native) {
            None => None,
            Some(size) => {
                can_limit()?;
                Some(parse_size(size)?)
            }
        };
        let root = &self.options.root;
        state::trusted(root).map_err(|why| format!("{why}: what is installed in it would run as you."))?;
        let layout = Layout::new(root)
            .map_err(|e| format!("the folder {} there cannot be used: {e}.", root.display()))?;
        let interface = interface_of(address);
        self.greeted = Some(Agreed {
            address,
            interface: interface.clone(),
            layout,
            catalogue: Catalogue::load(&[]),
            engine,
            memory_bytes,
        });
        Ok(Greeted { host: prony_host::read(), address, interface })
    }

    fn begin(&mut self, experiment: &str, server_cpus: Vec<u32>) -> Result<Vec<String>, String> {
        self.agreed()?;
        let (path, since) = (&self.options.lock, rfc3339(SystemTime::now()));
        let lock = bench_lock::take(path, experiment, &since, Some(Duration::ZERO), &|| false, &mut |_| ());
        let lock = lock.map_err(|why| why.to_string())?;
        self.server_cpus = server_cpus;
        self.run = Some((lock, PinnedProcess::to(&self.other_cpus())));
        Ok(supervise::clean_up(&self.options.supervision.root))
    }

    fn candidate(&self, named: &Named) -> Result<Candidate, String> {
        let agreed = self.agreed()?;
        match named {
            Named::Recipe { label, recipe } => {
                let candidate = Candidate::parse(label, &agreed.catalogue)?;
                let own = candidate.server().map(|server| server.recipe_hash(agreed.engine.is_some()));
                if own.as_ref() != Some(recipe) {
                    return Err(format!(
                        "the recipe of {label} differs between the two hosts: copy prony/servers to both."
                    ));
                }
                Ok(match &agreed.engine {
                    Some(engine) => candidate.in_container(engine),
                    None => candidate,
                })
            }
            Named::Command { name, command, tls } => {
                self.allows(name)?;
                Candidate::command(name, command, Listens { tls: *tls, ..Listens::default() })
            }
        }
    }

    fn candidates(&self, all: &[Named]) -> Result<Vec<Candidate>, String> {
        all.iter().map(|named| self.candidate(named)).collect()
    }

    fn other_cpus(&self) -> Vec<u32> {
        self.cpus.iter().copied().filter(|cpu| !self.server_cpus.contains(cpu)).collect()
    }

    /// Refuses a command of the controller's own where only the catalogue's servers may be started.
    fn allows(&self, what: &str) -> Result<(), String> {
        match self.options.allow_commands {
            true => Ok(()),
            false => Err(format!(
                "{what} is a command, and only servers of the catalogue are started there without --allow-commands."
            )),
        }
    }

    fn has_room_on(&self, cpus: &[u32]) -> Result<(), String> {
        if self.servers.len() >= SERVERS_MAX {
            return Err(format!("{SERVERS_MAX} servers and services at once at most."));
        }
        match cpus.iter().find(|cpu| !self.cpus.contains(cpu)) {
            Some(cpu) => Err(format!("CPU {cpu} is not one that servers may use there.")),
            None => Ok(()),
        }
    }

    /// How what is started here is supervised: by guards that keep off the servers' CPUs.
    fn supervision(&self) -> Result<Supervision, String> {
        let (guard_cpus, memory_bytes) = (self.other_cpus(), self.agreed()?.memory_bytes);
        Ok(Supervision { guard_cpus, memory_bytes, ..self.options.supervision.clone() })
    }

    fn start_service(
        &mut self,
        service: &Service,
        of: Option<&Named>,
        told: &[(String, u16)],
        cpus: Vec<u32>,
    ) -> Result<ServiceStarted, String> {
        let of = of.map(|named| self.candidate(named)).transpose()?;
        let is_of_recipe = |of: &Candidate| of.recipe().is_some_and(|own| own.services.contains(service));
        if !of.as_ref().is_some_and(is_of_recipe) {
            self.allows(&format!("The service {}", service.name))?;
            let ports: Vec<String> = told.iter().map(|(name, _)| port_name(name)).collect();
            let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
            check(std::slice::from_ref(service), &ports)?;
        }
        check_told(told)?;
        self.has_room_on(&cpus)?;
        let supervision = self.supervision()?;
        let side = ServerSide::Here(&self.agreed()?.layout, &supervision);
        let place = Place { side, cpus: &cpus, shares: false };
        let (port, running) =
            match services::start(service, of.as_ref(), place, told, &|| self.link.is_to_end()) {
                Ok((RunningServer::Here(running), port)) => (port, running),
                Ok(_) => return Err(unknown()),
                Err(not_up) => return Ok(Err(not_up)),
            };
        let number = self.serves(Served {
            watched: running.watched(),
            sampler: None,
            cpus,
            startup: Duration::ZERO,
            has_died: false,
            running: Some(*running),
        });
        Ok(Ok((number, port)))
    }

    fn start(
        &mut self,
        named: &Named,
        (workers, cpus): (u32, Vec<u32>),
        services: &[(String, u16)],
    ) -> Result<Started, String> {
        check_told(services)?;
        let candidate = self.candidate(named)?;
        let agreed = self.agreed()?;
        if !(1..=CORES_MAX).contains(&workers) {
            return Err(format!("A server has 1 to {CORES_MAX} workers."));
        }
        self.has_room_on(&cpus)?;
        let settings = (workers, &*cpus);
        let prepared = match prepare(&candidate, &agreed.layout, agreed.address, settings, services) {
            Ok(prepared) => prepared,
            Err(not_up) => return Ok(Err(not_up)),
        };
        let supervision = self.supervision()?;
        let link = &self.link;
        let listening = Listening { port: prepared.port, certificate: prepared.certificate_pem() };
        let mut listening = Some(listening);
        let mut ready = || {
            // All of its processes run by now.
            if let Some(listening) = listening.take() {
                link.say(&FromAgent::Listening(listening));
            }
            link.ready_ns() > 0
        };
        let running = match prepared.start(&supervision, &mut ready, &|| link.is_to_end()) {
            Ok(running) => running,
            Err(not_up) => return Ok(Err(not_up)),
        };
        let startup = running.startup_until(link.ready_ns());
        let startup_ns = u64::try_from(startup.as_nanos()).unwrap_or(u64::MAX);
        let watched = running.watched();
        let number = self.serves(Served {
            watched,
            sampler: None,
            cpus,
            startup,
            has_died: false,
            running: Some(running),
        });
        Ok(Ok((number, startup_ns)))
    }

    fn serves(&mut self, server: Served) -> u64 {
        self.started += 1;
        self.servers.insert(self.started, server);
        self.started
    }

    fn watch(&mut self, named: &str) -> Result<u64, String> {
        let SampledServer::Here(watched) = WatchedServer::find(named)?.sampled() else {
            return Err(unknown());
        };
        if self.servers.len() >= SERVERS_MAX {
            return Err(format!("{SERVERS_MAX} servers at once at most."));
        }
        let (cpus, startup) = (Vec::new(), Duration::ZERO);
        let server = Served { watched, sampler: None, cpus, startup, has_died: false, running: None };
        Ok(self.serves(server))
    }

    fn sample(&mut self, number: u64) -> Result<(), String> {
        let others = self.other_cpus();
        let interface = self.agreed()?.interface.clone().unwrap_or_default();
        let server = self.servers.get_mut(&number).ok_or_else(unknown)?;
        let cores = if server.cpus.is_empty() { self.cpus.clone() } else { server.cpus.clone() };
        let host = WholeHost::reached_by(&interface);
        let sampler = Sampler::start(server.watched.clone(), &others, &cores, host);
        server.sampler = Some(sampler.map_err(|e| format!("the server could not be sampled: {e}."))?);
        Ok(())
    }

    fn measure(&mut self, number: u64, window: Option<(u64, u64)>) -> Result<Seen, String> {
        let server = self.servers.get_mut(&number).ok_or_else(unknown)?;
        let sampler = server.sampler.take().ok_or("that server is not sampled.")?;
        let samples = sampler.finish();
        let Some((start_ns, end_ns)) = window.filter(|(start, end)| start <= end) else {
            return Ok(Seen::default());
        };
        Ok(Seen {
            server: samples.window(start_ns, end_ns, server.startup, &server.cpus),
            life: samples.changes(end_ns).into(),
        })
    }

    fn examine(&self) -> Result<Vec<Finding>, String> {
        let (tree, host) = (Tree::of_this_machine(), prony_host::read());
        let pins = pins::split(&host.cpus_allowed, 1)?;
        let asked = Asked { debug_build: false, load_is_elsewhere: true, ..Asked::of(&host, &pins) };
        let mut findings = doctor::look(&tree, &asked);
        findings.extend(self.agreed()?.interface.iter().flat_map(|name| doctor::network(&tree, name)));
        Ok(doctor::sorted(findings))
    }

    fn install(&self, all: &[Named]) -> Result<Installed, String> {
        let (agreed, candidates) = (self.agreed()?, self.candidates(all)?);
        let plan = provision::plan(&candidates, &agreed.layout);
        let cancelled = || self.link.is_to_end();
        self.link.installs(true);
        let mut say = |text: &str| self.link.say(&FromAgent::Progress(text.to_owned()));
        let installed = provision::install(&plan, &candidates, &agreed.layout, &cancelled, &mut say);
        self.link.installs(false);
        Ok(installed.into_iter().map(|(label, done)| (label, done.err())).collect())
    }
}

/// Sends back each byte of one connection to a port of this address.
fn echo(address: Ipv4Addr) -> Result<u16, String> {
    let refused = |e: std::io::Error| format!("no port could be listened on there: {e}.");
    let listener = TcpListener::bind((address, 0)).map_err(refused)?;
    let port = listener.local_addr().map_err(refused)?.port();
    let thread = thread::Builder::new().name("echo".to_owned());
    let body = move || {
        let Ok((mut peer, _)) = listener.accept() else { return };
        let _ = peer.set_nodelay(true);
        let mut byte = [0];
        while peer.read_exact(&mut byte).is_ok() && peer.write_all(&byte).is_ok() {}
    };
    thread.spawn(body).map_err(refused)?;
    Ok(port)
}

fn json(answer: &impl Serialize) -> Result<Box<RawValue>, String> {
    to_raw_value(answer).map_err(|e| e.to_string())
}

fn unknown() -> String {
    "there is no such server.".to_owned()
}
