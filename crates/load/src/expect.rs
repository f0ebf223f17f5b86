//! Whether an answer is the one that was asked for, byte by byte or by hash, in whatever pieces its body comes.
//!
//! A short body is compared with memcmp. A long one would drive answers out of the cache; so it is hashed (XXH3, 128
//! bits, at the speed of memory): it finds every chance difference, but is no proof against a server that builds one on
//! purpose. A SHA-256 is, where the plan gives one. Where values in it are expected, a body is kept until it is whole.

mod coded;

use std::collections::HashMap;

use ring::digest::{Context, SHA256};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use coded::CodedBody;
use prony_http2::Coding;
use prony_model::json_value::{JsonValue, holds};
use prony_model::plan::{Expect, Plan};
use serde_json::Value;

/// The longest expected body that is compared byte by byte: a page of memory.
const COMPARED_MAX_BYTES: usize = 4 << 10;

/// The longest body that is read for values. A connection (with HTTP/2, a stream) keeps room for the longest that it had.
const JSON_MAX_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Expected {
    /// The lowest status that is accepted, and how many are: asked of every response.
    statuses: (u16, u16),
    body: ExpectedBody,
}

#[derive(Debug)]
enum ExpectedBody {
    Any,
    Bytes(Vec<u8>),
    Hash { length: u64, xxh3: u128 },
    Sha256([u8; 32]),
    Json(Vec<ExpectedValue>),
}

#[derive(Debug)]
struct ExpectedValue {
    pointer: String,
    value: Value,
    is_hidden: bool,
}

impl Expected {
    pub(crate) fn of(expect: &Expect) -> Expected {
        let value = |one: &JsonValue| ExpectedValue {
            pointer: one.pointer.clone(),
            value: one.expected(),
            is_hidden: one.value.is_hidden(),
        };
        let body = match (&expect.sha256, &expect.body) {
            _ if !expect.json.is_empty() => ExpectedBody::Json(expect.json.iter().map(value).collect()),
            (Some(sha256), _) => ExpectedBody::Sha256(*sha256),
            (None, None) => ExpectedBody::Any,
            (None, Some(body)) if body.len() <= COMPARED_MAX_BYTES => ExpectedBody::Bytes(body.clone()),
            (None, Some(body)) => ExpectedBody::Hash { length: body.len() as u64, xxh3: xxh3_128(body) },
        };
        let statuses = expect.statuses();
        Expected { statuses: (*statuses.start(), statuses.end() - statuses.start() + 1), body }
    }

    #[inline]
    pub(crate) fn accepts_status(&self, status: u16) -> bool {
        let (first, count) = self.statuses;
        status.wrapping_sub(first) < count
    }

    pub(crate) fn checks_body(&self) -> bool {
        !matches!(self.body, ExpectedBody::Any)
    }
}

#[derive(Debug)]
pub(crate) struct Expectations {
    all: Expected,
    others: Vec<Expected>,
    /// Of each request of a list: 0 for the plan's, or which of the others, from 1. Empty where there is none.
    of_request: Vec<u32>,
    checks_body: bool,
    /// Bodies are decoded before they are checked.
    decodes: bool,
}

impl Expectations {
    pub(crate) fn of(plan: &Plan) -> Expectations {
        let mut known = HashMap::from([(&plan.expect, 0)]);
        let mut others = Vec::new();
        let mut of_request: Vec<u32> = Vec::new();
        for one in plan.requests() {
            // The plan's is not looked up for each line: it may be long, and they many.
            if std::ptr::eq(one.expect(), &plan.expect) {
                of_request.push(0);
                continue;
            }
            let which = *known.entry(one.expect()).or_insert_with(|| {
                others.push(Expected::of(one.expect()));
                others.len() as u32
            });
            of_request.push(which);
        }
        let all = Expected::of(&plan.expect);
        let checks_body = plan.decode || all.checks_body() || others.iter().any(Expected::checks_body);
        if others.is_empty() {
            of_request.clear();
        }
        Expectations { all, others, of_request, checks_body, decodes: plan.decode }
    }

    #[inline]
    pub(crate) fn of_request(&self, request: u32) -> &Expected {
        match self.of_request.get(request as usize) {
            None | Some(0) => &self.all,
            Some(which) => &self.others[*which as usize - 1],
        }
    }

    /// That of all requests, where they have one in common.
    pub(crate) fn common(&self) -> Option<&Expected> {
        (self.of_request.is_empty() && !self.decodes).then_some(&self.all)
    }

    pub(crate) fn decodes(&self) -> bool {
        self.decodes
    }

    pub(crate) fn checks_body(&self) -> bool {
        self.checks_body
    }

    fn any(&self, is: impl Fn(&ExpectedBody) -> bool) -> bool {
        is(&self.all.body) || self.others.iter().any(|other| is(&other.body))
    }
}

pub(crate) struct BodyCheck {
    length: u64,
    /// So far. (Of a hash this is known at the end.)
    wrong: bool,
    /// Boxed, since a connection without one should cost no more for it; made before the clock starts.
    xxh3: Option<Box<Xxh3>>,
    whole: Option<Box<WholeBody>>,
}

struct WholeBody {
    sha256: Context,
    json: Vec<u8>,
    /// As it came, where it is to be decoded.
    coded: Option<CodedBody>,
    /// What was wrong with the last one; empty where that is its length or its bytes.
    why: String,
}

impl BodyCheck {
    pub(crate) fn new(expected: &Expectations) -> BodyCheck {
        let hashes = expected.any(|body| matches!(body, ExpectedBody::Hash { .. }));
        let is_whole = |body: &ExpectedBody| matches!(body, ExpectedBody::Sha256(_) | ExpectedBody::Json(_));
        let whole = || WholeBody {
            sha256: Context::new(&SHA256),
            json: Vec::new(),
            coded: expected.decodes.then(CodedBody::default),
            why: String::new(),
        };
        BodyCheck {
            length: 0,
            wrong: false,
            xxh3: hashes.then(|| Box::new(Xxh3::new())),
            whole: (expected.decodes || expected.any(is_whole)).then(|| Box::new(whole())),
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, expected: &Expected, bytes: &[u8]) {
        if let Some(coded) = self.whole.as_mut().and_then(|whole| whole.coded.as_mut()) {
            coded.take(bytes);
        } else if expected.checks_body() {
            self.compare(expected, bytes);
        }
    }

    /// The body is whole, coded so: decodes it for [`BodyCheck::finish`], and gives how long it is then; or why it cannot be.
    #[cold]
    pub(crate) fn decode(&mut self, expected: &Expected, coding: Coding) -> Result<u64, String> {
        let Some(mut coded) = self.whole.as_mut().and_then(|whole| whole.coded.take()) else { return Ok(0) };
        let mut decoded = 0;
        let result = coded.read(coding, |bytes| {
            decoded += bytes.len() as u64;
            self.compare(expected, bytes);
        });
        coded.clear();
        self.whole.iter_mut().for_each(|whole| whole.coded = Some(std::mem::take(&mut coded)));
        if result.is_err() {
            self.reset();
        }
        result.map(|()| decoded)
    }

    /// As [`BodyCheck::take`], where a body is checked and not decoded.
    pub(crate) fn compare(&mut self, expected: &Expected, bytes: &[u8]) {
        let begins = self.length;
        self.length += bytes.len() as u64;
        match &expected.body {
            ExpectedBody::Any => {}
            ExpectedBody::Bytes(body) => {
                let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
                self.wrong |= body.get(at(begins)..at(self.length)) != Some(bytes);
            }
            ExpectedBody::Hash { length, .. } => {
                // What is too long already need not be hashed.
                self.wrong |= self.length > *length;
                if let Some(hasher) = self.xxh3.as_mut().filter(|_| !self.wrong) {
                    hasher.update(bytes);
                }
            }
            ExpectedBody::Sha256(_) => self.whole.iter_mut().for_each(|whole| whole.sha256.update(bytes)),
            ExpectedBody::Json(_) => {
                self.wrong |= self.length > JSON_MAX_BYTES as u64;
                if let Some(whole) = self.whole.as_mut().filter(|_| !self.wrong) {
                    whole.json.extend_from_slice(bytes);
                }
            }
        }
    }

    /// A checked body is whole: whether it is the one expected, or else how long it was. Begins the next.
    pub(crate) fn finish(&mut self, expected: &Expected) -> Result<(), u64> {
        self.whole.iter_mut().for_each(|whole| whole.why.clear());
        let right = match &expected.body {
            ExpectedBody::Any => true,
            ExpectedBody::Bytes(body) => !self.wrong && self.length == body.len() as u64,
            ExpectedBody::Hash { length, xxh3 } => {
                let hashed = || self.xxh3.as_ref().map(|hasher| hasher.digest128());
                !self.wrong && self.length == *length && hashed() == Some(*xxh3)
            }
            ExpectedBody::Sha256(sha256) => self.whole.as_mut().is_some_and(|whole| {
                let hashed = std::mem::replace(&mut whole.sha256, Context::new(&SHA256)).finish();
                hashed.as_ref() == sha256
            }),
            ExpectedBody::Json(values) => self.whole.as_mut().is_some_and(|whole| {
                let held = if self.wrong { Err(too_long()) } else { hold(values, &whole.json) };
                whole.why = held.err().unwrap_or_default();
                whole.why.is_empty()
            }),
        };
        let length = self.length;
        self.reset();
        if right { Ok(()) } else { Err(length) }
    }

    /// What is said of a body of so many bytes that was found wrong.
    #[cold]
    pub(crate) fn why(&mut self, length: u64) -> String {
        match self.whole.as_mut().map(|whole| std::mem::take(&mut whole.why)) {
            Some(why) if !why.is_empty() => why,
            _ => format!("a body of {length} bytes that is not the one expected"),
        }
    }

    pub(crate) fn reset(&mut self) {
        let coded = self.whole.iter_mut().filter_map(|whole| whole.coded.as_mut());
        coded.for_each(CodedBody::clear);
        if self.length == 0 {
            return;
        }
        self.length = 0;
        self.wrong = false;
        self.xxh3.iter_mut().for_each(|hasher| hasher.reset());
        if let Some(whole) = &mut self.whole {
            whole.sha256 = Context::new(&SHA256);
            whole.json.clear();
        }
    }
}

fn hold(values: &[ExpectedValue], body: &[u8]) -> Result<(), String> {
    let document: Value = serde_json::from_slice(body)
        .map_err(|why| format!("a body of {} bytes that is not JSON: {why}", body.len()))?;
    let held =
        |one: &ExpectedValue| holds(&one.pointer, document.pointer(&one.pointer), &one.value, one.is_hidden);
    values.iter().try_for_each(held)
}

fn too_long() -> String {
    format!("a body of over {} MiB, more than is read for values in it", JSON_MAX_BYTES >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::Target;
    use proptest::prelude::*;

    fn sha256(body: &[u8]) -> [u8; 32] {
        ring::digest::digest(&SHA256, body).as_ref().try_into().unwrap()
    }

    fn of(expect: Expect) -> Expectations {
        Expectations::of(&Plan { expect, ..Plan::closed(Target::parse("http://h/").unwrap()) })
    }

    /// The body as text (or its hash), and as a SHA-256.
    fn both(body: &[u8]) -> [Expectations; 2] {
        let text = Expect { body: Some(body.to_vec()), ..Expect::default() };
        let hash = Expect { sha256: Some(sha256(body)), ..Expect::default() };
        [of(text), of(hash)]
    }

    fn checked<'a>(
        check: &mut BodyCheck,
        expected: &Expectations,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), u64> {
        let expected = expected.common().unwrap();
        pieces.for_each(|piece| check.take(expected, piece));
        check.finish(expected)
    }

    #[test]
    fn one_wrong_byte_in_a_mebibyte_is_found_wherever_it_is() {
        let body: Vec<u8> = (0..1u32 << 20).map(|i| (i * 7 + (i >> 8)) as u8).collect();
        for expected in both(&body) {
            let mut check = BodyCheck::new(&expected);
            for at in [0, 1, 4096, 65_535, 65_536, 777_777, (1 << 20) - 1] {
                let mut wrong = body.clone();
                wrong[at] ^= 1;
                assert_eq!(checked(&mut check, &expected, wrong.chunks(65_536)), Err(1 << 20), "{at}");
                assert_eq!(checked(&mut check, &expected, body.chunks(65_536)), Ok(()));
            }
            assert_eq!(checked(&mut check, &expected, body[1..].chunks(1000)), Err((1 << 20) - 1));
            let longer = [&body[..], b"x"].concat();
            assert_eq!(checked(&mut check, &expected, longer.chunks(9999)), Err((1 << 20) + 1));
            assert_eq!(checked(&mut check, &expected, std::iter::empty()), Err(0));
        }
    }

    #[test]
    fn an_empty_body_is_one_too() {
        for expected in both(b"") {
            let mut check = BodyCheck::new(&expected);
            assert_eq!(check.finish(expected.common().unwrap()), Ok(()));
            assert_eq!(checked(&mut check, &expected, [&b"x"[..]].into_iter()), Err(1));
            assert_eq!(check.finish(expected.common().unwrap()), Ok(()));
        }
    }

    #[test]
    fn the_known_digest_of_abc_is_known() {
        // FIPS 180-4's example.
        let known = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
            0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
        ];
        let expected = of(Expect { sha256: Some(known), ..Expect::default() });
        let mut check = BodyCheck::new(&expected);
        assert_eq!(checked(&mut check, &expected, [&b"a"[..], b"", b"bc"].into_iter()), Ok(()));
        assert!(expected.checks_body() && !of(Expect::default()).checks_body());
    }

    #[test]
    fn values_of_a_body_in_pieces_are_held_and_a_wrong_one_is_named() {
        let json = ["/id=17", "/items/0/name=Ann", "/token=s3"].map(|text| JsonValue::parse(text).unwrap());
        let expected = of(Expect { json: json.to_vec(), ..Expect::default() });
        let mut check = BodyCheck::new(&expected);
        let mut said = |body: &str| {
            let held = checked(&mut check, &expected, body.as_bytes().chunks(7));
            held.map_err(|length| check.why(length))
        };
        let right = r#"{"id": 17.0, "items": [{"name": "Ann"}], "token": "s3"}"#;
        assert_eq!(said(right), Ok(()));
        assert_eq!(said(&right.replace("17.0", "18")).unwrap_err(), "/id is 18, expected 17");
        assert_eq!(
            said(&right.replace("s3", "t7")).unwrap_err(),
            "/token is [redacted], expected [redacted]"
        );
        assert_eq!(
            said("{\"id\": 17}").unwrap_err(),
            "there is no /items/0/name in the body, expected \"Ann\""
        );
        assert!(said("Hello").unwrap_err().starts_with("a body of 5 bytes that is not JSON: "));
        assert!(said("").unwrap_err().starts_with("a body of 0 bytes that is not JSON: "));
        let long = format!("{right}{}", " ".repeat(JSON_MAX_BYTES));
        assert_eq!(said(&long).unwrap_err(), too_long());
        assert_eq!(said(right), Ok(()), "after all these");
    }

    #[test]
    fn a_connections_check_of_bodies_takes_no_more_room_for_them() {
        // The hot path multiplies by it: a power of two is a shift.
        assert_eq!(size_of::<BodyCheck>(), 32);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter_and_differences_do(
            length in prop_oneof![0usize..40, 4090usize..4110, 4096usize..20_000],
            cuts in prop::collection::vec(1usize..3000, 1..30),
            wrong_at in any::<prop::sample::Index>(),
        ) {
            let body: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
            let pieces = |body: &[u8]| {
                let (mut rest, mut all) = (body, Vec::new());
                for cut in cuts.iter().cycle() {
                    if rest.is_empty() {
                        break;
                    }
                    let (piece, after) = rest.split_at(rest.len().min(*cut));
                    all.push(piece.to_vec());
                    rest = after;
                }
                all
            };
            for expected in both(&body) {
                let mut check = BodyCheck::new(&expected);
                if length > 0 {
                    let mut wrong = body.clone();
                    wrong[wrong_at.index(length)] ^= 0x40;
                    let wrong = pieces(&wrong);
                    prop_assert!(checked(&mut check, &expected, wrong.iter().map(Vec::as_slice)).is_err());
                    // An answer that was given up half way.
                    check.take(expected.common().unwrap(), &body[..length / 2]);
                    check.reset();
                }
                let right = pieces(&body);
                prop_assert_eq!(checked(&mut check, &expected, right.iter().map(Vec::as_slice)), Ok(()));
            }
        }
    }
}
