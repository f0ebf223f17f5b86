//! How many connections there are at once: in all, and of one machine.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use crate::lock::locked;

/// Connections at once: a browser takes six, and few people watch one run.
const CONNECTIONS_MAX: usize = 32;
/// Of these, from one other machine: two browsers. On this one, everybody has the same address.
const PER_MACHINE_MAX: usize = 12;

#[derive(Debug, Default)]
pub(super) struct Slots {
    taken: Mutex<Vec<IpAddr>>,
}

/// A connection's slot: free again when this is dropped, also by a panic.
#[derive(Debug)]
pub(super) struct Slot {
    of: Arc<Slots>,
    machine: IpAddr,
}

impl Slots {
    /// A slot for a connection from there; `None` where none is free, or that machine has its share.
    pub(super) fn take(self: &Arc<Slots>, from: IpAddr) -> Option<Slot> {
        let machine = machine(from);
        let mut taken = locked(&self.taken);
        let own = taken.iter().filter(|other| **other == machine).count();
        let has_its_share = own >= PER_MACHINE_MAX && !machine.is_loopback();
        if taken.len() >= CONNECTIONS_MAX || has_its_share {
            return None;
        }
        taken.push(machine);
        Some(Slot { of: Arc::clone(self), machine })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = locked(&self.of.taken);
        if let Some(at) = taken.iter().position(|machine| *machine == self.machine) {
            taken.swap_remove(at);
        }
    }
}

/// Whose address it is: one machine may use all of an IPv6 network of 64 bits.
fn machine(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if !v6.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from(u128::from(v6) & !u128::from(u64::MAX)))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(slots: &Arc<Slots>, from: &str, times: usize) -> Vec<Slot> {
        (0..times).filter_map(|_| slots.take(from.parse().unwrap())).collect()
    }

    #[test]
    fn one_machine_cannot_take_every_slot() {
        let slots = Arc::new(Slots::default());
        let first = take(&slots, "192.0.2.1", 100);
        assert_eq!(first.len(), PER_MACHINE_MAX);
        assert_eq!(take(&slots, "192.0.2.2", 1).len(), 1, "another machine still has one");
        drop(first);
        // A machine's addresses within its network, and IPv4 within IPv6, are one machine's.
        let network: Vec<Slot> =
            (0..100).filter_map(|i| slots.take(format!("2001:db8::{i}").parse().unwrap())).collect();
        assert_eq!(network.len(), PER_MACHINE_MAX);
        assert_eq!(take(&slots, "2001:db8:0:1::1", 1).len(), 1);
        let mapped = take(&slots, "::ffff:192.0.2.1", 1);
        assert_eq!(mapped.len() + take(&slots, "192.0.2.1", PER_MACHINE_MAX).len(), PER_MACHINE_MAX);
    }

    #[test]
    fn this_machine_may_take_all_and_no_more() {
        for loopback in ["127.0.0.1", "::1"] {
            assert_eq!(take(&Arc::default(), loopback, 100).len(), CONNECTIONS_MAX);
        }
    }

    #[test]
    fn a_thread_that_panics_returns_its_slot() {
        let slots = Arc::new(Slots::default());
        let slot = slots.take("127.0.0.1".parse().unwrap()).unwrap();
        let thread = std::thread::spawn(move || {
            let _slot = slot;
            panic!("on purpose");
        });
        assert!(thread.join().is_err());
        assert!(locked(&slots.taken).is_empty());
    }
}
