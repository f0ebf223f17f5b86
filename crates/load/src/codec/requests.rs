//! The requests of one connection that have no answer yet.

use std::collections::VecDeque;

use crate::expect::{BodyCheck, Expectations};
use crate::recorder::latency::RequestTimes;

/// Where a request stands among the unanswered ones of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestPlace(pub(crate) u32);

/// A connection's unanswered requests. In order, places count from the oldest; else each keeps its own until removed.
pub(crate) trait Requests {
    fn with_room(most: usize, expected: &Expectations) -> Self;
    fn len(&self) -> usize;
    fn add(&mut self, times: RequestTimes) -> RequestPlace;
    fn get(&self, place: RequestPlace) -> Option<&RequestTimes>;
    fn get_mut(&mut self, place: RequestPlace) -> Option<&mut RequestTimes>;
    fn body(&mut self, place: RequestPlace) -> &mut BodyCheck;
    fn remove(&mut self, place: RequestPlace) -> Option<RequestTimes>;
    fn first(&self) -> Option<RequestPlace>;
    fn open(&mut self) {}
    fn tally(&mut self, _response_ns: u64) {}
    /// Answers since the connection was opened, and their response times' sum; `None` where nobody adds them up.
    fn tallied(&self) -> Option<(u64, u64)> {
        None
    }
    fn iter(&self) -> impl Iterator<Item = (RequestPlace, &RequestTimes)>;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

pub(crate) struct InOrder {
    times: VecDeque<RequestTimes>,
    body: BodyCheck,
    answered: u64,
    response_sum_ns: u64,
}

impl Requests for InOrder {
    fn with_room(most: usize, expected: &Expectations) -> InOrder {
        let (times, body) = (VecDeque::with_capacity(most), BodyCheck::new(expected));
        InOrder { times, body, answered: 0, response_sum_ns: 0 }
    }

    fn open(&mut self) {
        (self.answered, self.response_sum_ns) = (0, 0);
    }

    // Four instructions a request. Over HTTP/2, where it would be dearer in proportion, the streams' ids count.
    #[inline(always)]
    fn tally(&mut self, response_ns: u64) {
        self.answered += 1;
        self.response_sum_ns += response_ns;
    }

    fn tallied(&self) -> Option<(u64, u64)> {
        Some((self.answered, self.response_sum_ns))
    }

    fn len(&self) -> usize {
        self.times.len()
    }

    fn add(&mut self, times: RequestTimes) -> RequestPlace {
        self.times.push_back(times);
        RequestPlace(self.times.len() as u32 - 1)
    }

    fn get(&self, place: RequestPlace) -> Option<&RequestTimes> {
        self.times.get(place.0 as usize)
    }

    fn get_mut(&mut self, place: RequestPlace) -> Option<&mut RequestTimes> {
        self.times.get_mut(place.0 as usize)
    }

    fn body(&mut self, _place: RequestPlace) -> &mut BodyCheck {
        &mut self.body
    }

    fn remove(&mut self, place: RequestPlace) -> Option<RequestTimes> {
        debug_assert_eq!(place, RequestPlace(0), "answers come in order");
        self.times.pop_front()
    }

    fn first(&self) -> Option<RequestPlace> {
        (!self.times.is_empty()).then_some(RequestPlace(0))
    }

    fn iter(&self) -> impl Iterator<Item = (RequestPlace, &RequestTimes)> {
        (0..).map(RequestPlace).zip(&self.times)
    }
}

pub(crate) struct ByPlace {
    places: Vec<Option<RequestTimes>>,
    bodies: Vec<BodyCheck>,
    free: Vec<u32>,
}

impl Requests for ByPlace {
    fn with_room(most: usize, expected: &Expectations) -> ByPlace {
        ByPlace {
            places: vec![None; most],
            bodies: (0..most).map(|_| BodyCheck::new(expected)).collect(),
            free: (0..most as u32).rev().collect(),
        }
    }

    fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn add(&mut self, times: RequestTimes) -> RequestPlace {
        // A connection is never given more requests than it has places.
        let place = self.free.pop().unwrap_or(0);
        self.places[place as usize] = Some(times);
        RequestPlace(place)
    }

    fn get(&self, place: RequestPlace) -> Option<&RequestTimes> {
        self.places.get(place.0 as usize)?.as_ref()
    }

    fn get_mut(&mut self, place: RequestPlace) -> Option<&mut RequestTimes> {
        self.places.get_mut(place.0 as usize)?.as_mut()
    }

    fn body(&mut self, place: RequestPlace) -> &mut BodyCheck {
        &mut self.bodies[place.0 as usize]
    }

    fn remove(&mut self, place: RequestPlace) -> Option<RequestTimes> {
        let times = self.places.get_mut(place.0 as usize)?.take()?;
        self.free.push(place.0);
        Some(times)
    }

    fn first(&self) -> Option<RequestPlace> {
        self.iter().next().map(|(place, _)| place)
    }

    fn iter(&self) -> impl Iterator<Item = (RequestPlace, &RequestTimes)> {
        (0..).map(RequestPlace).zip(&self.places).filter_map(|(place, times)| Some((place, times.as_ref()?)))
    }
}
