//! The web server inside the binary: the live page, its events, and reports.
//!
//! Standard library and `httparse`, a thread a connection, few connections,
//! everything bounded: what it serves is a page for one reader on the same
//! machine, and an asynchronous server would be more code in the binary than
//! the rest of it (docs/decisions/0011). Its threads run below everything else.

#[cfg(test)]
mod any_request;
mod guard;
mod http;
mod hub;
mod listen;
mod metrics;
mod shelf;

pub(crate) use hub::Hub;
pub(crate) use listen::{Server, Site};
pub(crate) use metrics::{Metrics, UnderWay, Whose};
pub(crate) use shelf::Shelf;
