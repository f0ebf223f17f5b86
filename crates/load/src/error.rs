//! Why a load could not be applied. What goes wrong with single requests is counted, not returned.

use std::fmt;
use std::io;

use prony_model::PlanError;
use prony_model::measurement::ErrorKind;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(
        "{connections} connections need {needed} open files and the limit here is {limit}: \
         raise it with `ulimit -n {needed}` (as root, or by LimitNOFILE or /etc/security/limits.conf), or give a smaller -c."
    )]
    OpenFiles { connections: u32, needed: u64, limit: u64 },
    #[error("The host {host:?} could not be resolved: {reason}. Check the name, or give its address.")]
    Resolve { host: String, reason: String },
    #[error("No connection to {url} ({address}) could be opened: {reason}. {}", advice(*.kind))]
    Unreachable { url: String, address: String, kind: ErrorKind, reason: String },
    #[error("{0}")]
    Fleet(String),
    /// One of them was lost before there was anything to keep: the next try may have another in its place.
    #[error("{0}")]
    AgentLost(String),
    #[error("Interrupted before the window opened: nothing was measured.")]
    Interrupted,
    #[error(
        "All requests had their responses before the warm-up was over, so that nothing was measured: \
         give a shorter --warmup, or a larger -n."
    )]
    WarmUpTookAll,
    #[error("The operating system reported an error while {0}: {1}.")]
    System(&'static str, io::Error),
    #[error("{0}: please report this")]
    Internal(&'static str),
}

impl LoadError {
    pub(crate) fn unreachable_by(url: &str, address: &dyn fmt::Display, error: &io::Error) -> LoadError {
        let kind = match error.kind() {
            io::ErrorKind::ConnectionRefused => ErrorKind::ConnectRefused,
            io::ErrorKind::TimedOut => ErrorKind::ConnectTimeout,
            io::ErrorKind::AddrNotAvailable => ErrorKind::NoPorts,
            _ => ErrorKind::ConnectFailed,
        };
        LoadError::Unreachable {
            url: url.to_owned(),
            address: address.to_string(),
            kind,
            reason: error.to_string(),
        }
    }
}

/// What a user can do when no connection at all could be opened.
fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectRefused => "Is the server started, and is this its port?",
        ErrorKind::ConnectTimeout => "Is the address right, and does a firewall drop the packets?",
        ErrorKind::NoPorts => {
            "Every local port towards it is taken, most of them probably in TIME_WAIT: wait a minute, \
                 or widen net.ipv4.ip_local_port_range."
        }
        ErrorKind::Tls => {
            "--cacert names the trusted CA certificates, --cert and --key the client's own; -k skips verification."
        }
        _ => "Is the address right?",
    }
}
