//! The requests of one connection that have no answer yet.

use std::collections::VecDeque;

use crate::expect::{BodyCheck, Expected};
use crate::recorder::latency::RequestTimes;

/// Where a request stands among the unanswered ones of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) u32);

/// A connection's unanswered requests.
pub(crate) trait Requests {
    /// Whether answers come in the order of the requests. Then only the oldest one's time can be over, and that ends the
    /// connection, and places count from the oldest request; otherwise each has a place of its own until it is removed.
    const IN_ORDER: bool;

    /// None yet, of so many at most.
    fn with_room(most: usize, expected: &Expected) -> Self;
    fn len(&self) -> usize;
    /// Adds the youngest.
    fn add(&mut self, times: RequestTimes) -> Place;
    fn get(&self, place: Place) -> Option<&RequestTimes>;
    fn get_mut(&mut self, place: Place) -> Option<&mut RequestTimes>;
    /// Whether the body of the request's answer is the one expected, as far as it has come.
    fn body(&mut self, place: Place) -> &mut BodyCheck;
    fn remove(&mut self, place: Place) -> Option<RequestTimes>;
    /// The first of them: the oldest, where answers come in order.
    fn first(&self) -> Option<Place>;
    /// All, in no certain order.
    fn iter(&self) -> impl Iterator<Item = (Place, &RequestTimes)>;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where answers come in the order of the requests.
pub(crate) struct InOrder {
    /// The oldest first.
    times: VecDeque<RequestTimes>,
    /// Of the oldest.
    body: BodyCheck,
}

impl Requests for InOrder {
    const IN_ORDER: bool = true;

    fn with_room(most: usize, expected: &Expected) -> InOrder {
        InOrder { times: VecDeque::with_capacity(most), body: BodyCheck::new(expected) }
    }

    fn len(&self) -> usize {
        self.times.len()
    }

    fn add(&mut self, times: RequestTimes) -> Place {
        self.times.push_back(times);
        Place(self.times.len() as u32 - 1)
    }

    fn get(&self, place: Place) -> Option<&RequestTimes> {
        self.times.get(place.0 as usize)
    }

    fn get_mut(&mut self, place: Place) -> Option<&mut RequestTimes> {
        self.times.get_mut(place.0 as usize)
    }

    fn body(&mut self, _place: Place) -> &mut BodyCheck {
        &mut self.body
    }

    fn remove(&mut self, place: Place) -> Option<RequestTimes> {
        debug_assert_eq!(place, Place(0), "answers come in order");
        self.times.pop_front()
    }

    fn first(&self) -> Option<Place> {
        (!self.times.is_empty()).then_some(Place(0))
    }

    fn iter(&self) -> impl Iterator<Item = (Place, &RequestTimes)> {
        (0..).map(Place).zip(&self.times)
    }
}

/// Where answers come in any order.
pub(crate) struct ByPlace {
    places: Vec<Option<RequestTimes>>,
    bodies: Vec<BodyCheck>,
    /// The free places.
    free: Vec<u32>,
}

impl Requests for ByPlace {
    const IN_ORDER: bool = false;

    fn with_room(most: usize, expected: &Expected) -> ByPlace {
        ByPlace {
            places: vec![None; most],
            bodies: (0..most).map(|_| BodyCheck::new(expected)).collect(),
            free: (0..most as u32).rev().collect(),
        }
    }

    fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    fn add(&mut self, times: RequestTimes) -> Place {
        // A connection is never given more requests than it has places.
        let place = self.free.pop().unwrap_or(0);
        self.places[place as usize] = Some(times);
        Place(place)
    }

    fn get(&self, place: Place) -> Option<&RequestTimes> {
        self.places.get(place.0 as usize)?.as_ref()
    }

    fn get_mut(&mut self, place: Place) -> Option<&mut RequestTimes> {
        self.places.get_mut(place.0 as usize)?.as_mut()
    }

    fn body(&mut self, place: Place) -> &mut BodyCheck {
        &mut self.bodies[place.0 as usize]
    }

    fn remove(&mut self, place: Place) -> Option<RequestTimes> {
        let times = self.places.get_mut(place.0 as usize)?.take()?;
        self.free.push(place.0);
        Some(times)
    }

    fn first(&self) -> Option<Place> {
        self.iter().next().map(|(place, _)| place)
    }

    fn iter(&self) -> impl Iterator<Item = (Place, &RequestTimes)> {
        (0..).map(Place).zip(&self.places).filter_map(|(place, times)| Some((place, times.as_ref()?)))
    }
}
