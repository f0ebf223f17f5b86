//! The server of a comparison: one process on the last CPU, whose own count of requests is the truth for every tool.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prony_target::{LatencySummary, Ledger};
use serde_json::Value;

use super::figures::Served;
use super::nginx::{self, Nginx};

/// How long connections of the tool before may linger.
const SETTLE_MAX: Duration = Duration::from_secs(5);
/// How long the server may take to end, or to answer for its ledger.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `prony target` with these flags.
    Target(&'static [&'static str]),
    /// [`super::counting`]: as cheap as a server can be, for clients that the target could not keep busy.
    Counting,
    /// [`super::nginx`], over TLS.
    Tls,
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT/`.
    pub(crate) url: String,
    books: Books,
}

/// Where a server's own account is to be had.
#[derive(Debug)]
enum Books {
    Ledger,
    /// At nginx's status page, here; and how often it was asked for, as it counts itself.
    Status {
        address: String,
        asked: Cell<u64>,
    },
}

/// A server's account of itself since its start. Questions for it are not in it, but for their connections.
#[derive(Debug)]
pub(super) struct Account {
    requests: u64,
    bytes_written: u64,
    connections: u64,
    reads: Option<u64>,
    /// Connections open, the question's own included.
    open: u64,
    latency: Option<LatencySummary>,
    /// Where the server has the kernel's stamps.
    residence: Option<LatencySummary>,
}

impl Account {
    /// What was served since `before`, which was the account before this one.
    pub(super) fn since(&self, before: &Account) -> Served {
        let p50_ns = |of: fn(&Account) -> Option<&LatencySummary>| {
            let (mut all, had) = (of(self)?.histogram().ok()?, of(before)?.histogram().ok()?);
            // Counts only grow, so what was there before is in what is there now.
            all.subtract(&had).ok()?;
            (!all.is_empty()).then(|| all.value_at_quantile(0.5))
        };
        Served {
            requests: self.requests - before.requests,
            bytes_written: self.bytes_written - before.bytes_written,
            // One is the question's.
            connections: (self.connections - before.connections).saturating_sub(1),
            reads: self.reads.zip(before.reads).map(|(now, then)| now - then),
            p50_ns: p50_ns(|account| account.latency.as_ref()),
            residence_p50_ns: p50_ns(|account| account.residence.as_ref()),
        }
    }
}

impl Server {
    /// Starts it on `cpu`.
    pub(crate) fn start(prony: &Path, kind: Kind, cpu: usize, scratch: &Path) -> Result<Server, String> {
        if kind == Kind::Tls {
            return Server::tls(nginx::start(scratch, cpu)?);
        }
        let own = std::env::current_exe().map_err(|e| format!("this program was not found: {e}"))?;
        let mut command = Command::new(&own);
        command.args(["pinned", &cpu.to_string()]);
        match kind {
            Kind::Target(flags) => command
                .arg(prony)
                .args(["target", "--port", "0", "--threads", "1", "--until-stdin-ends"])
                .args(flags),
            Kind::Counting | Kind::Tls => command.arg(&own).arg("counting-server"),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("the server could not be started: {e}"))?;
        let mut url = String::new();
        if let Some(stdout) = child.stdout.take() {
            let _ = BufReader::new(stdout).read_line(&mut url);
        }
        let server = Server { child, url: url.trim().to_owned(), books: Books::Ledger };
        if server.address().is_none() {
            return Err("the server ended before it listened; its own sentence is above".to_owned());
        }
        Ok(server)
    }

    fn tls(nginx: Nginx) -> Result<Server, String> {
        let Nginx { child, url, status_address } = nginx;
        let server =
            Server { child, url, books: Books::Status { address: status_address, asked: Cell::new(0) } };
        let deadline = Instant::now() + PATIENCE;
        while let Err(e) = server.account() {
            if Instant::now() > deadline {
                return Err(e);
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn address(&self) -> Option<&str> {
        self.url.split_once("://").map(|(_, rest)| rest.trim_end_matches('/')).filter(|a| a.contains(':'))
    }

    fn account(&self) -> Result<Account, String> {
        let refused = |why: String| format!("the server did not answer for its account: {why}");
        match &self.books {
            Books::Ledger => {
                let address = self.address().unwrap_or_default();
                let body =
                    if self.url.starts_with("https") { get_tls(address) } else { get(address, "/-/ledger") };
                let body = body.map_err(refused)?;
                let ledger: Value = serde_json::from_str(&body).map_err(|e| refused(e.to_string()))?;
                let reads = ledger["reads"].as_u64();
                let ledger: Ledger = serde_json::from_value(ledger).map_err(|e| refused(e.to_string()))?;
                Ok(Account {
                    requests: ledger.requests_answered,
                    bytes_written: ledger.bytes_written,
                    connections: ledger.connections_accepted,
                    reads,
                    open: ledger.connections_open,
                    latency: Some(ledger.latency),
                    residence: Some(ledger.residence).filter(|_| ledger.residence_clock == "kernel"),
                })
            }
            Books::Status { address, asked } => {
                let body = get(address, "/").map_err(refused)?;
                let status = nginx::status(&body).ok_or_else(|| refused(body.clone()))?;
                asked.set(asked.get() + 1);
                Ok(Account {
                    requests: status.requests.saturating_sub(asked.get()),
                    bytes_written: 0,
                    connections: status.accepted,
                    reads: None,
                    open: status.open,
                    latency: None,
                    residence: None,
                })
            }
        }
    }

    /// Waits until nobody is connected, so that one tool's leavings are not the next one's load; then its account.
    pub(super) fn settled(&self) -> Result<Account, String> {
        let deadline = Instant::now() + SETTLE_MAX;
        loop {
            let account = self.account()?;
            // The one that asks.
            if account.open <= 1 || Instant::now() > deadline {
                return Ok(account);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The body of an answer.
fn get(address: &str, path: &str) -> Result<String, String> {
    let mut stream = TcpStream::connect(address).map_err(|e| e.to_string())?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(|e| e.to_string())?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|e| e.to_string())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(|e| e.to_string())?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    body.ok_or_else(|| "it closed the connection".to_owned())
}

/// The ledger of a server with a certificate of its own, by curl(1): over HTTP/1.1, so that its frames are not counted.
fn get_tls(address: &str) -> Result<String, String> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--insecure", "--http1.1", "--max-time"]);
    curl.arg(PATIENCE.as_secs().to_string()).arg(format!("https://{address}/-/ledger"));
    let output = curl.output().map_err(|e| format!("curl: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

impl Drop for Server {
    fn drop(&mut self) {
        // These end when their standard input does; nginx, which is one process, is ended below.
        if self.child.stdin.take().is_none() {
            let _ = self.child.kill();
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
