//! The plan's requests as bytes, ready before the clock starts.

use std::collections::VecDeque;
use std::sync::Arc;

use super::file_body::FileBody;
use super::{OUTPUT_BYTES, request};
use prony_model::{Plan, PlanError, Target};

/// The most that all requests of a list may take together: with the largest list half a kilobyte each.
const BYTES_MAX: usize = 512 << 20;

#[derive(Debug)]
pub(crate) struct RequestBytes {
    /// The different requests in turn; where the plan has one, as often as a connection may carry it at once.
    bytes: Vec<u8>,
    /// The one's length; 0 where there is a list.
    length: usize,
    is_head: bool,
    list: Option<Listed>,
    /// Where the one's body is read from, behind its head.
    file: Option<FileBody>,
    /// Bodies are sent when the server has asked for them.
    wait_for_continue: bool,
    pipeline: usize,
}

/// Where the requests of a list are, and what their answers have.
#[derive(Debug)]
struct Listed {
    /// Where each begins and ends; one more than there are requests.
    bounds: Vec<usize>,
    is_head: Vec<bool>,
}

impl RequestBytes {
    /// The plan's requests, and how each is where it is its connection's last: of a plan that has such.
    pub(crate) fn of_both(plan: &Plan) -> Result<[Arc<RequestBytes>; 2], PlanError> {
        let usual = Arc::new(RequestBytes::of(plan, plan.keepalive)?);
        let last = if plan.keepalive && plan.life().is_some() {
            Arc::new(RequestBytes::of(plan, false)?)
        } else {
            Arc::clone(&usual)
        };
        Ok([usual, last])
    }

    fn of(plan: &Plan, keepalive: bool) -> Result<RequestBytes, PlanError> {
        let pipeline = plan.pipeline as usize;
        let hosts: Vec<String> = plan.origins().iter().map(Target::host_header).collect();
        let (mut bytes, mut bounds, mut is_head) = (Vec::new(), vec![0], Vec::new());
        let mut left = plan.requests().fold(BYTES_MAX, |left, one| left.saturating_sub(one.body().len()));
        for one in plan.requests() {
            if left == 0 {
                return Err(PlanError(format!(
                    "The list's {} requests take over {} MiB with their headers and bodies: give a shorter list or body.",
                    plan.requests().count(),
                    BYTES_MAX >> 20
                )));
            }
            bytes.extend(request::build(&hosts[one.origin], keepalive, &one));
            left = left.min(BYTES_MAX.saturating_sub(bytes.len()));
            bounds.push(bytes.len());
            is_head.push(one.method == "HEAD");
        }
        if plan.work.list().is_none() {
            let file = plan.body_file.as_ref().map(|body| FileBody::open(body, plan.chunked)).transpose()?;
            let of_file = file.as_ref().map_or(0, FileBody::length);
            let length = bytes.len() + usize::try_from(of_file).unwrap_or(usize::MAX);
            return Ok(RequestBytes {
                bytes: bytes.repeat(pipeline),
                length,
                is_head: is_head == [true],
                list: None,
                file,
                wait_for_continue: plan.waits_for_continue(),
                pipeline,
            });
        }
        bytes.shrink_to_fit();
        let list = Some(Listed { bounds, is_head });
        let wait_for_continue = plan.waits_for_continue();
        Ok(RequestBytes { bytes, length: 0, is_head: false, list, file: None, wait_for_continue, pipeline })
    }

    #[inline(always)]
    pub(super) fn are_listed(&self) -> bool {
        self.list.is_some()
    }

    /// Whether there is one request, which is in memory.
    #[inline(always)]
    pub(super) fn are_alike(&self) -> bool {
        self.list.is_none() && self.file.is_none()
    }

    #[inline(always)]
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

    /// The most bytes that [`RequestBytes::several`] puts together.
    pub(super) fn most_at_once(&self) -> usize {
        if self.are_listed() && self.pipeline > 1 { OUTPUT_BYTES } else { 0 }
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

    /// The requests from place `first` on that go at once, without the first's written bytes: several go into `room`.
    #[inline(never)]
    pub(super) fn several<'a>(
        &'a self,
        numbers: &VecDeque<u32>,
        first: usize,
        written: usize,
        room: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        if let Some(file) = &self.file {
            let head = &self.bytes[written.min(self.bytes.len())..];
            room.clear();
            room.extend_from_slice(head);
            file.piece((written + head.len() - self.bytes.len()) as u64, room);
            return room;
        }
        let Some(number) = numbers.get(first) else { return &[] };
        let bytes = &self.bytes(*number)[written..];
        if numbers.len() == first + 1 || bytes.len() >= OUTPUT_BYTES {
            return bytes;
        }
        room.clear();
        room.extend_from_slice(bytes);
        for number in numbers.range(first + 1..) {
            let next = self.bytes(*number);
            if room.len() + next.len() > OUTPUT_BYTES {
                break;
            }
            room.extend_from_slice(next);
        }
        room
    }
}
