//! The plan's requests as bytes, ready before the clock starts.

use std::collections::VecDeque;

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
    pipeline: usize,
}

#[derive(Debug)]
struct Listed {
    /// Where each begins and ends; one more than there are requests.
    bounds: Vec<usize>,
    is_head: Vec<bool>,
}

impl RequestBytes {
    pub(crate) fn of(plan: &Plan) -> Result<RequestBytes, PlanError> {
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
            bytes.extend(request::build(&hosts[one.origin], plan.keepalive, &one));
            left = left.min(BYTES_MAX.saturating_sub(bytes.len()));
            bounds.push(bytes.len());
            is_head.push(one.method == "HEAD");
        }
        if plan.work.list().is_none() {
            let length = bytes.len();
            return Ok(RequestBytes {
                bytes: bytes.repeat(pipeline),
                length,
                is_head: is_head == [true],
                list: None,
                pipeline,
            });
        }
        bytes.shrink_to_fit();
        let list = Some(Listed { bounds, is_head });
        Ok(RequestBytes { bytes, length: 0, is_head: false, list, pipeline })
    }

    #[inline(always)]
    pub(super) fn are_listed(&self) -> bool {
        self.list.is_some()
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
            None => &self.bytes[..self.length],
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
