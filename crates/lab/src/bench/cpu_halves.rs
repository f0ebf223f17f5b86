//! Two places on one machine: which CPUs each candidate of a duet has, and its client.

use prony_host::cpus::union;
use prony_host::pins::Pins;
use prony_model::duet::{DuetCpus, DuetRecord, DuetShared};

/// Both places. Servers have as many CPUs on the left as on the right, and so have clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuHalves {
    pub left: Pins,
    pub right: Pins,
    pub shared: DuetShared,
}

impl CpuHalves {
    /// The last CPUs are the servers', `server_cores` for each; of the others each client has half, and
    /// where only one is left, both share it. With two CPUs in all, each server shares one with its own
    /// client: two servers on one CPU would take it from each other, so that the slower one slows the
    /// faster one down, while a client does the same work for both.
    pub fn split(allowed: &[u32], server_cores: u32) -> Result<CpuHalves, String> {
        let each = usize::try_from(server_cores).unwrap_or(usize::MAX);
        match *allowed {
            [] | [_] => {
                return Err("--duet runs two servers at once, each on CPUs of its own, and Prony may use only one CPU \
                            here: leave it out, and they are measured in turn."
                    .to_owned());
            }
            [first, last] if each == 1 => {
                let place = |cpu| Pins { server: vec![cpu], client: vec![cpu] };
                return Ok(CpuHalves { left: place(first), right: place(last), shared: DuetShared::Servers });
            }
            _ => {}
        }
        match each.checked_mul(2).and_then(|servers| allowed.len().checked_sub(servers)) {
            Some(clients) if clients > 0 => Ok(CpuHalves::halved(&allowed[clients..], &allowed[..clients])),
            _ => Err(format!(
                "--duet gives each of two servers {server_cores} cores and the clients one more at least, {} in all, \
                 and Prony may use only {}: set server_cores to {}.",
                server_cores.saturating_mul(2).saturating_add(1),
                allowed.len(),
                ((allowed.len() - 1) / 2).max(1)
            )),
        }
    }

    pub fn of_pins(pins: &Pins) -> Result<CpuHalves, String> {
        if pins.server.is_empty() || !pins.server.len().is_multiple_of(2) {
            return Err(format!(
                "--duet gives each server half of the CPUs of --pin server=…, and {} cannot be halved: name an even \
                 number.",
                pins.server.len()
            ));
        }
        Ok(CpuHalves::halved(&pins.server, &pins.client))
    }

    pub fn of_record(record: &DuetRecord) -> CpuHalves {
        let pins =
            |cpus: &DuetCpus| Pins { server: cpus.server_cpus.clone(), client: cpus.client_cpus.clone() };
        CpuHalves { left: pins(&record.left), right: pins(&record.right), shared: record.shared }
    }

    pub(crate) fn record(&self) -> DuetRecord {
        let cpus =
            |pins: &Pins| DuetCpus { server_cpus: pins.server.clone(), client_cpus: pins.client.clone() };
        DuetRecord { left: cpus(&self.left), right: cpus(&self.right), shared: self.shared }
    }

    /// An even number of the servers'. Of an odd number of the clients' one is left idle: both get as many.
    fn halved(servers: &[u32], clients: &[u32]) -> CpuHalves {
        let (server, client) = (servers.len() / 2, clients.len() / 2);
        let (left, right, shared) = match client {
            0 => (clients, clients, DuetShared::Clients),
            _ => (&clients[..client], &clients[client..2 * client], DuetShared::Nothing),
        };
        CpuHalves {
            left: Pins { server: servers[..server].to_vec(), client: left.to_vec() },
            right: Pins { server: servers[server..].to_vec(), client: right.to_vec() },
            shared,
        }
    }

    pub fn all(&self) -> Pins {
        Pins {
            server: union(&self.left.server, &self.right.server),
            client: union(&self.left.client, &self.right.client),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(allowed: &[u32], cores: u32) -> CpuHalves {
        CpuHalves::split(allowed, cores).unwrap()
    }

    fn pins(server: &[u32], client: &[u32]) -> Pins {
        Pins { server: server.to_vec(), client: client.to_vec() }
    }

    #[test]
    fn each_side_of_a_duet_has_half_of_the_cpus() {
        let four = places(&[0, 1, 2, 3], 1);
        assert_eq!((four.left.clone(), four.right.clone()), (pins(&[2], &[0]), pins(&[3], &[1])));
        assert_eq!((four.shared, four.all()), (DuetShared::Nothing, pins(&[2, 3], &[0, 1])));
        let nine = places(&[0, 1, 2, 3, 4, 5, 6, 7, 8], 2);
        assert_eq!((nine.left, nine.right), (pins(&[5, 6], &[0, 1]), pins(&[7, 8], &[2, 3])));
    }

    #[test]
    fn with_few_cpus_a_duet_shares_them_and_is_marked() {
        let three = places(&[4, 5, 6], 1);
        assert_eq!((three.left, three.right), (pins(&[5], &[4]), pins(&[6], &[4])));
        assert_eq!(three.shared, DuetShared::Clients);
        let two = places(&[0, 1], 1);
        assert_eq!((two.left.clone(), two.right.clone()), (pins(&[0], &[0]), pins(&[1], &[1])));
        assert_eq!((two.shared, two.all()), (DuetShared::Servers, pins(&[0, 1], &[0, 1])));
    }

    #[test]
    fn too_few_cpus_for_a_duet_are_refused_with_what_would_fit() {
        let said = |allowed: &[u32], cores| CpuHalves::split(allowed, cores).unwrap_err();
        assert!(said(&[3], 1).contains("only one CPU") && said(&[], 1).contains("only one CPU"));
        assert!(said(&[0, 1, 2, 3], 2).contains("5 in all") && said(&[0, 1, 2, 3], 2).ends_with("to 1."));
        assert!(said(&[0, 1], 2).ends_with("to 1."), "{}", said(&[0, 1], 2));
        assert!(said(&[0, 1, 2], u32::MAX).contains("only 3"));
    }

    #[test]
    fn pins_of_a_duet_are_halved_and_read_back_from_its_record() {
        let halved = CpuHalves::of_pins(&pins(&[4, 5], &[0, 1, 2])).unwrap();
        assert_eq!((halved.left.clone(), halved.right.clone()), (pins(&[4], &[0]), pins(&[5], &[1])));
        assert_eq!(CpuHalves::of_record(&halved.record()), halved);
        assert!(CpuHalves::of_pins(&pins(&[1], &[0])).unwrap_err().contains("1 cannot be halved"));
        assert!(CpuHalves::of_pins(&Pins::default()).unwrap_err().contains("0 cannot be halved"));
    }
}
