//! A list of requests, read from somebody's file with one a line: each becomes a request or a sentence.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::fnv::fnv1a;
use crate::plan::Expect;
use crate::request;
use crate::secret::{Secret, without_fields};
use crate::target::{Target, without_userinfo};

/// The most lines with a request, of 4 bytes, 200 where it is new: below 256 MB, and seconds at 100,000 a second.
pub const LINES_MAX: usize = 1_000_000;

/// The longest line. Servers are asked to take request lines of 8,000 bytes (RFC 9112, section 3); few take twice that.
pub const LINE_MAX_BYTES: usize = 16 << 10;

/// The most servers that a list may name: each has a thread of its own.
pub const ORIGINS_MAX: usize = 64;

const ECHO_MAX: usize = 40;

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
    pub expect: Option<Expect>,
}

impl ListedRequest {
    /// `GET /a?b`, as it may be printed and stored: without the values of secret parameters.
    pub fn name(&self) -> String {
        format!("{} {}", self.method, without_fields(&self.path))
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
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", line.map_or_else(String::new, |line| format!("line {line}: ")))]
pub struct ListError {
    /// The line, from 1; `None`: no single one.
    pub line: Option<usize>,
    pub why: String,
}

impl TargetList {
    /// Reads a list: a URL or `METHOD URL` a line, or only a path where `server` is known; empty lines and `#` are
    /// skipped. Without a `server`, whole URLs may name several. Gives the (first) server as a target without a path, and
    /// the list.
    pub fn parse(
        text: &[u8],
        server: Option<&Target>,
        method: &str,
        order: Order,
    ) -> Result<(Target, TargetList), ListError> {
        let mut reader = Reader {
            origins: server.cloned().into_iter().collect(),
            is_given: server.is_some(),
            has_paths: false,
            known: HashMap::new(),
            list: TargetList {
                method: method.to_owned(),
                requests: Vec::new(),
                lines: Vec::new(),
                order,
                origins: Vec::new(),
            },
        };
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            reader.line(line, method).map_err(|why| ListError { line: Some(number), why })?;
        }
        let Reader { origins, mut list, .. } = reader;
        match origins.first().cloned() {
            Some(server) if !list.lines.is_empty() => {
                list.origins = if origins.len() > 1 { origins } else { Vec::new() };
                Ok((Target { path: "/".to_owned(), ..server }, list))
            }
            _ => Err(ListError {
                line: None,
                why: "It holds no request: write one URL or METHOD URL per line.".to_owned(),
            }),
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

    /// FNV-1a (64 bits) over all lines' names in order and own bodies, wherever they are aimed: tells lists apart. It
    /// withstands nobody.
    pub fn fingerprint(&self) -> u64 {
        let name = |request: &ListedRequest| {
            let body = request.own.as_ref().and_then(|own| own.body.as_deref()).unwrap_or_default();
            let origin = if request.origin > 0 { format!("{} ", request.origin) } else { String::new() };
            [origin.as_bytes(), request.name().as_bytes(), b"\n", body].concat()
        };
        let names: Vec<Vec<u8>> = self.requests.iter().map(name).collect();
        fnv1a(self.lines.iter().flat_map(|line| names[*line as usize].iter().copied()))
    }

    pub fn expecting(&self) -> u64 {
        self.requests.iter().filter(|one| one.own.as_ref().is_some_and(|own| own.expect.is_some())).count()
            as u64
    }
}

struct Reader {
    /// The servers that are known; lines that are paths go to the first.
    origins: Vec<Target>,
    /// It was given beside the list, and is the only one.
    is_given: bool,
    has_paths: bool,
    known: HashMap<ListedRequest, u32>,
    list: TargetList,
}

impl Reader {
    fn line(&mut self, line: &[u8], method: &str) -> Result<(), String> {
        if line.len() > LINE_MAX_BYTES {
            return Err(format!("It has {} bytes: a line may have {LINE_MAX_BYTES}.", line.len()));
        }
        let line = std::str::from_utf8(line).map_err(|e| {
            format!("It is not UTF-8 (byte {}): percent-encode what is not ASCII.", e.valid_up_to() + 1)
        })?;
        let line = line.trim_matches(|c: char| c.is_ascii_whitespace());
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if self.list.lines.len() == LINES_MAX {
            return Err(format!("A list may have at most {LINES_MAX} requests, and this is one more."));
        }
        let parts = method_and_url(line, method);
        let request = parts.and_then(|(method, url)| self.request(method, url));
        let request = request.map_err(|why| of_another_tool(line).unwrap_or(why))?;
        let next = u32::try_from(self.list.requests.len()).unwrap_or(u32::MAX);
        let index = *self.known.entry(request.clone()).or_insert(next);
        if index == next {
            self.list.requests.push(request);
        }
        self.list.lines.push(index);
        Ok(())
    }

    fn request(&mut self, method: &str, url: &str) -> Result<ListedRequest, String> {
        let method = method.to_owned();
        if url.starts_with('/') {
            let Some(server) = self.origins.first() else {
                return Err(format!(
                    "{} is a path, and no server is known: give its URL on the command line, as in \
                     `prony load http://127.0.0.1:8080 --targets FILE`.",
                    echo(url)
                ));
            };
            if self.origins.len() > 1 {
                return Err(format!(
                    "{} is a path, and lines before it name several servers: write its whole URL.",
                    echo(url)
                ));
            }
            self.has_paths = true;
            // The host is no part of it: only what is wrong with the path can be found.
            let path = Target::parse(&format!("http://host{url}")).map_err(|e| e.0)?.path;
            return Ok(ListedRequest {
                method,
                path,
                userinfo: server.userinfo.clone(),
                origin: 0,
                own: None,
            });
        }
        let target = Target::parse(url).map_err(|e| e.0)?;
        // A variable that nobody put a host for.
        if target.host.contains('$') {
            return Err(format!("{} has no host: write each URL whole.", echo(url)));
        }
        let origin = self.origin_of(&target)?;
        Ok(ListedRequest { method, path: target.path, userinfo: target.userinfo, origin, own: None })
    }

    /// The number of a URL's server, which may be a new one.
    fn origin_of(&mut self, target: &Target) -> Result<u32, String> {
        let is_same = |known: &Target| {
            (known.tls, known.port) == (target.tls, target.port)
                && known.host.eq_ignore_ascii_case(&target.host)
        };
        if let Some(at) = self.origins.iter().position(is_same) {
            return Ok(at as u32);
        }
        let (named, count) = (origin(target), self.origins.len());
        match self.origins.first() {
            Some(server) if self.is_given => Err(format!(
                "It names the server {named}, and the load goes to {}: only a list without a URL beside it may name several \
                 servers.",
                origin(server)
            )),
            Some(server) if self.has_paths => Err(format!(
                "It names the server {named}, and lines before it are paths, of {}: write whole URLs in a list that names \
                 several servers.",
                origin(server)
            )),
            _ if count == ORIGINS_MAX => Err(format!(
                "It names the server {named}, and lines before it {ORIGINS_MAX} others: a list may name no more."
            )),
            _ => {
                self.origins.push(Target { path: "/".to_owned(), userinfo: None, ..target.clone() });
                Ok(count as u32)
            }
        }
    }
}

/// What is the matter with a line that is none here and that vegeta's or siege's lists have.
fn of_another_tool(line: &str) -> Option<String> {
    let once = "is given once, for all lines";
    let (first, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
    let method = rest.split_whitespace().next().unwrap_or_default();
    let header = line.split_once(": ").filter(|(name, _)| request::check_method(name).is_ok());
    let assigned = line
        .split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
    Some(match header {
        Some((name, _)) => {
            format!("{} is a header, as vegeta has it: here one {once}, with -H '{name}: …'.", echo(name))
        }
        None if line.starts_with('@') => {
            format!("{} is a body's file, as vegeta has it: here a body {once}, with -b @FILE.", echo(line))
        }
        None if line.starts_with('{') => {
            "It is JSON, as vegeta's -format=json has it: write METHOD URL.".to_owned()
        }
        None if first.contains("://")
            && ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"].contains(&method) =>
        {
            format!("{method} follows the URL, as siege has it: write {method} URL. A body {once}, with -b.")
        }
        None if assigned || line.contains("$(") || line.contains("${") => {
            format!("{} has a variable of siege's: write each URL whole.", echo(line))
        }
        None => return None,
    })
}

/// The parts of a line, `method` where it has none.
fn method_and_url<'a>(line: &'a str, method: &'a str) -> Result<(&'a str, &'a str), String> {
    let is_url = |word: &str| word.starts_with('/') || word.contains("://");
    let (first, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
    let rest = rest.trim_start();
    if is_url(first) {
        return match rest {
            "" => Ok((method, first)),
            more => Err(format!(
                "{} follows the URL: write METHOD URL. Body (-b) and headers (-H) are given once, for all \
                 lines.",
                echo(more)
            )),
        };
    }
    if let Err(why) = request::check_method(first) {
        if rest.is_empty() {
            // What is wrong with it as a URL says more.
            return Ok((method, first));
        }
        return Err(format!(
            "{why} A line is a URL, a path or METHOD URL; body (-b) and headers (-H) are given once, for all lines."
        ));
    }
    if rest.is_empty() {
        return Err(format!("{} has no URL after it: write METHOD URL.", echo(first)));
    }
    if let Some((_, more)) = rest.split_once(|c: char| c.is_ascii_whitespace()) {
        return Err(format!("{} follows the URL: write METHOD URL.", echo(more.trim_start())));
    }
    Ok((first, rest))
}

fn origin(target: &Target) -> String {
    let url = Target { path: String::new(), ..target.clone() }.display_url();
    url.escape_debug().to_string()
}

/// What is wrong, shortened, and without a password.
fn echo(text: &str) -> String {
    let text = without_fields(&without_userinfo(text));
    let mut shown: String = text.chars().take(ECHO_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
