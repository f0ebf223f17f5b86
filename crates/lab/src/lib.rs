//! The laboratory: which servers there are, how they are installed, started,
//! checked, watched and stopped, and in which order they take their turns.

pub mod candidate;
pub mod catalogue;
pub mod check;
pub mod container;
pub mod doctor;
pub mod inspect;
pub mod launch;
pub mod provision;
pub mod recipe;
pub mod run_dir;
pub mod toml_error;

pub mod bench;
pub mod capacity;
pub mod experiment;
pub mod guard;
pub mod journal;
pub mod published;
pub mod sample;
pub mod schedule;
pub mod supervise;
mod sys;
