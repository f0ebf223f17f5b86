//! What went wrong with TLS, in sentences for people who have not read rustls.

use std::io;

use crate::sys::would_block;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

const SECONDS_PER_DAY: u64 = 24 * 3600;

/// TLS failed: the reason, the second half of a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct TlsFailure(String);

/// Whether an I/O error is one of TLS and not of the socket below it.
pub(crate) fn is_tls(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<TlsFailure>()).is_some()
}

pub(crate) fn failed(reason: impl Into<String>) -> io::Error {
    io::Error::other(TlsFailure(reason.into()))
}

/// What rustls found; of a certificate that is refused, which no other try makes right, of kind `InvalidData`.
pub(crate) fn io_error(error: &Error) -> io::Error {
    let is_certificate = matches!(error, Error::InvalidCertificate(_));
    let kind = if is_certificate { io::ErrorKind::InvalidData } else { io::ErrorKind::Other };
    io::Error::new(kind, TlsFailure(sentence(error)))
}

/// The socket failed during the handshake: the connection was of no use yet, so TLS did not come about.
pub(crate) fn during_handshake(error: &io::Error) -> io::Error {
    match error.kind() {
        kind if would_block(error) => kind.into(),
        kind if is_tls(error) => io::Error::new(kind, TlsFailure(error.to_string())),
        io::ErrorKind::UnexpectedEof => {
            failed("the server closed the connection during the TLS handshake: is TLS spoken on this port?")
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            failed("the server reset the connection during the TLS handshake: is TLS spoken on this port?")
        }
        _ => failed(format!("the connection failed during the TLS handshake: {error}")),
    }
}

const NO_PROTOCOL: &str = "the server does not speak the version of HTTP that was offered (ALPN): give --http2 to offer \
                           HTTP/2, and leave it out to offer HTTP/1.1";

fn sentence(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why),
        Error::AlertReceived(alert) => refusal(*alert),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server's response is not TLS, as on a port of plain HTTP: write http://".to_owned()
        }
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => "the server speaks neither TLS 1.2 nor TLS 1.3".to_owned(),
        Error::NoApplicationProtocol => NO_PROTOCOL.to_owned(),
        Error::DecryptError => "a TLS record that came from the server cannot be decrypted".to_owned(),
        Error::PeerIncompatible(why) => {
            format!("the server's TLS and Prony's have nothing in common ({})", words(&format!("{why:?}")))
        }
        other => {
            let other = match other {
                Error::InvalidMessage(why) => format!("{why:?}"),
                Error::PeerMisbehaved(why) => format!("{why:?}"),
                other => format!("{other:?}"),
            };
            format!(
                "what the server sent breaks the rules of TLS ({}): see what another client says (openssl s_client \
                 -connect HOST:PORT)",
                words(&other)
            )
        }
    }
}

/// `path len constraint violated` of rustls's `PathLenConstraintViolated`, without what it holds.
fn words(value: &str) -> String {
    let mut words = String::new();
    for c in value.chars().take_while(char::is_ascii_alphanumeric) {
        if c.is_ascii_uppercase() && !words.is_empty() && !words.ends_with(|c: char| c.is_ascii_digit()) {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

fn certificate(why: &CertificateError) -> String {
    let ago = |time: u64, edge: u64| time.abs_diff(edge) / SECONDS_PER_DAY;
    match why {
        CertificateError::UnknownIssuer => {
            "the server's certificate is self-signed, or issued by nobody who is trusted here".to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => {
            format!("the server's certificate expired {} days ago", ago(time.as_secs(), not_after.as_secs()))
        }
        CertificateError::Expired => "the server's certificate expired".to_owned(),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the server's certificate is not valid before {} days from now: is the clock right?",
            ago(time.as_secs(), not_before.as_secs())
        ),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let name = expected.to_str();
            if presented.is_empty() {
                return format!("the server's certificate is for no name (subjectAltName), so not for {name}");
            }
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            format!("the server's certificate is for {}, not for {name}", names.join(", "))
        }
        CertificateError::BadSignature => {
            "the signature on the server's certificate or handshake is wrong: is the issuer that is trusted the \
             current one?"
                .to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the server's certificate is not one for servers (extendedKeyUsage)".to_owned()
        }
        CertificateError::BadEncoding => "the server's certificate cannot be read".to_owned(),
        // By name: what webpki found beyond this list has no type here.
        CertificateError::Other(other) => match other.to_string().as_str() {
            "CaUsedAsEndEntity" => "the server's certificate is an authority's own, as `openssl req -x509` makes them \
                                    self-signed, and is not among those trusted here"
                .to_owned(),
            "UnsupportedCertVersion" => "the server's certificate, or its issuer's, is of X.509 version 1, which cannot \
                                         be checked: make one of version 3 (openssl x509 -req -extfile FILE)"
                .to_owned(),
            other => format!("the server's certificate, or its issuer's, breaks a rule of X.509 ({})", words(other)),
        },
        other => format!("the server's certificate is refused ({})", words(&format!("{other:?}"))),
    }
}

/// `localhost` of rustls's `DnsName("localhost")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inner.trim_matches('"')
}

/// What the server said by an alert (RFC 8446, section 6.2).
fn refusal(alert: AlertDescription) -> String {
    let said = match alert {
        AlertDescription::CertificateRequired => {
            return "the server wants a client's certificate: give --cert and --key".to_owned();
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => "the server refused the client's certificate",
        AlertDescription::ProtocolVersion => "the server speaks neither TLS 1.2 nor TLS 1.3",
        AlertDescription::NoApplicationProtocol => NO_PROTOCOL,
        AlertDescription::UnrecognisedName => "the server does not know the URL's host name (SNI)",
        AlertDescription::HandshakeFailure => {
            "the server found no cipher, key exchange or certificate that both sides accept"
        }
        _ => "the server ended TLS with an alert",
    };
    format!("{said} (alert {alert:?})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::{ServerName, UnixTime};
    use std::time::Duration;

    fn said(error: &Error) -> String {
        io_error(error).to_string()
    }

    #[test]
    fn certificates_are_refused_in_sentences() {
        let at = |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(days * SECONDS_PER_DAY));
        let bad = |why| said(&Error::InvalidCertificate(why));
        assert!(bad(CertificateError::UnknownIssuer).contains("nobody who is trusted"));
        let expired = CertificateError::ExpiredContext { time: at(30), not_after: at(20) };
        assert!(bad(expired).contains("10 days ago"));
        let name = |presented: &[&str]| CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("a.test").unwrap(),
            presented: presented.iter().map(|n| (*n).to_owned()).collect(),
        };
        assert!(
            bad(name(&["DnsName(\"b.test\")", "IpAddress(127.0.0.1)"]))
                .ends_with("is for b.test, 127.0.0.1, not for a.test")
        );
        assert!(bad(name(&[])).contains("no name"));
    }

    #[test]
    fn alerts_say_what_to_do() {
        let alert = |alert| said(&Error::AlertReceived(alert));
        assert!(alert(AlertDescription::CertificateRequired).contains("--cert and --key"));
        assert!(alert(AlertDescription::UnknownCA).contains("client's certificate (alert UnknownCA)"));
        assert!(alert(AlertDescription::InternalError).contains("InternalError"));
    }

    #[test]
    fn a_handshake_s_end_is_one_of_tls_and_a_wait_is_not() {
        let of_kind = |kind| during_handshake(&io::Error::from(kind));
        assert!(is_tls(&of_kind(io::ErrorKind::UnexpectedEof)));
        assert!(is_tls(&of_kind(io::ErrorKind::ConnectionReset)));
        assert!(is_tls(&during_handshake(&io_error(&Error::DecryptError))));
        assert_eq!(of_kind(io::ErrorKind::WouldBlock).kind(), io::ErrorKind::WouldBlock);
        let refused =
            during_handshake(&io_error(&Error::InvalidCertificate(CertificateError::UnknownIssuer)));
        assert!(is_tls(&refused) && refused.kind() == io::ErrorKind::InvalidData);
        assert_eq!(during_handshake(&io_error(&Error::DecryptError)).kind(), io::ErrorKind::Other);
        assert!(!is_tls(&io::Error::from_raw_os_error(libc::ECONNRESET)));
    }
}
