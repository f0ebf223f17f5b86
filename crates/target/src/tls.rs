//! TLS in front of a connection: records in, plain bytes out, and the other way round.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};

/// Plain bytes that are sealed in one call: four records.
const SEALED_AT_ONCE_BYTES: usize = 64 << 10;
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub(crate) struct Setup {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) certificate: String,
}

impl Setup {
    /// For this machine's loopback and the address that is listened on. TLS 1.2 and 1.3; by ALPN `h2` or `http/1.1`.
    pub(crate) fn new(address: std::net::IpAddr) -> Result<Setup, io::Error> {
        let mut names = NAMES.map(str::to_owned).to_vec();
        names.push(address.to_string());
        let own = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        let mut config = builder
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Setup { config: Arc::new(config), certificate: own.cert.pem() })
    }
}

pub(crate) struct Session(ServerConnection);

impl Session {
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Result<Session, rustls::Error> {
        ServerConnection::new(Arc::clone(config)).map(Session)
    }

    /// Takes bytes from the socket, and appends what they say to `plain`; true where the client ends its side.
    pub(crate) fn open(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> io::Result<bool> {
        let mut ended = false;
        while !bytes.is_empty() && !ended {
            self.0.read_tls(&mut bytes)?;
            ended = self.0.process_new_packets().map_err(io::Error::other)?.peer_has_closed();
            match self.0.reader().read_to_end(plain) {
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::UnexpectedEof) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(ended)
    }

    pub(crate) fn is_unsent(&self) -> bool {
        self.0.wants_write()
    }

    pub(crate) fn flush(&mut self, mut stream: &TcpStream) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(&mut stream) {
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.0.send_close_notify();
    }
}

/// What it takes counts as sent, although up to four records of it may wait until the client reads.
pub(crate) struct Sealing<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) stream: &'a TcpStream,
}

impl Write for Sealing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.session.flush(self.stream)?;
        if self.session.is_unsent() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = self.session.0.writer().write(&bytes[..bytes.len().min(SEALED_AT_ONCE_BYTES)])?;
        self.session.flush(self.stream)?;
        if taken == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.session.flush(self.stream)
    }
}
