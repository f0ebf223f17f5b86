//! Lists that stay in their file, too long for memory: one pass finds what is wrong with them, and while they are sent they
//! are read again, in order.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use ring::digest::{Context, SHA256};

use super::reader::Reader;
use super::{
    COMMAND_MAX_BYTES, ERRORS_MAX, Format, ListError, ListFile, ListedRequest, LongList, Order, OwnParts,
    TargetList, curl, read, vegeta,
};
use crate::error::PlanError;
use crate::fnv::{OFFSET_BASIS, fnv1a_behind, folded};
use crate::foreign_file;
use crate::plan::Plan;
use crate::target::Target;

/// How far apart the requests are whose places in the file are known: so many are passed over at most to find one.
const SPACING: u64 = 1024;
/// The most requests: their places take 8 MB.
const REQUESTS_MAX: u64 = 1_000_000_000;
/// The most requests of different expectations: the kind of each line is kept, 4 bytes each.
const OF_KINDS_MAX: usize = 16 << 20;
/// The most different expectations of lines.
const KINDS_MAX: usize = 1_000;
/// The format is told by so much of the file.
const FORMAT_BYTES: u64 = 1 << 20;

fn identity(about: &Metadata) -> [i64; 4] {
    [about.ino().cast_signed(), about.len().cast_signed(), about.mtime(), about.mtime_nsec()]
}

/// A file's requests as texts, one by one.
struct Texts<R> {
    input: BufReader<R>,
    format: Format,
    /// The line that was read last, its number from 1, where it begins, and its length.
    line: Vec<u8>,
    number: usize,
    at: u64,
    length: u64,
    /// It begins the next request.
    is_next: bool,
}

impl<R: Read> Texts<R> {
    fn new(input: R, format: Format) -> Texts<R> {
        let input = BufReader::with_capacity(256 << 10, input);
        Texts { input, format, line: Vec::new(), number: 0, at: 0, length: 0, is_next: false }
    }

    fn read_line(&mut self) -> io::Result<bool> {
        if std::mem::take(&mut self.is_next) {
            return Ok(true);
        }
        self.at += self.length;
        self.line.clear();
        let most = COMMAND_MAX_BYTES as u64 + 2;
        self.length = (&mut self.input).take(most).read_until(b'\n', &mut self.line)? as u64;
        if self.length == most && !self.line.ends_with(b"\n") {
            // What is read of it is too long already.
            self.length += self.input.skip_until(b'\n')? as u64;
        }
        if self.at == 0 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        self.number += 1;
        Ok(self.length > 0)
    }

    /// Has the next request's text, and gives the number of its first line and its place in the file; `None` at the end.
    fn next(&mut self, text: &mut Vec<u8>) -> io::Result<Option<(usize, u64)>> {
        text.clear();
        let (mut first, mut quotes) = (None, curl::Quotes::default());
        while self.read_line()? {
            let line = self.line.trim_ascii();
            if first.is_none() || self.format == Format::Vegeta {
                if line.is_empty() && first.is_some() {
                    break;
                }
                if line.is_empty() || line.starts_with(b"#") {
                    continue;
                }
            }
            if first.is_some() && self.format == Format::Vegeta && vegeta::begins(line) {
                self.is_next = true;
                break;
            }
            first.get_or_insert((self.number, self.at));
            text.extend_from_slice(&self.line);
            let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
            let goes_on = match self.format {
                Format::Vegeta => true,
                Format::Curl => quotes.go_on(line.strip_suffix(b"\r").unwrap_or(line)),
                _ => false,
            };
            if !goes_on || text.len() > COMMAND_MAX_BYTES {
                break;
            }
        }
        Ok(first)
    }
}

/// The whole file passes through it once.
struct Hashed {
    file: File,
    sha256: Context,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.sha256.update(&buffer[..count]);
        Ok(count)
    }
}

/// The SHA-256 of what a list's file holds.
pub fn sha256_of(bytes: &[u8]) -> [u8; 32] {
    let mut hash = Context::new(&SHA256);
    hash.update(bytes);
    finished(hash)
}

fn finished(hash: Context) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(hash.finish().as_ref());
    bytes
}

fn one_by_one(server: Option<&Target>, method: &str, format: Format) -> Reader<'static> {
    let no_files =
        &|_: &str, _: u64| Err("a list that stays in its file has its bodies in its lines, too".to_owned());
    let mut reader = Reader::new(server, method, Order::InTurn, format, no_files);
    reader.is_long = true;
    reader
}

/// What a response must be, of a line: all that is kept of it. Its response has no body where it is HEAD.
fn kind(request: &ListedRequest) -> ListedRequest {
    let method = if request.method == "HEAD" { "HEAD" } else { "GET" };
    let expect = request.own.as_ref().and_then(|own| own.expect.clone());
    let own = expect.map(|expect| Box::new(OwnParts { expect: Some(expect), ..OwnParts::default() }));
    ListedRequest { method: method.to_owned(), path: "/".to_owned(), userinfo: None, origin: 0, own }
}

impl TargetList {
    /// Reads all of a file once, and gives what [`TargetList::read`] does of a list that stays in it. Memory is bounded, whatever
    /// its length.
    pub fn pass(
        path: &Path,
        format: Option<Format>,
        server: Option<&Target>,
        method: &str,
    ) -> Result<(Target, TargetList), Vec<ListError>> {
        let unread =
            |e: io::Error| vec![ListError { line: None, why: format!("it could not be read: {e}.") }];
        let mut file = foreign_file::open(path).map_err(unread)?;
        let about = file.metadata().map_err(unread)?;
        let format = match format {
            Some(format) => format,
            None => {
                let mut begin = Vec::new();
                (&mut file).take(FORMAT_BYTES).read_to_end(&mut begin).map_err(unread)?;
                file.rewind().map_err(unread)?;
                let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&begin);
                Format::of(begin).map_err(|why| vec![ListError { line: None, why }])?
            }
        };
        let mut texts = Texts::new(Hashed { file, sha256: Context::new(&SHA256) }, format);
        let mut reader = one_by_one(server, method, format);
        let (mut known, mut list) = (HashMap::new(), TargetList::empty(method, format));
        let (mut requests, mut longest_bytes) = (0, 0);
        let (mut fingerprint, mut has_own) = (OFFSET_BASIS, false);
        let (mut text, mut places, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        while let Some((line, at)) = texts.next(&mut text).map_err(unread)? {
            if requests % SPACING == 0 {
                places.push(at);
            }
            read::requests(&mut reader, &text);
            let noted = reader.only(line).and_then(|request| {
                let next = known.len() as u32;
                let kind = *known.entry(kind(&request)).or_insert(next);
                list.note(requests, kind, next, || self::kind(&request))
                    .map_err(|why| ListError { line: Some(line), why })?;
                fingerprint = fnv1a_behind(fingerprint, request.hash().to_le_bytes());
                has_own |= request.own.is_some();
                Ok(())
            });
            longest_bytes = longest_bytes.max(text.len());
            requests += 1;
            errors.extend(noted.err());
            if errors.len() >= ERRORS_MAX {
                break;
            }
        }
        let Some(server) = reader.server().filter(|_| errors.is_empty() && requests > 0).cloned() else {
            if errors.is_empty() {
                errors.push(ListError { line: None, why: format.nothing().to_owned() });
            }
            return Err(errors);
        };
        if list.lines.is_empty() {
            list.lines.push(0);
        }
        let sha256 = finished(texts.input.into_inner().sha256);
        let fingerprint = if has_own { folded(fingerprint).into() } else { fingerprint };
        let (identity, places) = (identity(&about), Arc::new(places));
        let long = Some(LongList { requests, longest_bytes, fingerprint, identity, places });
        list.file = Some(Box::new(ListFile { path: path.to_owned(), bytes: about.len(), sha256, long }));
        Ok((Target { path: "/".to_owned(), ..server }, list))
    }

    fn empty(method: &str, format: Format) -> TargetList {
        let (requests, lines, origins) = (Vec::new(), Vec::new(), Vec::new());
        TargetList {
            method: method.to_owned(),
            requests,
            lines,
            order: Order::InTurn,
            origins,
            format,
            file: None,
        }
    }

    /// Notes the kind of a line; the kinds of all before it are 0 where none is noted.
    fn note(
        &mut self,
        line: u64,
        kind: u32,
        next: u32,
        is: impl FnOnce() -> ListedRequest,
    ) -> Result<(), String> {
        if line >= REQUESTS_MAX {
            return Err(format!("It is beyond the {REQUESTS_MAX} requests that a list may have."));
        }
        if kind == next {
            if self.requests.len() >= KINDS_MAX {
                return Err(format!(
                    "It is the first of over {KINDS_MAX} different expectations, which a list that stays in its file may have."
                ));
            }
            self.requests.push(is());
        }
        if self.requests.len() == 1 {
            return Ok(());
        }
        if line >= OF_KINDS_MAX as u64 {
            return Err(format!(
                "A list of over {OF_KINDS_MAX} requests has one expectation (and no HEAD, or HEAD alone), and this line has another."
            ));
        }
        self.lines.resize(line as usize, 0);
        self.lines.push(kind);
        Ok(())
    }
}

/// Such a list while it is sent.
pub struct LongReader<'p> {
    file: &'p ListFile,
    long: &'p LongList,
    texts: Texts<File>,
    reader: Reader<'static>,
    text: Vec<u8>,
    /// The line, from 0, that the file is read up to.
    next: u64,
}

impl<'p> LongReader<'p> {
    /// Of a plan with such a list.
    pub fn open(plan: &'p Plan) -> Result<LongReader<'p>, PlanError> {
        let list = plan.work.list().and_then(|list| Some((list, list.file.as_deref()?, list.long()?)));
        let (list, file, long) = list.ok_or_else(|| PlanError("The plan's list is in memory.".to_owned()))?;
        let opened = foreign_file::open(&file.path).map_err(|_| changed(file))?;
        let texts = Texts::new(opened, list.format);
        let reader = one_by_one(Some(&plan.target), &list.method, list.format);
        let read = LongReader { file, long, texts, reader, text: Vec::new(), next: 0 };
        read.check()?;
        Ok(read)
    }

    /// That the file is still what it was.
    pub fn check(&self) -> Result<(), PlanError> {
        let now = self.texts.input.get_ref().metadata();
        if now.is_ok_and(|now| identity(&now) == self.long.identity) {
            Ok(())
        } else {
            Err(changed(self.file))
        }
    }

    /// The request of this number: of a line, and again and again.
    pub fn request(&mut self, number: u64) -> Result<ListedRequest, PlanError> {
        let line = number % self.long.requests;
        if line < self.next || line / SPACING > self.next / SPACING {
            self.check()?;
            let place = line / SPACING;
            let at = self.long.places.get(place as usize).copied().unwrap_or_default();
            self.texts.input.seek(SeekFrom::Start(at)).map_err(|_| changed(self.file))?;
            (self.texts.at, self.texts.length, self.texts.is_next) = (at, 0, false);
            self.next = place * SPACING;
        }
        while self.next <= line {
            let found = self.texts.next(&mut self.text).map_err(|_| changed(self.file))?;
            found.ok_or_else(|| changed(self.file))?;
            self.next += 1;
        }
        read::requests(&mut self.reader, &self.text);
        self.reader.only(1).map_err(|_| changed(self.file))
    }
}

fn changed(file: &ListFile) -> PlanError {
    PlanError(format!(
        "--targets {} has changed while it was used: give one that stays as it is.",
        file.path.display()
    ))
}

#[cfg(test)]
#[path = "long_tests.rs"]
mod tests;
