//! How TLS is spoken with an `https://` target: whom to trust, who to be, and
//! whether a connection may resume the session of one before it.
//!
//! Everything that knows rustls is below this module (docs/decisions/0005):
//! `setup` makes its configuration, `verify` decides about certificates,
//! `session` moves one connection's bytes, `blocking` those of one that may wait, `table` holds a worker's sessions
//! by their handles, and `failure` says in sentences what went wrong.

mod blocking;
pub(crate) mod failure;
mod session;
mod setup;
mod table;
mod verify;

pub(crate) use setup::Setup;
pub(crate) use table::Table;
