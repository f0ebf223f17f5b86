//! One connection's TLS, driven by its socket's readiness; it never waits. rustls's unbuffered interface decrypts in
//! the worker's one read buffer, so that a connection between answers holds keys and no buffers; all that a read brings
//! is decrypted at once, so that no plaintext is left where epoll cannot see it.

use std::io;
use std::mem;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeTlsData, UnbufferedStatus};

use super::failure;
use crate::sys::would_block;

/// Read from a socket at once, at most.
const READ_BYTES: usize = 64 << 10;
/// Ciphertext kept until the rest of its record (18 KiB) or handshake message (a certificate chain: 64) comes, at most.
const KEPT_BYTES_MAX: usize = 64 << 10;
/// Plaintext in one record, at most (RFC 8446, section 5.1).
const RECORD_BYTES: usize = 16 << 10;
/// Ciphertext that may go out together with the next record; more goes before it.
const OWED_BYTES_MAX: usize = 32 << 10;
/// A larger emptied buffer is given back: a large answer's remains must not stay with each of 10,000 connections.
const EMPTY_BYTES_MAX: usize = 4 << 10;

pub(super) trait Wire {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Reads what has arrived, with the stamp of its last byte; 0 is the peer's end.
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)>;
}

/// The buffers that all sessions of a worker share.
pub(super) struct Buffers {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Buffers {
    pub(super) fn new() -> Buffers {
        Buffers {
            incoming: vec![0; READ_BYTES + KEPT_BYTES_MAX],
            outgoing: vec![0; OWED_BYTES_MAX + 2 * RECORD_BYTES],
        }
    }
}

#[derive(Debug)]
enum End {
    /// By close_notify: nothing is missing.
    Clean,
    Failed(String),
}

pub(super) struct Session {
    tls: UnbufferedClientConnection,
    begun: bool,
    open: bool,
    end: Option<End>,
    /// Plaintext that came with the handshake's end: a server may speak first (HTTP/2's SETTINGS).
    early: Vec<u8>,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// How many of the bytes that [`Session::send`] has not yet reported are in `outgoing`.
    promised: usize,
}

impl Session {
    /// A session to be: the key exchange is prepared, and nothing is sent.
    pub(super) fn new(config: Arc<ClientConfig>, name: ServerName<'static>) -> io::Result<Session> {
        let tls = UnbufferedClientConnection::new(config, name).map_err(|e| failure::io_error(&e))?;
        Ok(Session {
            tls,
            begun: false,
            open: false,
            end: None,
            early: Vec::new(),
            incoming: Vec::new(),
            outgoing: Vec::new(),
            promised: 0,
        })
    }

    pub(super) fn tls(&self) -> &UnbufferedClientConnection {
        &self.tls
    }

    /// Whether ciphertext waits for room in the socket.
    pub(super) fn wants_to_write(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether there is something to read that the socket does not show: plaintext, or the peer's end.
    pub(super) fn has_more(&self) -> bool {
        self.end.is_some() || !self.early.is_empty()
    }

    pub(super) fn ended_cleanly(&self) -> bool {
        matches!(self.end, Some(End::Clean))
    }

    /// Begins or continues the handshake; `WouldBlock` until it is over. Its last flight goes out with the first
    /// request, in the same packet, or by [`Session::settle`].
    pub(super) fn shake_hands(&mut self, wire: &mut impl Wire, buffers: &mut Buffers) -> io::Result<()> {
        self.flush(wire)?;
        let filled = if mem::replace(&mut self.begun, true) {
            let room = buffers.incoming.len();
            let (filled, count, _) = self.fill(wire, buffers, room)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            filled
        } else {
            0
        };
        let mut early = vec![0; filled];
        let processed = self.process(&mut buffers.incoming[..filled], &mut early);
        if processed.is_err() || self.end.is_some() {
            // The alert that says why; whether it arrives changes nothing.
            let _ = self.flush(wire);
            return Err(processed.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()));
        }
        self.early = early[..processed.unwrap_or_default()].to_vec();
        if self.open {
            return Ok(());
        }
        self.flush(wire)?;
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Sends what the handshake still owes, where no request takes it along.
    pub(super) fn settle(&mut self, wire: &mut impl Wire) -> io::Result<()> {
        match self.flush(wire) {
            // The next request takes it along after all.
            Err(e) if would_block(&e) => Ok(()),
            flushed => flushed,
        }
    }

    /// Encrypts and writes what fits; gives how many bytes. The caller gives the rest again, unchanged, once there is
    /// room: of a record taken in part the last byte does not count, so that it comes back while ciphertext is left.
    pub(super) fn send(
        &mut self,
        wire: &mut impl Wire,
        buffers: &mut Buffers,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let mut done = 0;
        if self.promised > 0 || self.outgoing.len() > OWED_BYTES_MAX {
            self.flush(wire)?;
            done = mem::take(&mut self.promised).min(bytes.len());
        }
        while done < bytes.len() {
            let plain = &bytes[done..bytes.len().min(done + RECORD_BYTES)];
            let owed = self.outgoing.len();
            let length = self.encrypt(plain, &mut buffers.outgoing)?;
            let sent = match wire.send(&buffers.outgoing[..length]) {
                Err(e) if would_block(&e) => 0,
                sent => sent?,
            };
            if sent == length {
                done += plain.len();
                continue;
            }
            self.outgoing.extend_from_slice(&buffers.outgoing[sent..length]);
            let reported = if sent > owed { done + plain.len() - 1 } else { done };
            self.promised = done + plain.len() - reported;
            return if reported > 0 { Ok(reported) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        Ok(done)
    }

    /// Reads and decrypts; 0 is the end by close_notify, `UnexpectedEof` one without: what came may have been cut off.
    pub(super) fn recv(
        &mut self,
        wire: &mut impl Wire,
        buffers: &mut Buffers,
        plain: &mut [u8],
    ) -> io::Result<(usize, Option<u64>)> {
        let (mut written, mut stamp) = (0, None);
        if !self.early.is_empty() {
            written = plain.len().min(self.early.len());
            plain[..written].copy_from_slice(&self.early[..written]);
            self.early.drain(..written);
        } else if self.end.is_none() {
            let (filled, count, at) = self.fill(wire, buffers, plain.len())?;
            if count == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection without TLS's close_notify, so that the response may be cut off",
                ));
            }
            stamp = at;
            written = self.process(&mut buffers.incoming[..filled], plain)?;
            if self.wants_to_write() {
                self.settle(wire)?;
            }
        }
        match &self.end {
            _ if written > 0 => Ok((written, stamp)),
            None => Err(io::ErrorKind::WouldBlock.into()),
            Some(End::Clean) => Ok((0, stamp)),
            Some(End::Failed(reason)) => Err(failure::failed(reason.clone())),
        }
    }

    /// Says by close_notify that nothing more comes from here: once, whether or not the peer has said so.
    pub(super) fn say_goodbye(&mut self, wire: &mut impl Wire, buffers: &mut Buffers) {
        if matches!(self.end, Some(End::Failed(_))) || self.wants_to_write() || !mem::take(&mut self.open) {
            return;
        }
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) =
            self.tls.process_tls_records(&mut self.incoming).state
            && let Ok(length) = traffic.queue_close_notify(&mut buffers.outgoing)
        {
            // The connection is closed in any case.
            let _ = wire.send(&buffers.outgoing[..length]);
        }
    }

    /// Reads behind what was kept; gives how much there is, how much of it is new, and its stamp.
    fn fill(
        &mut self,
        wire: &mut impl Wire,
        buffers: &mut Buffers,
        room: usize,
    ) -> io::Result<(usize, usize, Option<u64>)> {
        let kept = self.incoming.len();
        // What is decrypted is shorter than what it was, so that it fits wherever this does.
        let end = buffers.incoming.len().min(room).min(kept + READ_BYTES);
        if kept >= end || kept > KEPT_BYTES_MAX {
            return Err(failure::failed("a TLS message of the server's is longer than 64 KiB"));
        }
        buffers.incoming[..kept].copy_from_slice(&self.incoming);
        let (count, stamp) = wire.recv(&mut buffers.incoming[kept..end])?;
        Ok((kept + count, count, stamp))
    }

    /// Takes ciphertext in, writes what it holds to `plain`, and keeps what is not whole.
    fn process(&mut self, input: &mut [u8], plain: &mut [u8]) -> io::Result<usize> {
        let (mut at, mut written) = (0, 0);
        loop {
            let UnbufferedStatus { mut discard, state } = self.tls.process_tls_records(&mut input[at..]);
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|e| failure::io_error(&e))?;
                        discard += record.discard;
                        let end = written + record.payload.len();
                        let Some(room) = plain.get_mut(written..end) else {
                            return Err(failure::failed("the server spoke before it was asked"));
                        };
                        room.copy_from_slice(record.payload);
                        written = end;
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => append(data, &mut self.outgoing)?,
                // It goes out by `flush`, or with the next record.
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::BlockedHandshake) => {
                    at += discard;
                    break;
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    self.open = true;
                    at += discard;
                    break;
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    self.end = Some(End::Clean);
                    at = input.len();
                    break;
                }
                Ok(_) => return Err(failure::failed("TLS is in a state that a client does not have")),
                Err(e) => {
                    self.take_alert(&mut input[at + discard..]);
                    self.end = Some(End::Failed(failure::io_error(&e).to_string()));
                    return if written > 0 { Ok(written) } else { Err(failure::io_error(&e)) };
                }
            }
            at += discard;
        }
        self.keep(&input[at..]);
        Ok(written)
    }

    fn keep(&mut self, rest: &[u8]) {
        if rest.is_empty() && self.incoming.capacity() > EMPTY_BYTES_MAX {
            self.incoming = Vec::new();
        }
        self.incoming.clear();
        self.incoming.extend_from_slice(rest);
    }

    /// After a failure: what the peer is told of it.
    fn take_alert(&mut self, input: &mut [u8]) {
        if let Ok(ConnectionState::EncodeTlsData(data)) = self.tls.process_tls_records(input).state {
            // Without the alert the peer sees the connection closed, which says nearly as much.
            let _ = append(data, &mut self.outgoing);
        }
    }

    /// Writes to `out` what is owed and then `plain` as a record; gives the length of both.
    fn encrypt(&mut self, plain: &[u8], out: &mut [u8]) -> io::Result<usize> {
        let mut at = self.outgoing.len();
        out[..at].copy_from_slice(&self.outgoing);
        self.outgoing.clear();
        loop {
            match self.tls.process_tls_records(&mut self.incoming).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let length = traffic.encrypt(plain, &mut out[at..]);
                    return Ok(at + length.map_err(|e| failure::failed(format!("TLS: {e}")))?);
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    at += data.encode(&mut out[at..]).map_err(|e| failure::failed(format!("TLS: {e}")))?;
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.end = Some(End::Clean),
                Ok(_) => return Err(failure::failed("the server has ended TLS")),
                Err(e) => return Err(failure::io_error(&e)),
            }
        }
    }

    /// Writes what is owed; `WouldBlock` while some of it is left.
    fn flush(&mut self, wire: &mut impl Wire) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            let sent = wire.send(&self.outgoing)?;
            self.outgoing.drain(..sent);
        }
        if self.outgoing.capacity() > EMPTY_BYTES_MAX {
            self.outgoing = Vec::new();
        }
        Ok(())
    }
}

fn append<D>(mut data: EncodeTlsData<'_, D>, to: &mut Vec<u8>) -> io::Result<()> {
    let from = to.len();
    // With no room at all it says how much it needs.
    let needed = match data.encode(&mut []) {
        Err(rustls::unbuffered::EncodeError::InsufficientSize(size)) => size.required_size,
        _ => 0,
    };
    to.resize(from + needed, 0);
    data.encode(&mut to[from..]).map(|_| ()).map_err(|e| failure::failed(format!("TLS: {e}")))
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
