//! What a load asks for, as header blocks and a body that are ready before the clock starts.

use crate::frame::{FRAME_MAX_BYTES, write};
use crate::hpack::{Field, Forms, write_field};

/// The requests of a load, read-only: each is fields of its own around those that all share, and then the body.
#[derive(Clone)]
pub struct Requests {
    pub(super) shared: Forms,
    body: Vec<u8>,
    own: Vec<u8>,
    each: Vec<Own>,
    /// Where there is but one, and it takes one frame: that, on no stream yet, with the shared fields taken from the table.
    frame: Vec<u8>,
    /// Where each place of a connection has a request of its own: the fields and the body of each.
    places: Vec<Vec<u8>>,
}

#[derive(Clone, Copy)]
pub(super) struct Own {
    from: usize,
    middle: usize,
    to: usize,
    body_to: Option<usize>,
    pub(super) is_head: bool,
    pub(super) has_body: bool,
}

impl Requests {
    /// None yet; all of them with these fields and this body. Of the fields, pseudo-headers come first.
    pub fn new(shared: &[Field<'_>], body: Vec<u8>) -> Requests {
        Requests {
            shared: Forms::of(shared),
            body,
            own: Vec::new(),
            each: Vec::new(),
            frame: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Adds a request with fields of its own: `before` the shared ones (`:path`, say) and `behind` them. They enter no
    /// table. `is_head` says that its method is HEAD; `body` is in place of that of all. The first is request 0.
    pub fn push(&mut self, before: &[Field<'_>], behind: &[Field<'_>], is_head: bool, body: Option<&[u8]>) {
        let from = self.own.len();
        before.iter().for_each(|field| write_field(&mut self.own, field));
        let middle = self.own.len();
        behind.iter().for_each(|field| write_field(&mut self.own, field));
        let to = self.own.len();
        self.own.extend_from_slice(body.unwrap_or_default());
        let (body_to, has_body) = (body.map(|_| self.own.len()), !body.unwrap_or(&self.body).is_empty());
        self.each.push(Own { from, middle, to, body_to, is_head, has_body });
        self.frame.clear();
        if self.each.len() == 1 && self.block_length(0) <= FRAME_MAX_BYTES as usize {
            let parts = [&self.own[..middle], self.shared.indexed.as_slice(), &self.own[middle..to]];
            write::headers(&mut self.frame, 0, !has_body, &parts);
        }
    }

    /// Makes so many requests of it, with nothing in them yet.
    pub fn make_places(&mut self, count: usize) {
        let none = Own { from: 0, middle: 0, to: 0, body_to: Some(0), is_head: false, has_body: false };
        (self.each, self.places) = (vec![none; count], vec![Vec::new(); count]);
        self.frame.clear();
    }

    /// Puts another request in a place, and the former's bytes into `bytes`: fields before the shared ones to the first
    /// end, behind them to the second, and its body.
    pub fn replace(&mut self, place: u32, bytes: &mut Vec<u8>, (middle, to): (usize, usize), is_head: bool) {
        let (at, end) = (place as usize, bytes.len());
        self.each[at] = Own { from: 0, middle, to, body_to: Some(end), is_head, has_body: end > to };
        std::mem::swap(&mut self.places[at], bytes);
    }

    /// The bytes of a place's request, and where its fields end.
    pub fn take(&mut self, place: u32) -> (Vec<u8>, (usize, usize)) {
        let one = self.each[place as usize];
        (std::mem::take(&mut self.places[place as usize]), (one.middle, one.to))
    }

    fn bytes_of(&self, request: u32) -> &[u8] {
        self.places.get(request as usize).unwrap_or(&self.own)
    }

    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// The length in bytes of a request that is not a connection's first, with its frames' headers.
    pub fn length(&self, request: u32) -> usize {
        const HEADER_BYTES: usize = 9;
        let body_bytes = self.body(request).len();
        let frames = body_bytes.div_ceil(FRAME_MAX_BYTES as usize);
        HEADER_BYTES + self.block_length(request) + frames * HEADER_BYTES + body_bytes
    }

    fn block_length(&self, request: u32) -> usize {
        let (before, behind) = self.own(request);
        before.len() + self.shared.indexed.len() + behind.len()
    }

    /// The one request there is, as a frame that has to be given a stream.
    pub(super) fn frame(&self) -> Option<&[u8]> {
        (!self.frame.is_empty()).then_some(self.frame.as_slice())
    }

    pub(super) fn own(&self, request: u32) -> (&[u8], &[u8]) {
        let one = self.each[request as usize];
        let own = self.bytes_of(request);
        (&own[one.from..one.middle], &own[one.middle..one.to])
    }

    pub(super) fn body(&self, request: u32) -> &[u8] {
        let one = self.each[request as usize];
        one.body_to.map_or(&self.body, |end| &self.bytes_of(request)[one.to..end])
    }

    #[inline]
    pub(super) fn each(&self, request: u32) -> &Own {
        &self.each[request as usize]
    }
}
