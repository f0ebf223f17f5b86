//! Beginnings and ends: counts, durations, both, interruptions at any instant.

use std::sync::Arc;
use std::time::Duration;

use crate::error::LoadError;
use crate::measurement::ErrorKind;
use crate::pace::Rate;
use crate::plan::Arrivals;

use super::super::nature::{ConnectFate, Mischief, Nature};
use super::super::{Case, Hand};
use super::{MS, S, all_are};

#[test]
fn connects_before_the_clock_are_bounded_in_number_and_time() {
    let mut nature = Nature::ideal(MS);
    (nature.connects, nature.connect_ns) = (vec![(ConnectFate::Hangs, 1)], 0);
    let mut case = Case::closed(nature);
    (case.plan.connections, case.plan.timeout) = (250, Duration::from_millis(300));
    let hand = Hand::new(&case, 0);
    let world = Arc::new(hand.world);
    assert_eq!((world.borrow().open_most, world.borrow().connects), (100, 100));
    let passed = world.borrow().now_ns - super::super::world::EPOCH_NS;
    assert!((300 * MS..301 * MS).contains(&passed), "{passed}");
    // Given up, it leaves nothing open.
    hand.worker.abandon();
    assert_eq!(world.borrow().open_count(), 0);
    // And one whose server answers is connected whole, in turns.
    case.nature.connects = vec![(ConnectFate::Later, 1)];
    case.nature.connect_ns = 5 * MS;
    let hand = Hand::new(&case, 0);
    assert_eq!((hand.world.borrow().open_count(), hand.world.borrow().connects), (250, 250));
    hand.worker.abandon();
    assert_eq!(hand.world.borrow().open_count(), 0);
}
