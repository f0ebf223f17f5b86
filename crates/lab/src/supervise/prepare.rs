//! A candidate with all that one start of it needs: a port, a folder, a certificate, its files.

use std::env::temp_dir;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use prony_model::secret::names_asked_for;
use prony_model::tls::Roots;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::port::port_of;
use super::{Running, StartErrorKind, Supervision};
use crate::candidate::{Candidate, Layout};
use crate::launch::{LaunchContext, LaunchSpec, certificate, run_dir};
use crate::profile;

/// A candidate, ready to be started. Who does not start it removes its folder.
pub(crate) struct Prepared {
    launch: LaunchSpec,
    address: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) certificate: Option<Roots>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum NotUp {
    /// A folder for its files could not be made: no other server would start either.
    NoFolder(String),
    NotStarted(String),
    Late(String),
    /// Somebody else answers on its port; and the processes that outlived its stop.
    Stranger(String, Vec<String>),
    /// Its start was given up; and what it wrote last.
    Cancelled(String, Vec<String>),
}

impl NotUp {
    pub(crate) fn said(self) -> String {
        match self {
            NotUp::NoFolder(why)
            | NotUp::NotStarted(why)
            | NotUp::Late(why)
            | NotUp::Stranger(why, _)
            | NotUp::Cancelled(why, _) => why,
        }
    }
}

pub(crate) fn run_folder(shared: bool) -> Result<PathBuf, NotUp> {
    run_dir::create(shared).map_err(|why| {
        let folder = temp_dir();
        NotUp::NoFolder(format!(
            "No folder could be made in {}: {why}. Servers need one for their sockets and logs.",
            folder.display()
        ))
    })
}

/// Prepares a start: listening on this address, with so many workers on these CPUs (empty: any), beside these services.
pub(crate) fn prepare(
    candidate: &Candidate,
    layout: &Layout,
    address: Ipv4Addr,
    (workers, cpus): (u32, &[u32]),
    services: &[(String, u16)],
) -> Result<Prepared, NotUp> {
    let port = port_of(candidate, address).map_err(NotUp::NotStarted)?;
    // Root's servers give up their rights, and a container's users are others outside of it.
    let shared = geteuid().is_root() || candidate.engine().is_some();
    let run_dir = run_folder(shared)?;
    let socket_address = SocketAddr::from((address, port));
    let (services, hidden) = (services.to_vec(), names_asked_for());
    let context = LaunchContext { address: socket_address, workers, run_dir, services, hidden };
    let made = || {
        let takes = candidate.takes_certificate();
        let certificate = takes.then(|| certificate::make(&context.run_dir, address.into())).transpose()?;
        let mut launch = candidate.launch(layout, &context)?;
        launch.pin(cpus);
        if candidate.is_profiled() {
            let known = launch.variable("NODE_OPTIONS");
            launch.env.extend(profile::environment(known.as_deref()));
        }
        Ok(Prepared { launch, address, port, socket: candidate.socket(&context), certificate })
    };
    made().map_err(|why: String| {
        run_dir::remove(&context.run_dir);
        NotUp::NotStarted(why)
    })
}

impl Prepared {
    /// Starts it, and waits until `ready` says that it gives the right answer, unless `gives_up` says to end.
    pub(crate) fn start(
        &self,
        supervision: &Supervision,
        ready: &mut dyn FnMut() -> bool,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Running, NotUp> {
        let mut running = Running::start(&self.launch, supervision, ready, gives_up).map_err(|why| {
            let said = why.to_string();
            match why.kind {
                StartErrorKind::Interrupted => NotUp::Cancelled(said, why.log_tail),
                StartErrorKind::NotReady(_) => NotUp::Late(said),
                _ => NotUp::NotStarted(said),
            }
        })?;
        let on_port = self.socket.is_none().then_some(self.port);
        match on_port.and_then(|port| running.stranger_on(self.address, port)) {
            None => Ok(running),
            Some(who) => {
                let why = format!("its port {} was taken by {who} before it could listen there.", self.port);
                Err(NotUp::Stranger(why, running.stop().leftovers))
            }
        }
    }

    pub(crate) fn certificate_pem(&self) -> Option<String> {
        let path = self.launch.run_dir.join(certificate::CERTIFICATE);
        self.certificate.as_ref().and_then(|_| std::fs::read_to_string(path).ok())
    }

    pub(crate) fn give_up(&self) {
        run_dir::remove(&self.launch.run_dir);
    }
}
