//! `--server-host`: servers on another machine, which ssh reaches.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use prony_fleet::SshHost;
use prony_fleet::ssh_pipe;
use prony_host::{bench_lock, state};
use prony_lab::container::engines;
use prony_lab::sample::parse_size;
use prony_lab::server_host::{AgentOptions, Pipe, ServerHost, Wanted, serve};
use prony_lab::supervise::Supervision;
use prony_lab::watch::WatchedServer;

use super::servers::ROOT;
use crate::cli::RuntimeArguments;
use crate::failure::Failure;
use crate::printer::Printer;

/// The host that `--server-host` names, or an experiment where that does not, with an agent on it: this program, or of
/// `agent_binaries` the one for its architecture. `None`: this machine.
pub(crate) fn connect(
    runtime: &RuntimeArguments,
    agent_binaries: &[PathBuf],
    of_experiment: Option<&str>,
    printer: &Printer,
) -> Result<Option<Arc<ServerHost>>, Failure> {
    let host = match (&runtime.server_host, of_experiment) {
        (Some(given), _) => reach("--server-host", given, runtime, agent_binaries)?,
        (None, Some(given)) => {
            parsed("server_host", given)?;
            // A file may be somebody else's; who may log in where is the user's to say.
            let does = format!(
                "The experiment starts its servers on {given}: Prony logs in there by ssh with your keys and copies itself there"
            );
            if !printer.confirm(&format!("{does}. Go on?")) {
                return Err(Failure::usage(format!(
                    "{does}. If that is what you want, say so: --server-host {given}."
                )));
            }
            reach("server_host", given, runtime, agent_binaries)?
        }
        (None, None) => return Ok(None),
    };
    let is_named = host.given().contains('=');
    if !is_named {
        printer.note(&format!(
            "Loads connect to {}, the address that {} names.",
            host.address(),
            host.given()
        ));
    }
    Ok(Some(host))
}

fn parsed(flag: &str, given: &str) -> Result<SshHost, Failure> {
    let host = given.strip_prefix("ssh:").ok_or_else(|| {
        Failure::usage(format!(
            "{flag} names no host: write ssh:HOST, or ssh:HOST=ADDRESS with the IPv4 address of that host to \
             which loads connect."
        ))
    })?;
    SshHost::parse(host, flag).map_err(Failure::usage)
}

fn reach(
    flag: &str,
    given: &str,
    runtime: &RuntimeArguments,
    agent_binaries: &[PathBuf],
) -> Result<Arc<ServerHost>, Failure> {
    let host = parsed(flag, given)?;
    let address = match host.data {
        None => None,
        Some(IpAddr::V4(address)) => Some(address),
        Some(IpAddr::V6(address)) => {
            return Err(Failure::usage(format!(
                "{flag}: {address} is an IPv6 address, and recipes are written for IPv4 ({{host}}:{{port}}): write the \
                 host's IPv4 address."
            )));
        }
    };
    // What is wrong with the line is found before anybody is asked.
    engines(&runtime.runtime).map_err(Failure::usage)?;
    runtime.memory.as_deref().map(parse_size).transpose().map_err(Failure::usage)?;
    let own = std::env::current_exe().map_err(|e| {
        Failure::not_measured(format!("The path of this program could not be determined: {e}."))
    })?;
    let allows = if runtime.allow_commands { " --allow-commands" } else { "" };
    let arguments = format!("agent --role server{allows}");
    let pipe = ssh_pipe::open(own, agent_binaries, &host, &arguments).map_err(Failure::not_measured)?;
    let pipe = Pipe {
        to_agent: Box::new(pipe.to_agent),
        from_agent: Box::new(pipe.from_agent),
        carrier: Box::new(pipe.ssh),
    };
    let wanted = Wanted {
        given: given.to_owned(),
        address,
        runtime: runtime.runtime.clone(),
        memory: runtime.memory.clone(),
    };
    ServerHost::greet(pipe, wanted).map(Arc::new).map_err(Failure::not_measured)
}

pub(crate) fn examined(given: &str, agent_binaries: &[PathBuf]) -> Result<Arc<ServerHost>, Failure> {
    reach("--host", given, &RuntimeArguments::native(), agent_binaries)
}

/// The server of `--watch`: here by its process or its port, or `ssh:HOST:PORT`, for whose host these binaries are.
pub(crate) fn watched(named: &str, agent_binaries: &[PathBuf]) -> Result<WatchedServer, Failure> {
    let Some(there) = named.strip_prefix("ssh:") else {
        return WatchedServer::find(named).map_err(Failure::usage);
    };
    // What was given is not repeated: it may hold a password.
    let place = there.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let (host, port) = place.ok_or_else(|| {
        Failure::usage("--watch names no port: write ssh:HOST:PORT, where the server listens there.")
    })?;
    let host = reach("--watch", &format!("ssh:{host}"), &RuntimeArguments::native(), agent_binaries)?;
    WatchedServer::there(&host, &format!(":{port}")).map_err(Failure::usage)
}

/// `prony agent --role server`: serves the controller at the other end of standard input and output.
pub(crate) fn serve_controller(allow_commands: bool) -> Result<(), Failure> {
    // What is installed lies in the home folder, whatever folder sshd has put this program into.
    if let Some(home) = std::env::var_os("HOME") {
        std::env::set_current_dir(&home).map_err(|e| {
            Failure::not_measured(format!("The home folder {} cannot be entered: {e}.", home.display()))
        })?;
    }
    // sshd(8): the client's address and port, then this machine's.
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    let reached_by = connection.split_ascii_whitespace().nth(2).and_then(|address| address.parse().ok());
    let state = state::folder().map_err(Failure::not_measured)?;
    let options = AgentOptions {
        allow_commands,
        reached_by,
        root: PathBuf::from(ROOT),
        supervision: Supervision::new(&state, &[], None),
        lock: bench_lock::path(),
    };
    serve(std::io::stdin(), std::io::stdout(), options).map_err(Failure::not_measured)
}
