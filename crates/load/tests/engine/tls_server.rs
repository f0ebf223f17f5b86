//! A TLS server that says what a test tells it to, and the certificates it shows.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use prony_model::tls::{Identity, Roots};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme, StreamOwned, SupportedProtocolVersion,
};

use crate::lying;

pub type Stream = StreamOwned<ServerConnection, TcpStream>;

/// A certificate and its key, PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Pair {
    pub fn identity(&self) -> Identity {
        Identity::from_pem(self.certificate.as_bytes(), self.key.as_bytes()).unwrap()
    }

    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()]
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }
}

/// Somebody who issues certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn roots(&self) -> Roots {
        Roots::from_pem(self.0.pem().as_bytes()).unwrap()
    }

    /// A certificate for a name, changed as a test needs it.
    pub fn issue(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// Who issues what is right in these tests.
pub static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("an authority"));
/// A right certificate for 127.0.0.1.
pub static RIGHT: LazyLock<Pair> = LazyLock::new(|| AUTHORITY.issue("127.0.0.1", |_| {}));

/// A certificate that is its own issuer, as `openssl req -x509` makes it.
pub fn self_signed(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    Pair { certificate: certificate.pem(), key: key.serialize_pem() }
}

/// How a server speaks TLS.
pub struct Speaks {
    pub pair: &'static Pair,
    pub versions: &'static [&'static SupportedProtocolVersion],
    /// The longest record, header included.
    pub fragment: Option<usize>,
    /// Whether it wants a client's certificate of [`AUTHORITY`].
    pub wants_client: bool,
    /// Whether it wants this one, and takes the client's word for it.
    pub pinned_client: Option<CertificateDer<'static>>,
}

/// A server that knows a certificate, and not how to read it.
#[derive(Debug)]
struct Pinned(CertificateDer<'static>);

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if *shown == self.0 {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

impl Default for Speaks {
    fn default() -> Speaks {
        Speaks {
            pair: &RIGHT,
            versions: rustls::ALL_VERSIONS,
            fragment: None,
            wants_client: false,
            pinned_client: None,
        }
    }
}

impl Speaks {
    fn config(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(self.versions)
            .unwrap();
        let builder = if let Some(pinned) = &self.pinned_client {
            builder.with_client_cert_verifier(Arc::new(Pinned(pinned.clone())))
        } else if self.wants_client {
            let mut roots = RootCertStore::empty();
            roots.add(AUTHORITY.0.der().clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_single_cert(self.pair.chain(), self.pair.key()).unwrap();
        config.max_fragment_size = self.fragment;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }
}

/// What servers count, for the test to hold the client against.
#[derive(Debug, Default)]
pub struct Ledger {
    pub requests: AtomicU64,
}

impl Ledger {
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

/// Serves each connection in a thread of its own with `talk`.
pub fn serve(speaks: &Speaks, talk: impl Fn(&mut Stream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let config = speaks.config();
    lying::serve(move |stream, _| {
        stream.set_nodelay(true).unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
        talk(&mut stream);
    })
}

/// A server that answers every request with the same bytes, and with a clean
/// end after a request that asks for it.
pub fn always(speaks: &Speaks, answer: impl AsRef<[u8]>) -> (SocketAddr, Arc<Ledger>) {
    let ledger = Arc::new(Ledger::default());
    let (counted, answer) = (Arc::clone(&ledger), Arc::new(answer.as_ref().to_vec()));
    let address = serve(speaks, move |stream| {
        let mut last = false;
        while !last {
            let Some(request) = read_request(stream) else { return };
            counted.requests.fetch_add(1, Ordering::SeqCst);
            last = request.windows(17).any(|w| w == b"Connection: close");
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
        close(stream);
    });
    (address, ledger)
}

/// Reads one request without a body; `None` at the peer's end.
pub fn read_request(stream: &mut Stream) -> Option<Vec<u8>> {
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    while !seen.ends_with(b"\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(count @ 1..) => seen.extend_from_slice(&part[..count]),
            _ => return None,
        }
    }
    Some(seen)
}

/// Ends TLS as it should be ended.
pub fn close(stream: &mut Stream) {
    stream.conn.send_close_notify();
    // Whoever is gone needs no goodbye.
    let _ = stream.flush();
}
