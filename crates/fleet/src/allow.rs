//! What an agent that stands by itself lets itself be used for, whoever asks: targets, a rate, connections, certificates.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use prony_load::{Shard, addresses_of_origin};
use prony_model::plan::{Arrivals, Plan};
use prony_model::rate::Rate;
use prony_model::units::most_connections;

use crate::certificates::Certificates;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Name(String),
    /// Addresses that begin as this one does, for so many bits.
    Network(IpAddr, u32),
}

impl FromStr for Allow {
    type Err = String;

    fn from_str(text: &str) -> Result<Allow, String> {
        let wrong = || {
            format!(
                "{text:?} is not a target: write HOST, ADDRESS or NETWORK/BITS, followed by :PORT to allow \
                 that port alone."
            )
        };
        let is_bare_ipv6 =
            text.parse::<IpAddr>().is_ok() || text.matches(':').count() > 1 && !text.contains(']');
        let (host, port) = match text.rsplit_once(':').filter(|_| !is_bare_ipv6) {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse().map_err(|_| wrong())?)),
            _ => (text, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(Allow { host: Host::Network(address, bits_of(address)), port });
        }
        if let Some((network, bits)) = host.split_once('/') {
            let network: IpAddr = network.parse().map_err(|_| wrong())?;
            let bits: u32 = bits.parse().map_err(|_| wrong())?;
            let fits = bits <= bits_of(network);
            return if fits { Ok(Allow { host: Host::Network(network, bits), port }) } else { Err(wrong()) };
        }
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        let is_host = !host.is_empty() && host.bytes().all(is_name);
        if is_host { Ok(Allow { host: Host::Name(host.to_ascii_lowercase()), port }) } else { Err(wrong()) }
    }
}

fn bits_of(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl Allow {
    fn admits(&self, name: &str, address: SocketAddr) -> bool {
        let host = match &self.host {
            Host::Name(allowed) => name.eq_ignore_ascii_case(allowed),
            Host::Network(network, bits) => is_within(address.ip(), *network, *bits),
        };
        host && self.port.is_none_or(|port| port == address.port())
    }
}

/// An IPv4 address is what it is when it is written as an IPv6 one, too.
fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address.to_canonical(), network.to_canonical()) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            (address.to_bits() ^ network.to_bits()).checked_shr(32 - bits.min(32)).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            (address.to_bits() ^ network.to_bits()).checked_shr(128 - bits.min(128)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// Addresses that it may load, whatever they are called: those of the plan, where its controller started it.
    pub addresses: Vec<SocketAddr>,
    pub allow: Vec<Allow>,
    /// Requests per second that its part of a load may have.
    pub rate_max: Option<Rate>,
    pub connections_max: Option<u32>,
    /// Files that a load's client certificate and key may come from.
    pub certificates: Certificates,
    /// Files that a list may come from which is too long for a plan.
    pub lists: Certificates,
}

impl Bounds {
    pub fn admit(&self, plan: &Plan, shard: Shard) -> Result<Vec<SocketAddr>, String> {
        let part =
            |whole: u64| (u128::from(whole) * u128::from(shard.count)).div_ceil(u128::from(shard.of.max(1)));
        let connections = part(plan.connections.max(most_connections(&plan.arrivals)).into());
        if let Some(most) = self.connections_max.filter(|most| connections > u128::from(*most)) {
            return Err(format!(
                "its part of the load has {connections} connections, and it takes at most {most} (--max-connections)"
            ));
        }
        if let Some(most) = self.rate_max {
            let Some(peak) = peak_micro_per_s(&plan.arrivals) else {
                return Err(format!(
                    "it takes at most {most} (--max-rate), and the load has no rate: give one, -R"
                ));
            };
            if part(peak) > u128::from(most.as_micro_per_s()) {
                return Err(format!(
                    "its part of the load is up to {} requests per second, and it takes at most {most} (--max-rate)",
                    part(peak) / 1_000_000
                ));
            }
        }
        if self.allow.is_empty() {
            return Ok(self.addresses.clone());
        }
        let mut all = Vec::new();
        for origin in plan.origins() {
            let mut addresses = addresses_of_origin(plan, origin).map_err(|e| e.to_string())?;
            // The name of what is connected to: a URL's would let --connect-to past it.
            let (host, _) = plan.connect.destination(origin);
            addresses.retain(|address| self.allow.iter().any(|allow| allow.admits(host, *address)));
            // Another's name may have the same address: each must be allowed by its own.
            if addresses.is_empty() && plan.origins().len() > 1 {
                return Err(format!(
                    "{} is not a target that this agent may load: start the agent with --allow for it",
                    origin.display_url()
                ));
            }
            all.extend(addresses);
        }
        Ok(all)
    }
}

/// The highest rate of a load, in millionths per second; `None` where responses alone bound it.
fn peak_micro_per_s(arrivals: &Arrivals) -> Option<u64> {
    match arrivals {
        Arrivals::Constant(rate) | Arrivals::Poisson(rate) => Some(rate.as_micro_per_s()),
        Arrivals::RateStages(stages) => Some(stages.iter().map(|stage| stage.to).max().unwrap_or(0)),
        Arrivals::Replay(replay) => Some(replay.peak_per_s().saturating_mul(1_000_000)),
        Arrivals::Closed | Arrivals::ConnectionStages(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use prony_model::Target;
    use prony_model::list::{Order, TargetList};
    use prony_model::plan::Work;

    use super::*;

    fn plan(url: &str) -> Plan {
        Plan::closed(Target::parse(url).unwrap())
    }

    #[test]
    fn each_of_several_servers_must_be_allowed() {
        let text = b"http://127.0.0.1:80/\nhttp://127.0.0.2:80/\nhttp://localhost:80/\n";
        let (target, list) = TargetList::parse(text, None, "GET", Order::InTurn).unwrap();
        let mut plan = Plan::closed(target);
        (plan.work, plan.threads) = (Work::List(list), 3);
        let admit = |allow: &[&str]| {
            let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
            Bounds { allow, ..Bounds::default() }.admit(&plan, ALL)
        };
        assert!(admit(&["127.0.0.0/8", "::1"]).unwrap().len() >= 3);
        let refused = admit(&["127.0.0.1", "localhost"]).unwrap_err();
        assert!(refused.contains("http://127.0.0.2/ is not a target"), "{refused}");
        // The address that its name has may be loaded by another name alone.
        let refused = admit(&["127.0.0.2", "localhost"]).unwrap_err();
        assert!(refused.contains("http://127.0.0.1/ is not a target"), "{refused}");
    }

    const ALL: Shard = Shard { first: 0, count: 1, of: 1 };

    fn admitted(allow: &[&str], url: &str) -> usize {
        let allow = allow.iter().map(|text| text.parse().unwrap()).collect();
        Bounds { allow, ..Bounds::default() }.admit(&plan(url), ALL).unwrap().len()
    }

    #[test]
    fn an_agent_that_allows_nothing_loads_nothing() {
        assert!(Bounds::default().admit(&plan("http://127.0.0.1:80/"), ALL).unwrap().is_empty());
    }

    #[test]
    fn targets_are_allowed_by_name_address_network_and_port() {
        for (allow, url, is_admitted) in [
            ("127.0.0.1", "http://127.0.0.1:80/", true),
            ("127.0.0.1:81", "http://127.0.0.1:80/", false),
            ("127.0.0.1:80", "http://127.0.0.1/", true),
            ("127.0.0.0/8", "http://127.9.0.1:80/", true),
            ("127.0.0.0/8:80", "http://127.9.0.1:81/", false),
            ("126.0.0.0/8", "http://127.9.0.1:80/", false),
            ("0.0.0.0/0", "http://127.9.0.1:80/", true),
            ("0.0.0.0/0", "http://[::1]:80/", false),
            ("::1", "http://[::1]:80/", true),
            ("[::1]:80", "http://[::1]:80/", true),
            ("[::1]:81", "http://[::1]:80/", false),
            ("::/0", "http://[::1]:80/", true),
            ("127.0.0.0/8", "http://[::ffff:127.0.0.1]:80/", true),
            ("LOCALHOST", "http://localhost:80/", true),
            ("localhost", "http://127.0.0.1:80/", false),
        ] {
            assert_eq!(admitted(&[allow], url) > 0, is_admitted, "{allow} {url}");
        }
        assert_eq!(admitted(&["10.0.0.1", "127.0.0.1"], "http://127.0.0.1/"), 1);
        for text in ["", ":80", "a b", "10.0.0.0/33", "10.0.0.0/x", "host:port", "host:70000", "a/8"] {
            assert!(text.parse::<Allow>().unwrap_err().contains("is not a target"), "{text}");
        }
    }

    #[test]
    fn an_agents_share_is_checked_against_its_own_limits() {
        let (first, third) = (ALL, Shard { first: 1, count: 1, of: 3 });
        let bounds = Bounds {
            allow: vec!["127.0.0.1".parse().unwrap()],
            rate_max: Rate::per_s(100.0),
            connections_max: Some(10),
            ..Bounds::default()
        };
        let mut plan = plan("http://127.0.0.1/");
        (plan.connections, plan.arrivals) = (30, Arrivals::Constant(Rate::per_s(300.0).unwrap()));
        assert_eq!(bounds.admit(&plan, third).unwrap().len(), 1);
        assert!(bounds.admit(&plan, first).unwrap_err().contains("30 connections, and it takes at most 10"));
        plan.connections = 9;
        assert!(
            bounds
                .admit(&plan, first)
                .unwrap_err()
                .contains("300 requests per second, and it takes at most 100/s")
        );
        let bare = Bounds { rate_max: None, ..bounds.clone() };
        let stage = |to| prony_model::rate::Stage { duration: std::time::Duration::from_secs(1), to };
        (plan.connections, plan.arrivals) = (1, Arrivals::ConnectionStages(vec![stage(1), stage(1_000_000)]));
        let refused = bare.admit(&plan, first).unwrap_err();
        assert!(refused.contains("1000000 connections, and it takes at most 10"), "{refused}");
        // Nor does such a plan come so far.
        let refused = Plan::from_wire(&plan.to_wire().unwrap()).unwrap_err().to_string();
        assert!(refused.contains("as many connections as the highest"), "{refused}");
        plan.connections = 1_000_000;
        Plan::from_wire(&plan.to_wire().unwrap()).unwrap();
        plan.arrivals = Arrivals::Closed;
        plan.connections = 9;
        assert!(bounds.admit(&plan, third).unwrap_err().contains("no rate: give one"));
    }
}
