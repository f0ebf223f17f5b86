//! Fleets of agents that ssh reaches, by Debian's OpenSSH with keys, a configuration and a cache of the test's own. Its sshd is
//! started for each connection and listens nowhere: two names for this machine are two hosts.
//!
//! They need ssh, sshd and nats-server, and say so where they are missing.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::fleet::{Running, children, first_on_path, is_cut, sum};
use crate::needs::{Need, has, has_nats_server};
use crate::signals::program;
use crate::ssh::{self, SSHD};
use crate::tls::server_that_asks_who_comes;
use crate::world::{BINARY, Said, TargetProcess, World, processes_naming, send, wait_until};

fn has_ssh(test: &str) -> bool {
    has(test, &[Need::Ssh, Need::Nats])
}

/// Hosts that ssh reaches: every name but `nowhere` is this machine.
struct Hosts {
    world: World,
}

impl Hosts {
    fn new() -> Hosts {
        let hosts = Hosts { world: World::new() };
        ssh::prepare(&hosts.world, &["stranger"]);
        hosts.configure("user", "");
        hosts
    }

    /// Lets this key in, and adds to what sshd is told.
    fn configure(&self, key: &str, more: &str) {
        ssh::write_server(&self.world, &format!("XDG_CACHE_HOME={}", self.at("cache")), more);
        let by_itself = format!(
            "Host nowhere\n  ProxyCommand false\nHost *\n  ProxyCommand {SSHD} -i -f {}\n",
            self.at("sshd_config")
        );
        ssh::write_client(&self.world, key, &by_itself);
    }

    fn at(&self, name: &str) -> String {
        self.world.path(name).display().to_string()
    }

    fn bin(&self) -> PathBuf {
        self.world.path("bin")
    }

    fn load(&self, target: &TargetProcess, arguments: &[&str]) -> Said {
        let url = target.url();
        let line = Command::new(BINARY)
            .args(["load", &url, "--json", "-", "-q", "-c", "20", "-n", "1001"])
            .args(arguments)
            .env("PATH", first_on_path(&self.bin()))
            .current_dir(self.world.path("."))
            .output();
        line.unwrap().into()
    }

    /// A load that cannot be applied: one sentence, exit code 3, nothing sent, nothing left.
    #[track_caller]
    fn is_refused(&self, arguments: &[&str], says: &[&str]) {
        let target = TargetProcess::start(&[]);
        let said = self.load(&target, arguments);
        assert_eq!(said.code, Some(3), "{said:?}");
        let error = said.err.lines().find(|line| line.starts_with("prony: ")).unwrap_or_default();
        assert!(says.iter().all(|part| error.contains(part)) && error.ends_with('.'), "{says:?} {said:?}");
        assert_eq!(target.ledger()["requests_received"], 0);
        self.nothing_is_left();
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        // Agents run from the test's cache, sshd and ssh by its configuration, nats-server in a folder of its own.
        let own = self.at("");
        wait_until("nothing is left of the fleet", || processes_naming(&own).is_empty());
        let unfinished = std::fs::read_dir(self.world.path("cache/prony")).map(|files| {
            files.flatten().filter(|file| file.file_name().to_string_lossy().starts_with('.')).count()
        });
        assert_eq!(unfinished.unwrap_or(0), 0);
    }

    /// The agents that run here, by process.
    fn agents(&self) -> Vec<u32> {
        let cache = self.at("cache");
        let of = |entry: std::fs::DirEntry| {
            let program = std::fs::read_link(entry.path().join("exe")).ok()?;
            program.starts_with(&cache).then(|| entry.file_name().to_string_lossy().parse().ok())?
        };
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
    }

    fn running(&self) -> Running {
        let running = Running::by(&self.world, "ssh:one,two", &self.bin());
        let agents = self.agents();
        assert_eq!(agents.len(), 2);
        Running { agents, ..running }
    }
}

#[test]
fn two_hosts_count_exactly_as_one_and_get_the_binary_once() {
    if !has_ssh("a fleet over ssh") {
        return;
    }
    let hosts = Hosts::new();
    for fleet in ["ssh:one,two", "ssh:one=127.0.0.9,two=127.0.0.10"] {
        let target = TargetProcess::start(&[]);
        let said = hosts.load(&target, &["--fleet", fleet]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let json: Value = serde_json::from_str(&said.out).unwrap();
        let ledger = target.ledger();
        assert_eq!((&json["run_total"]["sent"], &ledger["requests_received"]), (&1001.into(), &1001.into()));
        assert_eq!((sum(&json, "run_sent"), sum(&json, "completed")), (1001, 1001));
        let names =
            json["fleet"]["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["one", "two"]);
        hosts.nothing_is_left();
        assert_eq!(std::fs::read_dir(hosts.world.path("cache/prony")).unwrap().count(), 1);
    }
}

#[test]
fn a_clients_certificate_is_the_hosts_where_its_agent_is() {
    if !has_ssh("a client's certificate on a host") {
        return;
    }
    let hosts = Hosts::new();
    let url = format!("https://{}/", server_that_asks_who_comes(&hosts.world));
    let load = |folder: &str| -> Said {
        let files = ["--cert", &format!("{folder}client.pem"), "--key", &format!("{folder}key.pem")]
            .map(str::to_owned);
        let done = Command::new(BINARY)
            .args([
                "load",
                &url,
                "--cacert",
                "certs/ca.pem",
                "--fleet",
                "ssh:one,two",
                "-n",
                "50",
                "-c",
                "4",
                "-q",
            ])
            .args(files)
            .env("PATH", first_on_path(&hosts.bin()))
            .current_dir(hosts.world.path("."))
            .output();
        done.unwrap().into()
    };
    let there = load(&hosts.at("certs/"));
    assert_eq!(there.code, Some(0), "{there:?}");
    // In the controller's folder, and not in the one that a login begins in.
    let here = load("certs/");
    assert_eq!(here.code, Some(3), "{here:?}");
    let says = ["Agent ", "--cert certs/client.pem could not be read: No such file"];
    assert!(says.iter().all(|part| here.err.contains(part)), "{here:?}");
    hosts.nothing_is_left();
}

#[test]
fn a_killed_agent_or_ssh_or_controller_leaves_nothing_behind() {
    if !has_ssh("deaths in a fleet over ssh") {
        return;
    }
    let hosts = Hosts::new();
    let running = hosts.running();
    send(running.agents[0], Signal::SIGKILL);
    is_cut(&running.end(&hosts.world).1);
    hosts.nothing_is_left();

    let running = hosts.running();
    let all = children(running.controller.id());
    let (ssh, _) = all.iter().find(|(_, line)| line.contains(" -R ")).unwrap();
    send(*ssh, Signal::SIGKILL);
    is_cut(&running.end(&hosts.world).1);
    hosts.nothing_is_left();

    let mut running = hosts.running();
    send(running.controller.id(), Signal::SIGKILL);
    running.controller.wait().unwrap();
    running.nothing_is_left();
    hosts.nothing_is_left();
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    if has_ssh("an unreachable host") {
        Hosts::new().is_refused(
            &["--fleet", "ssh:one,nowhere"],
            &["No agent could be started on nowhere", "ssh ended", "Connection closed"],
        );
    }
}

#[test]
fn a_host_that_refuses_the_key_is_named() {
    if has_ssh("a refused key") {
        let hosts = Hosts::new();
        hosts.configure("stranger", "");
        hosts.is_refused(&["--fleet", "ssh:one"], &["No agent could be started on one", "Permission denied"]);
    }
}

#[test]
fn a_host_that_allows_no_tunnel_is_named() {
    if has_ssh("a host without tunnels") {
        let hosts = Hosts::new();
        hosts.configure("user", "AllowTcpForwarding no\n");
        hosts.is_refused(&["--fleet", "ssh:one"], &["No agent could be started on one", "forwarding failed"]);
    }
}

#[test]
fn a_host_of_another_architecture_needs_a_binary_for_it() {
    if !has_ssh("a host of another architecture") {
        return;
    }
    let hosts = Hosts::new();
    program(&hosts.world, "bin/uname", "#!/bin/sh\ntest \"$1\" = -m && echo sparc64 || echo Linux\n");
    hosts.configure("user", &format!("SetEnv PATH={}:/usr/bin:/bin\n", hosts.at("bin")));
    // sshd takes one SetEnv line alone.
    let both = hosts.world.read("sshd_config").replacen("\nSetEnv PATH=", " PATH=", 1);
    hosts.world.write("sshd_config", &both);
    hosts.is_refused(
        &["--fleet", "ssh:one"],
        &["No agent could be started on one", "sparc64", "--agent-binary"],
    );
    hosts.is_refused(
        &["--fleet", "ssh:one", "--agent-binary", "bin/uname"],
        &["bin/uname cannot be an agent"],
    );
}

#[test]
fn an_agent_of_another_version_is_refused() {
    if !has_ssh("an agent of another version") {
        return;
    }
    let hosts = Hosts::new();
    let own = format!("{} protocol ", env!("CARGO_PKG_VERSION")).into_bytes();
    let mut program = std::fs::read(BINARY).unwrap();
    let places: Vec<usize> =
        (0..program.len() - own.len()).filter(|at| program[*at..].starts_with(&own)).collect();
    assert!(!places.is_empty(), "the version is somewhere in the program");
    for at in places {
        program[at] = b'9';
    }
    std::fs::write(hosts.world.path("other"), program).unwrap();
    let says = ["the agent is Prony 9.", "both must be the same"];
    hosts.is_refused(&["--fleet", "ssh:one", "--agent-binary", "other"], &says);
}

#[test]
fn without_ssh_or_nats_server_a_fleet_says_what_to_install() {
    let world = World::new();
    std::fs::create_dir(world.path("bin")).unwrap();
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let refused = |fleet: &str| {
        let done = Command::new(BINARY)
            .args(["load", &url, "--fleet", fleet, "-n", "10", "-c", "2"])
            .env("PATH", world.path("bin"))
            .env("HOME", world.path("."))
            .env_remove("XDG_DATA_HOME")
            .output();
        let said: Said = done.unwrap().into();
        assert_eq!(said.code, Some(3), "{said:?}");
        said.err
    };
    for fleet in ["local:2", "ssh:one"] {
        let said = refused(fleet);
        assert!(said.contains("needs nats-server") && said.contains("prony fleet install"), "{said}");
    }
    if has_nats_server("a fleet without ssh") {
        let server = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join("nats-server"))
            .find(|path| path.is_file());
        symlink(server.unwrap(), world.path("bin/nats-server")).unwrap();
        let said = refused("ssh:one");
        assert!(said.contains("ssh is not on PATH: install the package openssh-client"), "{said}");
    }
    assert_eq!(target.ledger()["requests_received"], 0);
}
