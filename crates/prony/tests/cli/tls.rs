//! `prony load https://…` as a person runs it.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::world::{Said, World, serve};

/// Answers every request on 127.0.0.1 over TLS until the test's process ends; gives its certificate, PEM.
fn tls_server() -> (SocketAddr, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (serve_tls(config), made.cert.pem())
}

fn serve_tls(config: ServerConfig) -> SocketAddr {
    let config = Arc::new(config);
    serve(0, move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        answer(StreamOwned::new(session, stream));
    })
}

/// The same for clients with a certificate of an authority alone, whose own is in `certs/ca.pem`; a client's is in `certs/client.pem`, and
/// its key in `certs/key.pem`.
pub fn server_that_asks_who_comes(world: &World) -> SocketAddr {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "an authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let issue = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &authority).unwrap(), key)
    };
    let ((own, key), (client, clients_key)) = (issue("127.0.0.1"), issue("a client"));
    std::fs::create_dir(world.path("certs")).unwrap();
    world.write("certs/ca.pem", &authority.pem());
    world.write("certs/client.pem", &client.pem());
    world.write("certs/key.pem", &clients_key.serialize_pem());
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.unwrap())
        .with_single_cert(vec![own.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    serve_tls(config)
}

fn answer(mut stream: StreamOwned<ServerConnection, std::net::TcpStream>) {
    let (mut seen, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut part) {
        seen.extend_from_slice(&part[..count]);
        if seen.ends_with(b"\r\n\r\n") {
            seen.clear();
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    }
}

#[test]
fn tls_version_cipher_and_handshakes_are_recorded() {
    let world = World::new();
    let (address, certificate) = tls_server();
    world.write("ca.pem", &certificate);
    let url = format!("https://{address}/");
    let said = world.prony(&["load", &url, "--cacert", "ca.pem", "-n", "50", "-c", "5", "--json", "-"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&said.out).expect("nothing but JSON on standard output");
    assert_eq!(
        (json["requests"]["completed"].as_u64(), json["target"]["url"].as_str()),
        (Some(50), Some(&*url))
    );
    let plan = &json["plan"]["tls"];
    assert_eq!(
        (&plan["verify"], &plan["resumption"], &plan["alpn"]),
        (&"cacert".into(), &"on".into(), &"http/1.1".into())
    );
    assert_eq!(plan["client_certificate"], false);
    let tls = &json["tls"];
    assert_eq!((&tls["version"], &tls["cipher"]), (&"TLSv1.3".into(), &"TLS_AES_128_GCM_SHA256".into()));
    assert_eq!((&tls["handshakes_full"], &tls["handshakes_resumed"]), (&5.into(), &0.into()));
}

#[test]
fn an_unverified_certificate_is_said_on_stderr_and_in_results() {
    let world = World::new();
    let (address, _) = tls_server();
    let url = format!("https://{address}/");
    // What this machine trusts is not the test's to say: here it is somebody else.
    world.write("trust.pem", &tls_server().1);
    let mut command = world.command(&["load", &url, "-n", "50"]);
    let refused: Said =
        command.env("SSL_CERT_FILE", "trust.pem").env_remove("SSL_CERT_DIR").output().unwrap().into();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.err.contains("--cacert") && refused.err.contains("-k"), "{}", refused.err);
    // A list that somebody named is not replaced by the one inside the binary.
    world.write("trust.pem", "");
    let empty: Said =
        command.env("SSL_CERT_FILE", "trust.pem").env_remove("SSL_CERT_DIR").output().unwrap().into();
    assert!(empty.code == Some(2) && empty.err.contains("SSL_CERT_FILE names no certificates"), "{empty:?}");

    let said = world.prony(&["load", &url, "-k", "-n", "50", "--json", "t.json", "--tls-resumption", "off"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("NOT verified"), "{}", said.err);
    let second = said.out.lines().nth(1).unwrap();
    assert!(second.contains("TLS 1.3, UNVERIFIED"), "{}", said.out);
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    assert_eq!(
        (&json["plan"]["tls"]["verify"], &json["plan"]["tls"]["resumption"]),
        (&"none".into(), &"off".into())
    );
}
