//! How TLS is spoken with an `https://` target. Everything that knows rustls is below (docs/decisions/0005): `setup`
//! makes its configuration, `verify` decides about certificates, `session` moves one connection's bytes, `blocking`
//! those of one that may wait, `table` holds a worker's sessions by handle, and `failure` says in sentences what went
//! wrong.

mod blocking;
pub(crate) mod failure;
mod session;
mod setup;
mod table;
mod verify;

pub(crate) use setup::Setup;
pub(crate) use table::Table;
