//! The request's bytes, built once before the clock starts.

use crate::plan::{Plan, PlanError};
use crate::target::without_userinfo;

/// The request as it goes over the wire, the same for every request of a plan without a list.
///
/// # Errors
/// When the method or a header could not stand in a request: a plan that
/// smuggles a line break would measure another request than it says.
pub(crate) fn build(plan: &Plan) -> Result<Vec<u8>, PlanError> {
    build_one(plan, &plan.method, &plan.target.path, plan.target.userinfo.as_deref())
}

/// One request of a plan, with the plan's headers and body.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_one(
    plan: &Plan,
    method: &str,
    path: &str,
    userinfo: Option<&str>,
) -> Result<Vec<u8>, PlanError> {
    check_method(method).map_err(PlanError)?;
    let mut bytes = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    let given = |name: &str| plan.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let mut line = |name: &str, value: &str| {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    };
    if !given("host") {
        line("Host", &plan.target.host_header());
    }
    if !given("user-agent") {
        line("User-Agent", concat!("prony/", env!("CARGO_PKG_VERSION")));
    }
    if let (Some(userinfo), false) = (userinfo, given("authorization")) {
        line("Authorization", &basic(userinfo));
    }
    for (name, value) in &plan.headers {
        check_header(name, value)?;
        line(name, value);
    }
    if !plan.keepalive && !given("connection") {
        line("Connection", "close");
    }
    if !plan.body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        line("Content-Length", &plan.body.len().to_string());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&plan.body);
    Ok(bytes)
}

/// What `Authorization` says of a URL's user and password (RFC 7617).
pub(crate) fn basic(userinfo: &str) -> String {
    format!("Basic {}", base64(userinfo.as_bytes()))
}

/// Whether it can stand in a request line.
///
/// # Errors
/// A sentence that says why not.
pub(crate) fn check_method(method: &str) -> Result<(), String> {
    if method.is_empty() || !method.bytes().all(is_token_byte) {
        let method: String = without_userinfo(method).chars().take(40).collect();
        return Err(format!("{method:?} is not a method: write one like GET or POST."));
    }
    if method == "CONNECT" {
        return Err("CONNECT asks for a tunnel, which Prony does not load.".to_owned());
    }
    Ok(())
}

/// Whether it can be sent as a header of one's own.
///
/// # Errors
/// A sentence that says why not.
pub fn check_header(name: &str, value: &str) -> Result<(), PlanError> {
    if name.is_empty() || !name.bytes().all(is_token_byte) {
        return Err(PlanError(format!("{name:?} is not a header's name: write -H 'Name: value'.")));
    }
    if ["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(PlanError(format!("{name} is Prony's to write, from -b: leave it out.")));
    }
    if value.bytes().any(|b| (b < b' ' && b != b'\t') || b == 0x7f) {
        return Err(PlanError(format!("The value of the header {name} holds a control character.")));
    }
    Ok(())
}

/// RFC 9110, section 5.6.2.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// RFC 4648, section 4. Twelve lines, for the one place that needs it, against a dependency of the engine.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            if i <= group.len() {
                text.push(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize] as char);
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    fn plan(url: &str) -> Plan {
        Plan::closed(Target::parse(url).unwrap())
    }

    fn text(plan: &Plan) -> String {
        String::from_utf8(build(plan).unwrap()).unwrap()
    }

    #[test]
    fn a_plain_get() {
        let want = format!(
            "GET /x?y HTTP/1.1\r\nHost: h:8080\r\nUser-Agent: prony/{}\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(text(&plan("http://h:8080/x?y")), want);
    }

    #[test]
    fn a_post_with_headers_of_its_own() {
        let mut p = plan("http://me:pass@h/");
        p.method = "POST".to_owned();
        p.body = b"hello".to_vec();
        p.keepalive = false;
        p.headers = vec![("host".to_owned(), "other".to_owned())];
        let got = text(&p);
        assert!(!got.contains("Host: h"), "{got}");
        assert!(got.contains("host: other\r\n") && got.contains("Connection: close\r\n"));
        assert!(got.contains("Authorization: Basic bWU6cGFzcw==\r\n"));
        assert!(got.ends_with("Content-Length: 5\r\n\r\nhello"));
    }

    #[test]
    fn base64_of_the_rfc() {
        for (plain, want) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), want);
        }
    }

    #[test]
    fn line_breaks_cannot_be_smuggled() {
        let mut p = plan("http://h/");
        p.method = "GET / HTTP/1.1\r\nX:".to_owned();
        assert!(build(&p).is_err());
        p.method = "GET".to_owned();
        p.headers = vec![("X".to_owned(), "a\r\nY: b".to_owned())];
        assert!(build(&p).is_err());
        p.headers = vec![("X Y".to_owned(), "a".to_owned())];
        assert!(build(&p).is_err());
        p.headers = vec![("Content-Length".to_owned(), "1".to_owned())];
        assert!(build(&p).is_err());
    }
}
