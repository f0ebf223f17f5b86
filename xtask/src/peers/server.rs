//! The server of a comparison: one process on the last CPU, whose own count of requests is the truth for every tool.

use std::cell::Cell;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use prony_target::{LatencySummary, Ledger};
use serde_json::Value;

use super::figures::Served;
use super::{child, nginx};
use crate::programs::{self, Running};

/// How long connections of the tool before may linger.
const SETTLE_MAX: Duration = Duration::from_secs(5);
/// How long the server may take to answer for its ledger.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Target(&'static [&'static str]),
    /// [`super::counting`]: as cheap as a server can be, for clients that the target could not keep busy.
    Counting,
    Tls,
}

#[derive(Debug)]
pub(crate) struct Server {
    _process: Running,
    pub(crate) url: String,
    books: Books,
}

#[derive(Debug)]
enum Books {
    Ledger,
    /// At nginx's status page, here; and how often it was asked for, as it counts itself.
    Status {
        address: String,
        asked: Cell<u64>,
    },
}

/// A server's account of itself since its start: the target's, of which others fill in what they count. Questions for it
/// are not in it, but for their connections.
#[derive(Debug)]
pub(super) struct Account {
    ledger: Ledger,
    /// `None` where the server does not count them.
    reads: Option<u64>,
}

impl Account {
    /// What was served since `before`, which was the account before this one.
    pub(super) fn since(&self, before: &Account) -> Served {
        let p50_ns = |of: fn(&Ledger) -> &LatencySummary| {
            let (mut all, had) = (of(&self.ledger).histogram().ok()?, of(&before.ledger).histogram().ok()?);
            // Counts only grow, so what was there before is in what is there now.
            all.subtract(&had).ok()?;
            (!all.is_empty()).then(|| all.value_at_quantile(0.5))
        };
        let (now, then) = (&self.ledger, &before.ledger);
        let has_stamps = now.residence_clock == "kernel";
        Served {
            requests: now.requests_answered - then.requests_answered,
            bytes_written: now.bytes_written - then.bytes_written,
            // One is the question's.
            connections: (now.connections_accepted - then.connections_accepted).saturating_sub(1),
            reads: self.reads.zip(before.reads).map(|(now, then)| now - then),
            p50_ns: p50_ns(|ledger| &ledger.latency),
            residence_p50_ns: if has_stamps { p50_ns(|ledger| &ledger.residence) } else { None },
        }
    }
}

impl Server {
    pub(crate) fn start(prony: &Path, kind: Kind, cpu: u32, scratch: &Path) -> Result<Server, String> {
        let mut command = child::pinned(cpu);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        match kind {
            Kind::Tls => {
                let (process, url, address) = nginx::start(scratch, cpu)?;
                let books = Books::Status { address, asked: Cell::new(0) };
                return Server { _process: process, url, books }.answering();
            }
            Kind::Target(flags) => command
                .arg(prony)
                .args(["target", "--port", "0", "--threads", "1", "--until-stdin-ends"])
                .args(flags),
            Kind::Counting => command.arg(programs::own()?.get_program()).arg("counting-server"),
        };
        let mut process = Running::start(&mut command)?;
        let url = process.first_line()?;
        if !url.contains("://") {
            return Err("the server ended before it listened; its own sentence is above".to_owned());
        }
        Ok(Server { _process: process, url, books: Books::Ledger })
    }

    /// Itself, once it answers: nginx does not say when it listens.
    fn answering(self) -> Result<Server, String> {
        programs::wait_for(PATIENCE, || Ok(self.account().err())).map(|()| self)
    }

    fn account(&self) -> Result<Account, String> {
        let refused = |why: String| format!("the server did not answer for its account: {why}");
        match &self.books {
            Books::Ledger => {
                let body = get(&format!("{}/-/ledger", self.url.trim_end_matches('/'))).map_err(refused)?;
                let ledger: Value = serde_json::from_str(&body).map_err(|e| refused(e.to_string()))?;
                let reads = ledger["reads"].as_u64();
                let ledger = serde_json::from_value(ledger).map_err(|e| refused(e.to_string()))?;
                Ok(Account { ledger, reads })
            }
            Books::Status { address, asked } => {
                let body = get(address).map_err(refused)?;
                let (open, accepted, requests) = nginx::status(&body).ok_or_else(|| refused(body.clone()))?;
                asked.set(asked.get() + 1);
                let ledger = Ledger {
                    requests_answered: requests.saturating_sub(asked.get()),
                    connections_accepted: accepted,
                    connections_open: open,
                    ..Ledger::default()
                };
                Ok(Account { ledger, reads: None })
            }
        }
    }

    /// Waits until nobody is connected, so that one tool's leavings are not the next one's load; then its account.
    pub(super) fn settled(&self) -> Result<Account, String> {
        let mut last = Err("it was not asked".to_owned());
        // The one that asks is connected; who stays for longer is left.
        let _ = programs::wait_for(SETTLE_MAX, || {
            last = self.account();
            Ok(last.as_ref().is_ok_and(|account| account.ledger.connections_open > 1).then(String::new))
        });
        last
    }
}

/// By curl(1), also of a certificate of its own: over HTTP/1.1, so that the frames of its question are not counted.
fn get(url: &str) -> Result<String, String> {
    let line = format!(
        "--silent --show-error --insecure --http1.1 --noproxy * --max-time {} {url}",
        PATIENCE.as_secs()
    );
    programs::text(Command::new("curl").args(line.split(' ')))
}
