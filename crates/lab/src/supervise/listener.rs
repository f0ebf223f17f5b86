//! Whose port it is: that the one who answers is the server that was started. A port is chosen free and bound
//! milliseconds later: who takes it in between would be loaded in the server's place.

use std::collections::BTreeSet;
use std::fs;
use std::net::Ipv4Addr;

use prony_host::process;

/// /proc/net/tcp: `0A` is LISTEN.
const LISTEN: &str = "0A";

/// Who else listens on a port of this machine, `4321 (nginx)`, besides these processes; `None`: nobody, or not known.
pub(crate) fn stranger(address: Ipv4Addr, port: u16, own: &[u32]) -> Option<String> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut listening = listeners(&text("/proc/net/tcp"), address, port);
    listening.extend(listeners(&text("/proc/net/tcp6"), address, port));
    let mut ours = BTreeSet::new();
    for pid in own {
        match sockets(*pid) {
            Ok(sockets) => ours.extend(sockets),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {} // it has just ended
            Err(_) => return None,
        }
    }
    let strange: BTreeSet<u64> = listening.difference(&ours).copied().collect();
    if strange.is_empty() {
        return None;
    }
    let holds = |pid: &u32| sockets(*pid).is_ok_and(|held| !held.is_disjoint(&strange));
    let holder = process::pids().into_iter().filter(|pid| !own.contains(pid)).find(holds);
    Some(holder.map_or_else(
        || "a process of another user".to_owned(),
        |pid| format!("process {pid} ({})", process::name(pid)),
    ))
}

/// Every process that listens on a port of this machine, whatever the address: the servers that share a port too.
pub(crate) fn holders(port: u16) -> Result<Vec<u32>, String> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut listening = listening(&text("/proc/net/tcp"), port, |_| true);
    listening.extend(self::listening(&text("/proc/net/tcp6"), port, |_| true));
    if listening.is_empty() {
        return Err(format!("--watch :{port}: nothing listens on that port of this machine."));
    }
    let holds = |pid: &u32| sockets(*pid).is_ok_and(|held| !held.is_disjoint(&listening));
    let holders: Vec<u32> = process::pids().into_iter().filter(holds).collect();
    if holders.is_empty() {
        return Err(format!(
            "--watch :{port}: another user's process listens there, which you may not look into: be that user or root, or \
             give the number of its process."
        ));
    }
    Ok(holders)
}

fn listeners(table: &str, address: Ipv4Addr, port: u16) -> BTreeSet<u64> {
    listening(table, port, |hex| takes(hex, address))
}

fn listening(table: &str, port: u16, is_one: impl Fn(&str) -> bool) -> BTreeSet<u64> {
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (address, number) = fields.get(1)?.split_once(':')?;
        let is = fields.get(3) == Some(&LISTEN) && u16::from_str_radix(number, 16) == Ok(port);
        (is && is_one(address)).then(|| fields.get(9)?.parse().ok())?
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// Any address, this one, or this one mapped into IPv6; each four bytes in the machine's own order.
fn takes(hex: &str, address: Ipv4Addr) -> bool {
    let own = u32::from_ne_bytes(address.octets());
    let mapped = u32::from_ne_bytes([0, 0, 0xff, 0xff]);
    let words: Option<Vec<u32>> =
        (0..hex.len() / 8).map(|i| u32::from_str_radix(hex.get(i * 8..i * 8 + 8)?, 16).ok()).collect();
    match words.as_deref() {
        Some([word]) => *word == 0 || *word == own,
        Some([0, 0, 0, 0]) => true,
        Some([0, 0, third, last]) => *third == mapped && *last == own,
        _ => false,
    }
}

fn sockets(pid: u32) -> std::io::Result<BTreeSet<u64>> {
    let held = fs::read_dir(format!("/proc/{pid}/fd"))?.flatten().filter_map(|entry| {
        let link = fs::read_link(entry.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    });
    Ok(held.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_of_a_port_are_found() {
        let order = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
        let line = |address: &str, port: &str, state: &str, inode: u64| {
            format!(
                "   0: {address}:{port} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0  0 {inode} 1 0 100\n"
            )
        };
        let (any, loopback, other) = (order([0; 4]), order([127, 0, 0, 1]), order([10, 0, 0, 1]));
        let v6 = format!("{}{}{}{loopback}", order([0; 4]), order([0; 4]), order([0, 0, 0xff, 0xff]));
        let table = [
            "  sl  local_address rem_address\n".to_owned(),
            line(&any, "1F90", "0A", 1),
            line(&loopback, "1F90", "0A", 2),
            line(&other, "1F90", "0A", 3),
            line(&loopback, "1F90", "01", 4),
            line(&loopback, "1F91", "0A", 5),
            line(&"0".repeat(32), "1F90", "0A", 6),
            line(&v6, "1F90", "0A", 7),
            "nonsense\n".to_owned(),
        ];
        assert_eq!(listeners(&table.concat(), Ipv4Addr::LOCALHOST, 8080), BTreeSet::from([1, 2, 6, 7]));
        assert!(listeners("", Ipv4Addr::LOCALHOST, 8080).is_empty());
    }

    #[test]
    fn a_foreign_process_that_listens_on_the_port_is_named() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let me = std::process::id();
        prony_host::testing::wait_until("a port of ours alone", || {
            stranger(Ipv4Addr::LOCALHOST, port, &[me]).is_none()
        });
        // Another process of ours does not hold it; whoever does is named.
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let named = format!("process {me} (");
        prony_host::testing::wait_until("the holder's name", || {
            stranger(Ipv4Addr::LOCALHOST, port, &[child.id()]).is_some_and(|said| said.starts_with(&named))
        });
        child.kill().unwrap();
        child.wait().unwrap();
        drop(listener);
        // Children that other tests start at this moment hold all descriptors until they execute.
        prony_host::testing::wait_until("a free port", || stranger(Ipv4Addr::LOCALHOST, port, &[]).is_none());
    }
}
