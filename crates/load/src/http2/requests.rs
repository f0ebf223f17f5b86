//! The plan's requests as header blocks, ready before the clock starts.

use std::borrow::Cow;
use std::collections::HashSet;

use prony_http2::client::Requests;
use prony_http2::hpack::{Field, Indexing};
use prony_model::Plan;
use prony_model::plan::PlannedRequest;
use prony_model::target::basic;

struct Header<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, [u8]>,
    indexing: Indexing,
    common: bool,
}

impl Header<'_> {
    fn field(&self) -> Field<'_> {
        Field { name: &self.name, value: &self.value, indexing: self.indexing }
    }
}

pub(crate) fn build(plan: &Plan) -> Requests {
    let own = plan.requests().flat_map(|one| one.own_headers()).map(|(name, _)| name.to_ascii_lowercase());
    let origins = plan.origins().iter().map(|o| (if o.tls { "https" } else { "http" }, o.host_header()));
    let origins: Vec<(&str, String)> = origins.collect();
    let common = Common { own: own.collect(), alone: plan.work.list().is_none(), several: origins.len() > 1 };
    let mut requests: Option<Requests> = None;
    for one in plan.requests() {
        let (scheme, host) = &origins[one.origin];
        let headers = headers(&one, scheme, host, &common);
        let requests = requests.get_or_insert_with(|| {
            let shared: Vec<Field<'_>> = headers.iter().filter(|h| h.common).map(Header::field).collect();
            Requests::new(&shared, plan.body.clone())
        });
        let own: Vec<Field<'_>> = headers.iter().filter(|h| !h.common).map(Header::field).collect();
        let (before, behind) = own.split_at(own.partition_point(|field| field.name.starts_with(':')));
        requests.push(before, behind, one.method == "HEAD", one.own_body());
    }
    // A plan without a request is refused before.
    requests.unwrap_or_else(|| Requests::new(&[], Vec::new()))
}

struct Common {
    own: HashSet<String>,
    alone: bool,
    several: bool,
}

impl Common {
    fn header<'a>(&self, name: Cow<'a, str>, value: impl Into<Cow<'a, [u8]>>, hidden: bool) -> Header<'a> {
        let of_each = matches!(&*name, ":method" | ":path")
            || (self.several && matches!(&*name, ":scheme" | ":authority"));
        let as_header = if name == ":authority" { "host" } else { &name };
        let common = self.alone || !(of_each || self.own.contains(as_header));
        let indexing = match (hidden, common) {
            (true, _) => Indexing::Never,
            (false, true) => Indexing::Shared,
            (false, false) => Indexing::Once,
        };
        Header { value: value.into(), name, indexing, common }
    }
}

/// All headers of a request; pseudo-headers come first.
fn headers<'a>(one: &PlannedRequest<'a>, scheme: &'a str, host: &'a str, common: &Common) -> Vec<Header<'a>> {
    let given =
        |name: &str| one.headers().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    let plain = |name: &'static str, value: &'a str| common.header(name.into(), value.as_bytes(), false);
    let mut headers = vec![
        plain(":scheme", scheme),
        plain(":authority", given("host").map_or(host, |value| value.value())),
        plain(":method", one.method),
        plain(":path", one.path),
    ];
    if given("user-agent").is_none() {
        headers.push(plain("user-agent", concat!("prony/", env!("CARGO_PKG_VERSION"))));
    }
    for (name, value) in one.headers().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
        let text = value.value().trim().as_bytes();
        headers.push(common.header(name.to_ascii_lowercase().into(), text, value.is_hidden()));
    }
    let of_one = |name: &'static str, value: String, indexing| {
        let value = value.into_bytes().into();
        Header { name: name.into(), value, indexing, common: common.alone }
    };
    if let (Some(userinfo), None) = (one.userinfo, given("authorization")) {
        headers.push(of_one("authorization", basic(userinfo), Indexing::Never));
    }
    if let Some(length) = one.content_length() {
        headers.push(of_one("content-length", length.to_string(), Indexing::Once));
    }
    headers
}
