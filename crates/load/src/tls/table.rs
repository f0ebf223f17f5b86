//! A worker's TLS sessions by handle, beside the connections: a plain load pays one branch per call for that.

use std::io;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind, ProtocolVersion};

use super::Setup;
use super::failure;
use super::session::{Buffers, Session, Wire};
use crate::sys::{self, Epoll, Handle, Interest, would_block};
use prony_model::measurement::{TlsAgreed, TlsUse};
use prony_model::plan::Protocol;

struct Socket {
    fd: Handle,
    stamped: bool,
}

impl Wire for Socket {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        sys::send(self.fd, bytes)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        if self.stamped {
            return sys::recv_stamped(self.fd, buffer);
        }
        sys::recv(self.fd, buffer).map(|count| (count, None))
    }
}

struct Live {
    session: Session,
    connected: bool,
    left: bool,
    asked: Interest,
    token: u64,
    interest: Interest,
}

impl Live {
    fn watch(&mut self, epoll: &Epoll, fd: Handle, asked: Interest, token: u64) -> io::Result<()> {
        self.asked = asked;
        // What epoll does not see: room to write, which there always is, brings the owner back for it.
        let unseen = self.session.has_more() && !self.left;
        let interest = if unseen { Interest::ReadWrite } else { asked };
        if (self.interest, self.token) != (interest, token) {
            epoll.modify(fd, interest, token)?;
            (self.interest, self.token) = (interest, token);
        }
        Ok(())
    }
}

pub(crate) struct Table {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    peers: Vec<Option<Box<Live>>>,
    buffers: Buffers,
    seen: TlsUse,
    agreed_ns: u64,
}

impl Table {
    pub(crate) fn new(setup: &Setup) -> Table {
        Table {
            config: setup.worker(),
            name: setup.name(),
            peers: Vec::new(),
            buffers: Buffers::new(),
            seen: TlsUse::default(),
            agreed_ns: 0,
        }
    }

    pub(crate) fn seen(&self) -> (TlsUse, u64) {
        (self.seen.clone(), self.agreed_ns)
    }

    /// A connect was started; epoll waits to write under this token.
    pub(crate) fn begin(&mut self, fd: Handle, token: u64) -> io::Result<()> {
        let session = Session::new(Arc::clone(&self.config), self.name.clone())?;
        let index = fd as usize;
        if self.peers.len() <= index {
            self.peers.resize_with(index + 1, || None);
        }
        let (asked, interest) = (Interest::Write, Interest::Write);
        let live = Live { session, connected: false, left: false, asked, token, interest };
        self.peers[index] = Some(Box::new(live));
        Ok(())
    }

    pub(crate) fn awaits_connect(&self, fd: Handle) -> bool {
        matches!(self.peers.get(fd as usize), Some(Some(live)) if !live.connected)
    }

    /// TCP is connected: begins the handshake or goes on with it; `WouldBlock` until it is over.
    pub(crate) fn shake_hands(&mut self, epoll: &Epoll, fd: Handle) -> io::Result<()> {
        let Table { config, peers, buffers, seen, agreed_ns, .. } = self;
        let live = live(peers, fd)?;
        live.connected = true;
        let shaken = live.session.shake_hands(&mut Socket { fd, stamped: false }, buffers);
        match shaken {
            Ok(()) if !speaks_what_was_asked(config, live.session.tls().alpn_protocol()) => {
                Err(failure::failed(NO_HTTP2))
            }
            Ok(()) => {
                if seen.agreed.is_none() {
                    *agreed_ns = sys::now_ns();
                }
                note(seen, live.session.tls());
                Ok(())
            }
            Err(e) if would_block(&e) => {
                let interest =
                    if live.session.wants_to_write() { Interest::ReadWrite } else { Interest::Read };
                live.watch(epoll, fd, interest, live.token)?;
                Err(e)
            }
            Err(e) => Err(failure::during_handshake(&e)),
        }
    }

    pub(crate) fn settle(&mut self, fd: Handle) -> io::Result<()> {
        live(&mut self.peers, fd)?.session.settle(&mut Socket { fd, stamped: false })
    }

    pub(crate) fn watch(
        &mut self,
        epoll: &Epoll,
        fd: Handle,
        interest: Interest,
        token: u64,
    ) -> io::Result<()> {
        match self.peers.get_mut(fd as usize) {
            Some(Some(live)) => live.watch(epoll, fd, interest, token),
            _ => epoll.modify(fd, interest, token),
        }
    }

    pub(crate) fn send(&mut self, fd: Handle, bytes: &[u8]) -> io::Result<usize> {
        let live = live(&mut self.peers, fd)?;
        live.session.send(&mut Socket { fd, stamped: false }, &mut self.buffers, bytes)
    }

    pub(crate) fn recv(
        &mut self,
        epoll: &Epoll,
        fd: Handle,
        buffer: &mut [u8],
        stamped: bool,
    ) -> io::Result<(usize, Option<u64>)> {
        let live = live(&mut self.peers, fd)?;
        if live.left && live.session.ended_cleanly() {
            // All is said on both sides: what is waited for is that the server closes, and it can say nothing more.
            let count = sys::recv(fd, buffer)?;
            return if count == 0 { Ok((0, None)) } else { Err(io::ErrorKind::InvalidData.into()) };
        }
        let got = live.session.recv(&mut Socket { fd, stamped }, &mut self.buffers, buffer)?;
        if live.session.has_more() || live.interest != live.asked {
            live.watch(epoll, fd, live.asked, live.token)?;
        }
        if live.left && live.session.ended_cleanly() {
            self.end(fd);
            return if got.0 == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(got) };
        }
        Ok(got)
    }

    /// The connection carries no more requests. A server that has ended TLS is answered.
    pub(crate) fn leave(&mut self, fd: Handle) {
        let Ok(live) = live(&mut self.peers, fd) else { return };
        live.left = true;
        if live.session.ended_cleanly() {
            self.end(fd);
        }
    }

    /// Nothing more is sent over the connection, and the server is told so.
    pub(crate) fn end(&mut self, fd: Handle) {
        if let Ok(live) = live(&mut self.peers, fd) {
            live.session.say_goodbye(&mut Socket { fd, stamped: false }, &mut self.buffers);
        }
    }

    pub(crate) fn close(&mut self, fd: Handle) {
        self.end(fd);
        if let Some(peer) = self.peers.get_mut(fd as usize) {
            *peer = None;
        }
    }
}

fn live(peers: &mut [Option<Box<Live>>], fd: Handle) -> io::Result<&mut Live> {
    match peers.get_mut(fd as usize) {
        Some(Some(live)) => Ok(live),
        _ => Err(failure::failed("TLS is not spoken on this connection")),
    }
}

/// Whether the server agreed on HTTP/2 where it was offered. (Of HTTP/1.1, one that knows no ALPN is taken at its word.)
pub(super) fn speaks_what_was_asked(config: &ClientConfig, agreed: Option<&[u8]>) -> bool {
    let http2 = <&str>::from(Protocol::Http2.id(true)).as_bytes();
    config.alpn_protocols.iter().all(|offered| offered != http2) || agreed == Some(http2)
}

/// Why a connection on which that was not agreed is of no use.
pub(super) const NO_HTTP2: &str = "the server did not agree on HTTP/2 (ALPN): leave --http2 out";

fn note(seen: &mut TlsUse, tls: &UnbufferedClientConnection) {
    match tls.handshake_kind() {
        Some(HandshakeKind::Resumed) => seen.resumed += 1,
        _ => seen.full += 1,
    }
    if seen.agreed.is_none() {
        seen.agreed = Some(agreed(tls));
    }
}

fn agreed(tls: &UnbufferedClientConnection) -> TlsAgreed {
    let version = match tls.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => "TLSv1.3".to_owned(),
        Some(ProtocolVersion::TLSv1_2) => "TLSv1.2".to_owned(),
        other => format!("{other:?}"),
    };
    // rustls tells TLS 1.3's suites by a prefix of its own; the registry's names have none (RFC 8446, B.4).
    let cipher = tls
        .negotiated_cipher_suite()
        .map_or_else(String::new, |suite| format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1));
    TlsAgreed {
        version,
        cipher,
        key_exchange: tls.negotiated_key_exchange_group().map(|group| format!("{:?}", group.name())),
        alpn: tls.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
    }
}
