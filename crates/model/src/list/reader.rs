//! What all formats of a list have in common: lines, servers, requests each once, and what is wrong with them.

use std::collections::HashMap;
use std::path::Path;

use super::*;
use crate::foreign_file;
use crate::input::ReadFile;
use crate::request::{check_header, check_method, is_token};
use crate::secret::remember_body;
use crate::target::without_userinfo;

/// What is echoed of a wrong line, in characters.
const ECHO_MAX: usize = 40;

/// A request as a line has it, before its server is known.
#[derive(Default)]
pub(super) struct Described {
    pub(super) method: String,
    /// Whole, or a path.
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) chunked: bool,
    pub(super) expect: Option<Expect>,
    /// How often it is sent in a round, beyond once.
    pub(super) repeated: u32,
    /// What is said instead if it is no request.
    pub(super) instead: Option<String>,
}

pub(super) struct Reader<'a> {
    /// The servers that are known; lines that are paths go to the first.
    origins: Vec<Target>,
    /// It was given beside the list, and is the only one.
    is_given: bool,
    has_paths: bool,
    known: HashMap<ListedRequest, u32>,
    list: TargetList,
    read: ReadFile<'a>,
    /// Files of bodies, each read once.
    files: HashMap<String, Vec<u8>>,
    file_bytes: usize,
    /// Of a folder the file that is looked at.
    pub(super) of_file: Option<String>,
    own_bytes: usize,
    /// Requests are read one by one, and none is kept.
    pub(super) is_long: bool,
    errors: Vec<ListError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        server: Option<&Target>,
        method: &str,
        order: Order,
        format: Format,
        read: ReadFile<'a>,
    ) -> Reader<'a> {
        let (requests, lines, origins) = (Vec::new(), Vec::new(), Vec::new());
        Reader {
            origins: server.cloned().into_iter().collect(),
            is_given: server.is_some(),
            has_paths: false,
            known: HashMap::new(),
            list: TargetList {
                method: method.to_owned(),
                requests,
                lines,
                order,
                origins,
                format,
                file: None,
            },
            read,
            files: HashMap::new(),
            file_bytes: 0,
            of_file: None,
            own_bytes: 0,
            is_long: false,
            errors: Vec::new(),
        }
    }

    /// The method of lines that name none.
    pub(super) fn method(&self) -> String {
        self.list.method.clone()
    }

    pub(super) fn format(&self) -> Format {
        self.list.format
    }

    /// The server that was given beside the list.
    pub(super) fn given(&self) -> Option<&Target> {
        self.origins.first().filter(|_| self.is_given)
    }

    /// Takes a line's request or what is wrong with it; whether more lines are looked at.
    pub(super) fn take(&mut self, line: Option<usize>, described: Result<Described, String>) -> bool {
        if self.list.lines.len() >= LINES_MAX {
            let why = format!(
                "A list may have at most {LINES_MAX} requests, and this is one more: a longer list is sent in order from a file, so give one, without --shuffle."
            );
            self.errors.push(ListError { line, why });
            return false;
        }
        if let Err(why) = described.and_then(|one| self.add(one)) {
            let of_file = self.of_file.as_ref().map_or(String::new(), |file| format!("{file}: "));
            self.errors.push(ListError { line, why: of_file + &why });
        }
        self.errors.len() < ERRORS_MAX && self.own_bytes <= OWN_MAX_BYTES
    }

    fn add(&mut self, one: Described) -> Result<(), String> {
        let Described { method, url, headers, body, chunked, expect, repeated, instead } = one;
        check_method(&method)?;
        if method.len() + url.len() > LINE_MAX_BYTES {
            return Err(format!(
                "Its URL has {} bytes: it may have {LINE_MAX_BYTES} with its method.",
                url.len()
            ));
        }
        let mut request = self.request(&method, &url).map_err(|why| instead.unwrap_or(why))?;
        let mut own = OwnParts { headers: Vec::new(), body, chunked, expect };
        let body_bytes = own.body.as_ref().map_or(0, Vec::len);
        let mut own_bytes = body_bytes;
        for (name, value) in headers {
            // Prony writes it itself, and this is the same.
            if name.eq_ignore_ascii_case("content-length") && value.parse() == Ok(body_bytes) {
                continue;
            }
            own_bytes += name.len() + value.len();
            let value = Secret::of_listed(&name, &value)?;
            check_header(&name, value.value()).map_err(|e| e.0)?;
            own.headers.push((name, value));
        }
        let expected = own.expect.as_ref().and_then(|expect| expect.body.as_deref());
        own.body.as_deref().into_iter().chain(expected).for_each(|body| remember_body(body, false));
        request.own = (own != OwnParts::default()).then(|| Box::new(own));
        let next = u32::try_from(self.list.requests.len()).unwrap_or(u32::MAX);
        let index = if self.is_long { next } else { *self.known.entry(request.clone()).or_insert(next) };
        if index == next {
            self.own_bytes += own_bytes;
            if self.own_bytes > OWN_MAX_BYTES {
                let most = OWN_MAX_BYTES >> 20;
                return Err(format!(
                    "With it the headers and bodies of the list take over {most} MiB: give a shorter one."
                ));
            }
            self.list.requests.push(request);
        }
        let times = repeated as usize + 1;
        if self.list.lines.len() + times > LINES_MAX {
            return Err(format!(
                "With its weight the list has over {LINES_MAX} requests: give lower weights."
            ));
        }
        self.list.lines.extend(std::iter::repeat_n(index, times));
        Ok(())
    }

    /// The content of a body's file; its path is seen from the folder that Prony was started in.
    pub(super) fn file(&mut self, path: &str) -> Result<Vec<u8>, String> {
        if let Some(content) = self.files.get(path) {
            return Ok(content.clone());
        }
        // A command that is refused leaves its files.
        let left = OWN_MAX_BYTES.saturating_sub(self.own_bytes.max(self.file_bytes)) as u64;
        let shown = echo(path);
        let content = (self.read)(path, left + 1)
            .map_err(|why| format!("Its body {shown} could not be read: {why}."))?;
        if content.len() as u64 > left {
            return Err(format!(
                "Its body {shown} is larger than the {left} bytes that are left for it: give a shorter one."
            ));
        }
        self.file_bytes += content.len();
        self.files.insert(path.to_owned(), content.clone());
        Ok(content)
    }

    /// The one request of a text whose first line is this one, or what is wrong with it; all of it is forgotten.
    pub(super) fn only(&mut self, line: usize) -> Result<ListedRequest, ListError> {
        self.own_bytes = 0;
        let lines = std::mem::take(&mut self.list.lines).len();
        let request = self.list.requests.pop();
        let at_line = |why: &str| ListError { line: Some(line), why: why.to_owned() };
        if let Some(e) = self.errors.pop() {
            return Err(ListError { line: e.line.map(|within| line + within - 1), ..e });
        }
        if lines > 1 {
            return Err(at_line(
                "It has a weight, and a list that stays in its file is sent in order: leave it out.",
            ));
        }
        if self.origins.len() > 1 {
            self.origins.pop();
            return Err(at_line(
                "It names another server than the first line, and a list that stays in its file has one.",
            ));
        }
        request.ok_or_else(|| at_line(self.list.format.nothing()))
    }

    /// The first server that is known.
    pub(super) fn server(&self) -> Option<&Target> {
        self.origins.first()
    }

    /// The content of a request's own file.
    pub(super) fn raw(&self, path: &Path) -> Result<Vec<u8>, String> {
        // Its head is counted when it is read, and is no longer than another format's line.
        let most = OWN_MAX_BYTES.saturating_sub(self.own_bytes) + COMMAND_MAX_BYTES;
        foreign_file::read(path, most as u64).map_err(|why| format!("It could not be read: {why}."))
    }

    /// The (first) server and the list, or all that is wrong.
    pub(super) fn finish(self) -> Result<(Target, TargetList), Vec<ListError>> {
        let Reader { origins, mut list, mut errors, .. } = self;
        match origins.first().cloned() {
            Some(server) if !list.lines.is_empty() && errors.is_empty() => {
                list.origins = if origins.len() > 1 { origins } else { Vec::new() };
                Ok((Target { path: "/".to_owned(), ..server }, list))
            }
            _ => {
                if errors.is_empty() {
                    let why = list.format.nothing().to_owned();
                    errors.push(ListError { line: None, why });
                }
                Err(errors)
            }
        }
    }

    /// A request of this method, by its URL or path.
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

/// The lines of a text that are neither empty nor comments, without blanks around them, with their numbers from 1.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let all = (1..).zip(text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii));
    all.filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"))
}

pub(super) fn text_of(line: &[u8], most: usize) -> Result<&str, String> {
    if line.len() > most {
        return Err(format!("It has {} bytes: a line may have {most}.", line.len()));
    }
    std::str::from_utf8(line).map_err(|e| {
        format!("It is not UTF-8 (byte {}): percent-encode what is not ASCII.", e.valid_up_to() + 1)
    })
}

/// The name and the value of a header's line.
pub(super) fn header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let name = name.trim_end();
    // `http://h/` is none.
    (is_token(name) && !value.starts_with("//")).then(|| (name.to_owned(), value.trim().to_owned()))
}

/// What is wrong, shortened, and without a password.
pub(super) fn echo(text: &str) -> String {
    let text = without_fields(&without_userinfo(text));
    let mut shown: String = text.chars().take(ECHO_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}
