//! A candidate with all that one start of it needs: a port, a folder, a certificate, its files.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use prony_model::secret::names_asked_for;
use prony_model::tls::Roots;
use rustix::process::geteuid;

use super::port::port_of;
use crate::candidate::{Candidate, Layout};
use crate::launch::{LaunchContext, LaunchSpec, certificate, run_dir};

/// A candidate, ready to be started. Who does not start it removes its folder.
pub(crate) struct Prepared {
    pub(crate) launch: LaunchSpec,
    /// The port that it is to listen on.
    pub(crate) port: u16,
    /// The Unix socket instead of it.
    pub(crate) socket: Option<PathBuf>,
    /// The certificate that was made for it.
    pub(crate) certificate: Option<Roots>,
}

/// Why a candidate cannot be started.
#[derive(Debug)]
pub(crate) enum NotPrepared {
    /// A folder for its files could not be made.
    RunDir(io::Error),
    /// Something else, in a sentence.
    Other(String),
}

/// Prepares a start of a candidate that is to listen on this address of the machine, with so many workers on these CPUs
/// (empty: any).
pub(crate) fn prepare(
    candidate: &Candidate,
    layout: &Layout,
    address: Ipv4Addr,
    (workers, cpus): (u32, &[u32]),
) -> Result<Prepared, NotPrepared> {
    let port = port_of(candidate, address).map_err(NotPrepared::Other)?;
    // Root's servers give up their rights, and a container's users are others outside of it.
    let shared = geteuid().is_root() || candidate.engine().is_some();
    let run_dir = run_dir::create(shared).map_err(NotPrepared::RunDir)?;
    let address = SocketAddr::from((address, port));
    let context = LaunchContext { address, workers, run_dir, hidden: names_asked_for() };
    let made = || {
        let takes = candidate.takes_certificate();
        let certificate =
            takes.then(|| certificate::make(&context.run_dir, context.address.ip())).transpose()?;
        let mut launch = candidate.launch(layout, &context)?;
        launch.pin(cpus);
        Ok(Prepared { launch, port, socket: candidate.socket(&context), certificate })
    };
    made().map_err(|why: String| {
        run_dir::remove(&context.run_dir);
        NotPrepared::Other(why)
    })
}

impl Prepared {
    /// Its certificate as a file has it.
    pub(crate) fn certificate_pem(&self) -> Option<String> {
        let path = self.launch.run_dir.join(certificate::CERTIFICATE);
        self.certificate.as_ref().and_then(|_| std::fs::read_to_string(path).ok())
    }

    /// Leaves nothing of it, where it is not started.
    pub(crate) fn give_up(&self) {
        run_dir::remove(&self.launch.run_dir);
    }
}
