//! The catalogue's actix-web server.

use std::error::Error;
use std::time::Duration;

use actix_web::http::header::ContentType;
use actix_web::web::{self, Bytes, Query};
use actix_web::{App, HttpResponse, HttpServer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

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
    let (address, workers, tls) = match args.as_slice() {
        [address, workers] => (address, workers, None),
        [address, workers, cert, key] => (address, workers, Some(config(cert, key)?)),
        _ => return Err("usage: server HOST:PORT WORKERS [CERT KEY]".into()),
    };
    actix_web::rt::System::new().block_on(serve(address, workers.parse()?, tls))?;
    Ok(())
}

fn config(cert: &str, key: &str) -> Result<ServerConfig, Box<dyn Error>> {
    let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    Ok(ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?)
}

/// Each worker is a thread with an event loop; they and a thread that accepts make up the server.
async fn serve(address: &str, workers: usize, tls: Option<ServerConfig>) -> std::io::Result<()> {
    let app = || {
        App::new()
            .route("/", web::get().to(text))
            .route("/json", web::get().to(json))
            .route("/sleep", web::get().to(sleep))
            .route("/work", web::get().to(work))
            .route("/echo", web::post().to(echo))
    };
    let server = HttpServer::new(app)
        .workers(workers)
        .backlog(65535) // as long a queue as the kernel lets it be (somaxconn)
        .shutdown_timeout(1); // it waits for open connections, by default 30 s
    let server = match tls {
        None if std::env::var_os("HTTP2").is_some_and(|value| value == "on") => server.bind_auto_h2c(address)?,
        None => server.bind(address)?,
        Some(config) => server.bind_rustls_0_23(address, config)?,
    };
    server.run().await
}

fn plain(body: impl actix_web::body::MessageBody + 'static) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::plaintext()).body(body)
}

async fn text() -> HttpResponse {
    plain("Hello, World!")
}

async fn json() -> HttpResponse {
    HttpResponse::Ok().json(Greeting { message: "Hello, World!" })
}

async fn sleep(query: Query<Sleep>) -> HttpResponse {
    tokio::time::sleep(Duration::from_millis(query.ms)).await;
    text().await
}

/// `n` steps of a linear congruential generator: pure arithmetic, the same in every language here.
async fn work(query: Query<Work>) -> HttpResponse {
    let step = |x: u32, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    plain((0..query.n.unwrap_or(1000)).fold(0, step).to_string())
}

async fn echo(body: Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::octet_stream()).body(body)
}
