//! The running server: started, asked, stopped.

use std::convert::identity;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::ledger::{Books, Ledger};
use crate::server::{Server, Signal};
use crate::service::Service;
use crate::sys::{self, Stamps};
use crate::tls::Setup;
use crate::truth::Stalls;

#[derive(Debug, Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("cannot listen on {address} ({source}): {}", advice(.source))]
    Listen { address: SocketAddr, source: io::Error },
    #[error(
        "cannot set up the reference server ({0}): raise the limits on open files and processes (ulimit -n, -u)"
    )]
    Resources(#[from] io::Error),
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "end what listens there, or take any free port with port 0",
        io::ErrorKind::PermissionDenied => "take a port from 1024 on, or any free one with port 0",
        io::ErrorKind::AddrNotAvailable => "take an address of this machine, such as 127.0.0.1",
        _ => "try 127.0.0.1 with port 0, which takes any free port",
    }
}

/// A running reference server. It stops when dropped.
pub struct Target {
    address: SocketAddr,
    certificate: Option<String>,
    books: Arc<Books>,
    stopper: Stopper,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

/// Stops a [`Target`] from elsewhere: from the thread that waits for Ctrl-C, or for the parent's end.
#[derive(Clone)]
pub struct Stopper(Arc<[Arc<Signal>]>);

impl Stopper {
    /// Makes every event loop end as soon as it has done what it is at; a stall doesn't hold it up.
    pub fn stop(&self) {
        self.0.iter().for_each(|signal| signal.stop());
    }
}

impl Target {
    pub fn start(config: &Config) -> Result<Target, StartError> {
        config.check()?;
        // A capacity is one queue, and one loop is the simplest way to keep the order of arrivals.
        let threads = if config.capacity_per_s.is_some() { 1 } else { config.threads };
        let listeners = listeners(config.address, threads)
            .map_err(|source| StartError::Listen { address: config.address, source })?;
        let address = listeners[0].local_addr()?;
        let started_ns = sys::now_ns();
        // All of them or none: an account has one clock.
        let stamps: Option<Vec<Stamps>> = listeners.iter().map(Stamps::ask).collect();
        let books = Arc::new(Books::new(listeners.len(), started_ns, stamps.is_some()));
        let tls = config.tls.then(|| Setup::new(address.ip())).transpose()?;
        let mut stamps = stamps.into_iter().flatten();
        let stalls = config.stall.map(|stall| Stalls::new(stall, started_ns));
        let mut servers = Vec::with_capacity(listeners.len());
        let mut signals = Vec::with_capacity(listeners.len());
        for (index, listener) in listeners.into_iter().enumerate() {
            let signal = Arc::new(Signal::new()?);
            let service = Service::new(
                config,
                Arc::clone(&books),
                index,
                stamps.next(),
                tls.as_ref().map(|tls| Arc::clone(&tls.config)),
            );
            servers.push(Server::new(listener, Arc::clone(&signal), service, stalls)?);
            signals.push(signal);
        }
        let stopper = Stopper(signals.into());
        let certificate = tls.map(|tls| tls.certificate);
        let threads = Vec::with_capacity(servers.len());
        let mut target = Target { address, certificate, books, stopper, threads };
        for (index, server) in servers.into_iter().enumerate() {
            let name = format!("target-{index}");
            let stopper = target.stopper();
            // One that ends by itself ends them all: half a server would lie.
            let serve = move || server.run().inspect_err(|_| stopper.stop());
            target.threads.push(thread::Builder::new().name(name).spawn(serve)?);
        }
        Ok(target)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its own certificate, PEM, where it speaks TLS: for a client to trust.
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Its event loops: those asked for, or one with a capacity.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// What it has done so far, without a request. Takes some milliseconds, of which a loop is held up for some 50 µs.
    pub fn ledger(&self) -> Ledger {
        self.books.ledger()
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Its last account, after its threads have ended. Connections still open are closed, and count as open in it.
    pub fn stop(mut self) -> Ledger {
        self.stopper.stop();
        // An error would have ended the loop before, with everything counted until then in its book.
        let _ = self.join();
        self.books.ledger()
    }

    /// Waits until a [`Stopper`] stops it.
    pub fn wait(mut self) -> Result<Ledger, StartError> {
        self.join()?;
        Ok(self.books.ledger())
    }

    fn join(&mut self) -> io::Result<()> {
        let panicked = |_| Err(io::Error::other("an event loop panicked"));
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            result = result.and(thread.join().map_or_else(panicked, identity));
        }
        result
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stopper.stop();
        let _ = self.join();
    }
}

/// Runs in the foreground, until stopped: `ready` is called once with the address and the way to stop it.
pub fn run(config: &Config, ready: impl FnOnce(SocketAddr, Stopper)) -> Result<Ledger, StartError> {
    let target = Target::start(config)?;
    ready(target.address(), target.stopper());
    target.wait()
}

/// How often a free port is asked for anew when somebody else took it between two calls.
const PORTS_TRIED_MAX: usize = 16;

fn listeners(address: SocketAddr, threads: usize) -> io::Result<Vec<TcpListener>> {
    for _ in 1..PORTS_TRIED_MAX {
        match listeners_once(address, threads) {
            Err(e) if address.port() == 0 && e.kind() == io::ErrorKind::AddrInUse => {}
            listeners => return listeners,
        }
    }
    listeners_once(address, threads)
}

fn listeners_once(address: SocketAddr, threads: usize) -> io::Result<Vec<TcpListener>> {
    let first = sys::listen(address, false)?;
    if threads == 1 {
        return Ok(vec![first]);
    }
    // Shared listeners would silently join those of another server of this user, and get half of its connections; this
    // one, unshared, has just shown that there is none.
    let address = first.local_addr()?;
    drop(first);
    (0..threads).map(|_| sys::listen(address, true)).collect()
}
