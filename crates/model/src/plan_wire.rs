//! A whole plan, secrets included, as it goes to another machine: sealed first, and checked by whoever reads it.

use std::borrow::Cow;
use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rustls_pki_types::CertificateDer;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{PlanError, wrong};
use crate::plan::{Plan, Work};
use crate::secret::{Secret, SecretSource, remember_credentials};
use crate::tls::Roots;
use crate::values::Values;

/// The longest text of a plan: of a longer list its file's name and hash go, and who applies it has the file.
const PLAN_MAX_BYTES: usize = 32 << 20;

thread_local! {
    static SECRETS_MAY_BE_WRITTEN: Cell<bool> = const { Cell::new(false) };
}

impl Plan {
    /// All of it as text, secrets included; of a client's certificate and key only where they are.
    pub fn to_wire(&self) -> Result<Vec<u8>, PlanError> {
        let file =
            self.work.list().filter(|list| !list.requests.is_empty()).and_then(|list| list.file.as_ref());
        if file.is_some_and(|file| file.long.is_some()) {
            return self.without_list().to_wire();
        }
        SECRETS_MAY_BE_WRITTEN.set(true);
        let text = serde_json::to_vec(self);
        SECRETS_MAY_BE_WRITTEN.set(false);
        match text {
            Ok(text) if text.len() <= PLAN_MAX_BYTES => Ok(text),
            Ok(_) if file.is_some() => self.without_list().to_wire(),
            Ok(text) => wrong(format!(
                "This plan takes {} MiB, and {} MiB go to other machines: give a shorter list of targets, or one in a file, or a \
                 shorter log or body.",
                text.len() >> 20,
                PLAN_MAX_BYTES >> 20
            )),
            Err(e) => wrong(format!("The plan cannot be sent: {e}.")),
        }
    }

    pub fn from_wire(text: &[u8]) -> Result<Plan, PlanError> {
        if text.len() > PLAN_MAX_BYTES {
            return wrong("The plan is longer than any of Prony's.");
        }
        let plan: Plan = serde_json::from_slice(text)
            .map_err(|e| PlanError(format!("The plan is not one of this version of Prony: {e}.")))?;
        if plan.awaits_list() {
            // All but what is known with the list.
            let work = Work::Request(plan.work.method().to_owned());
            Plan { work, values: Values::default(), ..plan.clone() }.check()?;
        } else {
            plan.check()?;
        }
        Ok(plan)
    }

    /// The same, but of its list where it is.
    fn without_list(&self) -> Plan {
        let mut plan = self.clone();
        if let Work::List(list) = &mut plan.work {
            (list.requests, list.lines) = (Vec::new(), Vec::new());
        }
        plan
    }

    /// Whether its list is still to be read ([`Plan::read_list`]), from a file that who applies it has.
    pub fn awaits_list(&self) -> bool {
        self.work.list().is_some_and(|list| list.requests.is_empty() && list.file.is_some())
    }
}

#[derive(Serialize, Deserialize)]
struct WrittenSecret<'a> {
    value: Cow<'a, str>,
    source: SecretSource,
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if !SECRETS_MAY_BE_WRITTEN.get() {
            return Err(S::Error::custom("a secret is written in nothing but a plan that is sealed"));
        }
        WrittenSecret { value: self.value().into(), source: self.source().clone() }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        let written = WrittenSecret::deserialize(from)?;
        let secret = Secret::from_parts(written.value.into_owned(), written.source);
        if secret.is_hidden() {
            remember_credentials(secret.value());
        }
        Ok(secret)
    }
}

/// Bytes, which JSON has as Base64.
struct Base64<'a>(Cow<'a, [u8]>);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD_NO_PAD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Base64<'static> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        STANDARD_NO_PAD
            .decode(String::deserialize(from)?)
            .map(|bytes| Base64(bytes.into()))
            .map_err(D::Error::custom)
    }
}

pub(crate) mod bytes {
    use super::{Base64, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        Base64(bytes.into()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Base64::deserialize(from).map(|bytes| bytes.0.into_owned())
    }
}

/// Bytes that may not be there, as Base64.
pub(crate) mod optional_bytes {
    use super::{Base64, Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, to: S) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| Base64(bytes.into())).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
        Ok(Option::<Base64<'_>>::deserialize(from)?.map(|bytes| bytes.0.into_owned()))
    }
}

impl Serialize for Roots {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.certificates().iter().map(|der| Base64(der.as_ref().into())))
    }
}

impl<'de> Deserialize<'de> for Roots {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Roots, D::Error> {
        let all = Vec::<Base64<'_>>::deserialize(from)?;
        Ok(Roots::of(all.into_iter().map(|der| CertificateDer::from(der.0.into_owned())).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::IpVersion;
    use crate::json_value::JsonValue;
    use crate::list::{Format, ListedRequest, Order, OwnParts, TargetList};
    use crate::plan::{Arrivals, BodyFile, Expect, Protocol, Stop, Work};
    use crate::rate::{Rate, Stage};
    use crate::target::Target;
    use crate::tls::{Identity, IdentityFiles, Verify};
    use crate::values::{self, Generator, Values};
    use proptest::prelude::*;
    use std::time::Duration;

    fn arrivals() -> impl Strategy<Value = Arrivals> {
        let rate = |micro: u64| Rate::per_s(micro as f64 / 1e6).unwrap();
        let stage = |(ms, to)| Stage { duration: Duration::from_millis(ms), to };
        prop_oneof![
            Just(Arrivals::Closed),
            (1u64..100_000_000_000_000).prop_map(move |micro| Arrivals::Constant(rate(micro))),
            (1u64..100_000_000_000_000).prop_map(move |micro| Arrivals::Poisson(rate(micro))),
            prop::collection::vec((1u64..2_000, 1u64..1_000_000_000), 1..4)
                .prop_map(move |stages| Arrivals::RateStages(stages.into_iter().map(stage).collect())),
        ]
    }

    /// Method, path, userinfo and own parts of a request.
    type Listed = (String, String, Option<String>, Option<OwnParts>);

    fn work() -> impl Strategy<Value = Work> {
        let request = (
            "[A-Z]{1,6}",
            "/[a-z0-9?=%]{0,12}",
            prop::option::of(Just("wire-user:wire-password".to_owned())),
            prop::option::of(Just(OwnParts {
                headers: vec![("X-Own".to_owned(), Secret::hidden("wire-value"))],
                body: Some(vec![0, 255]),
                chunked: true,
                expect: Some(Expect { status: Some(201), ..Expect::default() }),
            })),
        );
        let list = |(requests, lines): (Vec<Listed>, Vec<u32>)| {
            let count = requests.len() as u32;
            let listed = |(method, path, userinfo, own): Listed| ListedRequest {
                method,
                path,
                userinfo: userinfo.map(Secret::hidden),
                origin: 0,
                own: own.map(Box::new),
            };
            Work::List(TargetList {
                method: "GET".to_owned(),
                requests: requests.into_iter().map(listed).collect(),
                lines: lines.into_iter().map(|line| line % count).collect(),
                order: Order::Shuffled,
                origins: Vec::new(),
                format: Format::Plain,
                file: None,
            })
        };
        prop_oneof![
            Just(Work::Request("PUT".to_owned())),
            (prop::collection::vec(request, 1..5), prop::collection::vec(0u32..9, 1..9)).prop_map(list),
        ]
    }

    prop_compose! {
        fn plans()(
            (arrivals, work) in (arrivals(), work()),
            body in prop::collection::vec(any::<u8>(), 0..50),
            (value, hidden) in (prop_oneof![Just("wire-value"), Just("")], any::<bool>()),
            (connections, requests, seed) in (64u32..1000, prop::option::of(1u64..1_000_000), any::<u64>()),
            (status, sha256) in (prop::option::of(200u16..600), prop::option::of(any::<[u8; 32]>())),
            (spin, user_clock, http2) in (any::<bool>(), any::<bool>(), any::<bool>()),
        ) -> Plan {
            let mut plan = Plan::closed(Target::parse("https://wire-user:wire-password@example.org:8443/a?b=c").unwrap());
            let mut secret = Secret::of_header("X-Own", value).unwrap();
            if hidden { secret.hide(); }
            plan.headers = vec![("X-Own".to_owned(), secret)];
            plan.expect = match seed % 3 {
                0 => Expect { status, json: vec![JsonValue::parse("/id=17").unwrap()], ..Expect::default() },
                _ => Expect { status, body: Some(body.clone()), sha256, ..Expect::default() },
            };
            plan.tls.verify = Verify::Roots(Roots::of(vec![CertificateDer::from(body.clone())]));
            let key = spin.then(|| "/run/key.pem".to_owned());
            plan.tls.identity_files = user_clock.then(|| IdentityFiles { cert: "cert.pem".to_owned(), key });
            plan.stop = Stop { duration: Some(Duration::from_millis(1500)), requests };
            plan.protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
            if seed % 2 == 0 {
                plan.unix = Some("/run/a.sock".into());
            } else {
                plan.sources = vec!["127.0.0.2".parse().unwrap()];
                plan.connect.to = vec!["h:1:127.0.0.2:8080".parse().unwrap()];
                plan.connect.ip = spin.then_some(IpVersion::V4);
                plan.connect.resolve_every = user_clock.then_some(Duration::from_secs(3));
            }
            plan.warmup = Duration::ZERO;
            plan.samples_max = 7;
            plan.connect.sni = http2.then(|| "name.example".to_owned());
            plan.decode = spin;
            plan.requests_per_connection = http2.then_some(9);
            let mut body = body;
            match (seed % 3, &work) {
                (0, Work::Request(_)) => {
                    plan.headers.push(("X".to_owned(), Secret::of_header("X", "{{id}} {{col}}").unwrap()));
                    let generators = vec![Generator::parse("id=choice:a|b").unwrap()];
                    plan.values = Values { generators, table: values::table("t", b"col\n1\n2\n").unwrap() };
                }
                (1, Work::Request(_)) if !http2 => {
                    body.clear();
                    let file = BodyFile { path: "/body".into(), bytes: 9 };
                    (plan.body_file, plan.body_file_fingerprint) = (Some(file), Some(7));
                }
                _ => plan.chunked = user_clock && !body.is_empty(),
            }
            Plan { arrivals, work, body, connections, seed, spin, user_clock, ..plan }
        }
    }

    proptest! {
        // What is read of secrets is remembered by the whole process, which other tests look at: few, and always the same.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_plan_is_the_same_on_the_other_side(plan in plans()) {
            let read = Plan::from_wire(&plan.to_wire().unwrap()).unwrap();
            prop_assert_eq!(read, plan);
        }

        #[test]
        fn any_text_is_a_plan_or_a_sentence(plan in plans(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut text = plan.to_wire().unwrap();
            let at = at.index(text.len());
            text[at] = byte;
            if let Err(why) = Plan::from_wire(&text) {
                prop_assert!(why.0.ends_with('.'), "{}", why);
            }
        }
    }

    #[test]
    fn secrets_are_written_in_a_wire_plan_alone() {
        let mut plan = Plan::closed(Target::parse("http://me:pw@h/").unwrap());
        assert!(serde_json::to_string(&plan).is_err());
        assert!(String::from_utf8(plan.to_wire().unwrap()).unwrap().contains("pw"));
        assert!(serde_json::to_string(&plan).is_err());
        plan.target.userinfo = None;
        assert!(serde_json::to_string(&plan).is_ok());
    }

    #[test]
    fn of_a_clients_key_only_its_place_is_written() {
        let mut plan = Plan::closed(Target::parse("https://h/").unwrap());
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n\
                   -----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
        plan.tls.identity = Some(Identity::from_pem(pem.as_bytes(), pem.as_bytes()).unwrap());
        plan.tls.identity_files = Some(IdentityFiles { cert: "client.pem".to_owned(), key: None });
        let text = plan.to_wire().unwrap();
        let read = Plan::from_wire(&text).unwrap();
        assert_eq!((read.tls.identity, read.tls.identity_files), (None, plan.tls.identity_files));
        // As Base64, as text and as numbers.
        let text = String::from_utf8(text).unwrap();
        assert!(["c2VjcmV0", "secret", "115,101,99"].iter().all(|key| !text.contains(key)), "{text}");
    }

    #[test]
    fn requests_that_no_flag_can_make_are_refused() {
        let plan = Plan::closed(Target::parse("http://h/").unwrap());
        let refused = |change: &dyn Fn(&mut Plan)| {
            let mut plan = plan.clone();
            change(&mut plan);
            Plan::from_wire(&plan.to_wire().unwrap()).is_err()
        };
        assert!(!refused(&|_| {}));
        assert!(refused(&|plan| plan.target.path = "/ HTTP/1.1\r\nX: y".to_owned()));
        assert!(refused(&|plan| plan.work = Work::Request("GET /".to_owned())));
        assert!(refused(&|plan| plan.headers = vec![("A".to_owned(), Secret::hidden("b\r\nC: d"))]));
        assert!(refused(&|plan| plan.target.host = "h\r\nX: y".to_owned()));
        assert!(refused(&|plan| plan.connections = 0));
        let list = |lines| TargetList {
            method: "GET".to_owned(),
            requests: vec![ListedRequest {
                method: "GET".to_owned(),
                path: "/".to_owned(),
                userinfo: None,
                origin: 0,
                own: None,
            }],
            lines,
            order: Order::InTurn,
            origins: Vec::new(),
            format: Format::Plain,
            file: None,
        };
        assert!(refused(&|plan| plan.work = Work::List(list(vec![1]))));
        assert!(!refused(&|plan| plan.work = Work::List(list(vec![0]))));
        let several = |origins: &[&str], origin| {
            let mut list = list(vec![0, 1]);
            list.requests.push(ListedRequest { origin, ..list.requests[0].clone() });
            list.origins = origins.iter().map(|url| Target::parse(url).unwrap()).collect();
            Work::List(list)
        };
        let of = |origins: &[&str], origin, threads| {
            refused(&|plan| (plan.work, plan.threads) = (several(origins, origin), threads))
        };
        assert!(!of(&["http://h/", "http://i/"], 1, 2));
        assert!(of(&["http://h/", "http://i/"], 1, 3), "one has fewer threads than the other");
        assert!(of(&["http://h/", "http://i/"], 0, 2), "one has no line");
        assert!(of(&["http://h/", "http://i/"], 2, 2) && of(&[], 1, 2), "there is no such server");
        assert!(of(&["http://i/", "http://h/"], 1, 2), "its target is the first");
    }
}
