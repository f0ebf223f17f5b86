//! Servers on another host: network namespaces, Debian's OpenSSH between them, and a router. The host's home folder, cache,
//! journal and lock are of the test's own.
//!
//! They need root, iproute2, ssh, sshd and python3, those with a fleet nats-server, and say so where they are missing.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::fleet::first_on_path;
use crate::hosts::{Daemon, Hosts, Relay, Way};
use crate::needs::{Need, has, has_nats_server};
use crate::ssh;
use crate::world::{BINARY, Said, World, processes_naming, send, wait_until};

/// The client's machine, and the servers'.
const CLIENT: usize = 1;
const SERVERS: usize = 2;
/// A third one, from which a fleet's agents load.
const LOADER: usize = 3;
/// By how much the servers' clock is ahead, in seconds.
const AHEAD_S: i64 = 500_000;
/// The servers' names.
const NAMES: [&str; 3] = ["one", "two", "three"];

pub struct TwoHosts {
    pub world: World,
    hosts: Hosts,
    relay: Relay,
    _sshd: Daemon,
}

impl TwoHosts {
    pub fn new(test: &str) -> Option<TwoHosts> {
        if !has(test, &[Need::Netns, Need::Ssh]) {
            return None;
        }
        let hosts = Hosts::new(3);
        let world = World::new();
        ssh::prepare(&world, &[]);
        for folder in ["home", "meet"] {
            std::fs::create_dir(world.path(folder)).unwrap();
        }
        let at = |name: &str| world.path(name).display().to_string();
        let variables = format!(
            "HOME={} XDG_CACHE_HOME={} PRONY_STATE={} PRONY_TURN={} PATH={}",
            at("home"),
            at("cache"),
            at("state-there"),
            at("turn-there"),
            std::env::var("PATH").unwrap(),
        );
        ssh::write_server(&world, &variables, "");
        let sshd = ssh::start(&world, &hosts, SERVERS, AHEAD_S);
        let plain = Way { delay: std::time::Duration::ZERO, loss_every: 0 };
        let relay = Relay::start(&hosts, SERVERS, plain, plain);
        ssh::write_client(&world, "user", &ssh::by(&relay, "servers"));
        for home in ["prony/servers", "home/prony/servers"] {
            NAMES.iter().for_each(|name| write_recipe(&world, home, name));
        }
        world.write(
            "e.toml",
            &format!(
                "schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = {NAMES:?}\nblocks = 2\n[load]\nconnections = 4\n\
                 requests = 400\nwarmup = \"0s\"\nduration = \"300s\"\ntimeout = \"300s\"\nheaders = {{ X-Load = \"yes\" }}\n[[plan]]\n"
            ),
        );
        Some(TwoHosts { world, hosts, relay, _sshd: sshd })
    }

    /// Lets ssh reach the third host, too, for as long as what is returned lives.
    fn loader(&self) -> (Daemon, Relay) {
        let sshd = ssh::start(&self.world, &self.hosts, LOADER, 2 * AHEAD_S);
        let plain = Way { delay: std::time::Duration::ZERO, loss_every: 0 };
        let relay = Relay::start(&self.hosts, LOADER, plain, plain);
        let both = ssh::by(&self.relay, "servers") + &ssh::by(&relay, "loader");
        ssh::write_client(&self.world, "user", &both);
        (sshd, relay)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.hosts.command(CLIENT, BINARY);
        command
            .args(arguments)
            .env("PATH", first_on_path(&self.world.path("bin")))
            .env(prony_host::bench_lock::VARIABLE, self.world.path("turn"))
            .env(prony_host::state::VARIABLE, self.world.path("state"))
            .env("PRONY_DISTURBED", "keep")
            .current_dir(self.world.path("."))
            .stdin(Stdio::null());
        command
    }

    /// With servers on the other host, by the address that loads reach.
    pub fn prony(&self, arguments: &[&str]) -> Said {
        self.command(arguments).args(["--server-host", &self.given()]).output().unwrap().into()
    }

    fn given(&self) -> String {
        format!("ssh:servers={}", Hosts::address(SERVERS))
    }

    fn results(&self) -> Vec<Value> {
        self.world.lines("r.jsonl", "result")
    }

    /// What the servers of a name counted, each start in a number of its own.
    fn counted(&self, name: &str) -> Vec<u64> {
        let all = std::fs::read_dir(self.world.path("meet")).unwrap().flatten();
        let of = all.filter(|file| file.file_name().to_string_lossy().starts_with(&format!("count-{name}-")));
        of.filter(|file| !file.file_name().to_string_lossy().ends_with(".new"))
            .map(|file| std::fs::read_to_string(file.path()).unwrap().parse().unwrap())
            .collect()
    }

    /// That each of the trials is there once, and each server was sent what the run says.
    #[track_caller]
    fn is_whole_and_exact(&self) {
        let results = self.results();
        let mut indices: Vec<u64> = results.iter().map(|r| r["index"].as_u64().unwrap()).collect();
        indices.sort_unstable();
        assert_eq!(indices, (0..6).collect::<Vec<_>>());
        for result in &results {
            assert_eq!(result["trial"]["run_total"]["sent"], 400, "{result}");
            assert_eq!(result["trial"]["requests"]["failed"], 0, "{result}");
        }
    }

    /// Guards and servers, agents and ssh, and their files.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let own = self.world.path("").display().to_string();
        // sshd itself stays, and those that wait for the next connection.
        let left = || {
            let all = processes_naming(&own).into_iter();
            all.filter(|line| !line.contains("sshd_config")).collect::<Vec<_>>()
        };
        wait_until("nothing is left on either host", || left().is_empty());
        for journal in ["state/journal", "state-there/journal"] {
            let entries = || std::fs::read_dir(self.world.path(journal)).map_or(0, Iterator::count);
            // Where an agent was killed, the next one cleans up.
            if journal.starts_with("state/") {
                assert_eq!(entries(), 0, "{journal}");
            }
        }
    }

    /// Forgets what servers have counted.
    fn count_anew(&self) {
        let _ = std::fs::remove_dir_all(self.world.path("meet"));
        std::fs::create_dir(self.world.path("meet")).unwrap();
    }

    /// A run whose first server stops answering in mid load.
    fn held(&self, more: &[&str]) -> Child {
        self.world.write("meet/hold", "");
        let mut command = self.command(&["bench", "e.toml", "-q", "-o", "r.jsonl"]);
        command
            .args(more)
            .args(["--server-host", &self.given()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("a server holds its load", || self.world.path("meet/held").exists());
        child
    }

    /// Lets servers answer again, and completes the run.
    #[track_caller]
    fn go_on(&self, more: &[&str]) {
        let _ = std::fs::remove_file(self.world.path("meet/hold"));
        let _ = std::fs::remove_file(self.world.path("meet/held"));
        let said = self.prony(&[&["bench", "e.toml", "-q", "--resume", "r.jsonl"], more].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        self.is_whole_and_exact();
        self.nothing_is_left();
        assert_eq!(std::fs::read_dir(self.world.path("state-there/journal")).map_or(0, Iterator::count), 0);
    }

    /// The processes of the agent on the other host.
    fn agents(&self) -> Vec<u32> {
        let cache = self.world.path("cache");
        let of = |entry: std::fs::DirEntry| {
            let pid: u32 = entry.file_name().to_string_lossy().parse().ok()?;
            let program = std::fs::read_link(entry.path().join("exe")).ok()?;
            let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            (program.starts_with(&cache) && line.contains("--role")).then_some(pid)
        };
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(of).collect()
    }
}

fn write_recipe(world: &World, home: &str, name: &str) {
    let folder = world.path(home).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("misbehave.py"), include_str!("misbehave.py")).unwrap();
    let meet = world.path("meet").display().to_string();
    let text = format!(
        "schema = \"prony.server/1\"\ntitle = \"One that counts\"\nlanguage = \"Python\"\nkind = \"runtime\"\n\
         routes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n[requires]\ncommands = [\"python3\"]\n\
         [start]\ncommand = [\"python3\", \"misbehave.py\", \"count-{name}\", \"{{port}}\", {meet:?}, \"{{host}}\"]\n"
    );
    std::fs::write(folder.join("server.toml"), text).unwrap();
}

#[test]
fn servers_on_another_host_count_each_request_and_their_costs() {
    let Some(hosts) = TwoHosts::new("servers on another host") else { return };
    let said = hosts.prony(&["servers", "check", "one", "two", "three"]);
    assert_eq!(
        (said.code, said.out.lines().last()),
        (Some(0), Some("3 passed, 0 failed, 0 skipped")),
        "{said:?}"
    );
    let said = hosts.prony(&["servers", "install", "one", "--yes"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "1 of 1 installed\n"), "{said:?}");

    hosts.count_anew();
    let said = hosts.prony(&["bench", "e.toml", "-q", "-o", "r.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    hosts.is_whole_and_exact();
    for name in NAMES {
        assert_eq!(hosts.counted(name), [400, 400], "{name}");
    }
    let header = &hosts.world.lines("r.jsonl", "header")[0];
    assert_eq!(header["server_host"]["address"], Hosts::address(SERVERS).to_string());
    assert!(header["server_host"]["host"]["kernel"].as_str().unwrap().starts_with("Linux"), "{header}");
    assert_eq!(header["server_host"]["interface"], "eth0");
    for result in hosts.results() {
        let server = &result["server"];
        // Of the run's 400 responses each went in a packet of its own, or several.
        let count =
            |field: &str| server["host"][field].as_u64().unwrap_or_else(|| panic!("{field} {server}"));
        assert!(count("packets_sent") > 0 && count("packets_received") > 0, "{server}");
        let seen = &server["host"]["monitor"];
        assert!(
            !seen["at_ms"].as_array().unwrap().is_empty() && !seen["cpus"].as_array().unwrap().is_empty()
        );
        assert!(count("clock_bound_ns") > 0 && count("softirq_ns") < u64::MAX, "{server}");
        assert_eq!(count("packets_dropped"), 0);
        // Its clock is days ahead: samples of a window that was not converted would all be far from it.
        let at: Vec<i64> =
            server["columns"]["at_ns"].as_array().unwrap().iter().map(|at| at.as_i64().unwrap()).collect();
        assert!(at[0] <= 0 && *at.last().unwrap() > 0, "{at:?}");
        assert!(at.iter().all(|at| at.abs() < AHEAD_S * 1_000_000_000 / 2), "{at:?}");
        assert!(server["startup_ns"].as_u64().unwrap() < AHEAD_S.unsigned_abs() * 500_000_000, "{server}");
        let address = result["trial"]["target"]["address"].as_str().unwrap();
        assert!(address.starts_with(&Hosts::address(SERVERS).to_string()), "{address}");
    }
    hosts.nothing_is_left();
    assert_eq!(std::fs::read_dir(hosts.world.path("state-there/journal")).map_or(0, Iterator::count), 0);
}

#[test]
fn a_killed_controller_agent_or_ssh_leaves_a_resumable_run() {
    let Some(hosts) = TwoHosts::new("deaths in a run on two hosts") else { return };
    let mut controller = hosts.held(&[]);
    send(controller.id(), Signal::SIGKILL);
    controller.wait().unwrap();
    hosts.nothing_is_left();
    hosts.go_on(&[]);

    std::fs::remove_file(hosts.world.path("r.jsonl")).unwrap();
    let controller = hosts.held(&[]);
    let agents = hosts.agents();
    assert_eq!(agents.len(), 1, "{agents:?}");
    send(agents[0], Signal::SIGKILL);
    is_lost(controller);
    hosts.nothing_is_left();
    hosts.go_on(&[]);

    std::fs::remove_file(hosts.world.path("r.jsonl")).unwrap();
    let controller = hosts.held(&[]);
    let all = crate::fleet::children(controller.id());
    let (ssh, _) = all.iter().find(|(_, line)| line.contains("ssh")).unwrap_or_else(|| panic!("{all:?}"));
    send(*ssh, Signal::SIGKILL);
    is_lost(controller);
    hosts.nothing_is_left();
    hosts.go_on(&[]);
}

#[test]
fn a_silently_cut_connection_ends_the_run_on_both_sides() {
    let Some(hosts) = TwoHosts::new("a cut on two hosts") else { return };
    let controller = hosts.held(&[]);
    hosts.relay.cut(true);
    is_lost(controller);
    let agents_end = || hosts.agents().is_empty();
    wait_until("the agent ends by its lease", agents_end);
    hosts.relay.cut(false);
    hosts.nothing_is_left();
    hosts.go_on(&[]);
}

/// The run has ended by that, in a sentence that says how it goes on.
#[track_caller]
fn is_lost(controller: Child) {
    let said: Said = controller.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("out of reach") && said.err.contains("--resume"), "{said:?}");
}

#[test]
fn what_the_servers_host_cannot_do_is_refused_in_a_sentence() {
    let Some(hosts) = TwoHosts::new("refusals of a server's host") else { return };
    let target = format!("t={BINARY} target --host {{host}} --port {{port}}");
    let load = ["-n", "100", "-c", "2", "--blocks", "1", "-q", "-o", "c.jsonl"];
    let said = hosts.prony(&[&["bench", "--candidate", &target][..], &load].concat());
    assert!(said.err.contains("--allow-commands") || said.out.contains("--allow-commands"), "{said:?}");
    assert_eq!(said.code, Some(3), "{said:?}");
    std::fs::remove_file(hosts.world.path("c.jsonl")).unwrap();
    let allowed = [&["bench", "--candidate", &target, "--allow-commands"][..], &load].concat();
    let said = hosts.prony(&allowed);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(hosts.world.lines("c.jsonl", "result")[0]["trial"]["run_total"]["sent"], 100);
    // Another recipe there than here.
    std::fs::write(hosts.world.path("home/prony/servers/two/misbehave.py"), "another").unwrap();
    let said = hosts.prony(&["bench", "e.toml", "--dry-run"]);
    assert!(said.out.contains("the recipe of two differs between the two hosts"), "{said:?}");
    for (given, code, says) in [
        ("servers", 2, "names no host"),
        ("ssh:-oProxyCommand=x", 2, "is not a host name"),
        ("ssh:servers:22", 2, "a port is set in ~/.ssh/config"),
        ("ssh:servers=fd00::1", 2, "IPv6"),
        ("ssh:servers=[fd00::1]", 2, "IPv6"),
        ("ssh:servers=192.0.2.1", 3, "not an address of that machine"),
    ] {
        let said: Said = hosts.command(&["bench", "e.toml", "--server-host", given]).output().unwrap().into();
        assert_eq!((said.code, said.err.contains(says)), (Some(code), true), "{given} {said:?}");
    }
    hosts.nothing_is_left();
}

#[test]
fn a_fleet_loads_another_host_s_servers_to_the_exact_request() {
    let test = "a fleet that loads another host's servers";
    let Some(hosts) = TwoHosts::new(test).filter(|_| has_nats_server(test)) else { return };
    let _loader = hosts.loader();
    let by_fleet = ["--fleet", "ssh:loader,loader"];
    let said = hosts.prony(&[&["bench", "e.toml", "-q", "-o", "r.jsonl"][..], &by_fleet].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    hosts.is_whole_and_exact();
    for name in NAMES {
        assert_eq!(hosts.counted(name), [400, 400], "{name}");
    }
    let client_cpus = &hosts.world.lines("r.jsonl", "header")[0]["client_cpus"];
    assert_eq!(client_cpus, &serde_json::json!([]), "this machine's CPUs are none of an agent's");
    for result in hosts.results() {
        let agents = result["trial"]["fleet"]["agents"].as_array().unwrap();
        let names: Vec<&str> = agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect();
        let sent: u64 = agents.iter().map(|agent| agent["run_sent"].as_u64().unwrap()).sum();
        assert_eq!((names, sent), (vec!["loader", "loader-2"], 400), "{result}");
        let server = &result["server"];
        assert!(server["host"]["packets_sent"].as_u64().unwrap() > 0, "{server}");
        assert!(server["window_cpu_ns"].as_u64().unwrap() > 0, "{server}");
    }
    for other in [&[][..], &["--fleet", "local:2"]] {
        let said = hosts.prony(&[&["bench", "e.toml", "-q", "--resume", "r.jsonl"], other].concat());
        let says = "its loads were applied by --fleet ssh:loader,loader";
        assert_eq!((said.code, said.err.contains(says)), (Some(2), true), "{other:?} {said:?}");
    }
    hosts.nothing_is_left();

    std::fs::remove_file(hosts.world.path("r.jsonl")).unwrap();
    let mut controller = hosts.held(&by_fleet);
    send(controller.id(), Signal::SIGKILL);
    controller.wait().unwrap();
    hosts.nothing_is_left();
    hosts.go_on(&by_fleet);
}

#[test]
fn duets_searches_and_memory_limits_work_on_another_host() {
    let Some(hosts) = TwoHosts::new("a duet on another host") else { return };
    let e = |plan: &str| {
        format!(
            "schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = [\"one\", \"two\"]\nblocks = 1\n[load]\n\
             connections = 4\nwarmup = \"0s\"\ntimeout = \"300s\"\nheaders = {{ X-Load = \"yes\" }}\n[[plan]]\n{plan}\n"
        )
    };
    // Two servers at once need two CPUs.
    if std::thread::available_parallelism().unwrap().get() > 1 {
        hosts.world.write("e.toml", &e("rate = 200\nrequests = 100\nduration = \"300s\""));
        let said = hosts.prony(&["bench", "e.toml", "-q", "-o", "r.jsonl", "--duet"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let results = hosts.results();
        assert_eq!(results.len(), 4, "two candidates, two halves");
        for pair in results.chunks(2) {
            let of = |at: usize, field: &str| pair[at][field].clone();
            assert_eq!(of(0, "duet")["half"], of(1, "duet")["half"]);
            assert_ne!(of(0, "candidate"), of(1, "candidate"));
            assert_ne!(of(0, "server")["cpus"], of(1, "server")["cpus"]);
            for result in pair {
                assert!(result["server"]["host"]["packets_sent"].as_u64().unwrap() > 0, "{result}");
            }
        }
        for name in ["one", "two"] {
            assert_eq!(hosts.counted(name), [100, 100], "{name}");
        }
        hosts.nothing_is_left();
        let said = hosts.prony(&["bench", "e.toml", "--duet", "--fleet", "local:2", "--dry-run"]);
        assert_eq!((said.code, said.err.contains("--duet applies two loads")), (Some(2), true), "{said:?}");
    }

    // Whether a rate was found is the machine's to say as well.
    hosts.world.write("e.toml", &e("capacity = \"default\"\nduration = \"200ms\""));
    let said = hosts.prony(&["bench", "e.toml", "-q", "-o", "s.jsonl", "--only", "one"]);
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let searched = &hosts.world.lines("s.jsonl", "result")[0];
    assert!(!searched["capacity"]["probes"].as_array().unwrap().is_empty(), "{searched}");
    assert!(searched["server"]["host"]["packets_sent"].as_u64().unwrap() > 0, "{searched}");

    hosts.world.write("e.toml", &e("requests = 100\nduration = \"300s\""));
    let limited = ["bench", "e.toml", "-q", "-o", "m.jsonl", "--only", "one", "--memory", "1g"];
    let said = hosts.prony(&limited);
    // What that machine says where it is asked by itself.
    let mut there = hosts.hosts.command(SERVERS, BINARY);
    there.args(["servers", "check", "one", "--memory", "1g"]).current_dir(hosts.world.path("home"));
    there.env(prony_host::state::VARIABLE, hosts.world.path("state-there"));
    let there: Said = there.output().unwrap().into();
    if there.code == Some(0) {
        assert_eq!(said.code, Some(0), "{said:?}");
        let version = &hosts.world.lines("m.jsonl", "header")[0]["candidates"][0]["version"];
        assert!(version.as_str().unwrap().contains("at most 1g of memory"), "{version}");
    } else {
        let says = ["No servers can be started on ssh:servers", "--memory needs a cgroup"];
        assert!(said.code == Some(3) && says.iter().all(|says| said.err.contains(says)), "{said:?}");
    }
    hosts.nothing_is_left();
}

#[test]
fn a_server_started_there_by_others_is_sampled_and_examined() {
    let Some(hosts) = TwoHosts::new("a server watched on another host") else { return };
    let address = Hosts::address(SERVERS).to_string();
    let mut target = hosts.hosts.command(SERVERS, BINARY);
    target.args(["target", "--host", &address, "--port", "0"]).stdout(Stdio::piped());
    let mut target = Daemon(target.spawn().unwrap());
    let mut url = String::new();
    BufReader::new(target.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = url.trim();
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let watch = format!("ssh:servers={address}:{port}");
    let load = ["load", url, "-n", "500", "-c", "2", "--warmup", "0", "--json", "-", "-q", "--watch", &watch];
    let said: Said = hosts.command(&load).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&said.out).unwrap();
    let server = &json["server"];
    assert_eq!((&json["run_total"]["sent"], &server["processes"]), (&500.into(), &1.into()), "{json}");
    assert!(server["window_cpu_ns"].as_u64().unwrap() > 0, "{server}");
    assert!(server["host"]["packets_sent"].as_u64().unwrap() > 0, "{server}");

    // Whether a rate was found is the machine's to say as well.
    let search = ["capacity", url, "-d", "200ms", "-c", "4", "--resolution", "50%", "--json", "-", "-q"];
    let said: Said = hosts.command(&[&search[..], &["--watch", &watch]].concat()).output().unwrap().into();
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let json: Value = serde_json::from_str(&said.out).unwrap();
    let server = &json["confirmation"]["server"];
    assert!(server["host"]["packets_sent"].as_u64().unwrap() > 0, "{server}");

    let (candidate, watch) = (format!("t={url}"), format!("t={watch}"));
    let bench =
        ["bench", "--candidate", &candidate, "--watch", &watch, "-n", "500", "-c", "2", "--blocks", "1"];
    let said: Said = hosts.command(&[&bench[..], &["-q", "-o", "u.jsonl"]].concat()).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let result = &hosts.world.lines("u.jsonl", "result")[0];
    assert!(result["server"]["window_cpu_ns"].as_u64().unwrap() > 0, "{result}");
    let load = ["load", url, "--watch", "ssh:servers:1"];
    let said: Said = hosts.command(&load).output().unwrap().into();
    let says = "On ssh:servers: --watch :1: nothing listens";
    assert_eq!((said.code, said.err.contains(says)), (Some(2), true), "{said:?}");
    for (watch, says) in [("nobody=:1", "no --candidate nobody=URL"), ("x", "says no candidate")] {
        let bench = ["bench", "--candidate", &candidate, "--watch", watch];
        let said: Said = hosts.command(&bench).output().unwrap().into();
        assert_eq!((said.code, said.err.contains(says)), (Some(2), true), "{said:?}");
    }

    let doctor = ["doctor", "--host", &hosts.given()];
    let said: Said = hosts.command(&doctor).output().unwrap().into();
    let shown = said.out.contains("results on that host") && !said.out.contains("--apply");
    assert!(shown && !said.out.contains(", client "), "{said:?}");
    let doctor = [&doctor[..], &["--format", "json"]].concat();
    let said: Said = hosts.command(&doctor).output().unwrap().into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&said.out).unwrap();
    let codes: Vec<&str> =
        json["findings"].as_array().unwrap().iter().map(|f| f["code"].as_str().unwrap()).collect();
    for code in ["interface", "packets_lost", "slow_start_after_idle", "somaxconn"] {
        assert!(codes.contains(&code), "{code} {codes:?}");
    }
    let trip = |at: &str| json["round_trip"][at].as_u64().unwrap();
    assert!(0 < trip("min_ns") && trip("min_ns") <= trip("p50_ns") && trip("p50_ns") <= trip("p99_ns"));
    drop(target);
    hosts.nothing_is_left();
}
