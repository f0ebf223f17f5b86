//! What a load asks for, as header blocks and a body that are ready before the clock starts.

use crate::frame::FRAME_MAX_BYTES;
use crate::hpack::{Field, Forms, write_field};

/// The requests of a load, read-only: each is fields of its own around those that all share, and then the body.
#[derive(Clone)]
pub struct Requests {
    pub(super) shared: Forms,
    pub(super) body: Vec<u8>,
    /// The requests' own fields, all in one piece.
    own: Vec<u8>,
    each: Vec<Own>,
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
        Requests { shared: Forms::of(shared), body, own: Vec::new(), each: Vec::new() }
    }

    /// Adds a request with fields of its own: `before` the shared ones (`:path`, say) and `behind` them. They enter no
    /// table. `is_head` says that its method is HEAD. The first is request 0.
    pub fn push(&mut self, before: &[Field<'_>], behind: &[Field<'_>], is_head: bool) {
        let from = self.own.len();
        before.iter().for_each(|field| write_field(&mut self.own, field));
        let middle = self.own.len();
        behind.iter().for_each(|field| write_field(&mut self.own, field));
        self.each.push(Own { from, middle, to: self.own.len(), is_head });
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// The length in bytes of a request that is not a connection's first, with its frames' headers.
    pub fn length(&self, request: u32) -> usize {
        const HEADER_BYTES: usize = 9;
        let (before, behind, _) = self.own(request);
        let block = before.len() + self.shared.indexed.len() + behind.len();
        let frames = self.body.len().div_ceil(FRAME_MAX_BYTES as usize);
        HEADER_BYTES + block + frames * HEADER_BYTES + self.body.len()
    }

    /// A request's own fields before and behind the shared ones, and whether its method is HEAD.
    pub(super) fn own(&self, request: u32) -> (&[u8], &[u8], bool) {
        let one = self.each[request as usize];
        (&self.own[one.from..one.middle], &self.own[one.middle..one.to], one.is_head)
    }
}
