//! Which CPUs are the servers' and which are Prony's.

use crate::cpus::{affinity, allowed, set_affinity, union};
use crate::process::threads;

/// Disjoint CPUs of both sides; both empty: nothing is pinned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins {
    pub server: Vec<u32>,
    pub client: Vec<u32>,
}

impl Pins {
    /// CPUs that figures depend on: both sides', or where nothing is pinned all that Prony may use.
    pub fn used(&self) -> Vec<u32> {
        if self.server.is_empty() && self.client.is_empty() {
            return allowed();
        }
        self.both()
    }

    pub fn both(&self) -> Vec<u32> {
        union(&self.server, &self.client)
    }
}

/// The server gets the last CPUs: the first take more of the kernel's own work. With one CPU only, nothing is pinned.
pub fn split(allowed: &[u32], server_cores: u32) -> Result<Pins, String> {
    if allowed.len() < 2 {
        return Ok(Pins::default());
    }
    let server = usize::try_from(server_cores).unwrap_or(usize::MAX);
    match allowed.len().checked_sub(server) {
        Some(client) if client > 0 => {
            Ok(Pins { server: allowed[client..].to_vec(), client: allowed[..client].to_vec() })
        }
        _ => Err(format!(
            "The server is to have {server_cores} cores, and Prony needs one of its own, but it may use only {}: \
             set server_cores to {} or less.",
            allowed.len(),
            allowed.len() - 1
        )),
    }
}

/// While it lives, every thread of this process keeps off the servers' CPUs: progress lines and signal handlers too.
#[derive(Debug)]
pub struct PinnedProcess {
    before: Vec<(u32, Vec<u32>)>,
}

impl PinnedProcess {
    /// Puts all threads that there are on these CPUs; empty: leaves them where they are.
    pub fn to(cpus: &[u32]) -> PinnedProcess {
        let threads = if cpus.is_empty() { Vec::new() } else { threads("self") };
        let pin = |thread: u32| {
            let before = affinity(thread).ok()?;
            set_affinity(thread, cpus).ok()?;
            Some((thread, before))
        };
        PinnedProcess { before: threads.into_iter().filter_map(pin).collect() }
    }
}

impl Drop for PinnedProcess {
    fn drop(&mut self) {
        for (thread, cpus) in &self.before {
            let _ = set_affinity(*thread, cpus); // it may have ended
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_gets_the_last_cpus() {
        let pins = |allowed: &[u32], cores| split(allowed, cores).map(|p| (p.server, p.client));
        assert_eq!(pins(&[0, 1], 1), Ok((vec![1], vec![0])));
        assert_eq!(pins(&[2, 5, 6, 9], 2), Ok((vec![6, 9], vec![2, 5])));
        assert_eq!(pins(&[3], 1), Ok((vec![], vec![])));
        assert_eq!(pins(&[], 4), Ok((vec![], vec![])));
        let said = pins(&[0, 1], 2).unwrap_err();
        assert!(said.ends_with("set server_cores to 1 or less."), "{said}");
    }
}
