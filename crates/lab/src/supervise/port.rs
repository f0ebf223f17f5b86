//! Free ports: below the ephemeral range, at random, and not the ones used just now.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::sync::Mutex;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use super::listener;
use crate::candidate::Candidate;

/// Ports below this are other services' by custom.
const LOWEST: u16 = 10_000;
/// Where the kernel's ephemeral range begins unless an administrator moved it.
const EPHEMERAL_LOW: u16 = 32_768;
/// Ports that are not given out again soon: their connections may linger in
/// TIME_WAIT for a minute, and a server that does not set SO_REUSEADDR could not bind.
const RECENT: usize = 1_000;
/// How many ports are tried: with 22,768 to choose from, all taken ones are no accident.
const TRIES: u32 = 500;

static RECENTLY_USED: Mutex<VecDeque<u16>> = Mutex::new(VecDeque::new());

pub(crate) fn port_of(candidate: &Candidate, address: Ipv4Addr) -> Result<u16, String> {
    match candidate.fixed_port() {
        Some(port) if is_free_again(address, port) => Ok(port),
        Some(port) => {
            let owner = listener::stranger(address, port, &[]);
            let owner = owner.map_or_else(
                || "which is taken on this machine".to_owned(),
                |who| format!("which {who} has"),
            );
            Err(format!("{} listens on port {port}, {owner}: end what listens there.", candidate.label()))
        }
        None => free_port(address)
            .ok_or_else(|| "No port below the ephemeral range is free: end what holds them.".to_owned()),
    }
}

/// A port of an address of this machine with nothing listening or lingering; `None` after hundreds of tries.
pub(crate) fn free_port(address: Ipv4Addr) -> Option<u16> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut recent = RECENTLY_USED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // RandomState is seeded by the operating system: two Pronys choose differently.
    let random = || RandomState::new().build_hasher().finish();
    choose(port_range(&range), &mut recent, random, |port| is_free(address, port))
}

/// Whether a server that does not set SO_REUSEADDR could listen on this port of
/// an address now. (The standard library's listener sets it, and so would overlook TIME_WAIT.)
fn is_free(address: Ipv4Addr, port: u16) -> bool {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    socket.is_ok_and(|socket| bind(&socket, &SocketAddrV4::new(address, port)).is_ok())
}

/// Whether a server that sets SO_REUSEADDR, as servers with a port of their own do, could listen there: connections that
/// an earlier one has closed may linger.
fn is_free_again(address: Ipv4Addr, port: u16) -> bool {
    TcpListener::bind(SocketAddrV4::new(address, port)).is_ok()
}

/// A free port of a range that was not given out lately.
fn choose(
    (lowest, above): (u16, u16),
    recent: &mut VecDeque<u16>,
    mut random: impl FnMut() -> u64,
    is_free: impl Fn(u16) -> bool,
) -> Option<u16> {
    for attempt in 0..TRIES {
        let offset = u16::try_from(random() % u64::from(above - lowest)).unwrap_or(0);
        let port = lowest + offset;
        // On a host whose range is small, a port used a while ago is better than none.
        let allowed = !recent.contains(&port) || attempt > TRIES / 2;
        if allowed && is_free(port) {
            if recent.len() == RECENT {
                recent.pop_front();
            }
            recent.push_back(port);
            return Some(port);
        }
    }
    None
}

/// Where to choose from: from [`LOWEST`] to below the ephemeral range, from
/// which the client's own ports are drawn; above it where it begins too low.
fn port_range(local_port_range: &str) -> (u16, u16) {
    const ENOUGH: u16 = 1_000;
    let Some((low, high)) = prony_host::port_range(local_port_range) else { return (LOWEST, EPHEMERAL_LOW) };
    if low >= LOWEST + ENOUGH {
        (LOWEST, low.min(EPHEMERAL_LOW))
    } else if high < u16::MAX - ENOUGH {
        (high.max(LOWEST) + 1, u16::MAX)
    } else {
        (LOWEST, EPHEMERAL_LOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_range_is_outside_the_ephemeral_range() {
        assert_eq!(port_range("32768\t60999\n"), (10_000, 32_768));
        assert_eq!(port_range("16000 60999"), (10_000, 16_000));
        assert_eq!(port_range("1024 60000"), (60_001, 65_535));
        assert_eq!(port_range("1024 65535"), (10_000, 32_768));
        assert_eq!(port_range(""), (10_000, 32_768));
    }

    #[test]
    fn only_free_ports_are_chosen_and_none_twice_if_avoidable() {
        let mut recent = VecDeque::new();
        let mut next = 0;
        let mut given = |is_free: fn(u16) -> bool| {
            let random = || {
                next += 1;
                next
            };
            choose((10_000, 10_100), &mut recent, random, is_free)
        };
        let even = |port: u16| port.is_multiple_of(2);
        let mut ports: Vec<u16> = (0..50).map(|_| given(even).unwrap()).collect();
        ports.sort_unstable();
        let all_even: Vec<u16> = (10_000..10_100).filter(|port| even(*port)).collect();
        assert_eq!(ports, all_even);
        // All have been given: one that was used a while ago is better than none, and one that is taken is not.
        assert!(given(even).is_some_and(even));
        assert_eq!(given(|_| false), None);
    }

    #[test]
    fn a_bound_port_is_not_free() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(!is_free(Ipv4Addr::LOCALHOST, port));
        drop(taken);
        // A child that another test starts at this moment holds all descriptors until it executes, and another program
        // may take the port: one that was let go is free in the end.
        prony_host::testing::wait_until("a free port", || {
            let taken = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = taken.local_addr().unwrap().port();
            drop(taken);
            is_free(Ipv4Addr::LOCALHOST, port)
        });
    }

    #[test]
    fn ports_chosen_here_are_in_the_range_and_not_chosen_twice() {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let (lowest, above) = port_range(&range);
        let ports: Vec<u16> = (0..50).map(|_| free_port(Ipv4Addr::LOCALHOST).unwrap()).collect();
        let mut distinct = ports.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), ports.len());
        assert!(ports.iter().all(|port| (lowest..above).contains(port)), "{ports:?}");
    }
}
