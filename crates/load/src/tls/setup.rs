//! rustls's configuration, made once per load from its plan.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, KeyProvider, ring};
use rustls::pki_types::ServerName;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{CipherSuite, ClientConfig, Error, InconsistentKeys, RootCertStore};

use super::failure;
use super::verify::Verifier;
use prony_model::tls::{Identity, Verify};
use prony_model::{Plan, PlanError, Target};

/// Sessions that a worker remembers: rustls keeps up to 8 tickets of one server, and a worker has one.
const SESSIONS_MAX: usize = 8;

/// What every connection to an origin of a load has in common. A clone is a reference.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    resumption: bool,
}

impl Setup {
    /// The setup of a plan's target; `None` where that speaks no TLS.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Setup>, PlanError> {
        let target = std::slice::from_ref(&plan.target);
        Ok(Setup::of_each(plan, target)?.pop().flatten())
    }

    /// Of each of these origins of a plan: they differ in the name alone.
    pub(crate) fn of_each(plan: &Plan, origins: &[Target]) -> Result<Vec<Option<Setup>>, PlanError> {
        let mut common = None;
        let setup = |origin: &Target| {
            if !origin.tls {
                return Ok(None);
            }
            let asked = plan.connect.sni.as_deref().unwrap_or(origin.name());
            let name = ServerName::try_from(asked.to_owned()).map_err(|_| {
                PlanError(format!(
                    "The host {asked:?} is not a name that a certificate can have: write the server's DNS name or \
                     address."
                ))
            })?;
            let config = match &common {
                Some(config) => Arc::clone(config),
                None => Arc::clone(common.insert(Arc::new(Setup::config(plan)?))),
            };
            Ok(Some(Setup { config, name, resumption: plan.tls.resumption }))
        };
        origins.iter().map(setup).collect()
    }

    fn config(plan: &Plan) -> Result<ClientConfig, PlanError> {
        let provider = Arc::new(provider());
        let keys = provider.key_provider;
        let verifier = verifier(&plan.tls.verify, &provider)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| PlanError(format!("TLS cannot be set up: {}.", failure::io_error(&e))))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &plan.tls.identity {
            None if plan.tls.identity_files.is_some() => {
                return Err(PlanError(
                    "The client's certificate (--cert) was not read before the load.".to_owned(),
                ));
            }
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let own = own_certificate(identity, keys).map_err(|e| no_identity(&e))?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(own)))
            }
        };
        config.alpn_protocols = vec![<&str>::from(plan.protocol.id(true)).into()];
        Ok(config)
    }

    /// One worker's configuration: its sessions are its own, so that workers share nothing that changes.
    pub(super) fn worker(&self) -> Arc<ClientConfig> {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = match self.resumption {
            true => Resumption::in_memory_sessions(SESSIONS_MAX),
            false => Resumption::disabled(),
        };
        Arc::new(config)
    }

    /// The name that is asked for (SNI) and that the certificate must have.
    pub(super) fn name(&self) -> ServerName<'static> {
        self.name.clone()
    }
}

/// Cryptography by ring, AES-128 offered first: as browsers do, and TLS 1.3 requires it (RFC 8446, section 9.1). It
/// costs both sides less, most in a handshake, whose hash is then SHA-256, for which processors have instructions.
fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| {
        !matches!(
            suite.suite(),
            CipherSuite::TLS13_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        )
    });
    provider
}

fn verifier(
    verify: &Verify,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, PlanError> {
    let webpki = |roots: RootCertStore| {
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|e| PlanError(format!("The trusted certificates cannot be used: {e}.")))
    };
    Ok(match verify {
        Verify::Nothing => {
            let schemes = provider.signature_verification_algorithms.supported_schemes();
            Arc::new(Verifier::Anybody { schemes })
        }
        Verify::System => webpki(system_roots()?)?,
        Verify::Roots(given) => {
            let mut roots = RootCertStore::empty();
            for certificate in given.certificates() {
                roots.add(certificate.clone()).map_err(|e| {
                    PlanError(format!("A certificate of --cacert cannot be used: {}.", failure::io_error(&e)))
                })?;
            }
            Arc::new(Verifier::Given { webpki: webpki(roots)?, roots: given.clone() })
        }
    })
}

/// What this system trusts, or, where it names nobody (a container from scratch), Mozilla's list in the binary.
/// Unreadable certificates are left out, as by OpenSSL; a file named by `SSL_CERT_FILE` without any is an error.
fn system_roots() -> Result<RootCertStore, PlanError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().find(|name| std::env::var_os(name).is_some());
    if let Some(named) = named {
        let why = found.errors.first().map_or(String::new(), |e| format!(" ({e})"));
        return Err(PlanError(format!(
            "{named} names no certificates to check an https:// server against{why}: correct it, name the server's \
             issuer by --cacert FILE, or give -k to check nothing."
        )));
    }
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    Ok(roots)
}

/// The client's certificate with its key. One that rustls cannot read, as of X.509 version 1, is shown all the same, where
/// the key's public half stands in it: what it is worth is for the server to say, as with curl.
fn own_certificate(identity: &Identity, keys: &dyn KeyProvider) -> Result<CertifiedKey, Error> {
    let own = CertifiedKey::new(identity.chain(), keys.load_private_key(identity.key())?);
    match own.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(own),
        Err(why) => {
            let public = own.key.public_key();
            let stands_in = |public: &[u8]| own.cert[0].windows(public.len()).any(|part| part == public);
            if public.is_some_and(|public| stands_in(&public)) { Ok(own) } else { Err(why) }
        }
    }
}

fn no_identity(error: &Error) -> PlanError {
    PlanError(match error {
        Error::InconsistentKeys(_) => {
            "The key of --key does not belong to the certificate of --cert: give the pair.".to_owned()
        }
        other => {
            format!("The certificate of --cert and its key cannot be used: {}.", failure::io_error(other))
        }
    })
}
