//! The laboratory: which servers there are, how they are installed, started,
//! checked, watched and stopped, and in which order they take their turns.

pub mod bench;
pub mod candidate;
pub mod capacity;
pub mod catalogue;
mod check;
pub mod container;
pub mod doctor;
pub mod experiment;
pub mod launch;
pub mod plan_file;
pub mod profile;
mod programs;
pub mod provision;
pub mod sample;
pub mod server_host;
pub mod service;
pub mod supervise;
mod sys;
mod toml_file;
pub mod watch;

pub use check::post;
