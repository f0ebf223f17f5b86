//! What `--fleet` says: which agents apply a load.

use std::net::IpAddr;

use prony_model::fleet::AGENTS_MAX;

use crate::pool::Pool;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agents {
    Local(u32),
    Ssh(Vec<SshHost>),
    Pool(Pool, u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshHost {
    /// What ssh calls it: `host`, `user@host` or a name of ~/.ssh/config.
    pub name: String,
    pub data: Option<IpAddr>,
}

impl Agents {
    pub fn count(&self) -> u32 {
        match self {
            Agents::Local(count) | Agents::Pool(_, count) => *count,
            Agents::Ssh(hosts) => u32::try_from(hosts.len()).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn data(&self, agent: u32) -> Option<IpAddr> {
        match self {
            Agents::Local(_) | Agents::Pool(..) => None,
            Agents::Ssh(hosts) => hosts.get(agent as usize)?.data,
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Agents::Local(count) => (1..=*count).map(|agent| format!("local-{agent}")).collect(),
            Agents::Pool(_, count) => (1..=*count).map(|agent| format!("agent-{agent}")).collect(),
            Agents::Ssh(hosts) => {
                let nth = |at: usize| hosts[..at].iter().filter(|host| host.name == hosts[at].name).count();
                let name = |at: usize| match nth(at) {
                    0 => hosts[at].name.clone(),
                    before => format!("{}-{}", hosts[at].name, before + 1),
                };
                (0..hosts.len()).map(name).collect()
            }
        }
    }
}

impl Agents {
    /// Those of `--fleet`; `count` is `--agents`, which a pool needs.
    pub fn parse(text: &str, count: Option<u32>) -> Result<Agents, String> {
        let wrong = || {
            format!(
                "--fleet {text:?} is not a fleet: write local:N, with 1 to {AGENTS_MAX} agents on this \
                 machine, ssh:HOST,HOST,…, with 1 to {AGENTS_MAX} hosts, or nats://HOST[:PORT][/POOL] with \
                 --agents N."
            )
        };
        let is_few = |count: &u32| (1..=AGENTS_MAX).contains(count);
        if text.contains("://") {
            let pool = text.parse()?;
            let count = count.filter(is_few).ok_or_else(|| {
                format!(
                    "A pool may have more agents than one load needs: say how many apply this one with \
                     --agents N, 1 to {AGENTS_MAX}."
                )
            })?;
            return Ok(Agents::Pool(pool, count));
        }
        if count.is_some() {
            return Err(format!(
                "--agents is for a pool of agents, and --fleet {text} says how many there are."
            ));
        }
        if let Some(count) = text.strip_prefix("local:") {
            return count.parse().ok().filter(is_few).map(Agents::Local).ok_or_else(wrong);
        }
        let hosts = text.strip_prefix("ssh:").ok_or_else(wrong)?;
        let hosts =
            hosts.split(',').map(|host| SshHost::parse(host, "--fleet")).collect::<Result<Vec<_>, _>>()?;
        Some(Agents::Ssh(hosts)).filter(|agents| is_few(&agents.count())).ok_or_else(wrong)
    }
}

impl SshHost {
    /// `HOST` or `HOST=ADDRESS`, as this flag says it. A name that ssh or a shell could take for something else is refused.
    pub fn parse(text: &str, flag: &str) -> Result<SshHost, String> {
        let (name, data) = text.split_once('=').map_or((text, None), |(name, data)| (name, Some(data)));
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"._-@:%[]".contains(&b);
        // `host:22`; an IPv6 address has more colons.
        let has_port = name.matches(':').count() == 1 || name.contains("]:");
        let (user, host) = name.rsplit_once('@').unwrap_or(("", name));
        let is_whole = !name.starts_with(['-', '@']) && !host.is_empty() && !user.contains(':');
        if !(1..=255).contains(&name.len()) || has_port || !is_whole || !name.bytes().all(is_plain) {
            // A user's part is not repeated: it may hold a password.
            return Err(format!(
                "{flag}: {host:?} is not a host name: write a name as ssh takes it, `host` or `user@host`; a \
                 port is set in ~/.ssh/config."
            ));
        }
        let data = data.map(|data| {
            let plain = data.strip_prefix('[').and_then(|data| data.strip_suffix(']')).unwrap_or(data);
            plain.parse().map_err(|_| {
                format!(
                    "{flag}: {name}={data:?} has no IP address: write {name}= and one of the addresses of \
                     {name}."
                )
            })
        });
        Ok(SshHost { name: name.to_owned(), data: data.transpose()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_names_of_their_own_and_addresses_to_load_from() {
        assert!(Agents::parse("ssh:::1,me@[::1],fe80::1%eth0", None).is_ok());
        let agents = Agents::parse("ssh:a,me@b=10.0.0.2,a", None).unwrap();
        assert_eq!(agents.names(), ["a", "me@b", "a-2"]);
        let Agents::Ssh(hosts) = &agents else { unreachable!("they are hosts") };
        let data: Vec<_> = hosts.iter().map(|host| host.data).collect();
        assert_eq!((data, agents.count()), (vec![None, "10.0.0.2".parse().ok(), None], 3));
    }

    #[test]
    fn malformed_fleet_flags_are_refused() {
        for text in [
            "",
            "local:0",
            "local:257",
            "ssh:",
            "ssh:a,",
            "ssh:-oProxyCommand=x",
            "ssh:a b",
            "ssh:a=b",
            "ssh:a:22",
            "ssh:[::1]:22",
            "ssh:me@",
            "ssh:me:word@a",
            "ssh:@a",
            "ssh:$(x)",
        ] {
            assert!(Agents::parse(text, None).unwrap_err().contains("--fleet"), "{text}");
        }
        assert!(Agents::parse(&format!("ssh:{}", vec!["a"; 257].join(",")), None).is_err());
        assert!(Agents::parse("local:2", Some(2)).unwrap_err().contains("--agents"));
        assert!(Agents::parse("nats://h", None).unwrap_err().contains("--agents N"));
        assert_eq!(Agents::parse("nats://h/p", Some(3)).unwrap().names(), ["agent-1", "agent-2", "agent-3"]);
    }
}
