//! Where connections go, where that is not simply the URL's host and port.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{PlanError, wrong};
use crate::target::Target;

/// The most rules of `--connect-to`.
const RULES_MAX: usize = 64;
/// A name is asked for at most so often: a resolver is shared with others.
const RESOLVE_EVERY_MIN: Duration = Duration::from_millis(100);

/// How a server's addresses are found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Connect {
    /// Of each origin the first rule that fits it says where it is; without one its URL does.
    pub to: Vec<ConnectTo>,
    /// `Some`: no addresses of another kind.
    pub ip: Option<IpVersion>,
    /// Connections are spread over all addresses of the name, instead of all going to the first that accepts.
    pub all_addresses: bool,
    /// How often the name is resolved anew, for connections opened from then on.
    pub resolve_every: Option<Duration>,
    /// The name that TLS asks for (SNI) and that the certificate must have, where that is not the URL's.
    pub sni: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IpVersion {
    #[serde(rename = "4")]
    V4,
    #[serde(rename = "6")]
    V6,
}

impl IpVersion {
    pub fn is_of(self, address: &SocketAddr) -> bool {
        address.is_ipv4() == (self == IpVersion::V4)
    }
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == IpVersion::V4 { "4" } else { "6" })
    }
}

/// Connections to a host and port of URLs (any, where `None`) go to another host or port (the same, where `None`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectTo {
    pub from_host: Option<String>,
    pub from_port: Option<u16>,
    pub host: Option<String>,
    pub port: Option<u16>,
}

impl Connect {
    /// The host, a name or an address, and the port that are connected to for this origin.
    pub fn destination<'a>(&'a self, origin: &'a Target) -> (&'a str, u16) {
        let fits = |rule: &&ConnectTo| {
            rule.from_host.as_ref().is_none_or(|host| host.eq_ignore_ascii_case(&origin.host))
                && rule.from_port.is_none_or(|port| port == origin.port)
        };
        let rule = self.to.iter().find(fits);
        let host = rule.and_then(|rule| rule.host.as_deref()).unwrap_or(&origin.host);
        (host, rule.and_then(|rule| rule.port).unwrap_or(origin.port))
    }

    pub(crate) fn check(&self, speaks_tls: bool, unix: bool) -> Result<(), PlanError> {
        if self.to.len() > RULES_MAX {
            return wrong(format!("Over {RULES_MAX} rules of --connect-to: give fewer."));
        }
        if self.resolve_every.is_some_and(|every| every < RESOLVE_EVERY_MIN) {
            return wrong("--resolve-every asks a resolver that others use: give at least 100ms.");
        }
        if self.sni.is_some() && !speaks_tls {
            return wrong("--sni is the name that TLS asks for, and the URL is not https://: leave it out.");
        }
        if unix && *self != (Connect { sni: self.sni.clone(), ..Connect::default() }) {
            return wrong(
                "--unix says where to connect: leave it out, or --connect-to, --all-addresses, --resolve-every, -4 and -6.",
            );
        }
        Ok(())
    }
}

impl FromStr for ConnectTo {
    type Err = PlanError;

    /// `ADDRESS:PORT`, for every URL, or curl's `HOST1:PORT1:HOST2:PORT2`, whose parts may be empty.
    fn from_str(text: &str) -> Result<ConnectTo, PlanError> {
        let unclear = || {
            PlanError(format!(
                "--connect-to {text:?}: write ADDRESS:PORT, or HOST:PORT:ADDRESS:PORT for the URLs of one host and port; an \
                 IPv6 address in brackets."
            ))
        };
        let mut in_brackets = false;
        let parts: Vec<&str> = text
            .split(|c| {
                in_brackets = (in_brackets || c == '[') && c != ']';
                c == ':' && !in_brackets
            })
            .collect();
        let host = |text: &str| -> Result<Option<String>, PlanError> {
            let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
            let is_fit = |c: char| c.is_ascii_alphanumeric() || "-._%:".contains(c);
            if bare.len() > 255 || !bare.chars().all(is_fit) || bare.contains(':') != text.starts_with('[') {
                return Err(unclear());
            }
            Ok((!bare.is_empty()).then(|| bare.to_owned()))
        };
        let port = |text: &str| match text {
            "" => Ok(None),
            digits => digits.parse::<u16>().ok().filter(|port| *port > 0).map(Some).ok_or_else(unclear),
        };
        let rule = match parts[..] {
            [to, at] => ConnectTo { from_host: None, from_port: None, host: host(to)?, port: port(at)? },
            [from, of, to, at] => {
                ConnectTo { from_host: host(from)?, from_port: port(of)?, host: host(to)?, port: port(at)? }
            }
            _ => return Err(unclear()),
        };
        if rule.host.is_none() && rule.port.is_none() { Err(unclear()) } else { Ok(rule) }
    }
}

impl fmt::Display for ConnectTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut part = |host: &Option<String>, port: Option<u16>, before: &str| {
            let host = host.as_deref().unwrap_or_default();
            let port = port.map(|port| port.to_string()).unwrap_or_default();
            if host.contains(':') {
                write!(f, "{before}[{host}]:{port}")
            } else {
                write!(f, "{before}{host}:{port}")
            }
        };
        if self.from_host.is_none() && self.from_port.is_none() {
            return part(&self.host, self.port, "");
        }
        part(&self.from_host, self.from_port, "")?;
        part(&self.host, self.port, ":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rules: &[&str], url: &str) -> (String, u16) {
        let to = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let connect = Connect { to, ..Connect::default() };
        let target = Target::parse(url).unwrap();
        let (host, port) = connect.destination(&target);
        (host.to_owned(), port)
    }

    #[test]
    fn the_first_rule_that_fits_says_where_to_connect() {
        let at = |host: &str, port| (host.to_owned(), port);
        assert_eq!(of(&[], "http://a/"), at("a", 80));
        assert_eq!(of(&["127.0.0.1:8080"], "http://a/"), at("127.0.0.1", 8080));
        assert_eq!(of(&["A:80:b:81", "c:"], "http://a/"), at("b", 81));
        assert_eq!(of(&["a:81:b:81", ":9"], "http://a/"), at("a", 9));
        assert_eq!(of(&["::[::1]:8080"], "http://a/"), at("::1", 8080));
        assert_eq!(of(&["[::1]:81:b:"], "http://[::1]:81/"), at("b", 81));
    }

    #[test]
    fn rules_are_shown_as_they_are_written() {
        for text in ["127.0.0.1:8080", "a:80:[::1]:81", ":80:b:", "a:", ":9"] {
            assert_eq!(text.parse::<ConnectTo>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in
            ["", "a", ":", ":::", "a:b", "a:0", "a:65536", "a:1:b", "a:1:b:2:c", "[::1:80", "a b:1", "[a]:1"]
        {
            let said = text.parse::<ConnectTo>().unwrap_err().to_string();
            assert!(said.contains("write ADDRESS:PORT"), "{text}: {said}");
        }
    }
}
