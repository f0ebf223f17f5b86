//! The plan's requests as header blocks, ready before the clock starts.

use prony_http2::client::Requests;
use prony_http2::hpack::{Field, Indexing};
use prony_model::Plan;
use prony_model::secret::Secret;
use prony_model::target::basic;

/// A header of all requests, its name in lower case.
struct Header {
    name: String,
    value: Vec<u8>,
    indexing: Indexing,
}

impl Header {
    fn field(&self) -> Field<'_> {
        Field { name: &self.name, value: &self.value, indexing: self.indexing }
    }
}

pub(crate) fn build(plan: &Plan) -> Requests {
    let headers = headers(plan);
    let authority = plan.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority =
        authority.map_or_else(|| plan.target.host_header(), |(_, value)| value.value().to_owned());
    let shared = |name, value| Field { name, value, indexing: Indexing::Shared };
    let once = |name, value| Field { name, value, indexing: Indexing::Once };
    let scheme: &[u8] = if plan.target.tls { b"https" } else { b"http" };
    let mut fields = vec![shared(":scheme", scheme), shared(":authority", authority.as_bytes())];
    let Some(list) = plan.work.list() else {
        let (method, path) = (plan.work.method(), plan.target.path.as_str());
        fields.extend([shared(":method", method.as_bytes()), shared(":path", path.as_bytes())]);
        let length = length(plan, method);
        let own = authorization(plan, plan.target.userinfo.as_ref());
        fields.extend(headers.iter().chain(&own).chain(&length).map(Header::field));
        let mut requests = Requests::new(&fields, plan.body.clone());
        requests.push(&[], &[], method == "HEAD");
        return requests;
    };
    fields.extend(headers.iter().map(Header::field));
    let mut requests = Requests::new(&fields, plan.body.clone());
    for one in &list.requests {
        let before = [once(":method", one.method.as_bytes()), once(":path", one.path.as_bytes())];
        let length = length(plan, &one.method);
        let own = authorization(plan, one.userinfo.as_ref());
        let behind: Vec<Field<'_>> = own.iter().chain(&length).map(Header::field).collect();
        requests.push(&before, &behind, one.method == "HEAD");
    }
    requests
}

/// The headers that all requests have, but for `Host`, which is `:authority`.
fn headers(plan: &Plan) -> Vec<Header> {
    let given = |name: &str| plan.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let mut headers = Vec::new();
    if !given("user-agent") {
        let value = concat!("prony/", env!("CARGO_PKG_VERSION")).as_bytes().to_vec();
        headers.push(Header { name: "user-agent".to_owned(), value, indexing: Indexing::Shared });
    }
    for (name, value) in &plan.headers {
        let lower = name.to_ascii_lowercase();
        if lower != "host" {
            let indexing = if value.is_hidden() { Indexing::Never } else { Indexing::Shared };
            headers.push(Header { name: lower, value: value.value().trim().into(), indexing });
        }
    }
    headers
}

/// The user and password of a URL, where no header gives them.
fn authorization(plan: &Plan, userinfo: Option<&Secret>) -> Option<Header> {
    let given = plan.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let value = basic(userinfo.filter(|_| !given)?).into_bytes();
    Some(Header { name: "authorization".to_owned(), value, indexing: Indexing::Never })
}

/// The body's length, where there is one or the method has one.
fn length(plan: &Plan, method: &str) -> Option<Header> {
    let has_body = !plan.body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
    let value = plan.body.len().to_string().into_bytes();
    has_body.then(|| Header { name: "content-length".to_owned(), value, indexing: Indexing::Once })
}
