//! A server that somebody else started, sampled while it is loaded (`--watch`).

use std::time::Duration;

use prony_host::process::{self, Identity};
use prony_load::LoadError;
use prony_model::observed::{Observed, ServerLife};

use crate::sample::{Processes, Sampler, Samples, Watched};
use crate::supervise::listener;

/// Which processes are watched.
#[derive(Debug, Clone)]
pub struct WatchedServer {
    watched: Watched,
    /// As it was named: `1234` or `:8080`.
    named: String,
}

/// A server that is being sampled.
#[derive(Debug)]
pub struct Watching {
    sampler: Sampler,
    named: String,
}

impl WatchedServer {
    /// The server of a process's number (`1234`), or whoever listens on a port of this machine (`:8080`): these
    /// processes and all below them.
    ///
    /// # Errors
    /// A sentence where there is none, where it cannot be seen, and where Prony itself would be a part of it.
    pub fn find(named: &str) -> Result<WatchedServer, String> {
        let pids = match named.strip_prefix(':') {
            Some(port) => {
                let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(|| wrong(named))?;
                listener::holders(port)?
            }
            None => vec![named.parse().map_err(|_| wrong(named))?],
        };
        let roots: Vec<Identity> = pids.into_iter().filter_map(Identity::of).collect();
        if roots.is_empty() {
            return Err(format!("--watch {named}: there is no such process."));
        }
        if process::trees(&roots).iter().any(|process| process.pid == std::process::id()) {
            return Err(format!(
                "--watch {named}: Prony itself runs below that process, and would be counted: name the server's own."
            ));
        }
        Ok(WatchedServer {
            watched: Watched { processes: Processes::Of(roots), cgroup: None },
            named: named.to_owned(),
        })
    }

    /// Begins to sample it, on these CPUs (the client's; empty: any).
    ///
    /// # Errors
    /// When the system gives no more threads.
    pub fn start(&self, client_cpus: &[u32]) -> Result<Watching, LoadError> {
        let sampler = Sampler::start(self.watched.clone(), client_cpus, &[])
            .map_err(|e| LoadError::System("starting to sample the server", e))?;
        Ok(Watching { sampler, named: self.named.clone() })
    }
}

impl Watching {
    /// Ends, and adds what was seen to what else was observed of the load.
    pub fn finish(self, observed: &mut Observed) {
        let samples: Samples = self.sampler.finish();
        let (start_ns, end_ns) = (observed.measurement.window_start_ns, observed.measurement.window_end_ns);
        observed.server = samples.window(start_ns, end_ns, Duration::ZERO, &[]);
        observed.life = ServerLife {
            candidate: format!("the server ({})", self.named),
            ..samples.changes(end_ns).into()
        };
    }
}

fn wrong(named: &str) -> String {
    format!(
        "--watch {named:?} names no server: write the number of its process, or :PORT where it listens here."
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_names_no_server_is_refused_with_the_reason() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for (named, words) in [
            ("nginx".to_owned(), "names no server"),
            (":0".to_owned(), "names no server"),
            (":99999".to_owned(), "names no server"),
            ("4194305".to_owned(), "no such process"),
            (format!(":{free}"), "nothing listens"),
        ] {
            let why = WatchedServer::find(&named).unwrap_err();
            assert!(why.contains(words), "{named}: {why}");
        }
    }
}
