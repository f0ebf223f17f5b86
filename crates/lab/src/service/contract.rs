//! The services that routes of the contract need: `service = "contract"`.

use std::collections::BTreeMap;

use super::Service;
use crate::check::{DB, UPSTREAM, UPSTREAM_DELAY};

pub(crate) const CONTRACT: &str = "contract";
pub(super) const SEED: &str = include_str!("contract.sql");

impl Service {
    pub(crate) fn contract(name: &str, settings: &BTreeMap<String, String>) -> Result<Service, String> {
        let known = CONTRACT.to_owned();
        match name {
            DB => Service::cluster(
                name,
                known,
                &format!("ask -d prony <<'END_OF_SEED'\n{SEED}END_OF_SEED"),
                settings,
            ),
            UPSTREAM if settings.is_empty() => {
                let delay_ms = UPSTREAM_DELAY.as_millis();
                let command =
                    format!("exec \"{{prony}}\" target --port {{port}} --delay {delay_ms}ms --threads 1");
                Ok(Service { known: Some(known), ..Service::new(name, &command) })
            }
            UPSTREAM => Err(format!("the service {name:?} of the contract has no settings: leave them out.")),
            _ => Err(format!(
                "{name:?} is no service of the contract: write [service.{DB}] or [service.{UPSTREAM}]."
            )),
        }
    }

    pub(crate) fn is_contract(&self) -> bool {
        self.known.as_deref().is_some_and(|known| known.split(' ').next() == Some(CONTRACT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::FORTUNES;

    #[test]
    fn the_seed_has_the_rows_that_the_check_expects() {
        for (id, message) in FORTUNES {
            let row = format!("  ({id}, '{}')", message.replace('\'', "''"));
            assert!(SEED.contains(&row), "{row}");
        }
        assert_eq!(SEED.matches("\n  (").count(), FORTUNES.len());
        assert!(SEED.contains("generate_series(1, 1000)"));
    }

    #[test]
    fn services_of_the_contract_are_known_by_their_names() {
        let of = |name: &str| Service::contract(name, &BTreeMap::new());
        let (db, upstream) = (of("db").unwrap(), of("upstream").unwrap());
        assert_eq!(super::super::check(&[db.clone(), upstream.clone()], &[]), Ok(()));
        assert!(db.command.contains(SEED) && db.is_postgresql() && db.is_contract());
        assert!(upstream.is_contract() && !upstream.is_postgresql());
        assert_eq!(upstream.flags(), ["--service=upstream=contract"]);
        assert_eq!(db.flags(), ["--service=db=contract"]);
        assert!(of("cache").unwrap_err().contains("write [service.db] or [service.upstream]"));
        let own = Service::new("db", "contract {port}");
        assert!(!own.is_contract());
    }
}
