//! `--fleet`, and `prony fleet`: what a fleet needs on this machine.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::Command;

use prony_fleet::{Agents, Fleet, find_server};
use prony_load::{Control, LoadError, Snapshot};
use prony_model::{Measurement, Plan};

use crate::cli::{FleetArguments, FleetCommand};
use crate::failure::Failure;
use crate::printer::Printer;

/// The nats-server that `prony fleet install` builds: the newest of the 2.12 line when this was written.
const NATS_VERSION: &str = "v2.12.2";
/// Its module.
const NATS_MODULE: &str = "github.com/nats-io/nats-server/v2";
/// The hash of the module's files, as go.sum has it: what is downloaded is held against it.
const NATS_SUM: &str = "h1:4TEQd0Y4zvcW0IsVxjlXnRso1hBkQl3TS0BI+SxgPhE=";
/// How often a capacity's probe is repeated when an agent was lost in it.
const PROBES_AGAIN: u32 = 2;

/// Where `prony fleet install` puts nats-server.
fn installed() -> Result<PathBuf, Failure> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| home.map(|home| home.join(".local/share")));
    let data =
        data.ok_or_else(|| Failure::usage("The environment has neither HOME nor XDG_DATA_HOME: set HOME."))?;
    Ok(data.join("prony/nats-server").join(NATS_VERSION).join("nats-server"))
}

/// Starts the fleet that `--fleet` names, for loads of the plan's target and of nothing else.
pub(crate) fn start(text: &str, plan: &Plan) -> Result<Fleet, Failure> {
    let agents: Agents = text.parse().map_err(Failure::usage)?;
    let Agents::Local(count) = agents;
    prony_fleet::check(plan, count)?;
    let own = std::env::current_exe()
        .map_err(|e| Failure::not_measured(format!("Where this program is could not be found out: {e}.")))?;
    let allowed = resolved(plan)?;
    Fleet::start(&agents, &own, &installed()?, allowed).map_err(Failure::not_measured)
}

fn resolved(plan: &Plan) -> Result<Vec<SocketAddr>, Failure> {
    let target = &plan.target;
    let addresses = (target.host.as_str(), target.port).to_socket_addrs();
    let reason = |e: std::io::Error| LoadError::Resolve { host: target.host.clone(), reason: e.to_string() };
    Ok(addresses.map_err(reason)?.collect())
}

/// A probe of a capacity: where an agent was lost, what is left is another load, so that it is repeated whole.
pub(crate) fn probe(
    fleet: &Fleet,
    plan: &Plan,
    control: &Control,
    observe: &mut dyn FnMut(&Snapshot),
) -> Result<Measurement, LoadError> {
    let mut again = 0;
    loop {
        let measured = fleet.load(plan, control, observe)?;
        let lost = measured.fleet.as_ref().and_then(|fleet| fleet.lost.as_ref());
        let Some(lost) = lost.filter(|_| !control.stop_asked()) else { return Ok(measured) };
        again += 1;
        if again > PROBES_AGAIN {
            return Err(LoadError::Fleet(format!(
                "Agents were lost in {again} probes in turn, the last one {}: {}. Nothing is concluded from such probes.",
                lost.agent, lost.why
            )));
        }
    }
}

pub(crate) fn run(arguments: &FleetArguments, printer: &Printer) -> Result<(), Failure> {
    let place = installed()?;
    match arguments.command {
        FleetCommand::Status => status(&place, printer),
        FleetCommand::Install => match find_server(&place) {
            Some(_) => status(&place, printer),
            None => {
                install(&place)?;
                status(&place, printer)
            }
        },
    }
}

fn status(place: &std::path::Path, printer: &Printer) -> Result<(), Failure> {
    let Some(path) = find_server(place) else {
        return Err(Failure::not_measured(
            "There is no nats-server on PATH: run `prony fleet install`, or install the package nats-server.",
        ));
    };
    let version = Command::new(&path).arg("--version").output();
    let version =
        version.map_err(|e| Failure::not_measured(format!("{} cannot be run: {e}.", path.display())))?;
    printer.out(&format!("{}  {}\n", path.display(), String::from_utf8_lossy(&version.stdout).trim()));
    Ok(())
}

/// Builds nats-server with Go, after its module's hash was held against ours.
fn install(place: &std::path::Path) -> Result<(), Failure> {
    let refused =
        |why: String| Failure::not_measured(format!("nats-server {NATS_VERSION} could not be built: {why}."));
    let folder = place.parent().ok_or_else(|| refused("there is no place for it".to_owned()))?;
    std::fs::create_dir_all(folder).map_err(|e| refused(e.to_string()))?;
    let module = format!("{NATS_MODULE}@{NATS_VERSION}");
    let sum = go(&["mod", "download", "-json", &module]).map_err(refused)?;
    let downloaded: serde_json::Value = serde_json::from_str(&sum).map_err(|e| refused(e.to_string()))?;
    let got = downloaded.get("Sum").and_then(serde_json::Value::as_str).unwrap_or_default();
    if got != NATS_SUM {
        return Err(refused(format!("its files have the hash {got:?}, and not {NATS_SUM:?}")));
    }
    go_into(folder, &["install", &module]).map_err(refused)?;
    Ok(())
}

/// What Go says to these arguments.
fn go(arguments: &[&str]) -> Result<String, String> {
    go_with(Command::new("go").args(arguments))
}

fn go_into(folder: &std::path::Path, arguments: &[&str]) -> Result<String, String> {
    go_with(Command::new("go").args(arguments).env("GOBIN", folder))
}

fn go_with(command: &mut Command) -> Result<String, String> {
    let done = command
        .output()
        .map_err(|e| format!("go could not be run ({e}): install Go, or the package nats-server"))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!("go said: {}", said.lines().last().unwrap_or("nothing")))
}
