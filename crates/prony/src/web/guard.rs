//! Who may see the pages: on loopback whoever is on this machine, elsewhere
//! who has the token.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;

/// Bytes of a token: nobody guesses 128 bits.
const TOKEN_BYTES: usize = 16;

/// What a request must show.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    port: u16,
    /// None on loopback.
    token: Option<String>,
    /// Whoever reaches it is answered.
    open: bool,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is answered.
    Admitted,
    /// It brought the token in its address: it is given a cookie and sent to the page without it.
    Welcome(String),
    /// It is refused, with a sentence.
    Refused(&'static str),
}

impl Guard {
    /// For a server that listens there.
    ///
    /// # Errors
    /// When the kernel gives no random bytes.
    pub(super) fn new(address: SocketAddr) -> io::Result<Guard> {
        let token = if address.ip().is_loopback() { None } else { Some(random_token()?) };
        Ok(Guard { port: address.port(), token, open: false })
    }

    /// For figures that a machine asks for, which has no browser to keep a cookie in: on loopback as
    /// [`Guard::new`], elsewhere open. That is why nothing secret is among them.
    pub(super) fn of_figures(address: SocketAddr) -> Guard {
        Guard { port: address.port(), token: None, open: !address.ip().is_loopback() }
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    fn cookie_name(&self) -> String {
        // Cookies are shared by all ports of a host.
        format!("prony-{}", self.port)
    }

    /// Decides by the request's Host and Cookie headers and its query.
    pub(super) fn admit(&self, host: Option<&str>, cookies: &[&str], query: &str) -> Admission {
        if self.open {
            return Admission::Admitted;
        }
        let Some(token) = &self.token else {
            // A name that resolves to 127.0.0.1 is a foreign page's way in (DNS rebinding).
            return if host.is_some_and(|host| self.is_loopback_name(host)) {
                Admission::Admitted
            } else {
                Admission::Refused("This server answers to 127.0.0.1 and localhost only.")
            };
        };
        let name = self.cookie_name();
        let shown = cookies.iter().flat_map(|line| line.split(';')).filter_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        });
        if shown.into_iter().any(|value| same(value, token)) {
            return Admission::Admitted;
        }
        let given = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        if given.is_some_and(|value| same(value, token)) {
            return Admission::Welcome(format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict"));
        }
        Admission::Refused("This page needs the token: open the address that prony printed.")
    }

    fn is_loopback_name(&self, host: &str) -> bool {
        let port = format!(":{}", self.port);
        let name = host.strip_suffix(port.as_str()).unwrap_or(host);
        matches!(name.to_ascii_lowercase().as_str(), "127.0.0.1" | "localhost" | "[::1]")
    }
}

/// Whether two texts are the same, in a time that does not tell where they differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

fn random_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(address.parse().unwrap()).unwrap()
    }

    #[test]
    fn on_loopback_only_its_own_names_are_answered() {
        let guard = guard("127.0.0.1:4000");
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST", "[::1]:4000"] {
            assert_eq!(guard.admit(Some(host), &[], ""), Admission::Admitted, "{host}");
        }
        for host in
            [Some("evil.example:4000"), Some("127.0.0.1.evil.example"), Some(""), Some("localhost:80"), None]
        {
            assert!(matches!(guard.admit(host, &[], ""), Admission::Refused(_)), "{host:?}");
        }
    }

    #[test]
    fn figures_are_for_this_machine_unless_another_address_is_named() {
        let of = |address: &str| Guard::of_figures(address.parse().unwrap());
        assert!(matches!(of("127.0.0.1:4000").admit(Some("evil.example"), &[], ""), Admission::Refused(_)));
        assert_eq!(of("127.0.0.1:4000").admit(Some("127.0.0.1:4000"), &[], ""), Admission::Admitted);
        assert_eq!(of("0.0.0.0:4000").admit(Some("prometheus.example"), &[], ""), Admission::Admitted);
    }

    #[test]
    fn elsewhere_the_token_is_asked_for_and_then_a_cookie_shows_it() {
        let guard = guard("0.0.0.0:4000");
        let token = guard.token().unwrap().to_owned();
        assert_eq!(token.len(), 32);
        for query in ["", "token=", "token=1", "x=token"] {
            assert!(matches!(guard.admit(Some("h"), &[], query), Admission::Refused(_)), "{query}");
        }
        let Admission::Welcome(cookie) = guard.admit(Some("h"), &[], &format!("a=1&token={token}")) else {
            panic!("the token is right");
        };
        assert!(cookie.contains("HttpOnly; SameSite=Strict"));
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(guard.admit(Some("h"), &[&format!("x=1; {pair}")], ""), Admission::Admitted);
        assert!(matches!(guard.admit(None, &["prony-4000=0"], ""), Admission::Refused(_)));
    }
}
