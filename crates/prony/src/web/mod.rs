//! The web server inside the binary: the live page, its events, and reports. Standard library and `httparse`, a thread
//! a connection, everything bounded: it serves one reader on the same machine, and an asynchronous server would be more
//! code than the rest (docs/decisions/0011). Its threads have the lowest priority.

#[cfg(test)]
mod any_request_tests;
mod auth;
mod broadcast;
mod http;
mod listen;
mod metrics;
mod slots;

pub(crate) use broadcast::Broadcast;
pub(crate) use listen::{Site, start};
pub(crate) use metrics::Metrics;
