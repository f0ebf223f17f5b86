//! By which way a server was reached: over loopback its packets cost other things than over a network.

use std::net::SocketAddr;

use prony_model::trial::Trial;

/// In words; `None` of an address that says nothing.
pub(crate) fn way(trial: &Trial) -> Option<&'static str> {
    let address = &trial.target.address;
    if address.starts_with('/') {
        return Some("a Unix socket");
    }
    let address: SocketAddr = address.parse().ok()?;
    Some(if address.ip().to_canonical().is_loopback() { "loopback" } else { "a network" })
}
