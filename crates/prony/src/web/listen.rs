//! The listener, its threads, and what is where.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prony_model::openmetrics::CONTENT_TYPE;
use prony_report::page::{self, live};

use super::guard::{Admission, Guard};
use super::http::{self, Answer, Refusal, Request};
use super::hub::{Heard, Hub};
use super::metrics::Metrics;
use super::shelf::Shelf;
use crate::failure::Failure;

/// Connections at once: a browser takes six, and few people watch one run.
const CONNECTIONS_MAX: usize = 32;
/// How often a page is told what is new: four times a second.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// A page that takes no event for so long is gone.
const EVENT_TIME: Duration = Duration::from_secs(5);
const STACK_BYTES: usize = 512 << 10;

/// What is served.
#[derive(Debug)]
pub(crate) enum Site {
    /// A run that goes on, and its report when it is over.
    Live(Arc<Hub>),
    /// Run logs.
    Runs(Shelf),
    /// How a run stands, for machines.
    Metrics(Arc<Metrics>),
}

impl Site {
    fn name(&self) -> &'static str {
        if matches!(self, Site::Metrics(_)) { "--metrics" } else { "The web page" }
    }
}

/// A listening server; its threads end with the process.
#[derive(Debug)]
pub(crate) struct Server {
    /// What to open.
    pub(crate) url: String,
}

struct Shared {
    site: Site,
    guard: Guard,
    active: AtomicUsize,
}

impl Server {
    /// Listens on `listen` (`127.0.0.1:0`); all threads run on `cpus` (empty: anywhere) below everything else.
    pub(crate) fn start(listen: &str, site: Site, cpus: &[u32]) -> Result<Server, Failure> {
        let figures = matches!(site, Site::Metrics(_));
        if !figures {
            page::available().map_err(Failure::usage)?;
        }
        let name = site.name();
        let refused = |why: io::Error| {
            Failure::usage(format!(
                "{name} cannot listen on {listen}: {why}. Give an address and a port that is free, such as \
                 127.0.0.1:0."
            ))
        };
        let wanted: SocketAddr = listen.parse().map_err(|_| {
            Failure::usage(format!(
                "{listen:?} is no address to listen on: write 127.0.0.1:8080, or port 0 for any free one."
            ))
        })?;
        let listener = TcpListener::bind(wanted).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let guard =
            if figures { Guard::of_figures(address) } else { Guard::new(address).map_err(refused)? };
        let token = guard.token().map_or(String::new(), |token| format!("?token={token}"));
        let shared = Arc::new(Shared { site, guard, active: AtomicUsize::new(0) });
        let cpus = cpus.to_vec();
        spawn(move || {
            prony_host::cpus::enter_background(&cpus);
            accept(&listener, &shared);
        })
        .map_err(refused)?;
        Ok(Server { url: format!("http://{address}/{token}") })
    }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("web".to_owned()).stack_size(STACK_BYTES).spawn(run).map(|_| ())
}

/// Threads inherit the CPUs and the policy of the one that starts them.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            // No descriptors left, as a rule: the connections there are must end first.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if shared.active.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            shared.active.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let own = Arc::clone(shared);
        let spawned = spawn(move || {
            serve(&mut stream, &own);
            own.active.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            shared.active.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve(stream: &mut TcpStream, shared: &Shared) {
    let Some(request) = http::read(stream) else { return };
    let (request, refusal) = match request {
        Ok(request) => match shared.guard.admit(
            request.host.as_deref(),
            &request.cookies.iter().map(String::as_str).collect::<Vec<_>>(),
            &request.query,
        ) {
            Admission::Admitted => (request, None),
            Admission::Welcome(cookie) => {
                let headers = vec![
                    ("Set-Cookie", cookie),
                    ("Location", format!("/{}", request.path.trim_start_matches('/'))),
                ];
                // Whoever left meanwhile misses nothing.
                let _ = http::answer(stream, &Answer { status: 303, headers, body: b"" }, false);
                return;
            }
            Admission::Refused(why) => (request, Some(Refusal(403, why))),
        },
        Err(refusal) => (Request::default(), Some(refusal)),
    };
    // What cannot be sent has nobody to be told of it.
    let _ = match refusal {
        Some(Refusal(status, why)) => say(stream, status, why, request.head_only),
        None => route(stream, &request, &shared.site),
    };
}

fn route(stream: &mut TcpStream, request: &Request, site: &Site) -> io::Result<()> {
    let head_only = request.head_only;
    match (site, request.path.as_str()) {
        (Site::Live(hub), "/") => page(stream, live::live(hub.head()).map_err(|e| e.to_string()), head_only),
        (Site::Live(hub), "/events") if !head_only => events(stream, hub),
        (Site::Live(hub), "/report") => match hub.report() {
            Some(report) => {
                send_page(stream, &report, head_only)?;
                hub.served();
                Ok(())
            }
            None => say(stream, 404, "The report is here when the run is over.", head_only),
        },
        (Site::Runs(shelf), "/") => page(stream, shelf.list(), head_only),
        (Site::Runs(shelf), "/history") => page(stream, shelf.history(), head_only),
        (Site::Runs(shelf), path) => {
            let number = path.strip_prefix("/runs/").and_then(|n| n.parse::<usize>().ok());
            match number.and_then(|n| shelf.report(n)) {
                Some(report) => page(stream, report, head_only),
                None => say(stream, 404, "There is no such page.", head_only),
            }
        }
        (Site::Metrics(metrics), "/metrics") => {
            let headers = vec![("Content-Type", CONTENT_TYPE.to_owned())];
            let body = metrics.text();
            http::answer(stream, &Answer { status: 200, headers, body: body.as_bytes() }, head_only)
        }
        (Site::Metrics(_), _) => say(stream, 404, "The figures are at /metrics.", head_only),
        _ => say(stream, 404, "There is no such page.", head_only),
    }
}

fn page(stream: &mut TcpStream, html: Result<String, String>, head_only: bool) -> io::Result<()> {
    match html {
        Ok(html) => send_page(stream, &html, head_only),
        Err(why) => say(stream, 500, &why, head_only),
    }
}

/// A page with its policy as a header, too, where `frame-ancestors` counts.
fn send_page(stream: &mut TcpStream, html: &str, head_only: bool) -> io::Result<()> {
    let policy = page::shell::App::embedded().map_or_else(
        |_| "default-src 'none'".to_owned(),
        |app| app.policy(&format!("{}; frame-ancestors 'none'", page::POLICY_LIVE)),
    );
    let headers =
        vec![("Content-Type", "text/html; charset=utf-8".to_owned()), ("Content-Security-Policy", policy)];
    http::answer(stream, &Answer { status: 200, headers, body: html.as_bytes() }, head_only)
}

fn say(stream: &mut TcpStream, status: u16, sentence: &str, head_only: bool) -> io::Result<()> {
    let headers = vec![
        ("Content-Type", "text/plain; charset=utf-8".to_owned()),
        ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'".to_owned()),
    ];
    http::answer(stream, &Answer { status, headers, body: sentence.as_bytes() }, head_only)
}

/// Tells a page what happens until the run is over or the page is gone.
fn events(stream: &mut TcpStream, hub: &Hub) -> io::Result<()> {
    http::begin_events(stream)?;
    hub.watch(true);
    let told = tell(stream, hub);
    hub.watch(false);
    told
}

fn tell(stream: &mut TcpStream, hub: &Hub) -> io::Result<()> {
    let mut heard = Heard::default();
    loop {
        let (lines, last) = hub.news(&mut heard);
        // A comment keeps the line open, and finds out whether anybody is there.
        let text = if lines.is_empty() {
            ":\n\n".to_owned()
        } else {
            lines.iter().map(|line| format!("data: {line}\n\n")).collect()
        };
        http::write_until(stream, text.as_bytes(), Instant::now() + EVENT_TIME)?;
        if last {
            return Ok(());
        }
        thread::sleep(TELL_EVERY);
    }
}
