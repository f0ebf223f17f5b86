//! Prony's load engine: a [`Plan`] in, a raw [`Measurement`] out.
//!
//! It knows no files, no terminals and no server processes. One worker is one
//! thread with one epoll loop that owns its connections and its histograms;
//! nothing is shared while the clock runs.
//!
//! Why not an async runtime: its timers round to a millisecond, its scheduler
//! moves work between threads, and both would be charged to the server.

mod audit;
mod books;
pub mod by_request;
mod control;
mod deadlines;
pub mod dial;
mod endpoint;
mod engine;
mod error;
mod expect;
pub mod framing;
mod gate;
mod idle;
mod interrupt;
mod linger;
mod merge;
mod net;
pub mod pace;
mod parts;
mod prepared;
mod request;
mod sample;
mod series;
pub mod share;
#[cfg(test)]
mod sim;
pub mod so_far;
mod sys;
mod tls;
mod turns;
mod worker;

pub use control::{Control, LastSecond, Snapshot};
pub use engine::{run, run_shard};
pub use error::LoadError;
pub use interrupt::{Interrupt, Loader};
pub use share::{Shard, Share};
pub use so_far::SoFar;
