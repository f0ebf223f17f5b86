//! What the framers of one worker share.

use std::collections::BTreeMap;

use prony_http2::bytes::equal;
use prony_model::measurement::Tolerance;

use super::head::{Head, bit};
use super::{HEAD_MAX_BYTES, NO_ROOM, PARTIAL_KEPT_BYTES, ProtocolError};

/// A longer head is parsed each time.
const LAST_HEAD_MAX_BYTES: usize = 2 << 10;

/// The most that unfinished heads take beside the [`PARTIAL_KEPT_BYTES`] of each connection: 260 of the longest.
pub(crate) const PARTIAL_MAX_BYTES: usize = 64 << 20;

/// The last head of a worker's answers and what it said, tolerated heads, and the room for unfinished ones. A server's
/// heads are mostly the same, byte for byte, until the Date changes: comparing costs a tenth of parsing.
#[derive(Debug, Default)]
pub struct Heads {
    last: Vec<u8>,
    said: Option<Head>,
    is_head_request: bool,
    tolerated: BTreeMap<Tolerance, u64>,
    /// What unfinished heads take beyond what each connection may keep.
    pub(super) partial_bytes: usize,
}

impl Heads {
    pub fn new() -> Heads {
        // The longest head that is kept is a little longer than servers' usual ones.
        Heads { last: Vec::with_capacity(LAST_HEAD_MAX_BYTES), ..Heads::default() }
    }

    pub fn tolerated(&self) -> &BTreeMap<Tolerance, u64> {
        &self.tolerated
    }

    #[inline]
    pub(super) fn find(&self, input: &[u8], is_head_request: bool) -> Option<Head> {
        let begins = input.get(..self.last.len())?;
        let same = self.is_head_request == is_head_request && equal(begins, &self.last);
        self.said.filter(|_| same)
    }

    /// Takes note of a head that was parsed. One that is only tolerated is parsed each time, and counted.
    pub(super) fn note(&mut self, head: &Head, bytes: &[u8], is_head_request: bool) {
        if head.tolerated != 0 {
            self.count(head);
        } else if head.length <= LAST_HEAD_MAX_BYTES && head.status >= 200 {
            self.last.clear();
            self.last.extend_from_slice(bytes);
            self.said = Some(*head);
            self.is_head_request = is_head_request;
        }
    }

    pub(super) fn count(&mut self, head: &Head) {
        for tolerance in Tolerance::ALL.iter().filter(|tolerance| head.tolerated & bit(**tolerance) != 0) {
            self.tolerate(*tolerance);
        }
    }

    pub(super) fn tolerate(&mut self, why: Tolerance) {
        *self.tolerated.entry(why).or_default() += 1;
    }

    pub(super) fn grow(&mut self, partial: &mut Vec<u8>, length: usize) -> Result<(), ProtocolError> {
        let capacity = length.max(2 * partial.capacity()).clamp(PARTIAL_KEPT_BYTES, HEAD_MAX_BYTES);
        let others = self.partial_bytes.saturating_sub(beyond_kept(partial));
        if others + capacity - PARTIAL_KEPT_BYTES > PARTIAL_MAX_BYTES {
            return Err(NO_ROOM);
        }
        partial.reserve_exact(capacity - partial.len());
        self.partial_bytes = others + beyond_kept(partial);
        Ok(())
    }

    /// Gives back the room of a head that is whole, or never will be.
    pub(super) fn shrink(&mut self, partial: &mut Vec<u8>) {
        let others = self.partial_bytes.saturating_sub(beyond_kept(partial));
        partial.shrink_to(PARTIAL_KEPT_BYTES);
        self.partial_bytes = others + beyond_kept(partial);
    }
}

fn beyond_kept(partial: &Vec<u8>) -> usize {
    partial.capacity().saturating_sub(PARTIAL_KEPT_BYTES)
}
