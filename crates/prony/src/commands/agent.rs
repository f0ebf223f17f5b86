//! `prony agent`: one of the agents of a fleet, started by a controller or standing by in a pool.

use prony_fleet::allow::Bounds;
use prony_fleet::certificates::Certificates;
use prony_fleet::keys::Keys;
use prony_fleet::pool_agent::{PoolAgent, wait_in_pool};
use prony_fleet::session::Side;

use super::fleet::{fleet_key, login};
use super::server_host;
use crate::cli::{AgentArguments, AgentRole};
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) fn run(arguments: &AgentArguments, printer: &Printer) -> Result<(), Failure> {
    if arguments.role == AgentRole::Server {
        if arguments.pool.is_some() {
            return Err(Failure::usage(
                "An agent with --role server is started by its controller over ssh: leave --pool out.",
            ));
        }
        return server_host::serve_controller(arguments.allow_commands);
    }
    let say = |text: &str| printer.note(text);
    let Some(pool) = &arguments.pool else {
        return prony_fleet::run_agent(&say).map_err(Failure::not_measured);
    };
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
    };
    let standing = PoolAgent {
        pool: pool.parse().map_err(Failure::usage)?,
        login: login(&arguments.nats),
        keys: Keys::read(&fleet_key(arguments.key.as_ref(), Side::Agent)?, Side::Agent)
            .map_err(Failure::usage)?,
        bounds: Bounds {
            allow: arguments.allow.clone(),
            rate_max: arguments.max_rate,
            connections_max: arguments.max_connections,
            certificates: arguments.allow_cert.clone().map_or(Certificates::None, Certificates::In),
            lists: arguments.lists.clone().map_or(Certificates::None, Certificates::In),
            ..Bounds::default()
        },
        name,
        once: arguments.once,
    };
    if arguments.allow.is_empty() {
        printer.note(
            "This agent refuses every load: name the targets that it may load with --allow HOST[:PORT].",
        );
    }
    wait_in_pool(&standing, &say).map_err(Failure::not_measured)
}
