//! From a candidate to processes that are ready to be started: the seam between the catalogue, which knows recipes, and
//! supervision, which knows processes.

pub(crate) mod certificate;
mod container;
mod native;
pub(crate) mod run_dir;
mod spec;
mod version;

pub(crate) use native::{Work, beside, done};
pub use spec::LaunchSpec;
pub(crate) use spec::ProcessSpec;
pub(crate) use spec::{ContainerSpec, LaunchContext};
