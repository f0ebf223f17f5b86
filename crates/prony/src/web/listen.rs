//! The listener, its threads, and the routes.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use prony_report::export::openmetrics::text::CONTENT_TYPE;
use prony_report::page::{self, Asset, live};
use prony_report::runs::RunIndex;

use super::auth::{Admission, Auth};
use super::broadcast::{Broadcast, Sent};
use super::http::{self, Refusal, Response};
use super::metrics::Metrics;
use super::slots::Slots;
use crate::failure::Failure;

const SEND_EVERY: Duration = Duration::from_millis(250);
const EVENT_TIME: Duration = Duration::from_secs(5);
const STACK_BYTES: usize = 512 << 10;
const NOTHING: &str = "default-src 'none'";

#[derive(Debug)]
pub(crate) enum Site {
    Live(Arc<Broadcast>),
    Runs(RunIndex),
    Metrics(Arc<Metrics>),
}

struct Shared {
    site: Site,
    auth: Auth,
    slots: Arc<Slots>,
}

/// Listens on `listen` (`127.0.0.1:0`), threads on `cpus` with the lowest priority. The URL to open.
pub(crate) fn start(listen: &str, site: Site, cpus: &[u32]) -> Result<String, Failure> {
    let metrics = matches!(site, Site::Metrics(_));
    if !metrics {
        page::available().map_err(Failure::usage)?;
    }
    let name = if metrics { "--metrics" } else { "The web page" };
    let refused = |why: io::Error| {
        Failure::usage(format!(
            "{name} cannot listen on {listen}: {why}. Give an address and a port that is free, such as \
             127.0.0.1:0."
        ))
    };
    let wanted: SocketAddr = listen.parse().map_err(|_| {
        Failure::usage(format!(
            "{listen:?} is not an address to listen on: write 127.0.0.1:8080, or port 0 for any free one."
        ))
    })?;
    let listener = TcpListener::bind(wanted).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let auth = if metrics { Auth::for_metrics(address) } else { Auth::new(address).map_err(refused)? };
    let token = auth.token().map_or(String::new(), |token| format!("?token={token}"));
    let shared = Arc::new(Shared { site, auth, slots: Arc::default() });
    let cpus = cpus.to_vec();
    spawn(move || {
        prony_host::cpus::enter_background(&cpus);
        accept(&listener, &shared);
    })
    .map_err(refused)?;
    Ok(format!("http://{address}/{token}"))
}

fn spawn(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("web".to_owned()).stack_size(STACK_BYTES).spawn(run).map(|_| ())
}

/// Threads inherit the CPUs and the policy of the one that starts them.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let Ok((mut stream, from)) = listener.accept() else {
            // No descriptors left, as a rule: the connections there are must end first.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let Some(slot) = shared.slots.take(from.ip()) else { continue };
        let shared = Arc::clone(shared);
        // A thread that cannot be begun drops the connection with its slot.
        let _ = spawn(move || {
            let _slot = slot;
            serve(&mut stream, &shared);
        });
    }
}

fn serve(stream: &mut TcpStream, shared: &Shared) {
    let Some(read) = http::read(stream) else { return };
    let head_only = read.as_ref().is_ok_and(|request| request.head_only);
    let response = match read.map(|request| (shared.auth.admit(&request), request)) {
        Err(Refusal(status, why)) => text(status, why),
        Ok((Admission::Refused(why), _)) => text(403, why),
        Ok((Admission::SetCookie(cookie), request)) => {
            let location = format!("/{}", request.path.trim_start_matches('/'));
            let headers = vec![("Set-Cookie", cookie), ("Location", location)];
            Response { status: 303, headers, body: "".into() }
        }
        Ok((Admission::Admitted, request)) => match (&shared.site, request.path.as_str()) {
            (Site::Live(broadcast), "/events") if !head_only => {
                // A page that is gone misses nothing.
                let _ = events(stream, broadcast);
                return;
            }
            (Site::Live(broadcast), "/report") => {
                let early = || text(404, "The report is available when the run is over.");
                let report = broadcast.report();
                let response = report.clone().map_or_else(early, |report| page(Ok(report)));
                if http::respond(stream, &response, head_only).is_ok() && report.is_some() {
                    broadcast.served();
                }
                return;
            }
            (site, path) => route(site, path),
        },
    };
    // A client that cannot be reached cannot be told so.
    let _ = http::respond(stream, &response, head_only);
}

fn route(site: &Site, path: &str) -> Response {
    let nothing = || text(404, "There is no such page.");
    match (site, path) {
        (Site::Live(broadcast), "/") => page(live::live(&broadcast.head).map_err(|e| e.to_string())),
        (Site::Live(_) | Site::Runs(_), path) if path.starts_with("/assets/") => {
            let assets = page::assets().into_iter().flatten();
            assets
                .into_iter()
                .find(|asset| path.strip_prefix('/') == Some(&asset.path))
                .map_or_else(nothing, file)
        }
        (Site::Live(_), _) => nothing(),
        (Site::Runs(run_index), path) => run_index.page(path).map_or_else(nothing, page),
        (Site::Metrics(metrics), "/metrics") => {
            let headers = vec![("Content-Type", CONTENT_TYPE.to_owned())];
            Response { status: 200, headers, body: metrics.text().into() }
        }
        (Site::Metrics(_), _) => text(404, "The metrics are at /metrics."),
    }
}

/// A page with its policy as a header, too, where `frame-ancestors` takes effect; or why there is none.
fn page(html: Result<impl Into<Arc<str>>, String>) -> Response {
    let body = match html {
        Ok(html) => html.into(),
        Err(why) => return text(500, &why),
    };
    let policy = page::site_policy().unwrap_or_else(|_| NOTHING.to_owned());
    response(200, "text/html", &policy, body)
}

/// What pages load: kept by a browser, since its path is of these contents.
fn file(asset: Asset) -> Response {
    let mut response = response(200, asset.media_type, NOTHING, asset.text.into());
    response.headers.push(("Cache-Control", "private, max-age=31536000, immutable".to_owned()));
    response
}

fn text(status: u16, text: &str) -> Response {
    response(status, "text/plain", NOTHING, text.into())
}

fn response(status: u16, media_type: &str, policy: &str, body: Arc<str>) -> Response {
    let headers = vec![
        ("Content-Type", format!("{media_type}; charset=utf-8")),
        ("Content-Security-Policy", format!("{policy}; frame-ancestors 'none'")),
    ];
    Response { status, headers, body }
}

/// Sends a page the events until the run is over or the page is gone.
fn events(stream: &mut TcpStream, broadcast: &Broadcast) -> io::Result<()> {
    http::begin_events(stream)?;
    let _watching = broadcast.watch();
    let mut sent = Sent::default();
    loop {
        let (lines, last) = broadcast.updates(&mut sent);
        // A comment keeps the connection open, and finds out whether the page is still there.
        let text = if lines.is_empty() {
            ":\n\n".to_owned()
        } else {
            lines.iter().map(|line| format!("data: {line}\n\n")).collect()
        };
        http::write_until(stream, text.as_bytes(), Instant::now() + EVENT_TIME)?;
        if last {
            return Ok(());
        }
        thread::sleep(SEND_EVERY);
    }
}
