//! Which servers of the catalogue are installed and checked today. Some sixty take longer than anybody waits for CI:
//! the quick ones run always, each of the others within [`PARTS`] days.

use std::collections::BTreeMap;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, SystemTime};

use serde_json::Value;

const PARTS: u64 = 6;
/// Always: what the built-in experiment compares, each installed within a minute.
const ALWAYS: &str =
    "apache-fpm bjoern-bottle caddy-fpm go-net-http gunicorn hyper nginx-fpm node-http php-server";
/// Without these a registry's packages cannot be had. Debian, PyPI, npm, Go and crates.io are taken for granted:
/// without them, a failure is to be seen.
const HOSTS: [(&str, &str); 4] = [
    ("packagist", "repo.packagist.org:443"),
    ("pecl", "pecl.php.net:443"),
    ("hex", "repo.hex.pm:443"),
    ("releases", "github.com:443"),
];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const DAY_S: u64 = 24 * 3600;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) servers: Vec<String>,
    /// Servers whose turn it is and that cannot be had here, and why.
    pub(crate) left_out: Vec<(String, String)>,
}

/// Today's part of what `prony servers list --format json` says.
pub(crate) fn of_today(listed: &str) -> Result<Part, String> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut known = BTreeMap::new();
    let mut reachable = |host: &'static str| *known.entry(host).or_insert_with(|| connects(host));
    of_day(listed, since.as_secs() / DAY_S, &mut reachable)
}

fn of_day(listed: &str, day: u64, reachable: &mut dyn FnMut(&'static str) -> bool) -> Result<Part, String> {
    let all: Vec<Value> = serde_json::from_str(listed).map_err(|e| format!("servers list: {e}"))?;
    let mut part = Part { servers: Vec::new(), left_out: Vec::new() };
    let mut turn = 0;
    for server in &all {
        let Some(name) = server["server"].as_str() else { return Err("a server without a name".to_owned()) };
        let always = ALWAYS.split(' ').any(|one| one == name);
        if !always {
            turn += 1;
        }
        if !always && turn % PARTS != day % PARTS {
            continue;
        }
        if !server["image"].is_null() {
            part.left_out.push((name.to_owned(), "runs in containers only".to_owned()));
            continue;
        }
        let registries = server["registries"].as_array().cloned().unwrap_or_default();
        if registries.is_empty() && server["installed"] == false {
            part.left_out
                .push((name.to_owned(), "no registry has it, and it is not on this machine".to_owned()));
            continue;
        }
        let wanted = HOSTS.iter().filter(|(registry, _)| registries.iter().any(|r| r == registry));
        let missing: Vec<&str> = wanted.filter(|(_, host)| !reachable(host)).map(|(_, host)| *host).collect();
        if missing.is_empty() {
            part.servers.push(name.to_owned());
        } else {
            part.left_out.push((name.to_owned(), format!("{} cannot be reached", missing.join(", "))));
        }
    }
    Ok(part)
}

fn connects(host: &str) -> bool {
    let addresses = host.to_socket_addrs().into_iter().flatten();
    addresses.take(2).any(|address| TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> String {
        let servers: Vec<Value> = (0..40)
            .map(
                |i| serde_json::json!({ "server": format!("s{i}"), "image": null, "registries": ["debian"] }),
            )
            .chain([
                serde_json::json!({ "server": "node-http", "image": null, "registries": [] }),
                serde_json::json!({ "server": "boxed", "image": "x", "registries": [] }),
                serde_json::json!({ "server": "far", "image": null, "registries": ["pecl"] }),
                serde_json::json!({ "server": "by-hand", "image": null, "registries": [], "installed": false }),
            ])
            .collect();
        serde_json::to_string(&servers).unwrap()
    }

    #[test]
    fn every_server_has_its_turn_in_six_days_and_quick_ones_daily() {
        let mut seen = std::collections::BTreeSet::new();
        let mut left_out = Vec::new();
        for day in 20_000..20_000 + PARTS {
            let part = of_day(&listed(), day, &mut |_| false).unwrap();
            assert!(part.servers.iter().any(|name| name == "node-http"));
            assert!(part.servers.len() <= 8, "{part:?}");
            seen.extend(part.servers);
            left_out.extend(part.left_out);
        }
        assert_eq!(seen.len(), 41);
        left_out.sort();
        let words: Vec<String> = left_out.iter().map(|(name, why)| format!("{name}: {why}")).collect();
        assert_eq!(
            words,
            [
                "boxed: runs in containers only",
                "by-hand: no registry has it, and it is not on this machine",
                "far: pecl.php.net:443 cannot be reached"
            ]
        );
    }
}
