//! The terminal while something runs: its progress, its figures so far, and whether the client keeps up.
//!
//! A state (`load`, `bench`, `capacity`) takes in events in the run's thread and knows no terminal. `mode` decides: the
//! view or plain lines (`plain`). The view is a pure function of a state; `painter` is the thread that draws it,
//! `screen` the terminal, restored however the program ends; `live` has all of it. Why so: docs/decisions/0015.

mod bars;
mod bench;
mod bench_view;
mod canvas;
mod capacity;
mod live;
mod load;
mod load_view;
mod mode;
mod painter;
mod plain;
mod screen;
#[cfg(test)]
mod tests;
mod timeline;
mod view;

pub(crate) use bench::BenchState;
pub(crate) use capacity::CapacityState;
pub(crate) use live::Live;
pub(crate) use load::LoadState;
pub(crate) use mode::ProgressMode;
pub(crate) use screen::restore;
