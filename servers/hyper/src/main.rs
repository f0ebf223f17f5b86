//! The catalogue's Rust server: hyper 1 on tokio, and nothing between them.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde::Serialize;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[derive(Serialize)]
struct Greeting {
    message: &'static str,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (address, workers, tls) = match args.as_slice() {
        [address, workers] => (address, workers, None),
        [address, workers, cert, key] => (address, workers, Some(acceptor(cert, key)?)),
        _ => return Err("usage: server HOST:PORT WORKERS [CERT KEY]".into()),
    };
    // With one worker the threaded scheduler's hand-overs would only cost.
    let runtime = match workers.parse()? {
        1 => Builder::new_current_thread().enable_all().build()?,
        n => Builder::new_multi_thread().worker_threads(n).enable_all().build()?,
    };
    runtime.block_on(serve(address.parse()?, tls))
}

fn acceptor(cert: &str, key: &str) -> Result<TlsAcceptor, Box<dyn Error>> {
    let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    if speaks_http2() {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn speaks_http2() -> bool {
    std::env::var_os("HTTP2").is_some_and(|value| value == "on")
}

async fn serve(address: SocketAddr, tls: Option<TlsAcceptor>) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(address).await?;
    let http2 = speaks_http2();
    loop {
        // Out of files, or a client gone before it was accepted: the others are still to be served.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        // Small answers must not wait for the client's delayed acknowledgements.
        let _ = stream.set_nodelay(true);
        match tls.clone() {
            None => tokio::spawn(connection(stream, http2)),
            Some(tls) => tokio::spawn(async move {
                if let Ok(stream) = tls.accept(stream).await {
                    connection(stream, http2).await;
                }
            }),
        };
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, http2: bool) {
    let stream = TokioIo::new(stream);
    // A client that leaves in the middle is an error of its connection, not of the server.
    if http2 {
        let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(stream, service_fn(handle)).await;
    } else {
        let _ = http1::Builder::new().serve_connection(stream, service_fn(handle)).await;
    }
}

async fn handle(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let query = request.uri().query().unwrap_or("");
    Ok(match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => text("Hello, World!"),
        (&Method::GET, "/json") => json(&Greeting { message: "Hello, World!" }),
        (&Method::GET, "/sleep") => {
            tokio::time::sleep(Duration::from_millis(number(query, "ms", 0))).await;
            text("Hello, World!")
        }
        (&Method::GET, "/work") => text(work(number(query, "n", 1000))),
        (&Method::POST, "/echo") => {
            let body = request.into_body().collect().await?.to_bytes();
            answer(StatusCode::OK, "application/octet-stream", body)
        }
        _ => answer(StatusCode::NOT_FOUND, "text/plain", "Not Found"),
    })
}

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn text(body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    answer(StatusCode::OK, "text/plain", body)
}

fn json(value: &impl Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(value) {
        Ok(body) => answer(StatusCode::OK, "application/json", body),
        Err(error) => answer(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error.to_string()),
    }
}

/// `n` steps of a linear congruential generator: pure arithmetic, the same in every language here.
fn work(n: u64) -> String {
    let step = |x: u32, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (0..n).fold(0, step).to_string()
}

fn number(query: &str, key: &str, otherwise: u64) -> u64 {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(name, _)| *name == key)
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(otherwise)
}
