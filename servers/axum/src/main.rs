//! The catalogue's axum server: a router over hyper, on tokio.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;

mod realistic;

#[derive(Serialize)]
struct Greeting {
    message: &'static str,
}

#[derive(Deserialize)]
struct Sleep {
    #[serde(default)]
    ms: u64,
}

#[derive(Deserialize)]
struct Work {
    n: Option<u64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, workers, tls_files @ ..] = args.as_slice() else {
        return Err("usage: server HOST:PORT WORKERS [CERT KEY]".into());
    };
    // With one worker the threaded scheduler's hand-overs would only cost.
    let runtime = match workers.parse()? {
        1 => Builder::new_current_thread().enable_all().build()?,
        n => Builder::new_multi_thread().worker_threads(n).enable_all().build()?,
    };
    runtime.block_on(serve(address.parse()?, workers.parse()?, tls_files))
}

async fn serve(address: SocketAddr, workers: usize, tls_files: &[String]) -> Result<(), Box<dyn Error>> {
    let app = Router::new()
        .route("/", get(text))
        .route("/json", get(json))
        .route("/sleep", get(sleep))
        .route("/work", get(work))
        .route("/echo", post(echo))
        .merge(realistic::routes(workers)?);
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    // As long a queue as the kernel lets it be (somaxconn).
    let listener = socket.listen(65535)?;
    // Small answers must not wait for the client's delayed acknowledgements.
    if let [cert, key] = tls_files {
        // axum leaves TLS to others; this is the one that its documentation names.
        let config = RustlsConfig::from_pem_file(cert, key).await?;
        let acceptor = RustlsAcceptor::new(config).acceptor(NoDelayAcceptor);
        let server = axum_server::from_tcp(listener.into_std()?)?.acceptor(acceptor);
        server.serve(app.into_make_service()).await?;
    } else {
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, app).await?;
    }
    Ok(())
}

/// `text/plain; charset=utf-8` is what axum says of a text.
async fn text() -> &'static str {
    "Hello, World!"
}

async fn json() -> Json<Greeting> {
    Json(Greeting { message: "Hello, World!" })
}

async fn sleep(Query(query): Query<Sleep>) -> &'static str {
    tokio::time::sleep(Duration::from_millis(query.ms)).await;
    text().await
}

/// `n` steps of a linear congruential generator: pure arithmetic, the same in every language here.
async fn work(Query(query): Query<Work>) -> String {
    let step = |x: u32, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (0..query.n.unwrap_or(1000)).fold(0, step).to_string()
}

async fn echo(body: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/octet-stream")], body)
}
