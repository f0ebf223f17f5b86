//! Requests that are not the same each time: texts with places for values, put together before they are due.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use prony_model::PlanError;
use prony_model::plan::{Plan, PlannedRequest};
use prony_model::values::{Place, Values};

use crate::pace::request_order::RequestOrder;
use crate::ring::Ring;

/// How many requests a worker has ready, at most: more than the events of one turn of its loop.
const AHEAD_MAX: usize = 256;
/// What they take together, at most, where each is longer than its share of it; one is always ready.
const AHEAD_MAX_BYTES: usize = 16 << 20;
/// The most that all connections' requests may take, each in a buffer of its own.
pub(crate) const BUFFERS_MAX_BYTES: usize = 512 << 20;
/// What a value takes where buffers are made; longer ones make theirs grow.
const VALUE_BYTES: usize = 64;

/// A text with places for values.
#[derive(Debug, Default)]
pub(crate) struct Text(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Value(usize, Place),
    /// The length of the request's body.
    Length,
}

impl Text {
    pub(crate) fn of(values: &Values, text: &[u8], place: Place) -> Text {
        let mut all = Text::default();
        all.add(values, text, place);
        all
    }

    pub(crate) fn length() -> Text {
        Text(vec![Piece::Length])
    }

    pub(crate) fn add(&mut self, values: &Values, text: &[u8], place: Place) {
        for (before, value) in values.split(text) {
            if !before.is_empty() {
                self.0.push(Piece::Bytes(before.to_vec()));
            }
            self.0.extend(value.map(|value| Piece::Value(value, place)));
        }
    }

    pub(crate) fn add_length(&mut self) {
        self.0.push(Piece::Length);
    }

    /// About how long it is with its values.
    pub(crate) fn usual_bytes(&self) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Value(..) | Piece::Length => VALUE_BYTES,
        };
        self.0.iter().map(bytes).sum()
    }

    pub(crate) fn write(&self, of: &Source, number: u64, body_bytes: usize, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Value(value, place) => of.values.write(*value, *place, of.seed, number, out),
                // A Vec takes all that is written.
                Piece::Length => drop(write!(out, "{body_bytes}")),
            }
        }
    }
}

/// What values are made of.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    values: Values,
    seed: u64,
}

impl Source {
    /// `None` where the plan has no values. Refuses a plan whose requests would take too much memory.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Source>, PlanError> {
        if plan.values.is_empty() {
            return Ok(None);
        }
        let places = plan.connections as usize * plan.pipeline as usize;
        let length = |one: &PlannedRequest<'_>| {
            let headers = one.headers().map(|(name, value)| name.len() + value.value().len());
            one.body().len() + one.path.len() + headers.sum::<usize>()
        };
        let largest = plan.requests().map(|one| length(&one)).max().unwrap_or(0);
        if places.saturating_mul(largest) > BUFFERS_MAX_BYTES {
            return Err(PlanError(format!(
                "Each of {places} requests at once has a buffer of its own for its values, and together they take over {} MiB: \
                 give a shorter body, or lower -c or -p.",
                BUFFERS_MAX_BYTES >> 20
            )));
        }
        Ok(Some(Source { values: plan.values.clone(), seed: plan.seed }))
    }
}

/// A request with its values.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    /// Which of the plan's requests it is.
    pub(crate) request: u32,
    pub(crate) bytes: Vec<u8>,
    /// Of HTTP/2: where the fields before and behind the shared ones end; the body follows.
    pub(crate) fields: (usize, usize),
}

pub(crate) trait Render {
    /// Puts the request of this number together; `scratch` is any buffer.
    fn render(&self, number: u64, scratch: &mut Vec<u8>, into: &mut Rendered);
    /// About how long a request is.
    fn usual_bytes(&self) -> usize;
}

/// A worker's next requests, in their order.
pub(crate) struct Ahead<R> {
    pub(crate) templates: Arc<R>,
    ready: VecDeque<Rendered>,
    free: Vec<Rendered>,
    scratch: Vec<u8>,
    most: usize,
    /// Where they come from, if not from templates: the list stays in its file.
    ring: Option<Ring>,
}

impl<R: Render> Ahead<R> {
    /// With buffers for so many requests that are under way.
    pub(crate) fn new(templates: Arc<R>, under_way: usize) -> Ahead<R> {
        let length = templates.usual_bytes();
        let most = (AHEAD_MAX_BYTES / length.max(1)).clamp(1, AHEAD_MAX);
        let buffer = || Rendered { bytes: Vec::with_capacity(length), ..Rendered::default() };
        let free = (0..most + under_way).map(|_| buffer()).collect();
        Ahead {
            templates,
            ready: VecDeque::with_capacity(most),
            free,
            scratch: Vec::with_capacity(length),
            most,
            ring: None,
        }
    }

    /// Of a list that stays in its file: one for each of so many places. A turn of the worker's loop begins no more, so
    /// that it waits for the reader only where the clock is read behind it: then requests are late, and not answers slow.
    pub(crate) fn of_ring(templates: Arc<R>, ring: Ring, places: usize) -> Ahead<R> {
        let (ready, free) = (VecDeque::with_capacity(2 * places), Vec::new());
        Ahead { templates, ready, free, scratch: Vec::new(), most: places, ring: Some(ring) }
    }

    /// Has so many ready of the next ones of this order. Gives until when it last waited for its ring; 0: never.
    pub(crate) fn fill(&mut self, order: &RequestOrder, count: usize) -> u64 {
        while self.ready.len() < count.min(self.most) {
            if let Some(ring) = &mut self.ring {
                if !ring.take(&mut self.ready, &mut self.free) {
                    break;
                }
                continue;
            }
            let (request, number) = order.at(self.ready.len() as u64);
            let mut one = self.free.pop().unwrap_or_default();
            one.request = request;
            self.templates.render(number, &mut self.scratch, &mut one);
            self.ready.push_back(one);
        }
        self.ring.as_ref().map_or(0, |ring| ring.dry_until_ns)
    }

    pub(crate) fn take(&mut self) -> Rendered {
        self.ready.pop_front().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, one: Rendered) {
        self.free.push(one);
    }
}
