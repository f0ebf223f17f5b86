//! A session against a rustls server, over pipes that cut and block as they like.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::LazyLock;

use proptest::prelude::*;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, SupportedProtocolVersion, version};

use super::*;
use crate::tls::Setup;
use prony_model::plan::Plan;
use prony_model::target::Target;
use prony_model::tls::{Identity, Roots, Verify};

static CERTIFICATE: LazyLock<(String, String)> = LazyLock::new(|| {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
});

fn server_config(version: &'static SupportedProtocolVersion, fragment: Option<usize>) -> Arc<ServerConfig> {
    let (certificate, key) = &*CERTIFICATE;
    let identity = Identity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(identity.chain(), PrivateKeyDer::clone_key(&identity.key()))
        .unwrap();
    config.max_fragment_size = fragment;
    Arc::new(config)
}

fn setup(verify: Verify) -> Setup {
    let mut plan = Plan::closed(Target::parse("https://localhost/").unwrap());
    plan.tls.verify = verify;
    Setup::of(&plan).unwrap().unwrap()
}

fn trusting() -> Setup {
    setup(Verify::Roots(Roots::from_pem(CERTIFICATE.0.as_bytes()).unwrap()))
}

/// Two pipes: each call passes as many bytes as `cuts` says in its turn, 0 being none yet.
struct Pipes {
    to_server: VecDeque<u8>,
    to_client: VecDeque<u8>,
    closed: bool,
    cuts: Vec<usize>,
    turn: usize,
}

impl Pipes {
    fn new(cuts: Vec<usize>) -> Pipes {
        Pipes { to_server: VecDeque::new(), to_client: VecDeque::new(), closed: false, cuts, turn: 0 }
    }

    fn cut(&mut self, wanted: usize) -> io::Result<usize> {
        self.turn += 1;
        let cut = self.cuts.get(self.turn % self.cuts.len().max(1)).copied().unwrap_or(usize::MAX);
        if cut == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(wanted.min(cut)) }
    }
}

impl Wire for Pipes {
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.cut(bytes.len())?;
        self.to_server.extend(&bytes[..count]);
        Ok(count)
    }

    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        if self.to_client.is_empty() {
            return if self.closed { Ok((0, None)) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        let count = self.cut(buffer.len())?;
        self.to_client.read(&mut buffer[..count]).map(|count| (count, Some(7)))
    }
}

/// A client's session, its server, and what is between them.
struct Pair {
    client: Session,
    server: ServerConnection,
    pipes: Pipes,
    buffers: Buffers,
    asked: Vec<u8>,
}

impl Pair {
    fn new(setup: &Setup, server: &Arc<ServerConfig>, cuts: Vec<usize>) -> Pair {
        Pair {
            client: Session::new(setup.worker(), setup.name()).unwrap(),
            server: ServerConnection::new(Arc::clone(server)).unwrap(),
            pipes: Pipes::new(cuts),
            buffers: Buffers::new(),
            asked: Vec::new(),
        }
    }

    /// Lets the server do all it can.
    fn serve(&mut self) -> Result<(), rustls::Error> {
        let mut result = Ok(());
        while !self.pipes.to_server.is_empty() && result.is_ok() {
            self.server.read_tls(&mut self.pipes.to_server).unwrap();
            result = self.server.process_new_packets().map(|_| ());
            let mut part = vec![0; 1 << 16];
            while let Ok(count @ 1..) = self.server.reader().read(&mut part) {
                self.asked.extend_from_slice(&part[..count]);
            }
        }
        while self.server.wants_write() {
            self.server.write_tls(&mut self.pipes.to_client).unwrap();
        }
        result
    }

    fn shake_hands(&mut self) -> io::Result<()> {
        for _ in 0..100_000 {
            match self.client.shake_hands(&mut self.pipes, &mut self.buffers) {
                Err(e) if would_block(&e) => {
                    // The client's alert is of no interest here.
                    let _ = self.serve();
                }
                done => return done,
            }
        }
        panic!("the handshake does not end");
    }

    /// Sends as a worker does: what was not reported is given again.
    fn send(&mut self, bytes: &[u8]) {
        let mut reported = 0;
        while reported < bytes.len() {
            match self.client.send(&mut self.pipes, &mut self.buffers, &bytes[reported..]) {
                Ok(count) => reported += count,
                Err(e) => assert!(would_block(&e), "{e}"),
            }
            self.serve().unwrap();
        }
        assert!(!self.client.wants_to_write(), "all was reported, so all must be out");
    }

    /// Reads `length` bytes, or to the end.
    fn recv(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let (mut got, mut part) = (Vec::new(), vec![0; READ_BYTES]);
        while got.len() < length {
            match self.client.recv(&mut self.pipes, &mut self.buffers, &mut part) {
                Ok((0, _)) => break,
                Ok((count, stamp)) => {
                    assert_eq!(stamp, Some(7));
                    got.extend_from_slice(&part[..count]);
                }
                Err(e) if would_block(&e) => self.serve().unwrap(),
                Err(e) => return Err(e),
            }
        }
        Ok(got)
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8).collect()
}

fn versions() -> impl Strategy<Value = &'static SupportedProtocolVersion> {
    prop_oneof![Just(&version::TLS12), Just(&version::TLS13)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_arrives_however_the_wire_cuts(
        version in versions(),
        fragment in prop_oneof![Just(None), (32usize..2000).prop_map(Some)],
        cuts in proptest::collection::vec(prop_oneof![Just(0usize), 1usize..40, 1000usize..20_000], 0..6),
        request in 1usize..50_000,
        answer in 1usize..100_000,
    ) {
        prop_assume!(cuts.is_empty() || cuts.iter().any(|cut| *cut > 0));
        let mut pair = Pair::new(&trusting(), &server_config(version, fragment), cuts);
        pair.shake_hands().unwrap();
        for round in 1..3 {
            let (request, answer) = (pattern(request / round), pattern(answer / round));
            pair.asked.clear();
            pair.send(&request);
            prop_assert!(pair.asked == request);
            let mut left = answer.as_slice();
            let mut got = Vec::new();
            while !left.is_empty() {
                let count = pair.server.writer().write(left).unwrap();
                left = &left[count..];
                pair.serve().unwrap();
                got.extend(pair.recv(count).unwrap());
            }
            prop_assert!(got == answer);
        }
        pair.server.send_close_notify();
        pair.serve().unwrap();
        prop_assert_eq!(pair.recv(1).unwrap(), b"");
    }
}

#[test]
fn a_session_between_two_answers_holds_no_buffers() {
    let mut pair = Pair::new(&trusting(), &server_config(&version::TLS13, None), vec![20_000]);
    pair.shake_hands().unwrap();
    pair.send(b"?");
    pair.server.writer().write_all(&pattern(50_000)).unwrap();
    pair.serve().unwrap();
    assert_eq!(pair.recv(50_000).unwrap().len(), 50_000);
    assert!(pair.client.incoming.capacity() <= EMPTY_BYTES_MAX);
    assert!(pair.client.outgoing.capacity() <= EMPTY_BYTES_MAX);
}

#[test]
fn the_last_flight_goes_out_with_the_first_request() {
    let mut pair = Pair::new(&trusting(), &server_config(&version::TLS13, None), Vec::new());
    pair.shake_hands().unwrap();
    assert!(pair.pipes.to_server.is_empty() && pair.client.wants_to_write());
    let before = pair.pipes.turn;
    pair.send(b"GET");
    assert_eq!((pair.pipes.turn - before, pair.asked.as_slice()), (1, b"GET".as_slice()));
}

#[test]
fn what_a_server_says_with_the_end_of_its_handshake_is_read() {
    for version in [&version::TLS12, &version::TLS13] {
        for cut in [usize::MAX, 20_000, 100, 7] {
            let mut pair = Pair::new(&trusting(), &server_config(version, None), vec![cut]);
            // It goes out behind the server's Finished.
            pair.server.writer().write_all(&pattern(3_000)).unwrap();
            pair.shake_hands().unwrap();
            pair.send(b"GET");
            // A read takes a whole record at least.
            let (mut got, mut part) = (Vec::new(), [0; 20_000]);
            while got.len() < 3_000 {
                match pair.client.recv(&mut pair.pipes, &mut pair.buffers, &mut part) {
                    Ok((count, _)) => got.extend_from_slice(&part[..count]),
                    Err(e) => assert!(would_block(&e), "{version:?}, {cut}: {e}"),
                }
            }
            assert!(got == pattern(3_000) && !pair.client.has_more());
            pair.server.writer().write_all(b"more").unwrap();
            pair.serve().unwrap();
            assert_eq!(pair.recv(4).unwrap(), b"more");
        }
    }
}

#[test]
fn a_servers_close_notify_is_answered_once() {
    let mut pair = Pair::new(&trusting(), &server_config(&version::TLS13, None), Vec::new());
    pair.shake_hands().unwrap();
    pair.send(b"GET");
    pair.server.send_close_notify();
    pair.serve().unwrap();
    assert_eq!(pair.recv(1).unwrap(), b"");
    for _ in 0..2 {
        pair.client.say_goodbye(&mut pair.pipes, &mut pair.buffers);
    }
    let sent = pair.pipes.to_server.len();
    assert_eq!(sent, 5 + 2 + 1 + 16, "one alert in a record of TLS 1.3");
    pair.server.read_tls(&mut pair.pipes.to_server).unwrap();
    assert!(pair.server.process_new_packets().unwrap().peer_has_closed());
}

#[test]
fn an_end_without_close_notify_is_told_from_one_with_it() {
    let mut pair = Pair::new(&trusting(), &server_config(&version::TLS13, None), Vec::new());
    pair.shake_hands().unwrap();
    pair.send(b"GET");
    pair.server.writer().write_all(b"half").unwrap();
    pair.serve().unwrap();
    pair.pipes.closed = true;
    assert_eq!(pair.recv(4).unwrap(), b"half");
    assert_eq!(pair.recv(1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn what_came_before_a_broken_record_is_given_first() {
    let mut pair = Pair::new(&trusting(), &server_config(&version::TLS13, None), Vec::new());
    pair.shake_hands().unwrap();
    pair.send(b"GET");
    pair.serve().unwrap();
    pair.server.writer().write_all(b"good").unwrap();
    pair.serve().unwrap();
    let good = pair.pipes.to_client.len();
    pair.server.writer().write_all(b"bad").unwrap();
    pair.serve().unwrap();
    let last = pair.pipes.to_client.len() - 1;
    assert!(last >= good);
    pair.pipes.to_client[last] ^= 1;
    assert_eq!(pair.recv(4).unwrap(), b"good");
    assert!(pair.client.has_more());
    let error = pair.recv(1).unwrap_err();
    assert!(failure::is_tls(&error) && error.to_string().contains("decrypted"), "{error}");
}

#[test]
fn an_untrusted_issuers_certificate_is_refused_with_an_alert() {
    let mut other = rcgen::CertificateParams::default();
    other.distinguished_name.push(rcgen::DnType::CommonName, "another");
    let other = other.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
    let stranger = setup(Verify::Roots(Roots::from_pem(other.pem().as_bytes()).unwrap()));
    let mut pair = Pair::new(&stranger, &server_config(&version::TLS13, None), Vec::new());
    let error = pair.shake_hands().unwrap_err();
    assert!(error.to_string().contains("nobody who is trusted"), "{error}");
    let told = pair.serve().unwrap_err();
    assert!(matches!(told, rustls::Error::AlertReceived(_)), "{told}");
    let mut pair = Pair::new(&setup(Verify::Nothing), &server_config(&version::TLS13, None), Vec::new());
    pair.shake_hands().unwrap();
}

#[test]
fn an_endless_handshake_message_is_refused() {
    let mut pair = Pair::new(&trusting(), &server_config(&version::TLS12, None), Vec::new());
    assert!(would_block(&pair.client.shake_hands(&mut pair.pipes, &mut pair.buffers).unwrap_err()));
    // A ServerHello that claims 16 MB less a byte, in records of 4 KiB that never end it.
    let mut first = true;
    let error = loop {
        let mut record = vec![22, 3, 3, 0x10, 0];
        record.extend_from_slice(&[0; 0x1000]);
        if mem::take(&mut first) {
            record[5..9].copy_from_slice(&[2, 0xff, 0xff, 0xff]);
        }
        pair.pipes.to_client.extend(&record);
        match pair.client.shake_hands(&mut pair.pipes, &mut pair.buffers) {
            Err(e) if would_block(&e) => {}
            ended => break ended.unwrap_err(),
        }
        assert!(pair.client.incoming.len() <= KEPT_BYTES_MAX + READ_BYTES);
    };
    assert!(failure::is_tls(&error), "{error}");
}

#[test]
fn sessions_are_resumed_where_that_is_wanted() {
    for version in [&version::TLS12, &version::TLS13] {
        let server = server_config(version, None);
        for wanted in [true, false] {
            let mut plan = Plan::closed(Target::parse("https://localhost/").unwrap());
            plan.tls.verify = Verify::Roots(Roots::from_pem(CERTIFICATE.0.as_bytes()).unwrap());
            plan.tls.resumption = wanted;
            let setup = Setup::of(&plan).unwrap().unwrap();
            let config = setup.worker();
            let kinds = [0, 1].map(|_| {
                let mut pair = Pair::new(&setup, &server, Vec::new());
                pair.client = Session::new(Arc::clone(&config), setup.name()).unwrap();
                pair.shake_hands().unwrap();
                pair.send(b"GET");
                pair.server.writer().write_all(b"answer").unwrap();
                pair.serve().unwrap();
                assert_eq!(pair.recv(6).unwrap(), b"answer");
                pair.client.tls().handshake_kind().unwrap()
            });
            let second = if wanted { HandshakeKind::Resumed } else { HandshakeKind::Full };
            assert_eq!(kinds, [HandshakeKind::Full, second], "{version:?}");
        }
    }
}
