//! A server that somebody else started, sampled while it is loaded (`--watch`).

use std::sync::Arc;
use std::time::Duration;

use prony_host::process::{self, Identity};
use prony_host::{Beside, ClientWatch, HostWatch, MonitorWatch};
use prony_load::{Control, LoadError, Loader, Snapshot};
use prony_model::Plan;
use prony_model::host::{Host, HostWindow};
use prony_model::observed::Observed;
use prony_model::recorded_plan::RecordedPlan;

use crate::sample::{Processes, SampledService, Watched};
use crate::server_host::{RemoteServer, SampledServer, Sampling, Seen, ServerHost};
use crate::supervise::listener;

#[derive(Debug, Clone)]
pub struct WatchedServer {
    server: SampledServer,
    /// As it was named: `1234`, `:8080` or `ssh:big:8080`.
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

    pub fn there(host: &Arc<ServerHost>, named: &str) -> Result<WatchedServer, String> {
        let server = RemoteServer::watch(host, named).map_err(|why| format!("On {}: {why}", host.given()))?;
        let named = format!("{}{named}", host.given());
        Ok(WatchedServer { server: SampledServer::There(Arc::new(server)), named })
    }

    pub(crate) fn sampled(&self) -> SampledServer {
        self.server.clone()
    }
}

#[derive(Debug, Clone)]
pub struct LoadObserver {
    pub host: Host,
    pub embedded_target: bool,
    pub watched: Option<WatchedServer>,
}

impl LoadObserver {
    pub fn load(
        &self,
        loader: &Loader<'_>,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<(Observed, Result<(), LoadError>), LoadError> {
        let sampling = self.watched.as_ref().map(|watched| watched.server.start(&plan.cpus, &[]));
        let observation = Observation {
            cpus: &plan.cpus,
            client: Some(ClientWatch::with_cores(&[])),
            sampling: sampling
                .transpose()
                .map_err(|e| LoadError::System("starting to sample the server", e))?,
            startup: Duration::ZERO,
            server_cpus: &[],
            services: Vec::new(),
            before: None,
        };
        let (mut observed, sampled) = observation.load(loader, plan, control, observe)?;
        (observed.host, observed.embedded_target) = (Some(self.host.clone()), self.embedded_target);
        let Some(WatchedServer { named, .. }) = &self.watched else { return Ok((observed, Ok(()))) };
        observed.life.candidate = format!("the server ({named})");
        let sampled = sampled.map_err(|why| LoadError::Fleet(format!("--watch {named}: {why}")));
        Ok((observed, sampled))
    }
}

pub(crate) struct Observation<'a> {
    /// The CPUs that its figures depend on; empty: any.
    pub(crate) cpus: &'a [u32],
    /// `None` where this process loads somebody else too.
    pub(crate) client: Option<ClientWatch>,
    /// The server's, whose start took so long on these CPUs.
    pub(crate) sampling: Option<Sampling>,
    pub(crate) startup: Duration,
    pub(crate) server_cpus: &'a [u32],
    pub(crate) services: Vec<SampledService>,
    /// What else ran before the server was started; `None` of one that was there already.
    pub(crate) before: Option<Beside>,
}

impl Observation<'_> {
    /// Applies the load: what was observed, and why that says nothing of the server, where it could not be sampled to the end.
    pub(crate) fn load(
        self,
        loader: &Loader<'_>,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<(Observed, Result<(), String>), LoadError> {
        let (mut host, mut client) = (HostWatch::on(self.cpus), self.client);
        let beside = self.before.map(|before| (before, Beside::read()));
        let mut monitor = MonitorWatch::default();
        monitor.look();
        let measured = loader(plan, control, &mut |snapshot| {
            monitor.look();
            host.look(snapshot.in_window);
            if let Some(client) = &mut client {
                client.look();
            }
            observe(snapshot);
        });
        monitor.end();
        // Before the sampler ends, which takes its time: the quiet meanwhile is no part of the load.
        let others = beside.map(|(before, from)| from.until(&Beside::read(), &before, self.cpus).others);
        let host_window = measured.as_ref().ok().and_then(|m| host.finish(&m.address));
        let host_window = host_window.map(|window| HostWindow { others, ..window });
        let window = measured.as_ref().ok().map(|m| (m.window_start_ns, m.window_end_ns));
        let finish = |sampling: Sampling| sampling.finish(window, self.startup, self.server_cpus);
        let seen = self.sampling.map_or(Ok(None), finish);
        let services = self.services.into_iter().filter_map(|service| service.finish(window).transpose());
        let services = services.collect::<Result<Vec<_>, String>>();
        let measured = measured?;
        let (Seen { mut server, life }, sampled) = match seen {
            Ok(seen) => (seen.unwrap_or_default(), Ok(())),
            Err(why) => (Seen::default(), Err(why)),
        };
        let (services, sampled) = match services {
            Ok(services) => (services, sampled),
            Err(why) => (Vec::new(), sampled.and(Err(why))),
        };
        if let Some(server) = &mut server {
            server.services = services;
        }
        let observed = Observed {
            host_window,
            monitor: monitor.columns(measured.window_start_ns),
            client_columns: client.and_then(|client| client.finish(measured.window_start_ns)),
            server,
            life,
            ..Observed::new(measured, RecordedPlan::of(plan))
        };
        Ok((observed, sampled))
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
    use std::sync::Mutex;

    use prony_analysis::testing::healthy;
    use prony_host::monotonic_ns;
    use prony_host::testing::wait_until;
    use prony_model::Target;

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
        let work = Mutex::new((server.0.stdin.take().unwrap(), lines));
        let loader = move |_: &_, _: &_, _: &mut dyn FnMut(&_)| {
            let mut work = work.lock().unwrap();
            let (begun_ns, mut m) = (monotonic_ns(), healthy(1, 100));
            work.0.write_all(b"work\n").unwrap();
            assert_eq!(work.1.next().as_deref(), Some("done"));
            (m.window_start_ns, m.window_end_ns) = (begun_ns, monotonic_ns());
            Ok(m)
        };
        let observer = LoadObserver { host: Host::default(), embedded_target: false, watched: Some(watched) };
        let plan = Plan::closed(Target::parse("http://127.0.0.1/").unwrap());
        let (observed, sampled) = observer.load(&loader, &plan, &Control::default(), &mut |_| ()).unwrap();
        sampled.unwrap();
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
