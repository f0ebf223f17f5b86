//! Where a load's connections go, and where they come from.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::error::LoadError;
use crate::plan::{Plan, PlanError};

/// The other end of every connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// TCP, from these local addresses in turn, or from whichever the kernel chooses if there are none.
    Tcp { address: SocketAddr, sources: Vec<IpAddr> },
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { address, .. } => write!(f, "{address}"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Endpoint {
    /// The plan's: its Unix socket, or the first of its name's addresses that accepts a connection.
    pub(crate) fn of(plan: &Plan) -> Result<Endpoint, LoadError> {
        if let Some(path) = &plan.unix {
            let url = plan.target.display_url();
            let endpoint = Endpoint::Unix(path.clone());
            return match UnixStream::connect(path) {
                Ok(_) => Ok(endpoint),
                Err(e) => Err(LoadError::unreachable_by(&url, &endpoint, &e)),
            };
        }
        check_sources(&plan.sources)?;
        let address = resolve(plan)?;
        let same_family = |source: &&IpAddr| source.is_ipv4() == address.is_ipv4();
        let sources: Vec<IpAddr> = plan.sources.iter().filter(same_family).copied().collect();
        if sources.is_empty() && !plan.sources.is_empty() {
            return Err(LoadError::Plan(PlanError(format!(
                "--source has no address of the kind that {address} has: give IPv4 addresses for IPv4, IPv6 for IPv6."
            ))));
        }
        Ok(Endpoint::Tcp { address, sources })
    }
}

/// Every source must be an address of this machine, found out before the load and not by its failures.
fn check_sources(sources: &[IpAddr]) -> Result<(), PlanError> {
    for source in sources {
        TcpListener::bind((*source, 0)).map_err(|e| {
            PlanError(format!("--source {source} is no address of this machine that can be used: {e}."))
        })?;
    }
    Ok(())
}

fn resolve(plan: &Plan) -> Result<SocketAddr, LoadError> {
    let target = &plan.target;
    let addresses: Vec<SocketAddr> = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .map_err(|e| LoadError::Resolve { host: target.host.clone(), reason: e.to_string() })?
        .collect();
    let mut first_failure: Option<(SocketAddr, io::Error)> = None;
    for address in &addresses {
        // One address and connections that stay open: those will tell.
        if addresses.len() == 1 && plan.keepalive {
            return Ok(*address);
        }
        match TcpStream::connect_timeout(address, plan.timeout) {
            Ok(_) => return Ok(*address),
            Err(e) => first_failure = first_failure.or(Some((*address, e))),
        }
    }
    match first_failure {
        Some((address, e)) => Err(LoadError::unreachable_by(&target.display_url(), &address, &e)),
        None => Err(LoadError::Resolve {
            host: target.host.clone(),
            reason: "the name has no address".to_owned(),
        }),
    }
}
