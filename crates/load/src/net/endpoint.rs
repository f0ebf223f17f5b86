//! Where a load's connections go, and where they come from.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use crate::error::LoadError;
use prony_model::{Plan, PlanError, Target};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// TCP, from these local addresses in turn, or from whichever the kernel chooses if there are none.
    Tcp {
        address: SocketAddr,
        sources: Vec<IpAddr>,
    },
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
    /// That of one of the plan's origins: the plan's Unix socket, or the first of the name's addresses that accepts; none but
    /// the `allowed` is tried.
    pub(crate) fn of(
        plan: &Plan,
        origin: &Target,
        allowed: Option<&[SocketAddr]>,
    ) -> Result<Endpoint, LoadError> {
        if let Some(path) = plan.unix.as_ref().filter(|_| allowed.is_none()) {
            let url = origin.display_url();
            let endpoint = Endpoint::Unix(path.clone());
            return match UnixStream::connect(path) {
                Ok(_) => Ok(endpoint),
                Err(e) => Err(LoadError::unreachable_by(&url, &endpoint, &e)),
            };
        }
        check_sources(&plan.sources)?;
        let mut addresses = resolve(origin)?;
        let resolved = addresses.first().copied();
        if let Some(allowed) = allowed {
            let is_of = |allowed: &SocketAddr, address: &SocketAddr| {
                allowed.ip() == address.ip() && (allowed.port() == 0 || allowed.port() == address.port())
            };
            addresses.retain(|address| allowed.iter().any(|allowed| is_of(allowed, address)));
            if addresses.is_empty() || plan.unix.is_some() {
                return Err(not_allowed(origin, resolved));
            }
        }
        let is_reached_from = |source: &IpAddr, address: &SocketAddr| source.is_ipv4() == address.is_ipv4();
        if !plan.sources.is_empty() {
            addresses.retain(|address| plan.sources.iter().any(|source| is_reached_from(source, address)));
        }
        if let (true, Some(address)) = (addresses.is_empty(), resolved) {
            return Err(LoadError::Plan(PlanError(format!(
                "--source has no address of the kind that {address} has: give IPv4 addresses for IPv4, IPv6 for IPv6."
            ))));
        }
        let address = first_that_accepts(plan, origin, &addresses)?;
        let sources: Vec<IpAddr> =
            plan.sources.iter().filter(|source| is_reached_from(source, &address)).copied().collect();
        Ok(Endpoint::Tcp { address, sources })
    }
}

/// That a fleet's agent may not load this.
fn not_allowed(origin: &Target, resolved: Option<SocketAddr>) -> LoadError {
    let address = resolved.map_or_else(|| "no address".to_owned(), |address| address.to_string());
    LoadError::Fleet(format!(
        "{} ({address}) is not a target that this agent may load: start the agent with --allow for it.",
        origin.display_url()
    ))
}

/// Every source must be an address of this machine, found out before the load and not by its failures.
fn check_sources(sources: &[IpAddr]) -> Result<(), PlanError> {
    for source in sources {
        TcpListener::bind((*source, 0)).map_err(|e| {
            PlanError(format!("--source {source} is not an address of this machine that can be used: {e}."))
        })?;
    }
    Ok(())
}

pub fn addresses_of(plan: &Plan) -> Result<Vec<SocketAddr>, LoadError> {
    let each = plan.origins().iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
    Ok(each.concat())
}

pub fn resolve(target: &Target) -> Result<Vec<SocketAddr>, LoadError> {
    let addresses = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .map_err(|e| LoadError::Resolve { host: target.host.clone(), reason: e.to_string() })?;
    Ok(addresses.collect())
}

/// The first of a name's addresses that accepts a connection.
fn first_that_accepts(
    plan: &Plan,
    target: &Target,
    addresses: &[SocketAddr],
) -> Result<SocketAddr, LoadError> {
    let mut first_failure: Option<(SocketAddr, io::Error)> = None;
    for address in addresses {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan::closed(Target::parse("http://name.invalid/").unwrap())
    }

    /// An address at which nobody listens, and one at which somebody does. They have one port, on two addresses of the
    /// loopback: while the listener holds it, nobody is given the other.
    fn two() -> (SocketAddr, TcpListener) {
        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        (SocketAddr::from(([127, 0, 0, 77], open.local_addr().unwrap().port())), open)
    }

    #[test]
    fn an_address_that_the_agent_forbids_is_not_connected_to() {
        let (other, listener) = two();
        let open = listener.local_addr().unwrap();
        let mut plan = plan();
        (plan.target.host, plan.target.port) = ("127.0.0.1".to_owned(), open.port());
        plan.keepalive = false;
        listener.set_nonblocking(true).unwrap();
        let refused = Endpoint::of(&plan, &plan.target, Some(&[other])).unwrap_err();
        assert!(matches!(&refused, LoadError::Fleet(why) if why.contains(&open.to_string())), "{refused:?}");
        assert!(listener.accept().is_err(), "nobody connected");
        assert!(
            matches!(Endpoint::of(&plan, &plan.target, Some(&[other, open])), Ok(Endpoint::Tcp { address, .. }) if address == open)
        );
        plan.unix = Some("/run/none.sock".into());
        assert!(matches!(Endpoint::of(&plan, &plan.target, Some(&[open])), Err(LoadError::Fleet(_))));
    }

    #[test]
    fn the_first_address_that_accepts_is_taken() {
        let (refused, listener) = two();
        let open = listener.local_addr().unwrap();
        assert_eq!(first_that_accepts(&plan(), &plan().target, &[refused, open]).unwrap(), open);
        // One alone is not asked: its connections will tell.
        assert_eq!(first_that_accepts(&plan(), &plan().target, &[refused]).unwrap(), refused);
    }

    #[test]
    fn where_none_accepts_the_first_is_named() {
        let (refused, _open) = two();
        let said = first_that_accepts(&plan(), &plan().target, &[refused, refused]).unwrap_err();
        assert!(matches!(said, LoadError::Unreachable { .. }), "{said:?}");
        assert!(said.to_string().contains(&refused.to_string()), "{said}");
        let said = first_that_accepts(&plan(), &plan().target, &[]).unwrap_err();
        assert!(matches!(said, LoadError::Resolve { .. }), "{said:?}");
    }
}
