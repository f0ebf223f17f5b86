//! Single connections made as a load makes its own, but blocking: for what is asked of a server before the load.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prony_model::plan::Plan;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use crate::endpoint::resolve;
use crate::error::LoadError;
use crate::tls::{Setup, failure};

/// How a plan's server is reached: by TCP or by a Unix socket, with TLS or without.
#[derive(Debug, Clone)]
pub struct Dialer {
    place: Place,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

#[derive(Debug, Clone)]
enum Place {
    /// The addresses of the target's name, in the resolver's order.
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

impl Dialer {
    /// For the plan's target, by its Unix socket where it has one, and with its TLS.
    ///
    /// # Errors
    /// When the name has no address, or a certificate or key of the plan cannot be used.
    pub fn of(plan: &Plan) -> Result<Dialer, LoadError> {
        let place = match &plan.unix {
            Some(path) => Place::Unix(path.clone()),
            None => Place::Tcp(resolve(plan)?),
        };
        let tls = Setup::of(plan)?.map(|setup| (setup.worker(), setup.name()));
        Ok(Dialer { place, tls })
    }

    /// Where it leads, as people write it.
    pub fn address(&self) -> String {
        match &self.place {
            Place::Tcp(addresses) => addresses.first().map_or_else(String::new, ToString::to_string),
            Place::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// Connects, by the first address that accepts, and does TLS's handshake; each step, and each later call of the
    /// stream until it is told otherwise, takes `timeout` at most.
    ///
    /// # Errors
    /// What the system or TLS said; of several addresses, of the first.
    pub fn connect(&self, timeout: Duration) -> io::Result<Stream> {
        let socket = match &self.place {
            Place::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
            Place::Tcp(addresses) => {
                let mut tried = addresses.iter().map(|address| TcpStream::connect_timeout(address, timeout));
                let first = tried.next().unwrap_or_else(|| Err(io::ErrorKind::AddrNotAvailable.into()));
                let stream = first.or_else(|why| tried.find_map(Result::ok).ok_or(why))?;
                // A pair of small writes must not wait for the other end's delayed acknowledgement.
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
        };
        socket.set_timeout(timeout)?;
        let Some((config, name)) = &self.tls else { return Ok(Stream::Plain(socket)) };
        let session = ClientConnection::new(Arc::clone(config), name.clone()).map_err(|e| failure::of(&e))?;
        let mut stream = StreamOwned::new(session, socket);
        while stream.conn.is_handshaking() {
            let moved = stream.conn.complete_io(&mut stream.sock);
            moved.map_err(|e| failure::during_handshake(&failure::of_stream(e)))?;
        }
        Ok(Stream::Tls(Box::new(stream)))
    }
}

/// A connection of a [`Dialer`].
#[derive(Debug)]
pub enum Stream {
    /// Without TLS.
    Plain(Socket),
    /// With TLS.
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

/// The connection below TLS, or without it.
#[derive(Debug)]
pub enum Socket {
    /// By TCP.
    Tcp(TcpStream),
    /// By a Unix socket.
    Unix(UnixStream),
}

impl Socket {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(s) => s.set_read_timeout(Some(timeout)).and(s.set_write_timeout(Some(timeout))),
            Socket::Unix(s) => s.set_read_timeout(Some(timeout)).and(s.set_write_timeout(Some(timeout))),
        }
    }
}

impl Stream {
    /// Lets each read and each write take so long at most.
    ///
    /// # Errors
    /// When the system refuses; a timeout of zero is refused.
    pub fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.set_timeout(timeout),
            Stream::Tls(stream) => stream.sock.set_timeout(timeout),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.write(bytes),
            Socket::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(stream) => stream.read(buffer).map_err(failure::of_stream),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}
