//! Decisions about the server's certificate, where rustls's own are not the ones wanted.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use prony_model::tls::Roots;

#[derive(Debug)]
pub(super) enum Verifier {
    /// Whoever answers (`-k`). Not even the handshake's signature is checked: without a meaningful certificate it
    /// proves nothing, and certificates that rustls cannot read (version 1, say) pass too.
    Anybody {
        /// What the server may sign with: all that could be checked.
        schemes: Vec<SignatureScheme>,
    },
    /// Who passes the check against given roots, and a server whose certificate is itself one of them: rustls refuses
    /// to take an authority's (`openssl req -x509` makes such) for a server, but who names it by `--cacert` trusts it,
    /// as curl does; its name and its dates are checked all the same.
    Given { webpki: Arc<WebPkiServerVerifier>, roots: Roots },
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Verifier::Given { webpki, roots } = self else { return Ok(ServerCertVerified::assertion()) };
        // webpki looks at the dates before it asks for what a certificate is, which is among the
        // `Other` errors; so what is refused by one of these, and can be read, is within its dates.
        match webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if roots.certificates().iter().any(|root| root == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Verifier::Anybody { .. } => Ok(HandshakeSignatureValid::assertion()),
            Verifier::Given { webpki, .. } => webpki.verify_tls12_signature(message, cert, dss),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self {
            Verifier::Anybody { .. } => Ok(HandshakeSignatureValid::assertion()),
            Verifier::Given { webpki, .. } => webpki.verify_tls13_signature(message, cert, dss),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self {
            Verifier::Anybody { schemes } => schemes.clone(),
            Verifier::Given { webpki, .. } => webpki.supported_verify_schemes(),
        }
    }
}
