//! The plan's requests as header blocks, ready before the clock starts.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::values::{Render, Rendered, Source, Text};
use prony_http2::client::Requests;
use prony_http2::hpack::{Field, Indexing, write_field};
use prony_model::Plan;
use prony_model::plan::PlannedRequest;
use prony_model::secret::Secret;
use prony_model::target::basic;
use prony_model::values::Place;

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
    let (common, origins) = (Common::of(plan), origins(plan));
    let mut requests: Option<Requests> = None;
    for one in plan.requests() {
        let (scheme, host) = &origins[one.origin];
        let headers = headers(&one, scheme, host, &common);
        let requests = requests.get_or_insert_with(|| Requests::new(&shared(&headers), plan.body.clone()));
        let own: Vec<Field<'_>> = headers.iter().filter(|h| !h.common).map(Header::field).collect();
        let (before, behind) = own.split_at(own.partition_point(|field| field.name.starts_with(':')));
        requests.push(before, behind, one.method == "HEAD", one.own_body());
    }
    // A plan without a request is refused before.
    requests.unwrap_or_else(|| Requests::new(&[], Vec::new()))
}

/// The scheme and the name of each server.
fn origins(plan: &Plan) -> Vec<(&'static str, String)> {
    plan.origins().iter().map(|o| (if o.tls { "https" } else { "http" }, o.host_header())).collect()
}

fn shared<'h>(headers: &'h [Header<'_>]) -> Vec<Field<'h>> {
    headers.iter().filter(|header| header.common).map(Header::field).collect()
}

/// The requests of a plan with values, as texts with places for them.
pub(crate) struct Templates {
    source: Source,
    each: Vec<Template>,
    /// None, but with the fields that all have.
    none: Requests,
}

#[derive(Debug)]
struct Template {
    /// Name, value and form, pseudo-headers first.
    fields: Vec<(String, Text, Indexing)>,
    body: Text,
    is_head: bool,
}

impl Templates {
    pub(crate) fn of(plan: &Plan, source: Source) -> Templates {
        let (common, origins, values) = (Common::of(plan), origins(plan), &plan.values);
        let (mut each, mut none) = (Vec::new(), None);
        for one in plan.requests() {
            let (scheme, host) = &origins[one.origin];
            let headers = headers(&one, scheme, host, &common);
            none.get_or_insert_with(|| Requests::new(&shared(&headers), Vec::new()));
            let field = |header: &Header<'_>| {
                let place = if header.name == ":path" { Place::Url } else { Place::Text };
                let value = match &*header.name {
                    "content-length" => Text::length(),
                    _ => Text::of(values, &header.value, place),
                };
                (header.name.to_string(), value, header.indexing)
            };
            let fields = headers.iter().filter(|header| !header.common).map(field).collect();
            let body = Text::of(values, one.body(), Place::of_body(&one));
            each.push(Template { fields, body, is_head: one.method == "HEAD" });
        }
        let none = none.unwrap_or_else(|| Requests::new(&[], Vec::new()));
        Templates { source, each, none }
    }

    /// The requests of a connection's places, none written yet.
    pub(super) fn places(&self, streams: u16) -> Requests {
        let mut places = self.none.clone();
        places.make_places(streams.into());
        places
    }

    pub(super) fn is_head(&self, request: u32) -> bool {
        self.each[request as usize].is_head
    }
}

impl Render for Templates {
    fn render(&self, number: u64, scratch: &mut Vec<u8>, into: &mut Rendered) {
        let Template { fields, body, .. } = &self.each[into.request as usize];
        let (of, out) = (&self.source, &mut into.bytes);
        // The body's length comes before it.
        out.clear();
        body.write(of, number, 0, out);
        let body_bytes = out.len();
        let mut before = None;
        for (name, value, indexing) in fields {
            if !name.starts_with(':') {
                before.get_or_insert(out.len());
            }
            scratch.clear();
            value.write(of, number, body_bytes, scratch);
            write_field(out, &Field { name, value: scratch, indexing: *indexing });
        }
        let end = out.len();
        out.rotate_left(body_bytes);
        into.fields = (before.unwrap_or(end) - body_bytes, end - body_bytes);
    }

    fn usual_bytes(&self) -> usize {
        let fields = |one: &Template| {
            one.fields.iter().map(|(name, value, _)| name.len() + value.usual_bytes()).sum::<usize>()
        };
        self.each.iter().map(|one| fields(one) + one.body.usual_bytes()).max().unwrap_or(0)
    }
}

/// Which headers all requests have.
struct Common {
    own: HashSet<String>,
    alone: bool,
    several: bool,
}

impl Common {
    fn of(plan: &Plan) -> Common {
        let has_values = |value: &Secret| plan.values.split(value.value().as_bytes()).len() > 1;
        let own = plan.requests().flat_map(|one| one.own_headers());
        let own = own.chain(plan.headers.iter().filter(|(_, value)| has_values(value)));
        let alone = plan.work.list().is_none() && plan.values.is_empty();
        let several = plan.origins().len() > 1;
        Common { own: own.map(|(name, _)| name.to_ascii_lowercase()).collect(), alone, several }
    }

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
