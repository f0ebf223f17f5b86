//! A list of requests; `read` makes one of somebody's file.

mod curl;
mod format;
mod json_lines;
pub mod long;
mod plain;
mod raw;
mod read;
mod reader;
mod vegeta;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fnv::{fnv1a, folded, hash_of};
pub use crate::limits::LINES_MAX;
use crate::plan::Expect;
use crate::secret::{Secret, gives, hide_headers, remember_listed, without_fields};
use crate::target::Target;

pub use format::Format;
pub(crate) use json_lines::parsed;
pub(crate) use raw::is_folder;
pub(crate) use reader::lines;

/// The longest URL with its method. Servers are asked to take request lines of 8,000 bytes (RFC 9112, section 3); few
/// take twice that.
pub const LINE_MAX_BYTES: usize = 16 << 10;

/// The longest line, or command of several lines, with headers and a body; longer bodies are in files of their own.
pub const COMMAND_MAX_BYTES: usize = 1 << 20;

/// The most that requests' own headers and bodies may take together, as the engine's requests may; in tests 4 MiB.
const OWN_MAX_BYTES: usize = if cfg!(test) { 4 << 20 } else { 512 << 20 };

/// The most servers that a list may name: each has a thread of its own.
pub const ORIGINS_MAX: usize = 64;

/// The most wrong lines that are named.
pub const ERRORS_MAX: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ListedRequest {
    /// A token by RFC 9110.
    pub method: String,
    /// Path and query, always beginning with `/`.
    pub path: String,
    /// `user:password` of its URL, sent as Basic credentials and never printed.
    pub userinfo: Option<Secret>,
    #[serde(default, skip_serializing_if = "is_first")]
    pub origin: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Box<OwnParts>>,
}

fn is_first(origin: &u32) -> bool {
    *origin == 0
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OwnParts {
    /// Beside the plan's headers, but for those of the same names.
    pub headers: Vec<(String, Secret)>,
    #[serde(with = "crate::plan_wire::optional_bytes")]
    pub body: Option<Vec<u8>>,
    /// Whether its body goes in chunks, as with the plan's `chunked`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chunked: bool,
    pub expect: Option<Expect>,
}

impl OwnParts {
    /// What others say of this request, where it says nothing itself.
    pub fn fill(&mut self, others: &OwnParts) {
        let missing = others.headers.iter().filter(|(name, _)| !gives(&self.headers, name));
        let missing: Vec<_> = missing.cloned().collect();
        self.headers.extend(missing);
        self.body = self.body.take().or_else(|| others.body.clone());
        self.chunked |= others.chunked;
        self.expect = self.expect.take().or_else(|| others.expect.clone());
    }
}

impl ListedRequest {
    /// `GET /a?b`, as it may be printed and stored: without the values of secret parameters.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, without_fields(&self.path))
    }

    /// Of all that it is, without hidden values.
    fn hash(&self) -> u64 {
        let own = self.own.as_deref();
        let expect = own.and_then(|own| own.expect.as_ref());
        let headers = own.map_or(&[][..], |own| &own.headers);
        let bodies = [own.and_then(|own| own.body.as_deref()), expect.and_then(|one| one.body.as_deref())];
        let what = format!(
            "{} {:?} {} {:?} {:?}",
            self.origin,
            own.map(|own| own.chunked),
            headers.len(),
            bodies.map(|body| body.is_some()),
            expect.map(|one| (one.status, one.sha256))
        );
        let json = expect.iter().flat_map(|one| one.json.iter().map(|one| (&one.pointer, &one.value)));
        let shown =
            |value: &Secret| if value.is_hidden() { value.to_string() } else { value.value().to_owned() };
        let named = headers.iter().map(|(name, value)| (name, value)).chain(json);
        let mut texts = vec![self.name(), what];
        texts.extend(named.flat_map(|(name, value)| [name.clone(), shown(value)]));
        hash_of(texts.iter().map(String::as_bytes).chain(bodies.into_iter().flatten()))
    }
}

/// In which order a list's lines are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Order {
    /// One after the other, and again from the first.
    InTurn,
    /// Each round all of them once, in an order drawn from the plan's seed.
    Shuffled,
}

impl Order {
    /// What follows a number of requests: `3 requests in turn`, `3 requests, shuffled`.
    pub fn after_requests(self) -> &'static str {
        match self {
            Order::InTurn => " in turn",
            Order::Shuffled => ", shuffled",
        }
    }
}

/// The requests of a load that has several. A request that stands on several lines is one request, sent that often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetList {
    /// The method of lines that name none.
    pub method: String,
    pub requests: Vec<ListedRequest>,
    /// The request of each line, an index into `requests`.
    pub lines: Vec<u32>,
    pub order: Order,
    /// Where lines name several servers: all of them, by their first line, the plan's target first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<Target>,
    #[serde(default, skip_serializing_if = "Format::is_plain")]
    pub format: Format,
    /// The file that it was read from, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Box<ListFile>>,
}

/// The file that a list was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListFile {
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: [u8; 32],
    /// The list stays in it: of its requests `requests` has one of each kind, and `lines` the kind of each, or of all.
    #[serde(skip)]
    pub long: Option<LongList>,
}

/// What is known of a list that stays in its file ([`long`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongList {
    pub requests: u64,
    /// The longest one's text.
    pub longest_bytes: usize,
    fingerprint: u64,
    /// Its inode, length and last change.
    identity: [i64; 4],
    /// Where requests begin, each so many behind the one before ([`long`]).
    places: Arc<Vec<u64>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
pub struct ListError {
    /// The line, from 1; `None`: no single one, or the file of a folder that `why` begins with.
    pub line: Option<usize>,
    pub why: String,
}

impl TargetList {
    /// What is known of it where it stays in its file.
    pub fn long(&self) -> Option<&LongList> {
        self.file.as_ref()?.long.as_ref()
    }

    /// How many lines with a request it has.
    pub fn count(&self) -> u64 {
        self.long().map_or(self.lines.len() as u64, |long| long.requests)
    }

    /// Hides the requests' own headers of these names.
    pub fn hide_headers(&mut self, names: &[String]) {
        for own in self.requests.iter_mut().filter_map(|request| request.own.as_deref_mut()) {
            hide_headers(&mut own.headers, names, remember_listed);
        }
    }

    pub fn lines_of_each(&self) -> Vec<u64> {
        let mut lines = vec![0; self.requests.len()];
        for request in &self.lines {
            lines[*request as usize] += 1;
        }
        lines
    }

    /// What a request is called: `GET /a?b`; where there are several servers, `GET http://h/a?b`.
    pub fn name(&self, request: &ListedRequest) -> String {
        match self.origins.get(request.origin as usize) {
            None => request.name(),
            Some(server) => format!("{} {}{}", request.method, origin(server), without_fields(&request.path)),
        }
    }

    pub fn lines_of_origins(&self, origins: usize) -> Vec<u64> {
        let mut lines = vec![0; origins];
        for (request, count) in self.requests.iter().zip(self.lines_of_each()) {
            lines[request.origin as usize] += count;
        }
        lines
    }

    /// FNV-1a over all lines in order, wherever they are aimed: 64 bits, folded to 32 where one has headers, a body or an
    /// expectation of its own. It tells lists apart and withstands nobody.
    pub fn fingerprint(&self) -> u64 {
        if let Some(long) = self.long() {
            return long.fingerprint;
        }
        let hashes: Vec<u64> = self.requests.iter().map(ListedRequest::hash).collect();
        let hash = fnv1a(self.lines.iter().flat_map(|line| hashes[*line as usize].to_le_bytes()));
        let is_short = self.requests.iter().any(|request| request.own.is_some());
        if is_short { folded(hash).into() } else { hash }
    }

    pub fn expecting(&self) -> u64 {
        self.requests.iter().filter(|one| one.own.as_ref().is_some_and(|own| own.expect.is_some())).count()
            as u64
    }
}

fn origin(target: &Target) -> String {
    let url = Target { path: String::new(), ..target.clone() }.display_url();
    url.escape_debug().to_string()
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "list/format_tests.rs"]
mod format_tests;
