//! Fleets of agents on this machine: counts to the request, and what is left where something dies.
//!
//! They need nats-server on PATH, and say so where there is none.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::metrics::{address_of, scrape};
use crate::needs::has_nats_server;
use crate::tls::server_that_asks_who_comes;
use crate::world::{BINARY, TargetProcess, World, send, wait_until};

fn loaded(world: &World, arguments: &[&str]) -> Value {
    let said = world.prony(arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.out).unwrap()
}

pub fn sum(json: &Value, figure: &str) -> u64 {
    json["fleet"]["agents"].as_array().unwrap().iter().map(|agent| agent[figure].as_u64().unwrap()).sum()
}

#[test]
fn agents_and_their_sum_and_the_ledger_agree_to_the_request() {
    if !has_nats_server("the counts of a fleet") {
        return;
    }
    let world = World::new();
    let lines: String = (0..7).map(|i| format!("/{}\n", ["json", "", "json"][i % 3])).collect();
    world.write("list.txt", &lines);
    for load in [
        &["-c", "30", "-n", "3001"][..],
        &["-c", "30", "-d", "1s"],
        &["-c", "30", "-R", "2000", "-n", "2501"],
        &["-c", "30", "-R", "1500", "--arrivals", "poisson", "-n", "1501"],
        &["-c", "30", "--stage", "1s:1000/s", "--stage", "500ms:0/s"],
        &["-c", "30", "-n", "2100", "--targets", "list.txt"],
        &["-c", "30", "-R", "3000", "-n", "2100", "--targets", "list.txt"],
        &["-c", "12", "-t", "2", "-n", "1000"],
    ] {
        let target = TargetProcess::start(&[]);
        let url = target.url();
        let line = [&["load", &url, "--fleet", "local:3", "--json", "-", "-q"], load].concat();
        let json = loaded(&world, &line);
        let sent = json["run_total"]["sent"].as_u64().unwrap();
        target.wait_for_requests(sent);
        assert_eq!(target.ledger()["requests_received"], sent, "{load:?}");
        assert_eq!(sum(&json, "run_sent"), sent, "{load:?}");
        assert_eq!(sum(&json, "completed"), json["requests"]["completed"], "{load:?}");
        if let Some(at) = load.iter().position(|flag| *flag == "-n") {
            assert_eq!(sent.to_string(), load[at + 1], "{load:?}");
        }
        let broken = json["verdict"]["reasons"].as_array().unwrap().iter().any(|r| r["code"] == "arithmetic");
        assert!(!broken, "{json}");
        if load.contains(&"list.txt") {
            // 300 rounds of seven lines, two of them for `/`: by its number in the whole load, whoever sends it.
            let by_path = &target.ledger()["requests_by_path"];
            assert_eq!(
                (by_path["/"].as_u64(), by_path["/json"].as_u64()),
                (Some(600), Some(1_500)),
                "{by_path}"
            );
        }
    }
    // The controller has all of it: agents keep nothing.
    assert_eq!(std::fs::read_dir(world.path("state/prony/agents")).unwrap().count(), 0);
}

#[test]
fn agents_load_several_servers_each_with_its_lines() {
    if !has_nats_server("a fleet that loads several servers") {
        return;
    }
    let world = World::new();
    for load in [
        &["-n", "2100"][..],
        &["-R", "3000", "-n", "2100"],
        &["-R", "3000", "-n", "2100", "--shuffle"],
        &["-R", "1500", "--arrivals", "poisson", "-n", "1500"],
        &["--stage", "1s:1000/s", "--stage", "500ms:0/s"],
    ] {
        let targets = [0; 2].map(|_| TargetProcess::start(&[]));
        let [a, b] = targets.each_ref().map(TargetProcess::url);
        world.write("list.txt", &format!("{a}\n{b}json\n{a}json\n"));
        let line = ["load", "--targets", "list.txt", "--fleet", "local:2", "-c", "12", "--json", "-", "-q"];
        let json = loaded(&world, &[&line, load].concat());
        let by_url = |url: &str| -> u64 {
            let rows = json["targets"].as_array().unwrap().iter();
            let of = rows.filter(|row| row["request"].as_str().unwrap().contains(url));
            of.map(|row| row["run_sent"].as_u64().unwrap()).sum()
        };
        let sent = [by_url(&a), by_url(&b)];
        for (target, sent) in targets.iter().zip(sent) {
            target.wait_for_requests(sent);
            assert_eq!(target.ledger()["requests_received"], sent, "{load:?}");
        }
        assert_eq!(sum(&json, "run_sent"), sent[0] + sent[1], "{load:?}");
        if load.contains(&"2100") {
            assert_eq!(sent, [1400, 700], "{load:?}");
        }
        let broken = json["verdict"]["reasons"].as_array().unwrap().iter().any(|r| r["code"] == "arithmetic");
        assert_eq!((&json["plan"]["threads"], broken), (&2.into(), false), "{json}");
    }
}

#[test]
fn what_cannot_be_a_fleet_is_refused_in_a_sentence() {
    let world = World::new();
    for (arguments, says) in [
        (&["--fleet", "local:0"][..], "local:N"),
        (&["--fleet", "local:1000"], "1 to 256"),
        (&["--fleet", "ssh:host,"], "is not a host name"),
        (&["--fleet", "ssh:-oProxyCommand=x"], "is not a host name"),
        (&["--fleet", "ssh:host=name"], "has no IP address"),
        (&["--fleet", "moon:3"], "is not a fleet"),
        (&["--fleet", "local:3", "-c", "2"], "at least 3"),
        (&["--fleet", "local:2", "--unix", "/run/x.sock"], "Unix sockets"),
        (&["--fleet", "local:2", "--export", "jtl=x.jtl"], "jtl"),
        (&["--fleet", "local:3", "-R", "100", "-c", "7"], "a multiple of 3"),
    ] {
        let said = world.prony(&[&["load", "http://127.0.0.1:9/"], arguments].concat());
        assert_eq!((said.code, said.err.contains(says)), (Some(2), true), "{arguments:?} {said:?}");
    }
    // No host would be given it.
    for line in [
        &["load"][..],
        &["capacity"],
        &["load", "--fleet", "local:2"],
        &["bench", "--candidate", "t=http://127.0.0.1:9/"],
    ] {
        let said = world.prony(&[line, &["--agent-binary", "prony"]].concat());
        assert_eq!(
            (said.code, said.err.contains("--agent-binary is for hosts")),
            (Some(2), true),
            "{line:?} {said:?}"
        );
    }
    // Its probes have a rate.
    let said = world.prony(&["capacity", "http://127.0.0.1:9/", "--fleet", "local:3", "-c", "7"]);
    assert_eq!((said.code, said.err.contains("a multiple of 3")), (Some(2), true), "{said:?}");
}

#[test]
fn each_agent_reads_the_clients_certificate_and_key_by_itself() {
    if !has_nats_server("a fleet with a client's certificate") {
        return;
    }
    let world = World::new();
    let url = format!("https://{}/", server_that_asks_who_comes(&world));
    let load = [
        "load",
        &url,
        "--cacert",
        "certs/ca.pem",
        "--fleet",
        "local:2",
        "-n",
        "50",
        "-c",
        "4",
        "--json",
        "-",
        "-q",
    ];
    let with = |files: &[&str]| world.prony(&[&load[..], files].concat());
    let json =
        loaded(&world, &[&load[..], &["--cert", "certs/client.pem", "--key", "certs/key.pem"]].concat());
    assert_eq!(
        (sum(&json, "completed"), &json["plan"]["tls"]["client_certificate"]),
        (50, &Value::Bool(true))
    );
    let file = with(&["--cert", "certs/client.pem", "--key", "none.pem"]);
    assert_eq!(file.code, Some(3), "{file:?}");
    assert!(
        file.err.contains("Agent local-")
            && file.err.contains("--key none.pem could not be read: No such file"),
        "{file:?}"
    );
    let wrong = with(&["--cert", "certs/key.pem"]);
    assert!(wrong.code == Some(3) && wrong.err.contains("--cert certs/key.pem cannot be used"), "{wrong:?}");
    let input = with(&["--cert", "-"]);
    assert!(input.code == Some(2) && input.err.contains("none from standard input"), "{input:?}");
}

#[test]
fn a_target_that_is_not_there_is_named() {
    if !has_nats_server("a fleet without a target") {
        return;
    }
    let said = World::new().prony(&["load", "http://127.0.0.1:9/", "--fleet", "local:2", "-d", "1s"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("local-") && said.err.contains("127.0.0.1:9"), "{said:?}");
}

/// A load by two agents for a minute, under way.
pub struct Running {
    pub controller: Child,
    pub target: TargetProcess,
    pub agents: Vec<u32>,
    pub server: u32,
}

/// The children of a process, with their command lines.
pub fn children(parent: u32) -> Vec<(u32, String)> {
    let listed =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    let line = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let pids = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.map(|pid: u32| (pid, String::from_utf8_lossy(&line(&pid)).replace('\0', " "))).collect()
}

/// A controller's agents on this machine.
pub fn agents_of(controller: &Child) -> Vec<u32> {
    let all = children(controller.id()).into_iter();
    all.filter(|(_, line)| line.contains(" agent")).map(|(pid, _)| pid).collect()
}

impl Running {
    fn start(world: &World) -> Running {
        let running = Running::by(world, "local:2", Path::new("/nonexistent"));
        let agents = agents_of(&running.controller);
        assert_eq!(agents.len(), 2);
        Running { agents, ..running }
    }

    /// By this fleet, with this folder first on PATH; who its agents are is for the caller to find.
    pub fn by(world: &World, fleet: &str, programs: &Path) -> Running {
        let target = TargetProcess::start(&[]);
        let url = target.url();
        let line =
            ["load", &url, "--fleet", fleet, "-c", "8", "-R", "200", "-d", "60s", "--warmup", "0", "-q"];
        let controller = Command::new(BINARY)
            .args(line)
            .args(["--json", "t.json"])
            .env("PATH", first_on_path(programs))
            .env("XDG_STATE_HOME", world.path("state"))
            .current_dir(world.path("."))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Two seconds of the load and more.
        target.wait_for_requests(600);
        let all = children(controller.id());
        let server = all.iter().find(|(_, line)| line.contains("nats-server"));
        let server = server.unwrap_or_else(|| panic!("no nats-server: {all:?}")).0;
        Running { controller, target, agents: Vec::new(), server }
    }

    /// Waits for its end, and that nothing is left of it and nothing sent any more.
    pub fn end(mut self, world: &World) -> (Option<i32>, Value) {
        let code = self.controller.wait().unwrap().code();
        self.nothing_is_left();
        (
            code,
            serde_json::from_str(&std::fs::read_to_string(world.path("t.json")).unwrap_or_default())
                .unwrap_or_default(),
        )
    }

    pub fn nothing_is_left(&self) {
        for pid in self.agents.iter().chain([&self.server]) {
            wait_until("every process of the fleet has ended", || {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                !Path::new(&format!("/proc/{pid}")).exists() || stat.contains(") Z ")
            });
        }
        let before = self.target.ledger()["requests_received"].clone();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(self.target.ledger()["requests_received"], before, "nobody sends any more");
    }
}

/// PATH with this folder before all others.
pub fn first_on_path(folder: &Path) -> std::ffi::OsString {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder.to_owned()].into_iter().chain(std::env::split_paths(&paths))).unwrap()
}

/// That its window was cut at a second, and is exact up to there.
pub fn is_cut(json: &Value) {
    let reasons = json["verdict"]["reasons"].as_array().unwrap_or_else(|| panic!("no verdict: {json}"));
    assert!(reasons.iter().any(|reason| reason["code"] == "agent_lost"), "{reasons:?}");
    assert!(reasons.iter().all(|reason| reason["code"] != "arithmetic"), "{reasons:?}");
    let window_ns = json["window"]["duration_ns"].as_u64().unwrap();
    assert!(window_ns.is_multiple_of(1_000_000_000) && window_ns < 60_000_000_000, "{window_ns}");
    // 200 a second for as long as is left, exactly.
    assert_eq!(json["requests"]["scheduled"].as_u64().unwrap(), window_ns / 1_000_000_000 * 200);
}

/// That soon nobody sends any more of a load of 200 a second.
pub fn is_quiet(target: &TargetProcess) {
    let received = || target.ledger()["requests_received"].as_u64().unwrap();
    let mut last = received();
    wait_until("nobody sends any more", || {
        std::thread::sleep(Duration::from_millis(500));
        let (before, now) = (last, received());
        last = now;
        now == before
    });
    // For as long as a lease lasts, and what a busy machine adds to it; the load was to last a minute.
    assert!(last < 8_000, "{last}");
}

#[test]
fn a_killed_agent_cuts_the_window_at_the_last_second_of_all() {
    if !has_nats_server("the loss of an agent") {
        return;
    }
    let world = World::new();
    let running = Running::start(&world);
    send(running.agents[0], Signal::SIGKILL);
    let (code, json) = running.end(&world);
    is_cut(&json);
    assert_eq!(code, Some(3), "less than half is left: {json}");
}

#[test]
fn an_agent_that_is_stopped_beyond_its_lease_sends_no_backlog() {
    if !has_nats_server("an agent that is stopped") {
        return;
    }
    let world = World::new();
    let running = Running::start(&world);
    send(running.agents[1], Signal::SIGSTOP);
    // Its lease is 4 s: whatever it was due to send then is sent by nobody.
    std::thread::sleep(Duration::from_millis(4_300));
    let before = Instant::now();
    let received = || running.target.ledger()["requests_received"].as_u64().unwrap();
    let (then, agent) = (received(), running.agents[1]);
    send(agent, Signal::SIGCONT);
    std::thread::sleep(Duration::from_millis(300));
    // The other one's 100 a second, and a few; the backlog would be 400 at once.
    let got = received() - then;
    // Read after the count, so that a slow machine only allows more.
    let most = 200 + before.elapsed().as_millis() as u64 / 10 * 2;
    assert!(got < most, "{got} of at most {most}");
    let (_, json) = running.end(&world);
    is_cut(&json);
}

#[test]
fn a_fleet_without_its_nats_server_ends_with_what_it_has() {
    if !has_nats_server("the loss of nats-server") {
        return;
    }
    let world = World::new();
    let running = Running::start(&world);
    send(running.server, Signal::SIGKILL);
    let (_, json) = running.end(&world);
    is_cut(&json);
    let reasons = json["verdict"]["reasons"].to_string();
    assert!(reasons.contains("the fleet's nats-server ended"), "{reasons}");
}

#[test]
fn whatever_a_killed_controller_started_ends() {
    if !has_nats_server("a controller that is killed") {
        return;
    }
    let world = World::new();
    let mut running = Running::start(&world);
    send(running.controller.id(), Signal::SIGKILL);
    running.controller.wait().unwrap();
    running.nothing_is_left();
}

#[test]
fn the_agents_of_a_stopped_controller_end_by_their_lease() {
    if !has_nats_server("a controller that is stopped") {
        return;
    }
    let world = World::new();
    let running = Running::start(&world);
    send(running.controller.id(), Signal::SIGSTOP);
    is_quiet(&running.target);
    send(running.controller.id(), Signal::SIGCONT);
    let (_, json) = running.end(&world);
    is_cut(&json);
}

#[test]
fn a_fleet_that_is_interrupted_keeps_what_it_measured() {
    if !has_nats_server("a fleet that is interrupted") {
        return;
    }
    let world = World::new();
    let running = Running::start(&world);
    send(running.controller.id(), Signal::SIGINT);
    let (code, json) = running.end(&world);
    assert_eq!((code, &json["interrupted"]), (Some(130), &Value::Bool(true)), "{json}");
    assert_eq!(sum(&json, "completed"), json["requests"]["completed"]);
}

#[test]
fn the_table_of_agents_is_shown() {
    if !has_nats_server("the table of a fleet") {
        return;
    }
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let line = ["load", &target.url(), "--fleet", "local:2", "-n", "2000", "-c", "10", "-o", "r.jsonl"];
    let said = world.prony(&line);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("local-1") && said.out.contains("local-2") && said.out.contains("clock ±"),
        "{}",
        said.out
    );
    // What each ran on is in the run log: here, this machine; and what carried their messages.
    let trial = &world.lines("r.jsonl", "result")[0]["trial"];
    for agent in trial["fleet"]["agents"].as_array().unwrap() {
        for fact in ["kernel", "cpu_model", "cpus_online", "boot_id", "machine"] {
            assert_eq!(agent["host"][fact], trial["host"][fact], "{fact}");
        }
    }
    let version = Command::new("nats-server").arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    assert_eq!(trial["fleet"]["nats_server"], version.trim().trim_start_matches("nats-server: v"));
}

#[test]
fn metrics_count_for_each_agent() {
    if !has_nats_server("the metrics of a fleet") {
        return;
    }
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let line = [
        "load",
        &url,
        "--fleet",
        "local:2",
        "-c",
        "4",
        "-R",
        "200",
        "-d",
        "600s",
        "--warmup",
        "0",
        "-q",
        "--metrics",
        ":0",
    ];
    let mut load = world.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (address, said) = address_of(&mut load);
    wait_until("both agents have sent and completed requests", || {
        let read = scrape(&address);
        ["local-1", "local-2"].iter().all(|agent| {
            let of = |name: &str, more: &[(&str, &str)]| {
                read.value(name, &[&[("agent", *agent)][..], more].concat())
            };
            let done = of("prony_agent_requests_total", &[("result", "completed")]);
            assert!(
                of("prony_agent_requests_total", &[("result", "failed")]).is_none_or(|failed| failed == 0.0)
            );
            done.is_some_and(|done| done > 0.0) && of("prony_agent_requests_sent_total", &[]) >= done
        })
    });
    send(load.id(), Signal::SIGINT);
    load.wait().unwrap();
    drop(said);
}
