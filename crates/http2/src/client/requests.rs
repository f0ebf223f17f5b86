//! What a load asks for, as header blocks and a body that are ready before the clock starts.

use crate::frame::{FRAME_MAX_BYTES, write};
use crate::hpack::{Field, Forms, write_field};

/// The requests of a load, read-only: each is fields of its own around those that all share, and then the body.
#[derive(Clone)]
pub struct Requests {
    pub(super) shared: Forms,
    pub(super) body: Vec<u8>,
    /// The requests' own fields, all in one piece.
    own: Vec<u8>,
    each: Vec<Own>,
    /// Where there is but one, and it takes one frame: that, on no stream yet, with the shared fields taken from the table.
    frame: Vec<u8>,
}

/// Where a request's own fields are.
#[derive(Clone, Copy)]
struct Own {
    from: usize,
    middle: usize,
    to: usize,
    is_head: bool,
}

impl Requests {
    /// None yet; all of them with these fields and this body. Of the fields, pseudo-headers come first.
    pub fn new(shared: &[Field<'_>], body: Vec<u8>) -> Requests {
        Requests { shared: Forms::of(shared), body, own: Vec::new(), each: Vec::new(), frame: Vec::new() }
    }

    /// Adds a request with fields of its own: `before` the shared ones (`:path`, say) and `behind` them. They enter no
    /// table. `is_head` says that its method is HEAD. The first is request 0.
    pub fn push(&mut self, before: &[Field<'_>], behind: &[Field<'_>], is_head: bool) {
        let from = self.own.len();
        before.iter().for_each(|field| write_field(&mut self.own, field));
        let middle = self.own.len();
        behind.iter().for_each(|field| write_field(&mut self.own, field));
        self.each.push(Own { from, middle, to: self.own.len(), is_head });
        self.frame.clear();
        if self.each.len() == 1 && self.block_length(0) <= FRAME_MAX_BYTES as usize {
            let parts = [&self.own[..middle], self.shared.indexed.as_slice(), &self.own[middle..]];
            write::headers(&mut self.frame, 0, self.body.is_empty(), &parts);
        }
    }

    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// The length in bytes of a request that is not a connection's first, with its frames' headers.
    pub fn length(&self, request: u32) -> usize {
        const HEADER_BYTES: usize = 9;
        let frames = self.body.len().div_ceil(FRAME_MAX_BYTES as usize);
        HEADER_BYTES + self.block_length(request) + frames * HEADER_BYTES + self.body.len()
    }

    /// The length of its header block, with the shared fields taken from the table.
    fn block_length(&self, request: u32) -> usize {
        let (before, behind) = self.own(request);
        before.len() + self.shared.indexed.len() + behind.len()
    }

    /// The one request there is, as a frame that has to be given a stream.
    pub(super) fn frame(&self) -> Option<&[u8]> {
        (!self.frame.is_empty()).then_some(self.frame.as_slice())
    }

    /// A request's own fields before and behind the shared ones.
    pub(super) fn own(&self, request: u32) -> (&[u8], &[u8]) {
        let one = self.each[request as usize];
        (&self.own[one.from..one.middle], &self.own[one.middle..one.to])
    }

    /// Whether its method is HEAD.
    pub(super) fn is_head(&self, request: u32) -> bool {
        self.each[request as usize].is_head
    }
}
