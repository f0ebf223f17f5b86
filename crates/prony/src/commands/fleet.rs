//! `--fleet`, and `prony fleet`: what a fleet needs on this machine.

mod install;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use prony_fleet::pool::NatsLogin;
use prony_fleet::session::Side;
use prony_fleet::{Agents, Fleet, Setup, find_server, keys};
use prony_lab::bench::BenchSetup;
use prony_load::{Control, LoadError, Snapshot, addresses_of, resolve};
use prony_model::{Measurement, Plan};

use super::manifests;
use crate::cli::{FleetArguments, FleetCommand, FleetOptions, KeyArguments, NatsOptions};
use crate::failure::Failure;
use crate::printer::Printer;

/// How often a capacity's probe is repeated when an agent was lost in it.
const PROBES_AGAIN: u32 = 2;

fn user_folder(variable: &str, at_home: &str) -> Result<PathBuf, Failure> {
    let given = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(at_home));
    given
        .or(home)
        .ok_or_else(|| Failure::usage(format!("The environment has neither HOME nor {variable}: set HOME.")))
}

/// Where `prony fleet install` puts nats-server.
fn installed() -> Result<PathBuf, Failure> {
    let data = user_folder("XDG_DATA_HOME", ".local/share")?;
    Ok(data.join("prony/nats-server/nats-server"))
}

pub(crate) fn fleet_key(given: Option<&PathBuf>, side: Side) -> Result<PathBuf, Failure> {
    match given {
        Some(path) => Ok(path.clone()),
        None => Ok(key_folder()?.join(format!("{}.key", side.name()))),
    }
}

fn key_folder() -> Result<PathBuf, Failure> {
    Ok(user_folder("XDG_CONFIG_HOME", ".config")?.join("prony/fleet"))
}

pub(crate) fn login(options: &NatsOptions) -> NatsLogin {
    NatsLogin { nkey: options.nats_nkey.clone(), ca: options.nats_ca.clone() }
}

pub(crate) fn agents(options: &FleetOptions) -> Result<Option<Agents>, Failure> {
    let Some(text) = &options.fleet else {
        let alone = [
            ("--nats-ca", options.nats.nats_ca.is_some()),
            ("--nats-nkey", options.nats.nats_nkey.is_some()),
        ];
        return match alone.iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                Err(Failure::usage(format!("{flag} is for a fleet: give --fleet nats://… with it.")))
            }
            None => Ok(None),
        };
    };
    Agents::parse(text, options.agents).map(Some).map_err(Failure::usage)
}

/// Refuses `--agent-binary` where nobody would be given it: no fleet of ssh hosts, and no other host.
pub(crate) fn check_agent_binary(options: &FleetOptions, another_host: bool) -> Result<(), Failure> {
    let by_ssh = options.fleet.as_deref().is_some_and(|fleet| fleet.starts_with("ssh:"));
    if options.agent_binary.is_empty() || by_ssh || another_host {
        return Ok(());
    }
    Err(Failure::usage(
        "--agent-binary is for hosts that ssh reaches, and none is named: give --fleet ssh:…, --watch ssh:… or, of a bench, \
         --server-host ssh:… with it.",
    ))
}

pub(crate) fn flags(options: &FleetOptions) -> Vec<String> {
    let fleet = options.fleet.iter().map(|text| ["--fleet".to_owned(), text.clone()]);
    let count = options.agents.iter().map(|count| ["--agents".to_owned(), count.to_string()]);
    fleet.chain(count).flatten().collect()
}

/// Starts the fleet that `--fleet` names, if it does, for loads of the plan's target and of nothing else.
pub(crate) fn start(
    options: &FleetOptions,
    plan: &Plan,
    printer: &Printer,
) -> Result<Option<Fleet>, Failure> {
    let Some(agents) = agents(options)? else { return Ok(None) };
    prony_fleet::validate(plan, agents.count())?;
    // Agents of a pool may know the target by a name that this machine does not.
    let allowed = match agents {
        Agents::Pool(..) => addresses_of(plan).unwrap_or_default(),
        _ => addresses_of(plan)?,
    };
    if let Some(address) = of_each_machine(&agents, &allowed) {
        printer.note(&format!(
            "The target's address is {address}, which on each agent's host is that host itself: give an \
             address of this machine that they reach to load this one."
        ));
    }
    assemble(options, agents, &plan.cpus, allowed).map(Some)
}

/// The first of these addresses at which each agent would load its own machine, and none this one.
fn of_each_machine(agents: &Agents, addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let is_own = |ip: IpAddr| ip.is_unspecified() || ip.is_loopback();
    let mut own = addresses.iter().filter(|address| is_own(address.ip().to_canonical()));
    own.next().copied().filter(|_| !matches!(agents, Agents::Local(_)))
}

/// Starts these agents, which carry messages on these CPUs (empty: any) and may load these addresses.
fn assemble(
    options: &FleetOptions,
    agents: Agents,
    cpus: &[u32],
    allowed: Vec<SocketAddr>,
) -> Result<Fleet, Failure> {
    let own = std::env::current_exe().map_err(|e| {
        Failure::not_measured(format!("The path of this program could not be determined: {e}."))
    })?;
    let pool_key = match agents {
        Agents::Pool(..) => fleet_key(options.fleet_key.as_ref(), Side::Controller)?,
        _ => PathBuf::new(),
    };
    let setup = Setup {
        agents,
        flags: flags(options),
        own,
        installed: installed()?,
        agent_binaries: options.agent_binary.clone(),
        cpus: cpus.to_vec(),
        allowed,
        pool_key,
        login: login(&options.nats),
    };
    Fleet::start(setup).map_err(Failure::not_measured)
}

pub(crate) fn check_bench(agents: &Agents, setup: &BenchSetup) -> Result<(), Failure> {
    if setup.duet.is_some() {
        return Err(Failure::usage(
            "--duet applies two loads at once, and a fleet one: leave --duet or --fleet out.",
        ));
    }
    if let Some(address) = of_each_machine(agents, &addresses(setup)?) {
        return Err(Failure::usage(format!(
            "--fleet loads from other machines, and at {} each of them would load itself: give --server-host or a URL with an \
             address of the server that they reach, or --fleet local:N.",
            address.ip()
        )));
    }
    for plan in &setup.experiment.plans {
        let load = &plan.load;
        // As many as load where there are fewer connections than agents: see `Fleet::load`.
        let most = (load.connections / load.threads.max(1)).max(1);
        prony_fleet::validate(load, agents.count().min(most))?;
    }
    Ok(())
}

pub(crate) fn start_for_bench(
    options: &FleetOptions,
    agents: Agents,
    setup: &BenchSetup,
) -> Result<Fleet, Failure> {
    assemble(options, agents, &setup.pins.client, addresses(setup)?)
}

/// Where a bench's servers are reached, each once; port 0 stands for every port.
fn addresses(setup: &BenchSetup) -> Result<Vec<SocketAddr>, LoadError> {
    let address = setup.server_host.as_ref().map_or(Ipv4Addr::LOCALHOST, |host| host.address());
    let mut all = Vec::new();
    for candidate in &setup.candidates {
        match candidate.candidate.as_url() {
            Some(url) => all.extend(resolve(url)?),
            // Its port is known when it runs.
            None => all.push(SocketAddr::from((address, 0))),
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// A probe of a capacity: where an agent was lost, what is left is another load, so that it is repeated whole.
pub(crate) fn probe(
    fleet: &Fleet,
    plan: &Plan,
    control: &Control,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, LoadError> {
    whole(control, || fleet.load(plan, control, observe))
}

/// The first of these loads in which no agent was lost, of so many as a probe may take.
fn whole(
    control: &Control,
    mut load: impl FnMut() -> Result<Measurement, LoadError>,
) -> Result<Measurement, LoadError> {
    let mut again = 0;
    loop {
        let measured = load();
        let why = match &measured {
            Ok(measured) => {
                let lost = measured.fleet.as_ref().and_then(|fleet| fleet.lost.as_ref());
                lost.map(|lost| format!("the agent {} was lost: {}", lost.agent, lost.why))
            }
            Err(LoadError::AgentLost(why)) => Some(why.clone()),
            Err(_) => None,
        };
        let Some(why) = why.filter(|_| !control.stop_asked()) else { return measured };
        again += 1;
        if again > PROBES_AGAIN {
            return Err(LoadError::AgentLost(format!(
                "Agents were lost in {again} probes one after the other (in the last one {}). The search has \
                 no result: see why they were lost, then repeat it.",
                why.trim_end_matches('.')
            )));
        }
    }
}

pub(crate) fn run(arguments: &FleetArguments, printer: &Printer) -> Result<(), Failure> {
    let place = installed()?;
    match &arguments.command {
        FleetCommand::Key(arguments) => key(arguments, printer),
        FleetCommand::Manifests(arguments) => manifests::run(arguments, printer),
        FleetCommand::Status => status(&place, printer),
        FleetCommand::Install => {
            if find_server(&place).is_err() {
                printer.note(&format!("nats-server was installed from {}.", install::install(&place)?));
            }
            status(&place, printer)
        }
    }
}

fn key(arguments: &KeyArguments, printer: &Printer) -> Result<(), Failure> {
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => key_folder()?,
    };
    let refused = |e: std::io::Error| Failure::usage(format!("{} cannot be made: {e}.", folder.display()));
    std::fs::create_dir_all(&folder).map_err(refused)?;
    let (controller, agent) = (folder.join("controller.key"), folder.join("agent.key"));
    keys::make(&controller, &agent).map_err(Failure::usage)?;
    printer.out(&format!(
        "{}  for the machine that runs prony load (--fleet-key)\n{}  for every agent, and nobody else (prony \
         agent --key)\n",
        controller.display(),
        agent.display()
    ));
    Ok(())
}

fn status(place: &std::path::Path, printer: &Printer) -> Result<(), Failure> {
    let (path, version) = find_server(place).map_err(Failure::not_measured)?;
    printer.out(&format!("{}  nats-server {version}\n", path.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use prony_model::fleet::{FleetRecord, LostAgent};

    use super::*;

    fn measured(lost: bool, connections: u64) -> Measurement {
        let lost = lost.then(|| LostAgent {
            agent: "two".to_owned(),
            why: "it was gone".to_owned(),
            planned_ns: None,
        });
        let fleet = Some(FleetRecord { lost, ..FleetRecord::default() });
        let mut measured = Measurement { fleet, ..Measurement::default() };
        measured.run_total.connections = connections;
        measured
    }

    #[test]
    fn a_probe_that_lost_an_agent_is_repeated_whole_twice_at_most() {
        type Outcome = fn() -> Result<Measurement, LoadError>;
        let (good, cut): (Outcome, Outcome) = (|| Ok(measured(false, 1)), || Ok(measured(true, 2)));
        let gone: Outcome =
            || Err(LoadError::AgentLost("The agent two was lost before all had given a second.".to_owned()));
        let refused: Outcome = || Err(LoadError::Fleet("The load did not start.".to_owned()));
        let tried = |outcomes: [Outcome; 3], control: &Control| {
            let mut times = 0;
            let found = whole(control, || {
                times += 1;
                outcomes[times - 1]()
            });
            (times, found.map(|found| found.run_total.connections).map_err(|e| e.to_string()))
        };
        let control = Control::default();
        assert_eq!(tried([good, cut, cut], &control), (1, Ok(1)));
        assert_eq!(tried([cut, good, cut], &control), (2, Ok(1)));
        assert_eq!(tried([gone, cut, good], &control), (3, Ok(1)));
        for (outcomes, says) in [
            ([gone, gone, cut], "the agent two was lost: it was gone"),
            ([cut, cut, gone], "The agent two was lost before"),
        ] {
            let (times, why) = tried(outcomes, &control);
            let why = why.unwrap_err();
            assert!(
                times == 3 && why.contains("lost in 3 probes one after the other") && why.contains(says),
                "{why}"
            );
        }
        assert_eq!(tried([refused, good, good], &control), (1, Err("The load did not start.".to_owned())));
        // Who ends the search does not wait for another.
        control.stop();
        assert_eq!(tried([cut, good, good], &control), (1, Ok(2)));
    }
}
