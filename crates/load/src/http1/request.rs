//! The request's bytes, built once before the clock starts.

use prony_model::Plan;
use prony_model::secret::Secret;
use prony_model::target::basic;

/// A request of a plan as it goes over the wire, with the plan's headers and body.
pub(crate) fn build(plan: &Plan, method: &str, path: &str, userinfo: Option<&Secret>) -> Vec<u8> {
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
        line(name, value.value());
    }
    if !plan.keepalive && !given("connection") {
        line("Connection", "close");
    }
    if !plan.body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        line("Content-Length", &plan.body.len().to_string());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&plan.body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::plan::Work;
    use prony_model::target::Target;

    fn plan(url: &str) -> Plan {
        Plan::closed(Target::parse(url).unwrap())
    }

    fn text(plan: &Plan) -> String {
        let Plan { work, target, .. } = plan;
        String::from_utf8(build(plan, work.method(), &target.path, target.userinfo.as_ref())).unwrap()
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
    fn a_post_has_its_length_and_the_given_headers() {
        let mut p = plan("http://me:pass@h/");
        p.work = Work::Request("POST".to_owned());
        p.body = b"hello".to_vec();
        p.keepalive = false;
        p.headers = vec![("host".to_owned(), Secret::hidden("other"))];
        let got = text(&p);
        assert!(!got.contains("Host: h"), "{got}");
        assert!(got.contains("host: other\r\n") && got.contains("Connection: close\r\n"));
        assert!(got.contains("Authorization: Basic bWU6cGFzcw==\r\n"));
        assert!(got.ends_with("Content-Length: 5\r\n\r\nhello"));
    }

    #[test]
    fn line_breaks_cannot_be_smuggled() {
        let mut p = plan("http://h/");
        p.work = Work::Request("GET / HTTP/1.1\r\nX:".to_owned());
        assert!(p.check().is_err());
        p.work = Work::Request("GET".to_owned());
        p.headers = vec![("X".to_owned(), Secret::hidden("a\r\nY: b"))];
        assert!(p.check().is_err());
        p.headers = vec![("X Y".to_owned(), Secret::hidden("a"))];
        assert!(p.check().is_err());
        p.headers = vec![("Content-Length".to_owned(), Secret::hidden("1"))];
        assert!(p.check().is_err());
    }
}
