//! Where a load's connections go, and where they come from.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use crate::error::LoadError;
use prony_model::{Plan, PlanError, Target};

/// So many addresses that a load's connections went to are named at its end.
const EVER_MAX: usize = 100;

#[derive(Debug, Clone)]
pub(crate) enum Endpoint {
    /// TCP, from these local addresses in turn, or from whichever the kernel chooses if there are none.
    Tcp {
        addresses: Addresses,
        sources: Vec<IpAddr>,
    },
    Unix(PathBuf),
}

/// The addresses of an origin that its connections go to in turn; all workers see what a new resolution changes.
#[derive(Debug, Clone)]
pub(crate) struct Addresses(Arc<RwLock<Known>>);

#[derive(Debug)]
struct Known {
    now: Vec<SocketAddr>,
    /// They, and those that they replaced.
    ever: Vec<SocketAddr>,
}

impl Addresses {
    fn of(addresses: Vec<SocketAddr>) -> Addresses {
        Addresses(Arc::new(RwLock::new(Known { ever: addresses.clone(), now: addresses })))
    }

    /// They are replaced as a whole: one whose writer panicked is as good.
    fn known(&self) -> RwLockReadGuard<'_, Known> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn first(&self) -> Option<SocketAddr> {
        self.known().now.first().copied()
    }

    /// The address of this number, counted on from the first again where there are fewer by now.
    pub(crate) fn at(&self, number: u32) -> Option<SocketAddr> {
        let known = self.known();
        known.now.get((number as usize).checked_rem(known.now.len())?).copied()
    }

    /// Takes what the name stands for now. One address stays where it is still among them.
    fn renew(&self, found: Vec<SocketAddr>, all: bool) {
        let kept = self.first().filter(|first| !all && found.contains(first));
        let chosen = if all { found } else { kept.or(found.first().copied()).into_iter().collect() };
        if chosen.is_empty() || chosen == self.known().now {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<_> = chosen.iter().filter(|one| !known.ever.contains(one)).copied().collect();
        let room = EVER_MAX.saturating_sub(known.ever.len());
        known.ever.extend(new.into_iter().take(room));
        known.now = chosen;
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { .. } => f.write_str(&self.addresses().join(", ")),
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
        let addresses = Endpoint::usable(plan, origin, allowed)?;
        let addresses = if plan.connect.all_addresses {
            addresses
        } else {
            vec![first_that_accepts(plan, origin, &addresses)?]
        };
        Ok(Endpoint::Tcp { addresses: Addresses::of(addresses), sources: plan.sources.clone() })
    }

    /// Those that its connections go to in turn, and went to before; of a Unix socket none.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let Endpoint::Tcp { addresses, .. } = self else { return Vec::new() };
        addresses.known().ever.iter().map(ToString::to_string).collect()
    }

    /// Resolves the origin's name again, for connections from now on; where that fails, all stays as it is.
    pub(crate) fn renew(&self, plan: &Plan, origin: &Target, allowed: Option<&[SocketAddr]>) {
        if let (Endpoint::Tcp { addresses, .. }, Ok(found)) = (self, Endpoint::usable(plan, origin, allowed))
        {
            addresses.renew(found, plan.connect.all_addresses);
        }
    }

    /// The addresses that the origin has, and that may be and can be connected to.
    fn usable(
        plan: &Plan,
        origin: &Target,
        allowed: Option<&[SocketAddr]>,
    ) -> Result<Vec<SocketAddr>, LoadError> {
        let mut addresses = addresses_of_origin(plan, origin)?;
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
        Ok(addresses)
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
    let each = plan.origins().iter().map(|origin| addresses_of_origin(plan, origin));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The addresses of one of a plan's origins, or of where the plan connects to in its stead.
pub fn addresses_of_origin(plan: &Plan, origin: &Target) -> Result<Vec<SocketAddr>, LoadError> {
    let (host, port) = plan.connect.destination(origin);
    let mut addresses = resolve_name(host, port)?;
    if let Some(ip) = plan.connect.ip {
        addresses.retain(|address| ip.is_of(address));
        if addresses.is_empty() {
            let reason = format!("it has no IPv{ip} address: leave -{ip} out");
            return Err(LoadError::Resolve { host: host.to_owned(), reason });
        }
    }
    Ok(addresses)
}

pub fn resolve(target: &Target) -> Result<Vec<SocketAddr>, LoadError> {
    resolve_name(&target.host, target.port)
}

fn resolve_name(host: &str, port: u16) -> Result<Vec<SocketAddr>, LoadError> {
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|e| LoadError::Resolve { host: host.to_owned(), reason: e.to_string() })?;
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
            matches!(Endpoint::of(&plan, &plan.target, Some(&[other, open])), Ok(Endpoint::Tcp { addresses, .. }) if addresses.first() == Some(open))
        );
        plan.unix = Some("/run/none.sock".into());
        assert!(matches!(Endpoint::of(&plan, &plan.target, Some(&[open])), Err(LoadError::Fleet(_))));
    }

    #[test]
    fn places_take_all_addresses_in_turn_until_others_are_found() {
        let at = |last: u8| SocketAddr::from(([127, 0, 0, last], 80));
        let all = Addresses::of(vec![at(1), at(2), at(3)]);
        let seen = |all: &Addresses| (0..4).map(|number| all.at(number).unwrap()).collect::<Vec<_>>();
        assert_eq!(seen(&all), [at(1), at(2), at(3), at(1)]);
        all.renew(vec![at(4)], true);
        assert_eq!(seen(&all), [at(4); 4]);
        all.renew(Vec::new(), true);
        assert_eq!(all.first(), Some(at(4)), "a name without addresses changes nothing");
        let one = Addresses::of(vec![at(1)]);
        one.renew(vec![at(2), at(1)], false);
        assert_eq!(one.first(), Some(at(1)), "it is still one of them");
        one.renew(vec![at(2), at(3)], false);
        assert_eq!(seen(&one), [at(2); 4]);
        let endpoint = Endpoint::Tcp { addresses: one, sources: Vec::new() };
        assert_eq!(endpoint.to_string(), "127.0.0.1:80, 127.0.0.2:80", "both had connections");
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
