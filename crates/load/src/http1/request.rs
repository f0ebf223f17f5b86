//! The request's bytes, built once before the clock starts.

use prony_model::plan::PlannedRequest;
use prony_model::target::basic;

pub(crate) fn build(host: &str, keepalive: bool, one: &PlannedRequest<'_>) -> Vec<u8> {
    let mut bytes = format!("{} {} HTTP/1.1\r\n", one.method, one.path).into_bytes();
    let given = |name: &str| one.headers().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let mut line = |name: &str, value: &str| {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    };
    if !given("host") {
        line("Host", host);
    }
    if !given("user-agent") {
        line("User-Agent", concat!("prony/", env!("CARGO_PKG_VERSION")));
    }
    if let (Some(userinfo), false) = (one.userinfo, given("authorization")) {
        line("Authorization", &basic(userinfo));
    }
    for (name, value) in one.headers() {
        line(name, value.value());
    }
    if !keepalive && !given("connection") {
        line("Connection", "close");
    }
    if let Some(length) = one.content_length() {
        line("Content-Length", &length.to_string());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(one.body());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::Plan;
    use prony_model::list::{Order, OwnParts, TargetList};
    use prony_model::plan::Work;
    use prony_model::secret::Secret;
    use prony_model::target::Target;

    fn plan(url: &str) -> Plan {
        Plan::closed(Target::parse(url).unwrap())
    }

    fn text(plan: &Plan) -> String {
        let one = plan.requests().next().unwrap();
        String::from_utf8(build(&plan.target.host_header(), plan.keepalive, &one)).unwrap()
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
    fn a_lines_own_headers_and_body_replace_the_plans() {
        let mut p = plan("http://h/");
        let text = b"POST /a\n/b\n";
        let mut list = TargetList::parse(text, Some(&p.target), "GET", Order::InTurn).unwrap().1;
        let headers = vec![("x-own".to_owned(), Secret::hidden("2"))];
        list.requests[0].own = Some(Box::new(OwnParts { headers, body: Some(b"ab".to_vec()), expect: None }));
        p.headers =
            vec![("X-Own".to_owned(), Secret::hidden("1")), ("X-All".to_owned(), Secret::hidden("3"))];
        (p.work, p.body) = (Work::List(list), b"plan".to_vec());
        let texts: Vec<String> =
            p.requests().map(|one| String::from_utf8(build("h", true, &one)).unwrap()).collect();
        assert!(texts[0].ends_with("X-All: 3\r\nx-own: 2\r\nContent-Length: 2\r\n\r\nab"), "{}", texts[0]);
        assert!(texts[1].ends_with("X-Own: 1\r\nX-All: 3\r\nContent-Length: 4\r\n\r\nplan"), "{}", texts[1]);
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
