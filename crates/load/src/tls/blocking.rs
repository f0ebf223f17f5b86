//! One blocking connection over TLS.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustls::{ClientConnection, Error, StreamOwned};

use super::table::{NO_HTTP2, speaks_what_was_asked};
use super::{Setup, failure};

#[derive(Debug)]
pub(crate) struct Blocking<S: Read + Write>(StreamOwned<ClientConnection, S>);

impl Setup {
    pub(crate) fn connect<S: Read + Write>(&self, socket: S) -> io::Result<Blocking<S>> {
        let config = self.worker();
        let session =
            ClientConnection::new(config.clone(), self.name()).map_err(|e| failure::io_error(&e))?;
        let mut stream = StreamOwned::new(session, socket);
        while stream.conn.is_handshaking() {
            let moved = stream.conn.complete_io(&mut stream.sock);
            moved.map_err(|e| failure::during_handshake(&told(e)))?;
        }
        if !speaks_what_was_asked(&config, stream.conn.alpn_protocol()) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, NO_HTTP2));
        }
        Ok(Blocking(stream))
    }
}

impl<S: Read + Write + AsFd> AsFd for Blocking<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.sock.as_fd()
    }
}

impl<S: Read + Write> Read for Blocking<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(told)
    }
}

impl<S: Read + Write> Write for Blocking<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(told)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(told)
    }
}

/// What rustls wraps into an I/O error, in a sentence of ours; others as they are.
fn told(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    inner.map(failure::io_error).unwrap_or(error)
}
