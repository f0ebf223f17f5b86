//! The plan's requests as bytes, ready before the clock starts.

use std::collections::VecDeque;
use std::sync::Arc;

use super::file_body::{FileBody, PIECE_MAX_BYTES};
use super::{OUTPUT_BYTES, request};
use crate::values::{BUFFERS_MAX_BYTES, Render, Rendered, Source, Text};
use prony_model::list::TargetList;
use prony_model::plan::PlannedRequest;
use prony_model::values::{Place, Values};
use prony_model::{Plan, PlanError, Target};

/// The most that all requests of a list may take together: with the largest list half a kilobyte each.
const BYTES_MAX: usize = 512 << 20;

#[derive(Debug)]
pub(crate) struct RequestBytes {
    /// The different requests in turn; where the plan has one, as often as a connection may carry it at once.
    bytes: Vec<u8>,
    /// The one's length; 0 where there is a list, or values.
    length: usize,
    is_head: bool,
    /// Of several requests, or of one that is not the same each time.
    list: Option<Listed>,
    /// Where the one's body is read from, behind its head.
    file: Option<FileBody>,
    /// Bodies are sent when the server has asked for them.
    wait_for_continue: bool,
    pipeline: usize,
    /// Where requests have values: these, and each request as a text with places for them; it has no bytes then.
    templates: Option<(Source, Vec<Template>)>,
    /// They come from a list that stays in its file: what is here is of each kind one, for all but its bytes.
    is_long: bool,
}

#[derive(Debug)]
struct Template {
    head: Text,
    body: Text,
}

impl Template {
    fn of(values: &Values, host: &str, keepalive: bool, one: &PlannedRequest<'_>) -> Template {
        let mut built = request::build(host, keepalive, one);
        built.truncate(built.len() - one.body().len());
        let line = built.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // `Content-Length` is the last header.
        let length = one.content_length().map(|length| format!("{length}\r\n\r\n"));
        let fields = &built[line..built.len() - length.as_ref().map_or(0, String::len)];
        let mut head = Text::of(values, &built[..line], Place::Url);
        head.add(values, fields, Place::Text);
        if length.is_some() {
            head.add_length();
            head.add(values, b"\r\n\r\n", Place::Text);
        }
        Template { head, body: Text::of(values, one.body(), Place::of_body(one)) }
    }
}

impl Render for RequestBytes {
    fn render(&self, number: u64, scratch: &mut Vec<u8>, into: &mut Rendered) {
        let Some((of, templates)) = &self.templates else { return };
        let Template { head, body } = &templates[into.request as usize];
        scratch.clear();
        body.write(of, number, 0, scratch);
        into.bytes.clear();
        head.write(of, number, scratch.len(), &mut into.bytes);
        into.bytes.extend_from_slice(scratch);
    }

    fn usual_bytes(&self) -> usize {
        let each = self.templates.iter().flat_map(|(_, templates)| templates);
        each.map(|one| one.head.usual_bytes() + one.body.usual_bytes()).max().unwrap_or(0)
    }
}

#[derive(Debug)]
struct Listed {
    /// Where each begins and ends; one more than there are requests.
    bounds: Vec<usize>,
    is_head: Vec<bool>,
}

impl RequestBytes {
    /// The plan's requests, and how each is where it is its connection's last: of a plan that has such.
    pub(crate) fn of_both(plan: &Plan) -> Result<[Arc<RequestBytes>; 2], PlanError> {
        if !plan.keepalive || plan.life().is_none() {
            let all = Arc::new(RequestBytes::of(plan, plan.keepalive, BYTES_MAX)?);
            return Ok([Arc::clone(&all), all]);
        }
        let of = |keepalive| Ok(Arc::new(RequestBytes::of(plan, keepalive, BYTES_MAX / 2)?));
        Ok([of(true)?, of(false)?])
    }

    fn of(plan: &Plan, keepalive: bool, most: usize) -> Result<RequestBytes, PlanError> {
        let pipeline = plan.pipeline as usize;
        let hosts: Vec<String> = plan.origins().iter().map(Target::host_header).collect();
        let (mut bytes, mut bounds, mut is_head) = (Vec::new(), vec![0], Vec::new());
        let mut left = plan.requests().fold(most, |left, one| left.saturating_sub(one.body().len()));
        let (source, mut templates) = (Source::of(plan)?, Vec::new());
        for one in plan.requests() {
            if left == 0 {
                return Err(PlanError(format!(
                    "The list's {} requests take over {} MiB with their headers and bodies: give a shorter list or body.",
                    plan.requests().count(),
                    most >> 20
                )));
            }
            if source.is_some() {
                templates.push(Template::of(&plan.values, &hosts[one.origin], keepalive, &one));
            } else {
                bytes.extend(request::build(&hosts[one.origin], keepalive, &one));
            }
            left = left.min(most.saturating_sub(bytes.len()));
            bounds.push(bytes.len());
            is_head.push(one.method == "HEAD");
        }
        let wait_for_continue = plan.waits_for_continue();
        if plan.work.list().is_none() && source.is_none() {
            let file = plan.body_file.as_ref().map(|body| FileBody::open(body, plan.chunked)).transpose()?;
            let of_file = file.as_ref().map_or(0, FileBody::length);
            let length = bytes.len() + usize::try_from(of_file).unwrap_or(usize::MAX);
            return Ok(RequestBytes {
                bytes: bytes.repeat(pipeline),
                length,
                is_head: is_head == [true],
                list: None,
                file,
                wait_for_continue,
                pipeline,
                templates: None,
                is_long: false,
            });
        }
        bytes.shrink_to_fit();
        let list = Some(Listed { bounds, is_head });
        let templates = source.map(|source| (source, templates));
        let (length, is_head, file) = (0, false, None);
        let long = plan.work.list().and_then(TargetList::long);
        let longest = long.map_or(0, |long| long.longest_bytes);
        if (2 * pipeline * plan.connections as usize).saturating_mul(longest) > BUFFERS_MAX_BYTES {
            return Err(PlanError(format!(
                "The list's longest request has {longest} bytes, and two for each of {} at once take over {} MiB: lower -c or -p.",
                pipeline * plan.connections as usize,
                BUFFERS_MAX_BYTES >> 20
            )));
        }
        let is_long = long.is_some();
        Ok(RequestBytes {
            bytes,
            length,
            is_head,
            list,
            file,
            wait_for_continue,
            pipeline,
            templates,
            is_long,
        })
    }

    pub(super) fn have_values(&self) -> bool {
        self.templates.is_some()
    }

    /// Whether each request has bytes of its own.
    fn are_rendered(&self) -> bool {
        self.templates.is_some() || self.is_long
    }

    #[inline(always)]
    pub(super) fn are_listed(&self) -> bool {
        self.list.is_some()
    }

    /// The length of the one, where there is no list.
    #[inline(always)]
    pub(super) fn length_of_one(&self) -> usize {
        self.length
    }

    pub(super) fn wait_for_continue(&self) -> bool {
        self.wait_for_continue
    }

    /// What is left to be written of a request's head.
    #[cold]
    pub(super) fn head(&self, request: u32, written: usize) -> &[u8] {
        let bytes = self.bytes(request);
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
        &bytes[written.min(end)..end]
    }

    /// That the body's file, where there is one, is still what it was.
    pub(crate) fn check_file(&self) -> Result<(), PlanError> {
        self.file.as_ref().map_or(Ok(()), FileBody::check)
    }

    /// Room for the numbers of a connection's requests; none without a list.
    pub(super) fn room_for_listed(&self) -> VecDeque<u32> {
        VecDeque::with_capacity(if self.are_listed() { self.pipeline } else { 0 })
    }

    /// Room for a connection's requests with values, and an answered one.
    pub(super) fn room_for_rendered(&self) -> VecDeque<Rendered> {
        VecDeque::with_capacity(if self.are_rendered() { self.pipeline + 1 } else { 0 })
    }

    /// The most bytes that [`RequestBytes::several`] or [`RequestBytes::of_file`] puts together.
    pub(super) fn most_at_once(&self) -> usize {
        match &self.file {
            Some(_) => self.bytes.len() + PIECE_MAX_BYTES,
            None if self.are_listed() && self.pipeline > 1 => OUTPUT_BYTES,
            None => 0,
        }
    }

    /// The length of a request, by its number in the list; without one, of the one there is.
    #[inline(always)]
    pub(crate) fn length(&self, request: u32) -> usize {
        match &self.list {
            None => self.length,
            Some(_) => self.bytes(request).len(),
        }
    }

    pub(crate) fn bytes(&self, request: u32) -> &[u8] {
        let at = request as usize;
        match &self.list {
            None => &self.bytes[..self.length.min(self.bytes.len())],
            Some(list) => &self.bytes[list.bounds[at]..list.bounds[at + 1]],
        }
    }

    /// Whether its answers have no body; `None` is the one there is without a list.
    #[inline(always)]
    pub(super) fn is_head(&self, request: Option<u32>) -> bool {
        match (&self.list, request) {
            (Some(list), Some(request)) => list.is_head[request as usize],
            _ => self.is_head,
        }
    }

    /// The plan's one request so many times, but for the first's bytes that are written.
    #[inline(always)]
    pub(super) fn repeated(&self, written: usize, times: usize) -> &[u8] {
        &self.bytes[written..times * self.length]
    }

    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// The next piece of the one whose body is read from its file.
    pub(super) fn of_file<'a>(&self, written: usize, room: &'a mut Vec<u8>) -> &'a [u8] {
        let Some(file) = &self.file else { return &[] };
        let head = &self.bytes[written.min(self.bytes.len())..];
        room.clear();
        room.extend_from_slice(head);
        file.piece((written + head.len() - self.bytes.len()) as u64, room);
        room
    }

    /// Of `count` requests those from place `first` on that go at once, without the first's written bytes: several go into
    /// `room`.
    #[inline(never)]
    pub(super) fn several<'a>(
        bytes: impl Fn(usize) -> &'a [u8],
        count: usize,
        first: usize,
        written: usize,
        room: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        if first >= count {
            return &[];
        }
        let begun = &bytes(first)[written..];
        if count == first + 1 || begun.len() >= OUTPUT_BYTES {
            return begun;
        }
        room.clear();
        room.extend_from_slice(begun);
        for next in (first + 1..count).map(bytes) {
            if room.len() + next.len() > OUTPUT_BYTES {
                break;
            }
            room.extend_from_slice(next);
        }
        room
    }
}
