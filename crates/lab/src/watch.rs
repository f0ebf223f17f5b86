//! A server that somebody else started, sampled while it is loaded (`--watch`).

use std::sync::Arc;
use std::time::Duration;

use prony_host::process::{self, Identity};
use prony_host::{ClientWatch, HostWatch};
use prony_load::{Control, LoadError, Loader, Snapshot};
use prony_model::Plan;
use prony_model::host::Host;
use prony_model::observed::{Observed, ServerLife};
use prony_model::plan_record::PlanRecord;

use crate::sample::{Processes, Watched};
use crate::server_host::{RemoteServer, SampledServer, Sampling, Seen, ServerHost};
use crate::supervise::listener;

#[derive(Debug, Clone)]
pub struct WatchedServer {
    server: SampledServer,
    /// As it was named: `1234`, `:8080` or `ssh:big:8080`.
    named: String,
}

/// A server that is being sampled.
#[derive(Debug)]
struct Watching {
    sampling: Sampling,
    named: String,
}

impl WatchedServer {
    /// The server of a process's number (`1234`), or whoever listens on a port of this machine (`:8080`): these
    /// processes and all below them.
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
            server: SampledServer::Here(Watched { processes: Processes::Of(roots), cgroup: None }),
            named: named.to_owned(),
        })
    }

    /// The same on another host, by what its name is there.
    pub fn there(host: &Arc<ServerHost>, named: &str) -> Result<WatchedServer, String> {
        let server = RemoteServer::watch(host, named).map_err(|why| format!("On {}: {why}", host.given()))?;
        let named = format!("{}{named}", host.given());
        Ok(WatchedServer { server: SampledServer::There(Arc::new(server)), named })
    }

    pub(crate) fn sampled(&self) -> SampledServer {
        self.server.clone()
    }

    /// Begins to sample it, on these CPUs (the client's; empty: any).
    fn start(&self, client_cpus: &[u32]) -> Result<Watching, LoadError> {
        let sampling = self.server.start(client_cpus, &[]);
        let sampling = sampling.map_err(|e| LoadError::System("starting to sample the server", e))?;
        Ok(Watching { sampling, named: self.named.clone() })
    }
}

/// What is known of a load from outside of its server.
#[derive(Debug, Clone)]
pub struct Outside {
    pub host: Host,
    /// Whether the target is Prony's own.
    pub embedded_target: bool,
    /// The server's processes, where somebody named them.
    pub watched: Option<WatchedServer>,
}

impl Outside {
    /// Applies a load: what was observed of it, and whether what the watched server cost is in that.
    pub fn load(
        &self,
        loader: &Loader<'_>,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<(Observed, Result<(), LoadError>), LoadError> {
        let (mut host, mut client) = (HostWatch::on(&plan.cpus), ClientWatch::with_cores(&[]));
        let watching = self.watched.as_ref().map(|watched| watched.start(&plan.cpus)).transpose()?;
        let measured = loader(plan, control, &mut |snapshot| {
            host.look(snapshot.in_window);
            client.look();
            observe(snapshot);
        })?;
        let mut observed = Observed {
            host: Some(self.host.clone()),
            host_window: host.finish(&measured.address),
            client_columns: client.finish(measured.window_start_ns),
            embedded_target: self.embedded_target,
            ..Observed::new(measured, PlanRecord::of(plan))
        };
        let watched = watching.map_or(Ok(()), |watching| watching.finish(&mut observed));
        Ok((observed, watched))
    }
}

impl Watching {
    /// Ends, and adds what was seen to what else was observed of the load.
    fn finish(self, observed: &mut Observed) -> Result<(), LoadError> {
        let (start_ns, end_ns) = (observed.measurement.window_start_ns, observed.measurement.window_end_ns);
        let seen = self.sampling.finish(Some((start_ns, end_ns)), Duration::ZERO, &[]);
        let seen = seen.map_err(|why| LoadError::Fleet(format!("--watch {}: {why}", self.named)))?;
        let Seen { server, life } = seen.unwrap_or_default();
        observed.server = server;
        observed.life = ServerLife { candidate: format!("the server ({})", self.named), ..life };
        Ok(())
    }
}

fn wrong(named: &str) -> String {
    format!(
        "--watch {named:?} names no server: write the number of its process, :PORT where it listens here, or ssh:HOST:PORT \
         where it listens there."
    )
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command, Stdio};

    use prony_analysis::testing::{closed_plan, healthy};
    use prony_host::monotonic_ns;
    use prony_host::testing::wait_until;

    use super::*;
    use crate::supervise::Running;
    use crate::supervise::testing::{pid_in, shell_spec, supervision};

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn what_names_no_server_is_refused_with_the_reason() {
        let own = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listening = listener.local_addr().unwrap().port();
        // A connection's own port: nobody else has it while the connection lives, and nobody listens there. That of a
        // listener just closed would not do: a child that another test forks holds its copy until it executes a program.
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let silent = client.local_addr().unwrap().port();
        for (named, words) in [
            ("nginx".to_owned(), "names no server"),
            (":0".to_owned(), "names no server"),
            (":99999".to_owned(), "names no server"),
            ("4194305".to_owned(), "no such process"),
            (format!(":{silent}"), "nothing listens"),
            (format!("{own}"), "Prony itself"),
            (format!(":{listening}"), "Prony itself"),
        ] {
            let why = WatchedServer::find(&named).unwrap_err();
            assert!(why.contains(words), "{named}: {why}");
        }
    }

    #[test]
    fn what_the_processes_below_use_is_counted() {
        // The shell's child says that it lives, works when it is sent a line, and ends with its input.
        let work = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let script =
            format!("exec 3<&0; (echo begun; read line <&3; {work}; echo done; read line <&3) & wait");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = Ended(command.spawn().unwrap());
        let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.next().as_deref(), Some("begun"));
        let watched = WatchedServer::find(&server.0.id().to_string()).unwrap();
        let watching = watched.start(&[]).unwrap();
        let begun_ns = monotonic_ns();
        let mut to_it = server.0.stdin.take().unwrap();
        to_it.write_all(b"work\n").unwrap();
        assert_eq!(lines.next().as_deref(), Some("done"));
        let mut observed = Observed::new(healthy(1, 100), closed_plan());
        observed.measurement.window_start_ns = begun_ns;
        observed.measurement.window_end_ns = monotonic_ns();
        watching.finish(&mut observed).unwrap();
        let seen = observed.server.unwrap();
        assert_eq!((seen.startup_ns, seen.cpu_method.as_str(), seen.processes), (0, "schedstat", 2));
        // 100,000 turns: no machine makes one in 10 ns.
        assert!(seen.window_cpu_ns > 1_000_000 && seen.peak_memory_bytes > 0, "{seen:?}");
        assert!(observed.life.lost.is_empty() && observed.life.candidate.contains("the server ("));
    }

    /// Both take their first and last readings while the server waits: whatever it used between is in both.
    #[test]
    fn what_is_watched_costs_what_the_guard_s_own_sampler_says() {
        let root = tempfile::tempdir().unwrap();
        for fifo in ["begin", "end"] {
            assert!(Command::new("mkfifo").arg(root.path().join(fifo)).status().unwrap().success());
        }
        let at = |name: &str| root.path().join(name);
        let script = format!(
            "cd {}; echo $$ >pid; read x <begin; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $$ >done; read x <end",
            root.path().display()
        );
        let spec = shell_spec(root.path(), &[&script]);
        let is_there = || at("pid").exists();
        let mut running =
            Running::start(&spec, &supervision(root.path()), &mut { is_there }, &|| false).unwrap();
        let pid = pid_in(&at("pid"));
        let waits = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") S ");
        wait_until("the server waits for its work", waits);
        let own = Watched { cgroup: None, ..running.watched() };
        let own = SampledServer::Here(own).start(&[], &[]).unwrap();
        let watched = WatchedServer::find(&pid.to_string()).unwrap().sampled().start(&[], &[]).unwrap();
        std::fs::write(at("begin"), "x\n").unwrap();
        assert_eq!(pid_in(&at("done")), pid);
        wait_until("the server waits for its end", waits);
        let [own, watched] = [own, watched].map(|sampling| {
            sampling.finish(Some((0, u64::MAX)), Duration::ZERO, &[]).unwrap().unwrap().server.unwrap()
        });
        assert_eq!(watched.window_cpu_ns, own.window_cpu_ns);
        assert!(own.window_cpu_ns > 1_000_000, "{own:?}");
        assert_eq!((watched.processes, watched.threads), (own.processes, own.threads));
        running.stop();
    }
}
