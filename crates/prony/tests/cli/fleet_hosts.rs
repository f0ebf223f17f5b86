//! A fleet of machines: a controller, three hosts that load and one that is loaded, each in a network namespace of its own, and two
//! of the agents in time namespaces, so that their clocks are ahead by what is known.
//!
//! They need root, iproute2, ssh, sshd, unshare and nats-server (`needs`).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::fleet::{first_on_path, is_cut, sum};
use crate::hosts::{Daemon, Hosts, Relay, Way};
use crate::needs::{Need, has};
use crate::ssh;
use crate::world::{BINARY, Said, World, wait_until};

/// The hosts, by number: who leads, who is loaded, and those that load.
const LEAD: usize = 1;
const TARGET: usize = 2;
const LOADING: [usize; 3] = [3, 4, 5];
/// By how much the clock of each loading host is ahead, in seconds.
const AHEAD_S: [i64; 3] = [0, 1_000, 500_000];

struct Machines {
    world: World,
    hosts: Hosts,
    relays: Vec<Relay>,
    target: Daemon,
    port: u16,
    /// What says which fleet loads.
    fleet: Vec<String>,
    _daemons: Vec<Daemon>,
}

impl Machines {
    fn new(test: &str) -> Option<Machines> {
        if !has(test, &[Need::Netns, Need::Ssh, Need::Nats]) {
            return None;
        }
        let hosts = Hosts::new(5);
        let world = World::new();
        ssh::prepare(&world, &[]);
        let at = |name: &str| world.path(name).display().to_string();
        let variables = format!("XDG_CACHE_HOME={} XDG_STATE_HOME={}", at("cache"), at("state"));
        ssh::write_server(&world, &variables, "");
        // An asymmetric way, a lossy one, and a plain one.
        let way = |delay_ms, loss_every| Way { delay: Duration::from_millis(delay_ms), loss_every };
        let ways = [(way(2, 0), way(20, 0)), (way(1, 50), way(1, 50)), (way(0, 0), way(0, 0))];
        let (mut sshds, mut relays, mut config) = (Vec::new(), Vec::new(), String::new());
        for (nth, host) in LOADING.into_iter().enumerate() {
            sshds.push(ssh::start(&world, &hosts, host, AHEAD_S[nth]));
            let relay = Relay::start(&hosts, host, ways[nth].0, ways[nth].1);
            config.push_str(&ssh::by(&relay, &format!("load{nth}")));
            relays.push(relay);
        }
        ssh::write_client(&world, "user", &config);
        let (target, port) = target(&hosts, &[]);
        let fleet = ["--fleet", "ssh:load0,load1,load2"].map(str::to_owned).to_vec();
        Some(Machines { world, hosts, relays, target, port, fleet, _daemons: sshds })
    }

    /// Agents that stand by in a pool, on two hosts; its NATS server is on the controller's.
    fn pool(test: &str) -> Option<Machines> {
        if !has(test, &[Need::Netns, Need::Nats]) {
            return None;
        }
        let hosts = Hosts::new(4);
        let world = World::new();
        assert_eq!(world.prony(&["fleet", "key", "keys"]).code, Some(0));
        let lead = Hosts::address(LEAD);
        let mut server = hosts.command(LEAD, "nats-server");
        server.args(["-a", &lead.to_string(), "-p", "4222", "-l"]).arg(world.path("nats.log"));
        let mut daemons = vec![Daemon(server.spawn().unwrap())];
        wait_until("the NATS server listens", || {
            hosts.at(LEAD, move || TcpStream::connect((lead, 4222)).is_ok())
        });
        let pool = format!("nats://{lead}:4222/test");
        for host in LOADING.into_iter().take(2) {
            let mut agent = hosts.command(host, BINARY);
            agent.args([
                "agent",
                "--pool",
                &pool,
                "--name",
                &format!("load{host}"),
                "--key",
                "keys/agent.key",
            ]);
            agent.args(["--allow", &Hosts::address(TARGET).to_string()]).current_dir(world.path("."));
            agent.env("XDG_STATE_HOME", world.path("state")).stderr(Stdio::piped());
            let mut agent = Daemon(agent.spawn().unwrap());
            let mut said = BufReader::new(agent.0.stderr.take().unwrap()).lines();
            assert!(said.any(|line| line.is_ok_and(|line| line.contains("waits in the pool"))), "{host}");
            std::thread::spawn(move || said.for_each(drop));
            daemons.push(agent);
        }
        let (target, port) = target(&hosts, &[]);
        let fleet =
            ["--fleet", &pool, "--agents", "2", "--fleet-key", "keys/controller.key"].map(str::to_owned);
        let (relays, fleet) = (Vec::new(), fleet.to_vec());
        Some(Machines { world, hosts, relays, target, port, fleet, _daemons: daemons })
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let url = format!("http://{}:{}/", Hosts::address(TARGET), self.port);
        self.hosts
            .command(LEAD, BINARY)
            .args(["load", &url, "--json", "-", "-q"])
            .args(&self.fleet)
            .args(arguments)
            .env("PATH", first_on_path(&self.world.path("bin")))
            .current_dir(self.world.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn load(&self, arguments: &[&str]) -> (Said, Value) {
        finished(self.start(arguments))
    }

    fn new_target(&mut self, flags: &[&str]) {
        (self.target, self.port) = target(&self.hosts, flags);
    }

    fn ledger(&self) -> Value {
        let port = self.port;
        self.hosts.at(TARGET, move || {
            let mut stream = TcpStream::connect((Hosts::address(TARGET), port)).unwrap();
            stream.write_all(b"GET /-/ledger HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
        })
    }

    fn received(&self) -> u64 {
        self.ledger()["requests_received"].as_u64().unwrap()
    }
}

fn finished(child: Child) -> (Said, Value) {
    let said: Said = child.wait_with_output().unwrap().into();
    let json = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    (said, json)
}

fn target(hosts: &Hosts, flags: &[&str]) -> (Daemon, u16) {
    let address = Hosts::address(TARGET).to_string();
    let mut command = hosts.command(TARGET, BINARY);
    let child = command
        .args(["target", "--host", &address, "--port", "0"])
        .args(flags)
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
    (Daemon(child), port)
}

fn agents(json: &Value) -> &Vec<Value> {
    json["fleet"]["agents"].as_array().unwrap()
}

/// That nothing is missing or counted twice: agents, their sum and the target's ledger agree.
fn is_exact(machines: &Machines, json: &Value, load: &[&str]) {
    let sent = json["run_total"]["sent"].as_u64().unwrap();
    wait_until("the target has all that was sent", || machines.received() >= sent);
    assert_eq!((machines.received(), sum(json, "run_sent")), (sent, sent), "{load:?}");
    assert_eq!(sum(json, "completed"), json["requests"]["completed"], "{load:?}");
    let reasons = json["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|reason| reason["code"] != "arithmetic"), "{load:?} {reasons:?}");
}

#[test]
fn hosts_and_ledger_agree_to_the_request_and_clocks_are_known() {
    let Some(mut machines) = Machines::new("a fleet of hosts") else { return };
    let lines: String = (0..7).map(|i| format!("/{}\n", ["json", "", "json"][i % 3])).collect();
    machines.world.write("list.txt", &lines);
    for load in [
        &["-c", "30", "-n", "3001"][..],
        &["-c", "30", "-R", "2000", "-n", "2501"],
        &["-c", "30", "-R", "1500", "--arrivals", "poisson", "-n", "1501"],
        &["-c", "30", "--stage", "1s:1000/s", "--stage", "500ms:0/s"],
        &["-c", "30", "-n", "2100", "--targets", "list.txt"],
    ] {
        machines.new_target(&[]);
        let (said, json) = machines.load(load);
        assert_eq!(said.code, Some(0), "{load:?} {said:?}");
        is_exact(&machines, &json, load);
        if let Some(at) = load.iter().position(|flag| *flag == "-n") {
            assert_eq!(json["run_total"]["sent"].to_string(), load[at + 1], "{load:?}");
        }
        if load.contains(&"list.txt") {
            let by_path = &machines.ledger()["requests_by_path"];
            assert_eq!(
                (by_path["/"].as_u64(), by_path["/json"].as_u64()),
                (Some(600), Some(1_500)),
                "{by_path}"
            );
        }
        for (agent, ahead_s) in agents(&json).iter().zip(AHEAD_S) {
            // The controller's clock is behind theirs by what unshare was told.
            let (offset, bound) =
                (agent["clock_offset_ns"].as_i64().unwrap(), agent["clock_bound_ns"].as_u64().unwrap());
            let error = offset.abs_diff(-ahead_s * 1_000_000_000);
            assert!(error <= bound, "{agent}: wrong by {error} ns");
        }
    }
}

#[test]
fn the_stall_of_a_target_is_what_it_is_over_one_machine() {
    let Some(mut machines) = Machines::new("a stall seen by a fleet") else { return };
    let one_machine = Vec::new();
    for fleet in [machines.fleet.clone(), one_machine] {
        machines.fleet = fleet;
        // Nothing is read for 400 ms of each second: of requests that are due at all times, 40 % wait, each for what is left of it.
        machines.new_target(&["--stall", "400ms/1s"]);
        let (_, json) = machines.load(&["-c", "60", "-R", "600", "-d", "4s", "--warmup", "0"]);
        assert_eq!(json["fleet"].is_null(), machines.fleet.is_empty());
        let response = &json["latency"]["response"];
        // Three stalls are whole in any window of 4 s, so that 15 % wait for 200 ms or more, however fast all else is; what a slow
        // machine did not answer in time is not known.
        assert!(response["p90_ns"].as_u64().is_none_or(|ns| ns >= 190_000_000), "{response}");
        assert!(response["max_ns"].as_u64().unwrap() >= 390_000_000, "{response}");
    }
}

/// How long a partition lasts: TCP by itself would answer 3.3 s after its beginning or 6.6 s. Of a lease's 4 s a beat's 0.25 s
/// may be over when it begins; the rest is for a new connection. That it heals where machines are fast enough is held by the
/// protocol's simulation, and that a new connection brings what a silent one does not by a test of the link.
const PARTITION: Duration = Duration::from_millis(3_400);

/// That all which counts is counted once where one of the hosts was cut off meanwhile: the whole load, or, where this machine
/// was so slow that the agent was lost, the window up to then.
fn is_exact_after_a_cut(machines: &Machines, cut: impl Fn(&Machines, bool)) {
    let load = ["-c", "30", "-R", "200", "-d", "8s", "--warmup", "0"];
    let child = machines.start(&load);
    wait_until("two seconds of the load", || machines.received() >= 400);
    cut(machines, true);
    std::thread::sleep(PARTITION);
    cut(machines, false);
    let (said, json) = finished(child);
    if json["fleet"]["lost"].is_null() {
        assert_eq!(said.code, Some(0), "{said:?}");
        is_exact(machines, &json, &load);
        assert_eq!(json["run_total"]["sent"], 1_600);
    } else {
        is_cut(&json);
    }
}

#[test]
fn a_partition_shorter_than_the_lease_leaves_counts_exact() {
    let Some(machines) = Machines::new("a partition") else { return };
    is_exact_after_a_cut(&machines, |machines, is_cut| machines.relays[0].cut(is_cut));
}

#[test]
fn packets_dropped_within_the_lease_leave_every_count_exact() {
    let Some(machines) = Machines::pool("dropped packets") else { return };
    is_exact_after_a_cut(&machines, |machines, is_cut| machines.hosts.cut(LEAD, LOADING[0], is_cut));
}

#[test]
fn a_long_partition_ends_the_load_on_both_sides_of_it() {
    let Some(machines) = Machines::new("a long partition") else { return };
    let child = machines.start(&["-c", "30", "-R", "200", "-d", "60s", "--warmup", "0"]);
    wait_until("two seconds of the load", || machines.received() >= 400);
    machines.relays[1].cut(true);
    let (_, json) = finished(child);
    is_cut(&json);
    assert_eq!(json["fleet"]["lost"]["agent"], "load1");
    // The one that is cut off has ended by its lease, though nobody can tell it.
    let mut last = machines.received();
    wait_until("nobody sends any more", || {
        std::thread::sleep(Duration::from_millis(500));
        let (before, now) = (last, machines.received());
        last = now;
        now == before
    });
    assert!(last < 8_000, "{last}");
}
