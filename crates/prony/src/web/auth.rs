//! Access to the pages: on loopback for everybody on this machine, elsewhere with the token.

use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};

use super::http::Request;

/// Bytes of a token: 128 bits cannot be guessed.
const TOKEN_BYTES: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct Auth {
    port: u16,
    /// None on loopback.
    token: Option<String>,
    open: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Admitted,
    /// The token was in its URL: it gets this cookie and is redirected to the URL without the token.
    SetCookie(String),
    Refused(&'static str),
}

impl Auth {
    pub(super) fn new(address: SocketAddr) -> io::Result<Auth> {
        let token = if address.ip().is_loopback() { None } else { Some(random_token()?) };
        Ok(Auth { port: address.port(), token, open: false })
    }

    /// For metrics, scraped without cookies: on loopback as [`Auth::new`], elsewhere open. Nothing secret is in them.
    pub(super) fn for_metrics(address: SocketAddr) -> Auth {
        Auth { port: address.port(), token: None, open: !address.ip().is_loopback() }
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Decides by the request's Host, Cookie and Sec-Fetch headers and its query.
    pub(super) fn admit(&self, request: &Request) -> Admission {
        if self.open {
            return Admission::Admitted;
        }
        if request.foreign {
            return Admission::Refused("Another web site asked for this page: open its address yourself.");
        }
        let Some(token) = &self.token else {
            // A name that resolves to 127.0.0.1 is a foreign page's way in (DNS rebinding).
            return if request.host.as_ref().is_some_and(|host| self.is_loopback_name(host)) {
                Admission::Admitted
            } else {
                Admission::Refused("This server is for requests to 127.0.0.1 or localhost only.")
            };
        };
        // Cookies are shared by all ports of a host.
        let name = format!("prony-{}", self.port);
        let shown = request.cookies.iter().flat_map(|line| line.split(';')).filter_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        });
        if shown.into_iter().any(|value| same(value, token)) {
            return Admission::Admitted;
        }
        let given = request.query.split('&').find_map(|pair| pair.strip_prefix("token="));
        if given.is_some_and(|value| same(value, token)) {
            return Admission::SetCookie(format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict"));
        }
        Admission::Refused("This page needs a token: open the URL that prony printed.")
    }

    fn is_loopback_name(&self, host: &str) -> bool {
        let port = format!(":{}", self.port);
        let name = host.strip_suffix(port.as_str()).unwrap_or(host);
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        // An address of loopback is nobody's name: no foreign page can be behind it.
        name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// Whether two texts are the same, in a time that does not depend on where they differ.
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

    fn auth(address: &str) -> Auth {
        Auth::new(address.parse().unwrap()).unwrap()
    }

    fn admitted(auth: &Auth, host: Option<&str>, cookies: &[&str], query: &str) -> Admission {
        let cookies = cookies.iter().map(|cookie| (*cookie).to_owned()).collect();
        let (host, query) = (host.map(str::to_owned), query.to_owned());
        auth.admit(&Request { host, cookies, query, ..Request::default() })
    }

    #[test]
    fn a_loopback_server_admits_only_loopback_host_names() {
        let auth = auth("127.0.0.1:4000");
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST", "[::1]:4000", "127.0.0.2:4000"] {
            assert_eq!(admitted(&auth, Some(host), &[], ""), Admission::Admitted, "{host}");
        }
        for host in
            [Some("evil.example:4000"), Some("127.0.0.1.evil.example"), Some(""), Some("localhost:80"), None]
        {
            assert!(matches!(admitted(&auth, host, &[], ""), Admission::Refused(_)), "{host:?}");
        }
    }

    #[test]
    fn a_server_admits_the_loopback_address_that_it_listens_on() {
        for address in ["127.0.0.1:4000", "127.0.0.2:4000", "127.255.0.9:4000", "[::1]:4000"] {
            assert_eq!(admitted(&auth(address), Some(address), &[], ""), Admission::Admitted, "{address}");
        }
        let other = admitted(&auth("127.0.0.2:4000"), Some("192.0.2.1"), &[], "");
        assert!(matches!(other, Admission::Refused(_)));
    }

    #[test]
    fn what_another_site_asks_for_is_refused_with_the_cookie_too() {
        let host = Some("127.0.0.1:4000".to_owned());
        let foreign = Request { host, foreign: true, ..Request::default() };
        for auth in [auth("127.0.0.1:4000"), Auth::for_metrics("127.0.0.1:4000".parse().unwrap())] {
            assert!(matches!(auth.admit(&foreign), Admission::Refused(why) if why.contains("web site")));
        }
        let elsewhere = auth("0.0.0.0:4000");
        let cookie = format!("prony-4000={}", elsewhere.token().unwrap());
        let foreign = Request { cookies: vec![cookie], ..foreign };
        assert!(matches!(elsewhere.admit(&foreign), Admission::Refused(why) if why.contains("web site")));
        let own = Request { foreign: false, ..foreign };
        assert_eq!(elsewhere.admit(&own), Admission::Admitted);
    }

    #[test]
    fn metrics_on_loopback_admit_only_loopback_host_names() {
        let of = |address: &str| Auth::for_metrics(address.parse().unwrap());
        assert!(matches!(
            admitted(&of("127.0.0.1:4000"), Some("evil.example"), &[], ""),
            Admission::Refused(_)
        ));
        assert_eq!(admitted(&of("127.0.0.1:4000"), Some("127.0.0.1:4000"), &[], ""), Admission::Admitted);
        assert_eq!(admitted(&of("0.0.0.0:4000"), Some("prometheus.example"), &[], ""), Admission::Admitted);
    }

    #[test]
    fn beyond_loopback_a_request_needs_the_token_or_its_cookie() {
        let auth = auth("0.0.0.0:4000");
        let token = auth.token().unwrap().to_owned();
        assert_eq!(token.len(), 32);
        for query in ["", "token=", "token=1", "x=token"] {
            assert!(matches!(admitted(&auth, Some("h"), &[], query), Admission::Refused(_)), "{query}");
        }
        let Admission::SetCookie(cookie) = admitted(&auth, Some("h"), &[], &format!("a=1&token={token}"))
        else {
            panic!("the token is right");
        };
        assert!(cookie.contains("HttpOnly; SameSite=Strict"));
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(admitted(&auth, Some("h"), &[&format!("x=1; {pair}")], ""), Admission::Admitted);
        assert!(matches!(admitted(&auth, None, &["prony-4000=0"], ""), Admission::Refused(_)));
    }
}
