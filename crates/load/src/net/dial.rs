//! Connections made as a load makes its own, but blocking: for what is asked of a server before the load.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::plan::{Plan, Protocol};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::error::LoadError;
use crate::net::endpoint::{Endpoint, addresses_of_origin};
use crate::tls;

/// How a plan's server is reached: by TCP or a Unix socket, with TLS or without.
#[derive(Debug, Clone)]
pub struct Dialer {
    host: String,
    destination: Destination,
    protocol: Protocol,
    tls: Option<tls::Setup>,
}

#[derive(Debug, Clone)]
enum Destination {
    /// The addresses of the target's name, in the resolver's order.
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

impl Dialer {
    /// For the plan's target, by its Unix socket where it has one, and with its TLS.
    pub fn of(plan: &Plan) -> Result<Dialer, LoadError> {
        let destination = match &plan.unix {
            Some(path) => Destination::Unix(path.clone()),
            None => Destination::Tcp(addresses_of_origin(plan, &plan.target)?),
        };
        let (host, protocol) = (plan.target.host_header(), plan.protocol);
        Ok(Dialer { host, destination, protocol, tls: tls::Setup::of(plan)? })
    }

    pub(crate) fn to(endpoint: &Endpoint, plan: &Plan, tls: Option<&tls::Setup>) -> Dialer {
        let destination = match endpoint {
            Endpoint::Tcp { addresses, .. } => Destination::Tcp(addresses.first().into_iter().collect()),
            Endpoint::Unix(path) => Destination::Unix(path.clone()),
        };
        Dialer { host: plan.target.host_header(), destination, protocol: plan.protocol, tls: tls.cloned() }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Connects, by the first address that accepts, and shakes hands. Each step and later call takes `timeout` at most.
    pub fn connect(&self, timeout: Duration) -> io::Result<Box<dyn Connection>> {
        match &self.destination {
            Destination::Unix(path) => self.over(connect_unix(path, timeout)?, timeout),
            Destination::Tcp(addresses) => {
                let mut tried = addresses.iter().map(|address| TcpStream::connect_timeout(address, timeout));
                let first = tried.next().unwrap_or_else(|| Err(io::ErrorKind::AddrNotAvailable.into()));
                let socket = first.or_else(|why| tried.find_map(Result::ok).ok_or(why))?;
                // A pair of small writes must not wait for the other end's delayed acknowledgement.
                socket.set_nodelay(true)?;
                self.over(socket, timeout)
            }
        }
    }

    fn over(&self, socket: impl Connection + 'static, timeout: Duration) -> io::Result<Box<dyn Connection>> {
        socket.set_timeout(timeout)?;
        Ok(match &self.tls {
            None => Box::new(socket),
            Some(setup) => Box::new(setup.connect(socket)?),
        })
    }
}

impl fmt::Display for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.destination {
            Destination::Tcp(addresses) => {
                addresses.iter().take(1).try_for_each(|address| write!(f, "{address}"))
            }
            Destination::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A Unix socket's listener with a full queue would hold up a connect for ever.
fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_timeout(socket.as_fd(), timeout)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Of a zero the system would make no limit at all.
fn set_timeout(socket: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
    let timeout = Some(timeout.max(Duration::from_millis(1)));
    sockopt::set_socket_timeout(socket, sockopt::Timeout::Recv, timeout)?;
    Ok(sockopt::set_socket_timeout(socket, sockopt::Timeout::Send, timeout)?)
}

/// A connection of a [`Dialer`]. A read gives 0 where the other end said that there is no more; with TLS a connection
/// that ends without that is `UnexpectedEof`.
pub trait Connection: AsFd + Read + Write + Send + fmt::Debug {
    /// Lets each read and each write take so long at most; what takes longer ends with `WouldBlock`.
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        set_timeout(self.as_fd(), timeout)
    }
}

impl<S: AsFd + Read + Write + Send + fmt::Debug> Connection for S {}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;
    use prony_model::target::Target;

    #[test]
    fn a_unix_socket_is_connected_to_and_the_url_says_the_host() {
        let path = std::env::temp_dir().join(format!("prony-dial-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path); // from a process of the same number that was killed
        let listener = UnixListener::bind(&path).unwrap();
        let mut plan = Plan::closed(Target::parse("http://name.invalid:81/").unwrap());
        plan.unix = Some(path.clone());
        let dialer = Dialer::of(&plan).unwrap();
        assert_eq!(
            (dialer.host(), dialer.to_string()),
            ("name.invalid:81", format!("unix:{}", path.display()))
        );
        let mut connection = dialer.connect(Duration::from_secs(60)).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        std::fs::remove_file(&path).unwrap();
        connection.write_all(b"ask").unwrap();
        let mut asked = [0; 3];
        other.read_exact(&mut asked).unwrap();
        other.write_all(b"say").unwrap();
        drop(other);
        let mut said = String::new();
        connection.read_to_string(&mut said).unwrap();
        assert_eq!((&asked, said.as_str()), (b"ask", "say"));
    }

    #[test]
    fn a_silent_server_is_not_waited_for_longer_than_the_timeout() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let dialer = Dialer::of(&Plan::closed(Target::parse(&url).unwrap())).unwrap();
        let mut connection = dialer.connect(Duration::from_secs(60)).unwrap();
        connection.set_timeout(Duration::ZERO).unwrap();
        assert_eq!(connection.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
