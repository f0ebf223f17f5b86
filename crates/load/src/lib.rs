//! Prony's load engine: a [`Plan`] in, a raw [`Measurement`] out.
//!
//! It knows no files, terminals or server processes. A worker is a thread with an epoll loop, its connections and its
//! histograms; nothing is shared while the clock runs. No async runtime: its timers round to a millisecond, its
//! scheduler moves work between threads, and both would be charged to the server.

mod codec;
mod control;
mod engine;
mod error;
mod expect;
pub mod http1;
mod http2;
mod interrupt;
mod net;
pub mod pace;
mod recorder;
mod ring;
#[cfg(test)]
mod sim;
mod start_barrier;
mod sys;
mod tls;
mod values;
mod worker;

pub use control::{Control, LastSecond, Snapshot};
pub use engine::{run, run_shard};
pub use error::LoadError;
pub use interrupt::{Interrupt, Loader};
pub use net::dial;
pub use net::endpoint::{addresses_of, addresses_of_origin, resolve};
pub use recorder::Gathered;
pub use recorder::by_request;
pub use recorder::durations::{self, Durations};
pub use recorder::live_summary::{self, LiveSummary};
pub use recorder::window_delta::{self, Shard, WindowDelta};
pub use sys::open_files_at_start;
