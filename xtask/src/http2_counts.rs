//! `cargo xtask http2-counts`: what `prony load --http2` counts, against the logs of nghttpd, nginx and h2o. With a
//! count of requests, the log has as many; with a duration those that were completed and at most what was in flight at
//! the end. nginx ends each connection after 1,000 requests: none may be lost by that. What is not installed is
//! skipped.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::programs::{self, Checks, Running};
use crate::{files, loopback};

/// More than two of nginx's connections carry.
const REQUESTS: u64 = 5_000;
const CONNECTIONS: u64 = 2;
const STREAMS: u64 = 16;
/// How long a server may take to listen, and to write its log's last line.
const PATIENCE: Duration = Duration::from_secs(20);

struct Logging {
    name: &'static str,
    /// Its configuration for this port, if it has one, to be written to `server.conf`; logs go to `log` in its folder.
    configuration: fn(u16) -> String,
    arguments: fn(u16) -> Vec<String>,
    /// Whether its log is what it writes to standard output.
    says_log: bool,
    is_request: fn(&str) -> bool,
}

const SERVERS: [Logging; 3] = [
    Logging {
        name: "nghttpd",
        configuration: |_| String::new(),
        arguments: |port| {
            let address = "--address=127.0.0.1".to_owned();
            vec!["--no-tls".to_owned(), "-v".to_owned(), address, port.to_string()]
        },
        says_log: true,
        is_request: |line| line.contains("recv (stream_id=") && line.contains(":path: /"),
    },
    Logging {
        name: "nginx",
        configuration: |port| {
            let server = format!(
                "server {{ listen 127.0.0.1:{port} http2; location / {{ return 200 'Hello, World!'; }} }}"
            );
            loopback::nginx("log", &server)
        },
        arguments: |_| ["-e", "stderr", "-p", ".", "-c", "server.conf"].map(str::to_owned).to_vec(),
        says_log: false,
        is_request: |line| line.contains("GET / HTTP/2"),
    },
    Logging {
        name: "h2o",
        configuration: |port| {
            format!(
                "listen:\n  host: 127.0.0.1\n  port: {port}\naccess-log: log\nnum-threads: 1\nhosts:\n  default:\n    \
                 paths:\n      /:\n        file.dir: .\n"
            )
        },
        arguments: |_| ["-c", "server.conf"].map(str::to_owned).to_vec(),
        says_log: false,
        is_request: |line| line.contains("GET / HTTP/2"),
    },
];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let (prony, mut checks) = (crate::prony(root)?, Checks::default());
    for server in &SERVERS {
        match compared(server, &prony, &root.join("target/http2-counts").join(server.name)).transpose() {
            Some(said) => checks.count_said(server.name, said.map(|said| format!(": {said}"))),
            None => println!("skipped {}: it is not installed", server.name),
        }
    }
    checks.ended("counts")
}

/// What was compared; `None` where the server is not installed.
fn compared(server: &Logging, prony: &Path, folder: &Path) -> Result<Option<String>, String> {
    let Some(counted) = logged(server, prony, folder, &["-n", &REQUESTS.to_string()])? else {
        return Ok(None);
    };
    let Counted { completed, failed, moved, connections, logged: log } = counted;
    if (completed, failed, log) != (REQUESTS, 0, REQUESTS) {
        return Err(format!("{completed} completed and {failed} failed of {REQUESTS}, and {log} in its log"));
    }
    let said = format!("{log} requests in its log as counted, over {connections} connections, {moved} moved");
    let Some(timed) = logged(server, prony, folder, &["-d", "1s", "--warmup", "0"])? else { return Ok(None) };
    let (least, most) = (timed.completed, timed.completed + CONNECTIONS * STREAMS);
    if timed.failed > 0 || !(least..=most).contains(&timed.logged) {
        return Err(format!(
            "in a second, {} completed and {} failed, and {} in its log",
            timed.completed, timed.failed, timed.logged
        ));
    }
    Ok(Some(format!("{said}; in a second, {} and {} in its log", timed.completed, timed.logged)))
}

struct Counted {
    completed: u64,
    failed: u64,
    moved: u64,
    connections: u64,
    logged: u64,
}

fn logged(server: &Logging, prony: &Path, folder: &Path, length: &[&str]) -> Result<Option<Counted>, String> {
    let at = |e: std::io::Error| format!("{}: {e}", folder.display());
    files::anew(folder)?;
    let port = loopback::free_port()?;
    files::write(&folder.join("server.conf"), (server.configuration)(port))?;
    files::write(&folder.join("index.html"), "Hello, World!")?;
    let log = folder.join("log");
    let said = fs::File::create(folder.join("said")).map_err(at)?;
    let out = if server.says_log { fs::File::create(&log).map_err(at)?.into() } else { Stdio::null() };
    let started = Command::new(server.name)
        .args((server.arguments)(port))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(said)
        .spawn();
    let child = match started {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        started => Running(started.map_err(at)?),
    };
    programs::wait_for(PATIENCE, || {
        Ok(TcpStream::connect(("127.0.0.1", port)).err().map(|e| format!("it does not listen: {e}")))
    })?;
    let [connections, streams] = [CONNECTIONS, STREAMS].map(|n| n.to_string());
    let mut load = Command::new(prony);
    load.args(["load", "--http2", "-t", "1", "-c", &connections, "-p", &streams, "--json", "-"]);
    let trial = programs::json(load.args(length).arg(format!("http://127.0.0.1:{port}/")))?;
    let count = |part: &str, field: &str| trial[part][field].as_u64().unwrap_or(0);
    let completed = count("run_total", "completed");
    let lines = || fs::read_to_string(&log).unwrap_or_default();
    let requests = || lines().lines().filter(|line| (server.is_request)(line)).count() as u64;
    // nginx logs a request that the client gave up when it comes to know that.
    programs::wait_for(PATIENCE, || {
        let few = || "its log has fewer requests than were completed".to_owned();
        Ok((requests() < completed).then(few))
    })?;
    drop(child);
    Ok(Some(Counted {
        completed,
        failed: count("requests", "failed"),
        moved: count("http2", "moved"),
        connections: count("run_total", "connections"),
        logged: requests(),
    }))
}
