//! The URL that is loaded, checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::error::{PlanError, wrong};
use crate::secret::{Secret, filled_in, gives, percent_bytes, redacted, remember_url};

/// What is loaded: one `http://` or `https://` URL, in parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Host name or address, an IPv6 address without its brackets; a link-local one with its interface (`fe80::1%eth0`).
    pub host: String,
    pub port: u16,
    /// Path and query, always beginning with `/`.
    pub path: String,
    /// `user:password` of the URL, percent-encoded as it stands there; sent as Basic credentials and never printed.
    pub userinfo: Option<Secret>,
    /// Whether TLS is spoken: the URL's scheme is `https`.
    pub tls: bool,
}

impl Target {
    pub fn parse(url: &str) -> Result<Target, PlanError> {
        let Some((scheme, rest)) = url.split_once("://") else {
            let url = redacted(&without_userinfo(url));
            return wrong(format!("{url:?} has no scheme: write http://{}", url.escape_debug()));
        };
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            other => {
                let scheme = other.escape_debug();
                return wrong(format!(
                    "{scheme}:// is not a scheme that Prony loads: write http://… or https://…"
                ));
            }
        };
        if let Some(bad) = rest.bytes().find(|b| *b <= b' ' || *b == 0x7f) {
            return wrong(format!(
                "The URL holds the byte 0x{bad:02x}, which cannot stand in a request line: write it as %{bad:02X}."
            ));
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        let path = match path.as_bytes().first() {
            None => "/".to_owned(),
            Some(b'?') => format!("/{path}"),
            Some(_) => path.to_owned(),
        };
        if !path.is_ascii() {
            return wrong("The URL's path holds a character outside ASCII: percent-encode it.");
        }
        let (userinfo, host_port) = match authority.rsplit_once('@') {
            Some((userinfo, host_port)) => (Some(Secret::hidden(userinfo)), host_port),
            None => (None, authority),
        };
        let (host, port) = split_host_port(host_port).map_err(PlanError)?;
        let port = port.unwrap_or(default_port(tls));
        remember_url(userinfo.as_ref().map(Secret::value), &path);
        Ok(Target { host, port, path, userinfo, tls })
    }

    /// Reads a URL as somebody wrote it for this run: `@env:NAME` in it is what the environment holds.
    pub fn given(url: &str) -> Result<Target, PlanError> {
        let authority = url.find("://").map_or(0, |at| at + 3);
        let path = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
        let server = filled_in(&url[..path], false).map_err(PlanError)?;
        Target::parse(&(server + &filled_in(&url[path..], true).map_err(PlanError)?))
    }

    /// Name or address without the interface of a link-local one, which is of this machine alone.
    pub fn name(&self) -> &str {
        self.host.split('%').next().unwrap_or_default()
    }

    pub fn host_header(&self) -> String {
        self.authority(self.name())
    }

    fn authority(&self, host: &str) -> String {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        if self.port == default_port(self.tls) { host } else { format!("{host}:{}", self.port) }
    }

    /// The URL as it may be printed and stored: without its userinfo and the values of secret parameters.
    pub fn display_url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(&self.host), redacted(&self.path))
    }

    /// These headers as they are sent there: with its user and password, unless they have an Authorization.
    pub fn headers(&self, mut given: Vec<(String, Secret)>) -> Vec<(String, Secret)> {
        if let Some(userinfo) = self.userinfo.as_ref().filter(|_| !gives(&given, "authorization")) {
            given.push(("Authorization".to_owned(), Secret::hidden(basic(userinfo))));
        }
        given
    }
}

/// What `Authorization` says of a URL's user and password (RFC 7617), decoded (RFC 3986, section 3.2.1). A user alone has
/// an empty password, as in curl.
pub fn basic(userinfo: &Secret) -> String {
    let (user, password) = userinfo.value().split_once(':').unwrap_or((userinfo.value(), ""));
    let credentials = [&percent_bytes(user)[..], b":", &percent_bytes(password)].concat();
    format!("Basic {}", STANDARD.encode(credentials))
}

/// The port of a URL that names none (RFC 9110, sections 4.2.1 and 4.2.2).
fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

fn split_host_port(text: &str) -> Result<(String, Option<u16>), String> {
    let address;
    let (host, port) = if let Some(inner) = text.strip_prefix('[') {
        let Some((host, after)) = inner.split_once(']') else {
            return Err(format!("{text:?} opens a bracket that it does not close: write [::1]:8080."));
        };
        address = ipv6(host)?;
        let host = address.as_str();
        match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if after.is_empty() => (host, None),
            None => return Err(format!("{text:?} has text between the address and the port.")),
        }
    } else {
        match text.split_once(':') {
            Some(_) if text.parse::<std::net::Ipv6Addr>().is_ok() => {
                return Err(format!("{text:?} looks like an IPv6 address: write it in brackets, [{text}]."));
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    if host.is_empty() {
        return Err("The URL has no host: write http://HOST:PORT/PATH.".to_owned());
    }
    if !host.is_ascii() {
        return Err(format!("The host {host:?} is not ASCII: write its punycode form (xn--…)."));
    }
    let port = match port {
        None | Some("") => None,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 => Some(port),
            // Not what stands there: it may be the beginning of a password.
            _ => {
                return Err(
                    "The URL's port, after the host's colon, is not a number from 1 to 65535: correct it \
                     (and write a / or # in a password as %2F or %23)."
                        .to_owned(),
                );
            }
        },
    };
    Ok((host.to_owned(), port))
}

/// An IPv6 address, with its interface where it is link-local: `%eth0`, as everybody writes it, or `%25eth0` (RFC 6874).
fn ipv6(host: &str) -> Result<String, String> {
    let (address, zone) = host.split_once('%').unwrap_or((host, ""));
    let zone = zone.strip_prefix("25").filter(|zone| !zone.is_empty()).unwrap_or(zone);
    match address.parse::<std::net::Ipv6Addr>() {
        Err(_) => Err(format!("[{host}] is not an IPv6 address.")),
        Ok(parsed) if parsed.is_unicast_link_local() && zone.is_empty() => Err(format!(
            "[{address}] is a link-local address, which each interface may have: name the one that is meant, \
             [{address}%eth0] (`ip -6 address` lists them)."
        )),
        Ok(_) if zone.is_empty() => Ok(address.to_owned()),
        Ok(_) => Ok(format!("{address}%{zone}")),
    }
}

/// The path of a URL that [`Target::display_url`] gave, its query included.
pub fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or("/", |at| &rest[at..])
}

/// What was typed, with a password replaced: it goes to a terminal and to logs.
pub(crate) fn without_userinfo(text: &str) -> String {
    let (scheme, text) = text.split_at(text.find("://").map_or(0, |at| at + 3));
    let split = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (authority, rest) = text.split_at(split);
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}[redacted]@{host}{rest}"),
        None => format!("{scheme}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_its_parts() {
        let t = Target::parse("http://user:pw@example.org:8080/a?b=c#d").unwrap();
        assert_eq!((t.host.as_str(), t.port, t.path.as_str()), ("example.org", 8080, "/a?b=c"));
        assert_eq!(t.userinfo, Some(Secret::hidden("user:pw")));
        assert_eq!(t.display_url(), "http://example.org:8080/a?b=c");
        let t = Target::parse("http://[::1]?x").unwrap();
        assert_eq!((t.host.as_str(), t.port, t.path.as_str()), ("::1", 80, "/?x"));
        assert_eq!(t.host_header(), "[::1]");
        assert!(!t.tls);
    }

    #[test]
    fn a_url_is_shown_without_the_values_of_secret_parameters() {
        let t = Target::given("http://h/a?api_key=s3&b=c&access_token=@env:PATH").unwrap();
        assert!(t.path.starts_with("/a?api_key=s3&b=c&access_token=%2F") && !t.path.contains("@env"));
        let shown = t.display_url();
        assert_eq!(shown, "http://h/a?api_key=[redacted]&b=c&access_token=@env:PATH");
        let said = Target::parse("h/a?token=s3").unwrap_err().0;
        assert!(said.contains("h/a?token=[redacted]"), "{said}");
    }

    #[test]
    fn the_scheme_decides_tls_and_the_port() {
        for (url, port, host_header, display) in [
            ("https://h", 443, "h", "https://h/"),
            ("HTTPS://h:443/x", 443, "h", "https://h/x"),
            ("https://h:80/", 80, "h:80", "https://h:80/"),
            ("https://me:pw@[::1]:8443/", 8443, "[::1]:8443", "https://[::1]:8443/"),
            ("http://h:443/", 443, "h:443", "http://h:443/"),
        ] {
            let t = Target::parse(url).unwrap();
            assert_eq!(t.tls, !url.starts_with("http:"), "{url}");
            assert_eq!(
                (t.port, t.host_header().as_str(), t.display_url().as_str()),
                (port, host_header, display)
            );
        }
    }

    #[test]
    fn user_and_password_are_sent_decoded() {
        let sent = |url: &str| basic(&Target::parse(url).unwrap().userinfo.unwrap());
        for (userinfo, credentials) in [
            ("me:plain", &b"me:plain"[..]),
            ("u%40d:1%3d2%3f", b"u@d:1=2?"),
            ("me:a%2Fb%23c", b"me:a/b#c"),
            ("me", b"me:"),
            ("me:", b"me:"),
            (":pw", b":pw"),
            ("a%3Ab:c:d", b"a:b:c:d"),
            ("me:100%", b"me:100%"),
            ("me:%FF%zz", b"me:\xff%zz"),
        ] {
            let expected = format!("Basic {}", STANDARD.encode(credentials));
            assert_eq!(sent(&format!("http://{userinfo}@h/")), expected, "{userinfo}");
        }
        let given = Target::given("http://me:@env:CARGO_PKG_NAME@h/").unwrap();
        assert_eq!(
            basic(&given.userinfo.unwrap()),
            format!("Basic {}", STANDARD.encode(format!("me:{}", std::env::var("CARGO_PKG_NAME").unwrap())))
        );
        let said = redacted("he sent dec0ded@word");
        assert!(said.contains("dec0ded@word"));
        Target::parse("http://me:dec0ded%40word@h/").unwrap();
        assert!(!redacted("he sent dec0ded@word").contains("dec0ded"));
    }

    #[test]
    fn a_link_local_address_names_its_interface() {
        for url in ["http://[fe80::1%eth0]:8080/x", "http://[fe80::1%25eth0]:8080/x"] {
            let t = Target::parse(url).unwrap();
            assert_eq!((t.host.as_str(), t.name()), ("fe80::1%eth0", "fe80::1"));
            // The interface is this machine's own business (RFC 6874, section 4).
            assert_eq!(t.host_header(), "[fe80::1]:8080");
            assert_eq!(t.display_url(), "http://[fe80::1%eth0]:8080/x");
        }
        let said = Target::parse("http://[fe80::1]/").unwrap_err().0;
        assert!(said.contains("[fe80::1%eth0]"), "{said}");
        assert!(Target::parse("http://[x%eth0]/").unwrap_err().0.contains("not an IPv6"));
    }

    #[test]
    fn paths_are_cut_from_urls() {
        for (url, expected) in [("http://h/", "/"), ("http://h:80/a/b?c", "/a/b?c"), ("http://[::1]", "/")] {
            assert_eq!(path_of(url), expected);
        }
    }

    #[test]
    fn wrong_urls_are_refused_in_a_sentence() {
        let said = |url: &str| Target::parse(url).unwrap_err().0;
        assert!(said("localhost:8080").contains("write http://localhost:8080"));
        assert!(said("ftp://u:secret@h/").contains("not a scheme"));
        assert!(!said("ftp://u:secret@h/").contains("secret"));
        assert!(said("http:///x").contains("no host"));
        assert!(said("http://h:0/").contains("1 to 65535"));
        assert!(said("http://h:99999/").contains("1 to 65535"));
        assert!(said("http://h/a b").contains("0x20"));
        assert!(said("http://::1/").contains("brackets"));
        assert!(said("http://[::1/").contains("bracket"));
        let cut = said("http://me:s3cret:s4/@h/");
        assert!(cut.contains("1 to 65535") && !cut.contains("s3cret"), "a password with a /: {cut}");
    }

    #[test]
    fn a_url_without_a_scheme_is_named_without_its_password() {
        let said = Target::parse("me:s3cret@h/x@y").unwrap_err().0;
        assert!(said.contains("[redacted]@h/x@y") && !said.contains("s3cret"), "{said}");
        assert!(Target::parse("h:80/").unwrap_err().0.contains("http://h:80/"));
    }
}
