//! When requests are due: pure functions from an index to an instant. Never a sum of sleeps: a late wake-up delays one
//! request, not all that follow.

mod poisson;
mod ramp;
pub(crate) mod request_order;
mod schedule;

pub use poisson::Poisson;
pub use ramp::Ramp;
pub use schedule::Schedule;
