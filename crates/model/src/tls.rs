//! How TLS is spoken with an `https://` target: whom to trust, who to be, and whether to resume earlier sessions.

use std::fmt;
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

/// How TLS is spoken; of no effect on an `http://` target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    pub verify: Verify,
    #[serde(skip)]
    pub identity: Option<Identity>,
    /// Where that and its key are: an agent reads them on its own host, and nothing of them but this goes to it.
    pub identity_files: Option<IdentityFiles>,
    /// Whether a connection may resume a session of an earlier one of the same worker.
    pub resumption: bool,
}

impl Default for Tls {
    /// The system's trust, no certificate of one's own, and resumption, as browsers have it.
    fn default() -> Tls {
        Tls { verify: Verify::System, identity: None, identity_files: None, resumption: true }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verify {
    /// The certificates that this system trusts, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    System,
    Roots(Roots),
    Nothing,
}

impl Verify {
    pub(crate) fn kind(&self) -> VerifyKind {
        match self {
            Verify::System => VerifyKind::System,
            Verify::Roots(_) => VerifyKind::Cacert,
            Verify::Nothing => VerifyKind::None,
        }
    }
}

/// Against what a certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum VerifyKind {
    /// What the system trusts.
    System,
    /// Certificates that were given.
    Cacert,
    /// Nothing.
    None,
}

/// Certificates that are trusted. A clone is a reference.
#[derive(Clone, PartialEq, Eq)]
pub struct Roots(Arc<Vec<CertificateDer<'static>>>);

impl Roots {
    pub fn from_pem(pem: &[u8]) -> Result<Roots, String> {
        certificates(pem).map(|list| Roots(Arc::new(list)))
    }

    pub(crate) fn of(certificates: Vec<CertificateDer<'static>>) -> Roots {
        Roots(Arc::new(certificates))
    }

    pub fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.0
    }
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roots({} certificates)", self.0.len())
    }
}

/// The files of an [`Identity`], as `--cert` and `--key` name them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityFiles {
    /// With the certificate and those that lead to its issuer.
    pub cert: String,
    /// With the key; `None`: the same.
    pub key: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Identity(Arc<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>);

impl Identity {
    /// From PEM texts: the certificate first, then those that lead to its issuer; and the key.
    /// Both may be the same text. Whether they belong together is found out when the load begins.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Identity, IdentityError> {
        let chain = certificates(chain).map_err(IdentityError::Chain)?;
        let key = private_key(key).map_err(IdentityError::Key)?;
        Ok(Identity(Arc::new((chain, key))))
    }

    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.0.clone()
    }

    pub fn key(&self) -> PrivateKeyDer<'static> {
        self.0.1.clone_key()
    }
}

impl fmt::Debug for Identity {
    /// Never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} certificates, a key)", self.0.0.len())
    }
}

/// Which PEM text of an [`Identity`] is wrong, and how: the second half of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityError {
    Chain(String),
    Key(String),
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let list: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match list {
        Ok(list) if list.is_empty() => Err(
            "it holds no certificate in PEM form (-----BEGIN CERTIFICATE-----); a DER file becomes one by \
             `openssl x509 -inform der -in FILE`"
                .to_owned(),
        ),
        Ok(list) => Ok(list),
        Err(e) => Err(format!("its PEM form is broken: {e}")),
    }
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    const ENCRYPTED: &[&[u8]] = &[b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];
    if ENCRYPTED.iter().any(|mark| pem.windows(mark.len()).any(|w| w == *mark)) {
        return Err(
            "its key is encrypted, and a load cannot ask for a passphrase: write it in the clear with `openssl \
             pkey -in FILE -out PLAIN`"
                .to_owned(),
        );
    }
    PrivateKeyDer::from_pem_slice(pem)
        .map_err(|_| "it holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_a_certificate_are_refused() {
        for text in ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert!(Roots::from_pem(text.as_bytes()).unwrap_err().contains("no certificate"), "{text}");
        }
        let broken = "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n";
        assert!(Roots::from_pem(broken.as_bytes()).unwrap_err().contains("broken"));
    }

    #[test]
    fn keys_that_cannot_be_used_are_told_apart() {
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = |text: &str| match Identity::from_pem(certificate.as_bytes(), text.as_bytes()) {
            Err(IdentityError::Key(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(key(certificate).contains("no private key"));
        assert!(
            key("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
                .contains("passphrase")
        );
        let wrong = Identity::from_pem(b"", b"").unwrap_err();
        assert!(matches!(wrong, IdentityError::Chain(_)), "{wrong:?}");
    }

    #[test]
    fn a_key_is_never_printed() {
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n\
                   -----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
        let identity = Identity::from_pem(pem.as_bytes(), pem.as_bytes()).unwrap();
        assert_eq!(format!("{identity:?}"), "Identity(1 certificates, a key)");
    }
}
